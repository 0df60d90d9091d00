"""Patterns are compiled when they are first used."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

import deep_research
from deep_research.patterns import _Regex, regex


@pytest.mark.parametrize("text", ["A wall of 1831.", b"A wall of 1831."])
def test_a_pattern_does_what_one_that_is_compiled_does(text: str | bytes) -> None:
    source = r"\d+" if isinstance(text, str) else rb"\d+"
    lazy, real = regex(source), re.compile(source)  # type: ignore[type-var]
    assert lazy.findall(text) == real.findall(text)
    assert lazy.sub(text[:1], text) == real.sub(text[:1], text)
    assert (lazy.pattern, lazy.flags) == (real.pattern, real.flags)


def test_a_pattern_that_is_none_is_told_when_it_is_used() -> None:
    with pytest.raises(re.error):
        regex("(").search("a")


COMPILING = """
import re._compiler, sys
compiled, compile_ = [], re._compiler.compile
def seen(pattern, flags=0):
    frame = sys._getframe(1)
    while frame and frame.f_globals['__name__'].partition('.')[0] == 're':
        frame = frame.f_back
    if frame and frame.f_globals['__name__'].startswith('deep_research'):
        compiled.append((frame.f_globals['__name__'], pattern))
    return compile_(pattern, flags)
re._compiler.compile = seen
"""


def test_importing_the_package_compiles_no_pattern_of_it_and_loads_no_stemmer() -> None:
    program = """
import deep_research.assembly, deep_research.evals, deep_research.evals.corruptions, deep_research.packs
import deep_research.interfaces.cli.main, deep_research.report.checking, deep_research.research.engine
assert not compiled, compiled
assert 'Stemmer' not in sys.modules
from deep_research.patterns import _Regex, regex
regex('a').search('a')
assert compiled == [('deep_research.patterns', 'a')], compiled
"""
    subprocess.run([sys.executable, "-c", COMPILING + program], check=True)


def test_what_looks_at_runs_loads_no_engine() -> None:
    program = """
import sys
from deep_research.interfaces.cli.main import main
main(["list"])
for name in ("deep_research.assembly", "deep_research.phases", "deep_research.sources", "deep_research.models", "lxml"):
    assert name not in sys.modules, name
"""
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


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
    "evidence.quotes._ITEM": "a passage, whose spaces and lines were put in order when its document was read",
    "evidence.passages._ITEM": "one line",
    "evidence.rows._NUMBER": "a cell of a few words",
    "models.key_values._FIELD": "200 characters of a line",
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
        if name.split(".")[0] in ("testing", "evals") or name == "__main__":
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
    texts = [
        text for at, text in sources().items() if at == module or f"deep_research.{module} import" in text
    ]
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


@pytest.mark.timed
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
