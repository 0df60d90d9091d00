"""Words, stems and weights: the small change of all text work. Pure."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import TypeVar

from deep_research.evidence.plain import unjoined
from deep_research.evidence.stemming import stemmed

WORD = re.compile(r"\w+(?:['’\u200c\u200d]\w+)*")  # joiners stand within words
_MARKUP = re.compile(r"</?[A-Za-z!][^>]{0,200}>|\b(?:https?|ftp)://\S+|[*_`#\[\]()]{2,}")
STOP_WORDS = frozenset(
    WORD.findall(
        """a about above after again against all also am an and any are as at be because been before being below
        between both but by can could did do does doing done down during each either few for from further get
        gets give given had has have having he her here hers him his how however i if in into is it its itself
        just many may me might more most much must my near no nor not of off on once one only or other our out
        over own per please same shall she should since so some such tell than that the their theirs them then
        there these they this those through to too under until up upon us use used using very via was we were
        what when where whether which while who whom whose why will with within without would yet you your"""
    )
)
NEGATIONS = frozenset(
    WORD.findall(
        "not no nobody never none neither nor without cannot can't didn't doesn't isn't wasn't won't"
    )
)
# Words that say what kind of answer is wanted, not what it is about.
ASKING_WORDS = frozenset(
    WORD.findall(
        """answer compare compared comparison concern concerned concerning concerns describe difference explain
        found happen happened happens kind kinds long man many mean missing name named names number people
        person place purpose reason regarding relate related relates several sort thing things times type types
        way ways woman work works year years"""
    )
)
# Words that ask what speaks for something, and what against it.
_MERITS = frozenset(
    WORD.findall(
        """advantage advantages disadvantage disadvantages pros cons tradeoff tradeoffs benefits drawback drawbacks
        downside downsides upside upsides strengths weaknesses merits"""
    )
)
ASKING_WORDS |= _MERITS
# What a request may open with that only asks: "List the lamps".
_BIDDING = frozenset(WORD.findall("list enumerate give tell show state find"))
# "How did lamps change the harbour?", "What changed when …?": a text tells what is otherwise since then.
_ASKS_EFFECT = re.compile(
    r"\s*(?:how (?:did|does|do (?!i\b|we\b|you\b)|has|have)\b.{1,120}?\b(?:chang|affect|influenc|transform|impact)\w*"
    r"\s(?!(?:over|since|in|from|between|during|through|at|by|when|after)\b)[^\W\d_]"
    r"|what changed (?:when|after|with|once)\b|what (?:effect|impact|influence)s?\b)",
    re.IGNORECASE,
)
_EFFECT = frozenset(
    WORD.findall(
        "change changed changes affect affected affects influence influences influenced effect effects impact impacts"
        " transform transformed transforms"
    )
)
_TRADE_OFF = re.compile(r"\btrade[- ]off(s?)\b", re.IGNORECASE)
_IS_IT_TRUE = re.compile(r"\bis it (?:really )?(?:true|correct|right|so) that\b", re.IGNORECASE)
# What somebody does with numbers: "How many cases did Germany report?" is answered by a table of cases.
_COUNTING = frozenset(
    WORD.findall("report reported record recorded register registered count counted list listed")
)
# Forms and near-synonyms that a stemmer does not bring together. The first word stands for its row.
_ROWS = """
    build built builder builders building construct constructed construction erect erected
    height high tall taller tallest higher highest
    light lit lighted
    show shown
    win won winner
    lose lost
    write wrote written author
    begin began begun start started
    make made
    die died death dead drowned
    bear born birth
    design designed designer designers engineer engineers engineering architect architects
    cost costs price expense expenses
    vanish vanished disappear disappeared
    father son daughter parent
    invent invented inventor invention
    find found
    give gave given
    send sent sends sending
    take took taken
    rise rose risen
    fall fell fallen
    stand stood
    lens lenses
    default defaults
    argument arguments parameter parameters
    application applications app apps
    configuration config
    documentation docs
    directory directories folder folders
    distance distances far
    automatic automatically automation automated automate automates
    england english
    scotland scottish
    wales welsh
    ireland irish
    britain british
    france french
    germany german
    italy italian
    spain spanish
    portugal portuguese
    greece greek
    netherlands dutch
    belgium belgian
    sweden swedish
    norway norwegian
    denmark danish
    finland finnish
    iceland icelandic
    russia russian
    japan japanese
    egypt egyptian
    america american
    canada canadian
    australia australian
"""
_VARIANTS = {word: row.split()[0] for row in _ROWS.strip().splitlines() for word in row.split()}
ASKING_WEIGHT = 0.25  # of a word that only asks
NAME_WEIGHT = 2.0  # of a name or number in a question, against 1 of another word
# What programs call something: "asyncio.run", "int()", "max_size".
IDENTIFIER = re.compile(r"\b[a-z_]\w{2,}(?:\.\w+)+|\b[^\W\d]\w*\(\)|\b[^\W\d_]+(?:_\w+)+")
DECADE = re.compile(r"\b(?:1\d|20)\d0s\b")  # what happened in one is told by its year
_MAX_CACHED = 200_000
_LONG = 20_000  # characters of a text
_LOOKED_AT = 400  # characters of a question that say its kind


_Said = TypeVar("_Said")


class Known(dict[str, _Said]):
    """What was found of each word that was asked for. A dictionary answers twice as fast as a function with a cache,
    which counts where every word of a text is asked for."""

    def __init__(self, find: Callable[[str], _Said], *, most: int) -> None:
        self._find = find
        self._most = most

    def __missing__(self, word: str) -> _Said:
        if len(self) >= self._most:
            self.clear()
        self[word] = found = self._find(word)
        return found


def folded(text: str) -> str:
    """Lower case without accents and joiners, for matching only: offsets may differ from the original's."""
    plain = unicodedata.normalize("NFKD", unjoined(text.casefold()))
    return "".join(c for c in plain if not unicodedata.combining(c))


def _stem(word: str) -> str:
    lower = word.casefold()
    if lower.endswith(("'s", "’s")):
        lower = lower[:-2]
    lower = _VARIANTS.get(lower, lower)
    return stemmed("english", lower if lower.isascii() else folded(lower))


# The stem of one word, in any case; a possessive ending is dropped, and irregular forms and near-synonyms become one.
stem = Known(_stem, most=_MAX_CACHED).__getitem__


def variants(word: str) -> list[str]:
    """The word and all others known to stand for the same."""
    return [word, *_standing_for().get(stem(word), ())]


@cache
def _standing_for() -> dict[str, tuple[str, ...]]:
    """The words of the rows by what their stem is."""
    found: dict[str, list[str]] = {}
    for word in _VARIANTS:
        found.setdefault(stem(word), []).append(word)
    return {key: tuple(words) for key, words in found.items()}


@cache
def _openings() -> dict[str, frozenset[str]]:
    """For each stem of a row, what its words may begin with."""
    found: dict[str, set[str]] = {}
    for word in _VARIANTS:
        found.setdefault(stem(word), set()).add(word[:3])
    return {key: frozenset(openings) for key, openings in found.items()}


def beginning(stem: str) -> str:
    """What the words of a stem begin with, two or three letters: stemming changes the end and keeps what is before, but
    for a few as short as "tying"."""
    return stem[:3] if len(stem) > 3 else stem[:2]


class StemFinder:
    """Which of the wanted stems a text has. Stemming is slow, so only words that begin like a wanted stem are stemmed."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        rows = _openings()
        self._begin = {each for key in self._wanted for each in (beginning(key), *rows.get(key, ()))}
        self._letters = {each[:2] for each in self._begin}

    def __call__(self, text: str) -> set[str]:
        if len(text) > _LONG and text.isascii() and self._begin:
            return {stem(word) for word in self._word.findall(text.lower())} & self._wanted
        return self._among(distinct_words(text))

    @cached_property
    def _word(self) -> re.Pattern[str]:
        """The words with such a beginning. Making it takes as long as looking through a short text."""
        openings = "|".join(map(re.escape, sorted(self._begin)))
        return re.compile(rf"\b(?<!\w['’])(?:{openings})\w*(?:['’]\w+)*")

    def among(self, filed: Mapping[str, Sequence[str]]) -> set[str]:
        """The same for the words of a text by their first two letters, see `filed_words`."""
        return self._among(word for letters in self._letters for word in filed.get(letters, ()))

    def _among(self, found: Iterable[str]) -> set[str]:
        begin = self._begin
        return {stem(word) for word in found if word[:3] in begin or word[:2] in begin} & self._wanted


def filed_words(text: str) -> dict[str, list[str]]:
    """The `distinct_words` of a text by their first two letters: for a text in which stems are looked for many times."""
    filed: dict[str, list[str]] = {}
    for word in distinct_words(text):
        filed.setdefault(word[:2], []).append(word)
    return filed


def distinct_words(text: str) -> frozenset[str]:
    """The words of a text, folded, each once."""
    found = frozenset(WORD.findall(text.lower()))
    return found if text.isascii() else frozenset(w if w.isascii() else folded(w) for w in found)


def words(text: str) -> list[str]:
    return WORD.findall(text)


def asked_words(question: str) -> list[str]:
    """The words of a question; markup and addresses that came along with it are not asked about, nor whether it is true
    that something is so, but whether it is."""
    plain = _TRADE_OFF.sub(r"tradeoff\1", _MARKUP.sub(" ", question))
    return words(_IS_IT_TRUE.sub("is it", plain))


def content_words(text: str) -> list[str]:
    """The words that carry meaning; all words if none does."""
    every = asked_words(text)
    meant = [w for w in every if w.casefold() not in STOP_WORDS]
    about = _asked_by_letter(every)
    return [w for w in meant if w == about or not _is_scrap(w)] or meant or every


def _is_scrap(word: str) -> bool:
    """A piece of one or two small letters, as in "re-erected"; names and numbers of that length count."""
    return len(word) < 3 and word.isalpha() and word.islower()


def _asked_by_letter(every: Sequence[str]) -> str:
    """What a question is about that has a name like a scrap, as in "What is g?"; else empty."""
    asks = " ".join(every[:2]).casefold() in ("what is", "what are", "what was", "what does")
    about = every[2] if asks and len(every) > 2 else ""
    return about if about.casefold() not in STOP_WORDS and _is_scrap(about) else ""


def denies(text: str) -> bool:
    return any(word.casefold() in NEGATIONS for word in words(text))


def content_stems(text: str) -> list[str]:
    """Stems of the content words, in order, repeats kept."""
    return [stem(w) for w in content_words(text)]


def is_name_like(word: str) -> bool:
    """Whether a word of a question looks like a name or a number: such words decide what it is about."""
    return word[:1].isupper() or word[:1].isdigit()


def question_terms(question: str) -> dict[str, float]:
    """The stems a question asks for, with how much each matters: names and numbers count double. The first
    word is capitalised by rule, not by meaning."""
    return dict(_question_terms(question))


@lru_cache(maxsize=256)  # of a run's few questions this is asked hundreds of times
def _question_terms(question: str) -> Mapping[str, float]:
    weights: dict[str, float] = {}
    every = asked_words(question)
    counted = _asks_how_many(every)
    effect = asks_effect(question)
    about = _asked_by_letter(every)
    coded = {about} | {word for match in IDENTIFIER.finditer(question) for word in words(match.group())}
    for place, word in enumerate(every):
        if word.casefold() in STOP_WORDS or (_is_scrap(word) and word != about):
            continue
        named = is_name_like(word) and (place > 0 or word[:1].isdigit())
        weight = NAME_WEIGHT if named or word in coded else 1.0
        asks = (word.casefold() in ASKING_WORDS and not _is_state(every, place)) or (
            counted and word.casefold() in _COUNTING
        )
        asks = asks or (effect and word.casefold() in _EFFECT)
        asks = asks or (place == 0 and len(every) > 2 and word.casefold() in _BIDDING)
        if asks or _asks_age(every[max(0, place - 1) : place + 1]):
            weight = ASKING_WEIGHT
        key = stem(word)
        weights[key] = max(weight, weights.get(key, 0.0))
    return weights or {stem(w): 1.0 for w in every}


def _is_state(every: Sequence[str], place: int) -> bool:
    """Whether "missing" or "found" says how something is: "when the lamp is missing"."""
    before = every[place - 1].casefold() if place else ""
    return every[place].casefold() in ("missing", "found") and before in ("is", "are", "not", "was", "were")


def asks_merits(question: str) -> bool:
    """Whether it asks what speaks for something, or against it."""
    return any(word.casefold() in _MERITS for word in asked_words(question[:_LOOKED_AT]))


def asks_effect(question: str) -> bool:
    """Whether it asks what became of something through something else."""
    return _ASKS_EFFECT.match(question[:_LOOKED_AT]) is not None


def _asks_how_many(every: Sequence[str]) -> bool:
    return [word.casefold() for word in every[:2]] in (["how", "many"], ["how", "much"])


def _asks_age(pair: Sequence[str]) -> bool:
    """Whether two words are "how old": the answer tells a year, and calls nothing old."""
    return [word.casefold() for word in pair] == ["how", "old"]


RARITY_FLOOR = 0.5


def rarity(total: int, holding: int) -> float:
    """The weight, from `RARITY_FLOOR` to 2, of a term that ``holding`` of ``total`` texts have; 2 if none has it.

    The texts were found by searching for these very terms, so that what a question is about is in most of them:
    without the floor its subject would count for nothing.
    """
    scale = _inverse_frequency(total, holding) / _inverse_frequency(total, 0)
    return RARITY_FLOOR + (2.0 - RARITY_FLOOR) * scale


def _inverse_frequency(total: int, holding: int) -> float:
    return math.log(1.0 + (total - holding + 0.5) / (holding + 0.5))


def coverage(wanted: Mapping[str, float], present: Iterable[str]) -> float:
    """The share (0 to 1) of the wanted weight that is present."""
    total = sum(wanted.values())
    if not total:
        return 0.0
    held = set(present)
    return sum(weight for term, weight in wanted.items() if term in held) / total
