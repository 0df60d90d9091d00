"""The agent of a task that thinks with a model, and what it is told: each step is one turn of the model, which calls
tools within what the limits of the task leave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from deep_research.budget.condense import condense
from deep_research.budget.content_budget import Content, ContentRules, Count
from deep_research.models.base import Message as Turn
from deep_research.models.base import ModelCall
from deep_research.models.language_model import Answer, LanguageModel
from deep_research.models.profiles import Price
from deep_research.models.tool_calls import ToolCall
from deep_research.phases.gathering.tasks.task_context import PastStep, TaskContext
from deep_research.phases.gathering.tasks.task_limits import MIN_OUTPUT_TOKENS, RemainingLimits
from deep_research.phases.gathering.tasks.tool import THINK, Toolbox
from deep_research.phases.handoff import Handoff
from deep_research.phases.prompting import (
    AROUND,
    OF_FORM,
    RULES,
    STANDARD_MARK,
    Message,
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
    Task,
)
from deep_research.text.term_weights import coverage
from deep_research.text.words import StemFinder, question_terms

MIN_COVERAGE = 0.2  # of the weight of a question's words, in a finding that is told
MAX_KNOWN_FINDINGS = 8
MAX_CONTEXT_CHARS = 4_000

MAX_OUTPUT_TOKENS = 4_000  # tokens, thoughts included
MIN_STEP_INPUT_TOKENS = 500  # tokens of what a step is made from, where a limit of its task leaves no more
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
CONDENSED_SHARE, MIN_CONDENSED_TOKENS = 0.25, 100  # of an output that is condensed, and at least
FIRST_WEIGHT, LATEST_WEIGHT = (
    0.5,
    0.9,
)  # of outputs, from the first step to the latest: it is what is decided on


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
    shares = [(coverage(query_terms, find(finding.content)), finding) for finding in state.findings]
    near = sorted((each for each in shares if each[0] >= MIN_COVERAGE), key=lambda each: -each[0])
    titles = {source.id: source.title for source in state.sources}
    for _, finding in near[:MAX_KNOWN_FINDINGS]:
        of = ", ".join(one_line(titles[i])[:100] for i in finding.source_ids[:2] if i in titles)
        lines.append(f"- {one_line(finding.content)} ({of})")
    text = "\n".join(lines)
    return text if len(text) <= MAX_CONTEXT_CHARS else text[:MAX_CONTEXT_CHARS].rsplit("\n", 1)[0]


class TaskInput(Handoff):
    """What the agent of a task is told beside what its steps have shown. ``context`` is what the run knows of its
    question."""

    task: Task
    research_brief: str | None = None
    context: str = ""


async def next_step(
    handoff: TaskInput,
    desk: TaskContext,
    toolbox: Toolbox,
    number: int,
    *,
    last: bool,
    model: LanguageModel,
    left: RemainingLimits,
    rules: ContentRules,
) -> Answer[Turn] | None:
    """Asks the model for the ``number``-th step, counted from 1; ``last``: there is none after it. None where what is
    ``left`` of the task's limits has no room for one. ``rules`` are those of content that does not fit."""

    async def whole() -> Room:
        room = await room_for(model, output_for(model, MAX_OUTPUT_TOKENS), SYSTEM, rules=rules)
        tools = json.dumps([tool.model_dump() for tool in toolbox.specs])
        more = max(0, room.counter.expected(tools) - OF_FORM)
        return replace(room, tokens=max(0, room.tokens - more), beside=room.beside + more)

    async def fitting() -> Room:
        return _within(await whole(), left, model.profile.price)

    half = (await whole()).tokens // 2
    room = await fitting()
    if room.tokens < MIN_STEP_INPUT_TOKENS and left != RemainingLimits():
        return None

    async def send(prompt: StepPrompt) -> Answer[Turn]:
        output = min(room.answer, output_for(model, MAX_OUTPUT_TOKENS))
        call = prompt.call(SYSTEM, output, label=handoff.task.id)
        return await model.turn(call.model_copy(update={"tools": toolbox.specs}))

    def compose(room: Room) -> StepPrompt:
        return _prompt(handoff, desk, toolbox, number, last, room, half)

    size = sum(len(showing.text) for step in desk.steps for showing in step.showings)
    return await in_window(room, compose, send, size=size, again=fitting)


def _within(room: Room, left: RemainingLimits, price: Price | None) -> Room:
    """The room that the limits of a task leave: of a small rest a shorter answer leaves more of what it is made from."""
    whole = room.beside + room.tokens
    for output in (room.answer, room.answer // 2, min(room.answer, MIN_OUTPUT_TOKENS)):
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
    step = "This is the last step: call done, with what there is."
    step = step if last else f"This is step {number} of at most {most}. What next?"
    return "\n\n".join([*lines, f"{step} {manner(handoff)} Quotes stay in theirs."])


class StepPrompt(Message):
    """A message with ``turns`` behind it: a task, and the steps before as a conversation of calls and their outputs. Each
    step adds a turn of the model and the outputs of its calls, so that each prompt begins as the one before: a service
    with prompt caching reads only what is new."""

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        self.turns: tuple[Turn, ...] = ()

    @property
    def size(self) -> int:
        return super().size + sum(map(self._tokens, self.turns))

    def call(self, system: str, output: int, *, label: str = "") -> ModelCall:
        call = super().call(system, output, label=label)
        return call.model_copy(update={"messages": (*call.messages, *self.turns)})

    def add_steps(self, steps: Sequence[PastStep], question: str, half: int, room: int) -> str:
        """Adds the turns of past steps, and returns the text of the outputs that are shown whole. ``half`` are the
        tokens of half the window, beyond which outputs are condensed; ``room`` those that all of it may take."""
        texts = [[showing.text for showing in step.showings] for step in steps]
        condensed = condensed_outputs(texts, half, question, self.count)
        turns = [_model_turn(step) for step in steps]
        left = max(0, room - self.size - sum(self._tokens(turn) + AROUND for turn in turns))
        if self.rules.enabled and sum(self.count(text) for outputs in condensed for text in outputs) > left:
            condensed = self._fitted(steps, left, question)
        for step, turn, outputs in zip(steps, turns, condensed, strict=True):
            self.turns += (turn, self._outputs(step, turn, outputs))
        pairs = zip(chain(*condensed), chain(*texts), strict=True)
        return "\n".join(text for text, whole in pairs if text == whole)

    def end(self, text: str) -> None:
        """Adds our last words, which are others in each step."""
        if not self.turns:
            self.cut()
            self.add(text)
            return
        last = self.turns[-1]
        content = "\n\n".join(filter(None, (last.content, text)))
        cuts = (len(last.content),) if last.content else ()
        self.turns = (*self.turns[:-1], last.model_copy(update={"content": content, "cuts": cuts}))

    def _fitted(self, steps: Sequence[PastStep], tokens: int, question: str) -> list[list[str]]:
        growth = (LATEST_WEIGHT - FIRST_WEIGHT) / max(1, len(steps))
        contents = [
            [
                Content(_label(step, number), (showing.text,), FIRST_WEIGHT + growth * place)
                for number, showing in enumerate(step.showings, 1)
            ]
            for place, step in enumerate(steps, 1)
        ]
        what = "what the steps of a task have shown"
        texts = self.fitted(list(chain(*contents)), tokens, question, what).texts
        return [[texts[content.id] for content in outputs] for outputs in contents]

    def _outputs(self, step: PastStep, turn: Turn, texts: Sequence[str]) -> Turn:
        if not turn.calls:
            return Turn(content="\n\n".join(texts))
        each = enumerate(zip(turn.calls, step.record.uses, texts, strict=True), 1)
        return Turn(
            outputs=tuple(
                call.output(self.fenced(_label(step, number), text), failed=use.failed)
                for number, (call, use, text) in each
            )
        )

    def _tokens(self, turn: Turn) -> int:
        if turn.native:
            return turn.native.tokens
        return sum(self.count(text.replace(self.mark, STANDARD_MARK)) for text in turn.texts)


def condensed_outputs(
    steps: Sequence[Sequence[str]], most: int, question: str, count: Count
) -> list[list[str]]:
    """The outputs of steps as they are shown: whole until they have more than ``most`` tokens together; then those before
    the latest step are condensed, with regard to the question, and stay as they are then. What is shown of the first
    steps follows from these alone, so each further step finds the same before it.

    Example:
        condensed_outputs([["a long text"], ["the latest"]], 1_000, "How tall is it?", count)
    """
    shown: list[list[str]] = []
    condensed = 0
    for place, outputs in enumerate(steps):
        shown.append(list(outputs))
        if place > condensed and sum(count(text) for each in shown for text in each) > most:
            for earlier in range(condensed, place):
                shown[earlier] = [_condensed(text, question, count) for text in steps[earlier]]
            condensed = place
    return shown


def _condensed(text: str, question: str, count: Count) -> str:
    size = max(MIN_CONDENSED_TOKENS, int(count(text) * CONDENSED_SHARE))
    return text if count(text) <= size else condense(text, size, query=question, measure=count).text


def _model_turn(step: PastStep) -> Turn:
    """The turn of the model: as its service gave it, or with the calls that the log has. Those are without secrets, and
    the same in a task that was resumed."""
    if step.turn is not None:
        return step.turn
    calls = tuple(
        ToolCall(id=f"step_{step.record.number}_{number}", name=use.tool, arguments=use.arguments)
        for number, use in enumerate(step.record.uses, 1)
        if use.tool != THINK
    )
    return Turn(role="assistant", content=step.record.thought or "…", calls=calls)


def _label(step: PastStep, number: int) -> str:
    return f"step {step.record.number}.{number}"
