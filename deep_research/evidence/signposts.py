"""Sentences that speak of the text itself: what it will tell, where it has told it, where more is told. Pure."""

from __future__ import annotations

import re

_PART = r"(?:chapter|section|page|tutorial|guide|document(?:ation)?|article|part|lesson|appendix|book)"
_SIGNS = re.compile(
    # "We will also look at …", "You'll learn …", "Let's try …"
    r"\b[Ww]e(?:['’]ll| will| shall)(?: (?:also|now|first|then|just|briefly))*"
    r" (?:cover|look|see|discuss|explore|learn|talk|examine|describe|explain|introduce|demonstrate"
    r"|go (?:over|through|into)|show|walk|define|use|start|begin|create|build|add|implement|write|try|fix|get|work|take"
    r"|say)\b"
    r"|\b[Yy]ou(?:['’]ll| will)(?: (?:also|now|first|then|even|briefly))* (?:learn|explore)\b"
    r"|\b[Ll]et(?:['’]s|(?= us\b))"
    # "as we saw", "in the next section", "this page lists", "Listing 3-1", "Table B contains"
    r"|\bas (?:we|you)(?:['’]ve)? (?:discussed|saw|seen|mentioned|learned|explained)\b"
    r"|\bwe(?:['’]ve)? (?:discussed|explored|mentioned|covered)\b"
    r"|\b(?:[Ii]n|of|from|to|see) (?:the )?"
    r"(?:next|following|previous|last|preceding|later|earlier|this|rest of (?:the|this))"
    rf" {_PART}s?\b"
    rf"|\b[Tt]his {_PART} (?:will |also |briefly )?(?:lists?|describes?|explains?|covers?|contains?|goes|shows?|discusses"
    r"|introduces|provides|is (?:about|intended|meant))\b"
    r"|\b(?:Chapter|Listing|Appendix) (?:\d+(?:[-–.]\d+)?|[A-Z]\b)"
    r"|\b(?:[Tt]able|[Ff]igure) (?:\d+|[A-Z])(?:[-–.]\d+)? (?:contains?|lists?|shows?|gives?|summari[sz]es?)\b"
    # "See the manual …", "For details, read …", "refer to the section …"
    r"|\A[Ss]ee(?: also\b|:| the\b| [A-Z/])"
    r"|\b(?:[Ff]or|with) (?:(?:more|further|additional|complete|full|detailed)"
    r" (?:information|details?|documentation|examples?|discussion)|details?)"
    r"[^.]{0,80}?\b(?:see|refer|consult|visit|read|check)\b"
    r"|\b(?:[Rr]efer|[Tt]urn|[Gg]o back) (?:back )?to (?:the )?(?:\w+ ){0,4}"
    r"(?:section|chapter|documentation|docs|page|guide)\b"
)


def is_signpost(sentence: str) -> bool:
    """Whether a sentence points through its text instead of telling something of the subject."""
    return _SIGNS.search(" ".join(sentence.split())) is not None
