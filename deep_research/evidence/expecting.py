"""What an answer to a question should hold: a date, a sum, a reason, a name, a definition. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from deep_research.evidence.called import identifiers
from deep_research.evidence.contrasting import setting_apart
from deep_research.evidence.counting import COUNTED, UNIT
from deep_research.evidence.dates import OCCASION, WHEN
from deep_research.evidence.question import QuestionKind, compared, kind_of
from deep_research.evidence.relations import related
from deep_research.evidence.text import (
    ASKING_WEIGHT,
    DECADE,
    NAME_WEIGHT,
    asks_effect,
    asks_merits,
    is_name_like,
    question_terms,
    stem,
    words,
)

# What an answer to each kind of question tends to hold.
_ITEM = r"(?:[^\s.;:,]+ ){0,5}[^\s.;:,]+"
_LIST = rf"{_ITEM}(?:, {_ITEM}){{1,12}},? and {_ITEM}"
REASON = r"(?i:\b(?:because|since|due to|so that|owing to|cause[ds]?)\b)"
_MONEY = r"[$£€¥]\s?\d|\d[\d,.]* (?:(?:thousand|million|billion) )?(?:pounds|dollars|euros|francs|marks|guineas|cents)\b"
_SPELLED = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred"
)
_LIVED = r"\b(?:born|birth|die|dies|died|death|live|lives|lived)\b"
# "(1772–1850)" dates a life, and nothing else that a sentence tells of somebody.
_OTHER_DATE = (
    r"(?<!\(\d{4}[–-])\b(?:1\d{3}|20\d\d)\b(?![–-]\d{4}\))|\bcentur(?:y|ies)\b|\b\d+ (?:BC|AD)\b|\bAD \d"
)
_DATE = r"\b1\d{3}\b|\b20\d\d\b|\bcentur(?:y|ies)\b|\b\d+ (?:BC|AD)\b|\bAD \d"
_DURATION = (
    rf"(?:\d[\s\u00a0-]?|\b(?i:{_SPELLED}|half an?|an?) )(?i:(?:centur(?:y|ies)|decades?|years?|months?|weeks?|days?"
    r"|hours?|minutes?|seconds?)\b)"
)
# Since when something is: "built in 1703", "1703 (finished)", "Year: 1703".
_BEGUN = (
    r"(?i:\b(?:built|rebuilt|founded|established|since|dat(?:es?|ing) (?:from|back)|begun|began|finished|completed|lit"
    r"|erected|opened|raised|created|born|constructed|released|aged|year|years old|centuries old)\b)"
    rf"[^.;]{{0,60}}?(?:{_DATE})|(?:{_DATE})[^.;]{{0,40}}?\b(?i:built|founded|finished|completed|first lit|born|begun)\b"
    r"|\d (?:years|centuries) old\b"
)
_COUNT = "two|three|four|five|six|seven|eight|nine|ten|several|\\d+"
_FOR_WHAT = (
    r"(?i:\b(?:use|used|useful|helpful|suited|suitable|ideal|intended|recommended|good|best|meant|needed)\b[^.]{0,40}?"
    r"\b(?:when|whenever|if|for|where|situations|cases|circumstances|occasions)\b)"
)
_DEFAULT = r"\bdefaults?\b"
_WHO = r"\b[A-Z][\w'’-]+ [A-Z][\w'’-]+"
_OTHER_WHO = r"\b(?!(?:{0})\b)[A-Z][\w'’-]+ (?!(?:{0})\b)[A-Z][\w'’-]+"  # than what the question names
# What is asked with an auxiliary verb is answered by one of two words.
_CLOSED = re.compile(
    r"\s*(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|must)\s+(?!\w+ (?:or)\b)",
    re.IGNORECASE,
)
_SAYS_YES = re.compile(
    r"\b(?:says?|said|answer is|answered) (?:yes|no)\b(?! (?:to|one|more|other|doubt)\b)", re.IGNORECASE
)
YES_OR_NO = re.compile(r"(?:Yes|No)\b(?=[.,:;!—–-])")
_EXPECTED = tuple(
    (re.compile(rf"\b(?:{asking})\b", re.IGNORECASE), re.compile(answer))
    for asking, answer in (
        (_DEFAULT, rf"(?i:{_DEFAULT}|\bif (?:it is )?not (?:set|given|specified)\b)"),
        (OCCASION, _FOR_WHAT),
        (rf"(?:{WHEN}|which year|what year|what date).*{_LIVED}", _DATE),
        (f"{WHEN}|which year|what year|what date", _OTHER_DATE),
        (r"how old|what age|what is the age of", _BEGUN),
        (
            r"how much\b.*\b(?:costs?|paid|pay|price)\b|what d(?:id|oes|o)\b.*\bcost\b|\b(?:price|expenses?|costs?) of",
            _MONEY,
        ),
        (r"how long\b.*\b(?:takes?|took|lasts?|last(?:ed|ing))\b", _DURATION),
        (
            "how (?:tall|high|deep|wide)|height|what (?:is|was) the (?:depth|width)",
            rf"(?:\d[\s\u00a0-]?|\b(?i:{_SPELLED}) )(?:m|cm|mm|ft|feet|foot|inch(?:es)?|fathoms?|metres?|meters?)\b",
        ),
        (
            "how (?:long|far)|length",
            rf"(?:\d[\s\u00a0-]?|\b(?i:{_SPELLED}) )(?:m|km|cm|mm|ft|feet|foot|metres?|meters?|miles?"
            r"|years?|months?|weeks?|days?|hours?|minutes?|seconds?)\b",
        ),
        (rf"how many (?:{UNIT})", r"\d"),
        ("how many", COUNTED),
        ("how (?:much|old|fast|heavy)", r"\d"),
        (
            rf"(?:which|what) (?:{_COUNT})|(?:list|name) the|(?:which|what) (?:are|were) the",
            _LIST,
        ),
        (
            "(?:what|which) (?:kind|type|sort|name)|what \\w+ (?:is|are|was|were) called",
            r"(?i:\b(?:called|named|known as|kinds?|types?|sorts?)\b)",
        ),
        (
            r"why|for what reason|what (?:caused|causes|led to|leads to|made(?! up))"
            r"|what (?:is|was|are|were) the (?:\w+ )?(?:causes?|reasons?) (?:of|for|behind|that)",
            REASON,
        ),
        ("who(?:se|m)?", _WHO),
    )
)

# What each of them is called; empty where the pattern finds too much or too little to say that nothing fits.
_KINDS = (
    *("", "", "date", "date", "date", "sum of money", "length of time", "measure", "measure"),
    *3 * ("number",),
    *4 * ("",),
)
assert len(_KINDS) == len(_EXPECTED)

_PRESENT = re.compile(r"\s*when (?:is|are|do|does|will)\b", re.IGNORECASE)
_AGAIN = re.compile(r"\s*when (?:do|does) .{1,80}?(?P<doing>[a-z]+)\W*\Z", re.IGNORECASE | re.DOTALL)
_ONCE = frozenset(
    map(stem, words("start begin open close end finish launch arrive leave expire happen release place"))
)
AT_TIMES = re.compile(
    r"(?i:\b(?:when|whenever|after|before|once|if|during|as soon as|every time|at the (?:end|beginning|start))\b)"
)
# The same or a date, where either may be meant: "When does the lamp smoke?", "When does the fair end?"
AT_ANY_TIME = re.compile(rf"{AT_TIMES.pattern}|{_OTHER_DATE}|\b\d{{1,2}}:\d\d\b")
# What is otherwise than before.
EFFECT = re.compile(
    r"(?i:\b(?:no longer|since then|from then on|made it possible|fewer|safer|(?:could|can) now|led to|thanks to)\b)"
)
# What speaks for or against something.
MERITS = re.compile(
    r"(?i:\b(?:but|however|although|better|worse|best|useless|cheap\w*|expensive|slow\w*|fast\w*|eas(?:y|ier|ily)|harder"
    r"|difficult|(?:more|less) \w+ than|no need|avoids?|cannot|can't|risks?|(?:dis)?advantages?|benefits?|drawbacks?"
    r"|downsides?|trade-?offs?|limitations?|too (?!many\b)\w+)\b)"
)
EXPLAINED = re.compile(r"(?i:\bhow\b|\bworks?\b|\bworking\b|\bmechanism\b|\bprinciple\b|\bsteps\b)")
HAPPENED = re.compile(r"\bwhat (?:happened|happens|occurred|took place)\b", re.IGNORECASE)
HOW_IT_WORKS = re.compile(r"\bhow\b.{0,30}\bworks?\b|\b(?:working|mechanism|principle)\b", re.IGNORECASE)
WORKING = frozenset(stem(word) for word in ("work", "working", "mechanism", "principle", "steps"))
# How a text tells with what something is done.
TO_DO = re.compile(
    r"(?i:\b(?:use|used (?:to|for)|call|provides?|implements?|allows?|lets?|supports?|returns?|creates?|enables?)\b)"
)
TELLS_HOW = (EXPLAINED, TO_DO)
_DEFINITION = re.compile(
    r"\s*(?:(?:what|who) (?:is|are|was|were)|define|what does)\s+(?:an? |the )?(?P<thing>[\w' -]{1,50}?)(?: mean)?\W*",
    re.IGNORECASE,
)
_OF_A_KIND = re.compile(r"\s*what (?:(?:is|was) an?|are|were) (?!the\b)", re.IGNORECASE)
_OF_A_PERSON = re.compile(r"\s*who\b", re.IGNORECASE)
_GLOSS = re.compile(r"(?:This|That) means\b|In other words\b|That is,")
_ONCE_WAS = re.compile(r"\b(?:was|were|had|did)\b")
# "What is signal theory?", and not "What is new?", "What is used for it?"
_BARE = re.compile(
    r"\s*[Ww]hat is (?!(?:an?|the|its?|his|her|their|my|our|your|this|that|new|wrong|different|missing|special|better"
    r"|best|important|possible|necessary|true|available|allowed|\w+ing\W*\Z)\b)"
    r"(?:(?!\w+ed\b|(?:about|as|at|by|for|from|in|of|on|there|to|when|with)\b)[a-z][a-z-]+ ?){1,3}\W*"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NOT_DONE = frozenset(("to", "can", "could", "may", "might", "will", "would", "should", "must", "you", "we"))
_LETTERS = 8  # of a thing that is called by them
NEAR_BY = 3  # words from what was done to "by"
_MOST_WORDS = 4  # of a thing that is to be defined
_HOW = re.compile(r"\bhow (?:do|does|did|is|are|was|were|can|to)\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def expected_answer(query: str) -> re.Pattern[str] | None:
    """What an answer should hold: a date, a number, a reason, a name; None when nothing can be told."""
    if decade := DECADE.search(query):
        return re.compile(rf"\b{decade.group()[:3]}\d\b")
    if sides := compared(query):
        return setting_apart(sides)
    if kind_of(query) is QuestionKind.HOW_TO:
        return TO_DO
    if asks_for_occasion(query):
        return AT_TIMES
    if asks_for_any_time(query):
        return AT_ANY_TIME
    if asks_effect(query):
        return EFFECT
    if asks_merits(query):
        return MERITS
    found = next((answer for asking, answer in _EXPECTED if asking.search(query)), None)
    if (thing := defined(query)) and of_a_person(query):
        return definition(thing)
    if asks_who(found) and (named := [w for w in words(query)[1:] if is_name_like(w)]):
        return re.compile(_OTHER_WHO.format("|".join(map(re.escape, named))))
    if found is None and _CLOSED.match(query):
        return YES_OR_NO
    if found is None and thing:
        return definition(thing)
    return EXPLAINED if found is None and _HOW.search(query) else found


def defined(query: str) -> str:
    """The thing of which a question asks what it is; empty when it asks something else."""
    match = _DEFINITION.fullmatch(query)
    return match["thing"] if match and len(match["thing"].split()) <= _MOST_WORDS else ""


def asks_for_kind(query: str) -> bool:
    """Whether it asks what things of a kind are: "a lamp", "lamps", and not "the Orrel lamp"."""
    return _OF_A_KIND.match(query) is not None and bool(defined(query))


def asks_what(query: str) -> bool:
    """Whether it asks what a kind of things is, or something else that has no name of its own."""
    return bool(defined(query)) and (asks_for_kind(query) or _BARE.fullmatch(query) is not None)


def tells_what(query: str, text: str) -> bool:
    """Whether a text says what it is that the question asks for; so too where it says what that is for, or describes it
    under its name."""
    thing = defined(query)
    return (
        fits(expected_answer(query), text)
        or purpose(thing).match(text) is not None
        or text.casefold().startswith(f"{thing.casefold()}:")
        or any(
            _tells_by_gloss(thing, text[: gap.start()], text[gap.end() :]) for gap in _SENTENCE.finditer(text)
        )
    )


def _tells_by_gloss(thing: str, said: str, meant: str) -> bool:
    return thing.casefold() in said.casefold() and _ONCE_WAS.search(said) is None and glosses(meant)


def asks_for_default(query: str) -> bool:
    """Whether a question asks what something is where nobody says it."""
    return re.search(rf"(?i:{_DEFAULT})", query) is not None and kind_of(query) is not QuestionKind.HOW_TO


def asks_for_occasion(query: str) -> bool:
    """Whether a question asks on what occasion a program does something, as in "When is open_door called?"."""
    return _PRESENT.match(query) is not None and bool(identifiers(query))


def asks_for_any_time(query: str) -> bool:
    """Whether a question may ask for a date as well as for an occasion, as in "When does a lamp smoke?"."""
    again = _AGAIN.match(query)
    return again is not None and stem(again["doing"]) not in _ONCE


def of_a_person(query: str) -> bool:
    """Whether it is somebody that a question is about."""
    return _OF_A_PERSON.match(query) is not None


def definition(thing: str) -> re.Pattern[str]:
    """How a sentence says what a thing is, in the singular or the plural."""
    name = re.escape(thing.removesuffix("s") or thing)
    otherwise = r"(?: \([^()]{1,40}\)|, or [^,]{1,30},)?"
    return re.compile(
        rf"(?i)(?:\A|(?<=[.!?]\s))\W{{0,3}}(?:(?:(?:an? |the |in \w+, (?:an? )?)?{name}(?:s|es)?{otherwise}"
        rf"|{_spelled_out(thing)}),?"
        r" (?:(?:is|are|was|were)\b(?! (?:now|already|still)\b)|(?:means?|refers? to|denotes?|represents?|comprises?"
        r"|consists? of|keeps? track of)\b|points? to\b(?= (?:an?|the|both|its)\b)|stands? for\b(?= [\"“]))"
        rf"|\w[^.:;]{{2,159}}?\b(?:(?:is|are|was|were) (?:\w+ )?(?:known as|called|termed|referred to as)"
        r"|(?:had|has|have) the (?:nick)?name)"
        rf" \W?(?:an? |the )?\W?{name}(?:s|es)?\b)"
    )


def _spelled_out(thing: str) -> str:
    """Words of which a thing's letters are the first: "a global lock (GL)". What none has where it is not of letters."""
    if not (thing.isalpha() and thing.isupper() and 1 < len(thing) <= _LETTERS):
        return r"(?!)"
    words_of = r"[\w’-]*[\s-]+(?:(?:of|the|and|for|in|to)\s+)?".join(thing)
    return rf"(?:an? |the )?{words_of}[\w’-]* \({thing}\)"


def purpose(thing: str) -> re.Pattern[str]:
    """How a sentence says what a thing is for, where none says what it is."""
    return re.compile(
        rf"(?i)(?:the )?{re.escape(thing)} (?:implements|provides|offers|lets|allows|enables|handles|manages)\b"
    )


def glosses(sentence: str) -> bool:
    """Whether a sentence says what the one before it means."""
    return _GLOSS.match(sentence) is not None


def wanted(query: str) -> str:
    """What kind of answer a question wants, in a word or two; empty when that cannot be told."""
    if (
        DECADE.search(query)
        or compared(query)
        or kind_of(query) is QuestionKind.HOW_TO
        or asks_for_occasion(query)
        or asks_for_any_time(query)
    ):
        return ""
    return next((_KINDS[place] for place, (asking, _) in enumerate(_EXPECTED) if asking.search(query)), "")


def fits(expected: re.Pattern[str] | None, text: str) -> bool:
    """Whether a text holds what is expected; "Yes" or "No" only where a sentence opens with it."""
    if expected is YES_OR_NO:
        places = (0, text.find("? ") + 2, text.find("?\n") + 2)
        return any(YES_OR_NO.match(text, place) for place in places) or _SAYS_YES.search(text) is not None
    return expected is not None and expected is not EXPLAINED and expected.search(text) is not None


def asks_why(query: str) -> bool:
    """Whether it is a reason."""
    expected = expected_answer(query)
    return expected is not None and expected.pattern == REASON


def asks_who(expected: re.Pattern[str] | None) -> bool:
    """Whether it is the name of somebody."""
    return expected is not None and expected.pattern.startswith((_WHO, _OTHER_WHO.partition("{")[0]))


def tells_who(question: str, text: str) -> bool:
    """Whether a text says by whom it was done, or names somebody that the question does not and says that he did it: "to
    build" is not done yet."""
    doing = {t for t, weight in question_terms(question).items() if ASKING_WEIGHT < weight < NAME_WEIGHT}
    every = words(text)
    done = [
        place
        for place, word in enumerate(every)
        if not related(stem(word)).isdisjoint(doing)
        and (not place or every[place - 1].casefold() not in _NOT_DONE)
    ]
    if any("by" in every[place + 1 : place + 1 + NEAR_BY] for place in done):
        return True
    return fits(expected_answer(question), text) and (not doing or bool(done))


def same_kind(one: re.Pattern[str] | None, other: re.Pattern[str] | None) -> bool:
    """Whether two questions expect the same."""
    return one is other or (asks_who(one) and asks_who(other))


def is_count(expected: re.Pattern[str] | None) -> bool:
    """Whether it is how many things there are."""
    return expected is not None and expected.pattern == COUNTED


def stands_apart(expected: re.Pattern[str] | None) -> bool:
    """Whether what is expected is often said in words of its own: a reason, a list, a sum of money."""
    return expected is not None and expected.pattern in (_LIST, REASON, _MONEY)
