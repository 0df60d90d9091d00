"""Choosing the words of a finding: which run of sentences of a passage answers best, and how it reads. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from deep_research.evidence.passages import BlockKind, blocks, sentences
from deep_research.evidence.question import compared
from deep_research.evidence.ranking import Passage, stems_of
from deep_research.evidence.rows import clauses, headers
from deep_research.evidence.text import DECADE, content_words, stem
from deep_research.state import Span

MAX_SENTENCES = 3
MAX_QUOTE_CHARS = 480
MAX_LIST_CHARS = 700  # of a sentence with the list that it announces
MAX_OPENING_CHARS = 360
MIN_OPENING_WORDS = 8
FAR_IN = 4_000  # characters in which the opening of a text is looked for
MIN_QUOTE_CHARS = 25
MAX_TERM_CHARS = 120
_BACK = r"he|she|it|they|his|her|its|their|this|these|that|those|such|the same"
_BEFORE_BACK = r"(?:in|on|at|by|from|since|until|after|before|for|of) (?:\d{4},? )?"  # "In 1543 it …"
_OPENS_BACKWARD = re.compile(rf"(?:(?:{_BEFORE_BACK})?(?:{_BACK})|however|also|but|and)\b", re.IGNORECASE)
_RULE = re.compile(r"([-=~^*_#])\1{3}")  # what underlines a heading or parts sections
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d\d\b")
_ITEM_MARK = re.compile(r"\n\s*(?:[-*+•]|(?P<number>\d{1,3})[.)])[ \t]+")
_CODE = re.compile(r"\w[_.(\[=]\w|\w_|_\w|\(\)")
_PROSE = re.compile(r"[^\W\d_]{2,}")
# What an answer to each kind of question tends to hold.
_ITEM = r"(?:[^\s.;:,]+ ){0,5}[^\s.;:,]+"
_LIST = rf"{_ITEM}(?:, {_ITEM}){{1,12}},? and {_ITEM}"
_REASON = r"(?i:\b(?:because|since|due to|so that|owing to|cause[ds]?)\b)"
_MONEY = r"[$£€¥]\s?\d|\d[\d,.]* (?:(?:thousand|million|billion) )?(?:pounds|dollars|euros|francs|marks|guineas|cents)\b"
_COUNT = "two|three|four|five|six|seven|eight|nine|ten|several|\\d+"
# What is asked with an auxiliary verb is answered by one of two words.
_CLOSED = re.compile(
    r"\s*(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|must)\s+(?!\w+ (?:or)\b)",
    re.IGNORECASE,
)
_SETS_APART = (
    r"(?is)(?=.*\b(?:than|unlike|whereas|while|instead|both|differ\w*|similar\w*|rather|same|but|contrast)\b)"
)
YES_OR_NO = re.compile(r"(?:Yes|No)\b(?=[.,:;!—–-])")
_EXPECTED = tuple(
    (re.compile(rf"\b(?:{asking})\b", re.IGNORECASE), re.compile(answer))
    for asking, answer in (
        ("when|which year|what year|what date|how old", r"\b1\d{3}\b|\b20\d\d\b"),
        (
            r"how much\b.*\b(?:costs?|paid|pay|price)\b|what d(?:id|oes|o)\b.*\bcost\b|\b(?:price|expenses?|costs?) of",
            _MONEY,
        ),
        (
            "how (?:tall|high|long|far|deep|wide)|height|length",
            r"\d[\s\u00a0-]?(?:m|km|cm|mm|ft|feet|foot|metres?|meters?|miles?|years?|days?|hours?|minutes?|seconds?)\b",
        ),
        ("how (?:many|much|old|fast|heavy)", r"\d"),
        (
            rf"(?:which|what) (?:{_COUNT})|(?:list|name) the|(?:which|what) (?:are|were) the",
            _LIST,
        ),
        (
            "(?:what|which) (?:kind|type|sort|name)|what \\w+ (?:is|are|was|were) called",
            r"(?i:\b(?:called|named|known as|kinds?|types?|sorts?)\b)",
        ),
        ("why", _REASON),
        ("who(?:se|m)?", r"\b[A-Z][\w'’-]+ [A-Z][\w'’-]+"),
    )
)

# What each of them is called; empty where the pattern finds too much or too little to say that nothing fits.
_KINDS = ("date", "sum of money", "measure", "number", "", "", "", "")
assert len(_KINDS) == len(_EXPECTED)

EXPLAINING_SENTENCES = 6  # of a quote that explains
MOST_BEFORE = 2  # sentences that a quote takes along for what it points back to
ANSWERS = 0.15  # for holding what is expected of an answer, beside a word of the question
EXPLAINED = re.compile(r"(?i:\bhow\b|\bworks?\b|\bworking\b|\bmechanism\b|\bprinciple\b|\bsteps\b)")
_HOW = re.compile(r"\bhow (?:do|does|did|is|are|was|were|can|to)\b", re.IGNORECASE)
_WORKING = frozenset(stem(w) for w in ["work", "working", "mechanism", "principle", "steps"])
LONGER = 0.03  # what a further sentence of a quote costs


class Quoted(NamedTuple):
    """``text[start:end]``, and the stems of the heading or question that it stands under: what that asks, it answers
    without saying it again."""

    start: int
    end: int
    under: frozenset[str]


def best_quote(
    text: str,
    passage: Passage,
    weights: Mapping[str, float],
    context: set[str],
    expected: re.Pattern[str] | None,
) -> Quoted | None:
    """The run of up to three sentences that covers most of the weight, the shortest of equals. One that leans on
    the sentence before takes it along."""
    spans: list[Span] = []
    under: list[frozenset[str]] = []
    above: frozenset[str] = frozenset()
    asked: dict[int, int] = {}  # where the question begins that the span at a place is the first to answer
    question = -1
    for span in _units(text, passage.span):
        if text[span.start] == "#" or text[span.end - 1] == "?":
            above = _above(text[span.start : span.end], weights, expected)
            question = span.start if text[span.start] != "#" else -1
        else:
            if question >= 0:
                asked[span.start] = question
                question = -1
            spans.append(span)
            named = headers(text, span.start, span.end) if " | " in text[span.start : span.end] else ()
            under.append(above | stems_of(" ".join(named)) if named else above)
    held = [stems_of(text[s.start : s.end]) for s in spans]
    answering = [
        (stands_apart(expected) or bool((own | of if expected is YES_OR_NO else own) & weights.keys()))
        and fits(expected, text[s.start : s.end])
        for s, own, of in zip(spans, held, under, strict=True)
    ]
    total = sum(weights.values())
    best: tuple[float, int, int] | None = None
    for first in range(len(spans)):
        present: set[str] = set()
        explains = expected is EXPLAINED and under[first] >= weights.keys()
        reasons = expected is not None and expected.pattern == _REASON
        most = EXPLAINING_SENTENCES if explains or reasons else MAX_SENTENCES
        for last in range(first, min(first + most, len(spans))):
            length = spans[last].end - spans[first].start
            apart = last > first and not (
                _flows(text, spans[last - 1], spans[last]) and under[last] == under[first]
            )
            if apart or (last > first and length > MAX_QUOTE_CHARS):
                break
            present |= held[last]
            # What the title says need not be said again; what the sentences say themselves counts a little more.
            said = present | context | under[first]
            itself = total if explains else weight_of(weights, present)
            value = (weight_of(weights, said) + 0.2 * itself) / total
            # An explanation takes its time, and a reason stands beside what it is the reason of.
            takes_time = under[first] >= weights.keys() or (reasons and not any(answering[first : last + 1]))
            longer = LONGER if takes_time else -LONGER
            value += longer * (last - first) - 0.0001 * length
            value += ANSWERS * any(answering[first : last + 1])
            value -= 0.3 * _is_scrap(text, spans[first], spans[last])
            value -= 0.3 * (not _is_enough(text[spans[first].start : spans[last].end]))
            if best is None or value > best[0] + 1e-9:
                best = value, first, last
    if best is None:
        return None
    _, first, last = best
    dated = {word for word in under[first] - context - weights.keys() if _YEAR.fullmatch(word)}
    for _ in range(MOST_BEFORE):
        points = _OPENS_BACKWARD.match(text, spans[first].start) is not None
        leans = points or _is_undated(text, spans[first], spans[last], dated)
        if not (leans and first and _flows(text, spans[first - 1], spans[first])):
            break
        if under[first - 1] != under[first]:
            break
        first -= 1
    start, end = _term(text, spans[first].start), spans[last].end
    if start in asked and YES_OR_NO.match(text, start):
        start = asked[start]  # "No." says nothing without its question
    good = _is_enough(text[start:end]) and not _is_scrap(text, spans[first], spans[last])
    return Quoted(start, end, under[first]) if good else None


def _units(text: str, span: Span) -> Iterator[Span]:
    """The sentences of a passage without lines of code. A sentence that announces a list is one with all its items."""
    told = [
        Span(start=start, end=end)
        for block in blocks(text, span.start, span.end)
        if block.kind is not BlockKind.CODE
        for start, end in block.sentences(text)
    ]
    here = 0
    while here < len(told):
        last = here
        if text[told[here].end - 1] == ":" and text[told[here].start] != "#":
            while last + 1 < len(told) and _is_next_item(text, told[last], told[last + 1]):
                last += 1
            if told[last].end - told[here].start > MAX_LIST_CHARS:
                last = here
        yield Span(start=told[here].start, end=told[last].end)
        here = last + 1


def _is_next_item(text: str, one: Span, other: Span) -> bool:
    """Whether a sentence opens the next item of a list, or goes on with one."""
    return _ITEM_MARK.fullmatch(text[one.end : other.start].lstrip(" ")) is not None or (
        text[one.end - 1] != ":" and _flows(text, one, other)
    )


def _above(heading: str, weights: Mapping[str, float], expected: re.Pattern[str] | None) -> frozenset[str]:
    """What a heading or question spares the sentences under it: its own words, and of a question that asks how
    something goes all words, where it announces just that of nothing else."""
    said = stems_of(heading)
    about = {stem(w) for w in content_words(heading)} - _WORKING
    if expected is EXPLAINED and EXPLAINED.search(heading) and about and about <= weights.keys():
        return frozenset(said | weights.keys())
    return frozenset(said)


def _is_undated(text: str, first: Span, last: Span, years: set[str]) -> bool:
    """Whether a quote speaks of a thing that its heading dates, in ``years`` that it does not tell."""
    return bool(years) and years.isdisjoint(_YEAR.findall(text, first.start, last.end))


def _is_enough(piece: str) -> bool:
    """Whether a quote says something by itself: names as programs write them are no words."""
    spoken = " ".join(token for token in piece.split() if _CODE.search(token) is None)
    return len(piece) >= MIN_QUOTE_CHARS and len(_PROSE.findall(spoken)) >= 4


def _term(text: str, start: int) -> int:
    """Where the term begins that the sentence at ``start`` describes, when it is the description of an entry in a
    list of definitions (the term is a paragraph of one line, then "- "); else ``start``."""
    if not text.endswith("\n\n- ", 0, start):
        return start
    end = len(text[max(0, start - MAX_TERM_CHARS - 8) : start - 2].rstrip()) + max(
        0, start - MAX_TERM_CHARS - 8
    )
    begin = text.rfind("\n", 0, end) + 1
    line = text[begin:end]
    is_term = 0 < len(line) <= MAX_TERM_CHARS and line[0] not in "#-|*`~" and line[-1] not in ".!?:;,"
    return begin if is_term and (not begin or text.endswith("\n\n", 0, begin)) else start


def opening(text: str, span: Span, *, alone: bool = False) -> Span | None:
    """How a passage begins: its first sentences that say something by themselves and follow each other. The opening of a
    text stands ``alone``: "This module" points at nothing before it."""
    told = sentences(text, span.start, min(span.end, span.start + FAR_IN))
    for first, sentence in enumerate(told):
        if not is_statement(text, sentence):
            continue
        if leans_back(text[sentence.start : sentence.end]) and not alone:
            continue
        last = first
        while (
            last + 1 < min(len(told), first + MAX_SENTENCES)
            and _flows(text, told[last], told[last + 1])
            and is_statement(text, told[last + 1])
            and told[last + 1].end - sentence.start <= MAX_OPENING_CHARS
        ):
            last += 1
        found = Span(start=sentence.start, end=told[last].end)
        if len(text[found.start : found.end].split()) >= MIN_OPENING_WORDS:
            return found
    return None


def is_list(text: str) -> bool:
    """Whether a quote is a list with what announces it."""
    return _ITEM_MARK.search(text) is not None


def leans_back(sentence: str) -> bool:
    """Whether a sentence opens by pointing back to what stands before it."""
    return _OPENS_BACKWARD.match(sentence) is not None


def readable(text: str, start: int = 0, end: int | None = None) -> str:
    """The quote ``text[start:end]`` as a sentence: one line, a row of a table with the headers of its columns (with
    commas, where they are not known), a term with a colon."""
    end = len(text) if end is None else end
    if told := clauses(text, start, end):
        return ". ".join((*(row.removesuffix(".") for row in told[:-1]), told[-1]))
    text = text[start:end]
    term, entry, description = text.partition("\n\n- ")
    if entry and term[-1:] != ":":
        text = f"{term}: {description}"
    text = _ITEM_MARK.sub(_inline, text)
    return " ".join(text.replace(" | ", ", ").replace("¶", "").split())


def _inline(mark: re.Match[str]) -> str:
    """What stands for the mark of an item in a running text."""
    before = mark.string[: mark.start()][-1:]
    between = " " if before in ",;:.!?" else "; "
    return f"{between}({mark['number']}) " if mark["number"] else between


def _flows(text: str, one: Span, other: Span) -> bool:
    """Whether two sentences follow each other in one paragraph: nothing but a space or line end between them,
    and neither is a row of a table."""
    between = text[one.end : other.start]
    return (
        not between.strip()
        and between.count("\n") < 2
        and " | " not in text[one.start : one.end]
        and " | " not in text[other.start : other.end]
    )


def _is_scrap(text: str, first: Span, last: Span) -> bool:
    """A heading, a list's fragment, a half sentence. A row of a table has no full stop and is none."""
    piece = text[first.start : last.end]
    if _RULE.search(piece):
        return True
    if " | " in piece:
        row, space = _line_above(text, first.start)
        opens = " | " not in row or space.count("\n") > 1
        # The first row of a table names its columns; two cells say enough only with their names.
        return opens or (piece.count("|") < 2 and not headers(text, first.start, last.end))
    if _ITEM_MARK.search(piece):
        return piece[0].islower()  # the items of a list need no full stop
    return piece[0].islower() or piece[-1] not in ".!…”\"'’)"


def _line_above(text: str, start: int) -> tuple[str, str]:
    """The last line before ``start`` that is not blank, and the white space between."""
    stop = start
    while stop and text[stop - 1] in " \n":
        stop -= 1
    return text[text.rfind("\n", 0, stop) + 1 : stop], text[stop:start]


def is_statement(text: str, span: Span, *, broken: bool = False) -> bool:
    """Whether a sentence says something by itself: no heading, question, fragment or row of a table. One that is
    known to be ``broken`` off need not end as sentences do."""
    if text[span.start] == "#" or text[span.end - 1] == "?" or " | " in text[span.start : span.end]:
        return False
    if broken:
        return not text[span.start].islower() and _RULE.search(text, span.start, span.end) is None
    return not _is_scrap(text, span, span)


def expected_answer(query: str) -> re.Pattern[str] | None:
    """What an answer should hold: a date, a number, a reason, a name; None when nothing can be told."""
    if decade := DECADE.search(query):
        return re.compile(rf"\b{decade.group()[:3]}\d\b")
    if sides := compared(query):
        return re.compile(_SETS_APART + "".join(rf"(?=.*\b{re.escape(_root(side))})" for side in sides))
    found = next((answer for asking, answer in _EXPECTED if asking.search(query)), None)
    if found is None and _CLOSED.match(query):
        return YES_OR_NO
    return EXPLAINED if found is None and _HOW.search(query) else found


def wanted(query: str) -> str:
    """What kind of answer a question wants, in a word or two; empty when that cannot be told."""
    if DECADE.search(query) or compared(query):
        return ""
    return next((_KINDS[place] for place, (asking, _) in enumerate(_EXPECTED) if asking.search(query)), "")


def _root(side: str) -> str:
    """How all forms of a name in lower case begin."""
    return side if side[:1].isupper() else side.removesuffix("s")


def fits(expected: re.Pattern[str] | None, text: str) -> bool:
    """Whether a text holds what is expected; "Yes" or "No" only where a sentence opens with it."""
    if expected is YES_OR_NO:
        return any(YES_OR_NO.match(text, place) for place in (0, text.find("? ") + 2, text.find("?\n") + 2))
    return expected is not None and expected is not EXPLAINED and expected.search(text) is not None


def stands_apart(expected: re.Pattern[str] | None) -> bool:
    """Whether what is expected is often said in words of its own: a reason, a list, a sum of money."""
    return expected is not None and expected.pattern in (_LIST, _REASON, _MONEY)


def weight_of(weights: Mapping[str, float], present: set[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in present)
