"""How much of what matters is left when a text is condensed: of articles whose sentences that support a claim are known,
the share of these that is kept. Beside it what two plain ways keep in the same room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deep_research.budget.condense import condense
from deep_research.errors import UsageError
from deep_research.state import Span
from deep_research.text.passages import sentences
from evals.baselines import textrank
from evals.datasets import read_records, text_of, texts_of
from evals.evaluation import ALL, Figures, Progress
from evals.metrics import mean

NAME = "condense"
FOLDER = "wice"
PERCENT = (40, 20, 10)  # of the characters of a text, that it is condensed to
_JOIN = "\n\n"  # the articles come as sentences: each is made a paragraph, so that none can grow together

Keeps = Callable[[str, int, str], Sequence[Span]]  # text, room in characters, query


@dataclass(frozen=True, slots=True)
class Claim:
    """``places`` is where each sentence of the article stands in ``text``; ``groups`` are sets of sentences (numbers) of
    which any supports the claim as a whole."""

    claim: str
    text: str
    places: tuple[Span, ...]
    groups: tuple[frozenset[int], ...]

    @property
    def supporting(self) -> frozenset[int]:
        """All sentences of all groups."""
        return frozenset[int]().union(*self.groups)


async def evaluate_condensing(
    data: Path, *, limit: int | None = None, progress: Callable[[Progress], None] = lambda _: None
) -> Figures:
    """The figures of the product with the claim as its query, and, each in a set of its own, without a query, of leading
    sentences and of TextRank. ``limit`` takes the first so many claims. Raises `UsageError`."""
    path = find_claims(data)
    claims = [claim for claim in read_records(path, read_claim) if claim.supporting][:limit]
    if not claims:
        raise UsageError(f"{path} has no claim with sentences that support it.")
    ways: Mapping[str, Keeps] = {
        ALL: lambda text, room, query: condense(text, room, query=query, measure=len).spans,
        "no query": lambda text, room, _: condense(text, room, measure=len).spans,
        "leading": leading,
        "textrank": textrank,
    }
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    progress(Progress(done=0, kept=0, total=len(claims)))
    for done, claim in enumerate(claims, 1):
        for name, keeps in ways.items():
            rows[name].append(await asyncio.to_thread(_figures, claim, keeps))
        progress(Progress(done=done, kept=0, total=len(claims)))
    return Figures(
        suite=NAME,
        titles=True,
        jobs=1,
        sets={
            name: {"questions": len(claims), **{key: mean(row[key] for row in of_way) for key in of_way[0]}}
            for name, of_way in rows.items()
        },
        errors={},
    )


def find_claims(data: Path) -> Path:
    """``dev.jsonl`` in the folder `FOLDER`, or else the only file of its kind there. Raises `UsageError`."""
    home = data / FOLDER
    found = sorted(home.glob("*.jsonl"))
    preferred = [path for path in found if path.name == "dev.jsonl"] or found
    if len(preferred) != 1:
        raise UsageError(
            f"There is no file {home / 'dev.jsonl'}."
            if not preferred
            else f"Several files in {home} may be meant.",
            hint="--data names the folder that holds the data sets.",
        )
    return preferred[0]


def read_claim(record: Mapping[str, Any]) -> Claim:
    """A claim from its record. Raises `KeyError`, `TypeError`, `ValueError`."""
    evidence = texts_of(record, "evidence")
    groups = record["supporting_sentences"]
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        raise TypeError("supporting_sentences is no list of groups")
    if not all(isinstance(n, int) and 0 <= n < len(evidence) for group in groups for n in group):
        raise ValueError("supporting_sentences names a sentence that is not there")
    places = []
    start = 0
    for sentence in evidence:
        places.append(Span(start=start, end=start + len(sentence)))
        start += len(sentence) + len(_JOIN)
    return Claim(
        claim=text_of(record, "claim"),
        text=_JOIN.join(evidence),
        places=tuple(places),
        groups=tuple(frozenset(group) for group in groups if group),
    )


def leading(text: str, room: int, _query: str) -> list[Span]:
    """The first sentences, as many as fit."""
    kept = []
    for span in sentences(text):
        room -= span.end - span.start + 1
        if room < 0:
            break
        kept.append(span)
    return kept


def kept_of(claim: Claim, spans: Sequence[Span]) -> frozenset[int]:
    """The numbers of the supporting sentences that are kept as a whole."""
    return frozenset(
        n
        for n in claim.supporting
        if any(s.start <= claim.places[n].start and claim.places[n].end <= s.end for s in spans)
    )


def _figures(claim: Claim, keeps: Keeps) -> dict[str, float]:
    figures: dict[str, float] = {}
    groups: dict[str, float] = {}
    for percent in PERCENT:
        kept = kept_of(claim, keeps(claim.text, len(claim.text) * percent // 100, claim.claim))
        figures[f"kept@{percent}"] = len(kept) / len(claim.supporting)
        groups[f"group@{percent}"] = float(any(group <= kept for group in claim.groups))
    return figures | groups
