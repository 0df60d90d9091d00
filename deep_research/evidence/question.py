"""What a question asks: its kind, its parts, its names. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import zip_longest

from deep_research.evidence.dates import WHEN
from deep_research.evidence.doing import HOW_TO, action
from deep_research.evidence.text import (
    STOP_WORDS,
    content_words,
    is_name_like,
    question_terms,
    stem,
    words,
)

INTRODUCED = " introduction and overview"  # ends a search for what introduces a thing
LOOKED_AT = 400  # characters of a question that say its kind
BROAD = 40  # distinct words of meaning that make a question a broad request: one for a survey of its subject
ACTION = 1.5  # the weight of what somebody wants to do, against 1 of another word
BARE = 3  # words of meaning up to which a request that asks nothing is only the name of a subject
_ASKED_AGAIN = 256  # questions of which is kept what they are: that is asked hundreds of times in a run

_POSSESSIVE = re.compile(r"['’]s$")
_ASKING = r"who|whom|whose|what|when|where|which|why|how|does|do|did|is|are|was|were|can|could|should|will"
_BREAK = re.compile(
    rf"[?;]+\s*|,?\s+(?:and|or|but)\s+(?=(?:{_ASKING})\b)|,\s+(?=(?:{_ASKING})\b)|\.\s+(?=[A-Z])",
    re.IGNORECASE,
)
_DOES = re.compile(r"\s*(?:does|do|did)\s+(?:an? |the )?(?P<said>[\w'’./+ -]+)", re.IGNORECASE)
MOST_SUBJECT = 3  # words of whom or what a question with "does" is about
# What tells one thing from all others of its kind: "Is it the oldest tower?"
_MOST = re.compile(
    r"(?:old|earli|young|new|tall|high|low|larg|bigg|small|long|short|deep|wid|heavi|light|bright|fast|slow|strong|near"
    r"|great|cheap|dear|rich)est",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:it|they|them)\b((?:['’]s)?)")
_NAME = re.compile(
    r"(?:the )?\b[A-Z][\w'’-]*(?:\s+(?:(?:of|the|de|la|du|and)\s+)*[A-Z0-9][\w'’-]*(?:\.\d+)*)*"
)
# How a survey is asked for in few words: "Give me a short overview of X", "the history of X", "X timeline".
_ORDER = re.compile(r"\b(?:timeline|chronology|chronological)\b", re.IGNORECASE)
_FORM = r"(?:overview|introduction|summary|survey|outline|history|timeline|chronology)"
_OPENS_SURVEY = re.compile(
    rf"\s*(?:(?:(?:please|can|could|you|give|write|make|show|tell|me|us|i|we|want|need|would|like|what|is|a|an|the|short|"
    rf"brief|quick|general|full|historical|chronological)\s+)*(?:{_FORM}|(?:all|everything) (?=about))"
    rf"|(?:please\s+)?(?:tell me (?=about)|summari[sz]e))\s*\b(?:(?:of|to|on|for|about|in)\s+)?(?:the\s+)?",
    re.IGNORECASE,
)
# "What are lamps?" asks for no list and no fact, but to be told of lamps.
_OF_A_KIND = re.compile(r"[Ww]hat are (?P<kind>(?!the )[a-z]+(?: [a-z]+){0,2}(?<!s)s) ?\??")
# "How did the lamps of lighthouses change over time?" asks for their history.
_AGES = r"(?:time|history|the (?:last |past )?(?:years|centuries|decades|ages))"
_ALL_TIME = rf"(?:over|through(?:out)?|with|in the course of) {_AGES}"
_GREW = re.compile(
    r"how (?:did|has|have) (?:the )?(?P<what>(?!what\b)\S+(?: (?!what\b)\S+){0,5}?)"
    rf" (?:changed? {_ALL_TIME}|(?:develop(?:ed)?|evolved?)(?: {_ALL_TIME})?)",
    re.IGNORECASE,
)
# "What did Robert Orrel do?" asks to be told of him.
_SOMEBODY = (
    r"(?-i:(?!(?:I|It|He|She|They|We|You|The|This|That|These|Those)\b)[A-Z][\w'’.-]*"
    r"(?: (?:(?:of|the|de|la|du|van|von|der) ){0,2}[A-Z][\w'’.-]*){0,4})"
)
_DID = re.compile(
    rf"what (?:did (?P<one>{_SOMEBODY}) do|(?:is|was) (?P<other>{_SOMEBODY})"
    r" (?:(?:best|most|mainly|chiefly|widely|well) )?(?:known|famous|remembered|noted) for)",
    re.IGNORECASE,
)
# What stands for a name: "the engineer of Orrel", "a town where it rains", "Orrel's father", "whose father".
_DESCRIBED = re.compile(
    r"\b(?:the|an?|its|their|his|her) (?:[\w'’-]+ ){1,4}?"
    r"(?:of|who|whose|whom|that|which|where|in which|for which|with|from|behind|starring)\b"
    r"|\b(?:the|an?) [\w-]+ (?:by|in|on|at) (?=(?:the )?(?-i:[A-Z]))"
    r"|(?<!what)(?<!who)(?<!it)(?<!that)(?<!where)(?<!how)['’]s [a-z]|s['’] [a-z]|\bwhose\b|\bwhom\b",
    re.IGNORECASE,
)
_BIDDING = r"give|show|find|make|write|tell|explain|describe|count|solve|translate|build|run|use|get|set"
_ENDS_SURVEY = re.compile(rf",?\s+(?:\(?an? )?{_FORM}\W*$", re.IGNORECASE)


class QuestionKind(StrEnum):
    """What sort of answer is wanted. A *chain* asks for something of something that is not named itself."""

    FACT = "fact"
    CHAIN = "chain"
    COMPARISON = "comparison"
    CAUSE = "cause"
    LIST = "list"
    TIME = "time"
    HOW_TO = "how-to"
    SURVEY = "survey"


_REST = (
    r"(?:\s+(?:in|on|for|of(?! (?-i:[A-Z]))|when|by)\b.*)?\W*$"  # "of" is within a name, "the Tower of Hare"
)
_SIDE = r"(?:an? |the )?(?P<{}>[^,;?]{{2,60}}?)"
_COMPARED = tuple(
    re.compile(pattern.format(_SIDE.format("one"), _SIDE.format("other")), re.IGNORECASE)
    for pattern in (
        r"\b(?:differ\w*|distinction|comparison)\b.*?\bbetween {} and {}" + _REST,
        r"^\s*(?:please )?compare {} (?:and|with|to|against) {}" + _REST,
        r"^\s*{} (?:vs\.?|versus) {}\W*$",
        r"\bhow do(?:es)? {} differ from {}\W*$",
        r"\bhow (?:do|are|did|were) {} and {} (?:differ|different|compare)\W*$",
        r"\b(?:which|who|what)\b[^,?]*\b(?:\w+er|more \w+|first)\b[^,?]*[,:] {} or {}\W*$",
    )
)

_CHOOSES = re.compile(r"\s*(?:which|who|what)\b.*\bor\b", re.IGNORECASE)

# What a comparison asks of its sides together: no side has it by itself.
COMPARING = frozenset(
    words(
        "first last earlier later older younger taller longer larger bigger smaller more most less same both compare "
        "compared comparing comparison difference differences differ versus vs common"
    )
)

_KINDS = (
    (
        QuestionKind.COMPARISON,
        r"\b(?:compare[ds]?|comparing|comparison|differences?|differ|versus|vs|in common|both)\b"
        r"|\b(?:which|who|what)\b.*\b(?:first|earlier|later|older|younger|taller|longer|larger|bigger|more|most)\b.*\bor\b"
        r"|\bsame\b.*\bas\b|\bthe same\b",
    ),
    (QuestionKind.HOW_TO, HOW_TO),
    (QuestionKind.CAUSE, r"\bwhy\b|\bcause[sd]?\b|\breasons?\b|\bled to\b|\bresponsible for\b|\bdue to\b"),
    (
        QuestionKind.CHAIN,
        r"\bwhose\b|\b\w+ (?:of|by|in) the \w+ (?:of|that|who|which|where|in which)\b|['’]s \w+['’]s\b"
        r"|\bthe \w+ (?:that|who|which) \w+ the \w+ (?:that|who|which|of)\b",
    ),
    (
        QuestionKind.TIME,
        rf"{WHEN}|\b(?:what|which) (?:year|date|day|month|century)\b|\bhow (?:old|long ago)\b",
    ),
    (
        QuestionKind.LIST,
        r"^\s*(?:list|name|enumerate)\b|\b(?:which|what) (?:are|were)\b"
        r"|\b(?:which|what) (?:\w+ )?\w+s (?:are|were|have|had|do|did)\b",
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)


@lru_cache(maxsize=_ASKED_AGAIN)
def kind_of(question: str) -> QuestionKind:
    """The first kind whose signs the question shows; a request for a survey has none of an answer."""
    if is_survey(question):
        return QuestionKind.SURVEY
    return _asked_kind(question)


def _asked_kind(question: str) -> QuestionKind:
    head = question[:LOOKED_AT]
    return next((kind for kind, pattern in _PATTERNS if pattern.search(head)), QuestionKind.FACT)


def compared(question: str) -> tuple[str, ...]:
    """The two things that a question compares with each other, as it calls them; none where it does not say so."""
    line = " ".join(question[:LOOKED_AT].split())
    for pattern in _COMPARED:
        if match := pattern.search(line):
            # "the Bell Rock and Skerryvore lighthouses": what both are stands behind the second.
            one, other = _name_in(match["one"]), _name_in(match["other"])
            return (one, other) if one != other else (match["one"].strip(), match["other"].strip())
    return ()


def chooses(question: str) -> bool:
    """Whether a question asks which of two things is more of something."""
    return _CHOOSES.match(question) is not None and bool(compared(question))


def _name_in(side: str) -> str:
    """The name in what is compared, or all of it where no capitals show one; of "Orrel's tower" that is Orrel."""
    named = max(_NAME.finditer(side), key=lambda match: len(match.group()), default=None)
    if named is None:
        return side.strip()
    name = named.group().removeprefix("the ")
    return _POSSESSIVE.sub("", name) if side[named.end() :].lstrip()[:1].islower() else name


def asked_terms(query: str) -> dict[str, float]:
    """The stems that a query asks for, with their weights: see `question_terms`. What somebody wants to know how to do
    counts more than what it is done with, and so does what only one of a kind is."""
    weights = question_terms(query)
    if (doing := action(query)) in weights:
        weights[doing] = max(weights[doing], ACTION)
    for term in superlatives(query) & weights.keys():
        weights[term] = max(weights[term], ACTION)
    return weights


def singles(question: str, text: str) -> bool:
    """Whether a text has the question's word for what only one of a kind is, and names no other kind with it."""
    asked, wanted = superlatives(question), question_terms(question)
    every = words(text)
    return any(
        stem(word) in asked
        and (following.casefold() in STOP_WORDS or not following or stem(following) in wanted)
        for word, following in zip_longest(every, every[1:], fillvalue="")
    )


def superlatives(query: str) -> set[str]:
    """The stems of the words for what only one of a kind is."""
    return {stem(word) for word in words(query) if _MOST.fullmatch(word)}


@lru_cache(maxsize=64)
def affirmed(question: str) -> tuple[re.Pattern[str], ...]:
    """How a text says, or denies, what a question asks with "does": "Does Orrel support oil?", "Orrel supports oil",
    "Orrel is a lamp that has support for oil"."""
    match = _DOES.fullmatch(" ".join(question[:LOOKED_AT].split()).rstrip(" .?!"))
    said = match["said"].split() if match else []
    return tuple(
        re.compile(_does(said[:size], said[size], said[size + 1 :]), re.IGNORECASE)
        for size in range(1, min(MOST_SUBJECT, len(said) - 1) + 1)
        if said[size][0].islower()  # else the subject goes on
    )


def _does(subject: Sequence[str], verb: str, what: Sequence[str]) -> str:
    name = rf"\b{re.escape(' '.join(subject))}"
    outright = (
        rf"\s+(?:(?:also|now|still|\w+ly|(?:does|do|did) not|doesn't)\s+){{0,3}}"
        rf"{re.escape(verb.rstrip('e'))}(?:e|es|s|ed|ies)?\b"
    )
    if not what:
        return name + outright
    within = r"(?:[^|.!?;]|\.(?=\d))"  # a sentence
    goes_on = rf"\s+(?:is|are|was|were)\b{within}{{0,200}}?[.!?]\s+It\b{within}{{0,160}}?\b"
    having = (
        rf"(?:\s+(?:(?:also|now|still|\w+ly)\s+){{0,2}}|{goes_on})"
        r"(?:has|have|had|lacks?|offers?|provides?|includes?|comes? with)\s+(?:[\w/-]+\s+){0,2}?"
        rf"{re.escape(verb)}\s+(?:for|of|to)\b(?:(?!\b(?:but|while|whereas|which|not|except)\b){within}){{0,60}}?"
        rf"\b{re.escape(what[-1])}(?!\w)"
    )
    return rf"(?<!unlike ){name}(?:{outright}|{having})"


@lru_cache(maxsize=_ASKED_AGAIN)
def is_broad(request: str) -> bool:
    """Whether it is too long to be answered by a sentence."""
    return len(question_terms(request)) >= BROAD


@lru_cache(maxsize=_ASKED_AGAIN)
def is_survey(request: str) -> bool:
    """Whether it is too broad to be answered by a sentence: long, or for an overview or the history of something, or no
    more than the name of a subject."""
    return is_broad(request) or subject(request) != " ".join(request.split()) or _is_bare(request)


@lru_cache(maxsize=_ASKED_AGAIN)
def subject(request: str) -> str:
    """What a survey is wanted of: a request without the words that ask for one."""
    request = " ".join(request.split())
    if len(request) > LOOKED_AT or is_broad(request):
        return request
    if kind := _OF_A_KIND.fullmatch(request):
        return kind["kind"]
    if (grown := _GREW.fullmatch(request.rstrip(" .?!"))) and _names_something(grown["what"]):
        return grown["what"]
    if did := _DID.fullmatch(request.rstrip(" .?!")):
        return did["one"] or did["other"]
    rest = request
    while opening := _OPENS_SURVEY.match(rest):
        rest = rest[opening.end() :]
    rest = _ENDS_SURVEY.sub("", rest).rstrip(" .?!")
    return rest if _names_something(rest) and len(rest) < len(request.rstrip(" .?!")) else request


def _names_something(said: str) -> bool:
    return any(w.casefold() not in STOP_WORDS for w in words(said))


def describes_something(question: str) -> bool:
    """Whether it asks of something that it does not name but describes: "the engineer of Orrel", "Orrel's father"."""
    return _DESCRIBED.search(" ".join(question[:LOOKED_AT].split())) is not None


def asks_of_somebody(request: str) -> bool:
    """Whether it asks what somebody did or is known for, whom it names."""
    return _DID.fullmatch(" ".join(request[:LOOKED_AT].split()).rstrip(" .?!")) is not None


def asks_how_it_grew(request: str) -> bool:
    """Whether it is the history of something that a question asks for in a sentence, which may have no answer."""
    grown = _GREW.fullmatch(" ".join(request.split()).rstrip(" .?!"))
    return grown is not None and _names_something(grown["what"])


def wants_order_of_time(request: str) -> bool:
    """Whether a survey is to be a timeline."""
    return not is_broad(request) and is_survey(request) and _ORDER.search(request) is not None


def _is_bare(request: str) -> bool:
    """Whether a request is a few words that neither ask nor tell, such as "lighthouse lamps"."""
    spoken = words(request[:LOOKED_AT])
    meant = [w for w in spoken if w.casefold() not in STOP_WORDS]
    return (
        len(request) < LOOKED_AT
        and 0 < len(meant) <= BARE
        and len(spoken) <= BARE + 1
        and request.strip()[-1:] not in (".", "?", "!")
        and re.fullmatch(rf"{_ASKING}|{_BIDDING}", spoken[0], re.IGNORECASE) is None
        and _asked_kind(request) is QuestionKind.FACT
    )


def parts(question: str) -> list[str]:
    """The pieces of a question, each able to stand alone: "it" becomes what the first piece is about, and a piece
    without any name gets the first one's."""
    # In one line, because a long row of spaces would take the pattern quadratic time.
    pieces = [piece.strip(" ,.") for piece in _BREAK.split(" ".join(question.split()))]
    pieces = [p for p in pieces if any(w.casefold() not in STOP_WORDS for w in words(p))]
    if len(pieces) < 2:
        return pieces
    subject = _subject(pieces[0])
    return [pieces[0], *(_standing(piece, subject) for piece in pieces[1:])]


def is_own(query: str, question: str) -> bool:
    """Whether a query asks only for words of the question, and is no part of it: its names, its words in another order,
    or what introduces them. Such a query widens the search; finding something for it answers nothing yet. Of a
    comparison each side is a part."""
    if query in parts(question):
        return False
    query = query.removesuffix(INTRODUCED)
    asked, wanted = question_terms(query).keys(), question_terms(question).keys()
    return asked >= wanted if kind_of(question) is QuestionKind.COMPARISON else asked <= wanted


def _standing(piece: str, subject: str) -> str:
    if any(is_name_like(w) for w in words(piece)[1:]):
        return piece
    named = _PRONOUN.sub(lambda match: subject + match.group(1), piece, count=1)
    held = {stem(w) for w in words(piece)}
    lost = [w for w in content_words(subject) if stem(w) not in held]
    return f"{piece} {' '.join(lost)}" if named == piece and lost else named


def _subject(piece: str) -> str:
    """The longest name of a piece with the small words inside it, or its content words if it has none."""
    opening = words(piece)[0] if words(piece) else ""
    named = [match.group() for match in _NAME.finditer(piece) if match.group() != opening]
    return max(named, key=len) if named else " ".join(content_words(piece))
