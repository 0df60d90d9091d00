"""Names in the turns of a conversation, and the words that lead up to them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from deep_research.conversation.pointing_words import PointingWords, opening, pointing_words
from deep_research.conversation.turn import Turn
from deep_research.patterns import regex
from deep_research.retrieval.parsed_question import parse_question
from deep_research.state import Mention
from deep_research.text.names import asked_names, key, runs
from deep_research.text.words import WORD

POSSESSIVE = regex(r"['’]s?$")
LEADING_WORDS = 6  # that a phrase has before its name
_WHO_IS = regex(r"(?i)^\W*who\s+(?:is|was|are|were)\s")
_APART = regex(r"[(),:;]")


def named_in(text: str, mentions: Sequence[Mention], words: PointingWords | None) -> list[str]:
    """Keys of what a text names; no apology that opens it."""
    bare = text
    if words is not None and (cue := opening(text, words.correcting)):
        bare = text[len(cue) :]
    document_names = [mention.name for mention in mentions if mention.bearers]
    return list(dict.fromkeys([*asked_names(f"… {bare}" if bare != text else text), *document_names]))


def phrases(turns: Sequence[Turn], words: PointingWords | None) -> Iterator[str]:
    """What the turns ask about, the latest first, each with the words that say what of it: "the tower on the Fastnet"."""
    for turn in reversed(turns):
        for name in things([turn]):
            yield _phrase(turn.question, name, words)


def _phrase(question: str, name: str, words: PointingWords | None) -> str:
    """A name with the article and the words that lead up to it in a question; the name alone where none do."""
    span = span_of(question, key(name))
    if words is None or span is None:
        return name
    before = list(WORD.finditer(question, 0, span[0]))[-LEADING_WORDS:]
    starts = [n for n, match in enumerate(before) if match.group().casefold() in words.article]
    inner = [n for n in starts if n < len(before) - 1]  # an article right before the name is the name's own
    if not inner:
        return name
    leading = [match.group() for match in before[inner[-1] + 1 :]]
    has_joint = any(
        not parse_question(word).terms for word in leading
    )  # "tower on the": else they are one name
    phrase = question[before[inner[-1]].start() : span[0]] + name
    return phrase if has_joint and not _APART.search(phrase) else name


def things(turns: Sequence[Turn]) -> Iterator[str]:
    """What the turns ask about, the latest first, as they write it; no person of whom one of them asks."""
    person_keys = {key(name) for name in persons(turns)}
    every = [name for turn in reversed(turns) for name in _written_names(turn.question)]
    yield from (name for name in every if key(name) not in person_keys)
    yield from every


def persons(turns: Sequence[Turn]) -> Iterator[str]:
    """The persons whom the turns ask about or answer with, the latest first."""
    for turn in reversed(turns):
        own = list(_written_names(turn.question))
        read = parse_question(turn.question)
        words = pointing_words(read.language)
        who = _WHO_IS.match(turn.question)
        question_words = {word.casefold() for word in WORD.findall(turn.question)}
        if own and (
            (who and turn.question[who.end() :].startswith(own[0]))
            or (words and words.person & question_words)
        ):
            yield own[0]
        elif read.expects == "person":
            inside = {key(name) for name in own}
            answer_names = [name for name in _answer_names(turn.answer) if key(name) not in inside]
            beside = [*own, *topic(turn.question).split()]
            # Who is introduced is named in full, near the words that ask for them.
            yield from sorted(
                answer_names, key=lambda name: (" " not in name, _distance(turn.answer, name, beside))
            )


def _written_names(question: str) -> Iterator[str]:
    """The names of a question as it writes them, none that is part of another."""
    names = asked_names(question)
    for name in names:
        if not any(name != other and f" {name} " in f" {other} " for other in names):
            span = span_of(question, name)
            yield POSSESSIVE.sub("", question[slice(*span)]) if span else name


def _answer_names(answer: str) -> Iterator[str]:
    for start, name in runs(answer):
        span = span_of(answer[start:], name)
        if span is not None:
            yield POSSESSIVE.sub("", answer[start:][slice(*span)])


def _distance(text: str, name: str, others: Sequence[str]) -> int:
    """Characters between a name and the nearest of others in a text."""
    places = [place for other in others if (place := text.find(other)) >= 0]
    return min((abs(text.find(name) - place) for place in places), default=0)


def span_of(text: str, name: str) -> tuple[int, int] | None:
    """Where a text writes the name of this key."""
    tokens = [(match.start(), match.end(), key(match.group())) for match in WORD.finditer(text)]
    for first, (start, _, word) in enumerate(tokens):
        if not word or not name.startswith(word):
            continue
        for _, end, _ in tokens[first : first + name.count(" ") + 2]:
            if key(text[start:end]) == name:
                return start, end
    return None


def topic(question: str, besides: Set[str] = frozenset()) -> str:
    read = parse_question(question)
    words = [(word, set(read.words.terms(word))) for word in read.telling(question)]
    return " ".join(word for word, terms in words if not terms & (read.asking | besides))
