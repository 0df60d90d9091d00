"""Sentences that speak of the text itself: what it will tell, where it has told it, where more is told. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.fragments import is_list

_PART = r"(?:chapter|section|page|tutorial|guide|document(?:ation)?|article|part|lesson|appendix|book)"
_TELL = (
    r"(?:cover|look|see|discuss|explore|learn|talk|examine|describe|explain|introduce|demonstrate|start|begin"
    r"|go (?:over|through|into)|walk)"
)
# What only stands beside what a sentence says: "(see Chapter 4)", ", as shown in Listing 8-1".
_BESIDE = re.compile(
    r"\([^()]*\)"
    r"|,? (?:as|which) (?:is )?(?:shown|seen|described|discussed|explained|we (?:saw|discussed|mentioned))\b[^.;:]*"
)
_SIGNS = re.compile(
    # "We will also look at …", "You'll learn …", "Let's try …"
    rf"\b[Ww]e(?:['’]ll| will| shall)(?: (?:also|now|first|then|just|briefly))* {_TELL}\b"
    r"|\A(?:(?:Now|Next|Then|First|Here|Finally|For this example|In this case),? |Now that [^,]{1,80}, )?[Ww]e['’]ll\b"
    r"|\b[Yy]ou(?:['’]ll| will)(?: (?:also|now|first|then|even|briefly))* (?:learn|explore)\b"
    r"|\A(?:First, |Next, |Now,? |Then, )?[Ll]et(?:['’]s|s us| us)(?: (?:also|now|first|then|start by))?"
    rf" (?:{_TELL}|take|try|consider|return|recap|create|use|add|run|make|write|build|rewrite|change|rectify|fix|move"
    r"|turn)\b"
    # "In the next section", "This page lists", "Listing 3-1 shows", "Table B contains"
    rf"|\A(?:In|At the end of) (?:the )?(?:next|following|previous|last|this|rest of (?:the|this)) {_PART}\b"
    r"(?! of (?:his|her|its|their|my|our)\b)"
    rf"|\bThis {_PART} (?:will |also |briefly )?(?:lists?|describes?|explains?|covers?|contains?|goes|shows?|discusses"
    r"|introduces|provides|is (?:about|intended|meant))\b"
    r"|\A(?:Chapter|Listing|Appendix|Table|Figure) (?:\d+|[A-Z])(?:[-–.]\d+)? "
    r"(?:contains?|lists?|shows?(?! that\b)|gives?|has|looks?|covers?|summari[sz]es?)\b"
    rf"|\b{_TELL}\b[^.]{{0,60}} in (?:Chapter|Appendix) (?:\d+|[A-Z])\b"
    # "See the manual …", "For details, read …", "refer to the section …"
    r"|\A[Ss]ee(?: also\b(?! the \w+ of\b)|:| the (?:\w+ ){1,3}(?:for|on|section|docs?|page|manual|guide)\b| [A-Z/])"
    r"|\b(?:[Ff]or|with) (?:(?:more|further|additional|complete|full|detailed)"
    r" (?:information|details?|documentation|examples?|discussion)|details?)"
    r"[^.]{0,80}?\b(?:see|refer|consult|visit|read|check)\b"
    r"|\A[Rr]efer (?:back )?to\b"
)


def is_signpost(sentence: str) -> bool:
    """Whether a sentence points through its text instead of telling something of the subject."""
    return _SIGNS.search(_BESIDE.sub("", " ".join(sentence.split()))) is not None


def only_points(quote: str) -> bool:
    """The same of a quote, which may tell something in the list that a signpost announces, if that is not of links."""
    return is_signpost(quote) and (not is_list(quote) or quote.startswith("See also"))
