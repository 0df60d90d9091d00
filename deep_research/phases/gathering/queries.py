"""Queries put to the gatherer: whether a shared budget allows one, what came of it, and what is counted of it; whether
what a search found is about what was asked, and in what other words to ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from deep_research.budget.shared_budget import BudgetScope
from deep_research.errors import BudgetError, DeepResearchError, SearchError
from deep_research.phases.gathering.handoff import GathererInput, GathererOutput
from deep_research.state.identity import normalised
from deep_research.text.term_weights import coverage
from deep_research.text.words import ASKING_WORDS, StemFinder, content_words, is_name_like, question_terms

ON_TOPIC = 0.34  # of the weight of a query's words, in one result at least
SHORT = 4  # words of the shortest wording


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """What a query gave: an ``answer``, else why there is none (``error``). ``searches``, with those that ``failed``, and
    ``fetches`` are what counts against the caps of the run."""

    answer: GathererOutput | None = None
    error: str = ""
    searches: int = 0
    failed: int = 0
    fetches: int = 0


async def ask_within_caps(
    ask: Callable[[GathererInput], Awaitable[GathererOutput]],
    handoff: GathererInput,
    purse: BudgetScope,
    *,
    takes_itself: bool,
) -> QueryOutcome | BudgetError:
    """The gatherer, ``ask``, at one query; or the refusal where a shared budget does not allow it. What one takes that
    does not take from the purse itself, each search but the first and each page, is charged to it afterwards."""
    refusal = purse.take("max_searches")
    if refusal is not None:
        return refusal
    try:
        answer = await ask(handoff)
    except DeepResearchError as error:
        # A search that failed led to no page; else nobody knows how many were asked for.
        fetches = 0 if isinstance(error, SearchError) else handoff.fetches or 0
        return QueryOutcome(error=error.problem, searches=1, failed=1, fetches=fetches)
    searches = max(1 + len(answer.wordings), answer.stats.queries_executed)
    if not takes_itself:
        purse.charge("max_searches", searches - 1)
        purse.charge("max_fetches", answer.fetches)
    return QueryOutcome(
        answer,
        searches=searches,
        failed=min(answer.stats.queries_failed, searches),
        fetches=answer.fetches,
    )


class Match(StrEnum):
    """What the results of a search are to its query."""

    GOOD = "good"
    EMPTY = "empty"
    OFF_TOPIC = "off topic"
    FOREIGN = "foreign"  # not a word in common: fewer words of the same would find no better


def matched(query: str, texts: Iterable[str]) -> Match:
    """What ``texts``, one for each result with all that is known of it, are to a query. They are looked at until one is
    to the point."""
    query_terms = question_terms(query)
    find = StemFinder(query_terms)
    best = Match.EMPTY
    for text in texts:
        share = coverage(query_terms, find(text))
        if share >= ON_TOPIC:
            return Match.GOOD
        if share or best is Match.EMPTY:
            best = Match.OFF_TOPIC if share else Match.FOREIGN
    return best


def wordings(query: str, tried: Iterable[str] = (), *, least: int = 1) -> list[str]:
    """The query in fewer words each time, without those in ``tried``: its words without those that only ask, then its
    names and numbers with its longest words. Words keep their order, and there are ``least`` of them."""
    content = list(dict.fromkeys(content_words(query, whole=True)))
    telling = [word for word in content if word.casefold() not in ASKING_WORDS] or content
    first = telling[0] if telling else ""
    names = {word for word in telling if is_name_like(word) and (word != first or not first.istitle())}
    by_weight = sorted(telling, key=lambda word: (word not in names, -len(word), telling.index(word)))
    heaviest = set(by_weight[:SHORT])
    earlier = {normalised(text) for text in (query, *tried)}
    candidates = []
    for words in (content, telling, [word for word in telling if word in heaviest]):
        text = " ".join(words)
        if len(words) >= max(1, least) and normalised(text) not in earlier:
            earlier.add(normalised(text))
            candidates.append(text)
    return candidates
