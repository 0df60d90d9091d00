"""Plain passage search: pieces of sources of about equal length, ranked by BM25 of the question's terms. Pure.

It knows nothing of kinds of answers, headings or links, so it fails where the ranker of candidates does not, and the
other way round: a brief takes the best of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from deep_research.retrieval.candidates import Candidate, Document
from deep_research.retrieval.ranker import View
from deep_research.retrieval.selection import ChosenPassage
from deep_research.text import unspaced
from deep_research.text.passages import BlockKind
from deep_research.text.term_weights import bm25, inverse_frequency

MIN_WORDS, MAX_WORDS = 40, 50  # of a window that is made of short sentences; a long one may be longer
MIN_DOCUMENT_WORDS = 150  # of a document that is searched: a shorter one is a passage itself
STEP_WORDS = 25  # between the beginnings of two windows


def best_windows(view: View, limit: int) -> list[ChosenPassage]:
    """The best windows of longer documents for a question, best first; they share no sentence. Of the title
    and the headings each term that the first sentence lacks counts once more."""
    windows = [window for document in view.pool.documents for window in _windows(view, document)]
    counts = [_counts(view, window) for window in windows]
    holding = Counter(term for count in counts for term in count)
    weights = {term: inverse_frequency(len(windows), count) for term, count in holding.items()}
    for window, count in zip(windows, counts, strict=True):
        window.score = bm25(count, weights)
    best: list[ChosenPassage] = []
    for window in sorted(windows, key=lambda window: -window.score):
        if len(best) == limit or not window.score:
            break
        if not any(_overlap(window, known) for known in best):
            best.append(window)
    return best


def _windows(view: View, document: Document) -> Iterator[ChosenPassage]:
    """Runs of candidates of one section."""
    every = document.candidates
    sizes = [unspaced.size(view.text(c)) for c in every]
    if sum(sizes) < MIN_DOCUMENT_WORDS:
        return
    first = 0
    while first < len(every):
        last, words = _end(every, sizes, first)
        yield ChosenPassage(document.id, first, last, 0.0, words)
        step = sizes[first]
        first += 1
        while first <= last and step + sizes[first] <= STEP_WORDS:
            step += sizes[first]
            first += 1


def _end(every: Sequence[Candidate], sizes: Sequence[int], first: int) -> tuple[int, int]:
    """The last candidate of a window, and its words. A row of a table and a piece of code are windows by themselves."""
    last, words = first, sizes[first]
    while (
        last + 1 < len(every)
        and every[last + 1].heading == every[first].heading
        and not {every[first].kind, every[last + 1].kind} & {BlockKind.TABLE, BlockKind.CODE}
        and (words < MIN_WORDS or words + sizes[last + 1] <= MAX_WORDS)
    ):
        last += 1
        words += sizes[last]
    return last, words


def _counts(view: View, window: ChosenPassage) -> Counter[str]:
    """How often a window has each asked term."""
    every = view.pool.named[window.document].candidates[window.first : window.last + 1]
    count = Counter(term for c in every for term in view.asked_in(c))
    if count:
        count.update(view.tells(every[0]) - view.asked_in(every[0]))
    return count


def _overlap(one: ChosenPassage, other: ChosenPassage) -> bool:
    return one.document == other.document and one.first <= other.last and other.first <= one.last
