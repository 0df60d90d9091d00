"""A follow-up question as one that stands by itself, by rule: pronouns and omissions take a name of the last turns, a
correction and "What about …?" take the last question with another name. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deep_research.conversation.pointing_words import PointingWords, cues, joint, opening, pointing_words
from deep_research.conversation.turn import Turn
from deep_research.conversation.turn_names import (
    LEADING_WORDS,
    POSSESSIVE,
    named_in,
    persons,
    phrases,
    span_of,
    things,
    topic,
)
from deep_research.patterns import regex
from deep_research.retrieval.parsed_question import ParsedQuestion, parse_question
from deep_research.state import Mention
from deep_research.text.names import asked_names, key
from deep_research.text.words import WORD

MAX_TURNS_BACK = 10
MAX_ASKED_CHARS = 1_500  # of a follow-up; what is longer says what it means
MAX_QUESTION_CHARS = 1_000  # of an earlier question that are looked at
_MEANT = regex(r"[:;]\s+(?=\w)")
_INSTEAD = regex(r"(?i),? (?:and )?not |, sorry\b")


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What a question means in its conversation. ``points_back``: it cannot be understood alone; ``is_resolved``: what it
    points to was found."""

    question: str
    points_back: bool = False
    is_resolved: bool = True


def read_follow_up(text: str, turns: Sequence[Turn], mentions: Sequence[Mention] = ()) -> FollowUp:
    """A question as it is meant after the ``turns``, the oldest first. ``mentions`` are names in it that documents bear.

    Example:
        read_follow_up("And how tall is it?", turns).question  # "How tall is Cape Hatteras?"
    """
    query = " ".join(text.split())
    if len(query) > MAX_ASKED_CHARS:
        return FollowUp(text)
    recent = [
        turn.model_copy(update={"question": turn.question[:MAX_QUESTION_CHARS]})
        for turn in turns[-MAX_TURNS_BACK:]
    ]
    words = pointing_words(parse_question(query).language)
    if words is None and recent:  # a few words and names may pass for any language
        words = pointing_words(parse_question(recent[-1].question).language)
    names = named_in(query, mentions, words)
    if words is not None and (cue := _correction(query, words) or opening(query, words.correcting)):
        return _corrected(query, cue, names, recent, words)
    cue = opening(query, words.asking) if words is not None else ""
    if _is_elliptical(query, cue, names, mentions, words):
        new = query[len(cue) :].strip(" ,?.!")
        if (same := _with_name(new, recent)) is not None:
            return FollowUp(same, points_back=True)
        if names:
            return FollowUp(query)
    if words is not None and (pronoun := _pronoun(query, names, words)) is not None:
        return _with_pronoun(query, pronoun, recent, words)
    if names or words is None or _stands_alone(query[len(cue) :], words):
        return FollowUp(query)
    return _completed(query, parse_question(query), recent, words)


def _stands_alone(text: str, words: PointingWords) -> bool:
    """Whether a text without names and pronouns says by itself what it asks: it is a whole clause about something, and
    not about *the* thing that was spoken of. "The speed of light" is no such thing."""
    tokens = [word.casefold() for word in WORD.findall(text)]
    read = parse_question(text)
    own = set(read.terms) - read.asking
    # A verb of its own shows by its helper, or by two words that say what it does to what.
    is_clause = not read.words.polar.isdisjoint(tokens) or len(own) > 1 + words.subject.isdisjoint(tokens[:1])
    points = not words.standing.isdisjoint(tokens) or any(
        words.belonging.isdisjoint(tokens[place + 1 : place + 1 + LEADING_WORDS])
        for place, token in enumerate(tokens)
        if token in words.definite
    )
    return is_clause and bool(own) and not points


# Readings


def _with_pronoun(
    query: str, pronoun: tuple[int, int, str], turns: Sequence[Turn], words: PointingWords
) -> FollowUp:
    start, end, word = pronoun
    spoken_of = [*phrases(turns, words)]
    people = [*persons(turns)]
    candidates = [*people, *spoken_of] if word in words.person else spoken_of
    if not candidates:
        return _with_topic(query, turns, words)
    name = candidates[0]
    if word in words.person and not people:
        own = parse_question(query)
        if not set(own.terms) - own.asking:
            return FollowUp(query, points_back=True, is_resolved=False)
        return FollowUp(_with_aside(query, name, words), points_back=True)
    before, after = query[:start], query[end:]
    if word not in words.replaced or (word == "there" and _exists(before, after, words)):
        return FollowUp(_with_aside(query, name, words), points_back=True)
    if word in words.owning and (word != "her" or _owns(after)):
        name = f"{name}'s"
    elif word == "there":
        name = f"at {name}"
    return FollowUp(_without_opening(f"{before}{name}{after}", words), points_back=True)


def _corrected(
    query: str, cue: str, names: Sequence[str], turns: Sequence[Turn], words: PointingWords
) -> FollowUp:
    """The last question with what is meant instead; a question that comes with the correction is asked itself."""
    rest = query[len(cue) :].strip(" ,.!")
    if not rest:  # "Boston Light, I meant."
        rest = cues(words.meaning).sub("", query).strip(" ,.!")
    while more := opening(rest, (*words.correcting, *words.meaning)):
        rest = rest[len(more) :].strip(" ,.!")
    if not turns:
        return FollowUp(rest or query, points_back=True, is_resolved=bool(names))
    rest = _INSTEAD.split(rest, 1)[0] if _INSTEAD.split(rest, 1)[0].strip() else rest
    own = _MEANT.split(rest, 1)
    if len(own) == 1 and _is_clause(rest):
        return read_follow_up(rest, turns)
    if rest.endswith("?") and (names or len(own) > 1):
        reading = read_follow_up(own[-1], turns) if len(own) > 1 else FollowUp(rest)
        aside = own[0] if len(own) > 1 else ""
        return FollowUp(_with_aside(reading.question, aside, words), points_back=True)
    is_name = bool(names) or (len(rest.split()) <= 3 and rest.split()[:1] != ["the"])
    if is_name and (same := _with_name(rest.rstrip("?"), turns)) is not None:
        return FollowUp(same, points_back=True)
    return FollowUp(_with_aside(turns[-1].question, rest, words), points_back=True)


def _with_name(new: str, turns: Sequence[Turn]) -> str | None:
    """The last question, with this name in the place of its own; None where it has none."""
    if not turns or not new:
        return None
    last = turns[-1].question
    name = next((n for n in things(turns[-1:])), None)
    if name is None or (span := span_of(last, key(name))) is None:
        return None
    start, end = span
    owns = (
        "'s" if last[start:end].endswith(("'s", "’s")) and POSSESSIVE.sub("", last[start:end]) == name else ""
    )
    if (own := _first_name(new)) and not parse_question(
        new[:own]
    ).terms:  # "at Dungeness" says where as the last one did
        new = new[own:]
    article, bare = new.partition(" ")[::2]
    if article.casefold() == "the" and last[:start].casefold().endswith("the "):
        new = bare
    return f"{last[:start]}{new}{owns}{last[end:]}"


def _completed(
    query: str, inquiry: ParsedQuestion, turns: Sequence[Turn], words: PointingWords | None
) -> FollowUp:
    """A question that names nothing is about what the last ones are about."""
    name = next(phrases(turns, words), None)
    if name is None:
        return _with_topic(query, turns, words)
    last = turns[-1].question
    stands = words is not None and not words.standing.isdisjoint(
        word.casefold() for word in WORD.findall(query)
    )
    if stands and not inquiry.expects:
        return FollowUp(
            _with_aside(last, _without_opening(query, words).strip(" ?.!"), words), points_back=True
        )
    own = set(inquiry.terms) - inquiry.asking
    if len(own) > (1 if inquiry.expects in ("date", "number", "person") else 0):
        return FollowUp(_with_aside(query, name, words), points_back=True)
    return FollowUp(_with_aside(query, topic(last, own) or name, words), points_back=True)


def _with_topic(query: str, turns: Sequence[Turn], words: PointingWords | None) -> FollowUp:
    """A question after others that name nothing, with the words that say what the last of them is about."""
    about = topic(turns[-1].question) if turns else ""
    question = _with_aside(query, about, words) if about else query
    return FollowUp(question, points_back=True, is_resolved=bool(about))


def _with_aside(question: str, aside: str, words: PointingWords | None) -> str:
    """A question with what it is about in brackets, before its mark."""
    question = _without_opening(question, words)
    aside = aside.strip(" ?.!")
    if not aside or aside.casefold() in question.casefold():
        return question
    body = question.rstrip(" ?.!")
    return f"{body} ({aside}){question[len(body) :].strip() or '?'}"


def _without_opening(question: str, words: PointingWords | None) -> str:
    """A question without the "and" with which it follows another."""
    cue = opening(question, words.asking) if words is not None else ""
    rest = question[len(cue) :].lstrip(" ,") if cue else question
    return f"{rest[:1].upper()}{rest[1:]}" if rest.strip(" ?.!") else question


def _pronoun(text: str, names: Sequence[str], words: PointingWords) -> tuple[int, int, str] | None:
    """Where the first pronoun stands that points back: before the names of the text, in its first clause, and a
    person's before any other; or as its last word ("How far from Arbroath is it?")."""
    spans = [span for name in names if (span := span_of(text, name)) is not None]
    end = min(*(start for start, _ in spans), _first_clause(text, words), len(text))
    tokens = [(match.start(), match.end(), match.group().casefold()) for match in WORD.finditer(text)]
    pronouns = [
        token
        for place, token in enumerate(tokens)
        if token[2] in words.person | words.thing
        and not (names and token[2] == "there" and _exists(text[: token[0]], text[token[1] :], words))
        and words.expletive.isdisjoint(word for _, _, word in tokens[max(0, place - 2) : place + 3])
    ]
    candidates = [token for token in pronouns if token[1] <= end]
    if not candidates and pronouns and pronouns[-1] == tokens[-1] and not joint(words).search(text, end):
        candidates = [token for token in pronouns[-1:] if token[2] in words.replaced]
    of_persons = [each for each in candidates if each[2] in words.person]
    replaced = [each for each in candidates if each[2] in words.replaced]
    return next(iter(of_persons or replaced or candidates), None)


def _first_clause(text: str, words: PointingWords) -> int:
    """Where a text goes on to another clause, after one that says something of its own: what a pronoun there stands for
    is named in the text."""
    for match in joint(words).finditer(text):
        read = parse_question(text[: match.start()])
        clause_words = {word.casefold() for word in WORD.findall(text[: match.start()])}
        if set(read.terms) - read.asking and clause_words.isdisjoint(words.person | words.thing):
            return match.start()
    return len(text)


def _is_clause(text: str) -> bool:
    """Whether a text is a whole question, and no name."""
    read = parse_question(text)
    tokens = [word.casefold() for word in WORD.findall(text)]
    return len(tokens) > 2 and (bool(read.expects) or (bool(tokens) and tokens[0] in read.words.polar))


def _exists(before: str, after: str, words: PointingWords) -> bool:
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
    return word is not None and bool(parse_question(word.group()).terms)


def _correction(text: str, words: PointingWords) -> str:
    """All that stands before what is meant, where a text says so later than in its first words; else empty."""
    matches = list(cues(words.meaning).finditer(text))
    return text[: matches[-1].end()] if matches else ""


def _first_name(text: str) -> int:
    """Where a text first names something; 0 where it does not."""
    spans = [span for name in asked_names(f"… {text}") if (span := span_of(text, name)) is not None]
    return min((start for start, _ in spans), default=0)


def _is_elliptical(
    text: str, cue: str, names: Sequence[str], mentions: Sequence[Mention], words: PointingWords | None
) -> bool:
    """Whether nothing but a name follows "what about", or is all there is."""
    rest = text[len(cue) :].strip(" ,?.!")
    read = parse_question(rest)
    is_borne = any(mention.bearers for mention in mentions)
    if not cue and (len(names) > 1 or (words is not None and joint(words).search(rest))):
        return False
    if not cue and len(rest.split()) == 1 and not text.rstrip().endswith("?") and not is_borne:
        return False  # "Thanks!"
    if names:
        inside = {term for name in names for term in read.words.terms(name)}
        return not read.expects and len(set(read.terms) - inside) <= bool(cue)
    return False
