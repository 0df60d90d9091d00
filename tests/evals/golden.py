"""Golden handoffs: states in which one agent is to work, what a good answer has, and such an answer written by hand."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from deep_research.models.base import ModelCall, ModelProvider, OnText, Reply, StopReason, TokenUsage
from deep_research.models.profiles import Profile
from deep_research.provenance.quotes import locate
from deep_research.report.checking import Checker
from deep_research.sources.documents.folder import sample_corpus
from deep_research.sources.extract.texts import read_document
from deep_research.state import (
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    FirstLook,
    Gap,
    Remark,
    RemarkKind,
    ReportMetadata,
    RunOptions,
    RunStatus,
    Source,
    SourceQuality,
    SubQuery,
)
from deep_research.state.identity import finding_id, gap_id, sub_query_id
from deep_research.state.journal import Content, MemoryJournal

PHASES = {
    "planner": DeepResearchPhase.PLANNING,
    "analyzer": DeepResearchPhase.ANALYSIS,
    "synthesizer": DeepResearchPhase.SYNTHESIS,
    "refiner": DeepResearchPhase.REFINEMENT,
}


class GoldenFinding(BaseModel):
    content: str
    source: str
    quote: str


class GoldenPage(BaseModel):
    """A source that is no document of the sample corpus; ``about`` is its metadata."""

    url: str
    title: str
    text: str
    quality: SourceQuality = SourceQuality.UNKNOWN
    published: date | None = None
    about: dict[str, str] = {}


class GoldenRemark(BaseModel):
    kind: RemarkKind
    heading: str
    advice: str


class Golden(BaseModel):
    """One case. ``sources`` are documents of the sample corpus, ``pages`` stand before them; of each of the ``facts``
    one wording must be found in what the agent gives, and of ``never`` none; ``written_in`` is the language it must be
    in. ``bad`` is an answer that is to show in the figures; what is ``held`` must not be in what comes even of that: code
    stands against it. ``told`` are words that have to stand in what a model is sent, and ``untold`` such as may not, so
    that another prompt shows. ``requests`` are so many as the work takes; ``texts`` are answers that are no object, by
    the label of their request (the heading of a section, "last pass"), ``bad_texts`` those that are otherwise in the bad
    answer. ``shows`` is what the case is for. The answers of a ``short`` one are shorter than they should be, and their
    length is not looked at. ``draft`` is a report that is to be revised, with F1, F2 … for its findings, by the
    ``remarks`` on it, under whose headings alone something may change; ``glance`` are titles and snippets that a search
    of the web shows before a plan."""

    model_config = ConfigDict(extra="forbid")

    id: str
    agent: str
    question: str
    answer: str
    bad: str = ""
    texts: dict[str, str] = {}
    bad_texts: dict[str, str] = {}
    shows: str = ""
    held: list[str] = []
    told: list[str] = []
    untold: list[str] = []
    requests: int = 1
    short: bool = False
    pages: list[GoldenPage] = []
    model_triage: bool = False
    facts: list[list[str]]
    never: list[str] = []
    language: str | None = None
    written_in: str = "en"
    words: int = 800
    iteration: int = 1
    phase: DeepResearchPhase | None = None
    plan: list[str] = []
    sources: list[str] = []
    findings: list[GoldenFinding] = []
    gaps: list[str] = []
    report: str | None = None
    draft: str = ""
    remarks: list[GoldenRemark] = []
    glance: list[tuple[str, str]] = []
    asked_on: date | None = None

    def journal(self) -> MemoryJournal:
        """The state before the agent's work, with the texts of its sources."""
        texts = {page.url: (page.title, page.text) for page in self.pages}
        texts |= {name: document_of(name) for name in self.sources}
        pages = [_page(page, place) for place, page in enumerate(self.pages)]
        documents = [
            _source(name, *texts[name], len(pages) + place) for place, name in enumerate(self.sources)
        ]
        sources = (*pages, *documents)
        by_name = dict(zip(texts, sources, strict=True))
        findings = tuple(
            _finding(given, by_name[given.source], texts[given.source][1]) for given in self.findings
        )
        state = DeepResearchState(
            research_id=f"deepres-{0:012x}",
            query=self.question,
            options=RunOptions(language=self.language, report_words=max(100, self.words)),
            status=RunStatus.RUNNING,
            phase=self.phase or PHASES[self.agent],
            iteration=self.iteration,
            sub_queries=tuple(
                SubQuery(id=sub_query_id(query), query=query, index=n, iteration=1)
                for n, query in enumerate(self.plan or [self.question])
            ),
            research_brief=None if self.agent == "planner" else f"It is asked: {self.question}",
            sources=sources,
            findings=findings,
            created_at=datetime.combine(self.asked_on, time(), UTC) if self.asked_on else None,
            first_look=self._first_look(),
            **self._last_version(findings),
            gaps=tuple(
                Gap(id=gap_id(text), description=text, priority=n, rank=n, iteration=1)
                for n, text in enumerate(self.gaps, 1)
            ),
        )
        if self.draft:
            by_hash = {Content.of(text).hash: text for _, text in texts.values()}
            claims = Checker(state, by_hash).claims(state.report_draft, {})
            state = state.model_copy(update={"claims": claims})
        return MemoryJournal(state, texts=[text for _, text in texts.values()])

    @property
    def has_bad(self) -> bool:
        """Whether there is a bad answer to tell from the good one."""
        return bool(self.bad or self.bad_texts)

    def badly(self) -> Golden:
        """The case with the bad answer."""
        answers = {"answer": self.bad or self.answer, "texts": self.texts | self.bad_texts}
        return self.model_copy(update=answers)

    def draft_of(self, findings: Sequence[Finding]) -> str:
        """The draft with the ids of its findings."""
        names = {f"F{n}": finding.id for n, finding in enumerate(findings, 1)}
        return re.sub(r"F\d+", lambda match: names[match.group()], self.draft)

    def _last_version(self, findings: Sequence[Finding]) -> dict[str, Any]:
        if not self.draft:
            return {"report": self.report}
        return {
            "report": self.draft,
            "report_draft": self.draft_of(findings),
            "report_metadata": ReportMetadata(writer="synthesizer"),
            "remarks": tuple(Remark(**remark.model_dump()) for remark in self.remarks),
            "refined": self.iteration if self.agent == "synthesizer" else 0,
        }

    def _first_look(self) -> FirstLook | None:
        if not self.glance:
            return None
        titles, snippets = zip(*self.glance, strict=True)
        return FirstLook(titles=titles, snippets=snippets)


def document_of(name: str) -> tuple[str, str]:
    """Title and text of a sample document."""
    document = read_document((Path(sample_corpus()) / name).read_bytes(), name)
    return document.title, document.text


def golden() -> tuple[Golden, ...]:
    """The cases of ``golden.toml``."""
    text = Path(__file__).with_name("golden.toml").read_text(encoding="utf-8")
    return tuple(Golden.model_validate(case) for case in tomllib.loads(text)["case"])


BY_HAND = {"by-hand:answers": Profile(context=200_000, output=32_000)}


class ByHand(ModelProvider):
    """Answers a case with the answer that was written by hand."""

    service = "by-hand"
    forms = ("schema",)
    probed = False

    def __init__(self, case: Golden) -> None:
        super().__init__("answers")
        self._case = case

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        text = self._case.texts.get(call.label, self._case.answer)
        if call.form is not None:
            text = json.dumps(_fitting(_object(text), call.form.json_schema), ensure_ascii=False)
        elif on_text is not None:
            on_text(text)
        asked = call.system + "".join(message.content for message in call.messages)
        usage = TokenUsage(input=len(asked.encode()) // 4, output=len(text.encode()) // 4)
        return Reply(text=text, stop=StopReason.END, usage=usage, model=self.model)


def _object(text: str) -> Mapping[str, Any]:
    """The answer as an object; an empty one where it is a text, and something else is asked for as well."""
    return dict(json.loads(text)) if text.lstrip().startswith("{") else {}


def _fitting(answer: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    known = schema.get("properties", {})
    return {key: value for key, value in answer.items() if key in known}


def _page(page: GoldenPage, place: int) -> Source:
    given = {"quality": page.quality, "published": page.published, "metadata": page.about}
    return _source(page.url, page.title, page.text, place).model_copy(update=given)


def _source(name: str, title: str, text: str, place: int) -> Source:
    content = Content.of(text)
    return Source(
        id=f"src-{Content.of(name).hash[:12]}",
        sub_query_id="",
        title=title,
        url=name,
        rank=place,
        content_hash=content.hash,
        length=len(text),
        quality=SourceQuality.HIGH,
    )


def _finding(given: GoldenFinding, source: Source, text: str) -> Finding:
    quote = locate(given.quote, text, source_id=source.id, content_hash=source.content_hash or "")
    return Finding(
        id=finding_id(given.content),
        content=given.content,
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=(source.id,),
        quotes=(quote,) if quote else (),
    )
