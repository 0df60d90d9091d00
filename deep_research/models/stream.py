"""An answer as it is told to who listens: in pieces, which may turn out to be void; and how one that was cut
goes on: what came is kept, and the model is asked for the rest."""

from __future__ import annotations

from collections.abc import Callable

from deep_research.models.base import Message, ModelCall
from deep_research.models.characters import whole_characters

OnPiece = Callable[[str | None], None]  # a piece; None: what came is void, the answer begins anew
WORTH = 200  # characters of an answer from which on it is cheaper to go on than to begin anew
_SAME = 60  # characters by which an answer is known that begins anew, whatever it was asked for
_MAX_OVERLAP_CHARS, _MIN_OVERLAP_CHARS = 400, 12
GO_ON = (
    "Your answer was cut off here. Go on exactly where it stopped, with the next word. Repeat nothing of it, and say"
    " nothing about it."
)


class Pieces:
    """Hands on what a provider streams. What was told since the last None is, when all is done, the answer: it is said
    to be void where a request fails after some of it came, or where an earlier answer is given in the end."""

    def __init__(self, on_piece: OnPiece | None) -> None:
        self._on_piece = on_piece
        self._told: list[str] = []
        self._kept = 0  # how many of them stay, whatever becomes of the next request
        self.broke: Exception | None = None  # what the listener raised

    @property
    def take(self) -> Callable[[str], None] | None:
        """What a provider is handed; None where nobody listens, so that nothing has to be streamed."""
        return self._take if self._on_piece is not None else None

    def keep(self) -> None:
        """What was told so far stays: the next request goes on from there."""
        self._kept = len(self._told)

    def void(self) -> None:
        """What was told since it was last said to stay is none of the answer."""
        if len(self._told) > self._kept:
            kept = self._told[: self._kept]
            self._told.clear()
            self._tell(None)
            for piece in kept:
                self._take(piece)

    def end(self, answer: str) -> None:
        """This is the answer, whatever was told."""
        if self._on_piece is not None and "".join(self._told) != answer:
            self._kept = 0
            self.void()
            self._take(answer)

    def _take(self, piece: str) -> None:
        if piece:
            piece = whole_characters(piece)
            self._told.append(piece)
            self._tell(piece)

    def _tell(self, piece: str | None) -> None:
        try:
            if self._on_piece is not None:
                self._on_piece(piece)
        except Exception as error:
            self.broke = error
            raise


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
    longest = min(len(so_far), len(rest), _MAX_OVERLAP_CHARS)
    for size in range(longest, _MIN_OVERLAP_CHARS - 1, -1):
        if so_far.endswith(rest[:size]):
            return so_far + rest[size:]
    return so_far + more
