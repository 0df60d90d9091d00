"""Analysis of a question: its terms, names, parts and the kind of answer that it expects. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from deep_research.patterns import regex
from deep_research.state.identity import part_id
from deep_research.state.question_parts import QuestionPart
from deep_research.text import unspaced
from deep_research.text.language import (
    ENGLISH,
    LANGUAGES,
    WORD,
    Vocabulary,
    language_by_script,
    language_of,
    vocabulary,
)
from deep_research.text.names import QUOTED
from deep_research.text.sentences import sentence_spans
from deep_research.text.words import NO_CAPITALS, unmarked
from deep_research.text.words import WORD as ANY_WORD

# What is written as a name: a capital that opens no sentence, a figure or an identifier in it, an option; what is quoted.
_NAME = regex(
    rf"(?<![.?!]\s)(?<![¿¡])(?<!^)\b[^\W\d_{NO_CAPITALS}][\w'’.-]*|\b\w*\d\w*|\b\w+_\w+|(?<!\w)--?\w[\w-]+"
)
_ASKING = dict.fromkeys(map(ord, "？؟"), "?")  # marks of questions in other scripts
_CLAUSE = regex(r"[,;:]\s+")
_WORDS_OF_A_TOPIC = 12  # a request that asks for nothing short and has more terms is one
_MIN_BROAD_TERMS = 40  # distinct terms of a request for a survey of all that it names
_MAX_BARE_TERMS = 3  # terms up to which a request that asks nothing is only the name of a subject
_PAIRS_PER_WORD = 4  # of a script without spaces, with those that lie between words or tell nothing
_OPENING_WORDS = 3  # words in which a piece of a question says that it asks: "for how long", "in which year"
_SHORT_CHARS = 400  # characters of a request whose wording is looked at
# The kinds of answer that a part may expect.
KINDS = ("", "number", "date", "person", "place", "list", "definition", "manner", "reason", "polar")
_ANY_ANSWER = frozenset(
    ("", "definition", "list", "manner")
)  # kinds of answer that an overview may be worded as

_NAMES = frozenset(("person", "place"))
# Kinds that show in the form of what is said: a text without a figure tells no number.
FORMAL = _NAMES | {"number", "date"}
_YEAR = regex(r"\b(?:1\d{3}|20\d\d)\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")
_NAMED = regex(rf"(?<![.!?]\s)(?<!^)\b[^\W\d_{NO_CAPITALS}][^\W\d_]+")
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forms:
    """How questions of a language are worded: ``breaks`` is where a part ends, ``asking`` are the words that ask, of
    which the ``subordinate`` ones also open a clause that asks nothing, ``commanding`` those that bid something,
    ``comparing`` are words that ask something of several things together, ``overview`` the words that ask for an
    overview, ``bidding`` those beside them, ``sides`` what is usually told of a subject, ``requesting`` the words with
    which something is asked for."""

    breaks: re.Pattern[str]
    asking: frozenset[str]
    subordinate: frozenset[str]
    commanding: frozenset[str]
    comparing: frozenset[str]
    overview: frozenset[str]
    bidding: frozenset[str]
    sides: tuple[str, ...]
    requesting: frozenset[str]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a question: its words, the same as a query that stands alone, its terms in their order, and the kind of
    answer it expects, "" for any. The query of one without a name of the question ends with those of the first part."""

    text: str
    query: str
    terms: tuple[str, ...]
    expects: str


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question as it is read. ``names`` are those of its terms that are written as names, figures or identifiers,
    ``asking`` those that only ask for a number, as "long" of "how long", which "nine hours" answers;
    ``parts`` has the question itself where it has no several; ``subject`` is what an overview is wanted of, "" where
    something else is asked."""

    text: str
    language: str
    terms: tuple[str, ...]
    names: frozenset[str]
    asking: frozenset[str]
    expects: str
    parts: tuple[Part, ...]
    subject: str = ""

    @property
    def is_broad(self) -> bool:
        """Whether it is too long to be answered by a few passages."""
        return _word_count(set(self.terms)) >= _MIN_BROAD_TERMS

    @property
    def is_topic(self) -> bool:
        """Whether it is a topic rather than a question: nothing short answers it."""
        return not self.expects and _word_count(self.terms) > _WORDS_OF_A_TOPIC

    @property
    def words(self) -> Vocabulary:
        return vocabulary(self.language)

    def telling(self, text: str) -> list[str]:
        """The words of a text that tell something, as it writes them but without possessive endings."""
        plain = (word.removesuffix("'s").removesuffix("’s") for word in ANY_WORD.findall(text))
        return [word for word in plain if self.words.terms(word)]

    @property
    def forms(self) -> Forms:
        return forms(self.language)

    def of_part(self, part: QuestionPart) -> ParsedQuestion:
        """A part of the question, read as a question that stands alone, with the kind of answer that it expects."""
        queries = {each.text: each.query for each in self.parts}
        text = queries.get(part.text) or _alone(part.text, self.parts[0].query, self)
        read = parse_question(text, self.language)
        return replace(read, expects=part.expects) if part.expects != read.expects else read


def _word_count(terms: Collection[str]) -> int:
    """How many words that tell something these terms stand for."""
    pairs = sum(unspaced.RUN.match(term) is not None for term in terms)
    return len(terms) - pairs + pairs // _PAIRS_PER_WORD


@lru_cache(maxsize=256)
def parse_question(text: str, language: str = "") -> ParsedQuestion:
    """The question ``text``, in a language or the one that its words tell; markup and addresses that came along with it
    are not asked about."""
    text = unmarked(text).translate(_ASKING)
    if text.rstrip().endswith(";") and language_by_script(text) == "el":
        text = f"{text.rstrip()[:-1]}?"  # as Greek asks
    language = language or language_of(text)
    words = vocabulary(language)
    terms = tuple(words.terms(text))
    named = list(_capitals(unspaced.without(text), words if language in (ENGLISH, "de") else None))
    named += [match.group(1) for match in QUOTED.finditer(text)]
    names = frozenset(term for name in named for term in words.terms(name)) & frozenset(terms)
    kind, opening = _opening(text, words)
    asking = frozenset(words.terms(opening) if kind == "number" else ()) & frozenset(terms)
    inquiry = ParsedQuestion(text, language, terms, names, asking, kind, ())
    parts = _parts(inquiry)
    inquiry = replace(inquiry, parts=parts, expects=parts[0].expects if len(parts) == 1 else inquiry.expects)
    return replace(inquiry, subject=_subject(inquiry))


def _capitals(text: str, dated: Vocabulary | None) -> Iterator[str]:
    """The words that are written as names, figures or identifiers; no month of a language that writes these so, but where
    it is part of a name: "the April Uprising"."""
    found = list(_NAME.finditer(text))
    beside = {end for match in found if match.group().isalpha() for end in match.span()}
    for match in found:
        alone = match.end() + 1 not in beside and match.start() - 1 not in beside
        if dated is None or not alone or match.group().casefold() not in dated.marks.months:
            yield match.group()


def whole_names(inquiry: ParsedQuestion) -> tuple[frozenset[str], ...]:
    """The names of a question, each as the terms of its words: of "Cape Verde" both. A figure is no name."""
    found: list[set[str]] = []
    end = -1
    for match in WORD.finditer(inquiry.text):
        terms = set(inquiry.words.terms(match.group())) & inquiry.names
        if not terms or not any(map(str.isalpha, match.group())):
            continue
        if found and inquiry.text[end : match.start()] in (" ", "-"):
            found[-1] |= terms
        else:
            found.append(terms)
        end = match.end()
    return tuple(map(frozenset, found))


def expected(text: str, words: Vocabulary) -> str:
    """The kind of answer that a question expects, "" for any."""
    return _opening(text, words)[0]


def _opening(text: str, words: Vocabulary) -> tuple[str, str]:
    """The kind of answer and the opening that tells it: the longest that the question, or its last clause, begins with;
    else one that stands anywhere in a question."""
    low = text.casefold().strip()
    clauses = [low, _CLAUSE.split(low)[-1]] if "?" in low else [low]
    openings = [(len(o), kind, o) for kind, every in words.opens.items() for o in every]
    for _, kind, opening in sorted(openings, reverse=True):
        if any(re.match(rf"{re.escape(opening)}\b", clause) for clause in clauses):
            return kind, opening
    if low.split(None, 1)[:1] and low.split(None, 1)[0] in words.polar:
        return "polar", ""
    if "?" in low:
        for _, kind, opening in sorted(openings, reverse=True):
            if kind in ("number", "date", "person", "place") and re.search(rf"\b{re.escape(opening)}\b", low):
                return kind, opening
    return "", ""


def _parts(inquiry: ParsedQuestion) -> tuple[Part, ...]:
    words = inquiry.words
    line = " ".join(inquiry.text.split())
    pieces = list(_pieces(line, inquiry))
    # All that a broad request names is to be covered; else what is told before the first question is no part.
    first = 0 if inquiry.is_broad else next((n for n, (_, asks) in enumerate(pieces) if asks), 0)
    context = " ".join(piece for piece, _ in pieces[:first])
    asked = [piece for piece, _ in pieces[first:] if words.terms(piece)]
    if len(asked) < 2 or (context and not words.terms(pieces[first][0])):
        kind = expected(f"{asked[0]}?", words) if asked and context else ""
        return (Part(inquiry.text, line, inquiry.terms, kind or inquiry.expects),)
    opening = _alone(asked[0], context, inquiry) if context else asked[0]
    queries = [opening, *(_alone(piece, f"{context} {asked[0]}", inquiry) for piece in asked[1:])]
    return tuple(
        Part(piece, query, tuple(words.terms(query)), expected(piece, words))
        for piece, query in zip(asked, queries, strict=True)
    )


def _pieces(line: str, inquiry: ParsedQuestion) -> Iterator[tuple[str, bool]]:
    """The pieces of a question, and whether each asks something."""
    for start, end in sentence_spans(line, 0, len(line)):
        sentence = line[start:end]
        cuts = [*inquiry.forms.breaks.finditer(sentence), None]
        here = 0
        for cut in cuts:
            piece = sentence[here : cut.start() if cut else None]
            here = cut.end() if cut else here
            mark = cut.group().strip() if cut else sentence[-1:]
            if piece := piece.strip(" ,."):
                yield piece, mark.startswith("?") or _asks(piece, inquiry, is_clause=mark == ",")


def _asks(piece: str, inquiry: ParsedQuestion, *, is_clause: bool) -> bool:
    """Whether a piece without a question mark asks or bids something. ``is_clause``: with nothing but a comma another
    one follows it, as "when I lit the lamp" is followed."""
    words, form = inquiry.words, inquiry.forms
    opening, *others = [word.casefold() for word in WORD.findall(piece)[:_OPENING_WORDS]] or [""]
    if is_clause and opening in form.subordinate and others and others[0] in words.function - words.polar:
        return False
    return (
        bool(expected(piece, words))
        or opening in form.commanding
        or not form.asking.isdisjoint([opening, *others])
    )


def _alone(piece: str, first: str, inquiry: ParsedQuestion) -> str:
    """A piece of a question as it can be asked alone: one without a name of the question takes those of the first."""
    names = frozenset(name for name in inquiry.names if not name.isdigit())
    if not names.isdisjoint(inquiry.words.terms(piece)):
        return piece
    told = inquiry.telling(first)
    return " ".join([piece, *([w for w in told if not names.isdisjoint(inquiry.words.terms(w))] or told)])


def _subject(inquiry: ParsedQuestion) -> str:
    """What follows "a short history of", what stands before "timeline", or all of a few words that ask nothing."""
    form, function = inquiry.forms, inquiry.words.function
    said = inquiry.text[:_SHORT_CHARS].strip(" .?!").split()
    asks = inquiry.expects not in _ANY_ANSWER or len(inquiry.text) > _SHORT_CHARS
    if asks or not said:
        return ""
    plain = [word.casefold().strip(".,:") for word in said]
    opening = next(
        (n for n, word in enumerate(plain) if word not in function | form.overview | form.bidding), len(said)
    )
    if not form.overview.isdisjoint(plain[:opening]):
        return " ".join(said[opening:])
    if plain[-1] in form.overview:
        return " ".join(said[:-1])
    asks_nothing = not inquiry.expects and plain[0] not in function and inquiry.text.strip()[-1] not in ".?!"
    bare = asks_nothing and _word_count(inquiry.terms) <= _MAX_BARE_TERMS
    return " ".join(said) if bare else ""


def question_parts(text: str) -> tuple[QuestionPart, ...]:
    """The parts of a question as a run knows them. A topic has one, itself."""
    inquiry = parse_question(text)
    if inquiry.subject or inquiry.is_topic or inquiry.is_broad:
        return (QuestionPart(id=part_id(text), text=" ".join(text.split())),)
    parts = (QuestionPart(id=part_id(p.query), text=p.text, expects=p.expects) for p in inquiry.parts)
    return tuple({part.id: part for part in parts}.values())


def forms(language: str) -> Forms:
    """Those of a language, or the English ones where it has no table."""
    every = _forms()
    return every.get(language, every[ENGLISH])


@cache
def _forms() -> Mapping[str, Forms]:
    found: dict[str, Forms] = {}
    for language, table in tomllib.loads(LANGUAGES.read_text(encoding="utf-8").casefold()).items():
        words = vocabulary(language)
        asked = table["asked"]
        opening = "|".join(sorted({*asked["opening"].split(), *words.polar}))
        joining = "|".join(asked["joining"].split())
        found[language] = Forms(
            breaks=regex(rf"[?;]+\s*|(?:,?\s+(?:{joining})|[,.!])\s+(?=(?:{opening})\b)", re.IGNORECASE),
            asking=frozenset(asked["opening"].split()),
            subordinate=frozenset(asked["subordinate"].split()),
            commanding=frozenset(asked["commanding"].split()),
            comparing=frozenset(asked["comparing"].split()),
            overview=frozenset(asked["overview"].split()),
            bidding=frozenset(asked["bidding"].split()),
            sides=tuple(asked["sides"]),
            requesting=frozenset(asked["requesting"].split()),
        )
    return found


def holds_kind(
    kind: str, text: str, words: Vocabulary, asked: Set[str], *, capitals: bool = True, shown: float = 0.0
) -> float:
    """How surely (0 to 1) the text has something of a kind beside the words that are ``asked``, by their stems. Names can
    be told where there are ``capitals``; ``shown`` is what its form says of its showing how something is done."""
    if not kind:
        return 0.0
    spoken = WORD.findall(text)
    low = {word.casefold() for word in spoken}
    fresh = " ".join(w for w in spoken if words.stem(w.casefold()) not in asked)
    if kind == "number":
        return 1.0 if any(map(str.isdecimal, fresh)) else 0.7 * bool(words.numerals & low)
    if kind == "date":
        return 1.0 if _YEAR.search(text) else 0.6 * bool(words.cues["date"] & low)
    if kind in ("person", "place", "list"):
        return min(1.0, len(_NAMED.findall(fresh)) / 2) if capitals else 0.5
    if kind == "definition":
        head = {words.stem(w.casefold()) for w in spoken[:7]}
        early = {w.casefold() for w in spoken[:12]}
        return float(bool(head & asked) and bool(words.cues["definition"] & early))
    if kind == "manner":
        return shown
    return float(bool(words.cues.get(kind, _NONE) & low))


def may_hold(kind: str, text: str, words: Vocabulary, asked: Set[str]) -> bool:
    """Whether the text can hold something of a kind at all: of a name any word will do that is written large, since a
    sentence may begin with it, and of a date any number ("within 14 days"). Texts without capitals may hold any."""
    if kind not in FORMAL:
        return True
    if kind == "date" and holds_kind("number", text, words, asked):
        return True
    if kind not in _NAMES:
        return holds_kind(kind, text, words, asked) > 0
    spoken = WORD.findall(text)
    large = (w for w in spoken if w[0].isupper() and w.casefold() not in words.function)
    return any(words.stem(w.casefold()) not in asked for w in large) or not any(map(str.isupper, text))
