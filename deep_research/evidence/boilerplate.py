"""What is on a page but says nothing: navigation, notices, captions, marks. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.words import Known
from deep_research.patterns import regex

_NOTICE = regex(
    r"\b(?:skip to (?:main )?content|edit (?:this page|on github)|all rights reserved|click here|back to top|"
    r"this (?:repository|repo)\b|"
    r"this is (?:the|an?) (?:read ?me|code|(?:official )?(?:implementation|repository|repo))\b|"
    r"(?:code|models?|data(?:sets?)?|demos?|project page)\b[^.]{0,60}\b(?:is|are|will be)\b[^.]{0,20}"
    r"\b(?:available|released|accessible)\b[^.]{0,30}(?:at\b|on\b|here\b|http|$)|"
    r"(?:available|found|released|accessible) (?:at|here|on)\b[^.]{0,12}(?:https?:|www\.|github))"
    r"|\A\W*(?:(?:this |the )?(?:page|article|document|site) (?:was )?)?last (?:modified|updated|edited)\b"
    r"|\A\W*retrieved (?:on|from)\b|\A\W*source code:|(?:©|\(c\)) ?copyright\b|\bcopyright (?:©|\(c\)|[12]\d{3})",
    re.IGNORECASE,
)
# What a button or a link says; in more words it may be what the text is about.
_BUTTON = regex(
    r"\b(?:edit this|view (?:page )?source|table of contents|cookies? (?:policy|settings)|privacy policy|"
    r"terms of (?:use|service)|sign (?:in|up)|log ?in to|subscribe to|read more|share (?:this|on)|"
    r"(?:previous|next) (?:page|topic))\b",
    re.IGNORECASE,
)
_BUTTON_WORDS = 5
_CAPTION = regex(
    r"(?:figure|fig\.|image|photo|table|plate)\s*\d*\s*[:.]|\[?(?:image|photo|file)\s*:", re.IGNORECASE
)
_MARKUP = regex(
    r">>> |\A\.\.\. \w+(?: \w+)?[ (.=]|[^\w\s]\s\.\.\. (?:\w+(?: \w+)?(?:\(|\.\w| ?=)"
    r"|(?:return|print|for|if|while|def|class|import|from|raise|yield|pass|else|with|try|except)\b)|"
    r"\\(?:href|cite|ref|url|text\w*)\s*\{|\{\{[^{}]{0,80}(?:\||\}\}\Z)|!\[|&\w{2,8};"
    r"|</?(?:a|abbr|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|nav|ol|p|pre|ref|script|span|strong|style|su[bp]|"
    r"table|t[dhr]|tbody|thead|ul)\b[^>]{0,300}>",
    re.IGNORECASE,
)
_ADDRESS = regex(r"(?:\bhttps?://|\bwww\.)\S*")
_BESIDE_ADDRESS = 5  # words that a sentence needs besides an address, to say something
# What stands in all that is taken for debris: one of these words or signs. Looking for them is so much quicker than for
# the patterns that long texts are looked through for them first.
_SIGN = regex(
    r"\b(?:skip|edit|rights|click|top|repo|repository|read(?:me)?|code|implementation|available|released|accessible|"
    r"modified|updated|edited|retrieved|(?:figure|fig|image|photo|table|plate)\d*|file|view|contents|cookies?|privacy|"
    r"terms|sign|log(?:in)?|subscribe|more|share|previous|next|copyright|source)\b|\.\.\.|http|www|github|>>>|</?[a-z]|\\[a-z]|\{\{|!\[|&\w",
    re.IGNORECASE,
)
_is_sign = Known(lambda word: _SIGN.search(word) is not None, most=100_000).__getitem__


def is_debris(text: str) -> bool:
    """Whether a sentence belongs to the page and not to what the page says."""
    if _NOTICE.search(text) or _CAPTION.match(text) or _MARKUP.search(text):
        return True
    if has_address(text) and len(_ADDRESS.sub(" ", text).split()) < _BESIDE_ADDRESS:
        return True
    return bool(_BUTTON.search(text)) and len(text.split()) <= _BUTTON_WORDS


def may_be_debris(text: str) -> bool:
    """Whether a sentence can be debris at all: it has a word that is in all debris."""
    return any(map(_is_sign, text.split()))


def has_address(text: str) -> bool:
    """Whether a web address stands in it, which few readers want in a summary of many texts."""
    return _ADDRESS.search(text) is not None
