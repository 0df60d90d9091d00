"""A finding in a model's words is held against what it quotes when it is recorded: it stands, is quoted further, gives
way to the words of its source, or is left out and counted."""

import asyncio

import pytest
from orm_light import BUILT, HARE, HARE_TEXT, ORM, ORM_TEXT, TALL, TEXTS, state
from phases.builders import ANALYSIS

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
from deep_research.state import Source, SubQuery
from deep_research.state.journal import MemoryJournal

MOLE_TEXT = """# Mole

- 90 feet tall
- Its lamp burned whale oil

| Lighthouse | Height |
| --- | --- |
| Mole | 90 feet |
| Skerry | 70 feet |

The tower of Mole is 90 feet tall.

The bridge of Mole opened in 1874.

The lake of Mole is very deep.
"""
MOLE = Source(id="a", title="A list", sub_query_id="q", content_hash="a", length=len(MOLE_TEXT))
SOURCES = {ORM.id: ORM, HARE.id: HARE, MOLE.id: MOLE}
TITLES = {name: each.title for name, each in SOURCES.items()}
WHOLE = {ORM.id: ORM_TEXT, HARE.id: HARE_TEXT, MOLE.id: MOLE_TEXT}
STANDS = "Its tower is 90 feet tall and stands on a reef of granite."
GOLD = "The keepers were never paid in gold."
OIL = "The lamp burned whale oil until 1843."


def quote(text):
    (source,) = [SOURCES[name] for name, whole in WHOLE.items() if text in whole]
    return locate(text, WHOLE[source.id], source_id=source.id, content_hash=source.content_hash)


def held(content, *said, language="", wholes=None, **more):
    """The words of a finding and its quotes, each as it stands in its source; None where it is left out."""
    texts = wholes or WholeTexts(TITLES, WHOLE)
    made = founded(content, tuple(map(quote, said)), SOURCES, texts, language=language, **more)
    if made is None:
        return None
    for each in made[1]:
        assert WHOLE[each.source_id][each.start : each.end] == each.quote
        assert each.content_hash == SOURCES[each.source_id].content_hash
    return made[0], [each.quote for each in made[1]]


BOTH = "The Orm lighthouse was built in 1811 and the Hare lighthouse painted in 1902."
GERMAN = "Der Turm ist 90 Fuß hoch und steht auf einem Riff."
STAYS = {
    "in the words of its quote": (BUILT, [BUILT]),
    "in other words": ("Ada Brook built the Orm lighthouse in 1811.", [BUILT]),
    "with the title of its source": (TALL, [STANDS]),
    "by two quotes together": (f"{TALL} {OIL}", [STANDS, OIL]),
    "by quotes of two sources": (BOTH, ["built in 1811", "painted white in 1902"]),
    "by a fragment": ("The tower is 90 feet tall.", ["tower is 90 feet"]),
    "in another language, where its figures do": (GERMAN, [STANDS]),
}


@pytest.mark.parametrize(("content", "quotes"), STAYS.values(), ids=STAYS)
def test_a_finding_that_its_quotes_carry_stands_as_it_is(content, quotes):
    assert held(content, *quotes, language="de" if content is GERMAN else "") == (content, quotes)


@pytest.mark.parametrize(
    ("content", "first", "further"),
    [
        (f"{TALL[:-1]} and the lamp burned whale oil until 1843.", STANDS, OIL),
        (f"{BUILT} {GOLD}", BUILT, GOLD),
    ],
    ids=["of what a quote leaves out", "of another sentence"],
)
def test_where_another_sentence_of_its_source_carries_it_that_is_quoted_too(content, first, further):
    said, quotes = held(content, first)
    assert (said, quotes[0]) == (content, first)
    assert further in quotes[1:]


# What is said, by which quotes; the words that stand in its place, and their quotes.
REWORDED = {
    "another year": ("The Orm lighthouse was built in 1911 by Ada Brook.", ["built in 1811 by Ada Brook"],
        BUILT, [BUILT]),
    "another number": ("The tower is 95 feet tall and stands on a reef.", ["90 feet tall and"], STANDS, [STANDS]),
    "another unit": ("The tower is 90 metres tall and stands on a reef.", [STANDS], STANDS, [STANDS]),
    "another name": ("The Orm lighthouse was built in 1811 by Ada Moor.", [BUILT], BUILT, [BUILT]),
    "a sentence more than it says": (f"{STANDS} A baker sold bread to sailors.", [STANDS], STANDS, [STANDS]),
    "a denial that is dropped": ("The keepers were paid in gold.", ["never paid in gold"], GOLD, [GOLD]),
    "a denial that was added": ("The lamp never burned whale oil until 1843.", [OIL], OIL, [OIL]),
    "by the quote that comes nearest": ("The tower is 95 feet tall on a reef of granite.", [GOLD, "90 feet tall and"],
        STANDS, [STANDS, GOLD]),
    "by all that come near": ("The tower is 95 feet tall, and its lamp burned whale oil until 1899.",
        ["90 feet tall and", "burned whale oil until", GOLD], f"{STANDS} {OIL}", [STANDS, OIL, GOLD]),
    "by a row": ("The Mole lighthouse has a height of 95 feet.", ["| Mole | 90 feet |"],
        "Lighthouse: Mole; Height: 90 feet", ["| Mole | 90 feet |"]),
}  # fmt: skip


@pytest.mark.parametrize(("content", "said", "words", "quotes"), REWORDED.values(), ids=REWORDED)
def test_one_that_its_source_says_otherwise_gives_way_to_the_sentence_of_its_quote(
    content, said, words, quotes
):
    assert held(content, *said) == (words, quotes)


DROPPED = {
    "nothing of it is said": ("A baker sold bread to sailors.", ["90 feet tall and"], ""),
    "it quotes nothing": (BUILT, [], ""),
    "a figure that no text has, in another language": (GERMAN.replace("90", "95"), [STANDS], "de"),
    "a fragment that has no subject": ("The Mole lighthouse is 95 feet tall.", ["- 90 feet tall"], ""),
    "a fragment that has no figure": ("The lamp of Mole burned whale oil until 1843.",
        ["Its lamp burned whale oil"], ""),
}  # fmt: skip


@pytest.mark.parametrize(("content", "quotes", "language"), DROPPED.values(), ids=DROPPED)
def test_one_that_is_nowhere_near_its_quotes_is_left_out(content, quotes, language):
    assert held(content, *quotes, language=language) is None


def test_where_the_model_was_asked_already_no_words_give_way():
    wrong = "The tower is 95 feet tall."
    assert held(wrong, STANDS) == (STANDS, [STANDS])
    assert held(wrong, STANDS, may_reword=False) is None
    assert held("The tower is 90 feet tall.", STANDS, may_reword=False)


# In a run


def analyzed(*found, has_quotes=True):
    findings = tuple(
        AnalyzedFinding(
            content=c, source_ids=(ORM.id,), quotes=(AnalyzedQuote(source_id=ORM.id, quote=said),)
        )
        for c, said in found
    )
    query = SubQuery(id="subq-1", query="q")
    at = state(phase=ANALYSIS, sub_queries=(query,), findings=(), gaps=())
    journal = MemoryJournal(at, texts=TEXTS.values())
    phase = AnalysisPhase(lambda handoff: AnalyzerOutput(findings=findings, has_quotes=has_quotes))
    asyncio.run(phase.run(journal.state, journal))
    return journal.state


IN = "The Orm lighthouse was built in {} by Ada Brook."
LIES = (
    (IN.format(1911), BUILT),
    ("A baker sold bread to sailors.", GOLD),
    (OIL, "The lamp burned no oil at all."),
)


def test_what_is_left_out_is_counted_and_told_and_what_becomes_the_same_is_one_finding():
    made = analyzed(*LIES)
    assert [finding.content for finding in made.findings] == [BUILT]
    assert made.unfounded == 2
    (notice,) = ResearchResult.of(made).notices
    assert notice.message == (
        "2 findings were left out, since what they quoted stands in none of their sources, or says something else."
        " 1 quote was left out, since no source has the words."
    )
    made = analyzed(LIES[0], (BUILT, BUILT), (IN.format(1812), BUILT))
    assert [finding.content for finding in made.findings] == [BUILT]
    assert made.unfounded == 0


def test_an_agent_that_gives_no_quotes_word_for_word_is_taken_at_its_word():
    made = analyzed(LIES[0], has_quotes=False)
    assert [finding.content for finding in made.findings] == [LIES[0][0]]


def test_a_text_is_read_once_for_all_findings_of_a_batch_and_all_that_are_set_against_it(monkeypatch):
    read, prepare = [], recorded_findings.EvidenceText

    def counted(text, **more):
        read.append(text)
        return prepare(text, **more)

    monkeypatch.setattr(recorded_findings, "EvidenceText", counted)
    analyzed(*LIES, *((IN.format(year), BUILT) for year in range(1710, 1740)))
    assert read.count(ORM_TEXT) == 1
    deep, wholes = (
        "The lake of Mole is very deep.",
        WholeTexts(TITLES, WHOLE),
    )
    for content in ("The tower of Mole is 90 feet tall.", "The bridge of Mole opened in 1874."):
        assert held(content, deep, wholes=wholes) == (content, [deep, content])
    assert read.count(MOLE_TEXT) == 1
