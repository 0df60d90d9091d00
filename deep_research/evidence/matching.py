"""Where in a text the words of a query are: for texts that came without it. Pure."""

from __future__ import annotations

from functools import lru_cache

from deep_research.evidence.ranking import TermScanner, bm25, rarities, scan
from deep_research.evidence.text import content_words, coverage, question_terms
from deep_research.state import Span

MOST = 5  # passages


def matching(query: str, text: str, title: str = "", *, most: int = MOST) -> tuple[tuple[Span, ...], float]:
    """The passages of ``text`` that have most of the query's weight, best first, and the share (0 to 1) of that weight
    that they and the title have together."""
    wanted, scanner = _looking_for(query)
    found = scan(text, 0, scanner)
    weights = {term: wanted.get(term, 1.0) * weight for term, weight in rarities(found, wanted).items()}
    best = sorted(found, key=lambda passage: (-bm25(passage, weights), passage.span.start))[:most]
    present = {term for passage in best for term in passage.terms} | scanner.present(title)
    return tuple(passage.span for passage in best), coverage(wanted, present)


@lru_cache(maxsize=256)  # of one search, all texts are looked through for the same
def _looking_for(query: str) -> tuple[dict[str, float], TermScanner]:
    return question_terms(query), TermScanner(content_words(query))
