"""JSON as weak models write it: comments, commas too many, single quotes, names of Python, and no end. Pure.

What is read is what stands there; nothing is completed. Of an object that stops before its end the fields that are whole
are given, and of a list among them the items that are.
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
_NUMBER = regex(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,4})?(?![\w.%])")
_WORD = regex(r"[A-Za-z_]\w{0,60}")
_ESCAPE = regex(r"\\(.)", re.DOTALL)
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
                made[name] = self._list(1, keeps=True) if self._next() == "[" else self._value(1)
                if self.cut is not None:
                    self.cut = name
                    break
                self._comma("}")
        except _Cut:
            self.cut = name if name not in made else ""
        return made

    def _value(self, depth: int) -> Any:
        sign = self._next()
        if depth > DEEPEST:
            raise _Broken
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._list(depth)
        if sign in "\"'“„":
            return self._string()
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
            made[name] = self._value(depth + 1)
            self._comma("}")
        return made

    def _list(self, depth: int, *, keeps: bool = False) -> list[Any]:
        """With ``keeps`` one that the text cuts has the items that are whole."""
        made: list[Any] = []
        self.place += 1
        try:
            while not self._closes("]"):
                made.append(self._value(depth + 1))
                self._comma("]")
        except _Cut:
            if not keeps:
                raise
            self.cut = ""
        return made

    def _name(self) -> str:
        sign = self._next()
        if sign in "\"'“„":
            name = self._string()
        elif (word := _WORD.match(self.text, self.place)) is not None:
            name, self.place = word.group(), word.end()
        else:
            raise _Broken
        if self._next() != ":":
            raise _Broken
        self.place += 1
        return name

    def _string(self) -> str:
        opens = self.text[self.place]
        if opens == '"':
            match = _DOUBLE.match(self.text, self.place)
            if match is None:
                raise _Cut
            self.place = match.end()
            return _unescaped(match.group(1))
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

    def _closes(self, mark: str) -> bool:
        """Whether the object or list ends here, after any commas; then it is left."""
        while self._next() == ",":
            self.place += 1
        if self._next() != mark:
            return False
        self.place += 1
        return True

    def _comma(self, closes: str) -> None:
        """One has to follow, or the end; between two objects it may be missing."""
        before = self.text[self.place - 1]
        sign = self._next()
        if sign not in (",", closes) and not (sign in '{["' and before in "}]"):
            raise _Broken

    def _next(self) -> str:
        """The next character that says something. Raises `_Cut` at the end of the text."""
        match = _SPACE.match(self.text, self.place)
        self.place = match.end() if match else self.place
        if self.place >= len(self.text):
            raise _Cut
        return self.text[self.place]


def _unescaped(held: str) -> str:
    """A text without its escapes; one that JSON does not know stands for its character."""
    known = _ESCAPE.sub(lambda m: m.group() if m.group(1) in '"\\/bfnrtu' else m.group(1), held)
    try:
        return str(json.loads(f'"{known}"', strict=False))
    except ValueError:
        raise _Broken from None
