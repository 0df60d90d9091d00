"""What tasks of agents find, read and send: ``python tests/benchmarks/agents.py [SEED]``.

One question asks for twelve facts of a made manual of 200 pages, each of which stands two references away from the
overview (`manual_corpus`). A scripted model follows the section numbers that its prompts show and nothing else
(`manual_reader`), so that what is not found is what nobody could open. Printed are, for ``gathering="agents"`` and for
the default: facts in the report; uses of ``look_up`` by a number that opened that section; characters that were analysed
in sources that no finding cites, of all that were; tokens by role; and the common beginnings of requests that follow one
another, as a share of the shorter one: what a cache of prompts could keep.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from manual_corpus import PARTS, Manual, manual
from manual_reader import ManualReader, section_of
from prompt_reading import blocks

from deep_research import DeepResearch
from deep_research.models.base import ModelCall
from deep_research.research import ResearchResult
from deep_research.state import ModelRole

MODES = {"agents": "agents", "default": "search"}  # by name the setting ``gathering``
ROLES = tuple(
    role.value
    for role in ModelRole
    if role not in (ModelRole.GATHERER, ModelRole.SUPERVISOR, ModelRole.SUMMARIZER, ModelRole.MEMORY)
)
_SECTION_NUMBER = re.compile(r"\d+(?:\.\d+)+")


@dataclass
class Figures:
    """Of one run. ``opened`` are uses of ``look_up`` by number that opened the section, of ``look_ups``, both by where
    was looked; ``uncited`` are characters of sources that no finding cites, of those that were ``analysed``;
    ``step_prefixes``, ``revision_prefixes`` and ``critic_prefixes`` are shares."""

    facts: int = 0
    look_ups: Counter[str] = field(default_factory=Counter)
    opened: Counter[str] = field(default_factory=Counter)
    analysed: int = 0
    uncited: int = 0
    rounds: int = 0
    sources: int = 0
    tokens: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # calls, input, output by role
    step_prefixes: list[float] = field(default_factory=list)
    revision_prefixes: list[float] = field(default_factory=list)
    critic_prefixes: list[float] = field(default_factory=list)


def measured(made: Manual, corpus: Path, gathering: str) -> Figures:
    """The figures of a run over the files of a manual."""
    readers = {role: ManualReader(role) for role in ROLES}
    with DeepResearch(
        corpus=[corpus],
        model=[ManualReader("other")],
        models={role: [reader] for role, reader in readers.items()},
        gathering=gathering,
        max_sub_queries=len(PARTS),
        local_only=True,
        store="memory",
    ) as engine:
        result = engine.run(made.question)
        figures = Figures(
            facts=sum(fact.value in (result.report or "") for fact in made.facts),
            rounds=result.iterations,
            sources=len(result.sources),
        )
        for number, where, shown in look_ups(engine, result):
            figures.look_ups[where] += 1
            figures.opened[where] += is_opened(made, number, shown)
    tokens: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for spend in result.usage.models:
        tokens[spend.role].update(calls=spend.calls, input=spend.tokens.input, output=spend.tokens.output)
    figures.tokens = {role: (sums["calls"], sums["input"], sums["output"]) for role, sums in tokens.items()}
    cited = {source_id for finding in result.findings for source_id in finding.source_ids}
    addresses = {source.url for source in result.sources if source.id in cited}
    for address, size in analysed(readers["analyzer"].calls):
        figures.analysed += size
        figures.uncited += size * (address not in addresses)
    figures.step_prefixes = prefixes_of_steps(readers["task_agent"].calls)
    writing = [call for call in readers["synthesizer"].calls if call.label in ("report", "revision")]
    figures.revision_prefixes = [shared(*pair) for pair in pairwise(writing) if pair[1].label == "revision"]
    figures.critic_prefixes = [shared(*pair) for pair in pairwise(readers["refiner"].calls)]
    return figures


def look_ups(engine: DeepResearch, result: ResearchResult) -> Iterator[tuple[str, str, str]]:
    """The numbers that ``look_up`` was asked for, where, and what it showed."""
    for stands in result.state.tasks:
        for step in stands.steps:
            for use in step.uses:
                number = str(use.arguments.get("section", ""))
                if use.tool == "look_up" and _SECTION_NUMBER.fullmatch(number):
                    showing = json.loads(engine.text(use.result_hash)) if use.result_hash else {}
                    where = "in a source" if "source" in use.arguments else "among the documents"
                    yield number, where, "" if use.failed else str(showing.get("text", ""))


def is_opened(made: Manual, number: str, shown: str) -> bool:
    """Whether the section, or the page, with a number was shown with the beginning of what stands there."""
    section = made.sections.get(number)
    if section is None:
        return any(page.number == number and f"# {page.heading}" in shown for page in made.pages)
    body = section_of(number, shown)
    return body is not None and section.paragraphs[0][:40] in body


def analysed(calls: Sequence[ModelCall]) -> Iterator[tuple[str, int]]:
    """The addresses of sources that were given to be read, with the characters that were given of each."""
    for call in calls:
        if call.form is not None and call.form.name == "Reading":
            for label, body in blocks(call.messages[-1].content).items():
                address = re.search(r"^Address: (.*)$", body, re.M)
                if label.startswith("source ") and address:
                    yield address[1], len(body.partition("\n\n")[2])


def prefixes_of_steps(calls: Sequence[ModelCall]) -> list[float]:
    """Of each step of a task behind its first, the common beginning with the step before."""
    by_task: defaultdict[str, list[ModelCall]] = defaultdict(list)
    for call in calls:
        by_task[call.label].append(call)
    return [
        shared(before, after)
        for steps in by_task.values()
        for before, after in pairwise(steps)
        if "This is step 1 of" not in after.messages[-1].content  # of another attempt
    ]


def shared(first: ModelCall, second: ModelCall) -> float:
    """How much of the shorter request both begin with."""
    texts = [call.system + "".join(message.content for message in call.messages) for call in (first, second)]
    shorter = min(map(len, texts))
    same = (one == other for one, other in zip(*texts, strict=False))
    return next((place for place, each in enumerate(same) if not each), shorter) / shorter


def lines(name: str, figures: Figures) -> Iterator[str]:
    yield f"{name}: {figures.facts} of {len(PARTS)} facts; {figures.rounds} rounds, {figures.sources} sources"
    if figures.look_ups:
        by_place = [
            f"{where} {figures.opened[where]} of {count}" for where, count in sorted(figures.look_ups.items())
        ]
        opened, asked = figures.opened.total(), figures.look_ups.total()
        yield f"  look_up by number: {opened} of {asked} opened the section ({', '.join(by_place)})"
    share = figures.uncited / max(1, figures.analysed)
    yield f"  analysed: {figures.analysed:,} characters, {share:.0%} in sources that no finding cites"
    whole = [sum(each[place] for each in figures.tokens.values()) for place in range(3)]
    for role, (calls, given, output) in [*sorted(figures.tokens.items()), ("all", tuple(whole))]:
        yield f"  {role}: {calls} calls, {given:,} tokens in, {output:,} out"
    for what, shares in (
        ("steps of a task", figures.step_prefixes),
        ("writer and revision", figures.revision_prefixes),
        ("critic and its next look", figures.critic_prefixes),
    ):
        if shares:
            least, most = min(shares), max(shares)
            yield f"  common beginning, {what}: {statistics.mean(shares):.0%} of the shorter ({least:.0%} to {most:.0%})"


@pytest.mark.bench
@pytest.mark.parametrize("name", MODES)
def test_the_facts_of_a_manual(name: str, tmp_path: Path) -> None:
    made = manual()
    made.write(tmp_path)
    print("\n".join(lines(name, measured(made, tmp_path, MODES[name]))))


def main(arguments: Sequence[str]) -> None:
    made = manual(*map(int, arguments[:1]))
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder))
        for name, gathering in MODES.items():
            print("\n".join(lines(name, measured(made, Path(folder), gathering))))


if __name__ == "__main__":
    main(sys.argv[1:])
