"""The judge: a model that sees the claims of a draft beside passages of their sources, and gives a verdict on each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.calls import off_loop
from deep_research.errors import WorkError
from deep_research.models.language_model import LanguageModel
from deep_research.phases.prompting import RULES, Aliases, Message, Room, ask_model, one_line, today_of
from deep_research.report.citation_resolver import CitationResolver
from deep_research.report.judging import key_of
from deep_research.state import (
    Aspect,
    Claim,
    ClaimVerdict,
    DeepResearchState,
    Judgement,
    PartJudgement,
    Quote,
)

CLAIMS_AT_ONCE = 40  # in a request
EACH_OUTPUT = 100  # tokens of an answer for each claim, thoughts included
MIN_OUTPUT_TOKENS = 2_000
MAX_OUTPUT_TOKENS = max(MIN_OUTPUT_TOKENS, EACH_OUTPUT * CLAIMS_AT_ONCE)
MAX_PASSAGE_CHARS = 600
MAX_PASSAGES = 6  # beside a claim
MAX_QUOTES = 3  # that decide a claim
MAX_REMARK_CHARS = 300  # characters of what is missing or open
OF_CLAIMS, OF_PASSAGES = 0.4, 0.55  # of the room
_NO_REMARK = (Aspect.WORDS, Aspect.ORDER, Aspect.LANGUAGE)
_NOTHING = ("", "none", "nothing", "n/a", "no")  # as models say that nothing is open
UNSAID = "The judge gave no verdict on it."

SYSTEM = f"""\
You check a report. Each claim (C1, C2 …) stands with the names of passages (P1, P2 …) of the sources that it cites, and \
with what a program remarked. Compare them, and use nothing that you know yourself.
- supported: the passages say all of it, in any words.
- partial: they say a part of it, and nothing against the rest.
- contradicted: they say otherwise.
- unsupported: they do not say it.
Another figure, date, name, cause, scope or denial, or roles that are exchanged, is never supported. Give for each \
claim its name, the verdict, in `quotes` the one to three passages that decide it (the name of a passage, or a part of \
its words copied exactly), and in `missing` the few words of the claim that no passage has.
Then say for each part of the question (Q1 …) whether these claims answer it. A claim on something else answers nothing, \
however close it is. Name the claims that do, and in `open` what is still not answered.

{RULES}"""


class JudgedClaim(BaseModel):
    claim: str = Field(description="its name, such as C1")
    verdict: Literal["supported", "partial", "contradicted", "unsupported"]
    quotes: list[str] = []
    missing: str = ""


class JudgedPart(BaseModel):
    part: str = Field(description="its name, such as Q1")
    answered: bool
    claims: list[str] = []
    open: str = ""


class JudgedReport(BaseModel):
    verdicts: list[JudgedClaim]
    parts: list[JudgedPart] = []


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks ``model`` about claims of a run. ``work`` is how much there is to compare, in small items."""

    model: LanguageModel
    state: DeepResearchState
    resolver: CitationResolver
    work: int = 0

    async def judge(self, claims: Sequence[Claim]) -> tuple[dict[str, Judgement], tuple[PartJudgement, ...]]:
        """What the model says of `CLAIMS_AT_ONCE` claims at most, by their keys, and of the parts of the question. A
        claim that it could not be asked about has a judgement without a verdict."""
        passages_of = await off_loop(self.work, lambda: [passages(claim, self.resolver) for claim in claims])
        try:
            answer, message = await ask_model(
                self.model,
                SYSTEM,
                max(MIN_OUTPUT_TOKENS, EACH_OUTPUT * len(claims)),
                JudgedReport,
                lambda room: _Request(claims, passages_of, self.state, self.resolver, room),
                size=sum(len(quote.quote) for each in passages_of for quote in each),
            )
        except WorkError as error:
            return {key: self._silent(key, error.problem) for key in map(key_of, claims)}, ()
        return await off_loop(self.work, self._read, claims, answer, message)

    def _read(
        self, claims: Sequence[Claim], answer: JudgedReport, message: _Request
    ) -> tuple[dict[str, Judgement], tuple[PartJudgement, ...]]:
        by_name = {claim.id: claim for claim in claims}
        judgements: dict[str, Judgement] = {}
        for item in answer.verdicts:
            claim = by_name.get(message.claims.id(item.claim) or "")
            if claim is not None and key_of(claim) not in judgements:
                judgements[key_of(claim)] = self._judgement(claim, item, message)
        all_judgements = {
            key: judgements.get(key) or self._silent(key, UNSAID) for key in map(key_of, claims)
        }
        return all_judgements, tuple(self._parts(answer.parts, by_name, message))

    def _silent(self, key: str, reason: str) -> Judgement:
        return Judgement(key=key, reason=reason, model=self.model.name)

    def _judgement(self, claim: Claim, item: JudgedClaim, message: _Request) -> Judgement:
        quotes = (self._quote(claim, words, message) for words in item.quotes[:MAX_QUOTES])
        return Judgement(
            key=key_of(claim),
            verdict=ClaimVerdict(item.verdict),
            quotes=tuple(dict.fromkeys(quote for quote in quotes if quote is not None)),
            missing=one_line(item.missing)[:MAX_REMARK_CHARS],
            model=self.model.name,
        )

    def _quote(self, claim: Claim, words: str, message: _Request) -> Quote | None:
        name = message.passages.id(words)
        if name is not None:
            return message.by_key[name]
        return self.resolver.locate(words[:MAX_PASSAGE_CHARS], claim.finding_ids)

    def _parts(
        self, items: Iterable[JudgedPart], by_name: dict[str, Claim], message: _Request
    ) -> Iterable[PartJudgement]:
        for item in items:
            part = message.parts.id(item.part)
            if part is not None:
                keys = tuple(key_of(by_name[name]) for name in message.claims.all(item.claims))
                left = one_line(item.open)[:MAX_REMARK_CHARS]
                yield PartJudgement(
                    part_id=part,
                    claims=keys if item.answered else (),
                    near=() if item.answered else keys,
                    open="" if left.strip(" .-").casefold() in _NOTHING else left,
                )


def passages(claim: Claim, cited: CitationResolver) -> list[Quote]:
    """What a judge sees beside a claim: the quotes that it cites, and what comes nearest in their sources."""
    every = list(dict.fromkeys((*cited.quotes_of(claim.finding_ids), *claim.evidence)))
    chosen_passages = [
        quote for quote in every if not any(_is_within(quote, other) for other in every if other != quote)
    ]
    return chosen_passages[:MAX_PASSAGES]


def _is_within(quote: Quote, other: Quote) -> bool:
    end = quote.start + len(quote.quote)
    return (
        quote.content_hash == other.content_hash
        and other.start <= quote.start
        and end <= other.start + len(other.quote)
        and len(other.quote) <= MAX_PASSAGE_CHARS
    )


class _Request(Message):
    """The message, with the names of what stands in it."""

    def __init__(
        self,
        claims: Sequence[Claim],
        shown: Sequence[Sequence[Quote]],
        state: DeepResearchState,
        cited: CitationResolver,
        room: Room,
    ) -> None:
        super().__init__(room)
        self.by_key = {_key(quote): quote for each in shown for quote in each}
        self.claims = Aliases("C", [claim.id for claim in claims])
        self.passages = Aliases("P", list(self.by_key))
        self.parts = Aliases("Q", [part.id for part in state.parts])
        self.add(today_of(state))
        parts = (f"{self.parts.names[part.id]} {one_line(part.text)}" for part in state.parts)
        self.material("parts", "\n".join((f"asked: {one_line(state.query)}", *parts)))
        names = self.passages.names
        claimed = [
            f"{self.claims.names[claim.id]} {_claim_line(claim)} — "
            f"{', '.join(names[_key(q)] for q in quotes) or 'no passage was found'}"
            f"{_remarks(claim)}"
            for claim, quotes in zip(claims, shown, strict=True)
        ]
        passage_lines = [
            f"{name} ({one_line(cited.title(quote.source_id))}): {one_line(quote.quote)[:MAX_PASSAGE_CHARS]}"
            for name, quote in zip(names.values(), self.by_key.values(), strict=True)
        ]
        self.material("passages", "\n".join(self.lines(passage_lines, OF_PASSAGES, "the passages")))
        self.material("claims", "\n".join(self.lines(claimed, OF_CLAIMS, "the claims")))


def _key(quote: Quote) -> str:
    return f"{quote.content_hash} {quote.source_id} {quote.start} {len(quote.quote)}"


def _claim_line(claim: Claim) -> str:
    under = f"({one_line(claim.heading)}): " if claim.heading else ""
    return f"{under}{one_line(claim.text)}"


def _remarks(claim: Claim) -> str:
    remarks = [
        f"{reason.aspect} “{one_line(reason.claimed)}”"
        + (f", the source has “{one_line(reason.in_source)}”" if reason.in_source else "")
        for reason in claim.reasons
        if reason.aspect not in _NO_REMARK
    ]
    return f" (remarks: {'; '.join(remarks)})" if remarks else ""
