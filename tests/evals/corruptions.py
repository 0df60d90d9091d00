"""True sentences made false in one known way, and others worded anew: what a check of claims is measured on. Pure.

What is drawn is decided by the hash of a sentence, so that the same sentences are made false in the same way each time.
Nothing here is shared with the check that is measured: each kind has its own patterns.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from deep_research.patterns import regex
from deep_research.state.identity import sha256_hex

SHORTEST, LONGEST = 8, 60  # words of a sentence that is drawn
LOOKALIKE = "source"
REWORDINGS = ("verbatim", "plain", "joined", "shortened")
_WORD = regex(r"\w+")
_WHOLE = regex(r"[A-Z\"“(][^\n|]*[a-z0-9)%][.!]\Z")
_MONTHS = tuple(
    str.split("January February March April May June July August September October November December")
)
_MONTH = regex(rf"\b(?:{'|'.join(_MONTHS)})\b(?=[ ,]+\d)|(?<=\d )\b(?:{'|'.join(_MONTHS)})\b")
_YEAR = regex(r"(?<![\w.,$£€/-])(?:1[5-9]\d\d|20[0-2]\d)(?![\w%/]|[.,]\d)")
_NUMBER = regex(
    r"(?<![\w.,/:–-])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w/])|(?<![\w.,/:–-])\d+(?:\.\d+)?(?![\w/:]|[.,]\d)"
)
_NUMERALS = tuple(
    str.split("two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred")
)
_NUMERAL = regex(rf"\b(?:{'|'.join(_NUMERALS)})\b")
_NAME = regex(r"(?<![\w'’.-])[A-Z][\w'’&-]*(?: [A-Z][\w'’&-]*)*")
_NO_NAMES = frozenset(
    f"""I It He She We You They The A An In On At Of For And But {" ".join(_MONTHS)} Monday Tuesday Wednesday Thursday
    Friday Saturday Sunday Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec""".split()
)
_CAN_BE_DENIED = regex(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|should|may|might|must)\b(?! not\b|n['’]t| no\b)"
)
_DENIAL = regex(r"(?<=(?:is|as|re|ve|ad|an|ld|ll|ay|st|id|es|do) )not (?!only\b|just\b)")
# Of each row the first is put where the second stands, and where ``=`` parts them also the other way about.
_UNITS = """
    feet = metres / feet = meters / miles = kilometres / miles = km / kilograms = pounds / kg = lb / grams = kilograms
    hours = days / minutes = hours / seconds = minutes / weeks = months / months = years / days = weeks
    million = billion / thousand = million / mg = kg / mm = cm / millimetres = centimetres / acres = hectares
    tonnes > tons / litres = gallons / percent > people / mL > L / μg > g / ng > mg / nm > mm
    inches = feet / day > week / hour > month / year > decade
"""
_STRONGER = """
    will > may / will > might / will > could / must > can / proves > suggests / prove > suggest / proved > suggested
    shows beyond doubt > indicates / always > often / always > sometimes / always > usually
    is certain to > is likely to / certainly > probably / certainly > possibly / certainly > perhaps
    all > some / all > many / all > most
    never > rarely
"""
_OPPOSITES = """
    more than = less than / at least = at most
    higher = lower / larger = smaller / greater = lesser / increased = decreased
    increase = decrease / increases = decreases / increasing = decreasing / before = after / earlier = later
    oldest = youngest / largest = smallest / highest = lowest / most = least / longer = shorter / older = younger
    better = worse / best = worst / fewer > more / faster = slower / first = last / rose = fell / majority = minority
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """A ``sentence`` of a text as ``text``, which is true or false in the way that ``kind`` names."""

    kind: str
    sentence: str
    text: str


@dataclass(frozen=True, slots=True)
class Names:
    """Names to put in place of others: those of the sentence's own text, and those of other texts."""

    near: Sequence[str]
    far: Sequence[str]


@dataclass(frozen=True, slots=True)
class Case:
    """A statement to be checked against the ``text``-th of the texts, and whether it is true of it."""

    kind: str
    statement: str
    text: int
    true: bool


def cases(
    texts: Sequence[Sequence[str]], lookalike: Callable[[str, int], int | None], most: int
) -> Iterator[Case]:
    """At most so many cases of each kind, of texts that are given as their sentences. ``lookalike`` names another text
    that is most like a sentence and its text, and does not hold it."""
    places = [(t, s) for t, text in enumerate(texts) for s, one in enumerate(text) if is_drawn(one)]
    places.sort(key=lambda place: sha256_hex(texts[place[0]][place[1]].encode()))
    named = [tuple(dict.fromkeys(name for one in text for name in names_in(one))) for text in texts]
    left = dict.fromkeys((*REWORDINGS, *CORRUPTIONS, LOOKALIKE), most)
    for place, (t, s) in enumerate(places):
        sentence, following = texts[t][s], texts[t][s + 1] if s + 1 < len(texts[t]) else ""
        names = Names(named[t], named[places[place - 1][0]])
        for variants, true in ((reworded(sentence, following), True), (corrupted(sentence, names), False)):
            for variant in variants:
                if left[variant.kind]:
                    left[variant.kind] -= 1
                    yield Case(variant.kind, variant.text, t, true)
        if left[LOOKALIKE] and (other := lookalike(sentence, t)) is not None:
            left[LOOKALIKE] -= 1
            yield Case(LOOKALIKE, sentence, other, False)
        if not any(left.values()):
            return


def is_drawn(sentence: str) -> bool:
    """Whether a sentence can be a claim: whole, and neither a label nor a paragraph."""
    return SHORTEST <= len(sentence.split()) <= LONGEST and bool(_WHOLE.match(sentence))


def names_in(sentence: str) -> list[str]:
    """The names of a sentence by its capitals, what opens it aside."""
    return [sentence[start:end] for start, end in _names(sentence)]


def corrupted(sentence: str, names: Names) -> Iterator[Variant]:
    """The sentence made false, once in each way that it allows."""
    for kind, change in CORRUPTIONS.items():
        draw = random.Random(sha256_hex(f"{kind} {sentence}".encode()))
        changed = change(sentence, names, draw)
        if changed and changed != sentence:
            yield Variant(kind, sentence, changed)


def reworded(sentence: str, following: str) -> Iterator[Variant]:
    """The sentence as it stands, and worded otherwise with the same meaning. ``following`` is the next sentence of its
    text, or empty."""
    yield Variant("verbatim", sentence, sentence)
    plain = _plain(sentence)
    if plain != sentence:
        yield Variant("plain", sentence, plain)
    if following and is_drawn(following):
        yield Variant("joined", sentence, f"{sentence} {following}")
    shortened = re.sub(r" \([^()]*\)", "", sentence)
    shortened = re.sub(
        r"\A(?:However|Moreover|Furthermore|In addition|Therefore|Thus|Also), (\w)", _opened, shortened
    )
    if shortened != sentence and len(shortened.split()) >= SHORTEST:
        yield Variant("shortened", sentence, shortened)


def _plain(sentence: str) -> str:
    """Numbers without commas, shares in words, straight marks."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", sentence)
    text = re.sub(r"(?<=\d)%", " percent", text)
    return text.translate(str.maketrans("“”‘’–", "\"\"''-"))


def _opened(match: re.Match[str]) -> str:
    return match.group(1).upper()


def _number(sentence: str, names: Names, draw: random.Random) -> str:
    del names
    years = {match.start() for match in _YEAR.finditer(sentence)} | {m.start() for m in _days(sentence)}
    found = [m for m in _NUMBER.finditer(sentence) if m.start() not in years]
    found += _NUMERAL.finditer(sentence)
    if not found:
        return ""
    match = draw.choice(found)
    if match.group() in _NUMERALS:
        others = [numeral for numeral in _NUMERALS if numeral not in sentence]
        return _put(sentence, match.span(), draw.choice(others))
    other = draw.choice((_digit_changed, _digit_changed, _point_moved))(match.group(), draw)
    return (
        ""
        if re.search(rf"(?<![\d.,]){re.escape(other)}(?![\d])", sentence)
        else _put(sentence, match.span(), other)
    )


def _digit_changed(number: str, draw: random.Random) -> str:
    places = [place for place, sign in enumerate(number) if sign.isdigit()]
    place = draw.choice(places)
    digits = [digit for digit in "123456789" if digit != number[place]]
    return number[:place] + draw.choice(digits) + number[place + 1 :]


def _point_moved(number: str, draw: random.Random) -> str:
    whole, point, rest = number.partition(".")
    if point:
        return f"{whole}{rest[:1]}.{rest[1:]}".rstrip(".").lstrip("0") or "1"
    return f"{number}0" if "," not in number and draw.random() < 0.5 else _digit_changed(number, draw)


def _unit(sentence: str, names: Names, draw: random.Random) -> str:
    del names
    percent = regex(r"(?<=\d)%").sub(" percent", sentence)
    return _swapped(percent, _UNITS, draw, before=r"(?<=[\d.])[ -]?|(?<=\d )")


def _name(sentence: str, names: Names, draw: random.Random) -> str:
    found = _names(sentence)
    known = {word.casefold() for word in _WORD.findall(sentence)}
    pools = [names.near, names.far] if draw.random() < 0.5 else [names.far, names.near]
    for pool in pools:
        others = [one for one in pool if not {w.casefold() for w in _WORD.findall(one)} & known]
        if found and others:
            return _put(sentence, draw.choice(found), draw.choice(others))
    return ""


def _negation(sentence: str, names: Names, draw: random.Random) -> str:
    del names
    if denials := list(_DENIAL.finditer(sentence)):
        return _put(sentence, draw.choice(denials).span(), "")
    found = list(_CAN_BE_DENIED.finditer(sentence))
    if not found:
        return ""
    end = draw.choice(found).end()
    return f"{sentence[:end]} not{sentence[end:]}"


def _date(sentence: str, names: Names, draw: random.Random) -> str:
    del names
    years, months, days = list(_YEAR.finditer(sentence)), list(_MONTH.finditer(sentence)), _days(sentence)
    found = [group for group in (years, months, days) if group]
    if not found:
        return ""
    group = draw.choice(found)
    match = draw.choice(group)
    if group is months:
        return _put(sentence, match.span(), draw.choice([m for m in _MONTHS if m not in sentence]))
    shift = draw.choice((-10, -3, -2, -1, 1, 2, 3, 10)) if group is years else draw.choice((1, 2, 5, 9))
    other = int(match.group()) + shift if group is years else (int(match.group()) + shift - 1) % 28 + 1
    return "" if re.search(rf"\b{other}\b", sentence) else _put(sentence, match.span(), str(other))


def _modality(sentence: str, names: Names, draw: random.Random) -> str:
    del names
    return _swapped(sentence, _STRONGER, draw)


def _comparison(sentence: str, names: Names, draw: random.Random) -> str:
    del names
    return _swapped(sentence, _OPPOSITES, draw)


CORRUPTIONS: Mapping[str, Callable[[str, Names, random.Random], str]] = MappingProxyType(
    {
        "number": _number,
        "unit": _unit,
        "name": _name,
        "negation": _negation,
        "date": _date,
        "modality": _modality,
        "comparison": _comparison,
    }
)


def _names(sentence: str) -> list[tuple[int, int]]:
    found = []
    for match in _NAME.finditer(sentence):
        words = match.group().split()
        opens = (
            not sentence[: match.start()].strip(" \"“'‘([")
            or sentence[: match.start()].rstrip()[-1:] in ".:!?"
        )
        if not opens and not _NO_NAMES.intersection(words) and len(match.group()) > 1:
            found.append(match.span())
    return found


def _days(sentence: str) -> list[re.Match[str]]:
    """The days of dates: "May 8", "8 May"."""
    month = "|".join(_MONTHS)
    after = regex(rf"(?<=\b)(?P<month>{month}) (?P<day>\d{{1,2}})(?!\d|[.,]\d)")
    before = regex(rf"(?<![\d.,/-])(?P<day>\d{{1,2}})(?= (?:{month})\b)")
    days = [regex(r"\d{1,2}").search(sentence, match.start("day")) for match in after.finditer(sentence)]
    return [match for match in (*days, *before.finditer(sentence)) if match]


def _swapped(sentence: str, rows: str, draw: random.Random, before: str = r"\b") -> str:
    """The sentence with one of the words of the rows put in place of its counterpart; empty where it has none."""
    found: list[tuple[tuple[int, int], str]] = []
    for row in re.split(r"[/\n]", rows):
        for one, other in _pairs(row):
            word = regex(rf"(?:{before})\b(?P<word>{re.escape(other)})(?!\w)")
            found += [(match.span("word"), one) for match in word.finditer(sentence)]
    if not found:
        return ""
    return _put(sentence, *draw.choice(sorted(found)))


def _pairs(row: str) -> Iterator[tuple[str, str]]:
    one, both, other = (part.strip() for part in re.split(r"([=>])", row)) if row.strip() else ("", "", "")
    if one:
        yield one, other
        if both == "=":
            yield other, one


def _put(sentence: str, span: tuple[int, int], text: str) -> str:
    return sentence[: span[0]] + text + sentence[span[1] :]
