"""Keeping secrets out of everything that is printed, stored or sent.

Three nets: values that were registered as secrets, in every form they may take on their way; values that
stand under a telling name (``api_key=…``, ``Authorization: …``); and strings that look like a known kind of
key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from deep_research import secret_values
from deep_research.errors import MAX_LINE_CHARS, bounded_line
from deep_research.patterns import regex
from deep_research.secret_values import MASK, MIN_CORE_CHARS, cut

_MIN_SECRET = 4  # anything shorter would black out ordinary text
_MAX_WORD_CHARS = 16
_MAX_DEPTH = 8
MAX_LOGGED_CHARS = 20_000  # of one text in the log, of a traceback say
MAX_LOGGED_ITEMS = 200

_SECRET_NAME = regex(
    r"(?:api|access|private|secret)[_-]?key|authorization|passw(?:or)?d|secret|cookie|credential|token$|^key$",
    re.IGNORECASE,
)

# Every quantifier before a value is bounded, so that a page of text is searched in linear time. The closing
# quote is optional, because texts are cut before they get here.
_IS = r"""\\{0,3}["']?\s{0,3}[:=]\s{0,3}"""
_VALUE = r"""(?:\\{0,3}"[^"]*"?|\\{0,3}'[^']*'?|[^\s"'\\&,;)}\]]+)"""
# What follows a part of a key that was masked already, since that part is registered by itself.
_REST = r"[a-z0-9_*-]*"
_MASKED = rf"[a-z0-9_-]*\*{{3}}{_REST}"
_NAMED = r"(?:(?:api|access|private|secret)[_-]?key|token|secret|passw(?:or)?d)"

_SHAPES = tuple(
    (regex(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        # Authorization: Bearer abc, "authorization": "Basic abc"
        (rf"(authorization{_IS})(?:(?:bearer|basic|token)\s{{1,3}})?{_VALUE}", rf"\1{MASK}"),
        (rf"\b(bearer\s{{1,3}})(?:[a-z0-9._~+/=*-]{{8,}}|{_MASKED})", rf"\1{MASK}"),
        # api_key=abc, "token": "abc", X-Api-Key: abc, password='abc'
        (rf"({_NAMED}{_IS}){_VALUE}", rf"\1{MASK}"),
        (r"""(\bkey=)[^\s"'\\&,;)}\]]+""", rf"\1{MASK}"),
        # https://user:password@host
        (r"(://[^\s/:@]{0,200}:)[^\s/@]{1,200}(?=@)", rf"\1{MASK}"),
        # Keys that tell by their look: OpenAI, Anthropic, Tavily, Perplexity, Slack
        (rf"(?<![a-z0-9])(?:sk|tvly|pplx|xox[a-z])-(?:[a-z0-9_-]{{12,}}{_REST}|{_MASKED})", MASK),
        # Groq, Hugging Face, GitHub
        (rf"(?<![a-z0-9])(?:gsk|hf|gh[a-z])_(?:[a-z0-9]{{16,}}{_REST}|{_MASKED})", MASK),
        # Google
        (rf"(?<![a-z0-9])AIza(?:[a-z0-9_-]{{16,}}{_REST}|{_MASKED})", MASK),
    )
)


_QUOTED_PATH = regex(r"""(?P<mark>['"])(?:file://)?(?P<path>/[^'"/\n]{1,255}/[^'"\n]{1,4096})(?P=mark)""")
_BARE_PATH = regex(r"""(?<![\w.:/…])(?:file://)?(?P<path>/[^\s/'":;,()]{1,255}/[^\s'":;,()]{1,4096})""")


def register_secret(value: str) -> None:
    """Never print this value again, nor its base64, URL-encoded or escaped forms: within the scope of an engine in what
    the engine does, else in the whole process. Values of fewer than 4 characters are left alone: hiding them would black
    out ordinary text."""
    if len(value) >= _MIN_SECRET:
        is_word = len(value) < MIN_CORE_CHARS or (value.isalpha() and len(value) < _MAX_WORD_CHARS)
        secret_values.keyring().add(value, unmistakable=not is_word)


def masked(text: str) -> str:
    """What is kept or sent, with ``***`` for each registered secret that cannot be taken for a word: of 8 characters at
    least, and if they are letters alone of 16."""
    return secret_values.unmistakable_secrets().hide(text)


def masked_value(value: Any) -> Any:
    """JSON with every text in it masked, but for names."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {name: masked_value(item) for name, item in value.items()}
    return [masked_value(item) for item in value] if isinstance(value, list) else value


def blotted(text: str) -> str:
    """As `masked`, with an asterisk for each character, so that all others keep their places."""
    return secret_values.unmistakable_secrets().blot(text)


def blotted_bytes(body: bytes) -> bytes:
    """As `blotted`, for the bytes of a page."""
    return secret_values.unmistakable_secrets().blot_bytes(body)


def holds_secret(body: bytes) -> bool:
    """Whether anything in it would be masked."""
    return secret_values.unmistakable_secrets().stand_in(body)


def redact(text: str) -> str:
    """The text with ``***`` for registered secrets, for what stands under a secret's name, and for what looks
    like a key. Redacting twice changes nothing more."""
    return _shapeless(secret_values.secrets().hide(text))


def safe_name(text: str) -> str:
    """A name, fit to be stored: as `masked`, and without what looks like a key."""
    return _shapeless(masked(text))


def _shapeless(text: str) -> str:
    for shape, replacement in _SHAPES:
        text = shape.sub(replacement, text)
    return text


def placeless(text: str) -> str:
    """What went wrong, without where things are on this machine: of each path its last name alone. What only looks like a
    path, such as an address at a service, begins with no folder of ours."""
    return _BARE_PATH.sub(_last_name, _QUOTED_PATH.sub(_last_name, text))


def _last_name(match: re.Match[str]) -> str:
    path = match["path"].rstrip("/")
    if not os.path.isdir("/" + path.split("/")[1]):
        return match[0]
    return match[0].replace(match["path"], f"…/{path.rpartition('/')[2]}")


def describe_error(error: BaseException) -> str:
    """What others raised, fit to be stored and shown: its type and text on one line, without secrets."""
    try:
        text = str(error)
    except Exception:  # anybody may have written it
        text = "it cannot be shown"
    return bounded_line(redact(cut(f"{type(error).__name__}: {text}", 2 * MAX_LINE_CHARS)))


def redact_value(value: object, depth: int = 0) -> Any:
    """A copy of nested data with every text cut and redacted and every value under a secret's name hidden, made only
    of what JSON carries. Never raises; anything deeper than 8 levels becomes text, and of long lists the first items
    are kept."""
    if value is None or isinstance(value, bool):
        return value
    # Comparisons are false for NaN, and JSON carries neither it nor endless integers.
    if isinstance(value, int | float) and -1e15 < value < 1e15:
        return value
    if depth < _MAX_DEPTH and isinstance(value, Mapping):
        return {
            redact(cut(_text(name), MAX_LOGGED_CHARS)): MASK
            if _names_secret(name) and item is not None
            else redact_value(item, depth + 1)
            for name, item in islice(value.items(), MAX_LOGGED_ITEMS)
        }
    if depth < _MAX_DEPTH and isinstance(value, list | tuple | set | frozenset):
        return [redact_value(item, depth + 1) for item in islice(value, MAX_LOGGED_ITEMS)]
    return redact(cut(_text(value), MAX_LOGGED_CHARS))


def _names_secret(name: object) -> bool:
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None


def _text(value: object) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "backslashreplace")
    try:
        return repr(value)
    except Exception:  # a value whose repr fails must not take the line, or the run, with it
        return f"<{type(value).__name__}>"
