"""Pages that only name things: indexes, contents, lists of links and of functions. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from re import Match

from deep_research.evidence import unspaced
from deep_research.evidence.passages import BlockKind, blocks
from deep_research.evidence.plain import unjoined
from deep_research.evidence.words import STOP_WORDS
from deep_research.patterns import regex

LEAST_LINES, LEAST_LENGTH = 20, 1_000  # lines and characters, from which on shares of a text can be judged
FEWEST_ENTRIES = 6  # of a shorter list, nearly every line of which has to be an entry
ENTRIES = 0.9  # of the lines
SENTENCES = 0.05  # of the text, less than which is in sentences
SHORT_LINES = 0.3  # of the lines, at least: a text without full stops has long ones
OTHERWISE = 0.5  # of the text, which may be tables or code: those hold data
SHORT = 6  # words of a line that is short, and of a sentence at least
LONG = 12  # words, from which on a sentence is one without a full stop, where it has a small word
_ENDS = ".!?…:;。！？।؟"
_MARKS = " \t-*+•"  # of a list
_CLOSING = " \t\"'”’»)]*_`」』"
LONGEST_ENTRY = 8  # words
LONGEST_NAME = 6  # words
IN_A_LINE = 4  # names between commas, from which on they are a list
PARTICLE = 3  # letters of a small word within a name: "Stevenson of Skerryvore", "Tour de la Vieille"
_LEADING = regex(r"^[ \t\-*+•·]*(?:\d{1,3}[.)] )?")
_LINK = regex(r"^(?:\[[^\]]*\]\([^)\s]*\)|<?https?://\S+>?)$")
_LINK_TEXT = regex(r"\[([^\]]*)\]\([^)\s]*\)")
_PAGE = r"\d{1,3}(?:[-–]\d{1,3})?"
_PAGES = regex(rf"(?:,\s*|\s*[.…]{{2,}}\s*|\s{{2,}}|\t)(?:{_PAGE}(?:,\s*{_PAGE})*|[ivxlc]{{1,6}})$")
_LAST_NUMBER = regex(r"\s(\d{1,3})$")
_SECTION = regex(r"^(\d{1,3}(?:\.\d{1,3})+)\.?\s")
_PAIR = regex(r"\s[-–—=→]+\s|[:(=|]")  # of a name with what is said of it
_IDENTIFIER = regex(r"^-{0,2}\w+(?:[_.:\-]+\w+)+(?:\(\))?$|^\w+\(\)$|^--?\w+$|^[a-z]+[A-Z]\w*$")
_SENTENCES = frozenset("。！？။។")  # end marks of scripts in which every line is of few words


def is_listing(text: str) -> bool:
    """Whether a text is entries without sentences, so that there is nothing in it to be quoted.

    What tells is general: hardly anything in it is a sentence, many lines are short, and it is neither tables nor code.
    Of a short text, of which shares say little, nearly every line has to be an entry: a name, a link, a heading with the
    number of its section or page. A name with a figure or with what is said of it is none. Takes time linear in the text.

    Example:
        >>> is_listing("\\n".join(f"- autovacuum_{n}, 12.{n}" for n in range(60)))
        True
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < LEAST_LINES or len(text) < LEAST_LENGTH:
        return _only_names(text)
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


def _only_names(text: str) -> bool:
    """Whether nearly every line of a short text is an entry, and no other is a sentence."""
    lines = []
    for block in blocks(text):
        if block.kind in (BlockKind.CODE, BlockKind.TABLE):
            return False
        if block.kind is not BlockKind.HEADING:
            lines += [_LEADING.sub("", line).strip() for line in text[block.start : block.end].split("\n")]
    lines = [line for line in lines if any(map(str.isalnum, line))]
    numbered = _ascending([_SECTION.search(line) for line in lines])
    paged = _ascending([_LAST_NUMBER.search(line) for line in lines])
    entries = [_entries(line, numbered=numbered, paged=paged) for line in lines]
    others = [line for line, count in zip(lines, entries, strict=True) if not count]
    few = len(lines) - len(others) >= ENTRIES * len(lines)
    return sum(entries) >= FEWEST_ENTRIES and few and not any(map(_is_sentence, others))


def _ascending(found: Sequence[Match[str] | None]) -> bool:
    """Whether nearly all lines have a number, and these go up, as those of sections and pages do."""
    numbers = [tuple(map(int, match[1].split("."))) for match in found if match is not None]
    several = len(set(numbers)) >= FEWEST_ENTRIES - 1 and len(numbers) >= ENTRIES * (len(found) - 1)
    return several and numbers == sorted(numbers)


def _entries(line: str, *, numbered: bool, paged: bool) -> int:
    """How many entries a line has; 0 for one that says something."""
    if _LINK.search(line):
        return 1
    bare = _LINK_TEXT.sub(r"\1", line)
    pages = _PAGES.search(bare) or (_LAST_NUMBER.search(bare) if paged else None)
    section = _SECTION.search(bare) if numbered else None
    if pages or section:
        bare = bare[: pages.start()] if pages else bare
        return int(unspaced.size(bare) <= LONGEST_ENTRY and not _ends(bare))
    names = [name.strip() for name in bare.rstrip(",;").replace(";", ",").replace("·", ",").split(",")]
    if 1 < len(names) < IN_A_LINE or not all(map(_is_name, names)):
        return 0
    return len(names)


def _is_name(text: str) -> bool:
    """Whether some words name a thing and say nothing of it: capitals, but for small words within, or identifiers."""
    words = text.split()
    if not words or len(words) > LONGEST_NAME:
        return False
    if all(map(_IDENTIFIER.search, words)):
        return True
    if _PAIR.search(text):
        return False
    small = [n for n, word in enumerate(words) if word[0].islower()]
    if any(n == 0 or len(words[n]) > PARTICLE for n in small) or 2 * len(small) > len(words):
        return False
    rest = [word for n, word in enumerate(words) if n not in small]
    return all(word[0].isupper() and not any(map(str.isdigit, word)) for word in rest) and not _ends(text)


def _ends(text: str) -> bool:
    """Whether words end as a sentence does."""
    return text.rstrip(_CLOSING)[-1:] in tuple(_ENDS)
