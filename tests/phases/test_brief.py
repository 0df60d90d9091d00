"""The analyzer that ranks and the brief that is made of what it chose."""

from __future__ import annotations

import asyncio
import re
import threading
from dataclasses import replace
from itertools import pairwise
from math import log
from pathlib import Path

import pytest
from parking import parking_hooks

from deep_research import DeepResearch, RunStatus
from deep_research.phases.analysis.best_passages import best_passages
from deep_research.phases.analysis.extractive_analyzer import ExtractiveAnalyzer
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerOutput, SourceText
from deep_research.phases.synthesis.extractive_synthesizer import LEAST, within
from deep_research.report.markup import code_block, is_code
from deep_research.retrieval.parsed_question import question_parts
from deep_research.retrieval.ranker import default_ranker
from deep_research.retrieval.selection import DEFAULT_WORDS
from deep_research.state import AnswerStatus, ClaimVerdict, ConfidenceLevel, Finding
from deep_research.testing import FakeClock

PAGES = {
    "mole.md": "# The Mole light\n\nThe Mole stands off the coast. It was built in 1811 by Anna Brook. The tower is 35"
    " metres tall.\n\n## Not allowed\n\n- Lighting fires on the stairs.\n- Keeping goats.\n",
    "hare.md": "# The Hare light\n\nThe Hare is a lower tower. It is 21 metres tall, and stands on a rock.\n",
    "list.md": "# A list of lights\n\n| Light | Height | Year |\n| --- | --- | --- |\n| Mole | 35 m | 1811 |\n"
    "| Hare | 21 m | 1843 |\n",
    "tea.md": "# Tea\n\nTea is brewed from leaves. Green tea is not fermented.\n",
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def engine(corpus: Path, **more: object) -> DeepResearch:
    return DeepResearch(corpus=corpus, clock=FakeClock(), **{"store": "memory", **more})


def test_a_brief_answers_first_and_quotes_to_the_letter(corpus: Path) -> None:
    with engine(corpus) as research:
        result = research.run("How tall is the tower of the Mole light?")
        assert result.status is RunStatus.COMPLETED
        opening = (result.report or "").split("## ")[1]
        assert "35" in opening
        assert result.findings[0].probability is not None
        assert min(f.rank or 0 for f in result.findings) == 0
        for finding in result.findings:
            quote = finding.quotes[0]
            saved = research.text(quote)
            assert saved[quote.start : quote.end] == quote.quote
            assert all(quote.start <= span.start < span.end <= quote.end for span in finding.highlights)


def test_an_item_keeps_the_heading_that_it_stands_under(corpus: Path) -> None:
    with engine(corpus) as research:
        report = research.run("Is keeping goats allowed in the Mole light?").report or ""
    assert "goats" in report
    assert "Not allowed: Keeping goats" in report.split("## ")[1]
    assert report.count("Not allowed: ") == 1  # further items stand under it


HARBOUR = """\
# Rules of the harbour

## In the water

You must never:

- dive into the shallow end of the basin;
- run along the edge.

## Printers

- Supported printers:
  - Alpha printers of the second series with the new cartridge
- Unsupported printers:
  - Beta printers of series 3

## Formats

The export formats of the tool are:

- CSV
- JSON

## CSV

Comma.

## JSON

Braces.

## Doors

To change the code of a door run:

```
door set --north 4
```

## Floats

The errors of float operations are no more than 1 part in 2**53 per operation.

## Titles

| | Keeper (L1) | Senior keeper (L2) |
| --- | --- | --- |
| Trust | Is looked over by another one at the end of the day, or by two of the office. | Works the lamp \
alone through the whole of each watch, and looks over what the others did by day. |
"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What errors have float operations?", "no more than 1 part in 2**53 per operation."),
        ("Are Beta printers of series 3 supported?", "Unsupported printers: Beta printers of series 3."),
        ("Which export formats has the tool?", "The export formats of the tool are: CSV; JSON."),
        ("May I run along the edge?", "In the water: You must never: run along the edge."),
        (
            "How is the code of the north door changed?",
            "To change the code of a door run: [1]\n\n```\ndoor set --north",
        ),
        (
            "What is the trust of a senior keeper?",
            "Trust, Senior keeper (L2): Works the lamp alone through the whole of each",
        ),
    ],
)
def test_what_an_answer_stands_under_comes_with_it_and_all_is_borne_out(
    tmp_path: Path, question: str, told: str
) -> None:
    (tmp_path / "rules.md").write_text(HARBOUR)
    with engine(tmp_path) as research:
        result = research.run(question)
    assert told in (result.report or "").split("## ")[1]
    assert result.claims
    assert all(claim.verdict is ClaimVerdict.SUPPORTED for claim in result.claims)


def test_a_long_list_breaks_off_where_that_is_seen_and_is_borne_out(tmp_path: Path) -> None:
    items = "\n".join(
        f"- The {name} lamp of brass and glass." for name in ("north", "south", "east", "west") * 3
    )
    (tmp_path / "lamps.md").write_text(f"# Lamps\n\nThe lamps that a keeper may light are:\n\n{items}\n")
    with engine(tmp_path) as research:
        result = research.run("Which lamps may a keeper light?")
    (answer, *_) = (result.report or "").split("## Answer\n\n")[1].splitlines()
    assert answer.startswith("The lamps that a keeper may light are: The north lamp")
    assert answer.endswith("of brass and glass. … [1]")
    assert all(claim.verdict is ClaimVerdict.SUPPORTED for claim in result.claims)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "Wie viel Abstand ist von der Grundstücksgrenze zu halten?",
            "Von Grundstücksgrenzen sind mindestens 5 Meter Abstand zu halten.",
        ),
        ("Welches Futter ist nicht erlaubt?", "Das Futter darf kein Honig sein, weil er nicht erlaubt ist."),
        (
            "How much rain fell at Hollow in 2021?",
            "Hollow had 905 mm of rain, measured through the whole of 2021.",
        ),
    ],
)
def test_nothing_that_a_report_quotes_is_said_to_be_nowhere(tmp_path: Path, question: str, text: str) -> None:
    (tmp_path / "a.md").write_text(f"# Regeln\n\n{text}\n", encoding="utf-8")
    with engine(tmp_path) as research:
        report = research.run(question).report or ""
    assert text in report
    assert "Nothing was found" not in report


def test_a_source_stands_once_with_its_sections_under_it_and_no_heading_is_empty(tmp_path: Path) -> None:
    for name in ("mole", "hare"):
        sections = "\n\n".join(
            f"## {part}\n\nThe {part} of the {name} lamp has a shutter of {part} brass by the sea."
            for part in ("north", "south", "east", "west")
        )
        (tmp_path / f"{name}.md").write_text(f"# The {name} lamp\n\n{sections}\n")
    with engine(tmp_path, report_words=300) as research:
        for asked in ("What shutter of brass has the lamp?", "Shutters of the lamp"):
            lines = (research.run(asked).report or "").splitlines()
            headings = [line for line in lines if line.startswith("## ")]
            assert len(headings) == len(set(headings))
            told = [line for line in lines if line]
            assert not any(a.startswith("## ") and b.startswith("## ") for a, b in pairwise(told))


def test_differing_figures_of_another_matter_stay_out(tmp_path: Path) -> None:
    for name, power in (("one", 84), ("other", 90)):
        (tmp_path / f"{name}.md").write_text(
            f"# Plant report {name}\n\nThe plant of Kiruna has an output of {power} MW.\n\n## Office\n\n"
            "Headphones in the office are limited to 80 decibels for each of the keepers.\n"
        )
    with engine(tmp_path) as research:
        result = research.run("What is the limit for headphones in the office?")
        assert "80 decibels" in (result.report or "")
        assert "Kiruna" not in (result.report or "")
        assert "84 MW" in (research.run("What output has the plant of Kiruna?").report or "")


def test_a_question_in_a_text_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "minutes.md").write_text(
        "# Minutes\n\nThe boat house was painted.\n\nWho looks after the website once Luc has left?\n"
    )
    with engine(tmp_path) as research:
        report = research.run("Who looks after the website?").report or ""
    assert "once Luc has left" not in report.partition("## ")[2].partition("## ")[0]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "Are candles forbidden in the hut?",
            "The following are forbidden in the hut: … candles once lit by night.",
        ),
        (
            "Are boots forbidden in the hut?",
            "The following are forbidden in the hut: … boots upstairs in winter …",
        ),
    ],
)
def test_a_list_of_which_not_all_is_told_says_so(tmp_path: Path, question: str, answer: str) -> None:
    items = [f"{what} {'and ' * 8}more of it" for what in ("dogs", "cooking", "radios")]
    items[1:1] = ["boots upstairs in winter"]
    told = "\n".join(f"- {item}" for item in [*items, "candles once lit by night"])
    (tmp_path / "hut.md").write_text(f"# Hut rules\n\nThe following are forbidden in the hut:\n\n{told}\n")
    with engine(tmp_path) as research:
        result = research.run(question)
    assert answer in (result.report or "").replace("\n", " ")
    assert all(claim.verdict is ClaimVerdict.SUPPORTED for claim in result.claims)


@pytest.mark.parametrize("of_the_list", ["a-list", "z-list"])
def test_of_figures_that_differ_the_page_on_the_thing_itself_gives_the_first(
    tmp_path: Path, of_the_list: str
) -> None:
    (tmp_path / "hollow.md").write_text(
        "# Hollow lighthouse\n\nThe lens came by ship.\n\n## How tall is it?\n\n"
        "Its owner measures from the base of the tower and gives 61.2 metres.\n"
    )
    (tmp_path / f"{of_the_list}.md").write_text(
        "# A list of lighthouses\n\n| Lighthouse | Height |\n| --- | --- |\n| Hollow | 57 m |\n| Marrow | 40 m |\n"
    )
    with engine(tmp_path) as research:
        report = research.run("How tall is the Hollow lighthouse?").report or ""
    answer, given = report.split("## ")[1:3]
    assert "61.2 metres. [1]" in answer
    assert given.index("61.2 metres") < given.index("57 m")


def test_a_question_for_no_figure_is_given_no_figures(tmp_path: Path) -> None:
    for name, length in (("one", 12), ("other", 19)):
        (tmp_path / f"{name}.md").write_text(
            f"# Marrow creek, the {name} survey\n\nMarrow creek is named after a miller, and {length} km long.\n"
        )
    with engine(tmp_path) as research:
        report = research.run("Marrow creek is named after?").report or ""
    assert "named after a miller" in report
    assert "Published figures" not in report


def test_a_sentence_far_below_the_best_is_no_part_of_the_answer(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# The society\n\nThe society was founded in 1923 by Anna Brook. The fee is 42 euros a year.\n"
    )
    with engine(tmp_path) as research:
        report = research.run("When was the society founded?").report or ""
    assert "1923 by Anna Brook. [1]" in report.split("## ")[1]


def test_an_answer_comes_after_what_it_points_back_to(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# Expenses\n\nReceipts must be handed in within 60 days. However, receipts from a trip abroad may be handed in"
        " within 90 days of the trip.\n"
    )
    with engine(tmp_path) as research:
        report = research.run("When must receipts of a trip abroad be handed in?").report or ""
    assert "Receipts must be handed in within 60 days. However, receipts" in report.split("## ")[1]


@pytest.mark.parametrize(("words", "whole"), [(500, True), (1_200, True)])
def test_long_reports_that_were_asked_for_show_whole_paragraphs(
    tmp_path: Path, words: int, whole: bool
) -> None:
    text = (
        "Water comes from the Tarn reservoir. Each farm may draw 400 cubic metres a week of it for its irrigation between"
        " May and September. The quota was halved in the drought of 2018. Who draws more pays a fine of 3 crowns."
    )
    (tmp_path / "a.md").write_text(f"# The valley\n\n{text}\n\n## Crops\n\nBarley is grown.\n")
    with engine(tmp_path, report_words=words) as research:
        report = research.run("How much water may a farm draw for irrigation?").report or ""
    assert "400 cubic metres" in report.split("## ")[1]
    assert (text in report) is whole


def test_nothing_is_told_where_nothing_is_near(corpus: Path) -> None:
    with engine(corpus) as research:
        result = research.run("What is the melting point of tungsten carbide?")
    assert result.status is RunStatus.ABORTED
    assert result.report is None


@pytest.mark.parametrize("sure", [0.2, 0.6])
def test_of_parts_of_which_none_is_found_alone_the_one_that_fits_is_partly_found(sure: float) -> None:
    text = "# Mole\n\nThe Mole is lit for 90 days, whether there is fog or not.\n"
    question = "How long does the Mole wait before a storm, and who was its keeper?"
    ranker = replace(default_ranker(), signals={}, bias=log(sure / (1 - sure)))
    parts = question_parts(question)
    chosen = best_passages(
        question, [SourceText(id="s", title="Mole", content=text)], 100, parts=parts, ranker=ranker
    )
    assert [(part.expects, told.verdict) for part, told in zip(parts, chosen.verdicts, strict=True)] == [
        ("number", AnswerStatus.PARTLY),
        ("person", AnswerStatus.NOT_FOUND),
    ]
    assert "90 days" in chosen.findings[0].content


def test_no_length_asked_for_means_no_filler() -> None:
    passages = [
        Finding(
            id=f"find-{n:012x}",
            content=f"Passage {n}.",
            confidence=ConfidenceLevel.LOW,
            source_ids=("src-1",),
            rank=n,
            relevance=near,
        )
        for n, near in enumerate((1.0, LEAST * 1.1, LEAST * 0.9))
    ]
    assert within(DEFAULT_WORDS, passages) == passages[:2]
    assert within(DEFAULT_WORDS - 1, passages) == passages


@pytest.mark.parametrize(("probability", "shown"), [(0.9, 14), (0.5, 8), (0.2, 5), (0.02, 5)])
def test_the_less_likely_it_is_the_less_is_told_but_never_only_a_scrap(
    probability: float, shown: int
) -> None:
    passages = [
        Finding(
            id=f"find-{n:012x}",
            content="word " * 49,
            confidence=ConfidenceLevel.LOW,
            source_ids=("src-1",),
            rank=n,
            relevance=1.0,
            probability=probability,
        )
        for n in range(15)
    ]
    assert len(within(DEFAULT_WORDS, passages)) == shown


@pytest.mark.parametrize("phase", ["gathering", "analysis", "synthesis"])
def test_a_resumed_run_writes_the_same_brief(corpus: Path, phase: str, tmp_path: Path) -> None:
    question = "How tall is the tower of the Mole light?"
    with engine(corpus) as research:
        whole = research.run(question)
    hooks = parking_hooks("after_phase", phases=(phase,))
    with engine(corpus, hooks=hooks, store="sqlite", data_dir=tmp_path / "home") as research:
        parked = research.run(question)
        assert parked.status is RunStatus.PARKED
    with engine(corpus, hooks=hooks, store="sqlite", data_dir=tmp_path / "home") as research:
        resumed = research.resume(parked.research_id, answer="")
    assert resumed.report == whole.report
    assert resumed.findings == whole.findings


def test_findings_of_an_analyzer_that_does_not_rank_are_passages_in_their_order(corpus: Path) -> None:
    class Own:
        deterministic = True

        async def __call__(self, handoff: object) -> AnalyzerOutput:
            return AnalyzerOutput(
                findings=tuple(
                    AnalyzedFinding(
                        content=source.content[:60], source_ids=(source.id,), confidence=ConfidenceLevel.LOW
                    )
                    for source in handoff.sources  # type: ignore[attr-defined]
                )
            )

    with DeepResearch(corpus=corpus, store="memory", agents={"analyzer": Own()}) as research:
        result = research.run("How tall is the tower of the Mole light?")
    assert result.status is RunStatus.COMPLETED
    assert result.citations == () or all(c.number for c in result.citations)
    assert "## Answer" in (result.report or "")


def test_ranking_stops_between_documents() -> None:
    stop = threading.Event()
    stop.set()
    source = SourceText(id="s", title="Mole", content=PAGES["mole.md"])
    assert best_passages("How tall is the Mole?", [source], 100, stop=stop).findings == []
    assert best_passages("How tall is the Mole?", [source], 100).findings


@pytest.mark.parametrize(
    "quote",
    [
        "~~~\nbrindle setup\n```\n## Answer\n```\n~~~",
        "````\nbrindle setup\n```\n## Answer\n````",
        "```\nbrindle\u2028```\n## Answer\n```",
        "```make brindle``` compiles it\n## Answer",
        "~~~ struck ~~~ and more words",
        "```\n```",
        "```\n[find-000000000000]\n```",
    ],
)
def test_what_would_leave_its_block_is_no_code(quote: str) -> None:
    assert not is_code(quote)
    assert is_code("```sh\nbrindle setup\n```")
    assert code_block("```sh\nbrindle setup\n```") == "```\nbrindle setup\n```"


def test_a_part_that_nothing_answers_has_no_answer_of_another(corpus: Path) -> None:
    with engine(corpus) as research:
        report = research.run("How tall is the Mole light, and who won the cup of Orrel?").report or ""
    answer = report.partition("## Answer")[2].partition("\n## ")[0]
    assert "35" in answer
    assert answer.count("[1]") <= 2
    assert len(re.findall(r"The Mole stands off the coast", report)) <= 1


@pytest.mark.timed
def test_a_survey_that_nobody_waits_for_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def endless(self: object, handoff: object, stop: threading.Event) -> None:
        begun.set()
        if stop.wait(300):
            stopped.set()

    monkeypatch.setattr(ExtractiveAnalyzer, "_survey", endless)

    async def cancelled() -> None:
        task = asyncio.ensure_future(ExtractiveAnalyzer().survey(None))  # type: ignore[arg-type]
        await asyncio.to_thread(begun.wait, 300)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancelled())
    assert stopped.wait(300)


@pytest.mark.parametrize(
    ("page", "question"),
    [
        ("# Office\n\nThe first aid box is in the kitchen, under the sink.\n", "Where is the first aid box?"),
        ("# Office\n\nThe porter unlocks the hall at eight.\n", "Who unlocks the hall?"),
        ("# Canteen\n\nLunch costs 7 euros.\n", "How much does lunch cost?"),
    ],
)
def test_what_nearly_repeats_the_question_is_told_in_whatever_form(
    tmp_path: Path, page: str, question: str
) -> None:
    (tmp_path / "page.md").write_text(page)
    with engine(tmp_path) as research:
        result = research.run(question)
    assert page.split("\n\n")[1].strip() in (result.report or "")


def test_the_steps_of_something_are_told_together_and_in_their_order(tmp_path: Path) -> None:
    steps = [
        "Unplug the cable.",
        "Wait ten seconds.",
        "Hold the RESET button.",
        "Plug the cable in.",
        "Let go.",
    ]
    listed = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
    (tmp_path / "router.md").write_text(
        f"# Router\n\n## Resetting the router\n\n{listed}\n\n## Price\n\nIt costs 40 euros.\n"
    )
    with engine(tmp_path) as research:
        report = research.run("How do I reset the router?").report or ""
    shown = report.partition("### Resetting the router")[2]
    places = [shown.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["a.md", "z.md"])
@pytest.mark.parametrize("title", ["Copy", "untitled", "Scan 0001"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "# Station A\n\nThe power station of Brenn delivers 84 MW.",
            "# Station B\n\nThe power station of Brenn delivers 90 MW.",
        ),
        ("# Brenn plant\n\nThe capacity is 84 MW.", "# Plant of Brenn\n\nThe capacity is 90 MW."),
        ("# Brenn plant\n\nBuilt in 1911. It delivers 84 MW.", "# Brenn\n\nThe Brenn plant delivers 90 MW."),
    ],
)
def test_a_copy_deletes_nothing(tmp_path: Path, name: str, title: str, first: str, second: str) -> None:
    def told() -> tuple[bool, bool, int]:
        with engine(tmp_path) as research:
            result = research.run("How many MW does the Brenn plant deliver?")
        report = result.report or ""
        return "84 MW" in report, "90 MW" in report, len(result.contradictions)

    (tmp_path / "m.md").write_text(f"{first}\n")
    (tmp_path / "n.md").write_text(f"{second}\n")
    alone = told()
    (tmp_path / name).write_text(f"# {title}\n{first.partition(chr(10))[2]}\n")
    assert told() == alone
    assert alone[:2] == (True, True)
