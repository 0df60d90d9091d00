"""Rating of a source by known signals, each kept with its effect. Pure.

The effects are summed: from `HIGH` on a source is high, from `MEDIUM` on medium, below it low. Where all effects
together, whatever their signs, weigh less than `MIN_SIGNALS`, there is nothing to go on and the quality is unknown. A
work that was retracted is low, whatever else speaks for it; so is a page that gave no text. A document of the user's
own is high, and what a provider vouches for is what it says. A list of the user's overrides all of this.

A source is primary that is the thing itself, or comes from its maker, and is no account of it by others. What counts is
what a page cannot say of itself: where it stands, under whose name a host of code or a registry has it, and who wrote
it by a catalogue. A file of the user's own may be a standard, by the number that it bears.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from deep_research.patterns import regex
from deep_research.provenance.sites import SiteClass, class_of, host_of, owner_or_package, site_of
from deep_research.state import Source, SourceKind, SourceQuality
from deep_research.text.names import asked_names, key
from deep_research.text.words import ASKING_WORDS, STOP_WORDS, words

HIGH = 4
MEDIUM = 1
MIN_SIGNALS = 2
SHORT_PAGE_CHARS = 500  # characters, below which a page has little to say
OLD_YEARS_COUNT = 10  # years, after which what is no scholarship is likely to be outdated
_DAYS = 365.25
_MANY, _SOME = 10.0, 1.0  # citations a year
_YOUNG = 1.0  # years, at the least: the first citations come late

FILE = Path(__file__).with_name("makers.toml")
MADE = "from its maker"
STANDARD = "the standard itself"
MIN_NAME_CHARS = 3  # letters of a name that a site can have
INITIALS = 4  # of a name, for which a site is called: with fewer many are called the same
# What reports of others also when it bears the name of what they are asked about.
_REPORTERS = frozenset({"an established news organisation", "a reference work", "social media", "a shop"})
_NO_NAMES = STOP_WORDS | ASKING_WORDS
_NUMBERED = regex(r"(?<!\w)([A-Za-z]{2,6}(?:-T)?)[ _/-]{0,2}(\d{1,6}(?:[-.:]\d{1,6}){0,3})(?!\w)")
RANKS = (SourceQuality.LOW, SourceQuality.UNKNOWN, SourceQuality.MEDIUM, SourceQuality.HIGH)
_OWN_WORD = regex(r"\+\d+ (?!names its author|dated)|= high\b")  # what no page can say of itself


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """What is known of a source; None and empty mean that it is not.

    ``address`` is the URL or the corpus-relative path. ``length`` is that of the readable text in characters, 0 when no
    text could be had; ``abstract_only`` says that the text is only the abstract of a work, ``extract_only`` that it is
    what a search service gives of the page. ``today`` is the day by which ages are told; without it they do not count.
    ``stated_quality`` is the quality that the provider vouches for; ``question`` what is researched; ``catalogued`` are
    the authors that a catalogue gives. The rest is what a catalogue of scholarship says.
    """

    address: str
    kind: SourceKind = SourceKind.WEB
    published: date | None = None
    authors: tuple[str, ...] = ()
    length: int | None = None
    abstract_only: bool = False
    extract_only: bool = False
    today: date | None = None
    stated_quality: SourceQuality = SourceQuality.UNKNOWN
    venue: str | None = None
    reviewed: bool | None = None
    citations: int | None = None
    retracted: bool | None = None
    question: str = ""
    catalogued: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityLists:
    """What the user says of sources: patterns for each quality.

    A pattern is a domain (``example.org``, with what stands below it), a domain and the beginning of a path
    (``example.org/blog``, whole segments), or a path of the corpus: a file, a folder, or with ``*``, ``?`` and ``[…]``
    that match any characters, ``/`` too. The most specific pattern that fits wins; of equal ones the lower quality.
    """

    high: tuple[str, ...] = ()
    medium: tuple[str, ...] = ()
    low: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether the user said anything."""
        return bool(self.high or self.medium or self.low)


@dataclass(frozen=True, slots=True)
class Judgement:
    """``signals`` are what led to it, as ``+3 a scholarly publisher: plos.org``, the user's own list as ``= …``."""

    quality: SourceQuality
    signals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Signal:
    effect: int
    reason: str
    final: bool = False  # what makes a source low by itself

    def __str__(self) -> str:
        return f"{self.effect:+d} {self.reason}"


def judged(evidence: SourceFacts, lists: QualityLists | None = None) -> Judgement:
    """The quality of a source and the signals it was told by. Equal facts have equal judgements."""
    if lists and (said := _listed(evidence, lists)):
        quality, pattern = said
        return Judgement(quality, (f"= {quality} by your list: {pattern}",))
    if evidence.stated_quality is not SourceQuality.UNKNOWN:
        return Judgement(evidence.stated_quality, (f"= {evidence.stated_quality} by its provider",))
    if evidence.kind is SourceKind.DOCUMENT:
        return Judgement(SourceQuality.HIGH, ("= high as a document of your own",))
    known = class_of(evidence.address)
    signals = [
        *_of_class(known),
        *_of_maker(evidence),
        *_of_record(evidence),
        *_of_page(evidence, known[0] if known else None),
    ]
    return Judgement(_quality(signals), tuple(map(str, signals)))


def _quality(signals: list[_Signal]) -> SourceQuality:
    if any(signal.final for signal in signals):
        return SourceQuality.LOW
    if sum(abs(signal.effect) for signal in signals) < MIN_SIGNALS:
        return SourceQuality.UNKNOWN
    total = sum(signal.effect for signal in signals)
    if total >= HIGH:
        return SourceQuality.HIGH
    return SourceQuality.MEDIUM if total >= MEDIUM else SourceQuality.LOW


def _of_class(known: tuple[SiteClass, str] | None) -> Iterable[_Signal]:
    if known:
        kind, domain = known
        yield _Signal(kind.effect, f"{kind.name}: {domain}")


def _of_maker(facts: SourceFacts) -> Iterable[_Signal]:
    if primary(facts.address, facts.question, authors=facts.catalogued) == MADE:
        yield _Signal(2, f"{MADE}: {site_of(host_of(facts.address))}")


def _of_record(facts: SourceFacts) -> Iterable[_Signal]:
    """What a catalogue of scholarship says."""
    if facts.retracted:
        yield _Signal(-10, "retracted", final=True)
    if facts.reviewed:
        yield _Signal(3, f"peer-reviewed: {facts.venue}" if facts.venue else "peer-reviewed")
    elif facts.reviewed is False:
        yield _Signal(-1, "not peer-reviewed")
    elif facts.venue:
        yield _Signal(1, f"appeared in {facts.venue}")
    years = _age(facts)
    if facts.citations is not None and years is not None:
        rate = facts.citations / max(years, _YOUNG)
        if rate >= _SOME:
            yield _Signal(
                2 if rate >= _MANY else 1,
                f"cited {facts.citations:,} times, {rate:,.0f} a year",
            )
    elif facts.citations and facts.citations >= _MANY:
        yield _Signal(1, f"cited {facts.citations:,} times")


def _of_page(facts: SourceFacts, kind: SiteClass | None) -> Iterable[_Signal]:
    if any(author.strip() for author in facts.authors):
        yield _Signal(1, "names its author")
    if facts.published:
        yield _Signal(1, "dated")
        years = _age(facts)
        if (
            years is not None
            and years >= OLD_YEARS_COUNT
            and not (kind and kind.scholarly)
            and not facts.reviewed
        ):
            yield _Signal(-1, f"{int(years)} years old")
    if facts.length == 0:
        yield _Signal(-3, "no text could be read", final=True)
    elif facts.extract_only:
        yield _Signal(-2, "read only as a search service gives it")
    elif facts.abstract_only:
        yield _Signal(-1, "only its abstract could be read")
    elif facts.length is not None and facts.length < SHORT_PAGE_CHARS:
        yield _Signal(-1, f"a text of only {facts.length} characters")
    if facts.address.lower().startswith("http://"):
        yield _Signal(-1, "not served over https")


def _age(facts: SourceFacts) -> float | None:
    """Years since it was published, 0 for what is dated ahead."""
    if facts.today is None or facts.published is None:
        return None
    return max(0.0, (facts.today - facts.published).days / _DAYS)


# What a model says


def bounded_quality(said: SourceQuality, source: Source) -> SourceQuality:
    """What counts of a model's word on a source: it may lower one; it may raise one by a step where code sees a signal
    for it that no page gives itself: a publisher, a catalogue, that it is primary. A page may have ordered it."""
    if RANKS.index(said) <= RANKS.index(source.quality):
        return said
    told = source.metadata.get("quality", "")
    borne_out = bool(source.metadata.get("primary") or _OWN_WORD.search(told))
    if not borne_out or source.metadata.get("retracted") or told.startswith("="):
        return source.quality
    return SourceQuality.HIGH if source.quality is SourceQuality.MEDIUM else SourceQuality.MEDIUM


# The user's lists


def is_named(address: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns (see `QualityLists`) fits an address."""
    return any(_fits(pattern, address) for pattern in patterns)


def _listed(facts: SourceFacts, lists: QualityLists) -> tuple[SourceQuality, str] | None:
    fitting = [
        (_weight(pattern), -rank, quality, pattern)
        for rank, (quality, patterns) in enumerate(
            (
                (SourceQuality.LOW, lists.low),
                (SourceQuality.MEDIUM, lists.medium),
                (SourceQuality.HIGH, lists.high),
            )
        )
        for pattern in patterns
        if _fits(pattern, facts.address)
    ]
    if not fitting:
        return None
    _, _, quality, pattern = max(fitting)
    return quality, pattern


def _weight(pattern: str) -> tuple[int, int]:
    """How specific a pattern is: what has no wildcard first, then by its plain characters."""
    plain = _plain(pattern)
    wild = re.sub(r"\[[^\]]*\]|[*?]", "", plain)
    return (wild == plain), len(wild)


def _fits(pattern: str, address: str) -> bool:
    pattern = _plain(pattern)
    host = host_of(address)
    if not pattern:
        return False
    if not host:
        return fnmatchcase(address, pattern) or address == pattern or address.startswith(f"{pattern}/")
    domain, _, opening = pattern.partition("/")
    domain = host_of(f"https://{domain}")
    if not domain or not (host == domain or host.endswith(f".{domain}")):
        return False
    path = unquote(urlsplit(address.strip()).path).strip("/")
    return not opening or path == opening or path.startswith(f"{opening}/")


def _plain(pattern: str) -> str:
    """A pattern without what people write around a domain."""
    pattern = re.sub(r"\Ahttps?://", "", pattern.strip())
    return re.sub(r"\A\*\.(?=[\w-]+\.)", "", pattern).removeprefix("www.").rstrip("/")


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
    """Why a source is primary, in a few words: a standard, a law or a data set from its issuer; or a page from the
    maker of what the ``question`` asks about, by the name of its site, of the owner of a repository, or of a package in
    a registry, or by the ``authors`` that a catalogue gives; of a file the standard that its name or ``title`` begins
    with; "" for what is not. ``primary("https://docs.python.org/3/", "How fast is Python 3.14?")`` is "from its maker".
    """
    known = class_of(address)
    if known is not None and known[0].primary:
        return known[0].name
    host = host_of(address)
    if not host:
        return STANDARD if _is_standard(address, title, question) else ""
    if {key(author) for author in authors} & set(asked_names(question)):
        return MADE
    if known is not None and known[0].is_makers_own:
        called = {_joined_key(owner_or_package(address, known[0]))}
    elif known is not None and (known[0].name in _REPORTERS or known[0].speaker):
        return ""
    else:
        called = set(_called(site_of(host).partition(".")[0]))
    return MADE if {name for name in called if len(name) >= MIN_NAME_CHARS} & _names_in(question) else ""


def _called(site: str) -> Iterator[str]:
    """The names that the name of a site may stand for."""
    name = _joined_key(site)
    yield name
    for word in _makers().before:
        yield name.removeprefix(word)
    for word in _makers().after:
        yield name.removesuffix(word)


def _names_in(question: str) -> set[str]:
    """What a question names, each in one word: words with a capital or a figure that are no words of grammar, names of
    several, what stands in quotes or as code, and the initials of long names."""
    single = (word for word in words(question) if any(c.isupper() or c.isdigit() for c in word))
    found = {word.casefold() for word in single if word.casefold() not in _NO_NAMES}
    several = asked_names(question)
    found |= set(map(_joined_key, several))
    return found | set(_initials(several))


def _initials(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        letters = "".join(word[0] for word in name.split() if word not in STOP_WORDS)
        if len(letters) >= INITIALS:
            yield letters


def _joined_key(name: str) -> str:
    return key(name).replace(" ", "")


def _is_standard(address: str, title: str, question: str) -> bool:
    """Whether a file bears the number of a standard that is asked about, at the beginning of its name or title."""
    asked = {number for _, number in _numbers(question)}
    own = (*_numbers(PurePosixPath(address).stem), *_numbers(title))
    return any(start == 0 and number in asked for start, number in own)


def _numbers(text: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """The places and numbers of standards in a text."""
    for match in _NUMBERED.finditer(text):
        if match.group(1).casefold() in _makers().standards:
            yield match.start(), (match.group(1).casefold(), match.group(2))
