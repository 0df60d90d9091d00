"""The sources that the turns of a conversation saved, as a search of them finds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from deep_research.errors import ContentMissingError
from deep_research.phases.gathering.handoff import GatheredSource, Snapshot
from deep_research.retrieval.ranking import matching
from deep_research.setting_fields import value_at
from deep_research.state import DeepResearchState, Source
from deep_research.store import Store

MAX_SOURCES = 60  # that are looked through, those of the latest turns first
MAX_AGE = timedelta(days=30)  # of a turn whose sources are taken
MIN_SHARE = 0.5  # of the weight of a question that a source must have
_SCOPE = (
    "source_types",
    "since",
    "until",
    "as_of",
    "domains",
    "not_domains",
    "source_language",
    "corpora",
    "tasks.sources",
)


def saved_sources(state: DeepResearchState, turns: Iterable[DeepResearchState]) -> list[Source]:
    """Of the ``turns``, the latest first, the sources that were read and that the run may use too: those of runs that
    searched the same, not long ago. Each is there once. A document that was changed since makes what is searched
    another."""
    sources: dict[str, Source] = {}
    for turn in turns:
        if _scope(turn) != _scope(state) or _age(turn, state) > MAX_AGE:
            continue
        for source in turn.sources:
            if source.id in turn.analyzed and source.content_hash and source.id not in sources:
                sources[source.id] = source
                if len(sources) == MAX_SOURCES:
                    return list(sources.values())
    return list(sources.values())


def _scope(state: DeepResearchState) -> tuple[object, ...]:
    setup = state.setup
    searched = setup and (setup.services, setup.corpora, setup.data_sources, setup.pages, setup.local_only)
    return searched, state.permissions, *(value_at(state.options, path) for path in _SCOPE)


def _age(turn: DeepResearchState, state: DeepResearchState) -> timedelta:
    has_dates = turn.created_at is not None and state.created_at is not None
    return state.created_at - turn.created_at if has_dates else timedelta()  # type: ignore[operator]


def matching_sources(
    store: Store, sources: Sequence[Source], state: DeepResearchState
) -> tuple[GatheredSource, ...]:
    """Those that have most of the question, best first, as they were saved. Blocking. Raises `StoreError`."""
    texts = store.contents([source.content_hash or "" for source in sources])
    by_share: list[tuple[float, GatheredSource]] = []
    for source, body in zip(sources, texts, strict=True):
        text = body.decode("utf-8", "replace")
        passages, share = matching(state.query, text, source.title)
        if share >= MIN_SHARE:
            by_share.append((share, _gathered(source, text).model_copy(update={"passages": passages})))
    by_share.sort(key=lambda pair: -pair[0])
    best = [source for _, source in by_share[: state.options.max_sources_per_query]]
    return tuple(_with_page(store, source, state) for source in best)


def _gathered(source: Source, text: str) -> GatheredSource:
    return GatheredSource(
        title=source.title,
        url=source.url,
        snippet=source.snippet,
        content=text,
        quality=source.quality,
        kind=source.kind,
        relevance=source.relevance,
        pages=source.pages,
        fingerprint=source.fingerprint,
        published=source.published,
        snapshot_hash=source.snapshot_hash,
        mentions=source.mentions,
        metadata=source.metadata,
    )


def _with_page(store: Store, source: GatheredSource, state: DeepResearchState) -> GatheredSource:
    """With the page that the text was read from, so that this run keeps it too where the other one is deleted. It is
    the same page under its own hash: nothing is remembered of it anew."""
    if source.snapshot_hash is None or source.url is None or state.created_at is None:
        return source
    try:
        [body] = store.contents([source.snapshot_hash])
    except ContentMissingError:  # the file of a document is not kept, its text alone is
        return source
    page = Snapshot(url=source.url, found_at=source.url, at=state.created_at, body=body, shared=False)
    return source.model_copy(update={"snapshot": page})
