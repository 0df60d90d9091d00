"""Tokenising, stemming, and the terms of a question. A word matches a term by its stem, as its abbreviation, as the
plural of a name, as a piece of an identifier or, in languages that write compounds in one word, by how it begins or
ends. Pure."""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TypeVar

from deep_research.patterns import regex
from deep_research.text import unspaced
from deep_research.text.language import LANGUAGES, Vocabulary, in_lower_case, stemmed
from deep_research.text.language import WORD as TERM  # without apostrophes and joiners
from deep_research.text.plain import unjoined

WORD = regex(r"\w+(?:['’\u200c\u200d]\w+)*")  # joiners stand within words
_MARKUP = regex(r"</?[A-Za-z!][^>]{0,200}>|\b(?:https?|ftp)://\S+|[*_`#\[\]()]{2,}")
ASKING_WEIGHT = 0.25  # of a word that only asks
NAME_WEIGHT = 2.0  # of a name or number in a question, against 1 of another word
# The letters that are no capitals, for a set of a pattern: those that have one, and those of scripts that have none.
NO_CAPITALS = "".join(
    (
        "a-zß-ÿ",
        *filter(str.islower, map(chr, (*range(0x100, 0x590), *range(0x1E00, 0x2000)))),
        "\u0590-\u109f\u10d0-\u1c8f\u2d00-\ua63f\ua800-\uff20\uff41-\uffff\U00010000-\U0010ffff",
    )
)
_MAX_CACHED = 200_000
_Said = TypeVar("_Said")
MIN_COMPOUND_PART_CHARS = (
    5  # letters of a word that stands in a compound: shorter ones stand in too many by chance
)
_MIN_STEM_CHARS = 4  # of such a word where it ends the compound, and is what the whole is a kind of
_MIN_REST_CHARS = 3  # letters that are left of a compound without it
_VOWELS = frozenset("aeiouy")
_IDENTIFIER = regex(r"(?<![^\W_])[a-z][a-z0-9]*[A-Z][^\W_]*(?:_[^\W_]+)*")
_SEAM = regex(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NONE: frozenset[str] = frozenset()


def each_word(text: str) -> frozenset[str]:
    """The words of a list that is written in one string."""
    return frozenset(text.split())


STOP_WORDS = each_word(
    """a about above after again against all also am an and any are as at be because been before being below
        between both but by can could did do does doing done down during each either few for from further get
        gets give given had has have having he her here hers him his how however i if in into is it its itself
        just many may me might more most much must my near no nor not of off on once one only or other our out
        over own per please same shall she should since so some such tell than that the their theirs them then
        there these they this those through to too under until up upon us use used using very via was we were
        what when where whether which while who whom whose why will with within without would yet you your"""
)
NEGATIONS = each_word(
    "not no nobody never none neither nor without cannot can't didn't doesn't isn't wasn't won't"
)
# Words that say what kind of answer is wanted, not what it is about.
ASKING_WORDS = each_word(
    """answer compare compared comparison concern concerned concerning concerns describe difference explain
        found happen happened happens kind kinds long man many mean missing name named names number people
        person place purpose reason regarding relate related relates several sort thing things times type types
        way ways woman work works year years advantage advantages disadvantage disadvantages pros cons
        benefits drawback drawbacks"""
)


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


_FOLDED = Known(folded, most=_MAX_CACHED)


@cache
def _forms() -> Mapping[str, str]:
    """Forms and near-synonyms that a stemmer does not bring together, each with the one that stands for it."""
    table = tomllib.loads(LANGUAGES.read_text(encoding="utf-8"))["en"]
    return {word: row.split()[0] for row in table["forms"]["rows"] for word in row.split()}


def _stem(word: str) -> str:
    lower = word.casefold()
    if lower.endswith(("'s", "’s")):
        lower = lower[:-2]
    lower = _forms().get(lower, lower)
    return stemmed("english", lower if lower.isascii() else folded(lower))


# The stem of one word, in any case; a possessive ending is dropped, and irregular forms and near-synonyms become one.
stem = Known(_stem, most=_MAX_CACHED).__getitem__


@cache
def _openings() -> dict[str, frozenset[str]]:
    """For each stem of a row, what its words may begin with."""
    found: dict[str, set[str]] = {}
    for word in _forms():
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
        return self._among(distinct_words(text))

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
    found = frozenset(words(text.lower().replace("i\u0307", "i")))  # of a capital I with a dot
    return found if text.isascii() else frozenset(w if w.isascii() else _FOLDED[w] for w in found)


def words(text: str) -> list[str]:
    """The words of a text; of scripts without spaces the pairs of characters that words are looked for by."""
    return unspaced.found_words(text, WORD)


def unmarked(question: str) -> str:
    """A question without markup and addresses that came along with it."""
    return _MARKUP.sub(" ", question)


def content_words(text: str, *, whole: bool = False) -> list[str]:
    """The words that carry meaning, pieces of one or two small letters aside, as in "re-erected"; all words if none
    does. ``whole``: what a script without spaces writes in one piece is one word."""
    every = WORD.findall(unmarked(text)) if whole else words(unmarked(text))
    meant = [w for w in every if w.casefold() not in STOP_WORDS]
    return [w for w in meant if len(w) > 2 or not (w.isalpha() and w.islower())] or meant or every


def stems_of(text: str) -> set[str]:
    """The stems of all words of a text."""
    return {stem(word) for word in words(text)}


def content_stems(text: str) -> list[str]:
    """Stems of the content words, in order, repeats kept."""
    return [stem(w) for w in content_words(text)]


def denies(text: str) -> bool:
    """Whether a text has a word that denies."""
    return any(word.casefold() in NEGATIONS for word in words(text))


def is_name_like(word: str) -> bool:
    """Whether a word of a question looks like a name or a number: such words decide what it is about."""
    return word[:1].isupper() or word[:1].isdigit()


def question_terms(question: str) -> dict[str, float]:
    """The stems a question asks for, with how much each matters: names and numbers count double, words that only ask
    little. The first word is capitalised by rule, not by meaning."""
    return dict(_question_terms(question))


@lru_cache(maxsize=256)  # of a run's few questions this is asked hundreds of times
def _question_terms(question: str) -> Mapping[str, float]:
    weights: dict[str, float] = {}
    first = next(iter(words(unmarked(question))), "")
    for word in content_words(question):
        named = is_name_like(word) and (word != first or word[:1].isdigit())
        weight = ASKING_WEIGHT if word.casefold() in ASKING_WORDS else NAME_WEIGHT if named else 1.0
        key = stem(word)
        weights[key] = max(weight, weights.get(key, 0.0))
    return weights


class AskedWords:
    """Some asked terms, some of which are ``names``, as ``text`` writes them. ``spoken`` are the words in lower case of
    the texts that are looked at: only where none of them is a term itself does the end of that term stand for it, as "the
    card" does for a "library card"."""

    def __init__(
        self,
        terms: frozenset[str],
        names: frozenset[str],
        words: Vocabulary,
        text: str,
        spoken: Iterable[Iterable[str]] = (),
    ) -> None:
        self._terms, self._words = terms, words
        self._plurals = {f"{name}s": name for name in names if name.isalpha()}
        # What has no vowel is an acronym: "CDs", and not "iOS".
        acronyms = (name for name in names if name.endswith("s") and _VOWELS.isdisjoint(name))
        self._plurals |= {name[:-1]: name for name in acronyms}
        self._openings = {term[:2] for term in (*terms, *self._plurals)}
        self._parts: tuple[str, ...] = ()  # that may stand in a compound
        self._wholes: tuple[str, ...] = ()  # for which their ends may stand
        self._known = Known(self._of_word, most=_MAX_CACHED)
        if words.compounds:
            written = {words.stem(word): len(word) for word in _words_of(text)}
            parts = (
                term for term in sorted(terms) if written.get(term, len(term)) >= MIN_COMPOUND_PART_CHARS
            )
            self._parts = tuple(filter(str.isalpha, parts))
            held = _NONE.union(*map(self.among, spoken))
            self._known.clear()
            self._wholes = tuple(term for term in self._parts if term not in held)

    def of_word(self, word: str) -> frozenset[str]:
        """The terms that a word in lower case speaks of."""
        return self._known[word]

    def among(self, words: Iterable[str]) -> frozenset[str]:
        return _NONE.union(*map(self._known.__getitem__, words))

    def of(self, text: str) -> frozenset[str]:
        """Those that a text speaks of, pairs of characters among them."""
        return self.among(self._telling(text))

    def share(self, text: str) -> float:
        """The share (0 to 1) of the words of a text that tell something which speak of a term; its number is none."""
        asked = [(word, bool(self.of_word(word))) for word in self._telling(text)]
        told = [is_asked for word, is_asked in asked if is_asked or not word.isdigit()]
        return sum(told) / len(told) if told else 0.0

    def _telling(self, text: str) -> list[str]:
        return [word for word in _words_of(text) if word not in self._words.function]

    def _of_word(self, word: str) -> frozenset[str]:
        # Stemming changes the end of a word: one that begins otherwise is no form of a term.
        is_near = (
            word[:2] in self._openings or not word[:2].isascii() or word in self._words.short or "_" in word
        )
        if not is_near and not self._parts:
            return _NONE
        stem = self._words.stem(in_lower_case(word))
        found = {
            term for term in (stem, self._plurals.get(stem), self._plurals.get(word)) if term in self._terms
        }
        if "_" in word:  # an identifier speaks of what its pieces do: "deposit_eur"
            pieces = (piece for piece in word.split("_") if len(piece) > 1)  # a letter says nothing: "dB"
            found.update(self.among((word.replace("_", ""), *pieces)))
        if len(word) >= MIN_COMPOUND_PART_CHARS and word.isalpha():
            found.update(term for term in self._parts if _is_compound(stem, term))
            found.update(term for term in self._wholes if _is_compound(term, stem, ends=True))
        return frozenset(found)


def identifiers(text: str) -> dict[str, str]:
    """The words whose pieces begin with capitals, in lower case, each as it is with "_" between them: "tabWidth"."""
    return {in_lower_case(word): in_lower_case(_SEAM.sub("_", word)) for word in _IDENTIFIER.findall(text)}


def _words_of(text: str) -> list[str]:
    joined = identifiers(text)
    found = unspaced.found_words(in_lower_case(text), TERM)
    return [joined.get(word, word) for word in found] if joined else found


def _is_compound(whole: str, part: str, *, ends: bool = False) -> bool:
    """Whether one stem is a compound with another, which ends it, or begins it unless it has to be its end."""
    if len(whole) - len(part) < _MIN_REST_CHARS or len(part) < _MIN_STEM_CHARS:
        return False
    return whole.endswith(part) or (
        not ends and len(part) >= MIN_COMPOUND_PART_CHARS and whole.startswith(part)
    )
