"""Content made to fit a budget of tokens: what each item is given by what it matters, and its text in that size. Pure.

What is sent is measured, not planned: a text made shorter seldom fills its size, and what it leaves goes to others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from deep_research.budget.allocation import TOP_SOURCES, Item, ItemClass, allocate_what_fits
from deep_research.budget.condense import condense
from deep_research.state import SentItem

Count = Callable[[str], int]

LEFT = 0.02  # of the budget that may stay unused
TRIES = 12  # of items, to use what others left


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentRules:
    """What may be done to content that does not fit. Not ``enabled``: nothing, and what does not fit fails.
    ``reading_tokens`` are those of sources that a model reads in one round. With ``read_sections`` it reads of them what
    speaks of the question: sections that come as near (0 to 1) to the best one as ``section_relevance``. With
    ``model_triage`` it is asked about sources that nearly do, before they are left out."""

    enabled: bool = True
    allow_dropping: bool = False
    reading_tokens: int = 100_000
    read_sections: bool = True
    section_relevance: float = 0.45
    model_triage: bool = False


DEFAULTS = ContentRules()


@dataclass(frozen=True, slots=True)
class Content:
    """Something to send. ``forms`` are its texts, the whole first, each further one a way to say less of it; what has to
    be shorter than the last is condensed from that. ``tokens`` are those of all there is of it, where the first form is
    less than that already."""

    id: str
    forms: tuple[str, ...]
    priority: float = 0.5
    klass: ItemClass = ItemClass.REGULAR
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """``texts`` are what is sent of each item by its id, in the order of the items, "" for what is dropped; ``tokens``
    are the tokens of all of them. ``gave_way`` is the class of which something was dropped, or had less than it is
    promised, though that was not allowed."""

    texts: Mapping[str, str]
    items: tuple[SentItem, ...]
    tokens: int = 0
    gave_way: ItemClass | None = None

    @property
    def dropped(self) -> int:
        return sum(not item.current_tokens and bool(item.original_tokens) for item in self.items)

    @property
    def shortened(self) -> int:
        return sum(0 < item.current_tokens < item.original_tokens for item in self.items)


def fit(
    contents: Sequence[Content],
    budget: int,
    *,
    count: Count,
    query: str = "",
    rules: ContentRules = ContentRules(),
    top: int = TOP_SOURCES,
) -> Fitted:
    """The contents within ``budget`` tokens, as ``count`` counts them: whole where they fit, else by what they matter
    (see `allocate_what_fits`), condensed with regard to ``query``. Raises `WindowError` when what is protected does not
    fit."""
    wholes = {content.id: count(content.forms[0]) for content in contents}
    if sum(wholes.values()) <= budget or not rules.enabled:
        return _fitted(contents, {c.id: c.forms[0] for c in contents}, wholes, wholes, None)
    items = [Item(c.id, wholes[c.id], c.priority, c.klass) for c in contents]
    allocation, gave_way = allocate_what_fits(items, budget, allow_dropping=rules.allow_dropping, top=top)

    def text_of(content: Content, size: int) -> str:
        shown = next((form for form in content.forms if count(form) <= size), None)
        return condense(content.forms[-1], size, query=query, measure=count).text if shown is None else shown

    texts = {c.id: text_of(c, allocation.sizes[c.id]) for c in contents}
    sizes = {name: count(text) for name, text in texts.items()}
    tries = 0
    for content in sorted(contents, key=lambda c: (-c.priority / max(1, wholes[c.id]), c.id)):
        left = budget - sum(sizes.values())
        if left <= LEFT * budget or tries == TRIES:
            break
        if sizes[content.id] < wholes[content.id]:
            tries += 1
            text = text_of(content, sizes[content.id] + left)
            if (size := count(text)) > sizes[content.id]:
                texts[content.id], sizes[content.id] = text, size
    return _fitted(contents, texts, sizes, wholes, gave_way)


def _fitted(
    contents: Sequence[Content],
    texts: Mapping[str, str],
    sizes: Mapping[str, int],
    wholes: Mapping[str, int],
    gave_way: ItemClass | None,
) -> Fitted:
    items = tuple(
        SentItem(
            id=c.id,
            original_tokens=max(c.tokens or 0, wholes[c.id]),
            current_tokens=sizes[c.id],
        )
        for c in contents
    )
    return Fitted(MappingProxyType(dict(texts)), items, sum(sizes.values()), gave_way)
