"""The service's own words in the body of an error, whatever its shape, and what they name. Pure.

Services, frameworks and proxies each have a shape of their own: an object, a text, a list, a page. Only what is meant to
be read is taken, since other parts may quote the request.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from deep_research.patterns import regex

MAX_DEPTH = 6
MAX_PARTS = 3  # of a list of errors, that are read
MAX_CHARS = 20_000  # of a text that is looked at
MAX_CODE_CHARS = 100
MIN_WINDOW_TOKENS, MAX_WINDOW_TOKENS = 512, 20_000_000

# Names under which words for the reader stand, the best first; names are compared without their case and marks.
_WORDS = (
    *(
        "message",
        "msg",
        "errordescription",
        "errormessage",
        "errormsg",
        "detail",
        "error",
        "errors",
        "details",
    ),
    *("err", "fault", "faultstring", "reason", "description", "problem", "text", "title"),
)
_LANGUAGE = regex(r"[a-z]{2}(?:[a-z]{2})?")
# Fields in which servers name the window that they have, what is in force before what a model could have.
_WINDOWS = (
    *(
        "nctx",
        "numctx",
        "loadedcontextlength",
        "maxmodellen",
        "maxseqlen",
        "maxsequencelength",
        "contextlength",
    ),
    *("contextwindow", "maxcontextlength", "maxcontexttokens", "maxtotaltokens", "maxinputtokens"),
)
_OUTPUTS = ("maxcompletiontokens", "maxoutputtokens")
MAX_UNKNOWN_OUTPUT_TOKENS = 8_192  # of the longest answer of a model of which only the window is told
_PAGE = regex(r"\s*<(?:!doctype|html|head|body|\?xml)", re.IGNORECASE)
_TITLE = regex(r"<(title|h1)\b[^<>]{0,200}>([^<]{1,500})<", re.IGNORECASE)
_TAG = regex(r"<[^<>]{0,500}>")

_NUMBER = r"(?<![\w.-])(\d{1,3}(?:[,_']\d{3}){1,3}|\d+)(?!\w|\.\d)"
_GAP = r"(?:(?!\bby\b)[^0-9]){0,80}?"
# How the window is named in words, the surest first.
_NAMED = tuple(
    regex(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:n_ctx(?:_\w+)?|num_ctx|max_seq_len|max_model_len|max_position_embeddings)\W{{1,12}}{_NUMBER}",
        rf"\d(?: tokens?)?\s*>=?\s*{_NUMBER}",
        rf"{_NUMBER}(?:[ -]tokens?)?,? (?:is the )?(?:maximum|max\b|context)",
        rf"\[\s*\d+\s*,\s*{_NUMBER}\s*\]",
        r"\b(?:exceed(?:s|ed|ing)?|(?:longer|greater|larger|more|less|fewer) than|must be|limit(?:ed)?|max(?:imum)?\b"
        rf"|at most|up to|only|fits?|context (?:length|window|size) (?:of|is)|<=?|above|over){_GAP}{_NUMBER}",
    )
)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """``message`` is what is said, ``code`` its name for programs; each empty where there is none. ``window`` is the size
    of the model's window in tokens where a field of the body has it."""

    message: str = ""
    code: str = ""
    window: int | None = None


def read_error(body: Any) -> ErrorBody:
    """Reads the body of an error, which is its JSON as data, or its text."""
    return ErrorBody(_message(body, 0)[:MAX_CHARS], _code(body), next(named_windows(body), None))


def limit_in(message: str) -> int | None:
    """The limit in tokens that the words of an error name: that of the window, or of the answer."""
    for pattern in _NAMED:
        for match in pattern.finditer(message[:MAX_CHARS]):
            if (tokens := as_window(int("".join(filter(str.isdigit, match.group(1)[:20]))))) is not None:
                return tokens
    return None


def as_window(value: Any) -> int | None:
    """The tokens of a window, if it can be one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and MIN_WINDOW_TOKENS <= value <= MAX_WINDOW_TOKENS else None


def told_window(data: Any, model: str) -> tuple[int, int] | None:
    """The tokens of a model's window and of its longest answer, from a list of models or from what a server says of
    itself; None where it says nothing of this model."""
    entries = (
        data
        if isinstance(data, list)
        else data.get("data", data.get("models"))
        if isinstance(data, Mapping)
        else None
    )
    if isinstance(entries, list):
        entries = [entry for entry in entries if isinstance(entry, Mapping)]
        named = [
            entry for entry in entries if model in (entry.get("id"), entry.get("name"), entry.get("key"))
        ]
        data = next(iter(named or (entries if len(entries) == 1 else ())), None)
    window = min(named_windows(data), default=None)  # a service behind may have less of it
    if window is None:
        return None
    outputs = (as_window(fields.get(name)) for fields in _records(data, 0) for name in _OUTPUTS)
    output = next(filter(None, outputs), min(window // 2, MAX_UNKNOWN_OUTPUT_TOKENS))
    return window, min(output, window)


def _message(value: Any, depth: int) -> str:
    if depth > MAX_DEPTH:
        return ""
    if isinstance(value, str):
        return _plain(value)
    if isinstance(value, list):
        parts = dict.fromkeys(_message(item, depth + 1) for item in value[:MAX_PARTS])
        return "; ".join(filter(None, parts))
    if not isinstance(value, Mapping):
        return ""
    fields = _folded(value)
    for name in _WORDS:
        if name in fields and (words := _message(fields[name], depth + 1) or _translated(fields[name])):
            # A field that was refused is named by its place in the request.
            place = fields.get("loc")
            named = ".".join(map(str, place[:MAX_DEPTH])) if isinstance(place, list) else ""
            behind = _behind(fields.get("metadata"), depth)
            return f"{named}: {words}" if named else f"{words}: {behind}" if behind else words
    return ""


def _translated(value: Any) -> str:
    """The words of one language, where they are given by language; of several in English."""
    fields = _folded(value) if isinstance(value, Mapping) else {}
    texts = {
        name: held for name, held in fields.items() if _LANGUAGE.fullmatch(name) and isinstance(held, str)
    }
    return _plain(texts.get("en") or next(iter(texts.values()), ""))


def _behind(metadata: Any, depth: int) -> str:
    """Returns the words of the service behind a router."""
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if isinstance(raw, str) and raw.lstrip().startswith(("{", "[")):
        try:
            raw = json.loads(raw[:MAX_CHARS])
        except (ValueError, RecursionError):
            return ""
    return _message(raw, depth + 1)


def _plain(text: str) -> str:
    """The text; of a page its title."""
    text = text[:MAX_CHARS].strip()
    if _PAGE.match(text) is None:
        return text
    titles = [" ".join(html.unescape(match.group(2)).split()) for match in _TITLE.finditer(text)]
    return next(filter(None, titles), "") or " ".join(html.unescape(_TAG.sub(" ", text)).split())


def _code(value: Any) -> str:
    if isinstance(value, list):
        return next(filter(None, map(_code, value[:MAX_PARTS])), "")
    if not isinstance(value, Mapping):
        return ""
    fields = _folded(value)
    for name in ("error", "errors"):
        if isinstance(fields.get(name), Mapping | list):
            return _code(fields[name])
    details = fields.get("details")
    exact = _folded(details).get("errorcode") if isinstance(details, Mapping) else None
    code = exact or fields.get("code") or fields.get("type")
    known = str(code) if isinstance(code, str | int) else ""
    return known[:MAX_CODE_CHARS].encode(errors="replace").decode()


def named_windows(data: Any) -> Iterator[int]:
    """The size of the window in tokens that the surest field of each object names."""
    for fields in _records(data, 0):
        sizes = filter(None, (as_window(fields.get(name)) for name in _WINDOWS))
        yield from islice(sizes, 1)


def _records(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """The fields of an object, or the first of a list, and of those within it."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, Mapping) or depth > MAX_DEPTH:
        return
    fields = _folded(value)
    yield fields
    for held in fields.values():
        if isinstance(held, Mapping):
            yield from _records(held, depth + 1)


def _folded(value: Mapping[Any, Any]) -> dict[str, Any]:
    """The fields by their names in lower case, without marks in them."""
    return {str(name).lower().replace("_", "").replace("-", ""): held for name, held in value.items()}
