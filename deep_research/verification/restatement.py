"""Restatement: whether a statement repeats a sentence, with the same words in the same order. Pure.

What may differ is the form of a word, a small word, the unit of a value, the place of a clause that a conjunction or
preposition opens, and the subject, which may stand in the sentence before. A whole clause of the sentence may be left
out, unless it turns what it stands beside ("if", "only", "nobody believes that").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby, islice

from deep_research.patterns import regex
from deep_research.provenance.alignment import small_words
from deep_research.text.language import Vocabulary, vocabularies
from deep_research.text.sentences import ASKING_MARKS
from deep_research.text.statements import Reader, reader
from deep_research.text.units import measured

_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)*+(?:[.,]\d+)*+|[%$€£°]")
_BREAK = regex(r"[,;:()\[\]–—|\"“”«»]|[.!?](?=\s)|(?<=\s)-(?=\s)")
_APART = frozenset(".!?;()[]–—")  # marks behind which a sentence may say something of its own
_CURRENCY = regex(r"([$€£])\s?(\d[\d.,]*(?<=\d))")
_JOINT = regex(r"(?:[;:]|\s…|,\s+(?P<word>[^\W\d_]+))\s+")
_BRACKETS = regex(r"\((?:[^()]{0,60}\d[^()]{0,60}|[A-Z][A-Z\d-]{1,11})\)")
_CLOSING = " \t\n\"'“”’)»"
_OF = frozenset(("of", "von", "de"))
_NOTHING = frozenset[str]()
_NOT = "not"
MAX_SENTENCE_WORDS = 250  # of a sentence; none has more
MAX_SUBJECT_WORDS = 8  # words of a subject that is taken from the sentence before
LONG_WORDS = 6  # words of a statement that stands in a sentence as it is
MAX_CUTS = 6  # places at which a statement is cut into two clauses


@dataclass(frozen=True, slots=True)
class Word:
    """A ``word`` that is not small, in lower case: its ``key``, the prepositions and passive verbs ``before`` it, the
    last ``mark`` before it (a comma, a bracket), whether it is a conjunction (``joins``), which may be missing, and
    whether it begins the content of what somebody says or finds ("that")."""

    word: str
    key: str
    before: frozenset[str]
    mark: str
    joins: bool
    is_content: bool = False

    @property
    def breaks(self) -> bool:
        return bool(self.mark)


Words = tuple[Word, ...]


class Restatement:
    """Compares sentences of one language, which a ``reader`` reads; where this is not ``exact`` whatever they say of how
    sure they are."""

    def __init__(self, reader: Reader, language: str, *, exact: bool = True) -> None:
        self._reader = reader
        words: Vocabulary = reader.vocabulary
        marks = words.marks
        small = small_words().get(language, words.function - marks.denying - marks.hedging - marks.certain)
        self._small = small - marks.joining - marks.clauses
        if not exact:
            self._small |= marks.hedging | marks.certain
        is_known = language in vocabularies()
        self._roles = marks.roles if is_known else self._small
        self._passive = marks.passive if is_known else {}
        self._forms = frozenset(self._passive.values())
        self._months = {reader.key(month) for month in marks.months}
        self._joining = marks.joining
        self._clauses = marks.clauses | marks.joining
        self._stating = marks.stating
        self._opening = words.leaning | words.pointing | self._clauses
        self._weighing = marks.denying | marks.hedging | {_NOT}
        self._turning = (
            (words.function | self._weighing | marks.certain | marks.framing)
            - self._small
            - self._opening
            - marks.units
        )
        self._disowning = marks.framing
        self._framing = marks.framing | marks.denying | {_NOT}
        self._leaning = words.leaning
        self.words: Callable[[str], Words] = lru_cache(maxsize=4096)(self._words)

    def parts(self, statement: str) -> Iterator[tuple[str, str]]:
        """The two halves of a statement that joins two sentences, for each place at which it may do so."""
        for match in islice(_JOINT.finditer(statement), MAX_CUTS):
            joint = (match["word"] or "").casefold()
            if not joint or joint in self._joining:
                yield statement[: match.start()], statement[match.end() :]

    def holds(
        self, statement: str, sentence: str, before: str = "", context: frozenset[str] = frozenset()
    ) -> bool:
        """Whether a statement restates a sentence. It may have keys of the ``context`` besides (title and headings), and
        of the subject of the sentence ``before``, where the sentence opens with a word that points back. A question says
        nothing."""
        if (
            sentence.rstrip(_CLOSING)[-1:] in ASKING_MARKS
            and statement.rstrip(_CLOSING)[-1:] not in ASKING_MARKS
        ):
            return False
        return any(
            self._holds(statement, read, before, context)
            for read in dict.fromkeys((sentence, self._without_brackets(sentence)))
        )

    def _holds(self, statement: str, sentence: str, before: str, context: frozenset[str]) -> bool:
        claimed, found = _with_values(
            self.words(statement), self.words(sentence), statement, sentence, self._reader
        )
        if not claimed or not found or len(found) > MAX_SENTENCE_WORDS:
            return False
        context |= self._subject_of(sentence, before)
        return any(self._aligns(order, found, context) for order in self._orders(claimed)) or any(
            self._aligns(claimed[n:], found, context, whole=True) for n in self._subjects(claimed, context)
        )

    def _without_brackets(self, sentence: str) -> str:
        """Without the figures and short forms that stand in brackets: other words may restrict what is said."""
        return _BRACKETS.sub(" ", sentence)

    def _words(self, text: str) -> Words:
        found: list[Word] = []
        before: set[str] = set()
        end, mark, is_content = 0, "", False
        text = _CURRENCY.sub(r"\2 \1", self._reader.with_figures(text))
        for match in _WORD.finditer(text):
            mark = "".join(_BREAK.findall(text, end, match.start()))[-1:].strip() or mark
            end = match.end()
            for word in _parts(match.group().casefold()):
                if word in self._passive:
                    before.add(self._passive[word])
                elif word in self._small:
                    before |= {word} & self._roles
                    is_content |= word in self._stating
                else:
                    joins = word in self._joining
                    found.append(
                        Word(word, self._reader.key(word), frozenset(before), mark, joins, is_content)
                    )
                    before, mark, is_content = set(), "", False
        return tuple(self._with_dates(found))

    def _with_dates(self, words: Sequence[Word]) -> Iterator[Word]:
        """The words with the parts of each date in one order, whatever theirs was."""
        for (is_date, _), run in groupby(words, self._dated()):
            parts = list(run)
            if is_date and any(part.key in self._months for part in parts):
                first = parts[0]
                parts = [
                    replace(part, before=_NOTHING, mark="") for part in sorted(parts, key=lambda one: one.key)
                ]
                parts[0] = replace(parts[0], before=first.before, mark=first.mark)
            yield from parts

    def _dated(self) -> Callable[[Word], tuple[bool, int]]:
        """Whether a word is of a date, and of the how many-th: another one begins behind a preposition."""
        number = 0

        def of(word: Word) -> tuple[bool, int]:
            nonlocal number
            is_date = self._is_date(word)
            number += not is_date or not (word.before & self._roles).isdisjoint(self._roles - _OF)
            return is_date, number if is_date else 0

        return of

    def _is_date(self, word: Word) -> bool:
        return word.key in self._months or word.key.startswith("#")

    def _subjects(self, claimed: Words, context: frozenset[str]) -> Iterator[int]:
        """How many words at the beginning of a statement only name what the sentence stands under or points back to."""
        for n, word in enumerate(claimed[: min(MAX_SUBJECT_WORDS, len(claimed) - 1)], start=1):
            if word.key not in context or self._is_date(word):
                return
            yield n

    def _subject_of(self, sentence: str, before: str) -> frozenset[str]:
        """The keys of what the sentence ``before`` speaks of, where the sentence points back to it: up to its verb."""
        first = _WORD.search(sentence)
        if not before or first is None or first.group().casefold() not in self._leaning:
            return _NOTHING
        words = self.words(before)[:MAX_SUBJECT_WORDS]
        verb = next((n for n, word in enumerate(words) if n and not word.before.isdisjoint(self._forms)), 2)
        return frozenset(word.key for word in words[:verb])

    def _orders(self, claimed: Words) -> Iterator[Words]:
        """The statement as it stands; with two phrases that follow one another exchanged, where prepositions open both;
        and with its clauses the other way round where a conjunction or preposition opens one of them."""
        yield claimed
        led = [n for n, word in enumerate(claimed) if n and word.before & self._roles][:MAX_CUTS]
        for one, other, end in triples([*led, len(claimed)]):
            yield (*claimed[:one], *claimed[other:end], *claimed[one:other], *claimed[end:])
        leads = self._opens(claimed[0])
        cuts = (n for n, word in enumerate(claimed) if n and (leads or word.breaks or self._opens(word)))
        for n in islice(cuts, MAX_CUTS):
            if leads or self._opens(claimed[n]):
                first, second = claimed[:n], claimed[n:]
                yield (replace(second[0], mark=","), *second[1:], replace(first[0], mark=","), *first[1:])

    def _opens(self, word: Word) -> bool:
        return word.word in self._clauses or bool(word.before - self._forms) or word.word in self._turning

    def _aligns(self, claimed: Words, found: Words, context: frozenset[str], *, whole: bool = False) -> bool:
        """Whether all words of a statement follow one another in a sentence; ``whole``: from its first word on."""
        starts = range(1 if whole else len(found))
        return any(
            found[at].key == claimed[0].key
            and found[at].before == claimed[0].before
            and (
                (self._may_begin(found, at) and self._follows(claimed, found, at, context))
                or self._stands(claimed, found, at)
            )
            for at in starts
        )

    def _stands(self, claimed: Words, found: Words, at: int) -> bool:
        """Whether the very words of a statement stand there. A long one may leave out what stands beside it, but for
        whose view it is and what turns it in its own clause."""
        end = at + len(claimed)
        if (
            len(claimed) < LONG_WORDS
            or len(found) < end
            or any(
                (one.key, one.before) != (other.key, other.before)
                for one, other in zip(claimed, found[at:end], strict=True)
            )
        ):
            return False
        own = next((n for n in range(at, 0, -1) if found[n].breaks), 0)
        apart = found[own].mark in _APART
        beside = own if apart else next((n for n in range(own - 1, 0, -1) if found[n].breaks), 0)
        rest = self._clause(found, end)
        return self._is_apart(found[own : at + 1]) and not (
            any(word.word in self._framing for word in (*found[beside:at], *rest[:1]))
            or any(word.word in self._disowning for word in found[end:])
            or any(word.word in self._turning for word in found[own:at])
            or (
                rest and not (rest[0].breaks or rest[0].word in self._clauses or rest[0].before & self._roles)
            )
        )

    def _is_apart(self, words: Words) -> bool:
        """Whether the last of some words begins what holds without the others: these are a time or letters of a list, or
        end in a conjunction or "that". Others may say of what it holds ("motor boats", "in dry summers boats")."""
        *others, last = words
        return (
            last.is_content
            or all(len(one.word) == 1 or one.key in self._months or one.key[0] == "#" for one in others)
            or others[-1].word in self._clauses
        )

    def _may_begin(self, found: Words, at: int) -> bool:
        if at == 0:
            return True
        joined = found[at - 1].joins and not found[at].breaks
        apart = max((n for n in range(at + 1) if found[n].mark in _APART), default=0)
        out = found[apart : at - joined]
        barring = self._framing if joined else self._turning
        restricts = not joined and self._restricts(out)
        return found[at - joined].breaks and not restricts and not any(word.word in barring for word in out)

    def _restricts(self, words: Words) -> bool:
        """Whether a clause that is left out may say of what, or under which condition, the rest holds: a preposition
        opens it, and no date follows."""
        return bool(words and words[0].before & self._roles) and not all(map(self._is_date, words))

    def _follows(self, claimed: Words, found: Words, at: int, context: frozenset[str]) -> bool:
        i, j = 1, at + 1
        while i < len(claimed):
            one = claimed[i]
            if j < len(found) and one.key == found[j].key and (one.joins or one.before == found[j].before):
                i, j = i + 1, j + 1
            elif one.joins and i + 1 < len(claimed):
                i += 1
            elif j < len(found) and found[j].joins and j + 1 < len(found) and found[j + 1].key == one.key:
                j += 1
            elif (after := self._skipped(one, found, j)) is not None:
                i, j = i + 1, after + 1
            elif self._names_subject(claimed, i, context):
                i += 1
            else:
                return False
        return self._may_end(found, j, at)

    def _names_subject(self, claimed: Words, at: int, context: frozenset[str]) -> bool:
        """Whether a word says no more than of what the subject is, before the verb: "the tower of the Orm lighthouse"."""
        if at + 1 >= len(claimed) or any(
            not word.before.isdisjoint(self._forms) for word in claimed[1 : at + 1]
        ):
            return False
        verb = any(not word.before.isdisjoint(self._forms) for word in claimed[at + 1 :])
        led = claimed[at].before or claimed[at - 1].key in context
        return bool(verb and led) and claimed[at].key in context and not self._is_date(claimed[at])

    def _skipped(self, word: Word, found: Words, at: int) -> int | None:
        """Where a word stands behind a clause of the sentence that is left out."""
        for n in range(at + 1, len(found)):
            if found[n].key != word.key:
                continue
            out = found[at:n]
            beside = out[0].breaks and found[n].breaks and not any(w.word in self._turning for w in out)
            beside = beside and not self._restricts(out)
            goes_on = out[-1].breaks or not found[n].before.isdisjoint(self._forms)
            joined = out[-1].joins and goes_on and not any(w.word in self._weighing for w in out)
            return n if beside or joined else None
        return None

    def _may_end(self, found: Words, at: int, start: int) -> bool:
        """Whether what a sentence says from ``start`` on may end before the word at a place."""
        if at >= len(found):
            return True
        opens = found[at].breaks or found[at].word in self._clauses
        if found[at].joins and not found[at].breaks:  # what follows may be a part of the same phrase
            told = found[start:at]
            opens = any(not word.before.isdisjoint(self._forms) for word in told[1:]) and not any(
                word.word in self._weighing for word in told
            )
        return (
            opens
            and found[at].word not in self._turning
            and not self._restricts(self._clause(found, at))
            and not any(word.word in self._disowning for word in found[at:])
        )

    @staticmethod
    def _clause(found: Words, at: int) -> Words:
        """The words of a sentence from one on, up to the next mark."""
        end = next((n for n in range(at + 1, len(found)) if found[n].breaks), len(found))
        return found[at:end]


def triples(places: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Each three places that follow one another."""
    return zip(places, places[1:], places[2:], strict=False)


@cache
def restatement(language: str, *, exact: bool = True) -> Restatement:
    return Restatement(reader(language), language, exact=exact)


def _parts(word: str) -> Sequence[str]:
    """A denial apart from the verb that it is written with."""
    if word == "cannot":
        return ("can", _NOT)
    if word.endswith("n't"):
        return ({"ca": "can", "wo": "will", "sha": "shall"}.get(word[:-3], word[:-3]), _NOT)
    return (word.removesuffix("'s"),)


def _with_values(
    claimed: Words, found: Words, statement: str, sentence: str, reader: Reader
) -> tuple[Words, Words]:
    """Both with one key for each value that they give in different units."""
    ours, theirs = list(measured(statement)), list(measured(sentence))
    for number, one in enumerate(ours):
        other = next((q for q in theirs if one.agrees(q)), None)
        if other is not None and not any((q.value, q.unit) == (one.value, one.unit) for q in theirs):
            claimed = _valued(claimed, one.value, reader.keys(one.unit), number)
            found = _valued(found, other.value, reader.keys(other.unit), number)
    return claimed, found


def _valued(words: Words, value: float, units: frozenset[str], number: int) -> Words:
    """The words with a value and its unit as one word."""
    key = f"#{value:.12g}"
    places = [n for n, word in enumerate(words) if word.key == key]
    if not places:
        return words
    at = places[0]
    end = at + 1 + (len(words) > at + 1 and words[at + 1].key in units)
    return (*words[:at], replace(words[at], key=f"={number}"), *words[end:])
