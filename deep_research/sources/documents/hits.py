"""A document that a search found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from deep_research.state import Mention, Span
from deep_research.state.identity import sha256_hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that was found. ``passages`` are its best spans of ``text``, best first; ``score`` is BM25
    of the first of them, a little more for words in path and date, larger is better, not above 0 when only
    these have any; ``relevance`` is the share (0 to 1) of the query's weight that one of them covers together with its
    headings and the title; ``pages`` is where in ``text`` each page begins, of a document that has pages;
    ``mentions`` are the most telling names in the passages; ``via`` is the title of the document that names this one,
    when that is why it is here."""

    path: str
    title: str
    text: str
    snapshot_hash: str
    published: date | None
    passages: tuple[Span, ...]
    score: float
    relevance: float
    author: str = ""
    pages: tuple[int, ...] = ()
    mentions: tuple[Mention, ...] = ()
    via: str = ""

    @property
    def content_hash(self) -> str:
        """The sha256 (hex) of the text."""
        return sha256_hex(self.text.encode())

    @property
    def matched(self) -> str:
        """What the search matched: the text of the passages."""
        return "\n".join(self.text[span.start : span.end] for span in self.passages)
