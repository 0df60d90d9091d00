"""JSON as weak models write it: comments, commas too many or missing, single quotes, quotes and backslashes within texts
that are not escaped, names of Python, and no end. Pure.

What is read is what stands there; nothing is completed, and what can be read in two ways is not read. Of an object that
stops before its end the fields that are whole are given, and of a list among them the items that are.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from deep_research.patterns import regex

DEEPEST = 40
_SPACE = regex(r"(?:\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)*+", re.DOTALL)
_DOUBLE = regex(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_SINGLE_END = regex(r"(?<!\\)'(?=\s*(?:[,:\]}]|\Z))")
_NUMBER = regex(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,4})?(?![\w.%])")
_WORD = regex(r"[A-Za-z_]\w{0,60}")
_ESCAPE = regex(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_KNOWN = frozenset('"\\/bfnrt')  # what JSON has escapes for
MAX_PLAIN_QUOTES = 60  # within a text, that are looked at as its end
# What follows the end of a text: in an object the next name or its end, in a list the next value or its end; where a
# comma is missing, the next name or text.
_NAME = r"(?:[\"“„]\w[^\"\n:]{0,80}[\"”“]|'\w[^'\n:]{0,80}')\s*:"
_COMMENT = r"//|/\*|\#"
_REST = regex(r"\s*+\Z")
_AFTER_NAME = regex(r"\s*:")
_AFTER_MEMBER = regex(
    rf"\s*\}}|\s*,\s*(?:[,}}]|\w{{1,60}}\s*:|{_NAME}|{_COMMENT})|\s*{_NAME}|\s+(?:{_COMMENT})"
)
_AFTER_ITEM = regex(
    rf"\s*\]|\s*,\s*(?:[,\]\"'“„\[{{\d-]|true\b|false\b|null\b|{_COMMENT})|\s+(?:\"|{_COMMENT})",
    re.IGNORECASE,
)
_MEMBER = regex(_NAME)
# Within a text with quotes: what looks as if it were structure, and the text had ended before.
_STRUCTURE = regex(r"\"\s*(?:[:\]}]|,\s*[\"\[{])|\"\s+\"|[\[{]\s*\"")
_QUOTE = regex(r"\\.|\"", re.DOTALL)
_CURLY = {"“": "”", "„": "“"}
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


@dataclass(frozen=True, slots=True)
class Lenient:
    """An object of a text. ``cut`` names the field at which it stops: empty between fields, None where it is whole."""

    value: dict[str, Any]
    cut: str | None = None


class _Broken(Exception):  # noqa: N818 - it never leaves the module
    """This is no JSON, however lenient one is."""


class _Cut(Exception):  # noqa: N818
    """The text ends in the midst of a value."""


def lenient(text: str, start: int) -> Lenient | None:
    """The object that begins at ``start``; None where none does."""
    reader = _Reader(text, start)
    try:
        value = reader.root()
    except (_Broken, _Cut):
        return None
    return Lenient(value, reader.cut)


class _Reader:
    def __init__(self, text: str, place: int) -> None:
        self.text = text
        self.place = place
        self.cut: str | None = None

    def root(self) -> dict[str, Any]:
        """The outermost object: it keeps what is whole."""
        made: dict[str, Any] = {}
        self.place += 1
        name = ""
        try:
            while not self._closes("}"):
                name = ""
                name = self._name()
                made[name] = (
                    self._list(1, keeps=True) if self._next() == "[" else self._value(1, _AFTER_MEMBER)
                )
                if self.cut is not None:
                    self.cut = name
                    break
                self._comma("}")
        except _Cut:
            self.cut = name if name not in made else ""
        return made

    def _value(self, depth: int, after: re.Pattern[str]) -> Any:
        """``after``: what may follow a text here."""
        sign = self._next()
        if depth > DEEPEST:
            raise _Broken
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._list(depth)
        if sign in "\"'“„":
            return self._string(after)
        if (number := _NUMBER.match(self.text, self.place)) is not None:
            return self._number(number)
        word = _WORD.match(self.text, self.place)
        if word is None or word.end() == len(self.text):
            raise _Cut if word is not None or self.text[self.place :] in ("-", "+") else _Broken
        if word.group() not in _WORDS:
            raise _Broken
        self.place = word.end()
        return _WORDS[word.group()]

    def _number(self, match: re.Match[str]) -> int | float:
        if match.end() == len(self.text):
            raise _Cut  # more digits may have been meant to follow
        self.place = match.end()
        try:
            return int(match.group())
        except ValueError:
            number = float(match.group())
        if not math.isfinite(number):
            raise _Broken
        return number

    def _object(self, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        self.place += 1
        while not self._closes("}"):
            name = self._name()
            made[name] = self._value(depth + 1, _AFTER_MEMBER)
            self._comma("}")
        return made

    def _list(self, depth: int, *, keeps: bool = False) -> list[Any]:
        """With ``keeps`` one that the text cuts has the items that are whole."""
        made: list[Any] = []
        self.place += 1
        try:
            while not self._closes("]"):
                made.append(self._value(depth + 1, _AFTER_ITEM))
                self._comma("]")
        except _Cut:
            if not keeps:
                raise
            self.cut = ""
        return made

    def _name(self) -> str:
        sign = self._next()
        if sign in "\"'“„":
            name = self._string(_AFTER_NAME)
        elif (word := _WORD.match(self.text, self.place)) is not None:
            name, self.place = word.group(), word.end()
        else:
            raise _Broken
        if self._next() != ":":
            raise _Broken
        self.place += 1
        return name

    def _string(self, after: re.Pattern[str]) -> str:
        opens = self.text[self.place]
        if opens == '"':
            return self._double(after)
        if opens == "'":
            end = _SINGLE_END.search(self.text, self.place + 1)
            if end is None or end.end() == len(self.text):
                raise _Cut
            held = self.text[self.place + 1 : end.start()]
            self.place = end.end()
            return _unescaped(held.replace("\\'", "'").replace('"', '\\"').replace('\\\\"', '\\"'))
        stop = self.text.find(_CURLY[opens], self.place + 1)
        if stop < 0:
            raise _Cut
        held, self.place = self.text[self.place + 1 : stop], stop + 1
        return held

    def _double(self, after: re.Pattern[str]) -> str:
        """A text in double quotes, of which those within it may not be escaped. They come in pairs: of one that is left
        over nobody knows where the text ends."""
        begin, end, inner = self.place + 1, self.place, -1
        while inner < MAX_PLAIN_QUOTES:
            inner += 1
            match = _DOUBLE.match(self.text, end)
            if match is None:
                raise _Cut
            end = match.end() - 1
            if _REST.match(self.text, match.end()) is not None:
                raise _Cut  # it may have been a quote within the text
            if after.match(self.text, match.end()) is not None:
                break
            if after is _AFTER_NAME:
                raise _Broken
        held = self.text[begin:end]
        if inner and (inner % 2 or inner == MAX_PLAIN_QUOTES or _STRUCTURE.search(held)):
            raise _Broken
        self.place = end + 1
        return _unescaped(_QUOTE.sub(lambda m: '\\"' if m.group() == '"' else m.group(), held))

    def _closes(self, mark: str) -> bool:
        """Whether the object or list ends here, after any commas; then it is left."""
        while self._next() == ",":
            self.place += 1
        if self._next() != mark:
            return False
        self.place += 1
        return True

    def _comma(self, closes: str) -> None:
        """One has to follow, or the end; it may be missing before a name, and between texts, objects and lists, where the
        next shows by its sign that it is another. After a number it may not: the two may be one."""
        before = self.text[self.place - 1]
        sign = self._next()
        is_another = sign in '{["' and before in '}]"'
        if closes == "}":
            is_another = _MEMBER.match(self.text, self.place) is not None
        if sign not in (",", closes) and not is_another:
            raise _Broken

    def _next(self) -> str:
        """The next character that says something. Raises `_Cut` at the end of the text."""
        match = _SPACE.match(self.text, self.place)
        self.place = match.end() if match else self.place
        if self.place >= len(self.text):
            raise _Cut
        return self.text[self.place]


def _unescaped(held: str) -> str:
    """A text without its escapes; a sign that needs none stands for itself. Where a letter is escaped that JSON does not
    know, as in a path, the writer does not escape: all backslashes but those before quotes and backslashes stay."""
    letters = {match.group(1) for match in _ESCAPE.finditer(held) if match.group(1).isalnum()}
    is_plain = any(len(mark) == 1 and mark not in _KNOWN for mark in letters)

    def escape(match: re.Match[str]) -> str:
        mark = match.group(1)
        if len(mark) > 1 or mark in '"\\/' or (mark in _KNOWN and not is_plain):
            return match.group()
        return f"\\\\{mark}" if is_plain and mark != "'" else mark

    try:
        return str(json.loads(f'"{_ESCAPE.sub(escape, held)}"', strict=False))
    except ValueError:
        raise _Broken from None
