"""Fields of results as plain text within bounds, from what services send. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from deep_research.errors import bounded_line
from deep_research.logs import cut
from deep_research.models.characters import whole_characters
from deep_research.models.clients_wire import record, records, text
from deep_research.patterns import regex
from deep_research.sources.search.base import SearchResult
from deep_research.state import FirstLook, Mention
from deep_research.text.plain import clean

__all__ = [
    "address",
    "bounded",
    "bounded_look",
    "count",
    "day",
    "domains",
    "is_bounded_address",
    "language",
    "line",
    "names",
    "only",
    "record",
    "records",
    "shortened",
    "text",
    "whole",
]

MAX_TITLE_CHARS = 300
MAX_SNIPPET_CHARS = 1_000
MAX_NAME_CHARS = 200
MAX_URL_CHARS = 2_000
MAX_TEXT_CHARS = 2_000_000
# Of what services of others give.
MAX_ADDRESS_CHARS = 4_096
MAX_SHOWN_CHARS = 8_000  # of a snippet
MAX_NOTE_CHARS = 1_000
MAX_FACT_CHARS, MAX_FACTS = 1_000, 50
MAX_LABELS_CHARS = 100_000  # of the labels of pages, a line for each
LABELS = "page_labels"
MAX_MENTIONS, MAX_WORDS = 200, 2_000
MAX_AUTHORS = 50

_RAW_SIZE_RATIO = 8  # times the bound: characters that are looked at, since tags and entities go
_TAG = regex(r"<[a-zA-Z/!?][^<>]{0,1000}>")
# The inside of these is no text.
_HIDDEN = regex(r"<(script|style)\b[^<>]{0,1000}>.{0,20000}?</\1\s*>", re.IGNORECASE | re.DOTALL)
_UNSAFE = regex(r"[\x00-\x20\x7f<>\"\\^`{|}]|[^\S ]")
_ISO_DAY = regex(r"(\d{4}-\d{2}-\d{2})(?:$|[T\s])")
_MAX_COUNT = 10**9
_DOMAIN = regex(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.IGNORECASE)
_LANGUAGE = regex(r"[a-z]{2,3}")


def line(value: Any, most: int = MAX_SNIPPET_CHARS) -> str:
    """One line of plain text of at most ``most`` characters: tags and entities gone, spaces single, cut at a word and
    ended with ``…`` where it was longer. Empty where ``value`` is no text."""
    raw = text(value)[: most * _RAW_SIZE_RATIO]
    for _ in range(2):  # what was escaped twice
        raw = html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", raw))) if "<" in raw or "&" in raw else raw
    return shortened(" ".join(clean(_TAG.sub(" ", raw)).split()), most, "…")


def whole(value: Any) -> str:
    """A text with its lines, clean and within 2,000,000 characters. Empty where ``value`` is none."""
    return clean(text(value)[:MAX_TEXT_CHARS]).strip()


def shortened(words: str, most: int, end: str = "") -> str:
    """At most ``most`` characters, cut between words where there are any; ``end`` tells that it was."""
    if len(words) <= most:
        return words
    room = most - len(end)
    head = words[:room]
    if not (words[room].isspace() or head[-1:].isspace()):
        word_start = head.rstrip().rfind(" ")
        head = head[:word_start] if word_start > room // 2 else head
    return head.rstrip() + end


def address(value: Any) -> str | None:
    """An http(s) address that can be asked for and shown; None for any other."""
    url = value.strip() if isinstance(value, str) else ""
    if not url or len(url) > MAX_URL_CHARS or _UNSAFE.search(url) or clean(url) != url:
        return None
    try:
        parts = urlsplit(whole_characters(url))
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or parts.username is not None:
        return None
    return url


def day(value: Any) -> date | None:
    """The day that a service named, in ISO 8601 or as mails write it. A year or a month alone is none."""
    day_text = text(value).strip()[:100]
    match = _ISO_DAY.match(day_text)
    try:
        if match:
            return date.fromisoformat(match[1])
        moment: datetime = parsedate_to_datetime(day_text)
        return moment.date()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def count(value: Any) -> int | None:
    """A number of things; None where the service does not say."""
    whole_number = isinstance(value, int) and not isinstance(value, bool)
    return value if whole_number and 0 <= value <= _MAX_COUNT else None


def domains(hosts: Iterable[str]) -> list[str]:
    """Those that can stand in a query or a parameter, in the letters that the network uses."""
    ascii_names = []
    for name in hosts:
        plain = name.strip().strip(".")
        try:
            ascii_name = plain if plain.isascii() else plain.encode("idna").decode()
        except UnicodeError:
            continue
        if _DOMAIN.fullmatch(ascii_name):
            ascii_names.append(ascii_name.lower())
    return ascii_names


def language(code: str | None) -> str | None:
    """The language of a code such as ``de`` or ``pt-BR``, without its region; None for what is no code."""
    main = (code or "").strip().replace("_", "-").partition("-")[0].lower()
    return main if _LANGUAGE.fullmatch(main) else None


def names(values: Iterable[Any]) -> tuple[str, ...]:
    """Names of people, in their order, 50 at most."""
    lines = (line(value, MAX_NAME_CHARS) for value in values)
    return tuple(name for name in lines if name)[:MAX_AUTHORS]


def bounded(result: SearchResult) -> SearchResult:
    """A result of anybody's service with short fields cut and cleaned. Its texts are as they were: what is longer than a
    source may be is left out as a whole."""
    record = result.scholarly
    changed: dict[str, Any] = {
        "title": bounded_line(result.title, MAX_TITLE_CHARS),
        "snippet": cut(result.snippet, MAX_SHOWN_CHARS),
        "extract": result.extract and cut(result.extract, MAX_TEXT_CHARS),
        "authors": tuple(bounded_line(name, MAX_NAME_CHARS) for name in result.authors[:MAX_AUTHORS]),
        "language": result.language and bounded_line(result.language, MAX_NAME_CHARS),
        "provider": bounded_line(result.provider, MAX_NAME_CHARS),
        "snapshot_hash": result.snapshot_hash and bounded_line(result.snapshot_hash, MAX_NAME_CHARS),
        "scholarly": record
        and replace(
            record,
            doi=record.doi and bounded_line(record.doi, MAX_NAME_CHARS),
            arxiv=record.arxiv and bounded_line(record.arxiv, MAX_NAME_CHARS),
            venue=record.venue and bounded_line(record.venue, MAX_NAME_CHARS),
        ),
        "mentions": _bounded_mentions(result.mentions),
        "metadata": bounded_metadata(result.metadata),
    }
    return replace(result, **changed)


def bounded_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    """Facts with short names and values. The labels of pages keep their lines, one for each page."""
    return {
        bounded_line(name, MAX_NAME_CHARS): cut(clean(cut(value, MAX_LABELS_CHARS)), MAX_LABELS_CHARS)
        if name == LABELS
        else bounded_line(value, MAX_FACT_CHARS)
        for name, value in islice(metadata.items(), MAX_FACTS)
    }


def bounded_look(look: FirstLook) -> FirstLook:
    """A first look of anybody's service, with short names and few of them."""
    return look.model_copy(
        update={
            "names": _bounded_mentions(look.names),
            "words": {
                word: weight
                for word, weight in islice(look.words.items(), MAX_WORDS)
                if len(word) <= MAX_NAME_CHARS
            },
            "titles": tuple(bounded_line(title, MAX_TITLE_CHARS) for title in look.titles[:MAX_FACTS]),
            "snippets": tuple(bounded_line(text, MAX_SNIPPET_CHARS) for text in look.snippets[:MAX_FACTS]),
        }
    )


def _bounded_mentions(mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    return tuple(
        mention
        if len(mention.name) <= MAX_NAME_CHARS
        else mention.model_copy(update={"name": bounded_line(mention.name, MAX_NAME_CHARS)})
        for mention in mentions[:MAX_MENTIONS]
    )


def is_bounded_address(result: SearchResult) -> bool:
    """Whether its addresses can be asked for and shown: a part of one is another."""
    return all(len(at) <= MAX_ADDRESS_CHARS for at in (result.address, result.text_at or ""))


def only(facts: Mapping[str, Any]) -> dict[str, str]:
    """Facts that there are, each as a short line."""
    lines = {
        name: line(str(value), MAX_NAME_CHARS) for name, value in facts.items() if value not in (None, "")
    }
    return {name: value for name, value in lines.items() if value}
