"""Which sources are the thing itself, or of whoever made it, and not somebody's account of it. Pure."""

from __future__ import annotations

from deep_research.evidence.publishers import class_of
from deep_research.evidence.sites import host_of, site_of
from deep_research.evidence.words import STOP_WORDS, words

MADE = "of whoever made it"
SHORTEST = 3  # letters of a name that a site can have
# What reports of others also when it bears the name of what they are asked about.
_REPORTERS = frozenset({"an established news organisation", "a reference work", "social media", "a shop"})


def primary(address: str, question: str = "") -> str:
    """Why a web address is primary, in a few words: a standard, a law or a data set by whoever issues it, or the site of
    what the ``question`` asks about, by its name; "" for what is not."""
    known = class_of(address)
    if known is not None and known[0].primary:
        return known[0].name
    name = site_of(host_of(address)).partition(".")[0] if host_of(address) else ""
    if len(name) < SHORTEST or (known is not None and (known[0].name in _REPORTERS or known[0].voice)):
        return ""
    return MADE if name in _names(question) else ""


def _names(question: str) -> set[str]:
    """What a question names: words with a capital or a figure that are no words of grammar."""
    named = (word for word in words(question) if any(c.isupper() or c.isdigit() for c in word))
    return {word.casefold() for word in named if word.casefold() not in STOP_WORDS}
