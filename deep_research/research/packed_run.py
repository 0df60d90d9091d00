"""A run in an evidence pack, opened to be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from deep_research.errors import UsageError
from deep_research.packs import Failure, Manifest, Pack, PackStore, Verification, verified
from deep_research.research.result import ResearchResult
from deep_research.state import Citation, DeepResearchState, Quote, Source
from deep_research.state.events import Event
from deep_research.state.journal import readable
from deep_research.store import Store


def open_pack(path: Path | str) -> PackedRun:
    """Open a run that `DeepResearch.pack` wrote to a file. Close it, or use it in a ``with``.

    Opening checks only that what is read is what the manifest names; call ``verify()`` for the rest.
    Raises `PackError`, `PackVersionError`.

    Example:
        with open_pack("bell-rock.zip") as run:
            print(run.result.report)
    """
    return PackedRun(Pack(path))


class PackedRun:
    """Its ``events``, ``state`` and ``result`` are those of the run. ``store`` holds it for whatever looks at runs, such
    as ``DeepResearch(store=run.store)``; every attempt to write is refused with a `StoreReadOnlyError`.

    Reading raises `PackError` where the pack is damaged, `PackVersionError` for a log of a newer version.
    """

    def __init__(self, pack: Pack) -> None:
        self._pack = pack

    @property
    def research_id(self) -> str:
        return self._pack.research_id

    @property
    def manifest(self) -> Manifest:
        return self._pack.manifest

    @property
    def events(self) -> Sequence[Event]:
        return self._pack_store.events

    @property
    def state(self) -> DeepResearchState:
        return self._pack_store.state

    @cached_property
    def result(self) -> ResearchResult:
        return ResearchResult.of(self.state, self.store.run(self.research_id).status(time.time()))

    def text(self, source: Source | Citation | Quote | str) -> str:
        """The saved text of a source, a citation, a quote or a content hash. Raises `ContentMissingError`."""
        (body,) = self.store.contents([content_hash_of(source)])
        return readable(body)

    def damage(self) -> tuple[Failure, ...]:
        """Its files that are not as the manifest has them; `verify` looks at what they say, too."""
        return tuple(self._pack.faults())

    def verify(self, *, progress: Callable[[int, int], None] | None = None) -> Verification:
        """Every hash, span and verdict made again and the report rendered again, without a network. It shows damage, not
        who made the pack. ``progress`` is called with how many claims are checked, and how many there are."""
        return verified(self._pack, progress=progress)

    @property
    def store(self) -> Store:
        return self._pack_store

    @cached_property
    def _pack_store(self) -> PackStore:
        return PackStore(self._pack)

    def close(self) -> None:
        self._pack.close()

    def __enter__(self) -> PackedRun:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def content_hash_of(source: Source | Citation | Quote | str) -> str:
    """By which hash its text is saved, empty where it has none. Raises `UsageError` for what has no text."""
    if not isinstance(source, str | Source | Citation | Quote):
        raise UsageError(
            f"{type(source).__name__} has no saved text.",
            hint="Give a source, a citation, a quote or a hash.",
        )
    return source if isinstance(source, str) else (source.content_hash or "")
