"""Patterns are compiled when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from deep_research.patterns import regex


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
import deep_research.assembly, deep_research.packs
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


def test_naming_the_engine_loads_nothing_that_works_on_runs() -> None:
    program = """
import sys
from deep_research import DeepResearch
rooms = ("assembly", "phases", "supervisor", "sources", "verification", "retrieval", "provenance", "text", "models")
rooms += ("budget", "settings", "report", "packs")
loaded = [name for name in sys.modules if name.startswith(tuple(f"deep_research.{room}" for room in rooms))]
assert loaded == [], loaded
assert "deep_research.state.events" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
