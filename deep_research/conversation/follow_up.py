"""A follow-up question as one that stands by itself, by rule: pronouns and omissions take a name of the last turns, a
correction and "What about …?" take the last question with another name. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

from deep_research.conversation.turn import Turn
from deep_research.evidence.inquiry import Inquiry, read_question
from deep_research.evidence.language import LANGUAGES
from deep_research.evidence.names import asked_names, key, runs
from deep_research.evidence.words import WORD
from deep_research.patterns import regex
from deep_research.state import Mention

MAX_TURNS_BACK = 10
MAX_ASKED_CHARS = 1_500  # of a follow-up; what is longer says what it means
MAX_QUESTION_CHARS = 1_000  # of an earlier question that are looked at
_WHO_IS = regex(r"(?i)^\W*who\s+(?:is|was|are|were)\s")
_POSSESSIVE = regex(r"['’]s?$")
_MEANT = regex(r"[:;]\s+(?=\w)")
_INSTEAD = regex(r"(?i),?\s+(?:and\s+)?not\s|,\s+sorry\b")
_APART = regex(r"[(),:;]")
_LEADING_WORDS = 6  # that a phrase has before its name


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question means in its conversation. ``points_back``: it cannot be understood alone; ``is_resolved``: what it
    points to was found."""

    question: str
    points_back: bool = False
    is_resolved: bool = True


@dataclass(frozen=True, slots=True)
class _Words:
    """How a language points back, see `languages.toml`."""

    person: frozenset[str]
    thing: frozenset[str]
    owning: frozenset[str]
    replaced: frozenset[str]
    existing: frozenset[str]
    standing: frozenset[str]
    article: frozenset[str]
    expletive: frozenset[str]
    subject: frozenset[str]
    definite: frozenset[str]
    belonging: frozenset[str]
    asking: tuple[str, ...]
    correcting: tuple[str, ...]
    meaning: tuple[str, ...]
    joining: tuple[str, ...]


def read_follow_up(text: str, turns: Sequence[Turn], known: Sequence[Mention] = ()) -> Reading:
    """A question as it is meant after the ``turns``, the oldest first. ``known`` are names in it that documents bear.

    Example:
        read_follow_up("And how tall is it?", turns).question  # "How tall is Cape Hatteras?"
    """
    asked = " ".join(text.split())
    if len(asked) > MAX_ASKED_CHARS:
        return Reading(text)
    recent = [
        turn.model_copy(update={"question": turn.question[:MAX_QUESTION_CHARS]})
        for turn in turns[-MAX_TURNS_BACK:]
    ]
    words = _words(read_question(asked).language)
    if words is None and recent:  # a few words and names may pass for any language
        words = _words(read_question(recent[-1].question).language)
    names = _names(asked, known, words)
    if words is not None and (cue := _correction(asked, words) or _opening(asked, words.correcting)):
        return _corrected(asked, cue, names, recent, words)
    cue = _opening(asked, words.asking) if words is not None else ""
    if _is_elliptical(asked, cue, names, known, words):
        new = asked[len(cue) :].strip(" ,?.!")
        if (same := _with_name(new, recent)) is not None:
            return Reading(same, points_back=True)
        if names:
            return Reading(asked)
    if words is not None and (pronoun := _pronoun(asked, names, words)) is not None:
        return _with_pronoun(asked, pronoun, recent, words)
    if names or words is None or _stands_alone(asked[len(cue) :], words):
        return Reading(asked)
    return _completed(asked, read_question(asked), recent, words)


def _stands_alone(text: str, words: _Words) -> bool:
    """Whether a text without names and pronouns says by itself what it asks: it is a whole clause about something, and
    not about *the* thing that was spoken of. "The speed of light" is no such thing."""
    tokens = [word.casefold() for word in WORD.findall(text)]
    read = read_question(text)
    own = set(read.terms) - read.asking
    # A verb of its own shows by its helper, or by two words that say what it does to what.
    is_clause = not read.words.polar.isdisjoint(tokens) or len(own) > 1 + words.subject.isdisjoint(tokens[:1])
    points = not words.standing.isdisjoint(tokens) or any(
        words.belonging.isdisjoint(tokens[place + 1 : place + 1 + _LEADING_WORDS])
        for place, token in enumerate(tokens)
        if token in words.definite
    )
    return is_clause and bool(own) and not points


# Names of a conversation


def _names(text: str, known: Sequence[Mention], words: _Words | None) -> list[str]:
    """Keys of what a text names; no apology that opens it."""
    bare = text
    if words is not None and (cue := _opening(text, words.correcting)):
        bare = text[len(cue) :]
    borne = [mention.name for mention in known if mention.bearers]
    return list(dict.fromkeys([*asked_names(f"… {bare}" if bare != text else text), *borne]))


def _phrases(turns: Sequence[Turn], words: _Words | None) -> Iterator[str]:
    """What the turns ask about, the latest first, each with the words that say what of it: "the tower on the Fastnet"."""
    for turn in reversed(turns):
        for name in _things([turn]):
            yield _phrase(turn.question, name, words)


def _phrase(question: str, name: str, words: _Words | None) -> str:
    """A name with the article and the words that lead up to it in a question; the name alone where none do."""
    span = _span(question, key(name))
    if words is None or span is None:
        return name
    before = list(WORD.finditer(question, 0, span[0]))[-_LEADING_WORDS:]
    starts = [n for n, match in enumerate(before) if match.group().casefold() in words.article]
    inner = [n for n in starts if n < len(before) - 1]  # an article right before the name is the name's own
    if not inner:
        return name
    leading = [match.group() for match in before[inner[-1] + 1 :]]
    has_joint = any(
        not read_question(word).terms for word in leading
    )  # "tower on the": else they are one name
    phrase = question[before[inner[-1]].start() : span[0]] + name
    return phrase if has_joint and not _APART.search(phrase) else name


def _things(turns: Sequence[Turn]) -> Iterator[str]:
    """What the turns ask about, the latest first, as they write it; no person of whom one of them asks."""
    persons = {key(name) for name in _persons(turns)}
    every = [name for turn in reversed(turns) for name in _written_names(turn.question)]
    yield from (name for name in every if key(name) not in persons)
    yield from every


def _persons(turns: Sequence[Turn]) -> Iterator[str]:
    """The persons whom the turns ask about or answer with, the latest first."""
    for turn in reversed(turns):
        own = list(_written_names(turn.question))
        read = read_question(turn.question)
        words = _words(read.language)
        who = _WHO_IS.match(turn.question)
        spoken = {word.casefold() for word in WORD.findall(turn.question)}
        if own and (
            (who and turn.question[who.end() :].startswith(own[0])) or (words and words.person & spoken)
        ):
            yield own[0]
        elif read.expects == "person":
            inside = {key(name) for name in own}
            named = [name for name in _answer_names(turn.answer) if key(name) not in inside]
            beside = [*own, *_topic(turn.question).split()]
            # Who is introduced is named in full, near the words that ask for them.
            yield from sorted(named, key=lambda name: (" " not in name, _distance(turn.answer, name, beside)))


def _written_names(question: str) -> Iterator[str]:
    """The names of a question as it writes them, none that is part of another."""
    names = asked_names(question)
    for name in names:
        if not any(name != other and f" {name} " in f" {other} " for other in names):
            span = _span(question, name)
            yield _POSSESSIVE.sub("", question[slice(*span)]) if span else name


def _answer_names(answer: str) -> Iterator[str]:
    for start, name in runs(answer):
        span = _span(answer[start:], name)
        if span is not None:
            yield _POSSESSIVE.sub("", answer[start:][slice(*span)])


def _distance(text: str, name: str, others: Sequence[str]) -> int:
    """Characters between a name and the nearest of others in a text."""
    places = [place for other in others if (place := text.find(other)) >= 0]
    return min((abs(text.find(name) - place) for place in places), default=0)


def _span(text: str, name: str) -> tuple[int, int] | None:
    """Where a text writes the name of this key."""
    tokens = [(match.start(), match.end(), key(match.group())) for match in WORD.finditer(text)]
    for first, (start, _, word) in enumerate(tokens):
        if not word or not name.startswith(word):
            continue
        for _, end, _ in tokens[first : first + name.count(" ") + 2]:
            if key(text[start:end]) == name:
                return start, end
    return None


# Readings


def _with_pronoun(asked: str, pronoun: tuple[int, int, str], turns: Sequence[Turn], words: _Words) -> Reading:
    start, end, word = pronoun
    phrases = _phrases(turns, words)
    candidates = [*_persons(turns), *phrases] if word in words.person else [*phrases]
    if not candidates:
        return _with_topic(asked, turns, words)
    name = candidates[0]
    if word in words.person and not [*_persons(turns)]:
        own = read_question(asked)
        if not set(own.terms) - own.asking:
            return Reading(asked, points_back=True, is_resolved=False)
        return Reading(_with_aside(asked, name, words), points_back=True)
    before, after = asked[:start], asked[end:]
    if word not in words.replaced or (word == "there" and _exists(before, after, words)):
        return Reading(_with_aside(asked, name, words), points_back=True)
    if word in words.owning and (word != "her" or _owns(after)):
        name = f"{name}'s"
    elif word == "there":
        name = f"at {name}"
    return Reading(_without_opening(f"{before}{name}{after}", words), points_back=True)


def _corrected(asked: str, cue: str, names: Sequence[str], turns: Sequence[Turn], words: _Words) -> Reading:
    """The last question with what is meant instead; a question that comes with the correction is asked itself."""
    rest = asked[len(cue) :].strip(" ,.!")
    if not rest:  # "Boston Light, I meant."
        rest = _cues(words.meaning).sub("", asked).strip(" ,.!")
    while more := _opening(rest, (*words.correcting, *words.meaning)):
        rest = rest[len(more) :].strip(" ,.!")
    if not turns:
        return Reading(rest or asked, points_back=True, is_resolved=bool(names))
    rest = _INSTEAD.split(rest, 1)[0] if _INSTEAD.split(rest, 1)[0].strip() else rest
    own = _MEANT.split(rest, 1)
    if len(own) == 1 and _is_clause(rest):
        return read_follow_up(rest, turns)
    if rest.endswith("?") and (names or len(own) > 1):
        reading = read_follow_up(own[-1], turns) if len(own) > 1 else Reading(rest)
        aside = own[0] if len(own) > 1 else ""
        return Reading(_with_aside(reading.question, aside, words), points_back=True)
    is_name = bool(names) or (len(rest.split()) <= 3 and rest.split()[:1] != ["the"])
    if is_name and (same := _with_name(rest.rstrip("?"), turns)) is not None:
        return Reading(same, points_back=True)
    return Reading(_with_aside(turns[-1].question, rest, words), points_back=True)


def _with_name(new: str, turns: Sequence[Turn]) -> str | None:
    """The last question, with this name in the place of its own; None where it has none."""
    if not turns or not new:
        return None
    last = turns[-1].question
    name = next((n for n in _things(turns[-1:])), None)
    if name is None or (span := _span(last, key(name))) is None:
        return None
    start, end = span
    owns = (
        "'s"
        if last[start:end].endswith(("'s", "’s")) and _POSSESSIVE.sub("", last[start:end]) == name
        else ""
    )
    if (own := _first_name(new)) and not read_question(
        new[:own]
    ).terms:  # "at Dungeness" says where as the last one did
        new = new[own:]
    article, bare = new.partition(" ")[::2]
    if article.casefold() == "the" and last[:start].casefold().endswith("the "):
        new = bare
    return f"{last[:start]}{new}{owns}{last[end:]}"


def _completed(asked: str, inquiry: Inquiry, turns: Sequence[Turn], words: _Words | None) -> Reading:
    """A question that names nothing is about what the last ones are about."""
    name = next(_phrases(turns, words), None)
    if name is None:
        return _with_topic(asked, turns, words)
    last = turns[-1].question
    stands = words is not None and not words.standing.isdisjoint(
        word.casefold() for word in WORD.findall(asked)
    )
    if stands and not inquiry.expects:
        return Reading(
            _with_aside(last, _without_opening(asked, words).strip(" ?.!"), words), points_back=True
        )
    own = set(inquiry.terms) - inquiry.asking
    if len(own) > (1 if inquiry.expects in ("date", "number", "person") else 0):
        return Reading(_with_aside(asked, name, words), points_back=True)
    return Reading(_with_aside(asked, _topic(last, own) or name, words), points_back=True)


def _with_topic(asked: str, turns: Sequence[Turn], words: _Words | None) -> Reading:
    """A question after others that name nothing, with the words that say what the last of them is about."""
    topic = _topic(turns[-1].question) if turns else ""
    question = _with_aside(asked, topic, words) if topic else asked
    return Reading(question, points_back=True, is_resolved=bool(topic))


def _topic(question: str, besides: Set[str] = frozenset()) -> str:
    read = read_question(question)
    words = [(word, set(read.words.terms(word))) for word in read.telling(question)]
    return " ".join(word for word, terms in words if not terms & (read.asking | besides))


def _with_aside(question: str, aside: str, words: _Words | None) -> str:
    """A question with what it is about in brackets, before its mark."""
    question = _without_opening(question, words)
    aside = aside.strip(" ?.!")
    if not aside or aside.casefold() in question.casefold():
        return question
    body = question.rstrip(" ?.!")
    return f"{body} ({aside}){question[len(body) :].strip() or '?'}"


def _without_opening(question: str, words: _Words | None) -> str:
    """A question without the "and" with which it follows another."""
    cue = _opening(question, words.asking) if words is not None else ""
    rest = question[len(cue) :].lstrip(" ,") if cue else question
    return f"{rest[:1].upper()}{rest[1:]}" if rest.strip(" ?.!") else question


# Words


def _pronoun(text: str, names: Sequence[str], words: _Words) -> tuple[int, int, str] | None:
    """Where the first pronoun stands that points back: before the names of the text, in its first clause, and a
    person's before any other; or as its last word ("How far from Arbroath is it?")."""
    spans = [span for name in names if (span := _span(text, name)) is not None]
    end = min(*(start for start, _ in spans), _first_clause(text, words), len(text))
    tokens = [(match.start(), match.end(), match.group().casefold()) for match in WORD.finditer(text)]
    pronouns = [
        token
        for place, token in enumerate(tokens)
        if token[2] in words.person | words.thing
        and not (names and token[2] == "there" and _exists(text[: token[0]], text[token[1] :], words))
        and words.expletive.isdisjoint(word for _, _, word in tokens[max(0, place - 2) : place + 3])
    ]
    found = [token for token in pronouns if token[1] <= end]
    if not found and pronouns and pronouns[-1] == tokens[-1] and not _joint(words).search(text, end):
        found = [token for token in pronouns[-1:] if token[2] in words.replaced]
    persons = [each for each in found if each[2] in words.person]
    replaced = [each for each in found if each[2] in words.replaced]
    return next(iter(persons or replaced or found), None)


def _first_clause(text: str, words: _Words) -> int:
    """Where a text goes on to another clause, after one that says something of its own: what a pronoun there stands for
    is named in the text."""
    for match in _joint(words).finditer(text):
        read = read_question(text[: match.start()])
        spoken = {word.casefold() for word in WORD.findall(text[: match.start()])}
        if set(read.terms) - read.asking and spoken.isdisjoint(words.person | words.thing):
            return match.start()
    return len(text)


def _joint(words: _Words) -> re.Pattern[str]:
    """What stands between two clauses."""
    return regex(rf"[,;]|{_cues(words.joining).pattern}")


def _is_clause(text: str) -> bool:
    """Whether a text is a whole question, and no name."""
    read = read_question(text)
    tokens = [word.casefold() for word in WORD.findall(text)]
    return len(tokens) > 2 and (bool(read.expects) or (bool(tokens) and tokens[0] in read.words.polar))


def _exists(before: str, after: str, words: _Words) -> bool:
    """Whether a "there" says that something is, and not where: "Are there keepers?"."""
    beside = {word.casefold() for word in (*before.split()[-1:], *after.split()[:1])}
    return (
        bool(beside & words.existing)
        and bool(after.strip(" ?.!"))
        and not after.lstrip().startswith(("?", ","))
    )


def _owns(after: str) -> bool:
    """Whether a word follows that "her" can own."""
    word = WORD.search(after)
    return word is not None and bool(read_question(word.group()).terms)


def _correction(text: str, words: _Words) -> str:
    """All that stands before what is meant, where a text says so later than in its first words; else empty."""
    found = list(_cues(words.meaning).finditer(text))
    return text[: found[-1].end()] if found else ""


@cache
def _cues(words: tuple[str, ...]) -> re.Pattern[str]:
    return regex(rf"(?<!\w)(?i:{'|'.join(map(re.escape, words))})(?!\w)")


def _first_name(text: str) -> int:
    """Where a text first names something; 0 where it does not."""
    spans = [span for name in asked_names(f"… {text}") if (span := _span(text, name)) is not None]
    return min((start for start, _ in spans), default=0)


def _is_elliptical(
    text: str, cue: str, names: Sequence[str], known: Sequence[Mention], words: _Words | None
) -> bool:
    """Whether nothing but a name follows "what about", or is all there is."""
    rest = text[len(cue) :].strip(" ,?.!")
    read = read_question(rest)
    is_borne = any(mention.bearers for mention in known)
    if not cue and (len(names) > 1 or (words is not None and _joint(words).search(rest))):
        return False
    if not cue and len(rest.split()) == 1 and not text.rstrip().endswith("?") and not is_borne:
        return False  # "Thanks!"
    if names:
        inside = {term for name in names for term in read.words.terms(name)}
        return not read.expects and len(set(read.terms) - inside) <= bool(cue)
    return False


def _opening(text: str, openings: Sequence[str]) -> str:
    """The longest of these that a text begins with, as it writes it; empty for none."""
    fitting = [
        o for o in openings if text[: len(o)].casefold() == o and not text[len(o) : len(o) + 1].isalnum()
    ]
    return text[: max(map(len, fitting))] if fitting else ""


@cache
def _tables() -> Mapping[str, _Words]:
    tables: dict[str, Any] = tomllib.loads(LANGUAGES.read_text(encoding="utf-8").casefold())

    def words(table: Mapping[str, Any]) -> _Words:
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else frozenset(value.split())
            for name, value in table.items()
        }
        return _Words(**read)

    return {language: words(table["following"]) for language, table in tables.items() if "following" in table}


def _words(language: str) -> _Words | None:
    return _tables().get(language)
