"""What a phase was given of all that there was for it."""

from __future__ import annotations

from pydantic import Field

from deep_research.state.records import Record


class SentItem(Record):
    """A source, finding, gap or report as one phase was given it: its tokens as a whole, and those of what was sent of
    it, 0 for none."""

    id: str
    original_tokens: int = Field(ge=0)
    current_tokens: int = Field(ge=0)


class Sending(Record):
    """Items within ``available`` tokens, each once. ``archived`` are the hashes under which the originals of some are
    kept, by item id."""

    items: tuple[SentItem, ...] = ()
    available: int = Field(default=0, ge=0)
    archived: dict[str, str] = Field(default_factory=dict)
