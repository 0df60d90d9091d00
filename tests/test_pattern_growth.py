"""Patterns take time in proportion to what they read, in whatever a page repeats."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

import deep_research
from deep_research.patterns import _Regex

pytestmark = pytest.mark.timed

# One long run of each kind of character, and of pairs that many patterns begin with.
KINDS = [
    *"aA0é中 \n\t-._/\\()[]{}<>&#\"'`*~|@:;,=+%!?^$\0",
    "a ",
    "a.",
    "a-",
    "a/",
    "a\n",
    "- ",
    "<a",
    "a<",
    "((",
    "[a",
]
KINDS += [
    "&#",
    "\\a",
    "a|",
    "| ",
    "a:",
    "a=",
    "A a",
    "0.",
    "0,",
    "a0",
    "Aa",
    "a@",
    "http://",
    "www.",
    "\n\n",
    "\n- ",
]
KINDS += [
    "```a\n",
    "\n```a",
    "\n| ",
    "\n# ",
    "  \n",
    "a. A",
    "$ ",
    " a ",
    "。",
    "%20",
    "&#x41;",
    "<a ",
    "</",
    "](",
    "[x](",
    "a: b, ",
]
FEW, MANY = 2_000, 8_000  # characters
# What these are asked of is short, or begins at the one place that is looked at.
SHORT = {
    "provenance.quotes._ITEM": "a passage, whose spaces and lines were put in order when its document was read",
    "text.passages._ITEM": "one line",
    "text.rows._NUMBER": "a cell of a few words",
    "models.lenient_json._AFTER_ITEM": "a match at one place",
    "models.lenient_json._AFTER_MEMBER": "a match at one place",
    "models.lenient_json._AFTER_NAME": "a match at one place",
}


@cache
def sources() -> dict[str, str]:
    root = Path(deep_research.__file__).parent
    return {
        ".".join(path.relative_to(root).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in root.rglob("*.py")
    }


def patterns() -> Iterator[tuple[str, Any]]:
    """All patterns of modules, also those in their tuples and tables, with what each is asked: search or match."""
    for found in pkgutil.walk_packages(deep_research.__path__, "deep_research."):
        name = found.name.removeprefix("deep_research.")
        if name.split(".")[0] == "testing" or name == "__main__":
            continue
        for at, value in vars(importlib.import_module(found.name)).items():
            several = value if isinstance(value, (tuple, list)) else (value,)
            flat = [each for one in several for each in (one if isinstance(one, (tuple, list)) else (one,))]
            if any(isinstance(each, _Regex) for each in flat) and re.search(
                rf"^{at}\b.* = ", sources().get(name, ""), re.M
            ):
                yield f"{name}.{at}", [each for each in flat if isinstance(each, _Regex)]


def asked(name: str) -> set[str]:
    """The methods by which a pattern is used, where it is made and where it is imported."""
    module, _, own = name.rpartition(".")
    used = re.compile(rf"\b{own}\.(search|finditer|findall|subn|sub|split|match|fullmatch)\b")
    imported = re.compile(rf"deep_research\.{re.escape(module)} import (?:\([^)]*|[^\n(]*)\b{own}\b")
    texts = [text for at, text in sources().items() if at == module or imported.search(text)]
    return {each for text in texts for each in used.findall(text)} or {"search"}


def spent(pattern: Any, methods: set[str], unit: str, size: int) -> float:
    text: Any = (unit * size)[:size]
    text = text.encode() if isinstance(pattern._text, bytes) else text
    began = thread_time()
    for method in methods & {"match", "fullmatch"}:
        getattr(pattern, method)(text)
    if methods - {"match", "fullmatch"}:
        for _ in pattern.finditer(text):
            pass
    return thread_time() - began


@pytest.mark.parametrize(
    ("name", "held"), [pytest.param(*each, id=each[0]) for each in patterns() if each[0] not in SHORT]
)
def test_a_pattern_takes_linear_time_in_one_long_run_of_any_kind_of_character(
    name: str, held: list[Any]
) -> None:
    methods = asked(name)
    for pattern in held:
        for unit in KINDS:
            if spent(pattern, methods, unit, MANY) < 0.005:
                continue
            ratios = (
                spent(pattern, methods, unit, MANY) / max(spent(pattern, methods, unit, FEW), 0.0002)
                for _ in range(5)
            )
            assert any(ratio < 10 for ratio in ratios), (name, unit)
