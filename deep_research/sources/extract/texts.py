"""From the bytes of a text file to a document: title, readable text, date. The parser of each format is loaded when a
file first needs it. In plain text the words that a typewriter or a printer broke at the end of a line are made whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import PurePosixPath

from deep_research.patterns import regex
from deep_research.sources.extract.document import MAX_TEXT_BYTES, Document, finished
from deep_research.sources.extract.formats import SUFFIXES, ExtractionRequest, Format
from deep_research.sources.extract.plaintext import UnreadableError, decode, parse_date, words
from deep_research.text.plain import clean

_LETTERS = r"[^\W\d_]{1,40}"
# The two halves, the margin of the second, and what stands behind it up to the next space.
_BROKEN = regex(
    rf"(?<![^\W\d_])({_LETTERS})[-‐][ \t]{{0,5}}\n([ \t]{{0,80}})({_LETTERS})(?![^\W\d_])(\S{{0,80}})([ \t]{{0,80}})"
)
_AT_LINE_END = regex(r"[-‐][ \t]{0,5}\n")
_WORD = regex(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
# A hyphen before these stands for the rest of a word: "short- and long-term", "Haupt- und Nebeneingang".
_AND = words("and or nor to und oder bis bzw sowie et ou à y o e en of och og eller")
_MAX_PARSED_BYTES = 1_500_000  # bytes of markup; more would take its parser longer than a child may compute
_HEADING = regex(r"^#{1,6} (\S[^\n]*)$", re.MULTILINE)
_FENCED = regex(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_SOFT_HYPHEN = regex("\xad[ \t]{0,5}\r?\n")
_ADDRESS = regex(r"\s{0,9}<[^<>]{1,200}>")  # for letters, behind a name
_DATE_FIELDS = (
    "date",
    "published",
    "publish_date",
    "pubdate",
    "created",
    "updated",
    "lastmod",
    "last_modified",
)
_Read = tuple[str, str, str, date | None]  # title, author, text, day


def join_broken_words(text: str) -> str:
    """``text`` with its broken words joined: as it has them elsewhere, else without the hyphen, where the second half
    begins with a small letter. The rest of the second line stays a line.

    Example:
        join_broken_words("The break-\\nwater of Brenn")  # "The breakwater\\nof Brenn"
    """
    if not any(hyphen in text for hyphen in "-‐") or not _AT_LINE_END.search(text):
        return text
    word_counts = Counter(word.casefold().replace("‐", "-") for word in _WORD.findall(_BROKEN.sub(" ", text)))
    openings = {part for word in word_counts for part in word.split("-")[:-1]}  # of compounds

    def whole(match: re.Match[str]) -> str:
        first, margin, second, behind, space = match.groups()
        plain, parted = f"{first}{second}".casefold(), f"{first}-{second}".casefold()
        if second.casefold() in _AND and not word_counts[plain]:
            return match[0]
        is_word = word_counts[plain] >= word_counts[parted]
        if not word_counts[plain] and not word_counts[parted]:
            goes_on = second[0].islower() or (first.isupper() and second.isupper())
            is_of_more = behind.startswith(("-", "‐")) or text[max(0, match.start() - 1) : match.start()] in (
                "-",
                "‐",
            )
            is_compound = first.casefold() in openings and word_counts[second.casefold()] > 0
            is_word = goes_on and not is_of_more and not is_compound
        line = f"{first}{'' if is_word else '-'}{second}{behind}"
        return f"{line}\n{margin}" if space else line

    return _BROKEN.sub(whole, text)


def read_document(raw: bytes, name: str, *, max_text_bytes: int = MAX_TEXT_BYTES) -> Document:
    """The document in a file of somebody's own, by the suffix of its ``name``. Raises `UnreadableError`."""
    format_ = SUFFIXES.get(PurePosixPath(name).suffix.lower(), Format.TEXT)
    request = ExtractionRequest(format_, "", name, max_text_bytes, is_file=True)
    if format_ is Format.HTML:
        from deep_research.sources.extract import html

        return html.read(raw, request)
    return read(raw, request)


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Very long markup is read as plain text, as it stands. Raises `UnreadableError` for what is binary, in an unknown
    encoding, empty, or too long, and for markup that its library fails at or that is nested too deeply."""
    text = decode(raw, declared=asked.charset or None)
    if "\xad" in text:  # a hyphen that is seen at the end of a line alone
        text = _SOFT_HYPHEN.sub("-\n", text)
    text = clean(text)
    reads = _read_text if len(raw) > _MAX_PARSED_BYTES else _READERS.get(asked.format, _read_text)
    try:
        title, author, text, published = reads(text, asked.name)
    except RecursionError:
        raise UnreadableError("nested too deeply to be read", limit="size") from None
    except (ImportError, MemoryError, UnreadableError):
        raise
    except Exception as error:  # whatever the library fails at
        raise UnreadableError(f"markup that cannot be read ({type(error).__name__})") from error
    return finished(
        raw,
        asked.name,
        title=title,
        text=text,
        published=published,
        author=author,
        max_text_bytes=asked.max_text_bytes,
    )


def _read_markdown(text: str, name: str) -> _Read:
    from deep_research.sources.extract import markdown

    fields, body = markdown.front_matter(text)
    readable = clean(markdown.readable(body, is_mdx=name.lower().endswith(".mdx"))).strip()
    called = "" if "\n# " in f"\n{readable}" else fields.get("name")
    return fields.get("title") or called or first_heading(readable), "", readable, _first_date(fields)


def _read_rst(text: str, _name: str) -> _Read:
    from deep_research.sources.extract import rst

    page = rst.read(text)
    readable = clean(page.text).strip()
    author = _ADDRESS.sub("", page.fields.get("author", "")).strip(" ,")
    above = page.fields.get("title") if page.above else None  # every heading
    return above or first_heading(readable), author, readable, _first_date(page.fields)


def _read_text(text: str, _name: str) -> _Read:
    """A short first line that stands alone, or is in capitals, is the title."""
    stripped = join_broken_words(text.strip("\n").rstrip())
    first, _, rest = stripped.lstrip().partition("\n")
    alone = first.isupper() or not rest.split("\n", 1)[0].strip(" \t=-~*")
    titled = len(first) <= 120 and alone and bool(rest) and not first.rstrip().endswith((".", ":", ",", ";"))
    return first.strip("#=*- \t") if titled else "", "", stripped, None


_READERS: dict[str, Callable[[str, str], _Read]] = {Format.MARKDOWN: _read_markdown, Format.RST: _read_rst}


def first_heading(text: str) -> str:
    """What the first heading says that stands before any piece of code."""
    heading = _HEADING.search(text)
    fence = _FENCED.search(text)
    if not heading or (fence and fence.start() < heading.start()):
        return ""
    return heading.group(1)


def _first_date(fields: dict[str, str]) -> date | None:
    days = (parse_date(fields[name]) for name in _DATE_FIELDS if name in fields)
    return next((day for day in days if day), None)
