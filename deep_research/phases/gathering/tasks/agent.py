"""The agent of a task that thinks with a model, and the limits of tasks: each step is one turn of the model, which calls
tools within what the limits leave; each task has an even part of what the caps of the run leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.models.base import Message as Turn
from deep_research.models.language_model import Answer, LanguageModel
from deep_research.models.profiles import Price
from deep_research.phases.gathering.tasks.step_prompt import StepPrompt, room_beside
from deep_research.phases.gathering.tasks.task_context import TaskContext
from deep_research.phases.gathering.tasks.toolbox import Toolbox
from deep_research.phases.handoff import Handoff
from deep_research.phases.prompting import (
    RULES,
    Room,
    brief,
    in_window,
    manner,
    one_line,
    opening,
    output_for,
    room_for,
)
from deep_research.state import (
    DeepResearchState,
    SubQuery,
    SubQueryStatus,
    Task,
    TaskLimits,
    TaskState,
    TaskStep,
)
from deep_research.text.term_weights import coverage
from deep_research.text.words import StemFinder, question_terms

MIN_COVERAGE = 0.2  # of the weight of a question's words, in a finding that is told
MAX_KNOWN_FINDINGS = 8
MAX_CONTEXT_CHARS = 4_000

# Tokens of a step that closes a task, its form and instructions included.
LEAST_INPUT, LEAST_OUTPUT = 3_000, 1_000
MOST_OUTPUT = 4_000  # tokens, thoughts included
LEAST_ROOM = 500  # tokens of what a step is made from, where a limit of its task leaves no more
OF_CONTEXT, OF_INVENTORY = 0.15, 0.15  # of the room

SYSTEM = f"""\
You work on one task of a larger piece of research: you answer its question from sources that you find with tools, and \
from nothing that you know yourself.

Work in steps. In each, look at what the steps before have shown, think what is still missing, and call up to four tools \
that do not need each other's results, or the tool done alone. Sources have names such as S3, links (results \
whose text nobody has read) such as L12; tools take these names and never an address. A search that finds nothing to the \
point is made again in other words: fewer, other terms for the same, the name or the title that the thing goes by. \
Open what promises most, read on where a text breaks off before the answer, follow what a text refers to.

Call done as soon as the task is answered, or when what is left is not to be found. Give it
- the answer in a few sentences;
- the facts it rests on: each a statement understandable by itself, the source that carries it, and the words of the \
source it follows from, copied letter by letter, one to three sentences. A fact whose quote is not in its source is \
thrown away. Several sources of one fact are several facts with the same statement;
- the sources that tell more of the matter than you quote, and should be read whole for the report;
- what is missing;
- where everything hangs on something that only the person who ordered the research can know, the question to ask them.

Where sources contradict each other give both sides as facts.

{RULES}"""


def context_of(sub_query: SubQuery, state: DeepResearchState) -> str:
    """Empty where nothing is known yet."""
    lines = []
    gap = next((g for g in state.gaps if g.id == sub_query.gap_id), None)
    if sub_query.rationale:
        lines.append(f"Why it is asked: {one_line(sub_query.rationale)}")
    if gap is not None:
        lines.append(f"What is missing: {one_line(gap.description)}")
    query_terms = question_terms(sub_query.query)
    find = StemFinder(query_terms)
    near = [(coverage(query_terms, find(finding.content)), finding) for finding in state.findings]
    best = sorted((each for each in near if each[0] >= MIN_COVERAGE), key=lambda each: -each[0])[
        :MAX_KNOWN_FINDINGS
    ]
    titles = {source.id: source.title for source in state.sources}
    for _, finding in best:
        of = ", ".join(one_line(titles[i])[:100] for i in finding.source_ids[:2] if i in titles)
        lines.append(f"- {one_line(finding.content)} ({of})")
    text = "\n".join(lines)
    return text if len(text) <= MAX_CONTEXT_CHARS else text[:MAX_CONTEXT_CHARS].rsplit("\n", 1)[0]


@dataclass(frozen=True, slots=True)
class RemainingLimits:
    """What the next step may take: ``tokens`` and ``usd``, None: there is no bound, or none for a first step, of which
    nobody knows what it will take. ``end_reason`` says why no step is taken, ``closing`` why the next one has to be the
    last, by what the latest took; both are empty as a rule. ``tight`` is what is told where it has no room."""

    tokens: int | None = None
    usd: float | None = None
    end_reason: str = ""
    closing: str = ""
    tight: str = ""

    def fitting(self, output: int, most: int, price: Price | None) -> int:
        """How many tokens of input, ``most`` at most, may be sent for an answer of ``output`` tokens."""
        fits = most if self.tokens is None else min(most, self.tokens - output)
        if self.usd is None or price is None or fits <= 0 or price.most(fits, output) <= self.usd:
            return max(0, fits)
        low, high = 0, fits  # the dearer price of long requests makes it no straight line
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if price.most(middle, output) <= self.usd else (low, middle)
        return low


def remaining_limits(
    limits: TaskLimits, steps: Sequence[TaskStep], price: Price | None = None
) -> RemainingLimits:
    """What the limits leave after these steps. The next one closes the task where there is room for it, and by what the
    latest took for none behind it. ``price`` is that of the model.

    Example:
        left(TaskLimits(steps=8, tokens=9_000, seconds=600), steps).closing  # "Its 9,000 tokens were used up."
    """
    messages = sentences(limits)
    if len(steps) >= limits.steps:
        return RemainingLimits(end_reason=messages["steps"])
    latest = steps[-1] if steps else TaskStep(number=0)
    # By name: the limit, what is used of it, what the latest step took, and what an answer takes at least.
    usage: dict[str, tuple[float | None, float, float, float]] = {
        "tokens": (
            limits.tokens,
            sum(step.tokens.total for step in steps),
            latest.tokens.total,
            LEAST_INPUT + LEAST_OUTPUT,
        ),
        "seconds": (limits.seconds, sum(step.seconds for step in steps), latest.seconds, 0.0),
    }
    costs = [step.cost_usd for step in steps]
    if None not in costs:  # of what is unknown nothing is counted
        least = price.most(LEAST_INPUT, LEAST_OUTPUT) if price else 0.0
        usage["usd"] = (limits.usd, sum(cost or 0.0 for cost in costs), latest.cost_usd or 0.0, least)
    rest = {name: most - spent for name, (most, spent, _, _) in usage.items() if most is not None}
    behind = {name: took + max(took, least) for name, (_, _, took, least) in usage.items()}
    reason = next((messages[name] for name, much in rest.items() if much <= 0), "")
    closing = next((messages[name] for name, much in rest.items() if much < behind[name]), "")
    if not steps:
        return RemainingLimits(end_reason=reason)
    tokens = rest.get("tokens")
    return RemainingLimits(
        tokens=None if tokens is None else int(tokens),
        usd=rest.get("usd"),
        end_reason=reason,
        closing=closing,
        tight=closing or next((messages[name] for name in ("tokens", "usd") if name in rest), ""),
    )


def sentences(limits: TaskLimits) -> dict[str, str]:
    """What is told of a task that each of its limits ended."""
    messages = {"steps": f"Its {limits.steps} steps were used up."}
    if limits.tokens is not None:
        messages["tokens"] = f"Its {limits.tokens:,} tokens were used up."
    if limits.usd is not None:
        messages["usd"] = f"Its {limits.usd:g} dollars were used up."
    return messages | {"seconds": f"Its {limits.seconds:g} seconds were used up."}


def ended_by_them(stands: TaskState) -> bool:
    """Whether the attempt ended at a limit of its own: another one would take as much and come no further."""
    finding = stands.finding
    return finding is not None and finding.stopped in sentences(stands.task.limits).values()


class TaskInput(Handoff):
    """What the agent of a task is told beside what its steps have shown. ``context`` is what the run knows of its
    question."""

    task: Task
    research_brief: str | None = None
    context: str = ""


class LLMTaskAgent:
    """Asks its model for one step at a time. ``rules`` are those of content that does not fit."""

    name = "task_agent"

    def __init__(self, rules: ContentRules = DEFAULTS) -> None:
        self._rules = rules

    async def step(
        self,
        handoff: TaskInput,
        desk: TaskContext,
        toolbox: Toolbox,
        number: int,
        *,
        last: bool,
        model: LanguageModel,
        left: RemainingLimits,
    ) -> Answer[Turn] | None:
        """The ``number``-th step, counted from 1; ``last``: there is none after it. None where what is ``left`` of the
        task's limits has no room for one."""

        async def whole() -> Room:
            room = await room_for(model, output_for(model, MOST_OUTPUT), SYSTEM, rules=self._rules)
            more = room_beside(room, toolbox.specs)
            return replace(room, tokens=max(0, room.tokens - more), beside=room.beside + more)

        async def fitting() -> Room:
            return _within(await whole(), left, model.profile.price)

        half = (await whole()).tokens // 2
        room = await fitting()
        if room.tokens < LEAST_ROOM and left != RemainingLimits():
            return None

        async def send(prompt: StepPrompt) -> Answer[Turn]:
            output = min(room.answer, output_for(model, MOST_OUTPUT))
            call = prompt.call(SYSTEM, output, label=handoff.task.id)
            return await model.turn(call.model_copy(update={"tools": toolbox.specs}))

        def compose(room: Room) -> StepPrompt:
            return _prompt(handoff, desk, toolbox, number, last, room, half)

        size = sum(len(showing.text) for step in desk.steps for showing in step.showings)
        return await in_window(room, compose, send, size=size, again=fitting)


def _within(room: Room, left: RemainingLimits, price: Price | None) -> Room:
    """The room that the limits of a task leave: of a small rest a shorter answer leaves more of what it is made from."""
    whole = room.beside + room.tokens
    for output in (room.answer, room.answer // 2, min(room.answer, LEAST_OUTPUT)):
        fits = left.fitting(output, whole, price) - room.beside
        if fits >= min(room.tokens, output):
            break
    return replace(room, tokens=max(0, fits), answer=output)


def _prompt(
    handoff: TaskInput, desk: TaskContext, toolbox: Toolbox, number: int, last: bool, room: Room, half: int
) -> StepPrompt:
    """What changes least comes first, and each step behind those before it: what a service read for one step it need not
    read again for the next. ``half`` are the tokens of half the window."""
    task = handoff.task
    prompt = StepPrompt(room)
    opening(prompt, handoff)
    brief(prompt, handoff.research_brief)
    prompt.add(f"Your task: {one_line(task.question)}")
    if task.critique:
        prompt.add("A reviewer sent an earlier attempt back. Mend this:")
        prompt.material("critique", task.critique)
    if handoff.context:
        prompt.add("What is known already:")
        prompt.material("known", prompt.within(handoff.context, OF_CONTEXT, "what is known of a task"))
    what = "what others say of their tools"
    prompt.listing(
        f"{what.capitalize()}:", "tool descriptions", toolbox.outside_descriptions(), OF_INVENTORY, what
    )
    if "search" in toolbox.tools and len(task.data_sources) > 1:
        prompt.add(f"Data sources: {', '.join(task.data_sources)}.")
    tail = _tail(handoff, desk, toolbox, number, last)
    whole = prompt.add_steps(desk.steps, task.question, half, room.tokens - prompt.count(tail))
    # The heads of sources stand in what the steps have shown, where that is there as a whole.
    names = [line for line in desk.inventory() if f"{line.partition(':')[0]}: " not in whole]
    if names:
        lines = "\n".join(prompt.lines(names, OF_INVENTORY, "what a task has found"))
        tail = "\n\n".join(["What you have beside:", prompt.fenced("names", lines), tail])
    prompt.end(tail)
    return prompt


def _tail(handoff: TaskInput, desk: TaskContext, toolbox: Toolbox, number: int, last: bool) -> str:
    """What is otherwise in each step."""
    most = handoff.task.limits.steps
    lines = []
    if desk.egress.is_closed:
        lines.append("You were shown private material: nothing public is searched or opened any more.")
        if "search" in toolbox.tools and len(handoff.task.data_sources) > 1:
            lines.append(f"Data sources now: {', '.join(desk.data_sources) or 'none any more'}.")
    if last:
        step = "This is the last step: call done, with what there is."
    else:
        step = f"This is step {number} of at most {most}. What next?"
    return "\n\n".join([*lines, f"{step} {manner(handoff)} Quotes stay in theirs."])


def limits_of(state: DeepResearchState, place: int, count: int) -> TaskLimits:
    """Those of the ``place``-th of ``count`` tasks that go out together: each has an even part of what the caps of the
    run leave beside what tasks under way hold, settled before any of them begins, so that who comes first does not
    show."""
    options, budget = state.options, state.options.budget
    under_way = [t for t in state.tasks if t.finding is None and is_worked_on(t, state)]

    def part(cap: int | None, used: int, held: Iterable[int | None]) -> int | None:
        if cap is None:
            return None
        each, over = divmod(max(0, cap - used - sum(most or 0 for most in held)), count)
        return each + (place < over)

    return TaskLimits(
        steps=state.task_steps,
        tokens=options.tasks.max_tokens,
        usd=options.tasks.max_usd,
        seconds=options.tasks.max_seconds,
        searches=part(
            budget.max_searches,
            state.usage.searches,
            (rest_of(t.task.limits.searches, sum(s.searches for s in t.steps)) for t in under_way),
        ),
        fetches=part(
            budget.max_fetches,
            state.usage.fetches,
            (rest_of(t.task.limits.fetches, sum(s.fetches for s in t.steps)) for t in under_way),
        ),
    )


def rest_of(most: int | None, used: int) -> int | None:
    return None if most is None else max(0, most - used)


def is_worked_on(stands: TaskState, state: DeepResearchState) -> bool:
    """One whose sub-query was dropped is worked on no more, unless it has something already."""
    superseded_ids = {s.id for s in state.sub_queries if s.status is SubQueryStatus.SUPERSEDED}
    return not stands.is_settled and (stands.task.sub_query_id not in superseded_ids or bool(stands.steps))
