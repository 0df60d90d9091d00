"""What is on a page but says nothing: navigation, notices, captions, marks. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.text import Known

_NOTICE = re.compile(
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
_BUTTON = re.compile(
    r"\b(?:edit this|view (?:page )?source|table of contents|cookies? (?:policy|settings)|privacy policy|"
    r"terms of (?:use|service)|sign (?:in|up)|log ?in to|subscribe to|read more|share (?:this|on)|"
    r"(?:previous|next) (?:page|topic))\b",
    re.IGNORECASE,
)
_BUTTON_WORDS = 5
_CAPTION = re.compile(
    r"(?:figure|fig\.|image|photo|table|plate)\s*\d*\s*[:.]|\[?(?:image|photo|file)\s*:", re.IGNORECASE
)
_MARKUP = re.compile(
    r">>> |\A\.\.\. \w+(?: \w+)?[ (.=]|[^\w\s]\s\.\.\. (?:\w+(?: \w+)?(?:\(|\.\w| ?=)"
    r"|(?:return|print|for|if|while|def|class|import|from|raise|yield|pass|else|with|try|except)\b)|"
    r"\\(?:href|cite|ref|url|text\w*)\s*\{|\{\{[^{}]{0,80}(?:\||\}\}\Z)|!\[|&\w{2,8};"
    r"|</?(?:a|abbr|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|nav|ol|p|pre|ref|script|span|strong|style|su[bp]|"
    r"table|t[dhr]|tbody|thead|ul)\b[^>]{0,300}>",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:\bhttps?://|\bwww\.)\S*")
_BESIDE_ADDRESS = 5  # words that a sentence needs besides an address, to say something
_MARKS = re.compile(r"\s*(?:¶|\[edit\]|\[citation needed\]|\u200b|\ufeff)")
# What stands in all that is taken for debris: one of these words or signs. Looking for them is so much quicker than for
# the patterns that long texts are looked through for them first.
_SIGN = re.compile(
    r"\b(?:skip|edit|rights|click|top|repo|repository|read(?:me)?|code|implementation|available|released|accessible|"
    r"modified|updated|edited|retrieved|(?:figure|fig|image|photo|table|plate)\d*|file|view|contents|cookies?|privacy|"
    r"terms|sign|log(?:in)?|subscribe|more|share|previous|next|copyright|source)\b|\.\.\.|http|www|github|>>>|</?[a-z]|\\[a-z]|\{\{|!\[|&\w",
    re.IGNORECASE,
)
_is_sign = Known(lambda word: _SIGN.search(word) is not None, most=100_000).__getitem__
# Words that tie a sentence to the one before; by itself it reads better without them.
_LINKING = re.compile(
    r"(?:However|Moreover|Furthermore|In addition|Additionally|To this end|Therefore|Thus|Hence|Consequently|"
    r"As a result|Besides|Meanwhile|Nevertheless|Nonetheless|Specifically|More specifically|In particular|"
    r"In contrast|On the other hand|For example|For instance|Indeed|Finally|Similarly|Likewise|Instead),\s+(?=\w)"
)


# What opens a note on a version, such as: Changed in version 0.10.
_OF_VERSION = re.compile(
    r"\W*(?:changed|added|new|deprecated|removed|versionadded) (?:in|since) (?:version )?v?\d", re.IGNORECASE
)
_ASKS_OF_VERSIONS = re.compile(
    r"\b(?:versions?|releases?|released|since|when|changed?|changes|added|new|deprecated|removed|\d+\.\d+)\b",
    re.IGNORECASE,
)
# How documents are called that list what each version changed.
_LOG = re.compile(
    r"(?:[\w.]+ )?(?:change ?log|release (?:notes|history)|version history)\b.{0,40}"
    r"|(?:changes|releases)(?: (?:in|of) .{0,40})?"
    r"|what['’]s new\b.{0,40}|news",
    re.IGNORECASE,
)


# "Version 1.2", "v1.2: the lamp", "[1.2.0] - 2024-05-01", "Orrel 1.2"; a number before a title is that of a section.
_VERSION_HEADING = re.compile(
    r"^#+ (?:[\w.-]+ )?(?:(?:version |release |v)\d+(?:\.\d+)+\w*\b[^\n]{0,40}"
    r"|\[?\d+(?:\.\d+)+\w*\]?(?:[ \t]*[-–—(:][^\n]{0,4}?(?:\d{1,2} )?(?:\w+ )?\d{4}\b[^\n]{0,20}"
    r"|[ \t]*[-–—(]?[ \t]*\(?unreleased\)?)?)[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_VERSIONS = 4  # headings of them at least


def notes_version(text: str, start: int = 0) -> bool:
    """Whether a text opens, at ``start``, with a note on a version."""
    return _OF_VERSION.match(text, start) is not None


def is_beside(text: str, question: str) -> bool:
    """Whether a sentence tells what a version changed, and the question is of no version and no change."""
    return notes_version(text) and _ASKS_OF_VERSIONS.search(question) is None


def is_record_of_versions(title: str, question: str, text: str = "") -> bool:
    """Whether a document lists what each version changed, as its title or most of its headings tell, and the question is
    of no version and no change."""
    if _ASKS_OF_VERSIONS.search(question):
        return False
    if _LOG.fullmatch(title.strip(" .:-#")):
        return True
    versions = sum(1 for _ in _VERSION_HEADING.finditer(text))
    return versions >= _VERSIONS and 2 * versions > sum(1 for _ in _HEADING.finditer(text))


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
