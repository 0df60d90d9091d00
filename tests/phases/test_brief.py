"""The analyzer that ranks and the brief that is made of what it chose."""

import asyncio
import threading
from dataclasses import replace
from itertools import pairwise
from math import log

import pytest
from phases.builders import finding

from deep_research import DeepResearch, RunStatus
from deep_research.phases.analysis.best_passages import best_passages
from deep_research.phases.analysis.extractive_analyzer import ExtractiveAnalyzer
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerOutput, SourceText
from deep_research.phases.synthesis.extractive_synthesizer import MIN_RELEVANCE_SHARE, within
from deep_research.report.markup import code_block, is_code
from deep_research.retrieval.parsed_question import parse_question, question_parts
from deep_research.retrieval.ranker import default_ranker
from deep_research.retrieval.selection import DEFAULT_WORDS
from deep_research.state import AnswerStatus, ClaimVerdict, ConfidenceLevel
from deep_research.testing import FakeClock

LIGHTS = {
    "mole.md": "# The Mole light\n\nThe Mole stands off the coast. It was built in 1811 by Anna Brook. The tower is 35"
    " metres tall.\n\n## Not allowed\n\n- Lighting fires on the stairs.\n- Keeping goats.\n",
    "hare.md": "# The Hare light\n\nThe Hare is a lower tower. It is 21 metres tall, and stands on a rock.\n",
    "list.md": "# A list of lights\n\n| Light | Height | Year |\n| --- | --- | --- |\n| Mole | 35 m | 1811 |\n"
    "| Hare | 21 m | 1843 |\n",
    "tea.md": "# Tea\n\nTea is brewed from leaves. Green tea is not fermented.\n",
}
HOW_TALL = "How tall is the tower of the Mole light?"


@pytest.fixture
def corpus(tmp_path):
    """Puts documents into a folder, by their names."""

    def put(documents):
        folder = tmp_path / "docs"
        folder.mkdir(exist_ok=True)
        for name, text in documents.items():
            (folder / name).write_text(text, encoding="utf-8")
        return folder

    return put


def engine(folder, **more):
    return DeepResearch(corpus=folder, clock=FakeClock(), **{"store": "memory", **more})


def asked(folder, question, **more):
    with engine(folder, **more) as research:
        return research.run(question)


def of(text):
    return {"page.md": text}


HARBOUR = (
    "# Rules of the harbour",
    *("## In the water", "You must never:", "- dive into the shallow end of the basin;\n- run along the edge."),
    *("## Printers", "- Supported printers:\n  - Alpha printers of the second series with the new cartridge\n"
      "- Unsupported printers:\n  - Beta printers of series 3"),
    *("## Formats", "The export formats of the tool are:", "- CSV\n- JSON"),
    *("## CSV", "Comma.", "## JSON", "Braces."),
    *("## Doors", "To change the code of a door run:", "```\ndoor set --north 4\n```"),
    *("## Floats", "The errors of float operations are no more than 1 part in 2**53 per operation."),
    *("## Titles", "| | Keeper (L1) | Senior keeper (L2) |\n| --- | --- | --- |\n| Trust | Is looked over by another one"
      " at the end of the day, or by two of the office. | Works the lamp alone through the whole of each watch, and looks"
      " over what the others did by day. |\n"),
)  # fmt: skip
AND = "and " * 8 + "more of it"
FORBIDDEN = (
    f"dogs {AND}",
    "boots upstairs in winter",
    f"cooking {AND}",
    f"radios {AND}",
    "candles once lit by night",
)
LAMPS = [f"The {name} lamp of brass and glass." for name in ("north", "south", "east", "west") * 3]
WATER = (
    "Water comes from the Tarn reservoir. Each farm may draw 400 cubic metres a week of it for its irrigation between"
    " May and September. The quota was halved in the drought of 2018. Who draws more pays a fine of 3 crowns."
)
RULES = {
    "rules.md": "\n\n".join(HARBOUR),
    "lamps.md": "\n".join(
        ["# Lamps\n\nThe lamps that a keeper may light are:\n", *(f"- {lamp}" for lamp in LAMPS)]
    ),
    "hut.md": "\n".join(
        ["# Hut rules\n\nThe following are forbidden in the hut:\n", *(f"- {i}" for i in FORBIDDEN)]
    ),
    "valley.md": f"# The valley\n\n{WATER}\n\n## Crops\n\nBarley is grown.\n",
    "regeln.md": "# Regeln\n\nVon Grundstücksgrenzen sind mindestens 5 Meter Abstand zu halten.\n",
    "futter.md": "# Futter\n\nDas Futter darf kein Honig sein, weil er nicht erlaubt ist.\n",
    "rain.md": "# Rain\n\nHollow had 905 mm of rain, measured through the whole of 2021.\n",
    "money.md": "# Expenses\n\nReceipts must be handed in within 60 days. However, receipts from a trip abroad may be"
    " handed in within 90 days of the trip.\n",
    "society.md": "# The society\n\nThe society was founded in 1923 by Anna Brook. The fee is 42 euros a year.\n",
    "office.md": "# Office\n\nThe first aid box is in the kitchen, under the sink.\n\n"
    "The porter unlocks the hall at eight.\n",
    "canteen.md": "# Canteen\n\nLunch costs 7 euros.\n",
}
ANSWERS = {
    "What errors have float operations?": "no more than 1 part in 2**53 per operation.",
    "Are Beta printers of series 3 supported?": "Unsupported printers: Beta printers of series 3.",
    "Which export formats has the tool?": "The export formats of the tool are: CSV; JSON.",
    "May I run along the edge?": "In the water: You must never: run along the edge.",
    "How is the code of the north door changed?": "To change the code of a door run: [1]\n\n```\ndoor set --north",
    "What is the trust of a senior keeper?": "Trust, Senior keeper (L2): Works the lamp alone through the whole of each",
    # a long list breaks off where that is seen, and one of which not all is told says so
    "Which lamps may a keeper light?": f"The lamps that a keeper may light are: {' '.join(LAMPS[:7])} … [1]",
    "Are candles forbidden in the hut?": "The following are forbidden in the hut: … candles once lit by night.",
    "Are boots forbidden in the hut?": "The following are forbidden in the hut: … boots upstairs in winter …",
    # in other languages, and with a denial
    "Wie viel Abstand ist von der Grundstücksgrenze zu halten?": "sind mindestens 5 Meter Abstand zu halten.",
    "Welches Futter ist nicht erlaubt?": "Das Futter darf kein Honig sein, weil er nicht erlaubt ist.",
    "How much rain fell at Hollow in 2021?": "Hollow had 905 mm of rain, measured through the whole of 2021.",
    # what points back comes after what it points to, and no sentence that is far below the best
    "When must receipts of a trip abroad be handed in?": "handed in within 60 days. However, receipts from a trip abroad",
    "When was the society founded?": "1923 by Anna Brook. [1]",
    # what nearly repeats the question
    "Where is the first aid box?": "The first aid box is in the kitchen, under the sink.",
    "Who unlocks the hall?": "The porter unlocks the hall at eight.",
    "How much does lunch cost?": "Lunch costs 7 euros.",
}


@pytest.mark.parametrize("question", ANSWERS)
def test_what_an_answer_stands_under_comes_with_it_and_all_is_borne_out(corpus, question):
    result = asked(corpus(RULES), question)
    assert ANSWERS[question].replace("\n", " ") in result.report.split("## ")[1].replace("\n", " ")
    assert "Nothing was found" not in result.report
    assert result.claims
    assert all(claim.verdict is ClaimVerdict.SUPPORTED for claim in result.claims)


SURVEYS = {
    f"{name}.md": f"# Marrow creek, the {name} survey\n\nMarrow creek is named after a miller, and {length} km long.\n"
    for name, length in (("one", 12), ("other", 19))
}
PLANTS = {
    f"{name}.md": f"# Plant report {name}\n\nThe plant of Kiruna has an output of {power} MW.\n\n## Office\n\n"
    "Headphones in the office are limited to 80 decibels for each of the keepers.\n"
    for name, power in (("one", 84), ("other", 90))
}
# Documents, question, what the report says, and what it does not.
LEFT_OUT = {
    "figures of another matter": (PLANTS, "What is the limit for headphones in the office?", "80 decibels", "Kiruna"),
    "nothing that is asked for": (PLANTS, "What output has the plant of Kiruna?", "84 MW", "80 decibels for"),
    "figures where none is asked for": (SURVEYS, "Marrow creek is named after?", "named after a miller",
        "Published figures"),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_OUT)
def test_a_report_tells_no_figures_of_another_matter(corpus, case):
    documents, question, told, untold = LEFT_OUT[case]
    report = asked(corpus(documents), question).report or ""
    assert told in report
    assert untold not in report


def test_a_heading_is_told_once_and_further_items_stand_under_it(corpus):
    report = asked(corpus(LIGHTS), "Is keeping goats allowed in the Mole light?").report
    assert "Not allowed: Keeping goats" in report.split("## ")[1]
    assert report.count("Not allowed: ") == 1


def test_a_question_in_a_text_is_no_answer(corpus):
    minutes = of(
        "# Minutes\n\nThe boat house was painted.\n\nWho looks after the website once Luc has left?\n"
    )
    report = asked(corpus(minutes), "Who looks after the website?").report or ""
    assert "once Luc has left" not in report.partition("## ")[2].partition("## ")[0]


@pytest.mark.parametrize("words", [500, 1_200])
def test_long_reports_that_were_asked_for_show_whole_paragraphs(corpus, words):
    report = asked(
        corpus(of(RULES["valley.md"])), "How much water may a farm draw for irrigation?", report_words=words
    ).report
    assert "400 cubic metres" in report.split("## ")[1]
    assert WATER in report


def test_a_brief_answers_first_and_quotes_to_the_letter(corpus):
    with engine(corpus(LIGHTS)) as research:
        result = research.run(HOW_TALL)
        assert result.status is RunStatus.COMPLETED
        assert "35" in result.report.split("## ")[1]
        assert result.findings[0].probability is not None
        assert min(f.rank or 0 for f in result.findings) == 0
        for quote in (finding.quotes[0] for finding in result.findings):
            assert research.text(quote)[quote.start : quote.end] == quote.quote
        marks = [(f.quotes[0], span) for f in result.findings for span in f.highlights]
        assert all(quote.start <= span.start < span.end <= quote.end for quote, span in marks)


def test_nothing_is_told_where_nothing_is_near(corpus):
    result = asked(corpus(LIGHTS), "What is the melting point of tungsten carbide?")
    assert (result.status, result.report) == (RunStatus.ABORTED, None)


def test_a_part_that_nothing_answers_has_no_answer_of_another(corpus):
    report = asked(corpus(LIGHTS), "How tall is the Mole light, and who won the cup of Orrel?").report
    answer = report.partition("## Answer")[2].partition("\n## ")[0]
    assert "35" in answer
    assert answer.count("[1]") <= 2
    assert report.count("The Mole stands off the coast") <= 1


def test_a_source_stands_once_with_its_sections_under_it_and_no_heading_is_empty(corpus):
    said = "## {0}\n\nThe {0} of the {1} lamp has a shutter of {0} brass by the sea."
    parts = ("north", "south", "east", "west")
    lamps = {
        n: "\n\n".join([f"# The {n} lamp", *(said.format(part, n) for part in parts)])
        for n in ("mole", "hare")
    }
    folder = corpus({f"{name}.md": text for name, text in lamps.items()})
    for question in ("What shutter of brass has the lamp?", "Shutters of the lamp"):
        lines = [line for line in asked(folder, question, report_words=300).report.splitlines() if line]
        headings = [line for line in lines if line.startswith("## ")]
        assert len(headings) == len(set(headings))
        assert not any(a.startswith("## ") and b.startswith("## ") for a, b in pairwise(lines))


@pytest.mark.parametrize("of_the_list", ["a-list", "z-list"])
def test_of_figures_that_differ_the_page_on_the_thing_itself_gives_the_first(corpus, of_the_list):
    hollow = "# Hollow lighthouse\n\nThe lens came by ship.\n\n## How tall is it?\n\nIts owner measures from the base of"
    rows = "| Lighthouse | Height |\n| --- | --- |\n| Hollow | 57 m |\n| Marrow | 40 m |\n"
    documents = {
        "hollow.md": f"{hollow} the tower and gives 61.2 metres.\n",
        f"{of_the_list}.md": f"# A list of lighthouses\n\n{rows}",
    }
    answer, given = asked(corpus(documents), "How tall is the Hollow lighthouse?").report.split("## ")[1:3]
    assert "61.2 metres. [1]" in answer
    assert given.index("61.2 metres") < given.index("57 m")


def test_the_steps_of_something_are_told_together_and_in_their_order(corpus):
    steps = [
        "Unplug the cable.",
        "Wait ten seconds.",
        "Hold the RESET button.",
        "Plug the cable in.",
        "Let go.",
    ]
    listed = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
    router = of(f"# Router\n\n## Resetting the router\n\n{listed}\n\n## Price\n\nIt costs 40 euros.\n")
    shown = asked(corpus(router), "How do I reset the router?").report.partition("### Resetting the router")[
        2
    ]
    places = [shown.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)


STATION = "The power station of Brenn delivers {} MW."
PLANT = "The capacity is {} MW."
PAIRS = {
    "told alike": (f"# Station A\n\n{STATION.format(84)}", f"# Station B\n\n{STATION.format(90)}"),
    "named by titles": (f"# Brenn plant\n\n{PLANT.format(84)}", f"# Plant of Brenn\n\n{PLANT.format(90)}"),
    "told otherwise": (
        "# Brenn plant\n\nBuilt in 1911. It delivers 84 MW.",
        "# Brenn\n\nThe Brenn plant delivers 90 MW.",
    ),
}


@pytest.mark.parametrize("name", ["a.md", "z.md"])
@pytest.mark.parametrize("title", ["Copy", "untitled", "Scan 0001"])
@pytest.mark.parametrize(("first", "second"), PAIRS.values(), ids=PAIRS)
def test_a_copy_deletes_nothing(corpus, name, title, first, second):
    def told(documents):
        result = asked(corpus(documents), "How many MW does the Brenn plant deliver?")
        return "84 MW" in result.report, "90 MW" in result.report, len(result.contradictions)

    alone = told({"m.md": f"{first}\n", "n.md": f"{second}\n"})
    assert told({name: f"# {title}\n{first.partition(chr(10))[2]}\n"}) == alone
    assert alone[:2] == (True, True)


def test_findings_of_an_analyzer_that_does_not_rank_are_passages_in_their_order(corpus):
    def own(handoff):
        known = [(source.content[:60], (source.id,)) for source in handoff.sources]
        low = ConfidenceLevel.LOW
        found = (AnalyzedFinding(content=c, source_ids=ids, confidence=low) for c, ids in known)
        return AnalyzerOutput(findings=tuple(found))

    result = asked(corpus(LIGHTS), HOW_TALL, agents={"analyzer": own})
    assert result.status is RunStatus.COMPLETED
    assert all(c.number for c in result.citations)
    assert "## Answer" in result.report


# The choice of passages


@pytest.mark.parametrize("sure", [0.2, 0.6])
def test_of_parts_of_which_none_is_found_alone_the_one_that_fits_is_partly_found(sure):
    text = "# Mole\n\nThe Mole is lit for 90 days, whether there is fog or not.\n"
    question = "How long does the Mole wait before a storm, and who was its keeper?"
    ranker = replace(default_ranker(), signals={}, bias=log(sure / (1 - sure)))
    parts, sources = question_parts(question), [SourceText(id="s", title="Mole", content=text)]
    made = best_passages(parse_question(question), sources, 100, parts=parts, ranker=ranker)
    verdicts = [(part.expects, told.verdict) for part, told in zip(parts, made.verdicts, strict=True)]
    assert verdicts == [("number", AnswerStatus.PARTLY), ("person", AnswerStatus.NOT_FOUND)]
    assert "90 days" in made.findings[0].content


@pytest.mark.parametrize(("probability", "shown"), [(0.9, 14), (0.5, 8), (0.2, 5), (0.02, 5)])
def test_the_less_likely_it_is_the_less_is_told_without_filler_but_never_only_a_scrap(probability, shown):
    likely = {"relevance": 1.0, "probability": probability}
    passages = [finding(n, "word " * 49, rank=n, **likely) for n in range(15)]
    assert len(within(DEFAULT_WORDS, passages)) == shown
    near = (1.0, MIN_RELEVANCE_SHARE * 1.1, MIN_RELEVANCE_SHARE * 0.9)
    passages = [finding(n, f"Passage {n}.", rank=n, relevance=each) for n, each in enumerate(near)]
    assert within(DEFAULT_WORDS, passages) == passages[:2]
    assert within(DEFAULT_WORDS - 1, passages) == passages


def test_ranking_stops_between_documents():
    stop = threading.Event()
    stop.set()
    source = SourceText(id="s", title="Mole", content=LIGHTS["mole.md"])
    assert best_passages(parse_question("How tall is the Mole?"), [source], 100, stop=stop).findings == []
    assert best_passages(parse_question("How tall is the Mole?"), [source], 100).findings


@pytest.mark.timed
def test_a_survey_that_nobody_waits_for_stops(monkeypatch):
    begun, stopped = threading.Event(), threading.Event()

    def endless(self, handoff, stop):
        begun.set()
        if stop.wait(300):
            stopped.set()

    monkeypatch.setattr(ExtractiveAnalyzer, "_survey", endless)

    async def cancelled():
        task = asyncio.ensure_future(ExtractiveAnalyzer().survey(None))
        await asyncio.to_thread(begun.wait, 300)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancelled())
    assert stopped.wait(300)


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
def test_what_would_leave_its_block_is_no_code(quote):
    assert not is_code(quote)
    assert is_code("```sh\nbrindle setup\n```")
    assert code_block("```sh\nbrindle setup\n```") == "```\nbrindle setup\n```"
