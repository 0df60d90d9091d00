"""What prompts of one run begin with alike: what was found stays where it was, so that a service need not
read it again."""

import pytest
from orm_light import BUILT, FINDINGS, HARE, HARE_TEXT, ORM, ORM_TEXT, TALL, TEXTS, WHITE, finding, state
from phases.builders import in_order, prompt

from deep_research.phases.quote_passages import passages, united, without
from deep_research.phases.refinement import RefinementPhase
from deep_research.phases.refinement.llm import LLMRefiner
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.report.references import without_marks
from deep_research.state import ConfidenceLevel, SourceQuality, SubQuery, SubQueryStatus
from deep_research.testing.models import ScriptedProvider

REPORT = f"# The Orm\n\n## Said\n\n{BUILT[:-1]} [F1].\n\n## More\n\n{TALL[:-1]} [F2].\n"
REVISED = f"## Said\n\n{BUILT[:-1]} [F1]. {WHITE[:-1]} [F3].\n"
DONE = {"rationale": "It is asked.", "status": SubQueryStatus.COMPLETED}
SEARCHES = tuple(
    SubQuery(id=f"subq-{n}", query=f"Orm light, search {n}", index=n, iteration=n, **DONE) for n in (1, 2)
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
    texts = [f"{c.system}{prompt(c).replace(c.nonce, 'MARK')}" for c in (first, second)]
    shorter = min(map(len, texts))
    return next((n for n in range(shorter) if texts[0][n] != texts[1][n]), shorter) / shorter


@pytest.fixture
def asked(work):
    """Runs a phase with an answer, and gives the request that it made first and the state it left."""

    def run(answer, phase=None, **more):
        provider = ScriptedProvider([answer])
        phase = phase or SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF)
        done = work(phase, state(phase=phase.phase, **more), provider, texts=TEXTS.values())
        return provider.calls[0], done.state

    return run


def again(left, **more):
    """The state of a run some time after its report."""
    kept = {name: getattr(left, name) for name in ("report", "report_draft", "report_metadata", "claims")}
    return {**kept, **more}


def test_a_revision_begins_as_the_report_did_and_the_next_one_shares_more(asked):
    written, left = asked(REPORT, **FIRST_ROUND)
    more = again(left, refined=1, **FIRST_ROUND)
    first, second = (
        asked(REVISED, report_improvements=(f"Say {what}.",), **more)[0] for what in ("more", "less")
    )
    assert (written.label, first.label) == ("report", "revision")
    assert written.system == first.system
    assert common(written, first) > 0.6
    assert common(first, second) > 0.8


def test_it_does_so_in_a_later_round_that_ranks_and_rates_all_anew_and_marks_the_ends_of_rounds(asked):
    written, left = asked(REPORT, **FIRST_ROUND)
    surer = FINDINGS[0].model_copy(update={"confidence": ConfidenceLevel.CONFIRMED})
    more = {**SECOND_ROUND, "findings": (surer, FINDINGS[1], LATER)}
    revised, _ = asked(REVISED, **again(left, **more))
    assert revised.label == "revision"
    assert common(written, revised) > 0.6
    assert in_order(prompt(revised), "F2 (S1)", "search 2", "S2: “The Hare Light”", "F3 (S2)")
    assert "confirmed: F1; medium: F2, F3" in prompt(revised)
    ends = [piece for piece, repeated in revised.messages[-1].pieces if repeated]
    assert [end.rstrip().endswith("end>>") for end in ends] == [True, True]
    assert "F2 (S1)" in ends[0]
    assert "F3 (S2)" in ends[1]


def test_a_critic_of_a_later_version_begins_as_that_of_the_first_did(asked):
    drafts = [f"# The Orm\n\n## Said\n\n{text[:-1]} [{FINDINGS[0].id}].\n" for text in (BUILT, TALL)]
    judged = {"gap_analysis": [], "iteration_recommendation": {"should_iterate": False}}
    phase = RefinementPhase(LLMRefiner())
    calls = [
        asked(judged, phase, report=without_marks(draft), report_draft=draft, **FIRST_ROUND)[0]
        for draft in drafts
    ]
    assert common(*calls) > 0.6


def test_what_a_later_round_adds_to_an_earlier_finding_or_source_stands_with_that_round(asked):
    copied = FINDINGS[0].model_copy(update={"source_ids": (ORM.id, PAINTED.id)})
    said = prompt(asked(REPORT, **{**SECOND_ROUND, "findings": (copied, FINDINGS[1], LATER)})[0])
    assert in_order(said, f"F1 (S1): {BUILT}", "F3 (S2)")
    assert in_order(said, "F2 (S1)", f"F1 (S1, S2): {BUILT}")
    again_read = ORM.model_copy(update={"quality": SourceQuality.HIGH})
    same = {name: getattr(ORM, name) for name in ("title", "content_hash", "fingerprint")}
    newer = PAINTED.model_copy(update=same)
    said = prompt(asked(REPORT, **{**SECOND_ROUND, "sources": (newer, again_read)})[0])
    assert said.count("S1: “The Orm Light”, ok.example, 2019-03-01, high quality") == 2
    assert "high quality, copied 1 times" in said


def test_a_passage_that_two_findings_share_is_told_once(asked):
    oil = finding(7, "The lamp burned whale oil until 1843.", ORM, ORM_TEXT)
    said = prompt(asked(REPORT, **{**FIRST_ROUND, "findings": (*FINDINGS[:2], oil)})[0])
    assert said.count("never paid in gold") == said.count("  has: “") == 1


def windows(*found):
    return [each for of_one in passages(found, TEXTS).values() for each in of_one]


def test_windows_of_one_text_that_overlap_or_touch_are_one_passage():
    (whole,), elsewhere = windows(FINDINGS[0]), windows(FINDINGS[2])
    near, touching, within, apart = (
        whole.model_copy(update={"start": start, "end": end, "text": text})
        for start, end, text in ((0, 5, "One. "), (6, 10, "Two."), (1, 3, "ne"), (40, 45, "Last."))
    )
    made = united([apart, touching, near, within, *elsewhere])
    assert [each.text for each in made[:2]] == ["One.  Two.", "Last."]
    assert [each.source_id for each in made] == [ORM.id, ORM.id, HARE.id]


def test_of_a_passage_that_was_shown_the_rest_alone_is_told_and_a_lone_quote_is_its_own():
    (whole,) = windows(FINDINGS[0])
    assert BUILT in whole.text
    start = ORM_TEXT.index(BUILT)
    shown = whole.model_copy(update={"start": start, "end": start + len(BUILT), "text": BUILT})
    left = without(whole, [shown])
    assert all(ORM_TEXT[each.start : each.end] == each.text for each in left)
    assert BUILT not in "".join(each.text for each in left)
    assert without(whole, [whole]) == []
    assert without(whole, windows(FINDINGS[2])) == [whole]
    (only,) = passages((FINDINGS[2],), {})[FINDINGS[2].id]
    assert HARE_TEXT[only.start : only.end] == only.text == WHITE
