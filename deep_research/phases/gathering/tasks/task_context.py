"""Context of a task: its sources and links by the names that the agent knows, and the output of each step. All of it
follows from the task's steps in the log, so that a resumed task has the same. And its finding: what its agent ended it
with, with the quotes as the sources have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from pydantic import Field

from deep_research.calls import off_loop
from deep_research.errors import ContentMissingError, ToolError
from deep_research.logs import masked
from deep_research.models.base import Message as Turn
from deep_research.phases.gathering.source_reading import KEYED
from deep_research.phases.gathering.tasks.library import Egress
from deep_research.phases.gathering.tasks.tool import Fact, Link, Shown, TaskEnd, ToolResult
from deep_research.phases.prompting import Aliases, one_line
from deep_research.provenance.quotes import QuoteFinder, quote_at
from deep_research.provenance.sites import host_of
from deep_research.state import (
    ConfidenceLevel,
    KeyFact,
    Quote,
    Record,
    Source,
    SourceKind,
    Span,
    TaskFinding,
    TaskStep,
)
from deep_research.state.identity import normalised
from deep_research.state.journal import Journal

EXCERPT = 1_500  # characters of a source that are shown where a search found it
OPENING = 3_000  # of one that has no passages
PART = 6_000  # of one that is read on
MAX_OUTPUT_CHARS = 20_000  # characters of what one use of a tool shows
MAX_SNIPPET_CHARS = 300
MAX_LINKS = 60  # that the agent is reminded of, the latest
HELD = 1_000_000  # characters of texts that are held at a time, the latest at least
MAX_FACTS = 40
MAX_FACT_CHARS, MAX_ANSWER_CHARS = 1_000, 4_000
MAX_MISSING = 10
MAX_WORTH_READING = 10
_UNIT_CHARS = 2_000  # of texts that quotes are looked for in, in the time of one small item


class UseOutput(Record):
    """What one use of a tool gave, as it is saved: the ``text`` that the agent is shown, the links that came with it, and
    up to where sources were shown."""

    text: str
    links: tuple[Link, ...] = ()
    shown_to: dict[str, int] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PastStep:
    """A step that was recorded, with what each of its uses showed. ``turn`` is that of the model as its service gave it,
    None where it was another rung."""

    record: TaskStep
    showings: tuple[UseOutput, ...] = ()
    turn: Turn | None = None


@dataclass(slots=True)
class TaskContext:
    """A `TaskView`. ``source_names`` are the data sources of the task, ``sources`` those of the run by id; the names
    are given in the order in which they came."""

    question: str
    source_names: Sequence[str]
    journal: Journal
    egress: Egress = field(default_factory=Egress)
    sources: dict[str, Source] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    steps: list[PastStep] = field(default_factory=list)
    _order: dict[str, None] = field(default_factory=dict)
    _shown_to: dict[str, int] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    # What tools may look at

    @property
    def data_sources(self) -> tuple[str, ...]:
        """Those that may be searched by now."""
        return self.egress.open_to(self.source_names)

    def source(self, name: str) -> Source:
        return self.sources[_id_of("source", Aliases("S", list(self._order)), name)]

    def link(self, name: str) -> Link:
        ids = [f"link {number}" for number in range(len(self.links))]
        return self.links[ids.index(_id_of("link", Aliases("L", ids), name))]

    def shown_to(self, source_id: str) -> int:
        return self._shown_to.get(source_id, 0)

    async def text(self, source_id: str) -> str:
        text = await self.read(source_id)
        self._hold(source_id, text)
        return text

    async def read(self, source_id: str) -> str:
        """The same, of one that is not looked at again soon. Raises `ToolError`."""
        if source_id in self._texts:
            return self._texts[source_id]
        source = self.sources.get(source_id)
        if source is None or source.content_hash is None:
            raise ToolError("That source has no text.")
        try:
            (text,) = await self.journal.texts([source.content_hash])
        except ContentMissingError as error:
            raise ToolError(
                "The text of that source is gone from the store.", hint="Use another source."
            ) from error
        return text

    # What the task writes down

    @property
    def names(self) -> Mapping[str, str]:
        """The name of each source by its id."""
        return Aliases("S", list(self._order)).names

    def add_known(self, sources: Iterable[Source]) -> None:
        """Sources that the task has from before, an earlier attempt say."""
        for source in sources:
            self.sources[source.id] = source
            self._order.setdefault(source.id)

    def take(self, sources: Sequence[Source], texts: Mapping[str, str], result: ToolResult) -> UseOutput:
        """What is shown of one use: its sources and links get their names, an address that has one keeps it. ``texts``
        are those of all that it shows."""
        self.add_known(sources)
        for source_id, text in texts.items():
            self._hold(source_id, text)
        self.egress.note(result.private)
        by_address = {link.address: link for link in reversed(result.links)}  # each once, as it came first
        new_links = [
            link.model_copy(update={"title": masked(link.title), "snippet": masked(link.snippet)})
            for link in reversed(by_address.values())
            if not _keyed(link)
        ]
        # One that a page named and a search finds later is another one.
        numbers = {(link.address, bool(link.origin), link.private): n for n, link in enumerate(self.links, 1)}
        places = [next((numbers[i] for i in _identities(link) if i in numbers), None) for link in new_links]
        fresh = [link for link, place in zip(new_links, places, strict=True) if place is None]
        links = self.egress.offered_of(fresh)
        names = {link.address: place for place, link in enumerate(links, len(self.links) + 1)}
        self.links += links
        shown_to: dict[str, int] = {}
        lines = [result.text.strip()] if result.text.strip() else []
        lines += [
            self._excerpt(source, texts.get(source.id, ""), shown_to, result.excerpt) for source in sources
        ]
        lines += [self._part(excerpt, texts, shown_to) for excerpt in result.excerpts]
        lines += [
            f"L{name}: {_of_link(link)}"
            for link, place in zip(new_links, places, strict=True)
            if (name := place or names.get(link.address))
        ]
        if withheld := len(fresh) - len(links):
            lines.append(f"{withheld} more links of pages are not offered: {self.egress.reason}.")
        lines += [f"Not read: {one_line(link.title)[:200]}: {KEYED}" for link in result.links if _keyed(link)]
        lines += [
            f"Not read: {one_line(page.url)[:200]}: {one_line(page.why)[:200]}" for page in result.unread
        ]
        lines += [one_line(note)[:300] for note in result.notes]
        text = "\n\n".join(lines) or "Nothing was found. Try other words."
        showing = UseOutput(
            text=masked(text[: 2 * MAX_OUTPUT_CHARS])[:MAX_OUTPUT_CHARS],
            links=tuple(links),
            shown_to=shown_to,
        )
        self._shown_to |= shown_to
        return showing

    def add(self, step: PastStep) -> None:
        """Adds a step that was recorded."""
        self.steps.append(step)

    async def replay(self, steps: Sequence[TaskStep], sources: Mapping[str, Source]) -> None:
        """Brings the desk to where it stood after ``steps``."""
        for step in steps:
            self.add_known(sources[i] for i in step.source_ids if i in sources)
            hashes = [use.result_hash for use in step.uses if use.result_hash]
            outputs = [UseOutput.model_validate_json(text) for text in await self.journal.texts(hashes)]
            turns = await self.journal.texts([step.turn_hash] if step.turn_hash else [])
            for showing in outputs:
                self.links += showing.links
                self._shown_to |= showing.shown_to
            turn = Turn.model_validate_json(turns[0]) if turns else None
            self.add(PastStep(step, tuple(outputs), turn))
            for use in step.uses:
                if use.tool == "fetch" and not use.refused:
                    with suppress(ToolError):  # there was no such link
                        self.egress.followed.append(self.link(str(use.arguments.get("link", ""))))

    def inventory(self) -> list[str]:
        """A line for each source and for the latest links, for the agent to know what it has."""
        names = self.names
        lines = [f"{names[i]}: {_of_source(self.sources[i])}" for i in self._order]
        at = max(0, len(self.links) - MAX_LINKS)
        return [*lines, *(f"L{n}: {_titled(link)}" for n, link in enumerate(self.links[at:], at + 1))]

    def _hold(self, source_id: str, text: str) -> None:
        self._texts.pop(source_id, None)
        self._texts[source_id] = text
        while len(self._texts) > 1 and sum(map(len, self._texts.values())) > HELD:
            del self._texts[next(iter(self._texts))]

    def _excerpt(self, source: Source, text: str, shown_to: dict[str, int], most: int = 0) -> str:
        """What the search matched of a source, in the order of the text; else its beginning."""
        head = f"{self.names[source.id]}: {_of_source(source)}"
        spans = sorted(source.passages[:3], key=lambda span: span.start) or [Span(start=0, end=OPENING)]
        left, parts = most or (EXCERPT if source.passages else OPENING), []
        for span in spans:
            part = text[span.start : min(span.end, span.start + left)]
            left -= len(part)
            if part.strip():
                parts.append(part.strip())
                shown_to[source.id] = max(shown_to.get(source.id, 0), span.start + len(part))
        more = f" ({source.length:,} characters in all)" if source.length > sum(map(len, parts)) else ""
        return f"{head}{more}\n" + "\n[…]\n".join(parts)

    def _part(self, shown: Shown, texts: Mapping[str, str], shown_to: dict[str, int]) -> str:
        text = texts[shown.source_id]
        start, end = shown.span.start, min(shown.span.end, len(text))
        shown_to[shown.source_id] = end
        left = len(text) - end
        tail = f"\n[… {left:,} characters follow]" if left > 0 else "\n[the end]"
        return f"{self.names[shown.source_id]}, from character {start:,} on:\n{text[start:end]}{tail}"


def _id_of(kind: str, aliases: Aliases, name: str) -> str:
    """The id that a name stands for. Raises `ToolError`."""
    known_id = aliases.id(name)
    if known_id is None:
        letter, count = aliases.letter, len(aliases.ids)
        hint = f"There are {letter}1 to {letter}{count}." if count else "There are none yet."
        raise ToolError(f"There is no {kind} {one_line(name)[:40]}.", hint=hint)
    return known_id


def _identities(link: Link) -> list[tuple[str, bool, bool]]:
    """Those of known links that will do for this one: what was found may be followed where what was named may."""
    origins, privates = {False, bool(link.origin)}, {link.private, True}
    return [(link.address, origin, private) for origin in sorted(origins) for private in sorted(privates)]


def _keyed(link: Link) -> bool:
    """Whether a key of ours stands in an address, which no site may see."""
    return any(masked(at) != at for at in (link.address, link.text_at or ""))


def _of_source(source: Source) -> str:
    facts = [f"“{one_line(source.title)[:200]}”"]
    if source.url:
        facts.append(host_of(source.url) if source.kind is SourceKind.WEB else one_line(source.url)[:120])
    if source.published:
        facts.append(source.published.isoformat())
    return ", ".join(facts)


def _titled(link: Link) -> str:
    return f"“{one_line(link.title)[:200]}”, {host_of(link.address) or one_line(link.address)[:120]}"


def _of_link(link: Link) -> str:
    day = f", {link.published.isoformat()}" if link.published else ""
    snippet = one_line(link.snippet)[:MAX_SNIPPET_CHARS]
    return f"{_titled(link)}{day}" + (f"\n{snippet}" if snippet else "")


async def task_finding(end: TaskEnd, desk: TaskContext) -> tuple[TaskFinding, list[Fact]]:
    """What the agent gave, its quotes as the sources have them; and the facts whose quotes none has."""
    stated = [fact for fact in end.facts[:MAX_FACTS] if 0 < len(one_line(fact.content)) <= MAX_FACT_CHARS]
    quotes = await _located(stated, desk)
    unlocated = [fact for place, fact in enumerate(stated) if place not in quotes]
    facts = _facts(stated, quotes)
    finding = TaskFinding(
        answer=one_line(end.answer or "")[:MAX_ANSWER_CHARS],
        facts=facts,
        confidence=max(
            (fact.confidence for fact in facts),
            key=list(ConfidenceLevel).index,
            default=ConfidenceLevel.SPECULATION,
        ),
        missing=tuple(one_line(each)[:MAX_FACT_CHARS] for each in end.missing[:MAX_MISSING] if each.strip()),
        owner_question=one_line(end.ask_owner or "")[:MAX_FACT_CHARS],
        unlocated=len(unlocated),
        worth_reading=Aliases("S", list(desk.names)).all(end.worth_reading)[:MAX_WORTH_READING],
    )
    return finding, unlocated


async def _located(given: Sequence[Fact], desk: TaskContext) -> dict[int, tuple[Quote, ...]]:
    """The quotes of facts, by the places of those: looked for in the source that a fact names, then in the others
    that the task has. One text is loaded at a time."""
    names = Aliases("S", list(desk.names))
    named_ids = [names.id(fact.source) for fact in given]
    quotes: dict[int, tuple[Quote, ...]] = {}
    for in_named_source in (True, False):
        for source_id in desk.names:
            sought = {
                place: fact.quote
                for place, fact in enumerate(given)
                if place not in quotes and (named_ids[place] == source_id) is in_named_source
            }
            if not sought:
                continue
            try:
                text = await desk.read(source_id)
            except ToolError:  # it is in the store no more: what it said nobody can quote
                continue
            source = desk.sources[source_id]
            quotes |= await off_loop(len(text) // _UNIT_CHARS, _locate_quotes, sought, text, source)
    return quotes


def _locate_quotes(sought: Mapping[int, str], text: str, source: Source) -> dict[int, tuple[Quote, ...]]:
    """Those of the quotes that stand in a text."""
    finder = QuoteFinder({source.id: text})
    quotes = {}
    for place, quote in sought.items():
        spans = finder.within(source.id, quote)
        if spans:
            quotes[place] = tuple(
                quote_at(span, text, source.id, source.content_hash or "") for span in spans
            )
    return quotes


def _facts(given: Sequence[Fact], found: Mapping[int, tuple[Quote, ...]]) -> tuple[KeyFact, ...]:
    """Facts with their quotes: what is said several times, of several sources say, is one, of the least confidence."""
    order = list(ConfidenceLevel)
    facts: dict[str, tuple[str, list[ConfidenceLevel], dict[Quote, None]]] = {}
    for place, fact in enumerate(given):
        if place in found:
            content = one_line(fact.content)
            _, levels, quotes = facts.setdefault(normalised(content), (content, [], {}))
            levels.append(ConfidenceLevel(fact.confidence))
            quotes |= dict.fromkeys(found[place])
    return tuple(
        KeyFact(content=content, confidence=min(levels, key=order.index), quotes=tuple(quotes))
        for content, levels, quotes in facts.values()
    )


def lost_quotes(facts: Sequence[Fact]) -> str:
    quotes = "; ".join(f"“{one_line(fact.quote)[:160]}”" for fact in facts[:10])
    return f"No source that you have says so letter by letter: {quotes}. Call done again, with quotes as they stand."
