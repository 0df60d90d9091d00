"""The requests that a run may make of models, at its least and at its most. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

from deep_research.budget.report_cost import PASSAGES
from deep_research.models.base import TokenUsage
from deep_research.models.profiles import Price
from deep_research.state import Budget, DeepResearchPhase, ModelRole

AGAIN = 2  # times that a thing is asked for, at the high end
# Tokens of a prompt beside what it is about: instructions, form, context.
LEAST_PROMPT, MOST_AROUND = 250, 4_000
LEAST_SOURCE, LEAST_ANSWER, LEAST_REPORT = 50, 30, 60  # tokens
AROUND_SOURCE = 100  # tokens
BESIDE = 8  # what is known already takes no more than this part of a prompt, when sources are read or gaps are judged
MOST_SHOWN = 3_000  # tokens of what a phase came to, that the supervisor is shown
FILLED = 0.75  # of a batch of sources, as a rule: the next one has to fit whole
PARTS = 4  # of a long text, as a rule, when a model chooses what is kept of it; then it chooses once more
CLAIMS_AT_ONCE, EACH_CLAIM = 30, 700  # that a judge sees in a request, and tokens of each with its passages
MOST_DOUBTED = 8_000  # tokens of titles, headings and passages of sources that a model is asked about
MOST_REQUOTED = 14_000  # tokens of quotes that are asked for again, with a passage each
MOST_READ_ON = 5  # sources of earlier rounds of which further sections are read in a round
USES = 4  # of tools in a step
SHOWN = 6_000  # tokens that a step shows, at most
MOST_REVIEWED = 6_000  # tokens of a finding with its quotes
SPARE = 2  # times as many pages are looked at as are wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of request that a role's model is sent: ``room`` are the tokens that may be sent, ``output`` those that may
    come back."""

    role: ModelRole
    model: str
    room: int
    output: int
    price: Price | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """The kinds of requests there are; None for what is done without a model, or not at all. A report is written at
    once, or planned, in ``sections`` and framed; ``critique`` says that it is looked at (``refine``) and made better
    (``revise``) also where nothing more is searched; claims that nothing carries are worded anew at once (``repair``),
    and ``judge`` looks at so many ``claims`` of a report; quotes that no source has are asked for again (``requote``),
    and which doubtful sources are read at all is asked before (``decide``);
    ``advise`` is the supervisor's model, ``advise_always`` whether it is asked after each phase and not only after
    one that failed; ``clarify`` is the same one, asked once whether it is clear what is asked; ``shorten`` chooses
    what is kept of a long text. Tasks take steps (``step``) and are reviewed (``review``)."""

    plan: Kind | None = None
    step: Kind | None = None
    review: Kind | None = None
    read: Kind | None = None
    decide: Kind | None = None
    requote: Kind | None = None
    merge: Kind | None = None
    write: Kind | None = None
    outline: Kind | None = None
    section: Kind | None = None
    frame: Kind | None = None
    refine: Kind | None = None
    revise: Kind | None = None
    critique: bool = True
    repair: Kind | None = None
    judge: Kind | None = None
    advise: Kind | None = None
    advise_always: bool = False
    clarify: Kind | None = None
    shorten: Kind | None = None
    sections: int = 0
    claims: int = 0

    def every(self) -> Iterator[Kind]:
        for name in self.__dataclass_fields__:
            if isinstance(kind := getattr(self, name), Kind):
                yield kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large a run may become. ``prompt`` are the tokens of the question and of what its owner adds; ``reading`` those
    of sources that are read in an iteration, and ``batch`` in one request; ``text`` those of the longest text that is
    kept, and ``part`` those of it from which is chosen at a time. ``searched_again`` is how often a search may be made in
    other words, and ``first_look`` how many are made before a plan; ``pages`` whether pages of the web are read."""

    iterations: int
    sub_queries: int
    steps: int = 0  # of a task
    retries: int = 0  # of a task
    sources: int  # of a sub-query
    searched_again: int = 0
    first_look: int = 0
    pages: bool = False
    prompt: int = 0
    reading: int
    batch: int
    part: int = 16_000
    text: int
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True)
class Asked:
    """So many requests of a kind in a phase, each of so many tokens."""

    phase: DeepResearchPhase
    kind: Kind
    calls: int
    input: int
    output: int

    @property
    def least_usd(self) -> float | None:
        usage = TokenUsage(input=self.input, output=self.output)
        return self.calls * self.kind.price.of(usage) if self.kind.price else None

    @property
    def request_usd(self) -> float | None:
        """What one of them can cost at most."""
        return self.kind.price.most(self.input, self.output) if self.kind.price else None

    @property
    def most_usd(self) -> float | None:
        return None if self.request_usd is None else self.calls * self.request_usd


def rounds_of(scale: Scale) -> list[int]:
    """The sub-queries of each iteration, at most. One whose searches the cap forbids may be made all the same."""
    left = capped(scale.iterations * scale.sub_queries, scale.budget.max_searches)
    rounds: list[int] = []
    for _ in range(scale.iterations):
        rounds.append(min(left, scale.sub_queries))
        left -= rounds[-1]
    return rounds


def searches_of(rounds: list[int], scale: Scale) -> int:
    """Other words are looked for in the first iteration alone; a plan may have a look at the web before it. Each step of
    a task may make as many as it has uses."""
    if scale.steps:
        return scale.first_look + sum(rounds) * scale.steps * USES * (1 + scale.retries)
    return scale.first_look + AGAIN * (sum(rounds) + scale.searched_again * sum(rounds[:1]))


def at_least(kinds: Kinds, scale: Scale) -> Iterator[Asked]:
    prompt = LEAST_PROMPT + scale.prompt // 2  # what is counted with three bytes to a token may have six
    for phase, kind, more, output in (
        (DeepResearchPhase.PLANNING, kinds.plan, 0, LEAST_ANSWER),
        (DeepResearchPhase.PLANNING, kinds.clarify, 0, LEAST_ANSWER),
        (DeepResearchPhase.GATHERING, kinds.step, 0, LEAST_ANSWER),
        (DeepResearchPhase.GATHERING, kinds.review, 0, LEAST_ANSWER),
        (DeepResearchPhase.ANALYSIS, None if kinds.step else kinds.read, LEAST_SOURCE, LEAST_ANSWER),
        (DeepResearchPhase.SYNTHESIS, kinds.write or kinds.section, 0, LEAST_REPORT),
        (DeepResearchPhase.SYNTHESIS, kinds.advise if kinds.advise_always else None, 0, LEAST_ANSWER),
        (DeepResearchPhase.REFINEMENT, kinds.refine if kinds.critique else None, 0, LEAST_ANSWER),
    ):
        if kind is not None:
            yield Asked(phase, kind, 1, min(prompt + more, kind.room), min(output, kind.output))


def at_most(kinds: Kinds, scale: Scale, rounds: list[int]) -> Iterator[Asked]:
    around = MOST_AROUND + scale.prompt
    yield from _most_of(DeepResearchPhase.PLANNING, kinds.plan, 1, around)
    yield from _advice(DeepResearchPhase.PLANNING, kinds, around)
    if kinds.clarify is not None:  # planned once more with what was answered
        yield from _most_of(DeepResearchPhase.PLANNING, kinds.clarify, 1, around + MOST_SHOWN)
        yield from _most_of(DeepResearchPhase.PLANNING, kinds.plan, 1, around)
        yield from _advice(DeepResearchPhase.PLANNING, kinds, around)
    known = 0  # tokens of all that was found so far: no more than the models were allowed to write
    for number, queries in enumerate(rounds, 1):
        yield from _tasks(kinds, scale, queries, around)
        yield from _advice(DeepResearchPhase.GATHERING, kinds, around)
        sources = queries * scale.sources
        if kinds.step is not None:
            known += queries * kinds.step.output
        if kinds.read is not None and sources:
            calls, each = _readings(sources + MOST_READ_ON * (number > 1), scale)
            beside = min(known, kinds.read.room // BESIDE)
            yield from _most_of(DeepResearchPhase.ANALYSIS, kinds.read, calls, around + beside + each)
            yield from _most_of(DeepResearchPhase.ANALYSIS, kinds.decide, 1, around + MOST_DOUBTED)
            yield from _most_of(DeepResearchPhase.ANALYSIS, kinds.requote, calls, MOST_REQUOTED)
            known += calls * kinds.read.output
            if calls > 1 or number > 1:
                yield from _most_of(DeepResearchPhase.ANALYSIS, kinds.merge, 1, around + known)
            choices = sources * (1 + min(PARTS, ceil(scale.text / max(1, scale.part))))
            yield from _most_of(DeepResearchPhase.ANALYSIS, kinds.shorten, choices, around + scale.part)
        yield from _advice(DeepResearchPhase.ANALYSIS, kinds, around)
        yield from _report(kinds, around + known)
        yield from _advice(DeepResearchPhase.SYNTHESIS, kinds, around)
        if kinds.refine is not None and (number < scale.iterations or kinds.critique):
            judged = around + _written(kinds) + min(known + PASSAGES, kinds.refine.room)
            yield from _most_of(DeepResearchPhase.REFINEMENT, kinds.refine, 1, judged)
            yield from _advice(DeepResearchPhase.REFINEMENT, kinds, around)
            # What is said of the report makes a better one.
            yield from _most_of(
                DeepResearchPhase.SYNTHESIS, kinds.revise, 1, around + known + _written(kinds)
            )
            yield from _checks(kinds, around + known)
            yield from _advice(DeepResearchPhase.SYNTHESIS, kinds, around)


def _tasks(kinds: Kinds, scale: Scale, queries: int, around: int) -> Iterator[Asked]:
    """What the tasks of an iteration take: each step is told what those before it have shown, half of it on average."""
    phase, attempts = DeepResearchPhase.GATHERING, queries * (1 + scale.retries)
    if not attempts:
        return
    yield from _most_of(phase, kinds.step, attempts * scale.steps, around + scale.steps * SHOWN // 2)
    yield from _most_of(phase, kinds.review, attempts, around + MOST_REVIEWED)


def _readings(sources: int, scale: Scale) -> tuple[int, int]:
    """How many requests read the sources of an iteration, and how much of them is in each."""
    material = min(scale.reading, sources * scale.text) + sources * AROUND_SOURCE
    calls = min(sources, ceil(material / max(1.0, FILLED * scale.batch)))
    return calls, ceil(material / calls)


def _report(kinds: Kinds, prompt: int) -> Iterator[Asked]:
    phase = DeepResearchPhase.SYNTHESIS
    yield from _most_of(phase, kinds.write, 1, prompt + PASSAGES)
    if kinds.section is not None:
        # A finding may serve several sections, with what stands around its quotes.
        each = MOST_AROUND + min(prompt, 2 * ceil(prompt / max(1, kinds.sections)) + PASSAGES)
        yield from _most_of(phase, kinds.outline, 1, prompt + PASSAGES)
        yield from _most_of(phase, kinds.section, kinds.sections, each)
        yield from _most_of(phase, kinds.frame, 1, prompt + _written(kinds))
        yield from _most_of(phase, kinds.revise, 1, MOST_AROUND + _written(kinds))  # the last pass
    yield from _checks(kinds, prompt)


def _checks(kinds: Kinds, prompt: int) -> Iterator[Asked]:
    """What the claims of a draft take."""
    phase = DeepResearchPhase.SYNTHESIS
    yield from _most_of(phase, kinds.repair, 1, prompt + _written(kinds))
    calls = ceil(kinds.claims / CLAIMS_AT_ONCE)
    yield from _most_of(phase, kinds.judge, calls, MOST_AROUND + CLAIMS_AT_ONCE * EACH_CLAIM)


def _written(kinds: Kinds) -> int:
    """Tokens of a report."""
    if kinds.section is not None:
        return kinds.sections * kinds.section.output
    return kinds.write.output if kinds.write else 0


def _advice(phase: DeepResearchPhase, kinds: Kinds, around: int) -> Iterator[Asked]:
    """A phase fails once, so there is one to advise on, or two."""
    if kinds.advise is not None:
        prompt = min(around + MOST_SHOWN, kinds.advise.room)
        yield Asked(phase, kinds.advise, 1 + kinds.advise_always, prompt, kinds.advise.output)


def _most_of(phase: DeepResearchPhase, kind: Kind | None, calls: int, prompt: int) -> Iterator[Asked]:
    if kind is not None:
        yield Asked(phase, kind, AGAIN * calls, min(prompt, kind.room), kind.output)


def capped(number: int, cap: int | None) -> int:
    return number if cap is None else min(number, cap)
