"""Tables that are made up, as sources write them and as reports repeat them: truly, or with two columns exchanged."""

import html
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from orm_light import finding, source

from deep_research.provenance.quotes import readable
from deep_research.sources.extract.readers import read
from deep_research.state import DeepResearchState, Finding

KINDS = ("md", "html", "csv")
_FIRST = (
    "Al", "Bor", "Cas", "Dun", "El", "Fen", "Gar", "Hol", "Is", "Jor", "Kel", "Lun", "Mar", "Nor", "Os",
    "Pel", "Quen", "Ros", "Sel", "Tor", "Ul", "Ves", "Wex", "Yar", "Zel",
)  # fmt: skip
_LAST = (
    "bridge", "dale", "field", "gate", "haven", "ingham", "ley", "mouth", "ness", "port", "stead", "ton",
    "wick", "worth",
)  # fmt: skip
_PERSONS = (
    "Ada", "Ben", "Cora", "Dan", "Edith", "Finn", "Greta", "Hugo", "Ines", "Jan", "Karl", "Lena", "Mona",
    "Nils", "Olga", "Piet", "Rosa", "Sven",
)  # fmt: skip
_STUFFS = (
    "brick", "granite", "cast iron", "oak", "concrete", "white stone", "red sandstone", "steel and glass",
)  # fmt: skip
_COUNTRIES = (
    "Spain", "France", "Norway", "United States", "Chile", "Japan", "New Zealand", "South Africa", "Peru",
)  # fmt: skip
_NOTES = (
    "closed to visitors", "rebuilt after a fire", "the oldest of its kind", "disputed", "sold twice",
    "in use",
)  # fmt: skip
_THINGS = ("Lighthouse", "Bridge", "Station", "Mill", "Harbour", "Library")
_PROSE = (
    "The figures were taken from the yearly returns of the keepers, which lie in the archive of the harbour office.",
    "Where a return was lost, those who looked after the place were asked for it, and their answers were compared.",
    "The register has been kept since the office was founded, and is printed once in ten years for all who want it.",
)  # fmt: skip
MOST_ROWS = 9
ALIKE = 0.3  # of the true cells that say it a little otherwise
SECOND = 0.3  # of the sources that have a second table of the same things


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, what its values look like, and the unit that its heading has."""

    heading: str
    kind: str
    unit: str = ""


# Headings and what stands under them.
_HEADINGS = """Country: country; Built: year; First lit: year; Reopened in: year; Height: metres; Depth: metres
Length (m): plain; Width (m): plain; Weight: tonnes; Share of visitors: percent; Share of cost: percent
Visitors per year: count; Steps: small; Staff: small; Cost: money; Engineer: person; Owner: person; Material: stuff
Listed: yes; Open to the public: yes; Opened on: date; Note: note"""
COLUMNS = tuple(
    Column(heading.strip(), kind.strip(), "m" if kind.strip() == "plain" else "")
    for heading, kind in (each.split(":") for each in re.split("[;\n]", _HEADINGS))
)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A table of a report: ``draft`` is its Markdown, ``true`` says of each cell, by its row's name and its heading,
    whether it stands where it stands in the source."""

    draft: str
    true: Mapping[tuple[str, str, str], bool]
    state: DeepResearchState
    texts: Mapping[str, str]
    kind: str
    columns: int


def made(count: int, seed: int = 28) -> Iterator[tuple[Repeated, Repeated]]:
    """Each a report that repeats a table as it stands, and one with two of its columns exchanged."""
    sizes = list(product(KINDS, range(2, 7)))
    for number in range(count):
        kind, size = sizes[number % len(sizes)]
        yield _pair(random.Random(f"{seed} {number}"), kind, size)


def _pair(rng: random.Random, kind: str, size: int) -> tuple[Repeated, Repeated]:
    thing = rng.choice(_THINGS)
    columns = rng.sample(COLUMNS, size - 1)
    names = list(dict.fromkeys(_place(rng) for _ in range(rng.randint(3, MOST_ROWS))))

    def table(columns: Sequence[Column]) -> list[list[str]]:
        rows = ([name, *(_value(rng, column) for column in columns)] for name in names)
        return [[thing, *(column.heading for column in columns)], *rows]

    tables = [table(columns)]
    if rng.random() < SECOND:
        tables.append(table(rng.sample([column for column in COLUMNS if column not in columns], 2)))
    header, *rows = tables[0]
    title = f"{thing} register of {_place(rng)}"
    text = read(_written(kind, title, tables), name=f"register.{kind}").text
    book = source(7, title, text)
    lines = [line for line in text.split("\n") if " | " in line]
    of = {name: next(line for line in lines if line.split(" | ")[0].strip(" |") == name) for name in names}
    findings = {name: _finding(n, of[name], book, text) for n, name in enumerate(names, 100)}
    question = f"What is known of each {thing.lower()}?"
    state = DeepResearchState(query=question, sources=(book,), findings=tuple(findings.values()))
    told = rng.sample(rows, min(len(names), rng.randint(2, 5)))
    a, b = rng.sample(range(1 if size > 2 else 0, size), 2)
    cited = rng.choice(("row", "cells"))
    plain = [
        [row[0], *(_otherwise(rng, *each) for each in zip(row[1:], columns, strict=True))] for row in told
    ]
    swapped = [_exchanged(row, a, b) for row in told]
    ids, texts = [findings[row[0]].id for row in told], {book.content_hash: text}

    def repeated(rows: Sequence[Sequence[str]], true: Mapping[tuple[str, str, str], bool]) -> Repeated:
        return Repeated(_draft(header, rows, ids, cited), true, state, texts, kind, size)

    true = {(row[0], header[n], row[n].strip("*")): True for row in plain for n in range(1, size)}
    found = {
        (row[0], header[n], row[n]): row[n] == was[n] and row[0] == was[0]
        for row, was in zip(swapped, told, strict=True)
        for n in range(1, size)
    }
    return repeated(plain, true), repeated(swapped, found)


def _exchanged(row: Sequence[str], a: int, b: int) -> list[str]:
    made = list(row)
    made[a], made[b] = row[b], row[a]
    return made


def _finding(number: int, row: str, book, text: str) -> Finding:
    start = text.index(row)
    return finding(number, readable(text, start, start + len(row)), book, text, row)


def _draft(header: Sequence[str], rows: Sequence[Sequence[str]], ids: Sequence[str], cited: str) -> str:
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for row, each in zip(rows, ids, strict=True):
        cells = [row[0], *(f"{cell} [{each}]" if cited == "cells" and cell else cell for cell in row[1:])]
        lines.append(f"| {' | '.join(cells)}{f' [{each}]' if cited == 'row' else ''} |")
    return "# What is known\n\n" + "\n".join(lines) + "\n"


def _written(kind: str, title: str, tables: Sequence[Sequence[Sequence[str]]]) -> bytes:
    if kind == "csv":  # one table a file
        return "\n".join(",".join(f'"{cell}"' for cell in row) for row in tables[0]).encode()
    if kind == "html":
        prose = "".join(f"<p>{said}</p>" for said in _PROSE)
        body = f"<article><h1>{title}</h1>{prose}{''.join(map(_html, tables))}</article>"
        return f"<html><head><title>{title}</title></head><body>{body}</body></html>".encode()
    made = "\n\n".join(map(_markdown, tables))
    return f"# {title}\n\n{' '.join(_PROSE)}\n\n{made}\n".encode()


def _html(table: Sequence[Sequence[str]]) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

    header, *rows = table
    return f"<table>{row('th', header)}{''.join(row('td', each) for each in rows)}</table>"


def _markdown(table: Sequence[Sequence[str]]) -> str:
    header, *rows = (f"| {' | '.join(row)} |" for row in table)
    return "\n".join((header, "|---" * len(table[0]) + "|", *rows))


def _place(rng: random.Random) -> str:
    name = rng.choice(_FIRST) + rng.choice(_LAST)
    return f"{rng.choice(('North', 'South', 'Old', 'New'))} {name}" if rng.random() < 0.2 else name


def _value(rng: random.Random, column: Column) -> str:
    return {
        "country": lambda: rng.choice(_COUNTRIES),
        "year": lambda: str(rng.randint(1700, 2020)),
        "metres": lambda: f"{rng.randint(3, 160)}{rng.choice(('', '', f'.{rng.randint(1, 9)}'))} m",
        "plain": lambda: str(rng.randint(3, 900)),
        "tonnes": lambda: f"{rng.randint(2, 900)} t",
        "percent": lambda: f"{rng.randint(1, 99)} %",
        "count": lambda: f"{rng.randint(2, 900)},{rng.randint(0, 999):03}",
        "small": lambda: str(rng.randint(2, 400)),
        "money": lambda: f"${rng.randint(2, 90)} million",
        "person": lambda: f"{rng.choice(_PERSONS)} {_place(rng).split()[-1]}",
        "stuff": lambda: rng.choice(_STUFFS),
        "yes": lambda: rng.choice(("yes", "no")),
        "date": lambda: f"{rng.randint(1900, 2020)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        "note": lambda: rng.choice(_NOTES),
    }[column.kind]()


def _otherwise(rng: random.Random, cell: str, column: Column) -> str:
    """The same, as one may write it: with the unit of the heading, without the comma of thousands, in bold."""
    if rng.random() >= ALIKE:
        return cell
    if column.unit:
        return f"{cell} {column.unit}"
    if column.kind == "count":
        return cell.replace(",", "")
    return f"**{cell}**" if column.kind != "metres" else f"about {cell}"
