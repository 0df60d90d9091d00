"""A model that does what a plan says: it plans the searches, reads the planned findings out of the sources that it is
given, and writes the planned report with the names of the findings that it is given. Whatever else it is asked, it
cannot answer, so that the engine does without it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lie_folder import words
from lie_plans import Plan, PlannedSentence, Section
from prompt_reading import ReadingModel, blocks

from deep_research.models.base import ModelCall
from deep_research.models.failures import Verdict, failure

_FINDING = re.compile(r"^(F\d+) \([^)]*\): (.*?)(?: — (?:S\d+ has: )?\"(.*)\")?$", re.M)
_ADDRESS = re.compile(r"^Address: (.+)$", re.M)
_IN_PARAGRAPH = 3  # sentences


class LyingModel(ReadingModel):
    """``repairs`` answers what is not foreseen here, such as the repair of claims or a judge's question; None: such a
    call fails."""

    def __init__(self, plan: Plan, repairs: Callable[[ModelCall], str] | None = None) -> None:
        super().__init__()
        self.plan = plan
        self.asked: list[str] = []  # what could not be answered, by the first words of the instructions
        self._repairs = repairs

    def answer(self, call: ModelCall) -> str:
        said = call.messages[-1].content
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        if "sub_queries" in fields:
            return json.dumps(self._searches())
        if "quality_updates" in fields:
            return json.dumps(self._reading(said))
        if "same" in fields:
            return json.dumps({"same": [], "filled_gaps": [], "same_gaps": [], "completeness": 0.8})
        if call.form is None and call.label == "report":
            return self._report(said)
        self.asked.append(call.system[:60])
        if self._repairs is not None:
            return self._repairs(call)
        raise failure(Verdict.MALFORMED, "the script has no answer to this", model=self.name)

    def _searches(self) -> dict[str, Any]:
        subjects = [section.heading for section in self.plan.sections[1:]]
        queries = [{"query": f"{subject} {more}"} for subject in subjects for more in ("history", "figures")]
        return {
            "research_brief": f"It is looked up what is told of {', '.join(subjects)}.",
            "sub_queries": queries[:5],
        }

    def _reading(self, said: str) -> dict[str, Any]:
        """The planned findings of the sources in this call."""
        names = {
            address.group(1): label.removeprefix("source ")
            for label, body in blocks(said).items()
            if label.startswith("source ") and (address := _ADDRESS.search(body))
        }
        findings = [
            {
                "content": finding.content,
                "confidence": "medium",
                "source_ids": [names[finding.document]],
                "category": None,
                "quotes": [{"source_id": names[finding.document], "quote": finding.quote}],
            }
            for finding in self.plan.findings
            if finding.document in names
        ]
        return {"findings": findings, "gaps": [], "quality_updates": [], "addressed_gap_ids": []}

    def _report(self, said: str) -> str:
        names, given = self._given(blocks(said).get("findings", ""))
        parts = [f"# {self.plan.question}"]
        for section in self.plan.sections:
            told = [
                line for sentence in section.sentences if (line := _told(sentence, self.plan, names, given))
            ]
            if told:
                parts += [f"## {section.heading}", *_laid_out(section, told)]
        return "\n\n".join(parts)

    def _given(self, listed: str) -> tuple[dict[int, str], dict[int, str]]:
        """The names of the planned findings, and what the writer is told of each, by their places in the plan. The engine
        may have put them in other words."""
        names, given = {}, {}
        for name, content, quote in _FINDING.findall(listed):
            place = next(self._places(content, quote), None)
            if place is not None and place not in names:
                names[place], given[place] = name, content
        return names, given

    def _places(self, content: str, quote: str) -> Iterator[int]:
        """Which of the planned findings it may be, the likeliest first."""
        findings = list(enumerate(self.plan.findings))
        yield from (at for at, finding in findings if finding.content == content)
        yield from (at for at, finding in findings if finding.quote in (content, quote))
        alike = {at: _alike(finding.quote, f"{content} {quote}") for at, finding in findings}
        yield from (at for at in sorted(alike, key=lambda at: -alike[at]) if alike[at] >= 0.7)


def _told(sentence: PlannedSentence, plan: Plan, names: Mapping[int, str], given: Mapping[int, str]) -> str:
    """A sentence with its references; nothing where an honest writer was not given what it rests on."""
    known = [names[at] for at in sentence.cites if at in names]
    if len(known) < len(sentence.cites):
        if not sentence.stubborn:
            return ""
        known = [name for at, name in names.items() if plan.findings[at].document == sentence.document][:1]
    text = given[sentence.cites[0]] if sentence.follows else sentence.text
    return f"{text.rstrip('.')} [{', '.join(known)}]." if known else text


def _laid_out(section: Section, told: list[str]) -> list[str]:
    if section.style == "list":
        return ["\n".join(f"- {line}" for line in told)]
    if section.style == "table":
        rows = [f"| {section.heading} | {line} |" for line in told]
        return ["\n".join(["| Subject | What the documents say |", "|---|---|", *rows])]
    return [" ".join(told[at : at + _IN_PARAGRAPH]) for at in range(0, len(told), _IN_PARAGRAPH)]


def _alike(quote: str, told: str) -> float:
    """The share of the quote's words that are told."""
    known = words(quote)
    return len(known & words(told)) / max(1, len(known))
