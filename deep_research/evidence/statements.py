"""A sentence as what can be set against another. Pure.

It is its words that tell something, its numbers, names and dates, and the small words that turn, weaken or strengthen
what comes after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache

from deep_research.evidence.language import ENGLISH
from deep_research.evidence.plain import unjoined
from deep_research.evidence.units import unit_name
from deep_research.evidence.vocabulary import in_lower_case, vocabulary
from deep_research.evidence.words import STOP_WORDS, Known, folded, stem
from deep_research.patterns import regex

_SPACELESS = (
    "\u3041-\u30ff\u3400-\u9fff\u0e00-\u0e7f"  # scripts that part no words: each character is a token
)
_TOKEN = regex(
    r"\d+(?:[.,]\d+)*(?:st|nd|rd|th)?(?![^\W_])"
    rf"|[%$€£°]|[{_SPACELESS}]|(?:[^\W\d_]\.){{2,}}|[^\W_{_SPACELESS}]+(?:['’]\w+)*"
)
_LOWER = regex(r"(?<!\w)[^\W\d_A-ZÀ-Þ][^\W\d_]*")
GROUPED = regex(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_SIGNS = {"%": "percent", "$": "dollars", "€": "euros", "£": "pounds", "°": "degrees"}
_SYMBOL = regex(r"[A-Z]\w*[A-Z\d]|\w+\d\w*")  # an abbreviation or an identifier, whatever stands around it
_OPENS = regex(r"(?:\A|[.!?:|*#>\n])[\s\"“«(*_-]*\Z")
_LOOK_BACK = 4  # characters in which a mark stands after which a capital says nothing
_JOINING = frozenset((" ", "-", "", "\u00a0"))
_NO_KEY = frozenset(("",))  # of what tells nothing
_YEARS = (1000, 2100)
_DIGITS_OF_A_YEAR = 4
_LAST_DAY = 31
_SHORT_MONTH = 3  # letters of its abbreviation
_MOST_KNOWN = 200_000


class Kind(Enum):
    """What a token is compared as."""

    WORD = auto()
    NAME = auto()
    NUMBER = auto()
    DATE = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A word that tells something, or a number: what it is compared by, and how it is written, in lower case but for
    names. ``value`` is that of a number. ``opens`` is a name by a capital that may only open its sentence; ``joined``
    says that no more than a space or hyphen parts it from the token before."""

    key: str
    word: str
    kind: Kind
    value: float | None = None
    opens: bool = False
    joined: bool = False

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
        self._keys: Mapping[str, str] = Known(self._key, most=_MOST_KNOWN)

    def tells(self, key: str) -> bool:
        """Whether texts are filed by what has this key; a small word with a capital is compared and not filed."""
        return key not in self._function

    def keys(self, text: str) -> frozenset[str]:
        """What the words and numbers of a text are compared by, each once; a quicker look than `read`."""
        return self._all(_TOKEN.findall(in_lower_case(unjoined(text))))

    def plain(self, text: str) -> frozenset[str]:
        """The keys of the words that a text writes in lower case: a capital on one of them names nothing."""
        return self._all(_LOWER.findall(text))

    def _all(self, words: Iterable[str]) -> frozenset[str]:
        return frozenset(map(self._keys.__getitem__, set(words))) - _NO_KEY

    def read(self, text: str, is_plain: Callable[[str], bool] = lambda _: False) -> Statement:
        """What is compared of a sentence. ``is_plain`` says of a key whether its word is no name where it opens it."""
        text = unjoined(text)
        tokens: list[Token] = []
        marks: list[Mark] = []
        end = -1  # of the last token
        for match in _TOKEN.finditer(text):
            written = match.group()
            word = written.casefold()
            opens = bool(_OPENS.search(text, max(0, match.start() - _LOOK_BACK), match.start()))
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
        return Statement(text, _settled(tokens), tuple(marks))

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
    short = Counter(month[:_SHORT_MONTH] for month in months)
    known = {
        m[:_SHORT_MONTH]: m for m in months if short[m[:_SHORT_MONTH]] == 1 and len(m) > _SHORT_MONTH + 1
    }
    return {**known, **{month: month for month in months}}


@cache
def reader(language: str) -> Reader:
    """That of a language, or the English one where it has no table of words."""
    return Reader(language)


def value_of(number: str) -> float | None:
    """Of "1,031", "2.5", "57" or "57th"; commas group by three, and else stand for a point."""
    number = number.rstrip("sthndr")
    plain = number.replace(",", "") if GROUPED.fullmatch(number) else number.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None  # "1.2.3"


def _settled(tokens: list[Token]) -> tuple[Token, ...]:
    """The tokens of a whole sentence: years and days are dates, and a capital before another opens a name."""
    return tuple(
        _beside(token, before, after)
        for token, before, after in zip(tokens, [None, *tokens], [*tokens[1:], None], strict=False)
    )


def _beside(token: Token, before: Token | None, after: Token | None) -> Token:
    if token.kind is Kind.NUMBER and _is_date(token, (before, after)):
        return replace(token, kind=Kind.DATE)
    if token.opens and after is not None and after.joined and after.kind is Kind.NAME:
        return replace(token, opens=False)
    return token


def _is_date(token: Token, beside: Iterable[Token | None]) -> bool:
    """A year by its four digits, a day by the month beside it."""
    value = token.value or 0.0
    if token.word.isdigit() and len(token.word) == _DIGITS_OF_A_YEAR and _YEARS[0] <= value < _YEARS[1]:
        return True
    return value <= _LAST_DAY and any(other is not None and other.is_month for other in beside)
