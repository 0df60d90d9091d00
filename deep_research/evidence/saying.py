"""What a quote says of what is wanted, and how much that is. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deep_research.evidence.fragments import ITEM_MARK, is_list
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.text import ASKING_WEIGHT, stem, words

SEVERAL = 4  # items of a list that say different things
# Not a label ("Tower: 9 m"), nor what belongs to something ("Orrel's lamp").
_SUBJECT = re.compile(
    r"(?:(?:An?|The|Most|All|Any|Each|Every) )?(?P<subject>[^\W_][\w-]*)(?!['’]|\w)"
    r"(?! \|| (?:also|then|again)\b)(?:,? [^\s:]+(?<!\|)){5}"
)


def said_by(text: str, weights: Mapping[str, float], *, done: str = "") -> set[str]:
    """The stems of a quote; of a long list those of what announces it and of the item that has most of the weight: words
    that stand in different items say nothing together. Where it is asked when something was ``done``, to "light" a lamp,
    a plan for "a light" does not say that it was."""
    if not is_list(text):
        said = stems_of(text)
        return said - {done} if done in said and _only_names(text, done) else said
    announcing, *items = (stems_of(item) for item in ITEM_MARK.split(text)[::2])
    if len(items) < SEVERAL:
        return announcing.union(*items)
    return announcing | max(items, key=lambda item: weight_of(weights, announcing | item))


def _only_names(text: str, done: str) -> bool:
    """Whether a text has the word only for a thing that it brings up."""
    every = words(text)
    pairs = zip(["", *every], every, strict=False)
    return all(
        before.casefold() in ("a", "an", "another", "no") for before, word in pairs if stem(word) == done
    )


def weight_of(weights: Mapping[str, float], present: set[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in present)


def opens_with(text: str, weights: Mapping[str, float]) -> bool:
    """Whether the first sentence of a text speaks of what is asked about: with that in the place of its subject."""
    match = _SUBJECT.match(text)
    return match is not None and weights.get(stem(match["subject"]), 0.0) > ASKING_WEIGHT
