"""A plan as it is edited by hand: lines such as ``drop 2`` make an edited plan. Pure.

What comes of it is an answer as `DeepResearch.answer` takes one; the engine has the last word on whether it will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deep_research.state.identity import sub_query_id
from deep_research.supervisor.plan_approval import APPROVE, CAPS, agrees, refuses
from deep_research.text import unspaced
from deep_research.text.plain import clean

MIN_WORDS = 3  # of a sentence; less is a slip of the hand
LIMITS = (*CAPS, "max_sources_per_query")
HELP = (
    "ok                 search it as it stands here",
    "drop 2             leave a search out; several: drop 2 3",
    "add QUERY          one more search, at the end",
    "reword 3 QUERY     other words for a search",
    "move 4 1           search the fourth first",
    "limit NAME N       a cap of the run, such as limit max_searches 4",
    "show               the list again",
    "A sentence         have it planned again, with what you say",
    "no                 end the run: nothing is searched",
    "Ctrl-D             leave the run parked",
)


@dataclass(frozen=True, slots=True)
class Search:
    """A line of the list; ``id`` is that of the sub-query it is, or was before it was reworded, None for a new one."""

    query: str
    id: str | None = None
    reworded: bool = False

    @property
    def edit(self) -> dict[str, str]:
        if self.id is None:
            return {"query": self.query}
        return {"id": self.id, "query": self.query} if self.reworded else {"id": self.id}


class SlipError(ValueError):
    """A line that changes nothing, and why."""


class PlanDraft:
    """The list of a parked plan, by its ``about``, while its owner edits it.

    Example:
        draft = PlanDraft(waiting.about)
        draft.take("drop 2")
        draft.take("ok")  # the answer
    """

    def __init__(self, about: Mapping[str, Any]) -> None:
        self._about = about
        self.searches: list[Search] = [
            Search(str(each["query"]), str(each["id"])) for each in about.get("sub_queries", ())
        ]
        self._first = tuple(self.searches)
        self._most = int(about.get("most", 0)) or len(self.searches)
        self._limits: dict[str, int | float] = {}
        self._verbs: dict[str, Callable[[str], None]] = {
            "drop": self._drop,
            "add": self._add,
            "reword": self._reword,
            "move": self._move,
            "limit": self._limit,
        }

    def take(self, line: str) -> Any:
        """The answer that a line completes, None where it only edits the list. Raises `SlipError` where it changes
        nothing."""
        words = " ".join(clean(line).split())
        verb, _, rest = words.partition(" ")
        verb = verb.casefold()
        if agrees(words):
            return self.answer
        if refuses(words):
            return words
        if verb in self._verbs:
            self._verbs[verb](rest.strip())
            return None
        if unspaced.size(words) < MIN_WORDS:
            raise SlipError(f"'{words[:60]}' is not an edit; help lists the edits." if words else "Say help.")
        return words

    @property
    def answer(self) -> Any:
        """The list as an answer: ``approve`` where nothing was changed."""
        if tuple(self.searches) == self._first and not self._limits:
            return APPROVE
        limits = {"limits": dict(self._limits)} if self._limits else {}
        return {"sub_queries": [search.edit for search in self.searches], **limits}

    def _drop(self, rest: str) -> None:
        places = {self._place(number) for number in rest.replace(",", " ").split()}
        if not places:
            raise SlipError("Name the search, such as drop 2.")
        if len(places) == len(self.searches):
            raise SlipError("The plan needs at least one search; no ends the run.")
        self.searches = [search for place, search in enumerate(self.searches) if place not in places]

    def _add(self, rest: str) -> None:
        if len(self.searches) >= self._most:
            raise SlipError(f"At most {self._most} searches are allowed; drop one first.")
        self.searches.append(Search(self._new(rest)))

    def _reword(self, rest: str) -> None:
        number, _, words = rest.partition(" ")
        place = self._place(number)
        self.searches[place] = replace(
            self.searches[place], query=self._new(words, beside=place), reworded=True
        )

    def _move(self, rest: str) -> None:
        numbers = rest.split()
        if len(numbers) != 2:
            raise SlipError("Name the search and its new place, such as move 4 1.")
        start, end = map(self._place, numbers)
        self.searches.insert(end, self.searches.pop(start))

    def _limit(self, rest: str) -> None:
        name, _, figure = rest.partition(" ")
        if name not in LIMITS:
            raise SlipError(f"There is no limit '{name[:40]}'; there are {', '.join(LIMITS)}.")
        try:
            self._limits[name] = float(figure) if name in ("max_usd", "max_seconds") else int(figure)
        except ValueError:
            raise SlipError(f"'{figure[:40]}' is not a number; for example limit {name} 4.") from None

    def _place(self, number: str) -> int:
        if not (number.isascii() and number.isdigit() and 0 < int(number[:9]) <= len(self.searches)):
            raise SlipError(f"There is no search '{number[:20]}'; they are 1 to {len(self.searches)}.")
        return int(number[:9]) - 1

    def _new(self, words: str, *, beside: int | None = None) -> str:
        """Words that are not in the list yet, but at the place ``beside``."""
        query = words.strip()
        if not query:
            raise SlipError("Name what to search.")
        same = sub_query_id(query)
        for place, search in enumerate(self.searches):
            if place != beside and sub_query_id(search.query) == same:
                raise SlipError(f"Search {place + 1} already asks that.")
        return query

    def lines(self) -> Iterator[str]:
        """The list, numbered, with why each is searched."""
        reasons = {each["id"]: each.get("rationale", "") for each in self._about.get("sub_queries", ())}
        for number, search in enumerate(self.searches, 1):
            why = "" if search.reworded or search.id is None else reasons.get(search.id, "")
            yield f"{number:>3}. {search.query}" + (f"  ({why})" if why else "")
        for name, figure in self._limits.items():
            yield f"     {name} {figure:g}"


def plan_lines(about: Mapping[str, Any]) -> list[str]:
    """All that its owner has to see of a parked plan: how the question is understood, the searches, and what they may
    take."""
    lines = [str(about.get("brief", "")), *PlanDraft(about).lines(), estimate_line(about.get("estimate", {}))]
    return [line for line in lines if line]


def estimate_line(estimate: Mapping[str, Any]) -> str:
    """What the run may take, in a line; empty where nobody knows."""
    if not estimate:
        return ""
    ends: Sequence[tuple[str, str]] = (("searches", "searches"), ("fetches", "pages"), ("tokens", "tokens"))
    pieces = [f"{_range(estimate[key])} {name}" for key, name in ends if estimate.get(key, {}).get("high")]
    usd = estimate.get("usd")
    if usd is None:
        pieces.append("at a price that is not known")
    elif usd["high"]:
        pieces.append(f"${usd['low']:,.2f} to ${usd['high']:,.2f}")
    return f"It may take {', '.join(pieces)}." if pieces else ""


def _range(both: Mapping[str, int]) -> str:
    low, high = both["low"], both["high"]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
