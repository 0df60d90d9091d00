"""The extractive survey: what all sources together say, what is missing, what to ask next."""

import asyncio

import pytest
from phases.builders import finding, handoff

from deep_research.phases.analysis.extractive_analyzer import ExtractiveAnalyzer, survey
from deep_research.phases.analysis.handoff import SourceText, SurveyInput
from deep_research.retrieval.parsed_question import question_parts
from deep_research.state import AnswerStatus, FirstLook, Gap, Mention, PartVerdict, SubQuery, SubQueryStatus

QUESTION = "Where was the director of the film Harbour born?"
DIRECTOR, BORN = (
    "Harbour is a film of 1950. Its director was Ann Mole.",
    "Ann Mole was born in Ghent in 1901.",
)
GHENT = "Ghent is a town. Many films were shown in the harbour of Ghent."
MENTIONS = (Mention(name="ann mole", weight=0.9, bearers=1),)
FILM = SourceText(id="src-film", title="Harbour", content=DIRECTOR, mentions=MENTIONS)
PERSON = SourceText(id="src-ann", title="Ann Mole", content=BORN)
OTHER = SourceText(id="src-other", title="Ghent", content=GHENT)
LOOK = FirstLook(
    names=(Mention(name="harbour", weight=0.8, bearers=1),),
    words={"director": 0.6, "film": 0.3, "harbour": 0.8, "born": 0.4},
)


def asked(query, *found, index=0, iteration=1):
    return SubQuery(
        id=f"subq-{index}",
        query=query,
        index=index,
        iteration=iteration,
        status=SubQueryStatus.COMPLETED,
        source_ids=tuple(source.id for source in found),
    )


def said(content, source, number=1):
    return finding(number, content, source_ids=(source.id,))


def surveyed(*sources, question=QUESTION, queries=None, lacking=(), **fields):
    """``lacking`` are the places of the parts of the question that nothing answers."""
    parts = question_parts(question)
    status = [AnswerStatus.NOT_FOUND if n in lacking else AnswerStatus.ANSWERED for n in range(len(parts))]
    queries = queries or (asked(question, *sources),)
    handed = {"parts": parts, "original_query": question, "sub_queries": queries, "sources": sources}
    verdicts = [PartVerdict(part_id=part.id, verdict=each) for part, each in zip(parts, status, strict=True)]
    surveying = handoff(SurveyInput, **handed, first_look=LOOK, follow_ups=5, **fields)
    return survey(surveying, verdicts=verdicts)


def test_a_source_that_a_strong_one_names_comes_before_one_that_shares_words():
    output = surveyed(FILM, OTHER, PERSON)
    assert min(output.scores["src-film"], output.scores["src-ann"]) > 2 * output.scores["src-other"]
    assert (
        output.completeness > surveyed(FILM, OTHER).completeness + 0.2
    )  # the last source of the chain is missing


def test_the_name_found_and_the_words_still_lacking_are_asked_next_once_and_of_nothing_nothing():
    assert "Ann Mole born" in surveyed(FILM, OTHER).follow_ups
    plain = FILM.model_copy(update={"mentions": ()})  # the provider gives no names
    assert "Ann Mole born" in surveyed(plain, OTHER).follow_ups
    queries = (asked(QUESTION, FILM), asked("Ann Mole born", FILM, index=1, iteration=2))
    assert "Ann Mole born" not in surveyed(FILM, OTHER, queries=queries, iteration=2).follow_ups
    output = surveyed()
    assert (output.scores, output.follow_ups, output.completeness) == ({}, (), 0.0)


def test_what_is_settled_leads_to_no_further_query_and_its_gap_is_addressed():
    gap = Gap(id="gap-1", description="Nothing was found about “born” of Harbour.")
    output = surveyed(FILM, PERSON, findings=(said(DIRECTOR, FILM), said(BORN, PERSON, 2)), gaps=(gap,))
    assert (output.gaps, output.follow_ups, output.addressed_gap_ids) == ((), (), ("gap-1",))


DIRECTED = ("Harbour was directed by Ann Mole.", FILM)
MISSING = {
    # parts of the question that nothing answers are named where the evidence is weighed
    "Who directed Harbour, and what did the film cost?": ([DIRECTED], (1,), ""),
    "Who directed Harbour, and where was Ann Mole born?": ([DIRECTED, (BORN, PERSON)], (), ""),
    QUESTION: ([], (0,), ""),
    # names that no source has; the plural of a name says it
    "Who built the Mole Tower of Harbour?": ([], (0,), "Mole Tower"),
    "Who directed Stoat?": ([DIRECTED], (), "Stoat"),
    "Who directed a DVD of Harbour?": ([DIRECTED], (), "DVD"),
    # a broad request: what was found of it is enough
    "Harbour": ([DIRECTED], (), ""),
    "harbour": ([], (0,), ""),
}


@pytest.mark.parametrize("question", MISSING)
def test_what_was_not_found_is_told_by_names(question):
    told, lacking, missing = MISSING[question]
    found = tuple(said(*each, n) for n, each in enumerate(told))
    output = surveyed(FILM, PERSON, question=question, findings=found, lacking=lacking)
    assert [gap.description for gap in output.gaps] == [f"Nothing was found about “{missing}”."] * bool(
        missing
    )


def test_while_more_may_be_found_that_is_the_gap_and_no_longer():
    told = (said("The director of the film Harbour was born somewhere.", FILM),)
    (gap,) = (output := surveyed(FILM, OTHER, findings=told)).gaps
    assert gap.description == f"There may be more to find on: {QUESTION}"
    assert output.follow_ups
    queries = [asked(q, FILM, index=n, iteration=2) for n, q in enumerate(output.follow_ups, 1)]
    known = Gap(id="gap-1", description=gap.description)
    queries = (asked(QUESTION, FILM, OTHER), *queries)
    later = surveyed(FILM, OTHER, findings=told, queries=queries, iteration=3, gaps=(known,))
    assert (later.gaps, later.addressed_gap_ids) == ((), ("gap-1",))


def test_what_an_earlier_round_found_near_is_not_said_to_be_nowhere():
    question = "Which enzymes does the pancreas release?"
    (part,) = question_parts(question)
    known = said("Ghent is a town.", OTHER).model_copy(update={"rank": 0, "part_id": part.id})
    handed = {"parts": (part,), "original_query": question, "sources": (OTHER,), "whole": (OTHER,)}
    for findings, verdict in (((known,), AnswerStatus.PARTLY), ((), AnswerStatus.NOT_FOUND)):
        surveying = handoff(SurveyInput, iteration=2, findings=findings, **handed)
        (found,) = asyncio.run(ExtractiveAnalyzer().survey(surveying)).verdicts
        assert (found.verdict, found.finding_ids) == (verdict, tuple(f.id for f in findings))
