"""What is on a page but says nothing: navigation, notices, captions, marks. Pure."""

from __future__ import annotations

import re

_NOTICE = re.compile(
    r"\b(?:skip to (?:main )?content|edit (?:this|on) (?:page|github)|view (?:page )?source|table of contents|"
    r"all rights reserved|cookie(?:s)? (?:policy|settings)|privacy policy|terms of (?:use|service)|"
    r"sign (?:in|up)|log ?in to|subscribe to|click here|read more|share (?:this|on)|back to top|"
    r"this (?:repository|repo)\b|"
    r"this is (?:the|an?) (?:read ?me|code|(?:official )?(?:implementation|repository|repo))\b|"
    r"last (?:modified|updated|edited)|retrieved (?:on|from)|previous (?:page|topic)|next (?:page|topic)|"
    r"(?:code|models?|data(?:sets?)?|demos?|project page)\b[^.]{0,60}\b(?:is|are|will be)\b[^.]{0,20}"
    r"\b(?:available|released|accessible)\b[^.]{0,30}(?:at\b|on\b|here\b|http|$)|"
    r"(?:available|found|released|accessible) (?:at|here|on)\b[^.]{0,12}(?:https?:|www\.|github))",
    re.IGNORECASE,
)
_CAPTION = re.compile(
    r"(?:figure|fig\.|image|photo|table|plate)\s*\d*\s*[:.]|\[?(?:image|photo|file)\s*:", re.IGNORECASE
)
_MARKUP = re.compile(
    r"\\(?:href|cite|ref|url|text\w*)\s*\{|\{\{|\}\}|</?\w+[^>]*>|https?://|\bwww\.|!\[|&\w{2,8};"
)
_MARKS = re.compile(r"\s*(?:¶|\[edit\]|\[citation needed\]|\u200b|\ufeff)")
# Words that tie a sentence to the one before; by itself it reads better without them.
_LINKING = re.compile(
    r"(?:However|Moreover|Furthermore|In addition|Additionally|To this end|Therefore|Thus|Hence|Consequently|"
    r"As a result|Besides|Meanwhile|Nevertheless|Nonetheless|Specifically|More specifically|In particular|"
    r"In contrast|On the other hand|For example|For instance|Indeed|Finally|Similarly|Likewise|Instead),\s+(?=\w)"
)


def is_debris(text: str) -> bool:
    """Whether a sentence belongs to the page and not to what the page says."""
    return bool(_NOTICE.search(text) or _CAPTION.match(text) or _MARKUP.search(text))


def without_marks(text: str) -> str:
    """Without paragraph signs and other marks that editors and sites leave behind."""
    return _MARKS.sub("", text)


def standing_alone(text: str) -> str:
    """Without the linking word that opens it, when what it linked to is not there."""
    match = _LINKING.match(text)
    if not match:
        return text
    rest = text[match.end() :]
    return rest[:1].upper() + rest[1:]
