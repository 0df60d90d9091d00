"""The folder that lying runs are made of: its documents as sentences, what each is about, and the names in them. Read
here by simple rules of its own; nothing of the product takes part."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_NAMES: dict[str, list[str]] = tomllib.loads(
    (Path(__file__).parent / "names.toml").read_text(encoding="utf-8")
)
FOLDER = Path(__file__).parents[1] / "data" / "adversary"
# What a document is about, as it opens a sentence; "It" at the beginning of a sentence always means this.
SUBJECTS = {
    "arnholm-ferry.md": "The Sund–Arnholm ferry",
    "arnholm-lifeboat.txt": "The Arnholm lifeboat station",
    "barrow-fever.md": "Barrow fever",
    "belmoor-cheese.html": "Belmoor cheese",
    "belmoor-sheep.md": "The Belmoor sheep",
    "castrel-funicular.txt": "The Castrel funicular",
    "castrel-trams.md": "The Castrel tramway",
    "halvorsen-comet-survey.md": "The Halvorsen Comet Survey",
    "harl-navigation.txt": "The Harl Navigation",
    "lumen-trial.html": "The LUMEN trial",
    "mount-isker-observatory.txt": "The Mount Isker Observatory",
    "orrin-seed-vault.md": "The Orrin Seed Vault",
    "pellin-bridge.html": "The Pellin Bridge",
    "quenby-clockwork-museum.html": "The Quenby Museum of Clockwork",
    "tolverne-canal.md": "The Tolverne Canal",
    "vessen-chess-club.md": "The Vessen Chess Club",
}
# Each with the one that is most like it.
LOOKALIKES = {
    one: other
    for pair in (
        ("arnholm-ferry.md", "arnholm-lifeboat.txt"),
        ("barrow-fever.md", "lumen-trial.html"),
        ("belmoor-cheese.html", "belmoor-sheep.md"),
        ("castrel-funicular.txt", "castrel-trams.md"),
        ("halvorsen-comet-survey.md", "mount-isker-observatory.txt"),
        ("harl-navigation.txt", "tolverne-canal.md"),
        ("orrin-seed-vault.md", "belmoor-sheep.md"),
        ("pellin-bridge.html", "harl-navigation.txt"),
        ("quenby-clockwork-museum.html", "vessen-chess-club.md"),
        ("vessen-chess-club.md", "quenby-clockwork-museum.html"),
    )
    for one, other in (pair, pair[::-1])
}
# Documents of which one can say what is said of the other, and still write a sentence.
SORTS = (
    frozenset(
        (
            "tolverne-canal.md",
            "harl-navigation.txt",
            "pellin-bridge.html",
            "castrel-funicular.txt",
            "castrel-trams.md",
            "arnholm-ferry.md",
        )
    ),
    frozenset(
        (
            "quenby-clockwork-museum.html",
            "vessen-chess-club.md",
            "arnholm-lifeboat.txt",
            "mount-isker-observatory.txt",
            "orrin-seed-vault.md",
            "halvorsen-comet-survey.md",
            "lumen-trial.html",
        )
    ),
    frozenset(("barrow-fever.md", "belmoor-cheese.html", "belmoor-sheep.md")),
)
PERSONS: tuple[str, ...] = tuple(_NAMES["persons"])
PLACES: tuple[str, ...] = tuple(_NAMES["places"])
BODIES: tuple[str, ...] = tuple(_NAMES["bodies"])
NEW_PERSONS, NEW_PLACES = _NAMES["new_persons"], _NAMES["new_places"]
_TAG = re.compile(r"<[^>]+>")
_END = re.compile(r"(?<=[.])\s+(?=[A-Z])")


@dataclass(frozen=True)
class Document:
    """``paragraphs`` are its sentences, headings, tables and lists aside; ``text`` is all of it in one line."""

    name: str
    paragraphs: tuple[tuple[str, ...], ...]
    text: str

    @property
    def subject(self) -> str:
        return SUBJECTS[self.name]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentence for paragraph in self.paragraphs for sentence in paragraph)


@cache
def documents() -> dict[str, Document]:
    """All of the folder, by name."""
    return {path.name: _read(path) for path in sorted(FOLDER.iterdir())}


def _read(path: Path) -> Document:
    raw = path.read_text(encoding="utf-8")
    lines = re.findall(r"<p>(.*?)</p>", raw, re.S) if path.suffix == ".html" else raw.splitlines()
    prose = [_TAG.sub("", line).strip() for line in lines]
    kept = [line for line in prose if line.endswith(".") and line[0] not in "#|-"]
    plain = " ".join(_TAG.sub(" ", raw).split())
    return Document(path.name, tuple(tuple(_END.split(line)) for line in kept), plain)


def figures(text: str) -> set[str]:
    """All numbers in it, as they are written."""
    return set(re.findall(r"\d+(?:[.,]\d+)*", text))


def words(text: str) -> set[str]:
    """Its words and numbers, in lower case."""
    return set(re.findall(r"\d+(?:[.,]\d+)*|[^\W\d]+", text.lower()))


def may_carry(document: Document, statement: str) -> bool:
    """Whether a document might say it as well: it has all its numbers, and nearly all its longer words and names."""
    known = words(document.text)
    telling = {word for word in words(statement) if len(word) > 4}
    return figures(statement) <= figures(document.text) and len(telling & known) >= 0.75 * len(telling)
