"""The agent of a task that thinks with a model: each step is one answer, given what the steps before have shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deep_research.budget.content_budget import DEFAULTS, Content, ContentRules
from deep_research.models.base import TokenUsage
from deep_research.models.language_model import LanguageModel
from deep_research.models.profiles import Price
from deep_research.phases.gathering.tasks.desk import Desk, Showing
from deep_research.phases.gathering.tasks.own_limits import LEAST_OUTPUT, Left
from deep_research.phases.gathering.tasks.toolbox import Step, Toolbox
from deep_research.phases.handoff import Handoff
from deep_research.phases.prompting import (
    RULES,
    Message,
    Room,
    brief,
    in_window,
    listed,
    manner,
    one_line,
    opening,
    output_for,
    room_for,
)
from deep_research.state import Task, TaskStep

MOST_OUTPUT = 4_000  # tokens, thoughts included
LEAST_ROOM = 500  # tokens of what a step is made from, where a limit of its task leaves no more
OF_CONTEXT, OF_INVENTORY = 0.15, 0.15  # of the room
LATEST = 0.9  # the weight of what the last step showed, against 0.5 for the first: it is what is decided on

SYSTEM = f"""\
You work on one task of a larger piece of research: you answer its question from sources that you find with tools, and \
from nothing that you know yourself.

Work in steps. In each, look at what the steps before have shown, think what is still missing, and say what to do next: \
up to four uses of tools that do not need each other's results, or done. Sources have names such as S3, links (results \
whose text nobody has read) such as L12; tools take these names and never an address. A search that finds nothing to the \
point is made again in other words: fewer, other terms for the same, the name or the title that the thing goes by. \
Open what promises most, read on where a text breaks off before the answer, follow what a text refers to.

Be done as soon as the task is answered, or when what is left is not to be found. Then give
- the answer in a few sentences;
- the facts it rests on: each a statement understandable by itself, the source that carries it, and the words of the \
source it follows from, copied letter by letter, one to three sentences. A fact whose quote is not in its source is \
thrown away. Several sources of one fact are several facts with the same statement;
- what is missing;
- where everything hangs on something that only the person who ordered the research can know, the question to ask them.

Where sources contradict each other give both sides as facts.

{RULES}"""


class TaskInput(Handoff):
    """What the agent of a task is told beside what its steps have shown. ``context`` is what the run knows of its
    question."""

    task: Task
    research_brief: str | None = None
    context: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """A step as the agent wants it, and what its model took."""

    step: Step
    usage: TokenUsage
    model: str


class LLMTaskAgent:
    """Asks its model for one step at a time. ``rules`` are those of content that does not fit."""

    name = "task_agent"

    def __init__(self, rules: ContentRules = DEFAULTS) -> None:
        self._rules = rules

    async def step(
        self,
        handoff: TaskInput,
        desk: Desk,
        toolbox: Toolbox,
        number: int,
        *,
        last: bool,
        model: LanguageModel,
        left: Left,
    ) -> Said | None:
        """The ``number``-th step, counted from 1; ``last``: there is none after it. None where what is ``left`` of the
        task's limits has no room for one."""

        async def fitting() -> Room:
            room = await room_for(model, output_for(model, MOST_OUTPUT), SYSTEM, rules=self._rules)
            return _within(room, left, model.profile.price)

        room = await fitting()
        if room.tokens < LEAST_ROOM and left != Left():
            return None

        async def send(message: Message) -> Said:
            output = min(room.answer, output_for(model, MOST_OUTPUT))
            given = await model.object(message.call(SYSTEM, output, label=handoff.task.id), toolbox.form)
            return Said(given.value, given.usage, given.model)

        def compose(room: Room) -> Message:
            return _told(handoff, desk, toolbox, number, last, room)

        size = sum(len(showing.text) for _, showings in desk.showings for showing in showings)
        return await in_window(room, compose, send, size=size, again=fitting)


def _within(room: Room, left: Left, price: Price | None) -> Room:
    """The room that the limits of a task leave: of a small rest a shorter answer leaves more of what it is made from."""
    whole = room.beside + room.tokens
    for output in (room.answer, room.answer // 2, min(room.answer, LEAST_OUTPUT)):
        fits = left.fitting(output, whole, price) - room.beside
        if fits >= min(room.tokens, output):
            break
    return replace(room, tokens=max(0, fits), answer=output)


def _told(handoff: TaskInput, desk: Desk, toolbox: Toolbox, number: int, last: bool, room: Room) -> Message:
    """Earlier steps are condensed where not all of them fit, the latest least."""
    task = handoff.task
    message = Message(room)
    opening(message, handoff)
    brief(message, handoff.research_brief)
    message.add(f"Your task: {one_line(task.question)}")
    if task.critique:
        message.add("A reviewer sent an earlier attempt back. Mend this:")
        message.material("critique", task.critique)
    if handoff.context:
        message.add("What is known already:")
        message.material("known", message.within(handoff.context, OF_CONTEXT, "what is known of a task"))
    message.add(f"Tools:\n{listed(toolbox.described())}")
    if "search" in toolbox.tools and len(task.data_sources) > 1:
        message.add(f"Data sources: {', '.join(desk.data_sources) or 'none any more'}.")
    if desk.egress.is_closed:
        message.add("You were shown private material: nothing public is searched or opened any more.")
    inventory = desk.inventory()
    if inventory:
        message.add("What you have:")
        message.material("names", "\n".join(message.lines(inventory, OF_INVENTORY, "what a task has found")))
    closing = _closing(handoff, number, last)
    if desk.showings:
        message.add("What your steps have shown, the first one first:")
        left = max(0, room.tokens - message.size - message.count(closing) - 40 * len(desk.showings))
        contents = [
            _content(place, step, shown, len(desk.showings))
            for place, (step, shown) in enumerate(desk.showings)
        ]
        fitted = message.fitted(contents, left, task.question, "what the steps of a task have shown")
        for content in contents:
            if text := fitted.texts[content.id]:
                message.material(content.id, text)
    message.add(closing)
    return message


def _content(place: int, step: TaskStep, showings: Sequence[Showing], count: int) -> Content:
    lines = [f"Thought: {one_line(step.thought)}"] if step.thought else []
    for use, showing in zip(step.uses, showings, strict=False):
        given = ", ".join(f"{name}: {value}" for name, value in use.arguments.items())
        lines.append(f"{use.tool}({one_line(given)[:400]}){' failed' if use.failed else ''}:\n{showing.text}")
    weight = 0.5 + (LATEST - 0.5) * (place + 1) / count
    return Content(f"step {step.number}", ("\n\n".join(lines),), weight)


def _closing(handoff: TaskInput, number: int, last: bool) -> str:
    most = handoff.task.limits.steps
    if last:
        return f"This is the last step: be done, with what there is. {manner(handoff)} Quotes stay in theirs."
    return f"This is step {number} of at most {most}. What next? {manner(handoff)} Quotes stay in theirs."
