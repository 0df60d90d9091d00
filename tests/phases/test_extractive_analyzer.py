"""The extractive survey: what all sources together say, what is missing, what to ask next."""

import asyncio

import pytest

from deep_research.phases.analysis.extractive_analyzer import ExtractiveAnalyzer, survey
from deep_research.phases.analysis.handoff import SourceText, SurveyInput
from deep_research.retrieval.parsed_question import question_parts
from deep_research.state import (
    AnswerStatus,
    ConfidenceLevel,
    DeepResearchPhase,
    Finding,
    FirstLook,
    Gap,
    Mention,
    PartVerdict,
    SubQuery,
    SubQueryStatus,
)

QUESTION = "Where was the director of the film Harbour born?"
FILM = SourceText(
    id="src-film",
    title="Harbour",
    content="Harbour is a film of 1950. Its director was Ann Mole.",
    mentions=(Mention(name="ann mole", weight=0.9, bearers=1),),
)
PERSON = SourceText(id="src-ann", title="Ann Mole", content="Ann Mole was born in Ghent in 1901.")
OTHER = SourceText(
    id="src-other", title="Ghent", content="Ghent is a town. Many films were shown in the harbour of Ghent."
)
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


def said(content, *sources):
    return Finding(
        id=f"find-{abs(hash(content)):012d}"[:17],
        content=content,
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=tuple(source.id for source in sources),
    )


def surveyed(*sources, question=QUESTION, queries=None, iteration=1, lacking=(), **fields):
    """``lacking`` are the places of the parts of the question that nothing answers."""
    parts = question_parts(question)
    verdicts = [
        PartVerdict(
            part_id=part.id, verdict=AnswerStatus.NOT_FOUND if place in lacking else AnswerStatus.ANSWERED
        )
        for place, part in enumerate(parts)
    ]
    return survey(
        SurveyInput(
            parts=parts,
            research_id="deepres-000000000000",
            original_query=question,
            current_phase=DeepResearchPhase.ANALYSIS,
            iteration=iteration,
            sub_queries=queries or (asked(question, *sources),),
            sources=sources,
            first_look=LOOK,
            follow_ups=5,
            **fields,
        ),
        verdicts=verdicts,
    )


def test_a_source_that_a_strong_one_names_comes_before_one_that_shares_words():
    scores = surveyed(FILM, OTHER, PERSON).scores
    assert min(scores["src-film"], scores["src-ann"]) > 2 * scores["src-other"]


def test_the_name_found_and_the_words_still_lacking_are_asked_next():
    output = surveyed(FILM, OTHER)
    assert "Ann Mole born" in output.follow_ups


def test_what_was_asked_is_not_asked_again():
    queries = (asked(QUESTION, FILM), asked("Ann Mole born", FILM, index=1, iteration=2))
    assert "Ann Mole born" not in surveyed(FILM, OTHER, queries=queries, iteration=2).follow_ups


def test_what_is_settled_leads_to_no_further_query():
    findings = (
        said("Harbour is a film of 1950. Its director was Ann Mole.", FILM),
        said("Ann Mole was born in Ghent in 1901.", PERSON),
    )
    output = surveyed(FILM, PERSON, findings=findings)
    assert (output.gaps, output.follow_ups) == ((), ())


DIRECTED = ("Harbour was directed by Ann Mole.", FILM)
MOLE = ("Ann Mole was born in Ghent in 1901.", PERSON)


@pytest.mark.parametrize(
    ("question", "findings", "lacking", "gaps"),
    [
        # parts of the question that nothing answers are named where the evidence is weighed
        ("Who directed Harbour, and what did the film cost?", [DIRECTED], (1,), []),
        ("Who directed Harbour, and where was Ann Mole born?", [DIRECTED, MOLE], (), []),
        # the question as a whole
        (QUESTION, [], (0,), []),
        (
            "Who built the Mole Tower of Harbour?",
            [],
            (0,),
            ["Nothing was found about “Mole Tower”."],
        ),
        # names that no source has
        (
            "Who directed Stoat?",
            [DIRECTED],
            (),
            ["Nothing was found about “Stoat”."],
        ),
        # the plural of a name says it
        ("Who directed a DVD of Harbour?", [DIRECTED], (), ["Nothing was found about “DVD”."]),
        # a broad request: what was found of it is enough
        ("Harbour", [DIRECTED], (), []),
        ("Harbour", [], (0,), []),
    ],
)
def test_what_was_not_found_is_told_by_names(question, findings, lacking, gaps):
    found = tuple(said(*one) for one in findings)
    output = surveyed(FILM, PERSON, question=question, findings=found, lacking=lacking)
    assert [gap.description for gap in output.gaps] == gaps


def test_while_more_may_be_found_that_is_the_gap_and_no_longer():
    told = (said("The director of the film Harbour was born somewhere.", FILM),)
    (gap,) = (output := surveyed(FILM, OTHER, findings=told)).gaps
    assert gap.description == f"There may be more to find on: {QUESTION}"
    assert output.follow_ups
    asked_all = tuple(asked(q, FILM, index=n, iteration=2) for n, q in enumerate(output.follow_ups, 1))
    later = surveyed(
        FILM,
        OTHER,
        findings=told,
        queries=(asked(QUESTION, FILM, OTHER), *asked_all),
        iteration=3,
        gaps=(Gap(id="gap-1", description=gap.description),),
    )
    assert (later.gaps, later.addressed_gap_ids) == ((), ("gap-1",))


def test_a_gap_that_would_not_be_named_again_is_addressed():
    gap = Gap(id="gap-1", description="Nothing was found about “born” of Harbour.")
    findings = (
        said("Harbour is a film of 1950. Its director was Ann Mole.", FILM),
        said("Ann Mole was born in Ghent in 1901.", PERSON),
    )
    assert surveyed(FILM, PERSON, findings=findings, gaps=(gap,)).addressed_gap_ids == ("gap-1",)


def test_completeness_falls_when_the_last_source_of_a_chain_is_missing():
    assert surveyed(FILM, OTHER, PERSON).completeness > surveyed(FILM, OTHER).completeness + 0.2


def test_names_are_found_in_the_text_where_the_provider_gives_none():
    plain = FILM.model_copy(update={"mentions": ()})
    assert "Ann Mole born" in surveyed(plain, OTHER).follow_ups


def test_nothing_found_is_nothing_said():
    output = surveyed()
    assert (output.scores, output.follow_ups, output.completeness) == ({}, (), 0.0)


def test_what_an_earlier_round_found_near_is_not_said_to_be_nowhere():
    question = "Which enzymes does the pancreas release?"
    (part,) = question_parts(question)
    known = said("Ghent is a town.", OTHER).model_copy(update={"rank": 0, "part_id": part.id})
    handoff = SurveyInput(
        parts=(part,),
        research_id="deepres-000000000000",
        original_query=question,
        current_phase=DeepResearchPhase.ANALYSIS,
        iteration=2,
        sources=(OTHER,),
        whole=(OTHER,),
        findings=(known,),
    )
    looked = asyncio.run(ExtractiveAnalyzer().survey(handoff))
    assert [(v.verdict, v.finding_ids) for v in looked.verdicts] == [(AnswerStatus.PARTLY, (known.id,))]
    alone = asyncio.run(ExtractiveAnalyzer().survey(handoff.model_copy(update={"findings": ()})))
    assert [v.verdict for v in alone.verdicts] == [AnswerStatus.NOT_FOUND]
