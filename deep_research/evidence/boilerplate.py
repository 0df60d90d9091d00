"""What stands in texts but says nothing: markup that nobody read as such, addresses, and long pages that only name
things, as indexes, contents, lists of links and of functions. Pure."""

from __future__ import annotations

import re

from deep_research.evidence import unspaced
from deep_research.evidence.passages import BlockKind, blocks
from deep_research.evidence.plain import unjoined
from deep_research.evidence.words import STOP_WORDS
from deep_research.patterns import regex

_MARKUP = regex(
    r">>> |\\(?:href|cite|ref|url|text\w*)\s*\{|\{\{[^{}]{0,80}(?:\||\}\}\Z)|!\[|&\w{2,8};"
    r"|</?(?:a|abbr|b|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|nav|ol|p|pre|ref|script|span|strong|style|su[bp]|"
    r"table|t[dhr]|tbody|thead|ul)\b[^>]{0,300}>",
    re.IGNORECASE,
)
_ADDRESS = regex(r"(?:\bhttps?://|\bwww\.)\S*")
_BESIDE_ADDRESS = 5  # words that a sentence needs besides an address, to say something

LEAST_LINES, LEAST_LENGTH = 20, 1_000  # lines and characters, from which on shares of a text can be judged
SENTENCES = 0.05  # of the text, less than which is in sentences
SHORT_LINES = 0.3  # of the lines, at least: a text without full stops has long ones
OTHERWISE = 0.5  # of the text, which may be tables or code: those hold data
SHORT = 6  # words of a line that is short, and of a sentence at least
LONG = 12  # words, from which on a sentence is one without a full stop, where it has a small word
_ENDS = ".!?…:;。！？।؟"
_MARKS = " \t-*+•"  # of a list
_CLOSING = " \t\"'”’»)]*_`」』"
_SENTENCES = frozenset("。！？။។")  # end marks of scripts in which every line is of few words


def is_debris(text: str) -> bool:
    """Whether a sentence has nothing to say to a reader."""
    if _MARKUP.search(text):
        return True
    return has_address(text) and len(_ADDRESS.sub(" ", text).split()) < _BESIDE_ADDRESS


def has_address(text: str) -> bool:
    """Whether a web address stands in it, which few readers want in a summary of many texts."""
    return _ADDRESS.search(text) is not None


def is_listing(text: str) -> bool:
    """Whether a text is entries without sentences, so that there is nothing in it to be quoted.

    What tells is general: hardly anything in it is a sentence, many lines are short, and it is neither tables nor code.
    A short text, of which shares say little, is none. Takes time linear in the text.

    Example:
        >>> is_listing("\\n".join(f"- autovacuum_{n}, 12.{n}" for n in range(60)))
        True
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < LEAST_LINES or len(text) < LEAST_LENGTH:
        return False
    short = sum(unspaced.size(line.lstrip(_MARKS)) <= SHORT for line in lines)
    if short < SHORT_LINES * len(lines) or not _SENTENCES.isdisjoint(text):
        return False
    whole = sum(map(len, lines))
    otherwise = said = 0
    for block in blocks(text):
        if block.kind in (BlockKind.CODE, BlockKind.TABLE):
            otherwise += block.end - block.start
        elif block.kind is not BlockKind.HEADING:
            said += sum(end - start for start, end in block.sentences(text) if _is_sentence(text[start:end]))
    return otherwise < OTHERWISE * whole and said < SENTENCES * whole


def _is_sentence(text: str) -> bool:
    words = text.split()
    if len(words) >= LONG and any(word.lower() in STOP_WORDS for word in words):
        return True
    return len(words) >= SHORT and unjoined(text).rstrip(_CLOSING)[-1] in _ENDS
