"""What a quote says of what is wanted, and how much that is. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deep_research.evidence.fragments import ITEM_MARK, is_list
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.text import ASKING_WEIGHT, stem

SEVERAL = 4  # items of a list that say different things
# Not a label ("Tower: 9 m"), nor what belongs to something ("Orrel's lamp").
_SUBJECT = re.compile(
    r"(?:(?:An?|The|Most|All|Any|Each|Every) )?(?P<subject>[^\W_][\w-]*)(?!['’]|\w)"
    r"(?! \|| (?:also|then|again)\b)(?:,? [^\s:]+(?<!\|)){5}"
)


def said_by(text: str, weights: Mapping[str, float]) -> set[str]:
    """The stems of a quote; of a long list those of what announces it and of the item that has most of the weight: words
    that stand in different items say nothing together."""
    if not is_list(text):
        return stems_of(text)
    announcing, *items = (stems_of(item) for item in ITEM_MARK.split(text)[::2])
    if len(items) < SEVERAL:
        return announcing.union(*items)
    return announcing | max(items, key=lambda item: weight_of(weights, announcing | item))


def weight_of(weights: Mapping[str, float], present: set[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in present)


def opens_with(text: str, weights: Mapping[str, float]) -> bool:
    """Whether the first sentence of a text speaks of what is asked about: with that in the place of its subject."""
    match = _SUBJECT.match(text)
    return match is not None and weights.get(stem(match["subject"]), 0.0) > ASKING_WEIGHT
