"""What prompts of one run begin with alike: what was found stays where it was, so that a service need not
read it again."""

import pytest
from orm_light import BUILT, FINDINGS, HARE, HARE_TEXT, ORM, ORM_TEXT, TALL, TEXTS, WHITE, finding, state

from deep_research.phases.handoff import EvidenceInput, evidence_of, shared
from deep_research.phases.quote_passages import passages, united, without
from deep_research.phases.refinement import RefinementPhase
from deep_research.phases.refinement.llm import LLMRefiner
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.report.references import without_marks
from deep_research.state import ConfidenceLevel, DeepResearchPhase, SourceQuality, SubQuery, SubQueryStatus
from deep_research.testing.models import ScriptedProvider

P = DeepResearchPhase
REPORT = f"# The Orm\n\n## Said\n\n{BUILT[:-1]} [F1].\n\n## More\n\n{TALL[:-1]} [F2].\n"
REVISED = f"## Said\n\n{BUILT[:-1]} [F1]. {WHITE[:-1]} [F3].\n"
JUDGED = {
    "gap_analysis": [],
    "iteration_recommendation": {"should_iterate": False},
    "report_improvements": ["Say more."],
}
OIL = "The lamp burned whale oil until 1843."
SEARCHES = tuple(
    SubQuery(
        id=f"subq-{n}",
        query=f"Orm light, search {n}",
        rationale="It is asked.",
        index=n,
        iteration=n,
        status=SubQueryStatus.COMPLETED,
    )
    for n in (1, 2)
)
PAINTED = HARE.model_copy(update={"sub_query_id": "subq-2", "score": 0.9})
LATER = FINDINGS[2].model_copy(update={"iteration": 2})
FIRST_ROUND = {"sub_queries": SEARCHES[:1], "sources": (ORM,), "findings": FINDINGS[:2]}
SECOND_ROUND = {
    "sub_queries": SEARCHES,
    "sources": (PAINTED, ORM),  # as they are ranked by now
    "findings": (*FINDINGS[:2], LATER),
    "iteration": 2,
}


def common(first, second):
    """The share of the shorter request that both begin with, under one mark."""
    texts = [f"{c.system}{c.messages[-1].content.replace(c.nonce, 'MARK')}" for c in (first, second)]
    shorter = min(map(len, texts))
    return next((n for n in range(shorter) if texts[0][n] != texts[1][n]), shorter) / shorter


@pytest.fixture
def asked(work):
    """Runs a phase, and gives the request that it made first and the state it left."""

    def run(phase, answer, **more):
        seen = []
        made = {
            P.SYNTHESIS: lambda: SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF),
            P.REFINEMENT: lambda: RefinementPhase(LLMRefiner()),
        }[phase]()
        provider = ScriptedProvider(lambda call: (seen.append(call), answer)[1])
        done = work(made, state(phase=phase, **more), provider, texts=TEXTS.values())
        return seen[0], done.state

    return run


def again(left, **more):
    """The state of a run some time after its report."""
    kept = {name: getattr(left, name) for name in ("report", "report_draft", "report_metadata", "claims")}
    return {**kept, **more}


def test_a_revision_begins_as_the_report_did(asked):
    written, left = asked(P.SYNTHESIS, REPORT, **FIRST_ROUND)
    better = again(left, refined=1, report_improvements=("Say more.",), **FIRST_ROUND)
    revised, _ = asked(P.SYNTHESIS, REVISED, **better)
    assert (written.label, revised.label) == ("report", "revision")
    assert written.system == revised.system
    assert common(written, revised) > 0.6


def test_it_does_so_in_a_later_round_that_ranks_and_rates_all_anew(asked):
    written, left = asked(P.SYNTHESIS, REPORT, **FIRST_ROUND)
    surer = FINDINGS[0].model_copy(update={"confidence": ConfidenceLevel.CONFIRMED})
    more = SECOND_ROUND | {"findings": (surer, FINDINGS[1], LATER)}
    revised, _ = asked(P.SYNTHESIS, REVISED, **again(left, **more))
    assert revised.label == "revision"
    assert common(written, revised) > 0.6
    said = revised.messages[-1].content
    assert (
        said.index("F2 (S1)")
        < said.index("search 2")
        < said.index("S2: “The Hare Light”")
        < said.index("F3 (S2)")
    )
    assert "confirmed: F1; medium: F2, F3" in said


def test_a_revision_that_follows_a_revision_shares_more(asked):
    _, left = asked(P.SYNTHESIS, REPORT, **FIRST_ROUND)
    more = again(left, refined=1, **FIRST_ROUND)
    first, _ = asked(P.SYNTHESIS, REVISED, report_improvements=("Say more.",), **more)
    second, _ = asked(P.SYNTHESIS, REVISED, report_improvements=("Say less.",), **more)
    assert common(first, second) > 0.8


def test_a_critic_of_a_later_version_begins_as_that_of_the_first_did(asked):
    drafts = [f"# The Orm\n\n## Said\n\n{text[:-1]} [{FINDINGS[0].id}].\n" for text in (BUILT, TALL)]
    calls = [
        asked(P.REFINEMENT, JUDGED, report=without_marks(draft), report_draft=draft, **FIRST_ROUND)[0]
        for draft in drafts
    ]
    assert common(*calls) > 0.6


def test_the_ends_of_rounds_are_marked_for_a_cache(asked):
    _, left = asked(P.SYNTHESIS, REPORT, **FIRST_ROUND)
    revised, _ = asked(P.SYNTHESIS, REVISED, **again(left, **SECOND_ROUND))
    ends = [piece for piece, repeated in revised.messages[-1].pieces if repeated]
    assert [end.rstrip().endswith("end>>") for end in ends] == [True, True]
    assert "F2 (S1)" in ends[0]
    assert "F3 (S2)" in ends[1]


def test_what_a_later_round_adds_to_an_earlier_finding_stands_with_that_round(asked):
    copied = FINDINGS[0].model_copy(update={"source_ids": (ORM.id, PAINTED.id)})
    more = SECOND_ROUND | {"findings": (copied, FINDINGS[1], LATER)}
    said = asked(P.SYNTHESIS, REPORT, **more)[0].messages[-1].content
    assert said.index(f"F1 (S1): {BUILT}") < said.index("F3 (S2)")
    assert said.index("F2 (S1)") < said.index(f"F1 (S1, S2): {BUILT}")


def test_a_source_is_told_of_anew_where_a_later_round_says_more_of_it(asked):
    again_read = ORM.model_copy(update={"quality": SourceQuality.HIGH})
    newer = PAINTED.model_copy(
        update={"title": "The Orm Light", "content_hash": ORM.content_hash, "fingerprint": ORM.fingerprint}
    )
    more = SECOND_ROUND | {"sources": (newer, again_read)}
    said = asked(P.SYNTHESIS, REPORT, **more)[0].messages[-1].content
    assert said.count("S1: “The Orm Light”, ok.example, 2019-03-01, high quality") == 2
    assert "high quality, copied 1 times" in said


def test_a_passage_that_two_findings_share_is_told_once(asked):
    oil = finding(7, OIL, ORM, ORM_TEXT)
    more = FIRST_ROUND | {"findings": (*FINDINGS[:2], oil)}
    said = asked(P.SYNTHESIS, REPORT, **more)[0].messages[-1].content
    assert said.count("never paid in gold") == 1
    assert said.count("  has: “") == 1


def windows(*found):
    return [each for of_one in passages(found, TEXTS).values() for each in of_one]


def test_windows_of_one_text_that_overlap_or_touch_are_one_passage():
    near = [w.model_copy(update={"start": 0, "end": 5, "text": "One. "}) for w in windows(FINDINGS[0])]
    touching = near[0].model_copy(update={"start": 6, "end": 10, "text": "Two."})
    within = near[0].model_copy(update={"start": 1, "end": 3, "text": "ne"})
    apart = near[0].model_copy(update={"start": 40, "end": 45, "text": "Last."})
    elsewhere = windows(FINDINGS[2])
    made = united([apart, touching, *near, within, *elsewhere])
    assert [each.text for each in made[:2]] == ["One.  Two.", "Last."]
    assert [each.source_id for each in made] == [ORM.id, ORM.id, HARE.id]


def test_of_a_passage_that_was_shown_the_rest_alone_is_told():
    (whole,) = windows(FINDINGS[0])
    assert BUILT in whole.text
    start = ORM_TEXT.index(BUILT)
    shown = whole.model_copy(update={"start": start, "end": start + len(BUILT), "text": BUILT})
    left = without(whole, [shown])
    assert all(ORM_TEXT[each.start : each.end] == each.text for each in left)
    assert BUILT not in "".join(each.text for each in left)
    assert without(whole, [whole]) == []
    assert without(whole, windows(FINDINGS[2])) == [whole]


def test_a_quote_whose_text_is_gone_is_its_own_window():
    (only,) = passages((FINDINGS[2],), {})[FINDINGS[2].id]
    assert only.text == WHITE
    assert HARE_TEXT[only.start : only.end] == WHITE


def test_sources_are_in_the_order_in_which_they_were_found():
    made = state(phase=P.SYNTHESIS, **SECOND_ROUND)
    handoff = EvidenceInput(**shared(made, P.SYNTHESIS), **evidence_of(made))
    assert handoff.source_rounds == ((ORM.id,), (PAINTED.id,))
