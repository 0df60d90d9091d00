"""A made manual of many pages, the same for the same seed: numbered sections with cross references, links between the
files, an index, and facts that each stand two references away from the page that speaks of their matter.

The overview names a part of the engine and a section; that section has none of its words and names another one; there
the fact stands, without a word of its part, and as many other sections say the like of other things. So no search for
the words of a question tells its fact from the others: who is to find it follows two numbers.
"""

from __future__ import annotations

import html
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PAGES = 200  # of sections, beside the overview, the contents and the index
CHAPTERS = 20
SUBSECTIONS = 4  # of a page
PARAGRAPHS, SENTENCES = 3, 6  # of a subsection, beside what a fact needs
PARTS = (
    "spindle journal", "harbour lock", "willow cache", "ember queue", "granite buffer", "lantern pool",
    "copper ledger", "thistle stack", "marble table", "feather index", "anchor map", "cinder log",
)  # fmt: skip
UNITS = (
    "entries", "seconds", "megabytes", "workers", "blocks", "retries",
    "columns", "sessions", "packets", "segments", "cursors", "kilobytes",
)  # fmt: skip
_KINDS = ("ring", "ladder", "basin", "shelf", "drum", "lattice", "sluice", "wedge", "spool", "trellis")
_ORDERS = ("first", "second", "third", "fourth", "fifth", "sixth")
_ADJECTIVES = ("Wide", "Narrow", "Shared", "Private", "Nested", "Open", "Sealed", "Folded", "Plain", "Split")
_NOUNS = (
    "Handles",
    "Streams",
    "Filters",
    "Triggers",
    "Leases",
    "Frames",
    "Tokens",
    "Layouts",
    "Hooks",
    "Scopes",
)
_FILLERS = (
    "The {a} {n} are set up when the engine starts and stay until it ends.",
    "An administrator may change {a} {n} while the engine runs.",
    "Older releases kept {a} {n} in a file of their own.",
    "If {a} {n} fail, the engine writes a warning and goes on.",
    "Most installations leave {a} {n} as they are.",
    "Monitoring shows {a} {n} beside the other figures of the engine.",
    "A backup holds {a} {n} in the form in which they were last written.",
    "Tools of other makers read {a} {n} through the view of the catalogue.",
    "The cost of {a} {n} is paid when they are first used, and not again until the next start.",
    "Nobody but the owner of the database sees {a} {n} that belong to it.",
    "When two sessions ask for {a} {n} at the same time, the second one waits for the first.",
    "The log names {a} {n} once an hour, with the time that has passed since they were last touched.",
)


@dataclass(frozen=True)
class Fact:
    """A question, the sentence that answers it with its ``value``, and the sections that lead there."""

    part: str
    unit: str
    question: str
    value: str
    sentence: str
    way: tuple[str, str]  # numbers: the section that the overview names, and the one with the sentence


@dataclass
class Section:
    """A subsection. ``number`` is such as 7.3.2."""

    number: str
    title: str
    paragraphs: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        return f"{self.number}. {self.title}"


@dataclass(frozen=True)
class Page:
    """A file. ``sections`` are its subsections, by their order."""

    name: str
    number: str
    title: str
    sections: tuple[Section, ...]

    @property
    def heading(self) -> str:
        return f"{self.number}. {self.title}"


@dataclass(frozen=True)
class Manual:
    pages: tuple[Page, ...]
    facts: tuple[Fact, ...]

    @property
    def sections(self) -> Mapping[str, Section]:
        return {section.number: section for page in self.pages for section in page.sections}

    @property
    def question(self) -> str:
        """One that asks for all facts."""
        return f"What does the manual say of these: {'; '.join(f.question for f in self.facts)}?"

    def files(self) -> Iterator[tuple[str, str]]:
        """The names of all files with their HTML."""
        names = {section.number: page.name for page in self.pages for section in page.sections}
        everywhere = [("contents.html", "Contents"), ("overview.html", "Overview"), ("index.html", "Index")]
        for place, page in enumerate(self.pages):
            near = [
                (self.pages[i].name, way)
                for i, way in ((place - 1, "Prev"), (place + 1, "Next"))
                if 0 <= i < len(self.pages)
            ]
            body = "".join(_section(section, names) for section in page.sections)
            yield page.name, _document(page.heading, [*near, *everywhere], body)
        overview = "".join(
            f"<p>{_linked(f'The {fact.part} is described in Section {fact.way[0]}.', names)}"
            f" {html.escape(_chat(fact.part))}</p>\n"
            for fact in self.facts
        )
        yield "overview.html", _document("Overview of the Parts of the Engine", everywhere, overview)
        contents = "".join(
            f'<li><a href="{page.name}">{html.escape(page.heading)}</a></li>\n' for page in self.pages
        )
        yield "contents.html", _document("Contents", everywhere, f"<ul>\n{contents}</ul>\n")
        terms = sorted((section.title, section.number) for section in self.sections.values())
        index = "".join(
            f'<li>{html.escape(title)}, <a href="{names[number]}#s{number}">{number}</a></li>\n'
            for title, number in terms
        )
        yield "index.html", _document("Index", everywhere, f"<ul>\n{index}</ul>\n")

    def write(self, folder: Path) -> None:
        for name, text in self.files():
            (folder / name).write_text(text, encoding="utf-8")


def manual(seed: int = 7, pages: int = PAGES) -> Manual:
    """The manual of a seed; ``pages`` are a multiple of 20, at least 40."""
    chance = random.Random(seed)
    made = [_page(chance, place, pages) for place in range(pages)]
    places = chance.sample(range(pages), 2 * len(PARTS))
    values = chance.sample(range(10_000, 100_000), len(PARTS))  # larger than those of other things
    facts = tuple(
        _fact(chance, number, made[places[2 * number]], made[places[2 * number + 1]], value)
        for number, value in enumerate(values)
    )
    _refer(chance, made, {fact.way[1] for fact in facts} | {fact.way[0] for fact in facts})
    return Manual(tuple(made), facts)


def _page(chance: random.Random, place: int, pages: int) -> Page:
    chapter, section = divmod(place, pages // CHAPTERS)
    number = f"{chapter + 1}.{section + 1}"
    title = f"{chance.choice(_ADJECTIVES)} {chance.choice(_NOUNS)} of the {chance.choice(_KINDS).title()}"
    sections = tuple(
        Section(f"{number}.{n}", f"{chance.choice(_ADJECTIVES)} {chance.choice(_NOUNS)}")
        for n in range(1, SUBSECTIONS + 1)
    )
    for each in sections:
        adjective, noun = each.title.lower().split()
        for _ in range(PARAGRAPHS):
            lines = chance.sample(_FILLERS, SENTENCES)
            each.paragraphs.append(" ".join(line.format(a=adjective, n=noun) for line in lines))
    for each in chance.sample(sections, 2):
        each.paragraphs.insert(0, _size(chance.randint(1_000, 9_999), chance.choice(UNITS)))
    return Page(f"{title.lower().replace(' ', '-')}-{place}.html", number, title, sections)


def _fact(chance: random.Random, number: int, first: Page, second: Page, value: int) -> Fact:
    """Writes a chain into two pages: the second has the fact, and beside it two others of its kind."""
    part, unit = PARTS[number], UNITS[number]
    kind, order = chance.choice(_KINDS), chance.choice(_ORDERS)
    leading, holding = chance.choice(first.sections), chance.choice(second.sections)
    leading.paragraphs[:-PARAGRAPHS] = [
        f"This is a {kind} of the {order} order, whose default size is given in Section {holding.number}."
    ]
    sentence = _size(value, unit)
    holding.paragraphs[:-PARAGRAPHS] = [sentence]
    question = f"how many {unit} the {part} has by default"
    return Fact(part, unit, question, f"{value:,} {unit}", sentence, (leading.number, holding.number))


def _size(value: int, unit: str) -> str:
    return f"By default it has {value:,} {unit}, which cannot be changed while the engine runs."


def _refer(chance: random.Random, pages: list[Page], used: set[str]) -> None:
    """A reference to anywhere in each subsection of which no fact has need."""
    sections = [section for page in pages for section in page.sections]
    for section in sections:
        if section.number not in used:
            section.paragraphs.append(f"For more see Section {chance.choice(sections).number}.")


def _chat(part: str) -> str:
    return f"Every installation has one {part}, and monitoring shows the {part} beside the other parts of the engine."


def _section(section: Section, names: Mapping[str, str]) -> str:
    paragraphs = "".join(f"<p>{_linked(text, names)}</p>\n" for text in section.paragraphs)
    return f'<h2 id="s{section.number}">{html.escape(section.heading)}</h2>\n{paragraphs}'


def _linked(text: str, names: Mapping[str, str]) -> str:
    """The HTML of a text, with the section that it names as a link."""
    before, found, rest = html.escape(text).partition("Section ")
    if not found:
        return before
    number = rest.split(" ")[0].rstrip(".")
    return f'{before}<a href="{names[number]}#s{number}">Section {number}</a>{rest[len(number) :]}'


def _document(heading: str, ways: list[tuple[str, str]], body: str) -> str:
    nav = " ".join(f'<a href="{name}">{html.escape(text)}</a>' for name, text in ways)
    title = html.escape(heading)
    return (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body>\n<nav>{nav}</nav>\n"
        f"<main>\n<h1>{title}</h1>\n{body}</main>\n</body></html>\n"
    )
