"""The prompt of a step: a task, and the steps before as a conversation of calls and their outputs.

Each step adds a turn of the model and the outputs of its calls, so that each prompt begins as the one before: a service
with prompt caching reads only what is new."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain

from deep_research.budget.condense import condense
from deep_research.budget.content_budget import Content, Count
from deep_research.models.base import Message as Turn
from deep_research.models.base import ModelCall
from deep_research.models.tool_calls import ToolCall, ToolSpec
from deep_research.phases.gathering.tasks.task_context import PastStep
from deep_research.phases.gathering.tasks.toolbox import THINK
from deep_research.phases.prompting import AROUND, OF_FORM, STANDARD_MARK, Message, Room

CONDENSED_SHARE, MIN_CONDENSED_TOKENS = 0.25, 100  # of an output that is condensed, and at least
FIRST_WEIGHT, LATEST_WEIGHT = (
    0.5,
    0.9,
)  # of outputs, from the first step to the latest: it is what is decided on


class StepPrompt(Message):
    """A message with ``turns`` behind it."""

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
        contents = [
            [
                Content(_label(step, number), (showing.text,), _weight(place, len(steps)))
                for number, showing in enumerate(step.showings, 1)
            ]
            for place, step in enumerate(steps)
        ]
        texts = self.fitted(
            list(chain(*contents)), tokens, question, "what the steps of a task have shown"
        ).texts
        return [[texts[content.id] for content in outputs] for outputs in contents]

    def _outputs(self, step: PastStep, turn: Turn, texts: Sequence[str]) -> Turn:
        if not turn.calls:
            return Turn(content="\n\n".join(texts))
        outputs = tuple(
            call.output(self.fenced(_label(step, number), text), failed=use.failed)
            for number, (call, use, text) in enumerate(
                zip(turn.calls, step.record.uses, texts, strict=True), 1
            )
        )
        return Turn(outputs=outputs)

    def _tokens(self, turn: Turn) -> int:
        if turn.native:
            return turn.native.tokens
        return sum(self.count(text.replace(self.mark, STANDARD_MARK)) for text in turn.texts)


def room_beside(room: Room, tools: Sequence[ToolSpec]) -> int:
    """The tokens of a room that tools take, beyond those that it leaves for the form of an answer."""
    size = room.counter.expected(json.dumps([tool.model_dump() for tool in tools]))
    return max(0, size - OF_FORM)


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


def _weight(place: int, count: int) -> float:
    return FIRST_WEIGHT + (LATEST_WEIGHT - FIRST_WEIGHT) * (place + 1) / count
