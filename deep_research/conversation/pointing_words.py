"""Words with which a language points back, from the tables ``following`` of `languages.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from deep_research.patterns import regex
from deep_research.text.language import LANGUAGES


@dataclass(frozen=True, slots=True)
class PointingWords:
    """The words of a language that point back, and those that are like them and do not."""

    person: frozenset[str]
    thing: frozenset[str]
    owning: frozenset[str]
    replaced: frozenset[str]
    existing: frozenset[str]
    standing: frozenset[str]
    article: frozenset[str]
    expletive: frozenset[str]
    subject: frozenset[str]
    definite: frozenset[str]
    belonging: frozenset[str]
    asking: tuple[str, ...]
    correcting: tuple[str, ...]
    meaning: tuple[str, ...]
    joining: tuple[str, ...]


def pointing_words(language: str) -> PointingWords | None:
    """None for a language that has no table."""
    return _tables().get(language)


@cache
def _tables() -> Mapping[str, PointingWords]:
    tables: dict[str, Any] = tomllib.loads(LANGUAGES.read_text(encoding="utf-8").casefold())

    def words(table: Mapping[str, Any]) -> PointingWords:
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else frozenset(value.split())
            for name, value in table.items()
        }
        return PointingWords(**read)

    return {language: words(table["following"]) for language, table in tables.items() if "following" in table}


def opening(text: str, openings: Sequence[str]) -> str:
    """The longest of these that a text begins with, as it writes it; empty for none."""
    fitting = [
        o for o in openings if text[: len(o)].casefold() == o and not text[len(o) : len(o) + 1].isalnum()
    ]
    return text[: max(map(len, fitting))] if fitting else ""


@cache
def cues(words: tuple[str, ...]) -> re.Pattern[str]:
    """Any of these, as words of their own, in whatever case."""
    return regex(rf"(?<!\w)(?i:{'|'.join(map(re.escape, words))})(?!\w)")


def joint(words: PointingWords) -> re.Pattern[str]:
    """What stands between two clauses."""
    return regex(rf"[,;]|{cues(words.joining).pattern}")
