"""Whether the check of claims agrees with people, and whether it finds what was made false.

The one over claims with the texts that they cite, the other over sentences of these texts that were corrupted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from deep_research.sources.extract.html_text import extract
from deep_research.state import ClaimVerdict
from deep_research.state.identity import sha256_hex
from deep_research.text.plain import clean
from deep_research.verification.evidence_text import EvidenceText
from deep_research.verification.support import Support, check, is_doubted
from evals.baselines import PlainSearch
from evals.condensing import find_claims
from evals.corruptions import Case, cases
from evals.datasets import find_dataset, read_records, text_of, texts_of
from evals.evaluation import Figures, Progress
from evals.metrics import auroc, mean

NAME = "citations"
WICE, SCIFACT, OWN = "wice", "scifact", "claims"
CASES = 400  # of each kind
_METADATA = "(meta data)"  # lines of an article that say where it comes from
_PARAGRAPHS = "\n\n"
_LOOKED_AT = 3  # texts that may be most like another
_BATCH = 100  # checks between two lines of progress


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, the text that it cites, and whether that supports it, as people say: one of `SUPPORT`, `CONTRADICT` and
    `NEITHER`."""

    claim: str
    text: str
    label: str

    @property
    def is_unseen(self) -> bool:
        """Whether the numbers of the check were fitted without it."""
        return int(sha256_hex(self.claim.encode())[-1], 16) % 2 == 1


SUPPORT, CONTRADICT, NEITHER = "SUPPORT", "CONTRADICT", "NEITHER"


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a data set, and the texts that corrupted sentences are drawn from, each as its sentences, which
    ``joint`` stands between."""

    claims: Sequence[Claim]
    texts: Sequence[Sequence[str]]
    joint: str


async def evaluate_citations(
    data: Path, *, limit: int | None = None, progress: Callable[[Progress], None] = lambda _: None
) -> Figures:
    """The figures of each data set. ``limit`` takes the first so many claims, and so many sentences of each kind.
    Raises `UsageError`."""
    sets = {WICE: _wice(find_claims(data)), SCIFACT: _scifact(data)}
    figures = {}
    for name, claims in sets.items():
        drawn = await asyncio.to_thread(_drawn, claims, min(limit or CASES, CASES))
        figures[name] = await _measured(claims, drawn, limit, progress)
    if (own := data / OWN / "claims.jsonl").is_file():
        figures[OWN] = await asyncio.to_thread(_paraphrased, own, limit)
    return Figures(suite=NAME, titles=True, jobs=1, sets=figures, errors={})


async def _measured(
    claims: Claims, drawn: Sequence[Case], limit: int | None, progress: Callable[[Progress], None]
) -> dict[str, float]:
    judged = claims.claims[:limit]
    texts = [claims.joint.join(text) for text in claims.texts]
    asked = [(one.claim, one.text) for one in judged] + [(one.statement, texts[one.text]) for one in drawn]
    found: list[Support] = []
    prepared: dict[str, EvidenceText] = {}
    work = iter(asked)
    progress(Progress(done=0, kept=0, total=len(asked)))
    while batch := list(islice(work, _BATCH)):
        found += await asyncio.to_thread(_checked, batch, prepared)
        progress(Progress(done=len(found), kept=0, total=len(asked)))
    supports = list(zip(judged, found, strict=False))
    unseen = [one for one in supports if one[0].is_unseen]
    return {
        "questions": len(judged),
        **_agreement(supports),
        **{f"{name}_unseen": value for name, value in _agreement(unseen).items()},
        **_contradictions(supports),
        **_corruptions(zip(drawn, found[len(judged) :], strict=True)),
    }


def _checked(asked: Iterable[tuple[str, str]], prepared: dict[str, EvidenceText]) -> list[Support]:
    """``prepared`` are the texts that were cut into sentences already."""
    found = []
    for statement, text in asked:
        if text not in prepared:
            prepared[text] = EvidenceText(text)
        found.append(check(statement, [prepared[text]]))
    return found


def _agreement(supports: Sequence[tuple[Claim, Support]]) -> dict[str, float]:
    """Of supported claims against all others."""
    right = [support for claim, support in supports if claim.label == SUPPORT]
    wrong = [support for claim, support in supports if claim.label != SUPPORT]
    accepted = sum(support.verdict is ClaimVerdict.SUPPORTED for _, support in supports)
    both = sum(support.verdict is ClaimVerdict.SUPPORTED for support in right)
    return {
        "auroc": auroc([support.score for support in right], [support.score for support in wrong]),
        "f1": 2 * both / ((accepted + len(right)) or 1),
    }


def _contradictions(supports: Sequence[tuple[Claim, Support]]) -> dict[str, float]:
    """The shares of supported and of contradicted claims that are called contradicted."""
    of = {
        label: [support for claim, support in supports if claim.label == label]
        for label in (SUPPORT, CONTRADICT)
    }
    called = {
        label: mean(s.verdict is ClaimVerdict.CONTRADICTED for s in every) for label, every in of.items()
    }
    figures = {"supported_called_contradicted": called[SUPPORT]}
    if of[CONTRADICT]:
        figures["contradicted_found"] = called[CONTRADICT]
        scores = [[support.score for support in of[label]] for label in (SUPPORT, CONTRADICT)]
        figures["auroc_contradicted"] = auroc(*scores)
    return figures


def _corruptions(checked: Iterable[tuple[Case, Support]]) -> dict[str, float]:
    """The shares of true sentences that are kept, and of false ones that are rejected and that carry a sign, by kind."""
    total: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for case, support in checked:
        kind = f"{'kept' if case.true else 'rejected'}_{case.kind}"
        total[kind] += 1
        right[kind] += (support.verdict is ClaimVerdict.SUPPORTED) is case.true
        if not case.true:
            total[f"signed_{case.kind}"] += 1
            right[f"signed_{case.kind}"] += is_doubted(support.verdict, support.reasons)
    return {kind: right[kind] / total[kind] for kind in sorted(total)}


def _paraphrased(path: Path, limit: int | None) -> dict[str, float]:
    """Of true and false sentences in their own words over pages of a manual: how many are supported, and how many carry a
    sign; and how many of the quotes that they were made of are supported."""
    pages = {
        page.stem: EvidenceText(clean(extract(page.read_text(encoding="utf-8"))), title=page.stem)
        for page in path.parent.glob("pages/*.html")
    }
    figures: Counter[str] = Counter()
    for record in list(read_records(path, dict))[:limit]:
        kind, page = "true" if record["true"] else "false", pages[text_of(record, "page")]
        found = check(text_of(record, "sentence"), [page])
        quote = check(text_of(record, "quote"), [page])
        figures[f"{kind}_supported"] += found.verdict is ClaimVerdict.SUPPORTED
        figures[f"{kind}_signed"] += is_doubted(found.verdict, found.reasons)
        figures["quotes_supported"] += quote.verdict is ClaimVerdict.SUPPORTED
        figures["questions"] += 1
    return {name: float(count) for name, count in figures.items()}


def _drawn(claims: Claims, most: int) -> list[Case]:
    texts = [claims.joint.join(text) for text in claims.texts]
    numbers = {text: number for number, text in reversed(list(enumerate(texts)))}
    search = PlainSearch((str(number), "", text) for number, text in enumerate(texts))

    def lookalike(sentence: str, own: int) -> int | None:
        best = search.best(sentence, _LOOKED_AT, without=frozenset({str(own)}))
        return next((numbers[text] for text in best if sentence not in text), None)

    return list(cases(claims.texts, lookalike, most))


def _wice(path: Path) -> Claims:
    records = list(read_records(path, _read_wice))
    texts = dict.fromkeys(
        tuple(s.strip() for s in article if not s.startswith(_METADATA)) for _, article in records
    )
    return Claims([claim for claim, _ in records], list(texts), _PARAGRAPHS)


def _read_wice(record: Mapping[str, Any]) -> tuple[Claim, list[str]]:
    article = texts_of(record, "evidence")
    label = SUPPORT if text_of(record, "label") == "supported" else NEITHER
    return Claim(text_of(record, "claim"), clean(_PARAGRAPHS.join(article)), label), article


def _scifact(data: Path) -> Claims:
    dataset = find_dataset(data, SCIFACT, "claims")
    abstracts = dict(read_records(dataset.corpus, _read_abstract))
    texts = {name: clean(" ".join(abstract)) for name, abstract in abstracts.items()}
    claims = [claim for every in read_records(dataset.questions, _read_scifact(texts)) for claim in every]
    return Claims(claims, [[s.strip() for s in abstract] for abstract in abstracts.values()], " ")


def _read_abstract(record: Mapping[str, Any]) -> tuple[str, list[str]]:
    return text_of(record, "_id"), texts_of(record, "sentences")


def _read_scifact(texts: Mapping[str, str]) -> Callable[[Mapping[str, Any]], list[Claim]]:
    def claims(record: Mapping[str, Any]) -> Iterator[Claim]:
        labels = {text_of(e, "doc_id"): text_of(e, "label") for e in record["evidence"]}
        for name in labels or dict.fromkeys(texts_of(record, "cited_doc_ids")):
            if name in texts:
                yield Claim(text_of(record, "claim"), texts[name], labels.get(name, NEITHER))

    return lambda record: list(claims(record))
