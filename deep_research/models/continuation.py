"""An answer that was cut, and how it goes on: what came is kept, and the model is asked for the rest. Pure."""

from __future__ import annotations

from deep_research.models.base import Message, ModelCall

WORTH = 200  # characters of an answer from which on it is cheaper to go on than to begin anew
_SAME = 60  # characters by which an answer is known that begins anew, whatever it was asked for
_LONGEST_OVERLAP, _SHORTEST_OVERLAP = 400, 12
GO_ON = (
    "Your answer was cut off here. Go on exactly where it stopped, with the next word. Repeat nothing of it, and say"
    " nothing about it."
)


def going_on(call: ModelCall, so_far: str) -> ModelCall:
    """The call that asks for the rest of an answer."""
    turns = (Message(role="assistant", content=so_far.rstrip()), Message(content=GO_ON))
    return call.model_copy(update={"messages": (*call.messages, *turns)})


def join_texts(so_far: str, more: str) -> str:
    """What came before a cut with what came after it: without what is said twice at the seam, or the second alone if
    it begins anew."""
    if not so_far:
        return more
    rest = more.lstrip()
    if rest[:_SAME] and so_far.lstrip().startswith(rest[:_SAME]):
        return more if len(rest) >= len(so_far.strip()) else so_far
    longest = min(len(so_far), len(rest), _LONGEST_OVERLAP)
    for size in range(longest, _SHORTEST_OVERLAP - 1, -1):
        if so_far.endswith(rest[:size]):
            return so_far + rest[size:]
    return so_far + more
