"""The extractive survey: what all sources together say, what is missing, what to ask next."""

from deep_research.evidence.chains import LED, Step
from deep_research.evidence.entries import asked as asked_of
from deep_research.phases.analysis.chained import chained
from deep_research.phases.analysis.handoff import AnalyzedFinding, SourceText, SurveyInput
from deep_research.phases.analysis.survey import survey
from deep_research.phases.analysis.weighing import finding_of, weighed
from deep_research.state import (
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    FirstLook,
    Gap,
    Mention,
    Source,
    Span,
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


def surveyed(*sources, question=QUESTION, queries=None, iteration=1, **fields):
    return survey(
        SurveyInput(
            research_id="deepres-000000000000",
            original_query=question,
            current_phase=DeepResearchPhase.ANALYSIS,
            iteration=iteration,
            sub_queries=queries or (asked(question, *sources),),
            sources=sources,
            first_look=LOOK,
            follow_ups=5,
            **fields,
        )
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


def test_a_part_without_a_finding_is_a_gap_that_names_the_missing_words():
    question = "Who directed Harbour, and what did the film cost?"
    queries = (
        asked(question, FILM),
        asked("Who directed Harbour", FILM, index=1),
        asked("what did the film cost Harbour", FILM, index=2),
    )
    findings = (said("Harbour was directed by Ann Mole.", FILM),)
    (gap,) = surveyed(FILM, question=question, queries=queries, findings=findings).gaps
    assert (
        gap.description
        == "Not found: what did the film cost Harbour. Nothing was found about “film” or “cost”."
    )


def test_a_question_that_nothing_answers_is_a_gap_as_a_whole():
    (gap, *_) = surveyed(OTHER).gaps
    assert gap.description == f"Not found: {QUESTION}"


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


def test_each_source_of_a_chain_gives_the_sentence_that_leads_on_or_ends_it():
    out = surveyed(FILM, PERSON, OTHER)
    assert [(f.source_ids, f.content) for f in out.findings] == [
        (("src-film",), FILM.content),
        (("src-ann",), PERSON.content),
    ]
    assert [f.quotes[0].quote for f in out.findings] == [FILM.content, PERSON.content]


def test_why_something_happened_is_not_told_by_a_chain():
    dead = PERSON.model_copy(update={"content": "Ann Mole died in Ghent in 1951 because of a gale."})
    asked_where = "Where did the director of the film Harbour die?"
    assert surveyed(FILM, dead, question=asked_where).findings
    asked_why = "What caused the death of the director of the film Harbour?"
    assert surveyed(FILM, dead, question=asked_why).findings == ()


def test_the_sentences_of_a_chain_are_more_relevant_than_others_in_their_order():
    relevances = [f.relevance for f in surveyed(FILM, PERSON).findings]
    assert relevances == sorted(relevances, reverse=True)
    assert relevances[-1] > 0.9


def test_there_is_no_chain_where_another_finding_says_as_much():
    whole = said("The director of the film Harbour was born in Ghent.", FILM)
    assert surveyed(FILM, PERSON, findings=(whole,)).findings == ()


def test_a_chain_alone_must_hold_the_names_of_the_question():
    stranger = FILM.model_copy(
        update={"title": "Lagoon", "content": FILM.content.replace("Harbour", "Lagoon")}
    )
    assert surveyed(stranger, PERSON).findings == ()


def test_what_an_earlier_chain_said_falls_with_it():
    earlier = said("Many films were shown in the harbour of Ghent.", OTHER)
    earlier = earlier.model_copy(update={"category": LED})
    assert surveyed(FILM, PERSON, OTHER, findings=(earlier,)).dropped == (earlier.id,)


def test_a_finding_that_a_chain_tells_too_stays_when_the_chain_is_gone():
    inside = said(PERSON.content, PERSON)
    output = surveyed(FILM, PERSON, findings=(inside,))
    assert PERSON.content in {finding.content for finding in output.findings}
    assert output.dropped == ()
    given = {PERSON.id: Source(id=PERSON.id, title=PERSON.title, sub_query_id="subq-0")}
    state = DeepResearchState(research_id="deepres-000000000000", query=QUESTION)
    (led,) = (
        finding_of(item, given, {PERSON.id: PERSON.content}, state)
        for item in output.findings
        if item.source_ids == (PERSON.id,)
    )
    alone = finding_of(
        AnalyzedFinding(content=PERSON.content, source_ids=(PERSON.id,)),
        given,
        {PERSON.id: PERSON.content},
        state,
    )
    assert led.id != alone.id
    both = state.model_copy(update={"findings": (alone, led)})
    assert weighed(both, several=False).dropped == ()


def test_a_sentence_that_a_chain_tells_too_is_told_once(draft_of):
    assert (
        draft_of(QUESTION, [(PERSON.content, 0, 0.98), (PERSON.content, 0, 0.6)]).count(PERSON.content) == 1
    )


def test_a_source_that_does_not_say_the_name_in_what_is_quoted_leads_nowhere():
    question = "When was the Orrel tower rebuilt?"
    step = Step("src-film", Span(start=0, end=len(FILM.content)), "", frozenset({"film"}))
    last = Step("src-ann", Span(start=0, end=len(PERSON.content)), "tom hare", frozenset({"born"}))
    of = asked_of(QUESTION, {}, ())
    sources = {FILM.id: FILM, PERSON.id: PERSON}
    assert chained(question, of, (step, last), sources, (), "") == []


def test_a_relation_counts_once_in_however_many_words_a_source_tells_it():
    question = "Who was the father of the director of Harbour?"
    family = (
        "# The Moles\n\nBob Louis Mole was the only child of Tom and a grandson of Robert, the child of "
        "an owner.\n\nThree sons of Robert Mole made films:\n\nAnn Mole (1901)\n\n- The eldest.\n"
    )
    source = PERSON.model_copy(update={"title": "The Moles", "content": family})
    first = Step(FILM.id, Span(start=0, end=len(FILM.content)), "", frozenset({"harbour", "director"}))
    last = Step(PERSON.id, Span(start=0, end=len(family)), "ann mole", frozenset({"father"}), titled=False)
    of = asked_of(question, {}, ())
    found = chained(question, of, (first, last), {FILM.id: FILM, PERSON.id: source}, (), "")
    assert [f.content.partition(":")[0] for f in found][1:] == ["Three sons of Robert Mole made films"]


def test_the_word_that_denies_a_case_is_no_gap():
    question = "What happens when LAMP_KEY is unset?"
    told = said("In order to light lamps you have to set a lamp key.", OTHER)
    queries = (asked(question, OTHER),)
    assert not [
        gap
        for gap in surveyed(OTHER, question=question, queries=queries, findings=(told,)).gaps
        if "unset" in gap.description.partition("?")[2]
    ]


def test_what_was_done_with_what_a_column_counts_is_no_gap():
    question = "How many passengers did the Alma carry in 2021?"
    row = said("name: Alma; year: 2021; passengers: 1450", OTHER)
    queries = (asked(question, OTHER),)
    output = surveyed(OTHER, question=question, queries=queries, findings=(row,))
    assert not [gap for gap in output.gaps if "carry" in gap.description.partition("?")[2]]


def test_what_stands_for_a_thing_that_is_described_is_no_gap():
    """Nobody has to say "body" of whom Mole was an adviser to, nor that he "served"."""
    question = "When was the body that Ann Mole served as adviser founded?"
    told = (said("Ann Mole was adviser to the Orrel Office.", PERSON), said("It was founded in 1901.", OTHER))
    queries = (asked(question, PERSON, OTHER),)
    output = surveyed(PERSON, OTHER, question=question, queries=queries, findings=told)
    lacking = " ".join(gap.description.partition("?")[2] for gap in output.gaps)
    assert "body" not in lacking
    assert "served" not in lacking
