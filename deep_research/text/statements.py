"""A sentence as what can be set against another, and by what it is compared: its values, years, names, subject. Pure.

It is its words that tell something, its numbers, names and dates, and the small words that turn, weaken or strengthen
what comes after them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, lru_cache
from itertools import islice

from deep_research.patterns import regex
from deep_research.text.language import ENGLISH, Marks, in_lower_case, language_of, vocabulary
from deep_research.text.passages import sentences
from deep_research.text.plain import unjoined
from deep_research.text.rows import labels, unlabelled
from deep_research.text.units import UNIT_WORDS, StatedValue, kind_of, stated_values, unit_name
from deep_research.text.words import STOP_WORDS, Known, folded, stem, words

_SPACELESS = (
    "\u3041-\u30ff\u3400-\u9fff\u0e00-\u0e7f"  # scripts that part no words: each character is a token
)
_TOKEN = regex(
    r"\d+(?:[.,]\d+)*(?:st|nd|rd|th)?(?![^\W_])"
    rf"|[%$€£°]|[{_SPACELESS}]|(?:[^\W\d_]\.){{2,}}|[^\W_{_SPACELESS}]+(?:['’]\w+)*"
)
_DIGIT = regex(r"\d")
_LOWER = regex(r"(?<!\w)[^\W\d_A-ZÀ-Þ][^\W\d_]*")
GROUPED = regex(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_SIGNS = {"%": "percent", "$": "dollars", "€": "euros", "£": "pounds", "°": "degrees"}
_SYMBOL = regex(r"[A-Z]\w*[A-Z\d]|\w+\d\w*")  # an abbreviation or an identifier, whatever stands around it
_OPENS = regex(r"(?:\A|[.!?:|*#>\n])[\s\"“«(*_-]*\Z")
_LOOK_BACK_CHARS = 4  # characters in which a mark stands after which a capital says nothing
_JOINING = frozenset((" ", "-", "", "\u00a0"))
_NO_KEY = frozenset(("",))  # of what tells nothing
_YEARS = (1000, 2100)
_DIGITS_OF_A_YEAR = 4
_LAST_DAY = 31
_SHORT_MONTH_CHARS = 3  # letters of its abbreviation
_MAX_KNOWN = 200_000

YEAR = regex(r"(?<![\d.,-])(?:1\d{3}|20\d\d)(?!s\b|['’]s\b|[\d,.]*\d)")
NAME = regex(r"\b[A-Z](?:(?!['’]s\b)[\w'’-])+")
_BOUND = regex(
    r"\b(?:at least|more than|fewer than|over|under|less than|up to|almost|nearly|at most)\s*$", re.I
)
_RANGE = regex(r"(?:\b(?:from|between)|\d\s?(?:[–−-]|to|and|or))\s*$", re.I)
_BOUND_AFTER = regex(
    r"\s*(?:or (?:more|less|fewer|higher|lower|over|above|below)|and (?:over|above|older))\b", re.I
)
_DENIED = regex(r"(?:\b(?:not|never|no)|n['’]t)\b[^.,;:]*\Z", re.I)
FENCES = ("```", "~~~")
MAX_VALUES = 24  # of a sentence; each is set against each of another
_BEFORE_VALUE_CHARS = 24  # characters before a value that say whether it is told as such
# What is measured, and what happened, by the words that say it: the first stands for its row.
_MEASURES = """
    height tall high taller tallest highest height heights elevation
    depth deep depth depths
    width wide width widths broad diameter across
    length long length lengths
    distance away distance distances far offshore
    weight weigh weighs weighed weight weights heavy
    cost cost costs price prices
    range range ranges visible seen
    wave wave waves sea
"""
_EVENTS = """
    built built build building construction constructed erected
    finished finished completed completion
    begun begun began started
    opened opened inaugurated
    lit lit lighted shown
    founded founded established
    died died death
    born born birth
    moved moved relocated
    automated automated automatic automation
    destroyed destroyed collapsed fell
    discovered discovered
    invented invented patented
    published published
"""
_MEASURED = [
    unit for unit in sorted(UNIT_WORDS) if unit.isalpha() and kind_of(unit_name(unit)) not in ("time", "age")
]


class Kind(Enum):
    """What a token is compared as."""

    WORD = auto()
    NAME = auto()
    NUMBER = auto()
    DATE = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A word that tells something, or a number: what it is compared by, and how it is written, in lower case but for
    names. ``value`` is that of a number. ``opens`` is a name by a capital that may only open its sentence; ``is_joined``
    says that no more than a space or hyphen parts it from the token before."""

    key: str
    word: str
    kind: Kind
    value: float | None = None
    opens: bool = False
    is_joined: bool = False

    @property
    def is_month(self) -> bool:
        return self.kind is Kind.DATE and self.value is None


@dataclass(frozen=True, slots=True)
class Mark:
    """A small word that bears on what it stands before: the ``place``-th token, counted from 0."""

    word: str
    place: int
    denies: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence as it is compared."""

    text: str
    tokens: tuple[Token, ...]
    marks: tuple[Mark, ...]


class Reader:
    """Reads sentences of one language."""

    def __init__(self, language: str) -> None:
        words = self.vocabulary = vocabulary(language)
        is_english = words is vocabulary(ENGLISH)
        self._stem = stem if is_english else lambda word: words.stem(folded(word))
        self._function = words.function | words.marks.small | (STOP_WORDS if is_english else frozenset())
        self._marks = (
            words.marks.denying | words.marks.hedging | words.marks.certain | words.marks.poles.keys()
        )
        self._months = _with_abbreviations(words.marks.months)
        counted = sorted(words.marks.values.keys() & self._function) or ["\0"]
        self._counted = regex(rf"\b({'|'.join(counted)})(?=[ -](?:{'|'.join(_MEASURED)})\b)", re.IGNORECASE)
        tens = {word for word, value in words.marks.values.items() if value in range(20, 100, 10)} or {"\0"}
        ones = {word for word, value in words.marks.values.items() if value in range(1, 10)} or {"\0"}
        self._compound = regex(rf"\b({'|'.join(sorted(tens))})-({'|'.join(sorted(ones))})\b", re.IGNORECASE)
        units = sorted((u for u in words.marks.units if u.isalpha()), key=len, reverse=True)
        self._joined_unit = regex(rf"(?<![\w.,-])(\d[\d.,]*)(?=(?:{'|'.join(units)})\b)", re.IGNORECASE)
        self._keys: Mapping[str, str] = Known(self._key, most=_MAX_KNOWN)

    def tells(self, key: str) -> bool:
        """Whether texts are filed by what has this key; a small word with a capital is compared and not filed."""
        return key not in self._function

    def keys(self, text: str) -> frozenset[str]:
        """What the words and numbers of a text are compared by, each once; a quicker look than `read`."""
        return self._all(_TOKEN.findall(in_lower_case(self.with_figures(text))))

    def with_figures(self, text: str) -> str:
        """A text as it is compared: "1 GB" for "1GB", "22" for "twenty-two", and a figure for a number word that else
        says nothing, where it counts a unit ("one percent")."""
        values = self.vocabulary.marks.values
        text = unjoined(text).replace("’", "'")
        if _DIGIT.search(text):
            text = self._joined_unit.sub(r"\1 ", text)
        if "-" in text:
            text = self._compound.sub(
                lambda m: f"{values[m[1].casefold()] + values[m[2].casefold()]:g}", text
            )
        return self._counted.sub(lambda match: f"{values[match[1].casefold()]:g}", text)

    def plain(self, text: str) -> frozenset[str]:
        """The keys of the words that a text writes in lower case: a capital on one of them names nothing."""
        return self._all(_LOWER.findall(text))

    def key(self, word: str) -> str:
        """By what a word in lower case is compared; a word that tells nothing by itself is its own."""
        return self._keys[word] or self._keys[unit_name(word)] or word

    def _all(self, words: Iterable[str]) -> frozenset[str]:
        return frozenset(map(self._keys.__getitem__, set(words))) - _NO_KEY

    def read(self, text: str, is_plain: Callable[[str], bool] = lambda _: False) -> Statement:
        """What is compared of a sentence. ``is_plain`` says of a key whether its word is no name where it opens it."""
        text = self.with_figures(text)
        tokens: list[Token] = []
        marks: list[Mark] = []
        end = -1  # of the last token
        for match in _TOKEN.finditer(text):
            written = match.group()
            word = written.casefold()
            opens = bool(_OPENS.search(text, max(0, match.start() - _LOOK_BACK_CHARS), match.start()))
            key = self._keys[word] or self._capital_key(written, text, match.end(), tokens, opens=opens)
            denies = word in self.vocabulary.marks.denying or word.endswith("n't")
            if denies or (not key and word in self._marks):
                marks.append(Mark(word, len(tokens), denies))
            if key and not denies:
                value = float(key[1:]) if key[0] == "#" else None
                kind = Kind.NUMBER if value is not None else self._kind(written)
                opens = opens and kind is Kind.NAME and not _SYMBOL.fullmatch(written)
                if opens and is_plain(key):
                    opens, kind = False, Kind.WORD
                joined = end >= 0 and text[end : match.start()] in _JOINING
                written = written if kind is Kind.NAME else word
                tokens.append(Token(key, written, kind, value, opens, joined))
                end = match.end()
        return Statement(text, _resolve_tokens(tokens), tuple(marks))

    def _key(self, word: str) -> str:
        """Of a word in lower case; empty where it tells nothing by itself. That of a number begins with ``#``."""
        word = word.replace("’", "'")
        if word[0].isdigit() and (value := value_of(word)) is not None:
            return f"#{value:.12g}"
        if word in self._function or word.endswith(("n't", "n’t")):
            return ""
        if word in self.vocabulary.marks.values:
            return f"#{self.vocabulary.marks.values[word]:.12g}"
        if "." in word:  # of initials
            return word.replace(".", "")
        word = self._months.get(word) or unit_name(_SIGNS.get(word, word))
        return self._stem(word)

    def _capital_key(self, written: str, text: str, end: int, before: list[Token], *, opens: bool) -> str:
        """A small word with a capital is part of a name ("Thirty Under Thirty"), or a month beside a number ("May 3")."""
        if not written[0].isupper() or len(written) < 2:
            return ""
        word = written.casefold()
        if word in self._months:
            after_number = bool(before) and before[-1].value is not None
            return word if after_number or text[end : end + 4].strip(" ,")[:1].isdigit() else ""
        return "" if opens else word

    def _kind(self, written: str) -> Kind:
        if written.casefold() in self._months:
            return Kind.DATE
        return Kind.NAME if written[0].isupper() or _SYMBOL.fullmatch(written) else Kind.WORD


def _with_abbreviations(months: Sequence[str]) -> dict[str, str]:
    """Months by their names and by the first letters of these that no other has."""
    short = Counter(month[:_SHORT_MONTH_CHARS] for month in months)
    known = {
        m[:_SHORT_MONTH_CHARS]: m
        for m in months
        if short[m[:_SHORT_MONTH_CHARS]] == 1 and len(m) > _SHORT_MONTH_CHARS + 1
    }
    return {**known, **{month: month for month in months}}


@cache
def reader(language: str) -> Reader:
    """That of a language, or the English one where it has no table of words."""
    return Reader(language)


def likeness(statement: str, passage: str, title: str = "") -> float:
    """The share (0 to 1) of the words of a statement that a passage or the title of its text has, all of one weight: of
    one passage alone nobody knows which words are rare."""
    words = reader(language_of(passage))
    keys = words.keys(statement)
    return len(keys & (words.keys(passage) | words.keys(title))) / max(1, len(keys))


def value_of(number: str) -> float | None:
    """Of "1,031", "2.5", "57" or "57th"; commas group by three, and else stand for a point."""
    number = number.rstrip("sthndr")
    plain = number.replace(",", "") if GROUPED.fullmatch(number) else number.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None  # "1.2.3"


def _resolve_tokens(tokens: list[Token]) -> tuple[Token, ...]:
    """The tokens of a whole sentence: years and days are dates, and a capital before another opens a name."""
    return tuple(
        _beside(token, before, after)
        for token, before, after in zip(tokens, [None, *tokens], [*tokens[1:], None], strict=False)
    )


def _beside(token: Token, before: Token | None, after: Token | None) -> Token:
    if token.kind is Kind.NUMBER and _is_date(token, (before, after)):
        return replace(token, kind=Kind.DATE)
    if token.opens and after is not None and after.is_joined and after.kind is Kind.NAME:
        return replace(token, opens=False)
    return token


def _is_date(token: Token, beside: Iterable[Token | None]) -> bool:
    """A year by its four digits, a day by the month beside it."""
    value = token.value or 0.0
    if token.word.isdigit() and len(token.word) == _DIGITS_OF_A_YEAR and _YEARS[0] <= value < _YEARS[1]:
        return True
    return value <= _LAST_DAY and any(other is not None and other.is_month for other in beside)


def _rows(table: str) -> dict[str, str]:
    return {word: row.split()[0] for row in table.strip().splitlines() for word in row.split()}


_MEASURE = _rows(_MEASURES)
_EVENT = _rows(_EVENTS)
NO_SUBJECT = STOP_WORDS | UNIT_WORDS | _MEASURE.keys()


@dataclass(frozen=True, slots=True)
class StatementView:
    """One sentence of a statement, by what it is compared by. ``names`` and ``years`` may be those of what it is said
    under, too."""

    text: str
    statement: Statement
    keys: frozenset[str]  # of its words and names, without units
    name_words: frozenset[str]  # of its names alone
    marks: Marks
    values: tuple[StatedValue, ...]
    years: frozenset[str]
    names: frozenset[str]
    opening: frozenset[str]  # its first word, where that has a capital: it may be a name
    subject: frozenset[str]
    measures: frozenset[str]
    events: frozenset[str]
    columns: frozenset[str] = frozenset()  # the words of the headers, in a row of a table


@dataclass(frozen=True, slots=True)
class ComparedValue:
    """What one sentence says in its own words, in ``start`` to ``end`` of it. What has one ``stance`` says the same, but
    for measured values, which agree by their ``value``."""

    text: str
    start: int
    end: int
    stance: str
    value: StatedValue | None = None

    def agrees(self, other: ComparedValue) -> bool:
        if self.value is not None and other.value is not None:
            return self.value.agrees(other.value)
        return self.stance == other.stance


@lru_cache(maxsize=4096)
def sides(content: str) -> tuple[StatementView, ...]:
    """The sentences of a statement, each by what it is compared by. Code, and what a program prints, states nothing: of
    two examples neither is wrong."""
    if content.startswith(FENCES):
        return ()
    language = language_of(content)
    return tuple(_side(content[s.start : s.end], language) for s in sentences(content))


def _side(text: str, language: str) -> StatementView:
    own = unlabelled(text)
    every = words(own)
    lower = [w.casefold() for w in words(text)]
    reads = reader(language)
    statement, marks = reads.read(text), reads.vocabulary.marks
    return StatementView(
        text=text,
        statement=statement,
        keys=frozenset(
            t.key for t in statement.tokens if t.kind in (Kind.WORD, Kind.NAME) and t.word not in marks.units
        ),
        name_words=frozenset(
            t.key for t in statement.tokens if t.kind is Kind.NAME and t.word.casefold() not in UNIT_WORDS
        ),
        marks=marks,
        values=tuple(islice((q for q in stated_values(text) if _is_told(text, q.start, q.end)), MAX_VALUES)),
        years=frozenset(YEAR.findall(text)),
        names=_names_in(own, int(own == text)),
        opening=_names_in(own, 0, 1),
        subject=frozenset(stem(w) for w in every if not w[0].isdigit() and w.casefold() not in NO_SUBJECT),
        measures=frozenset(_MEASURE[w] for w in lower if w in _MEASURE),
        events=frozenset(_EVENT[w] for w in lower if w in _EVENT),
        columns=frozenset(stem(w) for label in labels(text) for w in words(label)),
    )


def _names_in(text: str, start: int, stop: int | None = None) -> frozenset[str]:
    """Of what begins from ``start`` and before ``stop``."""
    found = (m.group() for m in NAME.finditer(text, start) if stop is None or m.start() < stop)
    return frozenset(stem(name) for name in found if name.casefold() not in STOP_WORDS | UNIT_WORDS)


def _is_told(text: str, start: int, end: int) -> bool:
    """Whether a value is given as such, neither as a bound nor denied."""
    return not (bound(text, start, end) or is_range(text, start))


def bound(text: str, start: int, end: int) -> str:
    """What makes a bound of a value, or denies it."""
    before = text[max(0, start - _BEFORE_VALUE_CHARS) : start]
    found = (_BOUND.search(before), _DENIED.search(before), _BOUND_AFTER.match(text, end))
    return next((match.group().split()[0].casefold() for match in found if match), "")


def is_range(text: str, start: int) -> bool:
    """Whether it is one end of a range."""
    return bool(_RANGE.search(text[max(0, start - _BEFORE_VALUE_CHARS) : start]))


def denies(side: StatementView) -> bool:
    """A denial that is denied is none."""
    return sum(mark.denies for mark in side.statement.marks) % 2 == 1
