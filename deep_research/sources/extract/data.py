"""JSON and lines of JSON as a text that people can read: an object is a section under its name, a value a line. Records
of one kind, a list of objects with the same names, become a table; others are sections by the name of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from deep_research.patterns import regex
from deep_research.sources.extract import html_text
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.formats import ExtractionRequest, Format
from deep_research.sources.extract.plaintext import UnreadableError, decode, parse_date
from deep_research.sources.extract.tables import line
from deep_research.text.plain import clean
from deep_research.text.rows import MAX_HEADER

MAX_DEPTH = 60
_MAX_RAW = 20_000_000
_MAX_NAME_CHARS = 120
_SHORT_CHARS = 300  # characters of a value that stands in a table
_MAX_ROW_DEPTH = 4  # objects within a record that is a row
_TITLES = ("title", "headline", "name")
_DATES = ("published", "date_published", "datePublished", "published_at", "publication_date", "date")
_AUTHORS = ("author", "creator", "byline")
_TAG = regex(r"(?i)</(?:p|div|span|a|b|i|em|strong|code|pre|ul|ol|li|table|blockquote|h[1-6])>|<br ?/?>")
_AS_WRITTEN = str  # of a number with a fraction: 0.100 is no 0.1, nor 0.00005 a 5e-05


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    if len(raw) > _MAX_RAW:
        raise UnreadableError(f"more than {_MAX_RAW:,} bytes of JSON", limit="size")
    text = decode(raw, declared=asked.charset or None)
    try:
        value = _lines(text) if asked.format is Format.JSON_LINES else _one(text)
    except RecursionError:
        raise UnreadableError(f"JSON nested more than {MAX_DEPTH} deep", limit="size") from None
    about = value if isinstance(value, dict) else {}
    return finished(
        raw,
        asked.name,
        title=_first_text(about, _TITLES),
        text=clean("\n".join(value_lines(value))).strip("\n"),
        published=parse_date(_first_text(about, _DATES)),
        author=_first_text(about, _AUTHORS),
        max_text_bytes=asked.max_text_bytes,
    )


def value_lines(value: Any, name: str = "", level: int = 0) -> Iterator[str]:
    """The lines of one value. Raises `UnreadableError` for what is nested too deeply."""
    if level > MAX_DEPTH:
        raise UnreadableError(f"JSON nested more than {MAX_DEPTH} deep", limit="size")
    if (inline := _in_line(value)) is not None:
        if inline:
            yield f"- {name}: {inline}" if name else f"- {inline}"
        return
    if name and value:
        yield f"\n{'#' * min(max(1, level), 6)} {name[:_MAX_NAME_CHARS]}\n"
    if isinstance(value, dict):
        inside = [(" ".join(str(key).split()), inner) for key, inner in value.items()]
        inside.sort(key=lambda each: _in_line(each[1]) is None)  # sections stand below the lines
        for key, inner in inside:
            if not name or inner != name or key not in _TITLES:  # which its heading says
                yield from value_lines(inner, key, level + 1)
    elif columns := _columns(rows := [_row(each) for each in value]):
        yield line(columns)
        yield from (line([row.get(column, "") for column in columns]) for row in rows)
        yield ""
    else:
        for number, each in enumerate(value, 1):
            own = (_name(each) or str(number)) if isinstance(each, (dict, list)) else ""
            yield from value_lines(each, own, level + 1)


def _in_line(value: Any) -> str | None:
    """What a line says of a value; None for what takes more than that."""
    if not isinstance(value, (dict, list)):
        return _plain(value)
    if value and (isinstance(value, dict) or any(isinstance(each, (dict, list)) for each in value)):
        return None
    text = ", ".join(map(_plain, value))
    return text if len(text) <= _SHORT_CHARS else None


def _name(value: Any) -> str:
    """What a record is called: its title, or the first words in it."""
    while isinstance(value, dict):
        first = (each for each in value.values() if isinstance(each, (str, dict)) and each)
        value = _first_text(value, _TITLES) or next(first, None)
    name = " ".join(value.split()) if isinstance(value, str) else ""
    return name if len(name) <= _MAX_NAME_CHARS else ""


def _row(value: Any, name: str = "", level: int = 0) -> dict[str, str]:
    """A record as a row: what is within by the names that lead to it. Empty for what does not fit into one."""
    if level > _MAX_ROW_DEPTH:
        return {}
    row: dict[str, str] = {}
    for key, inner in value.items() if isinstance(value, dict) else ():
        path = " ".join(f"{name} {key}".split())
        inline = _in_line(inner)
        within = {path: inline} if inline is not None else _row(inner, path, level + 1)
        if not within:
            return {}
        row |= within
    return row


def _columns(rows: list[dict[str, str]]) -> list[str]:
    """The names of the columns when the values are records that fit into a table."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    are_names = 2 <= len(columns) <= 30 and max(map(len, columns)) <= MAX_HEADER
    are_alike = len(rows) > 1 and all(len(row) * 2 >= len(columns) for row in rows)
    are_short = all(len(text) <= _SHORT_CHARS for row in rows for text in row.values())
    return columns if are_names and are_alike and are_short else []


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = _without_tags(value.strip()) if isinstance(value, str) else str(value)
    return " ".join(text.split()) if len(text) <= _SHORT_CHARS else text


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
    values, broken = [], 0
    for part in filter(str.strip, text.split("\n")):
        try:
            values.append(json.loads(part, parse_float=_AS_WRITTEN))
        except ValueError:
            broken += 1
    if broken * 10 > len(values):
        raise UnreadableError("not lines of JSON")
    return values


def _first_text(about: dict[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = about.get(name)
        value = value.get("name") if isinstance(value, dict) else value
        value = ", ".join(p for p in value if isinstance(p, str)) if isinstance(value, list) else value
        if isinstance(value, str) and value.strip():
            return value
    return ""
