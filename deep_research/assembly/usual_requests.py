"""The requests that a run usually makes of models, for what it reads and how its report is written. Pure.

What stands around the material is counted on the prompts themselves. How much comes of it was measured on runs over
documents and the web: see docs/budget.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from deep_research.budget.estimate import AT_ONCE, BYTES_A_TOKEN, Requests, RoleModel
from deep_research.phases.analysis import findings_merge
from deep_research.phases.analysis import llm as reading
from deep_research.phases.gathering.tasks import agent, task_review
from deep_research.phases.planning import llm as planning
from deep_research.phases.refinement import llm as refining
from deep_research.phases.synthesis import judge, repair_request, revision, sections, writer_material
from deep_research.phases.synthesis import llm as writing
from deep_research.settings import Settings
from deep_research.state import DeepResearchPhase, ModelRole, RunOptions
from deep_research.state.phases import EVERY_ROLE
from deep_research.supervisor import opening, reflection

P, R = DeepResearchPhase, ModelRole
FILLED_SHARE = 0.75  # of a call that reads, as a rule: the next source has to fit whole
AROUND_SOURCE, AROUND = 100, 150  # tokens beside a source, and of the question and the plan in each prompt
TOKENS_A_WORD = 1.4
STEPS, SHOWN = (1, 4), 1_500  # of a task, and tokens that each shows
CHOICES = 4  # requests for a long text of which a model chooses
FINDINGS_OF_A_SECTION = (8, 5)  # at the low and the high end
TOKENS_A_CLAIM, CLAIM, VERDICT = 25, 80, 20  # in a report, with its passages, and of what the judge answers
REPAIRED = 6  # of so many claims one is repaired, and judged again


@dataclass(frozen=True, slots=True)
class End:
    """How much comes of what is read, at one end of an estimate, in tokens: a finding is drawn of so much ``evidence``,
    is ``finding`` long in the answer and ``sent_finding``, with what stands around its quotes, where it is sent on; a
    short object is one ``answer``, and a report has ``output_tokens`` of each finding. ``further`` is the part of the
    first round that a second one reads, 0 where none is made; ``reviews`` whether what may be looked at is."""

    evidence: int
    finding: int
    sent_finding: int
    answer: int
    output_tokens: int
    further: float
    reviews: bool


LOW = End(650, 70, 150, 30, 20, further=0.0, reviews=False)
HIGH = End(340, 100, 200, 150, 65, further=0.4, reviews=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a run does: ``sources`` are those that a model reads in the first round, of ``tokens`` in all, in calls of
    ``call`` tokens; ``queries`` are searched. ``prompt`` are the tokens of the question and of what its owner adds,
    ``cut`` those of sources that are too many to be read."""

    options: RunOptions
    settings: Settings
    queries: int
    call: int
    prompt: int
    sources: int = 0
    tokens: int = 0
    cut: int = 0

    @property
    def iterations(self) -> int:
        cap = self.options.budget.max_iterations
        return min(self.options.max_iterations, cap) if cap else self.options.max_iterations


def tokens_of(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN


@dataclass(frozen=True, slots=True)
class UsualRequests:
    """Those of the roles that are asked (``models``), at one end."""

    work: Work
    models: Mapping[ModelRole, RoleModel]
    end: End

    def __iter__(self) -> Iterator[Requests]:
        work, end = self.work, self.end
        yield from self._request(P.PLANNING, R.PLANNER, planning.SYSTEM, 0, 2 * end.answer)
        if work.options.clarify != "never":
            yield from self._request(P.PLANNING, R.SUPERVISOR, opening.SYSTEM, 100, end.answer)
        findings, report = 0.0, 0.0
        rounds = (1.0, end.further) if end.further and work.iterations > 1 else (1.0,)
        for number, part in enumerate(rounds):
            findings += part * work.tokens / end.evidence
            report = min(TOKENS_A_WORD * work.options.report_words, 50 + end.output_tokens * findings)
            yield from (
                self._tasks(part) if R.TASK_AGENT in self.models else self._reading(part, number, findings)
            )
            yield from self._revision(findings, report) if number else self._report(findings, report)
            if work.settings.revise_with_critic or number + 1 < len(rounds):
                sent = 300 + 45 * findings + report
                yield from self._request(P.REFINEMENT, R.REFINER, refining.SYSTEM, sent, end.answer)
            for phase in P if work.settings.reflection == "always" else ():
                yield from self._request(phase, R.SUPERVISOR, reflection.SYSTEM, 0, end.answer)
        if end.reviews and work.settings.revise_with_critic and len(rounds) == 1:
            yield from self._revision(findings, report)
            sent = findings * end.sent_finding / 2
            yield from self._request(P.SYNTHESIS, R.SYNTHESIZER, repair_request.SYSTEM, sent, report / 2)

    def _request(
        self,
        phase: DeepResearchPhase,
        role: ModelRole,
        system: str,
        sent: float,
        answer: float,
        *,
        calls: float = 1,
    ) -> Iterator[Requests]:
        if role in self.models and calls > 0:
            sent += tokens_of(system) + AROUND + self.work.prompt
            if self.end.reviews:
                thinking = self.work.settings.thinking_tokens
                answer += thinking.get(role, thinking.get(EVERY_ROLE, 0))
            yield Requests.of(phase, self.models[role], ceil(calls), sent, answer)

    def _tasks(self, part: float) -> Iterator[Requests]:
        work, end = self.work, self.end
        waves = work.options.tasks.max_waves if end.reviews else 1
        tries = part * work.queries * waves * (1 + (work.options.task_retries if end.reviews else 0))
        steps = min(work.options.tasks.max_steps, STEPS[end.reviews])
        shown = 400 + steps * SHOWN / 2
        yield from self._request(
            P.GATHERING, R.TASK_AGENT, agent.SYSTEM, shown, 3 * end.answer, calls=tries * steps
        )
        yield from self._request(P.GATHERING, R.REVIEWER, task_review.SYSTEM, SHOWN, end.answer, calls=tries)
        if work.options.tasks.max_waves > 1:
            results = part * work.queries * end.finding
            yield from self._request(
                P.GATHERING, R.SUPERVISOR, reflection.LEAD_SYSTEM, results, end.answer, calls=waves
            )

    def _reading(self, part: float, number: int, findings: float) -> Iterator[Requests]:
        work, end = self.work, self.end
        tokens, sources = part * work.tokens, part * work.sources
        calls = max(1, ceil((tokens + AROUND_SOURCE * sources) / (FILLED_SHARE * max(1, work.call))))
        calls += end.reviews and calls > 2  # a source that is large leaves the one before it emptier
        answer = 60 + tokens / end.evidence * end.finding / calls
        yield from self._request(P.ANALYSIS, R.ANALYZER, reading.SYSTEM, tokens / calls, answer, calls=calls)
        if work.settings.reading.triage and end.reviews:
            yield from self._request(P.ANALYSIS, R.ANALYZER, reading.CHOICE_SYSTEM, 3_000, 2 * end.answer)
        if calls > 1 or number:
            yield from self._request(
                P.ANALYSIS,
                R.ANALYZER,
                findings_merge.SYSTEM,
                30 * findings,
                end.answer,
            )
        if work.cut and end.reviews:
            choices = max(1.0, sources * CHOICES)
            yield from self._request(
                P.ANALYSIS, R.SUMMARIZER, "", work.cut / choices, 2 * end.answer, calls=choices
            )

    def _revision(self, findings: float, report: float) -> Iterator[Requests]:
        sent = findings * self.end.sent_finding + report
        yield from self._request(
            P.SYNTHESIS, R.SYNTHESIZER, writer_material.SYSTEM + revision.REVISION, sent, report
        )

    def _report(self, findings: float, report: float) -> Iterator[Requests]:
        work, end, sent = self.work, self.end, findings * self.end.sent_finding
        parts = min(sections.MAX_SECTIONS, int(findings / FINDINGS_OF_A_SECTION[end.reviews]))
        if work.options.report_words <= AT_ONCE or parts < sections.MIN_SECTIONS:
            yield from self._request(
                P.SYNTHESIS, R.SYNTHESIZER, writer_material.SYSTEM + writing.WHOLE, sent, report
            )
        else:
            yield from self._request(P.SYNTHESIS, R.SYNTHESIZER, sections.OUTLINE, sent / 2, 2 * end.answer)
            each = report / parts
            yield from self._request(
                P.SYNTHESIS, R.SYNTHESIZER, sections.PART, sent / parts, each, calls=parts
            )
            yield from self._request(P.SYNTHESIS, R.SYNTHESIZER, sections.FRAME, report, end.answer)
            yield from self._request(P.SYNTHESIS, R.SYNTHESIZER, revision.LAST_PASS, report, report)
        claims = ceil(report / TOKENS_A_CLAIM)
        yield from self._judging(claims, ceil(claims / judge.CLAIMS_AT_ONCE))
        if end.reviews:
            yield from self._judging(claims / REPAIRED, 1)

    def _judging(self, claims: float, calls: int) -> Iterator[Requests]:
        each = claims / calls
        yield from self._request(
            P.SYNTHESIS, R.JUDGE, judge.SYSTEM, CLAIM * each, VERDICT * each, calls=calls
        )
