"""JSON and lines of JSON as an outline that people can read: a name, its value, and what lies within further in. Records
of one kind, a list of flat objects with the same names, become a table; other records stand apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from deep_research.evidence.plain import clean
from deep_research.patterns import regex
from deep_research.sources.extract import html_text
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.formats import Asked, Format
from deep_research.sources.extract.plaintext import UnreadableError, decode
from deep_research.sources.extract.tables import line
from deep_research.sources.extract.texts import parse_date

MAX_DEPTH = 60
_MAX_RAW = 20_000_000
_SHORT = 300  # characters of a value that stands in a table
_TITLES = ("title", "headline", "name")
_DATES = ("published", "date_published", "datePublished", "published_at", "publication_date", "date")
_AUTHORS = ("author", "creator", "byline")
_TAG = regex(
    r"</(?:p|div|span|a|b|i|em|strong|code|pre|ul|ol|li|table|blockquote|h[1-6])>|<br ?/?>", re.IGNORECASE
)
_AS_WRITTEN = str  # of a number with a fraction: 0.100 is no 0.1, nor 0.00005 a 5e-05


def read(raw: bytes, asked: Asked) -> Document:
    """Raises `UnreadableError`."""
    if len(raw) > _MAX_RAW:
        raise UnreadableError(f"more than {_MAX_RAW:,} bytes of JSON", limit="size")
    text = decode(raw, declared=asked.charset or None)
    try:
        value = _lines(text) if asked.format is Format.JSON_LINES else _one(text)
    except RecursionError:
        raise UnreadableError(f"JSON nested more than {MAX_DEPTH} deep", limit="size") from None
    about = value if isinstance(value, dict) else {}
    groups = groupby(about.items(), lambda each: each[0] if isinstance(each[1], (dict, list)) else None)
    parts: list[Any] = [dict(group) for _, group in groups] or [value]
    outline = clean("\n\n".join("\n".join(written(part, "", 0)).strip("\n") for part in parts))
    return finished(
        raw,
        asked.name,
        title=_said(about, _TITLES),
        text=outline,
        published=parse_date(_said(about, _DATES)),
        author=_said(about, _AUTHORS),
        max_text_bytes=asked.max_text_bytes,
    )


def written(value: Any, name: str, depth: int) -> Iterator[str]:
    """The lines of one value. Raises `UnreadableError` for what is nested too deeply."""
    if depth > MAX_DEPTH:
        raise UnreadableError(f"JSON nested more than {MAX_DEPTH} deep", limit="size")
    lead = "  " * max(0, depth - 1) + "- " if depth else ""
    if isinstance(value, dict):
        if name and value:
            yield f"{lead}{name}:"
        for key, inner in value.items():
            yield from written(inner, " ".join(str(key).split()), depth + bool(name))
    elif isinstance(value, list):
        yield from _written_list(value, name, depth, lead)
    elif (said := _plain(value)) or name:
        yield f"{lead}{name}: {said}" if name else f"{lead}{said}"


def _written_list(values: list[Any], name: str, depth: int, lead: str) -> Iterator[str]:
    if values and all(not isinstance(value, (dict, list)) for value in values):
        said = [_plain(value) for value in values]
        if name and sum(map(len, said)) <= _SHORT:
            yield f"{lead}{name}: {', '.join(said)}"
            return
    if name and values:
        yield f"{lead}{name}:"
    if columns := _columns(values):
        yield ""
        yield line(columns)
        for value in values:
            yield line([_plain(value.get(column)) for column in columns])
        yield ""
        return
    for number, value in enumerate(values, 1):
        if isinstance(value, (dict, list)):
            yield from written(value, str(number), depth + bool(name))
        else:
            yield from written(value, "", depth + 1)


def _columns(values: list[Any]) -> list[str]:
    """The names of the columns when the values are records that fit into a table."""
    if len(values) < 2 or not all(isinstance(value, dict) and value for value in values):
        return []
    columns = list(dict.fromkeys(key for value in values for key in value))
    fits = 2 <= len(columns) <= 30 and all(
        len(value) * 2 >= len(columns)
        and all(not isinstance(inner, (dict, list)) and len(str(inner)) <= _SHORT for inner in value.values())
        for value in values
    )
    return columns if fits else []


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    told = _without_tags(value.strip()) if isinstance(value, str) else str(value)
    return " ".join(told.split()) if len(told) <= _SHORT else told


def _without_tags(value: str) -> str:
    """What a value says that is a piece of a web page, as those of many services are."""
    if not (value.startswith("<") and value.endswith(">") and _TAG.search(value)):
        return value
    return html_text.extract(value) or value


def _one(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_AS_WRITTEN)
    except ValueError as error:
        try:
            return _lines(text)
        except UnreadableError:
            why = getattr(error, "msg", "a number that is too long")
            raise UnreadableError(f"not JSON: {why}, line {getattr(error, 'lineno', '?')}") from error


def _lines(text: str) -> list[Any]:
    """One value a line. A last line that was cut is left out, like any other that is broken, if most are whole."""
    found, broken = [], 0
    for part in filter(str.strip, text.split("\n")):
        try:
            found.append(json.loads(part, parse_float=_AS_WRITTEN))
        except ValueError:
            broken += 1
    if broken * 10 > len(found):
        raise UnreadableError("not lines of JSON")
    return found


def _said(about: dict[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = about.get(name)
        if isinstance(value, dict):
            value = value.get("name")
        if isinstance(value, list):
            value = ", ".join(part for part in value if isinstance(part, str))
        if isinstance(value, str) and value.strip():
            return value
    return ""
