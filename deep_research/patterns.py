"""Regular expressions that are compiled when they are first used: a program that only lists its runs needs none."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("finditer", "findall", "fullmatch", "match", "pattern", "search", "split", "sub", "subn")


class _Regex:
    """Stands for a pattern until something is asked of it."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        for method in _METHODS:  # found without coming here from now on
            self.__dict__[method] = getattr(compiled, method)
        return getattr(compiled, name)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, but nothing is compiled before the pattern is used.

    Example:
        _YEAR = regex(r"\\b\\d{4}\\b")
        _YEAR.findall("built in 1831")  # ["1831"]
    """
    return cast("re.Pattern[AnyStr]", _Regex(text, flags))
