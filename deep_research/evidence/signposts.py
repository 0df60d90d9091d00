"""Sentences that speak of the text itself: what it will tell, where it has told it, where more is told. Pure."""

from __future__ import annotations

import re

_PART = r"(?:chapter|section|page|tutorial|guide|document(?:ation)?|article|part|lesson|appendix|listing|book|module's page)"
_TELL = (
    r"(?:cover|look|see|discuss|explore|learn|talk|examine|describe|explain|introduce|demonstrate|go (?:over|through|into)"
    r"|show|walk|define|use|start|begin|create|build|add|implement|write|try|fix|get|work|take|say)"
)
_SIGNS = re.compile(
    rf"\b[Ww]e(?:['’]ll| will| shall)(?: (?:also|now|first|then|just|briefly))* {_TELL}\b"
    r"|\b[Yy]ou(?:['’]ll| will)(?: (?:also|now|first|then|even|briefly))* (?:learn|explore)\b"
    r"|\b[Ll]et(?:['’]s|(?= us\b))"
    rf"|\b(?:in|of|from|to|see) (?:the )?(?:next|following|previous|last|preceding|later|earlier|this|rest of (?:the|this)) {_PART}s?\b"
    r"|\b(?:Chapter|Listing|Appendix) (?:\d+(?:[-–.]\d+)?|[A-Z]\b)"
    r"|\b(?:[Tt]able|[Ff]igure) (?:\d+|[A-Z])(?:[-–.]\d+)? (?:contains?|lists?|shows?|gives?|summari[sz]es?)\b"
    r"|\A[Ss]ee(?: also\b|:| the\b| [A-Z/])"
    r"|\b(?:[Ff]or|with) (?:(?:more|further|additional|complete|full|detailed) (?:information|details?|documentation|examples?|discussion)|details?)"
    r"[^.]{0,80}?\b(?:see|refer|consult|visit|read|check)\b"
    r"|\b(?:[Rr]efer|[Tt]urn|[Gg]o back) (?:back )?to (?:the )?(?:\w+ ){0,4}(?:section|chapter|documentation|docs|page|guide)\b"
    rf"|\b[Tt]his {_PART} (?:will |also |briefly )?(?:lists?|describes?|explains?|covers?|contains?|goes|shows?|discusses|introduces|provides|is (?:about|intended|meant))\b"
    r"|\bas (?:we|you)(?:['’]ve)? (?:discussed|saw|seen|mentioned|learned|explained)\b|\bwe(?:['’]ve)? (?:discussed|explored|mentioned|covered)\b",
)


def is_signpost(sentence: str) -> bool:
    """Whether a sentence points through the text instead of telling something of its subject; one that announces a list
    or code tells it with that."""
    return _SIGNS.search(" ".join(sentence.split())) is not None
