"""Thoughts of the supervisor's model: on a finished phase, and as the lead, who sees what all tasks of a wave came to and
sends out further ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from deep_research.budget.metered import RunModels
from deep_research.errors import ModelError, StopResearch, StoreError
from deep_research.logs import describe_error, get_log
from deep_research.models.failures import Verdict
from deep_research.models.language_model import LanguageModel
from deep_research.phases.base import Phase
from deep_research.phases.gathering.caps import affordable
from deep_research.phases.prompting import (
    OF_ADVICE,
    OF_QUESTION,
    RULES,
    Message,
    Room,
    ask_model,
    brief,
    instructions,
    listed,
    one_line,
    today_of,
)
from deep_research.provenance.secret_filter import askable
from deep_research.state import (
    AgentDecision,
    DeepResearchPhase,
    DeepResearchState,
    ModelRole,
    Notice,
    QuestionPart,
    SubQuery,
    SupervisorAction,
    TaskState,
    ValidationResult,
)
from deep_research.state.events import DecisionMade, Event, NoticeAdded, SubQueriesAdded
from deep_research.state.identity import sub_query_id
from deep_research.state.journal import Clock, Journal
from deep_research.state.records import LEAD, OF_MODEL
from deep_research.supervisor.decisions import by_supervisor
from deep_research.supervisor.review import Review, consider

MAX_OUTPUT_TOKENS = 1_500  # tokens, thoughts included

SYSTEM = f"""\
You supervise a piece of research that goes through planning, gathering, analysis, synthesis and \
refinement, each done by a specialist. After a phase you look at what came of it, in figures, decide what \
comes next, and advise whoever works then, or does the phase again.

Weigh whether the question is covered, how good the evidence is, and what the rounds that are left allow. \
Then give an action (proceed, retry, iterate or complete), the reason in one or two sentences, a score \
from 1 to 10 with strengths and weaknesses, and guidance: at most three short, concrete instructions that \
change what the next specialist does. Say "" if there is nothing worth saying; praise is no guidance.

{RULES}"""

ORIGIN = "supervisor"
_IN_VAIN = (Verdict.TRANSIENT, Verdict.PARK, Verdict.FATAL)  # the service does not answer, or not us
log = get_log("thinking")
# The lead.
ACTION = "wave"  # of the decisions that are recorded
LEAD_OUTPUT_TOKENS = 2_500  # thoughts included
LEAD_RESULTS_SHARE = 0.7  # of the room
MAX_FACTS, MAX_FACT_CHARS = 12, 400  # of a task
MAX_ANSWER_CHARS, MAX_REASON_CHARS = 1_200, 400
LEAD_SYSTEM = f"""\
You lead a piece of research. Agents have worked on tasks of it, each alone; you alone see what all of them found. \
Decide whether the question can be answered well from that, or what has to be found beside.

Look for what the answers lack together: parts of the question that nobody answered, facts that contradict each other, \
names and references that one agent met and another should follow, a figure without the one that it is to be \
compared with. For each such thing give a task: a question that stands by itself and names everything in full, since \
the agent who gets it has read nothing of this; and the reason. Do not give a task again that was done; ask for what \
was missing in another way, or where else it may stand. What would only be nice to know is no task.

Say is_enough: true, and give no task, when what is left would not change the answer, or is not to be found.

{RULES}"""


class Assessment(BaseModel):
    score: int = Field(default=5, ge=1, le=10)
    strengths: list[str] = Field(default_factory=list)
    weaknesses: list[str] = Field(default_factory=list)


class Reflection(BaseModel):
    action: Literal["proceed", "retry", "iterate", "complete"] = "proceed"
    rationale: str = ""
    quality_assessment: Assessment = Field(default_factory=Assessment)
    guidance: str = Field(default="", description="instructions to whoever works next")


async def reflect(
    state: DeepResearchState,
    phase: DeepResearchPhase,
    validation: ValidationResult,
    model: LanguageModel,
    prompt: str,
) -> Reflection:
    """What the supervisor's model thinks of a finished phase, asked by the ``prompt``. Raises `WorkError`."""
    reflection, _ = await ask_model(
        model,
        SYSTEM,
        MAX_OUTPUT_TOKENS,
        Reflection,
        lambda room: _prompt(state, phase, validation, prompt, room),
    )
    return reflection


def _question(state: DeepResearchState, room: Room) -> Message:
    """A message that begins with what is researched."""
    message = Message(room)
    message.add(f"Question: {message.within(state.query, OF_QUESTION, 'the question')}")
    message.add(today_of(state))
    instructions(message, state.options.system_prompt)
    return message


def _prompt(
    state: DeepResearchState,
    phase: DeepResearchPhase,
    validation: ValidationResult,
    prompt: str,
    room: Room,
) -> Message:
    message = _question(state, room)
    message.add(f"Phase: {phase.value}, round {state.iteration} of {state.max_iterations}.")
    message.add(prompt)
    if validation.issues:
        issues = message.lines([one_line(issue) for issue in validation.issues], OF_ADVICE, "the issues")
        message.add(f"The gate found:\n{listed(issues)}")
    message.add(f"What there is:\n{listed(_figures(state, phase))}")
    return message


def _figures(state: DeepResearchState, phase: DeepResearchPhase) -> list[str]:
    """What the run has, in figures and the words of its owner alone: what pages say could order a model to have phases
    done again and again."""
    lines = [f"{part.text}: {verdict}" for part, verdict in _parts(state)]
    searched = sum(bool(s.source_ids) for s in state.completed_sub_queries())
    lines.append(f"{len(state.current_sub_queries())} searches planned, {searched} of them found something.")
    if phase is DeepResearchPhase.PLANNING:
        return lines
    kinds = Counter(f"{source.kind.value} of {source.quality.value} quality" for source in state.sources)
    lines.append(f"Sources: {_count_list(kinds)}.")
    if phase is not DeepResearchPhase.GATHERING:
        lines.append(
            f"Findings: {_count_list(Counter(f'{f.confidence.value} confidence' for f in state.findings))}."
        )
        lines.append(
            f"{len(state.unresolved_gaps())} gaps are open; {len(state.contradictions)} contradictions."
        )
    if state.report_metadata is not None:
        metadata = state.report_metadata
        lines.append(f"Report: {metadata.word_count} words, {metadata.citations_count} citations.")
    return [one_line(line) for line in lines]


def _parts(state: DeepResearchState) -> list[tuple[QuestionPart, str]]:
    """The parts of the question, each with how far it is answered; a planner that has read titles may word them, so that
    only those that the question itself shows are told."""
    verdicts = {v.part_id: v.verdict.value.replace("_", " ") for v in state.verdicts}
    return [
        (part, verdicts[part.id])
        for part in state.parts
        if part.id in verdicts and " ".join(part.text.split()) in " ".join(state.query.split())
    ]


def _count_list(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} of {kind}" for kind, count in sorted(kinds.items())) or "none"


class Thinking:
    """The reflections of one run. ``when`` is never, on_failure or always."""

    def __init__(self, models: RunModels | None, when: str, clock: Clock) -> None:
        has_model = models is not None and bool(models.roles.chain_of(ModelRole.SUPERVISOR))
        self._models = models if has_model and when != "never" else None
        self._always = when == "always"
        self._clock = clock

    async def after(self, journal: Journal, review: Review, worker: Phase, prompt: str) -> None:
        """Think about a finished phase by the ``prompt``, as far as that is wanted: what the model advises and wants
        becomes part of the review."""
        failed = review.action is not SupervisorAction.PROCEED
        if self._models is None or not (failed or self._always) or review.action is SupervisorAction.ABORT:
            return
        thought = await self._think(journal, review, prompt, self._models)
        if thought is None:
            return
        state = journal.state
        advice = thought.guidance.strip()
        is_new = bool(advice) and advice not in state.steering_for(review.phase)
        followed = is_new and await worker.can_follow(advice, state)
        if advice:
            review.guidance.append((advice, ORIGIN))
        inputs = {"phase": review.phase.value, "iteration": state.iteration}
        outputs = thought.model_dump(mode="json", exclude={"rationale"})
        decision = by_supervisor("reflect", thought.rationale, inputs, outputs, self._clock())
        consider(review, decision, SupervisorAction(thought.action), state, worker, followed=followed)

    async def _think(
        self, journal: Journal, review: Review, prompt: str, models: RunModels
    ) -> Reflection | None:
        """None where nothing comes of it: advice is no work, and the run goes on without."""
        model = models.model(ModelRole.SUPERVISOR, review.phase)
        try:
            return await reflect(journal.state, review.phase, review.validation, model, prompt)
        except (StoreError, StopResearch):
            raise
        except Exception as error:  # a provider may be anybody's
            log.warning("no_reflection", error=describe_error(error))
            if isinstance(error, ModelError) and error.verdict in _IN_VAIN:
                self._models = None  # a request after each phase would be as much in vain
                problem = f"The supervisor's model does not answer ({error.problem})"
                message = f"{problem}; the run continues without its advice."
                await journal.record(NoticeAdded(notice=Notice(name=OF_MODEL, message=message)))
            return None


# The lead


class WaveTask(BaseModel):
    question: str = Field(description="what the agent is to find, understandable by itself")
    reason: str = Field(default="", description="what it contributes to the answer")
    part: int | None = Field(default=None, description="number of the part of the question that it serves")


class WavePlan(BaseModel):
    thought: str = Field(
        default="", description="what is known by now and what lacks, in two or three sentences"
    )
    is_enough: bool = Field(description="whether the question can be answered well from what there is")
    tasks: list[WaveTask] = Field(
        default_factory=list, description="the next tasks, the most important first"
    )


class LeadAgent:
    """Decides after each wave of tasks. Used on one loop, by one run."""

    def __init__(self, models: RunModels, clock: Clock) -> None:
        self._models = models
        self._clock = clock

    async def __call__(self, state: DeepResearchState) -> Sequence[Event]:
        """The decision on the wave that ended, with the tasks of the next one as sub-queries; nothing where it was made
        already or none is to be made. Raises `StoreError`, and what stops a run. A model that fails decides nothing."""
        wave_count = len(_decisions(state))
        if not _may_decide(state) or not self._models.roles.chain_of(ModelRole.SUPERVISOR):
            return ()
        try:
            model = self._models.model(ModelRole.SUPERVISOR, DeepResearchPhase.GATHERING)
            plan, _ = await ask_model(
                model,
                LEAD_SYSTEM,
                LEAD_OUTPUT_TOKENS,
                WavePlan,
                lambda room: _message(state, wave_count, room),
            )
        except (StoreError, StopResearch):
            raise
        except Exception as error:  # the wave that there was will do
            log.warning("no_further_wave", error=describe_error(error))
            ended = WavePlan(is_enough=True, thought=f"No further wave: {describe_error(error)}")
            return (self._decision(state, wave_count, ended, ()),)
        tasks = () if plan.is_enough else next_tasks(plan, state)
        decision = self._decision(state, wave_count, plan, tasks)
        return (decision, SubQueriesAdded(sub_queries=tasks)) if tasks else (decision,)

    def _decision(
        self, state: DeepResearchState, wave_count: int, plan: WavePlan, tasks: Sequence[SubQuery]
    ) -> DecisionMade:
        inputs: dict[str, Any] = {"iteration": state.iteration, "wave": wave_count + 1}
        outputs: dict[str, Any] = {"is_enough": plan.is_enough, "tasks": [task.query for task in tasks]}
        why = one_line(plan.thought)[:MAX_REASON_CHARS]
        decision = by_supervisor(ACTION, why, inputs, outputs, self._clock())
        action = SupervisorAction.ITERATE if tasks else SupervisorAction.PROCEED
        return DecisionMade(action=action, decision=decision)


def _decisions(state: DeepResearchState) -> list[AgentDecision]:
    return [d for d in state.decisions if d.action == ACTION and d.inputs.get("iteration") == state.iteration]


def _may_decide(state: DeepResearchState) -> bool:
    """Whether a model worked on tasks of this iteration, and a further wave is allowed and can be paid for."""
    decisions = _decisions(state)
    is_over = bool(decisions) and not (decisions[-1].outputs or {}).get("tasks")
    now = {s.id for s in state.sub_queries if s.iteration == state.iteration}
    worked = any(
        task.is_settled and not task.outcome.by_search
        for task in state.tasks
        if task.task.sub_query_id in now
    )
    return (
        worked
        and not is_over
        and len(decisions) + 1 < state.options.tasks.max_waves
        and not state.searching_stopped
        and affordable(state, 1) > 0
    )


def next_tasks(plan: WavePlan, state: DeepResearchState) -> tuple[SubQuery, ...]:
    """The tasks of a plan as sub-queries, at most as many as a plan of the run may have, none that the run has already.
    What a model writes goes to search services: addresses and what is confidential are left out."""
    existing_ids = {s.id for s in state.sub_queries}
    parts = [part.id for part in state.parts]
    tasks: dict[str, SubQuery] = {}
    for task in plan.tasks:
        text = askable(one_line(task.question), state.query, state.options.system_prompt)
        key = sub_query_id(text)
        if not text or key in existing_ids or key in tasks or len(tasks) == state.max_sub_queries:
            continue
        number = task.part or 0
        tasks[key] = SubQuery(
            id=key,
            query=text,
            rationale=one_line(task.reason)[:MAX_REASON_CHARS],
            index=state.next_index + len(tasks),
            iteration=state.iteration,
            part_id=parts[number - 1] if 0 < number <= len(parts) else None,
            origin=LEAD,
        )
    return tuple(tasks.values())


def _message(state: DeepResearchState, wave_count: int, room: Room) -> Message:
    message = _question(state, room)
    brief(message, state.research_brief)
    if len(state.parts) > 1:
        parts = [f"{number}. {one_line(part.text)}" for number, part in enumerate(state.parts, 1)]
        message.add("Parts of the question:\n" + "\n".join(parts))
    message.cut()
    message.add("What the tasks came to, the first one first:")
    titles = {source.id: source.title for source in state.sources}
    tasks = [task for task in state.tasks if task.is_settled]
    share = LEAD_RESULTS_SHARE / max(1, len(tasks))
    for number, task in enumerate(tasks, 1):
        text = message.within("\n".join(_result(task, titles)), share, "what tasks found")
        message.material(f"task {number}", text)
        message.cut()
    most = state.options.tasks.max_waves
    message.add(
        f"Wave {wave_count + 1} of at most {most} is done. The next one may have up to {state.max_sub_queries} tasks."
    )
    return message


def _result(task: TaskState, titles: dict[str, str]) -> Iterable[str]:
    outcome = task.outcome
    yield f"Task: {one_line(task.task.question)}"
    if task.review is not None and not task.review.approved:
        yield f"Not approved: {one_line(task.review.critique)[:MAX_FACT_CHARS]}"
    yield f"Answer: {one_line(outcome.answer)[:MAX_ANSWER_CHARS] or 'none'}"
    if facts := outcome.facts[:MAX_FACTS]:
        yield "Facts:"
        yield listed(
            f"{one_line(fact.content)[:MAX_FACT_CHARS]} ({', '.join(_sources(fact.quotes, titles))})"
            for fact in facts
        )
    if outcome.missing:
        yield f"Not found: {'; '.join(one_line(each)[:MAX_FACT_CHARS] for each in outcome.missing)}"
    if outcome.by_search or outcome.error:
        gain = f"{len(task.source_ids)} sources, which nobody has read yet" if task.source_ids else "nothing"
        yield f"It was searched without an agent: {gain}."


def _sources(quotes: Iterable[Any], titles: dict[str, str]) -> list[str]:
    names = dict.fromkeys(one_line(titles.get(quote.source_id, ""))[:100] for quote in quotes)
    return [f"“{name}”" for name in names if name][:3]
