"""The texts of sources: loaded a few at a time, counted once, and made shorter where they are given less."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from deep_research.budget.condense import condense
from deep_research.budget.tokens import Counter, counts
from deep_research.calls import off_loop
from deep_research.errors import BudgetError, WorkError
from deep_research.phases.analysis.handoff import SourceText
from deep_research.phases.concurrency import together
from deep_research.state import ReadDepth, ReadingBatch, Source, SourceTriage
from deep_research.state.journal import Journal

_SHARED = SourceText.model_fields.keys() & Source.model_fields.keys()
LEFT_OUT = "\n\n[…]\n\n"
OPENING = 2_400  # characters of a source without matched passages
MATCHED = 10_000  # characters of a source's matched passages
COUNT_UNIT = 1_000  # characters that are counted in the time of one small item
CONDENSE_UNIT = 250  # and that are condensed
AT_ONCE = 4  # sources that are made shorter by a model at a time


@dataclass(frozen=True, slots=True)
class Texts:
    """Those of one run. ``batch_bytes`` bounds what is held at a time."""

    journal: Journal
    batch_bytes: int

    def batches(self, sources: Iterable[Source]) -> Iterable[tuple[Source, ...]]:
        return batched(sources, {}, self.batch_bytes)

    async def of(self, sources: Sequence[Source]) -> dict[str, str]:
        """The whole texts of some sources, by id."""
        stored_sources = [s for s in sources if s.content_hash]
        texts = await self.journal.texts([s.content_hash or "" for s in stored_sources])
        return dict(zip((s.id for s in stored_sources), texts, strict=True))

    async def sizes(
        self, sources: Sequence[Source], triage: Mapping[str, SourceTriage], counter: Counter
    ) -> dict[str, int]:
        """About how many tokens that has which is to be read of each source."""

        def count(batch: Sequence[Source], texts: Mapping[str, str]) -> dict[str, int]:
            whole = {s.id: s.content_hash or "" for s in batch if not _is_in_part(s, triage)}
            return {
                name: counts().count(whole[name], text, counter) if name in whole else counter.expected(text)
                for name, text in texts.items()
            }

        counted_sizes = {
            s.id: None if _is_in_part(s, triage) else counts().known_count(s.content_hash or "", counter)
            for s in sources
        }
        sizes = {name: size for name, size in counted_sizes.items() if size is not None}
        for batch in self.batches(s for s in sources if s.id not in sizes):
            texts = {name: excerpt(text, triage.get(name)) for name, text in (await self.of(batch)).items()}
            sizes |= await off_loop(work_of(texts), count, batch, texts)
        return sizes

    async def whole(self, sources: Sequence[Source]) -> tuple[SourceText, ...]:
        texts = await self.of(sources)
        return tuple(with_text(s, texts[s.id]) for s in sources)

    async def matched(self, sources: Sequence[Source]) -> tuple[SourceText, ...]:
        """The sources with what the searches matched of their texts, or the opening where they do not say."""
        source_texts: list[SourceText] = []
        for batch in self.batches([s for s in sources if s.content_hash]):
            texts = await self.of(batch)
            source_texts += [with_text(s, _passages(s, texts[s.id])) for s in batch]
        return tuple(source_texts)

    async def batch_texts(
        self,
        sources: Sequence[Source],
        portion: ReadingBatch,
        triage: Mapping[str, SourceTriage],
        shortening: Shortening,
    ) -> tuple[SourceText, ...]:
        """What is to be read of the sources of a portion, those that are given less than that made as short."""
        source_texts: list[SourceText] = []
        for batch in self.batches(sources):
            texts = {name: excerpt(text, triage.get(name)) for name, text in (await self.of(batch)).items()}
            cut = {name: text for name, text in texts.items() if portion.is_cut(name)}
            texts |= await shortening.shorter(cut, portion.sizes)
            source_texts += [
                with_text(
                    s,
                    texts[s.id],
                    tokens=portion.wholes[s.id] if s.id in cut else 0,
                    in_part=_is_in_part(s, triage),
                )
                for s in batch
            ]
        return tuple(source_texts)


@dataclass(frozen=True, slots=True)
class Shortening:
    """How texts are made shorter with regard to a ``query``, to sizes that ``counter`` counts: ``by_model``, which
    chooses what is kept of a text in so many tokens, where there is one, else without. ``problems`` are why it could
    not."""

    query: str
    counter: Counter
    by_model: Callable[[str, int], Awaitable[str]] | None = None
    problems: dict[str, None] = field(default_factory=dict)

    async def shorter(self, texts: Mapping[str, str], sizes: Mapping[str, int]) -> dict[str, str]:
        """The texts in these sizes, by id."""
        shortened: dict[str, str] = {}

        async def choose(name: str, by_model: Callable[[str, int], Awaitable[str]]) -> None:
            """After one failure the others are not tried: each would wait as long for the same."""
            if self.problems:
                return
            try:
                shortened[name] = await by_model(texts[name], sizes[name])
            except BudgetError:
                self.problems["what it may take was used up."] = (
                    None  # figures would differ from text to text
                )
            except WorkError as error:
                self.problems[error.problem] = None

        def condensed() -> dict[str, str]:
            measure = self.counter.expected
            return {
                n: condense(text, sizes[n], query=self.query, measure=measure).text
                for n, text in left.items()
            }

        if self.by_model is not None:
            await together((partial(choose, name, self.by_model) for name in texts), at_once=AT_ONCE)
        left = {name: text for name, text in texts.items() if name not in shortened}
        return shortened | await off_loop(sum(map(len, left.values())) // CONDENSE_UNIT, condensed)


def batched(
    sources: Iterable[Source], sizes: Mapping[str, int], room: int, around: int = 0
) -> Iterator[tuple[Source, ...]]:
    """The sources in order, in batches as large as ``room`` allows; one without a size counts with its characters."""
    batch: list[Source] = []
    batch_size = 0
    for source in sources:
        size = around + sizes.get(source.id, source.length)
        if batch and batch_size + size > room:
            yield tuple(batch)
            batch, batch_size = [], 0
        batch.append(source)
        batch_size += size
    if batch:
        yield tuple(batch)


def with_text(source: Source, text: str, **more: Any) -> SourceText:
    return SourceText(content=text, **{name: getattr(source, name) for name in _SHARED}, **more)


def excerpt(text: str, triage: SourceTriage | None) -> str:
    """What is read of a text: its sections, with […] where something is left out between them."""
    if triage is None or triage.extent is ReadDepth.WHOLE:
        return text
    parts = [text[span.start : span.end] for span in triage.spans]
    if not parts:
        return ""
    before = [""] if text[: triage.spans[0].start].strip() else []
    after = [""] if text[triage.spans[-1].end :].strip() else []
    return LEFT_OUT.join([*before, *parts, *after]).strip()


def work_of(texts: Mapping[str, str]) -> int:
    """How much there is to look through, in small items."""
    return sum(map(len, texts.values())) // COUNT_UNIT


def _is_in_part(source: Source, triage: Mapping[str, SourceTriage]) -> bool:
    return source.id in triage and triage[source.id].extent is ReadDepth.SECTIONS


def _passages(source: Source, text: str) -> str:
    return "\n".join(text[p.start : p.end] for p in source.passages)[:MATCHED] or text[:OPENING]
