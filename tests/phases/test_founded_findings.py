"""A finding in a model's words is held against what it quotes when it is recorded: it stands, is quoted further, gives
way to the words of its source, or is left out and counted."""

import asyncio

import pytest
from orm_light import BUILT, HARE, HARE_TEXT, ORM, ORM_TEXT, TALL, TEXTS, state

from deep_research.phases.analysis import (
    AnalysisPhase,
    AnalyzedFinding,
    AnalyzedQuote,
    AnalyzerOutput,
    recorded_findings,
)
from deep_research.phases.analysis.recorded_findings import WholeTexts, founded
from deep_research.provenance.quotes import locate
from deep_research.research import ResearchResult
from deep_research.state import DeepResearchPhase, Quote, Source, SubQuery
from deep_research.state.journal import MemoryJournal

SOURCES = {ORM.id: ORM, HARE.id: HARE}
WHOLE = {ORM.id: ORM_TEXT, HARE.id: HARE_TEXT}
STANDS = "Its tower is 90 feet tall and stands on a reef of granite."
GOLD = "The keepers were never paid in gold."
OIL = "The lamp burned whale oil until 1843."
PAINTED = "painted white in 1902"
MOLE_TEXT = "The tower of Mole is 90 feet tall.\n\nThe bridge of Mole opened in 1874.\n\nThe lake of Mole is very deep."


def quote(text, source=ORM):
    start = WHOLE[source.id].index(text)
    return Quote(
        source_id=source.id,
        quote=text,
        start=start,
        end=start + len(text),
        content_hash=source.content_hash,
    )


def held(content, *quotes, language=""):
    """The words of a finding and its quotes, each as it stands in its source; None where it is left out."""
    made = founded(content, quotes, SOURCES, WholeTexts(SOURCES, WHOLE), language=language)
    if made is None:
        return None
    for each in made[1]:
        assert WHOLE[each.source_id][each.start : each.end] == each.quote
        assert each.content_hash == SOURCES[each.source_id].content_hash
    return made[0], [each.quote for each in made[1]]


STAYS = {
    "in the words of its quote": (BUILT, [quote(BUILT)]),
    "in other words": ("Ada Brook built the Orm lighthouse in 1811.", [quote(BUILT)]),
    "with the title of its source": (TALL, [quote(STANDS)]),
    "by two quotes together": (f"{TALL} {OIL}", [quote(STANDS), quote(OIL)]),
    "by quotes of two sources": (
        "The Orm lighthouse was built in 1811 and the Hare lighthouse painted in 1902.",
        [quote("built in 1811"), quote(PAINTED, HARE)],
    ),
    "by a fragment": ("The tower is 90 feet tall.", [quote("tower is 90 feet")]),
}


@pytest.mark.parametrize(("content", "quotes"), STAYS.values(), ids=STAYS)
def test_a_finding_that_its_quotes_carry_stands_as_it_is(content, quotes):
    assert held(content, *quotes) == (content, [each.quote for each in quotes])


FURTHER = {
    "of what a quote leaves out": (f"{TALL[:-1]} and the lamp burned whale oil until 1843.", STANDS, {OIL}),
    "of another sentence": (f"{BUILT} {GOLD}", BUILT, {GOLD}),
}  # fmt: skip


@pytest.mark.parametrize(("content", "first", "further"), FURTHER.values(), ids=FURTHER)
def test_where_another_sentence_of_its_source_carries_it_that_is_quoted_too(content, first, further):
    said, quotes = held(content, quote(first))
    assert (said, quotes[0]) == (content, first)
    assert further <= set(quotes[1:])


REWORDED = {
    "another year": ("The Orm lighthouse was built in 1911 by Ada Brook.", "built in 1811 by Ada Brook", BUILT),
    "another number": ("The tower is 95 feet tall and stands on a reef.", "90 feet tall", STANDS),
    "another unit": ("The tower is 90 metres tall and stands on a reef.", STANDS, STANDS),
    "another name": ("The Orm lighthouse was built in 1811 by Ada Moor.", BUILT, BUILT),
    "a sentence more than it says": (f"{STANDS} A baker sold bread to sailors.", STANDS, STANDS),
    "a denial that is dropped": ("The keepers were paid in gold.", "never paid in gold", GOLD),
    "a denial that was added": ("The lamp never burned whale oil until 1843.", OIL, OIL),
}  # fmt: skip


@pytest.mark.parametrize(("content", "said", "expected"), REWORDED.values(), ids=REWORDED)
def test_one_that_its_source_says_otherwise_gives_way_to_the_sentence_of_its_quote(content, said, expected):
    assert held(content, quote(said)) == (expected, [expected])


def test_the_quote_that_comes_nearest_gives_the_words_and_others_stay():
    words, quotes = held(
        "The tower is 95 feet tall on a reef of granite.", quote(GOLD), quote("90 feet tall")
    )
    assert words == STANDS
    assert quotes == [STANDS, GOLD]


def test_quotes_that_come_near_give_their_sentences_joined():
    words, quotes = held(
        "The tower is 95 feet tall, and its lamp burned whale oil until 1899.",
        quote("90 feet tall"),
        quote("burned whale oil"),
        quote(GOLD),
    )
    assert words == f"{STANDS} {OIL}"
    assert quotes == [STANDS, OIL, GOLD]


ITEMS_TEXT = """# Mole

- 90 feet tall
- Its lamp burned whale oil

| Lighthouse | Height |
| --- | --- |
| Mole | 90 feet |
| Skerry | 70 feet |
"""


@pytest.mark.parametrize(
    ("content", "said", "expected"),
    [
        ("The Mole lighthouse is 95 feet tall.", "90 feet tall", None),
        ("The lamp of Mole burned whale oil until 1843.", "Its lamp burned whale oil", None),
        (
            "The Mole lighthouse has a height of 95 feet.",
            "| Mole | 90 feet |",
            "Lighthouse: Mole; Height: 90 feet",
        ),
    ],
    ids=["no subject", "no figure", "a row"],
)
def test_a_fragment_takes_no_place_of_a_finding_unless_it_has_subject_and_figures(content, said, expected):
    source = Source(id="a", title="A list", sub_query_id="q", content_hash="a", length=len(ITEMS_TEXT))
    here = locate(said, ITEMS_TEXT, source_id="a", content_hash="a")
    made = founded(content, (here,), {"a": source}, WholeTexts({"a": source}, {"a": ITEMS_TEXT}))
    assert (made and made[0]) == expected


def test_where_the_model_was_asked_already_no_words_give_way():
    args = "The tower is 95 feet tall.", (quote(STANDS),), SOURCES, WholeTexts(SOURCES, WHOLE)
    assert founded(*args)[0] == STANDS
    assert founded(*args, may_reword=False) is None
    assert founded("The tower is 90 feet tall.", *args[1:], may_reword=False)


DROPPED = {
    "nothing of it is said": ("A baker sold bread to sailors.", [quote("90 feet tall")], ""),
    "it quotes nothing": (BUILT, [], ""),
    "a figure that no text has, in another language": (
        "Der Turm ist 95 Fuß hoch und steht auf einem Riff.", [quote(STANDS)], "de",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "quotes", "language"), DROPPED.values(), ids=DROPPED)
def test_one_that_is_nowhere_near_its_quotes_is_left_out(content, quotes, language):
    assert held(content, *quotes, language=language) is None


def test_words_of_another_language_stand_where_their_figures_do():
    content = "Der Turm ist 90 Fuß hoch und steht auf einem Riff."
    assert held(content, quote(STANDS), language="de") == (content, [STANDS])


# In a run


class Reader:
    deterministic = True

    def __init__(self, *found, has_quotes=True):
        self._answer = AnalyzerOutput(
            findings=tuple(
                AnalyzedFinding(
                    content=content,
                    source_ids=(ORM.id,),
                    quotes=(AnalyzedQuote(source_id=ORM.id, quote=said),),
                )
                for content, said in found
            ),
            has_quotes=has_quotes,
        )

    async def __call__(self, handoff):
        return self._answer


def analyzed(*found, **more):
    journal = MemoryJournal(
        state(
            phase=DeepResearchPhase.ANALYSIS,
            sub_queries=(SubQuery(id="subq-1", query="q"),),
            findings=(),
            gaps=(),
        ),
        texts=TEXTS.values(),
    )
    asyncio.run(AnalysisPhase(Reader(*found, **more)).run(journal.state, journal))
    return journal.state


LIES = (
    ("The Orm lighthouse was built in 1911 by Ada Brook.", BUILT),
    ("A baker sold bread to sailors.", GOLD),
    ("The lamp burned whale oil until 1843.", "The lamp burned no oil at all."),
)


def test_what_is_left_out_is_counted_and_told():
    made = analyzed(*LIES)
    assert [finding.content for finding in made.findings] == [BUILT]
    assert made.unfounded == 2
    (notice,) = ResearchResult.of(made).notices
    assert notice.message == (
        "2 findings were left out, since what they quoted stands in none of their sources, or says something else."
        " 1 quote was left out, since no source has the words."
    )


def test_what_becomes_the_same_is_one_finding():
    made = analyzed(LIES[0], (BUILT, BUILT), ("The Orm lighthouse was built in 1812 by Ada Brook.", BUILT))
    assert [finding.content for finding in made.findings] == [BUILT]
    assert made.unfounded == 0


def test_an_agent_that_gives_no_quotes_word_for_word_is_taken_at_its_word():
    made = analyzed(LIES[0], has_quotes=False)
    assert [finding.content for finding in made.findings] == [LIES[0][0]]


def test_a_text_is_read_once_for_all_findings_of_a_batch(monkeypatch):
    read = []
    prepare = recorded_findings.SourceText

    def counted(text, **more):
        read.append(text)
        return prepare(text, **more)

    monkeypatch.setattr(recorded_findings, "SourceText", counted)
    analyzed(*LIES, *((f"The Orm lighthouse was built in 17{n} by Ada Brook.", BUILT) for n in range(10, 40)))
    assert read.count(ORM_TEXT) == 1


def test_a_source_is_prepared_once_for_all_findings_that_are_set_against_it(monkeypatch):
    made = []
    prepare = recorded_findings.SourceText

    def counting(text, *, title=""):
        made.append(text)
        return prepare(text, title=title)

    monkeypatch.setattr(recorded_findings, "SourceText", counting)
    sources = {"a": Source(id="a", title="Mole", sub_query_id="q", content_hash="a", length=len(MOLE_TEXT))}
    quote = locate("The lake of Mole is very deep.", MOLE_TEXT, source_id="a", content_hash="a")
    wholes = WholeTexts(sources, {"a": MOLE_TEXT})
    said = ["The tower of Mole is 90 feet tall.", "The bridge of Mole opened in 1874."]
    for content in said:
        stands = founded(content, (quote,), sources, wholes)
        assert [held.quote for held in stands[1]] == [quote.quote, content]
    assert made.count(MOLE_TEXT) == 1
