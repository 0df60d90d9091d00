"""Which asked terms a word of a text speaks of: by its stem, as what it is short for, as the plural of a name, and in
languages that write compounds in one word by what it begins or ends with. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.evidence import unspaced
from deep_research.evidence.language import WORD, Vocabulary, in_lower_case
from deep_research.evidence.words import Known
from deep_research.patterns import regex

LEAST = 5  # letters of a word that stands in a compound: shorter ones stand in too many by chance
SHORTEST_STEM = 4  # of such a word where it ends the compound, and is what the whole is a kind of
REST = 3  # letters that are left of a compound without it
_IDENTIFIER = regex(r"\b[a-z]+[A-Z]\w*")
_SEAM = regex(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_KNOWN = 200_000
_VOWELS = frozenset("aeiouy")
_NONE: frozenset[str] = frozenset()


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
        self._known = Known(self._of_word, most=_MOST_KNOWN)
        if words.compounds:
            written = {words.stem(word): len(word) for word in _words_of(text)}
            parts = (term for term in sorted(terms) if written.get(term, len(term)) >= LEAST)
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
            found.update(self.among(filter(None, (word.replace("_", ""), *word.split("_")))))
        if len(word) >= LEAST and word.isalpha():
            found.update(term for term in self._parts if _is_compound(stem, term))
            found.update(term for term in self._wholes if _is_compound(term, stem, ends=True))
        return frozenset(found)


def identifiers(text: str) -> dict[str, str]:
    """The words whose pieces begin with capitals, in lower case, each as it is with "_" between them: "tabWidth"."""
    return {in_lower_case(word): in_lower_case(_SEAM.sub("_", word)) for word in _IDENTIFIER.findall(text)}


def _words_of(text: str) -> list[str]:
    joined = identifiers(text)
    found = unspaced.found_words(in_lower_case(text), WORD)
    return [joined.get(word, word) for word in found] if joined else found


def _is_compound(whole: str, part: str, *, ends: bool = False) -> bool:
    """Whether one stem is a compound with another, which ends it, or begins it unless it has to be its end."""
    if len(whole) - len(part) < REST or len(part) < SHORTEST_STEM:
        return False
    return whole.endswith(part) or (not ends and len(part) >= LEAST and whole.startswith(part))
