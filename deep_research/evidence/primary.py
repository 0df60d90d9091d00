"""Which sources are the thing itself, or of whoever made it, and not somebody's account of it. Pure.

What counts is what a page cannot say of itself: where it stands, under whose name a host of code or a registry has it,
and who wrote it by a catalogue. A file of the user's own may be a standard, by the number that it bears.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from deep_research.evidence.names import asked_names, key
from deep_research.evidence.publishers import class_of, named_by
from deep_research.evidence.sites import host_of, site_of
from deep_research.evidence.words import ASKING_WORDS, STOP_WORDS, words
from deep_research.patterns import regex

FILE = Path(__file__).with_name("makers.toml")
MADE = "of whoever made it"
STANDARD = "the standard itself"
SHORTEST = 3  # letters of a name that a site can have
INITIALS = 4  # of a name, for which a site is called: with fewer many are called the same
# What reports of others also when it bears the name of what they are asked about.
_REPORTERS = frozenset({"an established news organisation", "a reference work", "social media", "a shop"})
_NO_NAMES = STOP_WORDS | ASKING_WORDS
_NUMBERED = regex(r"(?<!\w)([A-Za-z]{2,6}(?:-T)?)[ _/-]{0,2}(\d{1,6}(?:[-.:]\d{1,6}){0,3})(?!\w)")


@dataclass(frozen=True, slots=True)
class _Makers:
    before: tuple[str, ...]
    after: tuple[str, ...]
    standards: frozenset[str]


@cache
def _makers() -> _Makers:
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return _Makers(
        tuple(rows["before"].split()),
        tuple(rows["after"].split()),
        frozenset(rows["standards"].casefold().split()),
    )


def primary(address: str, question: str = "", *, title: str = "", authors: Sequence[str] = ()) -> str:
    """Why a source is primary, in a few words: a standard, a law or a data set by whoever issues it; or of whoever made
    what the ``question`` asks about, by the name of its site, of the owner of a repository, or of a package in a
    registry, or by the ``authors`` that a catalogue gives; of a file the standard that its name or ``title`` begins with;
    "" for what is not. ``primary("https://docs.python.org/3/", "How fast is Python 3.14?")`` is "of whoever made it"."""
    known = class_of(address)
    if known is not None and known[0].primary:
        return known[0].name
    host = host_of(address)
    if not host:
        return STANDARD if _is_standard(address, title, question) else ""
    if {key(author) for author in authors} & set(asked_names(question)):
        return MADE
    if known is not None and known[0].keeps:
        called = {_joined(named_by(address, known[0]))}
    elif known is not None and (known[0].name in _REPORTERS or known[0].voice):
        return ""
    else:
        called = set(_called(site_of(host).partition(".")[0]))
    return MADE if {name for name in called if len(name) >= SHORTEST} & _named(question) else ""


def _called(site: str) -> Iterator[str]:
    """The names that the name of a site may stand for."""
    name = _joined(site)
    yield name
    for word in _makers().before:
        yield name.removeprefix(word)
    for word in _makers().after:
        yield name.removesuffix(word)


def _named(question: str) -> set[str]:
    """What a question names, each in one word: words with a capital or a figure that are no words of grammar, names of
    several, what stands in quotes or as code, and the initials of long names."""
    single = (word for word in words(question) if any(c.isupper() or c.isdigit() for c in word))
    found = {word.casefold() for word in single if word.casefold() not in _NO_NAMES}
    several = asked_names(question)
    found |= set(map(_joined, several))
    return found | set(_initials(several))


def _initials(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        letters = "".join(word[0] for word in name.split() if word not in STOP_WORDS)
        if len(letters) >= INITIALS:
            yield letters


def _joined(name: str) -> str:
    return key(name).replace(" ", "")


def _is_standard(address: str, title: str, question: str) -> bool:
    """Whether a file bears the number of a standard that is asked about, at the beginning of its name or title."""
    asked = {number for _, number in _numbers(question)}
    borne = (*_numbers(PurePosixPath(address).stem), *_numbers(title))
    return any(start == 0 and number in asked for start, number in borne)


def _numbers(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """The places and numbers of standards in a text."""
    for match in _NUMBERED.finditer(text):
        if match.group(1).casefold() in _makers().standards:
            yield match.start(), (match.group(1).casefold(), match.group(2))
