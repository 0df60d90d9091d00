"""A document that a search found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeVar

from deep_research.state import Mention, Span
from deep_research.state.identity import sha256_hex

_T = TypeVar("_T")


class Quota(NamedTuple):
    """How many documents a search may bring, and how many of them that are none of the ``known_paths``."""

    limit: int
    new: int
    known_paths: frozenset[str]

    def fitting(self, candidates: Iterable[_T], path: Callable[[_T], str], *, kept_free: int = 0) -> list[_T]:
        """What there is room for, in its order, when some places are kept free for new documents."""
        left, new = self.limit - kept_free, self.new - kept_free
        fitting = []
        for each in candidates:
            is_known = path(each) in self.known_paths
            if left > 0 and (is_known or new > 0):
                fitting.append(each)
                left -= 1
                new -= not is_known
        return fitting


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that was found. ``passages`` are its best spans of ``text``, best first; ``score`` is BM25
    of the first of them, a little more for words in path and date, larger is better, not above 0 when only
    these have any; ``relevance`` is the share (0 to 1) of the query's weight that one of them covers together with its
    headings and the title; ``pages`` is where in ``text`` each page begins, of a document that has pages, and
    ``page_labels`` what they are called, one a line, empty where they are numbered; ``mentions`` are the most telling
    names in the passages, told of the first few hits; ``manual`` is the folder of the manual that it is a page of;
    ``via`` is the title of the document that names this one, when that is why it is
    here."""

    path: str
    title: str
    text: str
    snapshot_hash: str
    published: date | None
    passages: tuple[Span, ...]
    score: float
    relevance: float
    author: str = ""
    manual: str = ""
    pages: tuple[int, ...] = ()
    page_labels: str = ""
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
