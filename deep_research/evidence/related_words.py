"""Words of one relation: a question asks for the *director*, the text says *directed by*. Pure.

They are not the same word, so this widens what counts as an answer and never what counts as said.
"""

from __future__ import annotations

from functools import cache

from deep_research.evidence.inquiry import forms
from deep_research.evidence.language import ENGLISH
from deep_research.evidence.words import stem


@cache
def _groups() -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for row in forms(ENGLISH).relations:
        stems = {stem(word) for word in row.split()}
        for one in stems:
            groups.setdefault(one, set()).update(stems)
    return {one: frozenset(group) for one, group in groups.items()}


def related(term: str) -> frozenset[str]:
    """The stems that speak of the same relation as the stem ``term``, itself among them."""
    return _groups().get(term) or frozenset((term,))
