"""Record of the material that a phase was given, out of all that there was."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from deep_research.state.records import Record, Span


class SentItem(Record):
    """A source, finding, gap or report as one phase was given it: its tokens as a whole, and those of what was sent of
    it, 0 for none."""

    id: str
    original_tokens: int = Field(ge=0)
    current_tokens: int = Field(ge=0)


class ReadingBatch(Record):
    """The sources of one call, in order. ``sizes`` are the tokens of each that are handed on, of the ``wholes`` it has;
    an id that is in neither stands for the whole text. ``available`` tokens are there for all of them."""

    source_ids: tuple[str, ...]
    sizes: dict[str, int] = Field(default_factory=dict)
    wholes: dict[str, int] = Field(default_factory=dict)
    available: int = 0

    def is_cut(self, source_id: str) -> bool:
        """Whether a source is given less than it has."""
        return source_id in self.sizes and self.sizes[source_id] < self.wholes[source_id]


class ReadDepth(StrEnum):
    """How much of a source is read."""

    WHOLE = "whole"
    SECTIONS = "sections"
    NOTHING = "nothing"


class SourceTriage(Record):
    """How much of a source is read, and why. ``spans`` are the sections, in code points of its text; ``by`` is who chose,
    a model's name or "code". ``further``: an earlier round read other sections of it."""

    source_id: str
    extent: ReadDepth
    spans: tuple[Span, ...] = ()
    because: str = ""
    by: str = "code"
    further: bool = False


class ReadingPlan(Record):
    """What a pass of ANALYSIS reads in which calls. ``dropped`` are the tokens of the sources for which there is no room,
    by id. ``budget`` is how many tokens of sources are read in all, ``cap`` the name of the cap on models that made it no
    more, and ``gave_way`` the class of sources that are given less than they are promised. ``triage`` is what was chosen
    of each source before, where anything was."""

    portions: tuple[ReadingBatch, ...] = ()
    dropped: dict[str, int] = Field(default_factory=dict)
    budget: int = 0
    cap: str | None = None
    gave_way: str | None = None
    triage: tuple[SourceTriage, ...] = ()

    @property
    def read_on(self) -> frozenset[str]:
        """The sources of which an earlier round read other sections, by id."""
        return frozenset(item.source_id for item in self.triage if item.further)


class ContextUsage(Record):
    """Items within ``available`` tokens, each once. ``archived`` are the hashes under which the originals of some are
    kept, by item id."""

    items: tuple[SentItem, ...] = ()
    available: int = Field(default=0, ge=0)
    archived: dict[str, str] = Field(default_factory=dict)
