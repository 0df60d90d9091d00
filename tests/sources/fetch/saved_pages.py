"""Pages kept in memory, and a reader of documents small enough to be seen through."""

from __future__ import annotations

from dataclasses import dataclass

from deep_research.errors import ExtractionError
from deep_research.sources.fetch import SavedPage, WebPage


class MemoryPages:
    def __init__(self) -> None:
        self.pages: dict[str, SavedPage] = {}

    async def latest(self, url: str) -> SavedPage | None:
        return self.pages.get(url)

    def keep(self, page: WebPage) -> None:
        self.pages[page.url] = SavedPage(
            url=page.url,
            final_url=page.final_url,
            fetched_at=page.fetched_at,
            headers=page.headers,
            body=page.body,
        )


@dataclass(frozen=True)
class Text:
    text: str


class PlainExtractor:
    """Takes bytes for text. ``read`` holds what it was given."""

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    async def extract(self, raw: bytes, *, media_type: str = "", name: str = "") -> Text:
        self.read.append((media_type, name))
        if not raw.strip():
            raise ExtractionError("It has no text.")
        return Text(raw.decode("utf-8", "replace"))
