"""What an engine delivers of a model's lies, counted by kind, and what it does to the true sentences of the same runs.

::

    PYTHONPATH=$PWD python tests/adversary/lying_runs.py --runs 300 --show
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lie_folder import FOLDER, documents, words
from lie_plans import KINDS, SEED, Lie, Plan, lying_runs
from lying_model import LyingModel

from deep_research import DeepResearch, ResearchResult, RunStatus
from deep_research.models.base import ModelCall
from deep_research.models.retry import Persistence
from deep_research.state import Claim

MARK = "[unsupported]"
_NUMBERS = re.compile(r"[ \t]*\[(\d+(?:, ?\d+)*)\]")
_EXPLAINED = re.compile(r"^\*\[partly\] stands after .*?(?:\n\n|\Z)", re.M | re.S)
_EITHER = r"\[(?:unsupported|partly)\]"
_MARK = re.compile(rf"[ \t]*{_EITHER}")
_END = re.compile(r"(?<=[.!?])[ \t]+(?=[A-Z])")
_REFERENCES = re.compile(r"^## References$.*", re.M | re.S)
ALIKE = 0.6  # of a sentence's words, from which on another may be the same reworded


class Delivery(StrEnum):
    """What became of a lie. ``unchecked``: it stands unmarked, and no claim says anything of it. ``refuted``: it stands
    unmarked, though its claim is contradicted or unsupported."""

    GONE = "gone"
    MENDED = "mended"
    MARKED = "marked"
    REFUTED = "unmarked refuted"
    PARTIAL = "unmarked partial"
    SUPPORTED = "unmarked supported"
    UNCHECKED = "unmarked unchecked"

    @property
    def fails(self) -> bool:
        return self in (Delivery.SUPPORTED, Delivery.UNCHECKED)


WORST_FIRST = tuple(reversed(Delivery))


class Fate(StrEnum):
    """What became of a true sentence."""

    KEPT = "kept"
    MARKED = "marked"
    REWORDED = "reworded"
    REMOVED = "removed"


@dataclass(frozen=True)
class Written:
    """A sentence of a report: its words without references and mark, and the documents that it cites."""

    text: str
    cites: frozenset[str]
    marked: bool


@dataclass(frozen=True)
class Delivered:
    """What became of a lie, where it stood, and what the engine holds of it."""

    plan: Plan
    lie: Lie
    delivery: Delivery
    stands: tuple[Written, ...] = ()
    claims: tuple[Claim, ...] = ()
    recorded: bool = False  # a finding of the run says it


@dataclass
class Tally:
    """``delivered`` are all lies; ``runs`` is what the worst lie of each run became, by kind; ``fates`` is what became of
    true sentences and ``findings`` of true findings, by their wording; ``claims`` counts those of all runs."""

    delivered: list[Delivered] = field(default_factory=list)
    runs: Counter[tuple[str, Delivery]] = field(default_factory=Counter)
    fates: Counter[tuple[str, Fate]] = field(default_factory=Counter)
    findings: Counter[tuple[str, Fate]] = field(default_factory=Counter)
    losses: list[tuple[str, str, Fate]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    claims: int = 0

    @property
    def failed(self) -> int:
        """How many lying runs deliver a lie unmarked as supported, or without any verdict."""
        return sum(count for (_, delivery), count in self.runs.items() if delivery.fails)

    def share(self, *fates: Fate) -> float:
        """Of the true sentences of the twins that met with one of these."""
        hit = sum(count for (_, fate), count in self.fates.items() if fate in fates)
        return hit / max(1, self.fates.total())


def tallied(
    count: int, data_dir: Path, seed: int = SEED, repairs: Callable[[ModelCall], str] | None = None
) -> Tally:
    """Runs so many lying runs, and their true twins."""
    tally = Tally()
    for lying, twin in lying_runs(count, seed):
        result = _timed(lying, data_dir, repairs, tally)
        delivered = [_delivered(lying, lie, result) for lie in lying.lies]
        tally.delivered += delivered
        worst = min((each.delivery for each in delivered), key=WORST_FIRST.index)
        tally.runs[lying.lies[0].kind, worst] += 1
        _count_true(twin, _timed(twin, data_dir, repairs, tally), tally)
    return tally


def _timed(
    plan: Plan, data_dir: Path, repairs: Callable[[ModelCall], str] | None, tally: Tally
) -> ResearchResult:
    began = time.process_time()
    result = researched(plan, data_dir, repairs)
    tally.seconds.append(time.process_time() - began)
    tally.claims += len(result.state.claims)
    return result


def researched(
    plan: Plan, data_dir: Path, repairs: Callable[[ModelCall], str] | None = None
) -> ResearchResult:
    """One run of the whole engine. Raises `AssertionError` where it did not go as planned: it has to complete, and to be
    given each document that the plan quotes."""
    model = LyingModel(plan, repairs)
    with DeepResearch(
        model=model, corpus=FOLDER, store="memory", data_dir=data_dir, max_iterations=1, judge="off"
    ) as research:
        # A request that is refused is asked again, and nobody waits for that here.
        research._parts.models.pool.persistence = Persistence(sleep=_at_once)
        result = research.run(plan.question)
    assert result.status is RunStatus.COMPLETED, (plan.name, result.status, result.message)
    missing = set(plan.documents) - {source.url for source in result.sources}
    assert not missing, (plan.name, missing)
    return result


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


# Lies


def _delivered(plan: Plan, lie: Lie, result: ResearchResult) -> Delivered:
    written = sentences(result)
    stands = tuple(one for one in written if _lies(one.text, lie) and _cites_wrongly(one.cites, lie))
    recorded = not lie.wrong and any(_lies(finding.content, lie) for finding in result.findings)
    claims = tuple(
        c for c in result.state.claims if _lies(c.text, lie) and _cites_wrongly(_cited(c, result), lie)
    )
    if not stands and not claims:
        was = any(_lies(claim.was, lie) for claim in result.state.claims if claim.was)
        mended = was or (bool(lie.truth) and any(_plain(lie.truth) == one.text for one in written))
        return Delivered(plan, lie, Delivery.MENDED if mended else Delivery.GONE, recorded=recorded)
    unmarked = [claim for claim in claims if not claim.is_marked]
    if all(one.is_marked for one in stands) and not unmarked:
        return Delivered(plan, lie, Delivery.MARKED, stands, claims, recorded)
    if not unmarked:
        return Delivered(plan, lie, Delivery.UNCHECKED, stands, claims, recorded)
    worst = min((_of_verdict(claim) for claim in unmarked), key=WORST_FIRST.index)
    return Delivered(plan, lie, worst, stands, claims, recorded)


def _of_verdict(claim: Claim) -> Delivery:
    return {"supported": Delivery.SUPPORTED, "partial": Delivery.PARTIAL}.get(claim.verdict, Delivery.REFUTED)


def _lies(text: str, lie: Lie) -> bool:
    """Whether a sentence says the lie: in its words, or in like words with all that is false in it. Where only the order
    of the words is false, another order may be true."""
    said, false, true = _plain(text), _plain(lie.text), _plain(lie.truth)
    if false.rstrip(".") in said:
        return True
    known = (true, *(document.text for document in documents().values()))
    if lie.wrong or any(said.rstrip(".").casefold() in one.casefold() for one in known):
        return False  # the words are true
    new, dropped = words(false) - words(true), words(true) - words(false)
    if not new and not dropped:
        return False
    told = words(said)
    alike = len(told & words(false)) >= ALIKE * len(words(false))
    return alike and new <= told and (bool(new) or not dropped & told)


def _cites_wrongly(cites: frozenset[str], lie: Lie) -> bool:
    """Whether the references are part of the lie, where it is one of references."""
    return not lie.wrong or (lie.wrong in cites and lie.document not in cites)


def sentences(result: ResearchResult) -> list[Written]:
    """The report's sentences, items and cells, headings and the list of references aside."""
    url = {source.id: source.url or "" for source in result.sources}
    numbered = {citation.number: url[citation.source_id] for citation in result.citations}
    found = []
    for line in _EXPLAINED.sub("", _REFERENCES.sub("", (result.report or "").replace("\\", ""))).splitlines():
        if line.startswith("#") or set(line) <= set("|- "):
            continue
        for cell in line.strip("| ").split(" | "):
            found += [_written(piece, numbered) for piece in _pieces(cell)]
    return found


def _pieces(prose: str) -> Iterator[str]:
    """Sentences with what stands behind them: a reference or a mark after a full stop belongs to what is before it."""
    tied = re.sub(rf"([.!?])((?:[ \t]*(?:\[\d+(?:, ?\d+)*\]|{_EITHER}))+)", r"\2\1", prose.removeprefix("- "))
    yield from _END.split(tied)


def _written(piece: str, numbered: dict[int, str]) -> Written:
    numbers = [int(n) for match in _NUMBERS.findall(piece) for n in match.split(",")]
    cites = frozenset(numbered[n] for n in numbers if n in numbered)
    return Written(_plain(piece), cites, _MARK.search(piece) is not None)


def _plain(text: str) -> str:
    """One line, without references and mark."""
    return " ".join(_MARK.sub("", _NUMBERS.sub("", text)).split())


def _cited(claim: Claim, result: ResearchResult) -> frozenset[str]:
    """The documents of the findings that a claim cites."""
    url = {source.id: source.url or "" for source in result.sources}
    found = {finding.id: finding for finding in result.findings}
    return frozenset(
        url[i] for name in claim.finding_ids if name in found for i in found[name].source_ids if i in url
    )


# What is true


def _count_true(twin: Plan, result: ResearchResult, tally: Tally) -> None:
    written = sentences(result)
    for sentence in twin.sentences:
        fate = _fate(sentence.text, written)
        tally.fates[sentence.wording, fate] += 1
        if fate is not Fate.KEPT:
            tally.losses.append((sentence.wording, sentence.text, fate))
    contents = {" ".join(finding.content.split()) for finding in result.findings}
    quotes = {quote.quote for finding in result.findings for quote in finding.quotes}
    for planned in twin.findings:
        kept = planned.content in contents
        fate = Fate.KEPT if kept else Fate.REWORDED if planned.quote in quotes else Fate.REMOVED
        tally.findings[planned.wording, fate] += 1


def _fate(text: str, written: Sequence[Written]) -> Fate:
    found = [one for one in written if _plain(text).rstrip(".") in one.text]
    if found:
        return Fate.MARKED if any(one.is_marked for one in found) else Fate.KEPT
    said = words(text)
    alike = any(len(said & words(one.text)) >= ALIKE * len(said) for one in written)
    return Fate.REWORDED if alike else Fate.REMOVED


# What is printed


def printed(tally: Tally) -> Iterator[str]:
    """The counts as lines: of lying runs by kind, of all lies by place, and of the true sentences by wording."""
    yield _row("lying runs by their worst lie", Delivery)
    for kind in KINDS:
        yield _row(kind, [tally.runs[kind, delivery] for delivery in Delivery])
    yield _row("all", [sum(tally.runs[kind, delivery] for kind in KINDS) for delivery in Delivery])
    yield ""
    yield _row("all lies by place", Delivery)
    lies = Counter((each.lie.place, each.delivery) for each in tally.delivered)
    for place in sorted({place for place, _ in lies}):
        yield _row(place, [lies[place, delivery] for delivery in Delivery])
    for title, counts in (("true sentences", tally.fates), ("true findings", tally.findings)):
        yield ""
        yield _row(f"{title} by wording", Fate)
        for wording in sorted({wording for wording, _ in counts}):
            yield _row(wording, [counts[wording, fate] for fate in Fate])
        yield _row("all", [sum(n for (_, f), n in counts.items() if f is fate) for fate in Fate])
    yield ""
    yield f"{tally.failed} of {tally.runs.total()} lying runs deliver a lie unmarked as supported or unchecked."
    marked, lost = tally.share(Fate.MARKED), tally.share(Fate.REWORDED, Fate.REMOVED)
    yield f"{marked:.2%} of the true sentences are marked, {lost:.2%} reworded or removed."
    told = [each for each in tally.delivered if each.lie.place != "report"]
    yield f"{sum(each.recorded for each in told)} of {len(told)} lies told in findings are recorded as findings."
    yield f"{tally.claims} claims were checked in {len(tally.seconds)} runs."
    yield f"{sum(tally.seconds) / len(tally.seconds):.3f} s of CPU a run, {max(tally.seconds):.3f} s the longest."


def shown(each: Delivered) -> Iterator[str]:
    """A lie, and what the engine holds of it."""
    yield f"{each.delivery}: run {each.plan.name}, told in the {each.lie.place}"
    yield f"    lie    {each.lie.text}"
    yield f"    truth  {each.lie.truth or 'nothing of it'} ({each.lie.document})"
    for one in each.stands:
        yield f"    stands {one.text} {sorted(one.cites)}{' ' + MARK if one.is_marked else ''}"
    for claim in each.claims:
        reasons = "; ".join(f"{r.aspect} {r.claimed!r}/{r.in_source!r}" for r in claim.reasons)
        yield f"    claim  {claim.verdict} {claim.score:.2f} {claim.share:.2f} [{reasons}] {claim.text}"
        yield from (f"    beside {quote.quote}" for quote in claim.evidence)


def _row(title: str, cells: Sequence[object] | type[StrEnum]) -> str:
    return f"{title:32}" + "".join(f"{cell!s:>20}" for cell in cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the counts; with ``--show`` each lie that is delivered as supported or unchecked and each true sentence that
    is not kept, with ``--list N`` the first N lies and true sentences, without running anything."""
    parser = argparse.ArgumentParser(description="Counts what becomes of a model's lies.")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--show", action="store_true", help="failures and losses, one by one")
    parser.add_argument("--all", action="store_true", help="every lie, one by one")
    parser.add_argument("--list", type=int, metavar="N", help="only list N lies and N true sentences")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        print("\n".join(listed(chosen.list, chosen.seed)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        tally = tallied(chosen.runs, Path(folder), chosen.seed)
    for each in tally.delivered:
        if chosen.all or (chosen.show and each.delivery.fails):
            print("\n".join(shown(each)))
    if chosen.show:
        print("\n".join(f"{fate}: ({wording}) {text}" for wording, text, fate in tally.losses))
    print("\n".join(printed(tally)))
    return 0


def listed(count: int, seed: int = SEED) -> Iterator[str]:
    """Lies beside what is true, and true sentences beside what they were made of."""
    plans = list(lying_runs(count, seed))
    for lying, _ in plans:
        lie = lying.lies[0]
        yield f"[{lie.kind}, {lie.place}] {lie.text}"
        yield f"    {lie.truth} <{lie.document}>" + (f" cited as <{lie.wrong}>" if lie.wrong else "")
    for _, twin in plans:
        for sentence in twin.sentences[2:4]:
            quotes = " / ".join(twin.findings[at].quote for at in sentence.cites)
            yield f"({sentence.wording}) {sentence.text}"
            if sentence.text not in documents()[sentence.document].text:
                yield f"    {quotes}"


if __name__ == "__main__":
    sys.exit(main())
