"""Sentences that lean on what stands before them: by a pronoun, or a word that points back. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.dates import MONTHS
from deep_research.evidence.names import names_in
from deep_research.evidence.text import STOP_WORDS

NEAR = 8  # words in which a sentence says who or where is meant, if it does before it points to them
_DAY = rf"(?:\d{{1,2}} )?(?:(?:{'|'.join(MONTHS)}) )?(?:\d{{1,2}}, )?(?:\d{{4}},? )?"
# "It is often said that …" points at nothing, "It is used to …" does.
_EMPTY_IT = (
    r"(?: (?:is|was|may be|can be|has been)(?: often| also| \w+ly)?"
    r" (?!used|meant|able|made|designed)\w+ (?:that|to)\b)"
)
_BACK = (
    rf"it(?!{_EMPTY_IT})|he|she|they|his|her|its|their|this|these|that|those|such|the same|the (?:latter|former)"
    r"|one (?:that|which)|the (?:first|second|third|fourth|next|last|other) ones?\b"
    r"|(?:one|two|three|some|many|several|few|most|any|all|both|each|neither|none) of (?:it|them|these|those)"
)
_BEFORE_BACK = (
    rf"(?:in|on|at|by|from|since|until|after|before|for|of|because|if|when|while|as|although) (?:all )?{_DAY}"
    # "On 24 May 1543 it …"
)
_LINK = r"however|also|but|and|or|so(?! that)|then|thus|therefore|otherwise|instead(?! of)|rather(?! than)|another"
_OPENS_BACKWARD = re.compile(rf"(?:(?:{_BEFORE_BACK})?(?:{_BACK})|{_LINK})\b", re.IGNORECASE)
_OPENS_WITH_LINK = re.compile(rf"(?:{_LINK})\b", re.IGNORECASE)
# "At high tide it lies under water", "American troops burned it twice": no thing is named before.
_UNNAMED_IT = re.compile(
    r"(?:(?i:in|on|at|by|from|since|until|after|before|for|during|over|with|near) (?:[a-z0-9'’-]+ ){1,6}"
    r"|(?:[A-Za-z'’-]+ ){1,4}[a-z]+ed "
    r"|(?:(?:If|When|Once|Whenever|Before|After) )?(?:[Yy]ou|[Ww]e)(?:['’](?:ll|ve|d))? (?:[a-z]+ ){1,3}"
    rf")(?:it|them)\b(?!{_EMPTY_IT})"
)
# "A lime of this kind is …"
_OF_THIS_KIND = re.compile(r"(?:\w+ ){1,3}(?:of|like) (?:this|these|such)\b", re.IGNORECASE)
# "The hero of the second is …"
_OF_AN_ORDER = re.compile(
    r"(?:[\w'’-]+ ){1,4}of the (?:first|second|third|fourth|last|other|others) (?:is|was|are|were|has|had)\b"
)
# "The code above will limit …", "as described below", "the example above"
_ON_THE_PAGE = re.compile(
    r"\b(?:the|this|these|those) (?:[\w.-]+ )?(?:code|example|snippet|listing|command|function|script|section|table"
    r"|figure|links?|list|steps?|lines?|configuration|file) (?:above|below)\b"
    r"|\b(?:described|shown|mentioned|listed|given|explained|discussed|as|see|seen) (?:above|below)\b"
    r"|\bthe (?:above|aforementioned) \w+",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(?:he|she|him|his|her)\b", re.IGNORECASE)
# Not "there is a lamp".
_PLACE = re.compile(
    r"\bthere\b(?! (?:is|are|was|were|has been|have been|had been|will be|can be|may be|must be|seems?|remains?) "
    r"(?:an?|no|not|also|only|one|two|three|some|any|many|several|much|more|little|enough|nothing|something|\d+)\b)"
)
_AS_SUBJECT = re.compile(r"It ")
# Right under such a heading a text speaks of what its document is about.
_OF_NOTHING_ELSE = re.compile(
    r"#+ (?:today|now|the present|present day|history|overview|description|location|construction|status|legacy|name)",
    re.IGNORECASE,
)
_LONGEST_HEADING = 60  # characters of one, with the lines around it
_IS_NAME = re.compile(r"(?!.*\band\b)[^\W\d][^\d:;?!]*")
_CLAUSE = re.compile(r"[,;:]")
_NAMED_PLACE = re.compile(
    rf"\b(?i:at|in|on|of|to|near|off|from|left|reached) (?:the )?(?!(?i:{'|'.join(MONTHS)})\b)[A-Z]"
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_OF_A_COUNTRY = re.compile(r"[A-Z]\w+(?:ish|ch|ese|can|ian|man)\Z")


def leans_back(sentence: str) -> bool:
    """Whether a sentence points back to what stands before it: with its opening, with what it says is above, or because
    its first clause speaks of a person ("a ship carried him off") or a place ("the lamp there") and names none before."""
    sentence = " ".join(sentence.split())  # it may be wrapped
    if any(
        sign(sentence)
        for sign in (
            _OPENS_BACKWARD.match,
            _UNNAMED_IT.match,
            _OF_THIS_KIND.match,
            _OF_AN_ORDER.match,
            _ON_THE_PAGE.search,
        )
    ):
        return True
    head = " ".join(_CLAUSE.split(sentence, maxsplit=1)[0].split()[:NEAR])
    person, place = _PERSON.search(head), _PLACE.search(head)
    if person and not _names_someone(head[: person.start()]):
        return True
    return place is not None and _NAMED_PLACE.search(head, 0, place.start()) is None


def goes_on_only(sentence: str) -> bool:
    """Whether a sentence opens with a word that links it to the one before ("so", "however"), which a paragraph may open
    with and be understood."""
    return _OPENS_WITH_LINK.match(sentence.lstrip()) is not None


def _names_someone(text: str) -> bool:
    """Whether a capital in it stands for a name, and not for a beginning, a month or a people."""
    return any(
        word[0].isupper()
        and word.casefold() not in STOP_WORDS
        and word.casefold() not in MONTHS
        and not _OF_A_COUNTRY.match(word)
        and (place > 0 or _may_be_a_name(word))
        for place, word in enumerate(_WORD.findall(text))
    )


def _may_be_a_name(word: str) -> bool:
    """Whether a sentence's first word may be a name: what ends as plurals and verbs do is rather a common word."""
    return not word.endswith(("s", "ed", "ing", "ly"))


def after_its_subject(said: str, title: str, text: str, start: int) -> str:
    """A statement that opens with "It" right under a heading such as "Today", after the title of its document: that says
    what is meant, if it is a name."""
    above = text[max(0, start - _LONGEST_HEADING) : start].rstrip().rpartition("\n")[2]
    if title in said or not (
        _AS_SUBJECT.match(said) and _IS_NAME.fullmatch(title) and _OF_NOTHING_ELSE.fullmatch(above)
    ):
        return said
    return f"{title}: {said}" if names_in(title, text) else said
