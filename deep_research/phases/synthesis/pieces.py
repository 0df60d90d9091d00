"""The pieces of a long report, its plan, its sections, and what stands around them: each is in the log once it is
written, so that a run that stops between two of them asks for none again.

The writer makes them within one call, and knows of no log; whoever has one says so with `keeping`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from deep_research.errors import ContentMissingError
from deep_research.logs import masked
from deep_research.state.events import PieceWritten
from deep_research.state.identity import sha256_hex
from deep_research.state.journal import Content, Journal

_JOURNAL: ContextVar[Journal | None] = ContextVar("journal_of_pieces", default=None)
_SHOWN = 12  # digits of what a piece was written from


@contextmanager
def keeping(journal: Journal) -> Iterator[None]:
    """Within it pieces are kept in this journal, and taken from it: ``with keeping(journal): await writer(…)``."""
    token = _JOURNAL.set(journal)
    try:
        yield
    finally:
        _JOURNAL.reset(token)


async def piece(name: str, of: Iterable[str], write: Callable[[], Awaitable[str]]) -> str:
    """The piece of this name ``of`` these findings, by their ids: as it was written before in this pass of the phase,
    else as ``write`` makes it. One whose saved text is gone is written again."""
    journal = _JOURNAL.get()
    if journal is None:
        return await write()
    key = f"{name} of {sha256_hex(' '.join(of).encode())[:_SHOWN]}"
    if (known := journal.state.pieces.get(key)) is not None:
        try:
            (text,) = await journal.texts((known,))
            return text
        except ContentMissingError:
            pass  # what was deleted is no piece any more
    content = Content.of(masked(await write()))
    await journal.record(PieceWritten(piece=key, content_hash=content.hash), contents=(content,))
    return content.body.decode("utf-8")
