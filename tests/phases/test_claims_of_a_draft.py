"""SYNTHESIS checks what a draft claims: repairs it once, marks what stays, asks the judge, and tells what of the question
the report answers. Each step that would not come out the same is in the log before the next."""

import asyncio
import re

import pytest
from orm_light import BUILT, F1, F2, F3, FINDINGS, TALL, TEXTS, WHITE, state

from deep_research.models.failures import Verdict, failure
from deep_research.phases.synthesis import SynthesisPhase, SynthesizerOutput
from deep_research.phases.synthesis.handoff import FailedClaim, JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.phases.synthesis.repair_request import MOST_AT_ONCE, _why
from deep_research.state import (
    Aspect,
    Budget,
    ClaimVerdict,
    DeepResearchPhase,
    Discrepancy,
    ModelRole,
    QuestionPart,
    RunOptions,
)
from deep_research.state.journal import MemoryJournal
from deep_research.state.question_parts import AnswerStatus, PartVerdict
from deep_research.testing.models import ScriptedProvider

SYNTHESIS = DeepResearchPhase.SYNTHESIS
EXPLAINED = "*[unsupported] stands after what the cited sources do not say, or say otherwise.*"
SOLD = "It was sold to a baker from Lisbon"
WRONG = "The Orm lighthouse was built in 1812 by Ada Brook"


def at_synthesis(**more):
    return state(phase=SYNTHESIS, **more)


def units(journal):
    """The names of what was recorded, but for what models cost."""
    return [event.name for event in journal.events if not event.name.startswith(("model.", "content."))]


def body(journal):
    """The report's text between its title and what code puts below it."""
    shown = journal.state.report.partition("## Said\n\n")[2]
    return re.split(r"\n\n(?:\*\[unsupported\]|## References)", shown)[0].strip()


def repairs(journal):
    return [(repair.kind.value, repair.before, repair.after, repair.by) for repair in journal.state.repairs]


def notices(journal):
    return [notice.message for notice in journal.state.notices]


# An agent without a model


class Writer:
    name = "by hand"

    def __init__(self, said, *, deterministic=True, unknown=0):
        self.deterministic, self._unknown = deterministic, unknown
        self._said = said

    async def __call__(self, handoff):
        return SynthesizerOutput(report=f"# The Orm\n\n## Said\n\n{self._said}\n", unknown=self._unknown)


def written(said, *, texts=TEXTS, agent=Writer, **more):
    journal = MemoryJournal(at_synthesis(**more), texts=texts.values())
    asyncio.run(SynthesisPhase(agent(said)).run(journal.state, journal))
    return journal


def test_what_comes_out_the_same_is_one_unit():
    assert units(written(f"{WRONG} {F1}. {TALL[:-1]} {F2}.")) == ["report.written"]


def test_a_draft_that_may_not_come_out_the_same_is_recorded_first():
    journal = written(f"{BUILT[:-1]} {F1}.", agent=lambda said: Writer(said, deterministic=False))
    assert units(journal) == ["report.drafted", "report.written"]
    assert journal.events[0].draft.repairs is None
    assert journal.state.draft is None


REPAIRED = {
    "nothing is wrong": (f"{BUILT[:-1]} {F1}. {TALL[:-1]} {F2}.", f"{BUILT[:-1]} [1]. {TALL[:-1]} [1].", []),
    "another finding carries it": (
        f"{BUILT[:-1]} {F3}. {WHITE[:-1]} {F3}.",
        f"{BUILT} [1] {WHITE[:-1]} [2].",
        [("cited", BUILT, BUILT)],
    ),
    "its source says otherwise": (f"{WRONG} {F1}.", f"{BUILT} [1]", [("reworded", f"{WRONG}.", BUILT)]),
    "its source says otherwise, and that is told already": (
        f"{BUILT[:-1]} {F1}. {WRONG} {F1}.",
        f"{BUILT[:-1]} [1].",
        [("removed", f"{WRONG}.", "")],
    ),
    "nothing says it and it cites nothing": (
        f"{SOLD}. {TALL[:-1]} {F2}.",
        f"{TALL[:-1]} [1].",
        [("removed", f"{SOLD}.", "")],
    ),
    "an item of which nothing is left goes": (
        f"- {SOLD}\n- {TALL[:-1]} {F2}",
        f"- {TALL[:-1]} [1]",
        [("removed", SOLD, "")],
    ),
    "it begins with its reference": (
        f"- {F3} {BUILT}\n- {TALL[:-1]} {F2}",
        f"- {BUILT} [1]\n- {TALL[:-1]} [1]",
        [("cited", BUILT, BUILT)],
    ),
    "its reference has a line of its own": (
        f"{WRONG}.\n{F1}\n\nThe tower is 90 feet tall {F2}.",
        f"{BUILT} [1]\n\nThe tower is 90 feet tall [1].",
        [("reworded", f"{WRONG}.", BUILT)],
    ),
}


@pytest.mark.parametrize(("said", "expected", "made"), REPAIRED.values(), ids=REPAIRED)
def test_code_repairs_what_it_can_and_nothing_stays_marked(said, expected, made):
    journal = written(said)
    assert body(journal) == expected
    assert repairs(journal) == [(*each, "code") for each in made]
    counts = journal.state.report_metadata.claims
    assert (counts.repairs + counts.removals, counts.marks) == (len(made), 0)
    assert EXPLAINED not in journal.state.report
    assert {claim.verdict for claim in journal.state.claims} == {ClaimVerdict.SUPPORTED}


def test_a_claim_says_what_stood_there_before():
    journal = written(f"{WRONG} {F1}. {TALL[:-1]} {F2}.")
    assert [(claim.text, claim.was) for claim in journal.state.claims] == [(BUILT, f"{WRONG}."), (TALL, "")]


MARKED = {
    "it cites what does not say it": f"{SOLD} {F3}. [unsupported] {TALL[:-1]} {F2}.",
    "it is alone under its heading": f"{SOLD}. [unsupported]\n\n## More\n\n{TALL[:-1]} {F2}.",
    "it is a cell": f"| A | B |\n| --- | --- |\n| Tower | 91 feet {F2} [unsupported] |\n\n{TALL[:-1]} {F2}.",
}


@pytest.mark.parametrize("expected", MARKED.values(), ids=MARKED)
def test_what_cannot_be_repaired_is_marked_explained_and_counted(expected):
    journal = written(expected.replace(" [unsupported]", ""))
    numbered = expected
    for number, (mark, *_) in enumerate(
        [(m,) for m in dict.fromkeys(re.findall(r"\[find-\w+\]", expected))], 1
    ):
        numbered = numbered.replace(mark, f"[{number}]")
    if F3 not in expected:
        numbered = re.sub(r"\[\d\]", "[1]", numbered)
    assert body(journal) == numbered
    assert f"\n\n{EXPLAINED}\n\n## References" in journal.state.report
    counts = journal.state.report_metadata.claims
    assert (counts.marks, counts.repairs, counts.removals) == (1, 0, 0)
    assert [claim.is_marked for claim in journal.state.claims].count(True) == 1
    assert "[unsupported]" in journal.events[-1].draft


def test_marks_are_no_words():
    words = [
        written(f"{said} {F3}. {TALL[:-1]} {F2}.").state.report_metadata.word_count
        for said in (SOLD, "The lamp was bought for 40")
    ]
    assert len(SOLD.split()) - len(["The", "lamp", "was", "bought", "for", "40"]) == words[0] - words[1]


def test_a_mark_that_an_agent_puts_in_is_none(work):
    assert body(written(f"{BUILT[:-1]} {F1}. [unsupported]")) == f"{BUILT[:-1]} [1]."
    draft = f"# T\n\n## Said\n\n{WRONG} [F1]. [unsupported] {TALL[:-1]} [F2]."
    repair = {"claims": [{"claim": "C1", "text": "It was built in 1811 [F1]. [unsupported]"}]}
    journal = Models(work, draft=draft, repair=repair).written()
    assert body(journal) == f"It was built in 1811 [1]. {TALL[:-1]} [1]."
    assert journal.state.report_metadata.claims.marks == 0


def test_a_text_that_is_missing_is_no_word_against_a_claim():
    lamp = f"The lamp burned whale oil until 1843 {F1}."
    assert written(lamp).state.claims[0].verdict is ClaimVerdict.SUPPORTED
    journal = written(f"{BUILT[:-1]} {F1}. Its tower is 90 feet tall {F2}.", texts={})
    assert {claim.verdict for claim in journal.state.claims} == {ClaimVerdict.SUPPORTED}


def test_references_that_were_never_given_are_counted_wherever_they_were_seen():
    journal = written(f"{BUILT[:-1]} {F1} [find-00000000000f].", agent=lambda said: Writer(said, unknown=2))
    assert journal.state.report_metadata.removed_references == 3


def test_a_claim_has_the_numbers_of_its_references_and_of_those_that_it_inherits():
    journal = written(f"{WHITE[:-1]} {F3}. The Orm lighthouse was built by Ada Brook. {TALL[:-1]} {F2}.")
    assert [(claim.numbers, claim.inherited) for claim in journal.state.claims] == [
        ((1,), False),
        ((2,), True),
        ((2,), False),
    ]


# An agent with a model

DRAFT = f"""\
# The Orm

## Said

{WRONG} [F1]. The tower is 91 feet tall [F2]. {SOLD} [F3].

## More

{WHITE[:-1]} [F3]."""
MENDED = {
    "claims": [
        {"claim": "C1", "text": "It was built in 1811 [F1]."},
        {"claim": "C2", "text": "The tower is 95 feet tall [F2]."},
        {"claim": "C3", "text": ""},
    ]
}


class Models:
    """A model that writes, and repairs with ``repair``; and one that judges with ``judge``, where there is one."""

    def __init__(self, work, *, draft=DRAFT, repair=MENDED, judge=None):
        self._work, self._draft, self._repair = work, draft, repair
        self.asked = []
        self.judge = ScriptedProvider(judge, model="judge") if judge is not None else None
        if self.judge:
            self.judge.probed = False

    def _answer(self, call):
        self.asked.append(call)
        if call.label == "report":
            return self._draft
        return self._repair(call) if callable(self._repair) else self._repair

    def written(self, *, scope=JudgeScope.DOUBTFUL, journal=None, **more):
        scope = scope if self.judge else JudgeScope.OFF
        by_role = {ModelRole.JUDGE: (self.judge,)} if self.judge else {}
        return self._work(
            SynthesisPhase(LLMSynthesizer(), judge=scope),
            at_synthesis(**more),
            ScriptedProvider(self._answer),
            texts=TEXTS.values(),
            by_role=by_role,
            journal=journal,
        )


def test_a_model_is_asked_once_for_all_claims_that_fail_and_its_words_are_checked(work):
    models = Models(work)
    journal = models.written()
    assert units(journal) == ["report.drafted", "report.drafted", "report.written"]
    assert [event.draft.repairs is None for event in journal.events if event.name == "report.drafted"] == [
        True,
        False,
    ]
    assert len(models.asked) == 2
    said = models.asked[1].messages[-1].content
    for line in (
        f"C1 (cites F1): {WRONG}. — the quotes do not have the date “1812”; there they have “1811”",
        "C2 (cites F2): The tower is 91 feet tall. — the quotes do not have the number “91”; there they have “90”",
        f"C3 (cites F3): {SOLD}. — the quotes do not name “Lisbon”",
        f"F1: {BUILT}\n  quote: “{BUILT}”",
    ):
        assert line in said
    assert body(journal).startswith("It was built in 1811 [1]. The tower is 95 feet tall [1]. [unsupported]")
    assert SOLD not in journal.state.report
    assert repairs(journal) == [
        ("reworded", f"{WRONG}.", "It was built in 1811.", "scripted:model-1"),
        ("reworded", "The tower is 91 feet tall.", "The tower is 95 feet tall.", "scripted:model-1"),
        ("removed", f"{SOLD}.", "", "scripted:model-1"),
    ]
    assert EXPLAINED in journal.state.report


def test_where_no_claim_fails_no_model_is_asked_again(work):
    models = Models(work, draft=f"# T\n\n## Said\n\n{BUILT[:-1]} [F1]. {TALL[:-1]} [F2].")
    assert units(models.written()) == ["report.drafted", "report.written"]
    assert len(models.asked) == 1


PARTLY = {
    "says nothing of it": [],
    "cites nothing": [{"claim": "C1", "text": "It was built in 1811."}],
    "cites what it was not given": [{"claim": "C1", "text": "It was built in 1811 [F9]."}],
    "names another": [{"claim": "C9", "text": "It was built in 1811 [F1]."}],
}


@pytest.mark.parametrize("claims", PARTLY.values(), ids=PARTLY)
def test_a_claim_that_the_model_gives_nothing_usable_for_is_repaired_by_code(work, claims):
    draft = f"# T\n\n## Said\n\n{WRONG} [F1]. {TALL[:-1]} [F2]."
    journal = Models(work, draft=draft, repair={"claims": claims}).written()
    assert body(journal) == f"{BUILT} [1] {TALL[:-1]} [1]."
    assert repairs(journal) == [("reworded", f"{WRONG}.", BUILT, "code")]


FAILING = {
    "no answer of use": "I would rather not.",
    "an error of the service": failure(Verdict.MALFORMED, "it broke", model="m"),
}


@pytest.mark.parametrize("repair", FAILING.values(), ids=FAILING)
def test_where_the_model_fails_code_repairs_and_that_is_told_and_not_asked_again(work, repair):
    models = Models(work, repair=repair)
    journal = models.written()
    assert body(journal).startswith(f"{BUILT} [1] ")
    assert {by for *_, by in repairs(journal)} == {"code"}
    (told,) = notices(journal)
    assert told.startswith("Claims that nothing carried were repaired without a model: ")
    assert units(journal) == ["report.drafted", "report.drafted", "notice.added", "report.written"]
    # What was recorded before the report is enough to write the same without asking.
    again = MemoryJournal(at_synthesis(), texts=TEXTS.values())
    place = [event.name for event in journal.events].index("report.written")
    asyncio.run(again.record(*journal.events[:place]))
    calls = len(models.asked)
    models.written(journal=again)
    assert len(models.asked) == calls
    assert again.state.report == journal.state.report
    assert notices(again) == notices(journal)


def test_more_claims_than_a_request_has_room_for_are_bounded(work):
    lines = " ".join(f"{SOLD} number {n} [F3]." for n in range(100, 100 + MOST_AT_ONCE + 5))
    models = Models(work, draft=f"# T\n\n## Said\n\n{lines}", repair={"claims": []})
    assert models.written().state.report_metadata.claims.marks == MOST_AT_ONCE + 5
    assert len(models.asked) == 2
    assert f"\nC{MOST_AT_ONCE} " in models.asked[1].messages[-1].content
    assert f"\nC{MOST_AT_ONCE + 1} " not in models.asked[1].messages[-1].content


# The judge

JUDGED = f"""\
# The Orm

## Said

{BUILT[:-1]} [F1]. Ada Brook raised the Orm lighthouse from the reef [F1]. {WRONG} [F1]."""
KEEP = {"claims": []}


def verdicts(*given):
    """An answer of the judge, with the given verdicts in the order of what it is asked."""
    return {
        "verdicts": [{"claim": f"C{n}", "verdict": each, "quotes": ["P1"]} for n, each in enumerate(given, 1)]
    }


def test_the_judge_sees_what_code_is_in_doubt_of_with_its_passages(work):
    models = Models(work, draft=JUDGED, repair=KEEP, judge=[verdicts("supported")])
    journal = models.written()
    (call,) = models.judge.calls
    asked = re.findall(r"^C\d+ (.*)$", call.messages[-1].content, re.M)
    assert asked == [
        "(Said): Ada Brook raised the Orm lighthouse from the reef. — P1, P2",
    ]
    assert f"P1 (The Orm Light): {BUILT}" in call.messages[-1].content
    assert units(journal) == ["report.drafted", "claims.judged", "report.drafted", "report.written"]


def test_the_judge_of_all_sees_all_but_what_the_log_bears_out(work):
    draft = f"{JUDGED}\n\n## Open questions\n\nWhat the Orm lighthouse cost to build."
    models = Models(work, draft=draft, repair=KEEP, judge=[verdicts("supported", "supported", "supported")])
    models.written(scope=JudgeScope.ALL)
    (call,) = models.judge.calls
    assert len(re.findall(r"^C\d+ ", call.messages[-1].content, re.M)) == 3


def test_the_verdict_of_the_judge_counts(work):
    judge = [verdicts("contradicted", "supported", "supported")]
    models = Models(work, draft=JUDGED, repair=KEEP, judge=judge)
    journal = models.written(scope=JudgeScope.ALL)
    told = [
        (claim.code_verdict.value, claim.verdict.value, claim.is_marked) for claim in journal.state.claims
    ]
    assert told == [
        ("supported", "supported", False),  # its source's own sentence
        ("partial", "supported", False),
    ]
    assert {claim.judgement.model for claim in journal.state.claims} == {"scripted:judge"}
    assert (
        journal.state.report_metadata.claims.judged == 2
    )  # the third has another year than its quote, and went


SILENT = {
    "its failure": failure(Verdict.MALFORMED, "it broke", model="judge"),
    "no answer of use": "I would rather not.",
    "its silence": {"verdicts": []},
    "a claim that it was not asked about": {"verdicts": [{"claim": "C9", "verdict": "contradicted"}]},
}


@pytest.mark.parametrize("answer", SILENT.values(), ids=SILENT)
def test_a_judge_that_says_nothing_usable_is_no_word_against_a_claim(work, answer):
    draft = f"# T\n\n## Said\n\n{BUILT[:-1]} [F1]. Ada Brook built the Orm lighthouse in 1811 [F1]."
    models = Models(work, draft=draft, judge=[answer])
    journal = models.written(scope=JudgeScope.ALL)
    without = Models(work, draft=draft).written()
    assert journal.state.report == without.state.report
    assert [claim.verdict for claim in journal.state.claims] == [
        ClaimVerdict.SUPPORTED,
        ClaimVerdict.UNCHECKED,
    ]
    assert [claim.code_verdict for claim in journal.state.claims] == [
        ClaimVerdict.SUPPORTED,
        ClaimVerdict.PARTIAL,
    ]
    for claim in journal.state.claims:
        assert claim.judgement.verdict is None
        assert claim.judgement.reason
    counts = journal.state.report_metadata.claims
    assert (counts.judged, counts.unasked, counts.unchecked, counts.supported) == (0, 2, 1, 1)


def test_a_cap_that_the_repair_meets_leaves_it_to_code(work):
    journal = Models(work).written(options=RunOptions(budget=Budget(max_model_calls=1)))
    assert {by for *_, by in repairs(journal)} == {"code"}
    (told,) = notices(journal)
    assert "max_model_calls" in told


def test_a_cap_that_the_judge_meets_ends_no_run(work):
    draft = f"# T\n\n## Said\n\n{BUILT[:-1]} [F1]. {TALL[:-1]} [F2]."
    for most in (1, 20):
        models = Models(work, draft=draft, judge=[verdicts("supported")])
        options = RunOptions(budget=Budget(max_model_calls=most))
        journal = models.written(scope=JudgeScope.ALL, options=options)
        assert journal.state.report_metadata.claims.unasked == (2 if most == 1 else 1)
        for claim in journal.state.claims:
            assert claim.verdict is ClaimVerdict.SUPPORTED
            assert most > 1 or "max_model_calls" in claim.judgement.reason


def test_what_was_judged_of_a_claim_with_another_reference_holds_no_more(work):
    draft = f"# T\n\n## Said\n\n{BUILT[:-1]} [F3]. {WHITE[:-1]} [F3]."
    repair = {"claims": [{"claim": "C1", "text": f"{BUILT[:-1]} [F1]."}]}
    models = Models(work, draft=draft, repair=repair, judge=[verdicts("unsupported")])
    journal = models.written()
    assert [(claim.verdict.value, claim.is_marked) for claim in journal.state.claims] == [
        ("supported", False),
        ("supported", False),
    ]
    assert [kind for kind, *_ in repairs(journal)] == ["cited"]


def test_new_words_are_judged_too_and_known_ones_not_again(work):
    models = Models(
        work,
        draft=f"# T\n\n## Said\n\nAda Brook raised the Orm lighthouse from the reef [F1]. {WRONG} [F1].",
        repair={"claims": [{"claim": "C1", "text": "It was raised in 1811 upon granite by Ada Brook [F1]."}]},
        judge=[verdicts("supported")],
    )
    journal = models.written()
    asked = [
        re.findall(r"^C\d+ \(Said\): (.*?) — ", call.messages[-1].content, re.M)
        for call in models.judge.calls
    ]
    assert asked == [
        ["Ada Brook raised the Orm lighthouse from the reef."],
        ["It was raised in 1811 upon granite by Ada Brook."],
    ]
    assert units(journal).count("claims.judged") == 2


# The parts of the question

PARTS = (
    QuestionPart(id="part-1", text="Who built the Orm lighthouse?"),
    QuestionPart(id="part-2", text="How tall is it?"),
    QuestionPart(id="part-3", text="What did it cost?"),
)
OF_PARTS = (
    PartVerdict(part_id="part-1", verdict=AnswerStatus.ANSWERED, finding_ids=(FINDINGS[0].id,)),
    PartVerdict(part_id="part-2", verdict=AnswerStatus.ANSWERED, finding_ids=(FINDINGS[1].id,)),
    PartVerdict(part_id="part-3", verdict=AnswerStatus.NOT_FOUND),
)

TOLD = {
    "both that were found": (f"{BUILT[:-1]} {F1}. {TALL[:-1]} {F2}.", [1, 1, 0], 0.6667, []),
    "one of them": (f"{BUILT[:-1]} {F1}.", [1, 0, 0], 0.3333, ["How tall is it"]),
    "one without its reference": ("The Orm lighthouse was built by Ada Brook.", [1, 0, 0], 0.3333, ["How tall is it"]),
    "one in words that nothing carries": (
        f"{SOLD} {F1}. {TALL[:-1]} {F2}.", [0, 1, 0], 0.3333, ["Who built the Orm lighthouse"],
    ),
    "neither": (f"{WHITE[:-1]} {F3}.", [0, 0, 0], 0.0, ["Who built the Orm lighthouse; How tall is it"]),
}  # fmt: skip


@pytest.mark.parametrize(("said", "claims", "coverage", "untold"), TOLD.values(), ids=TOLD)
def test_each_part_has_the_claims_that_tell_of_it_and_what_is_untold_is_told(said, claims, coverage, untold):
    journal = written(said, parts=PARTS, verdicts=OF_PARTS)
    known = {claim.id for claim in journal.state.claims}
    assert [len(verdict.claim_ids) for verdict in journal.state.verdicts] == claims
    assert known.issuperset(i for verdict in journal.state.verdicts for i in verdict.claim_ids)
    assert journal.state.report_metadata.coverage == coverage
    assert notices(journal) == [f"The report leaves out what was found of: {each}." for each in untold]


# What a stop leaves


def test_a_report_that_was_interrupted_after_any_event_comes_out_the_same_and_no_call_is_made_twice(work):
    raised = {"claim": "C1", "text": "It was raised in 1811 upon granite by Ada Brook [F1]."}

    def models():
        return Models(
            work,
            repair={"claims": [raised, *MENDED["claims"][1:]]},
            draft=f"{DRAFT} Ada Brook raised the Orm lighthouse from the reef [F1].",
            judge=lambda call: verdicts(*["supported"] * call.messages[-1].content.count("\nC")),
        )

    first = models()
    whole = first.written()
    recorded = list(whole.events)
    answers = len(first.asked) + len(first.judge.calls)
    assert answers == 4  # draft, judge, repair, judge
    for place in range(1, len(recorded)):
        left = MemoryJournal(at_synthesis(), texts=TEXTS.values())
        asyncio.run(left.record(*recorded[:place]))
        second = models()
        second.written(journal=left)
        assert left.state.report == whole.state.report, place
        assert left.state.claims == whole.state.claims, place
        paid = sum(event.name == "model.settled" for event in recorded[:place])
        lost = recorded[place - 1].name == "model.settled"  # with what the process had not recorded yet
        assert len(second.asked) + len(second.judge.calls) == answers - paid + lost, place


def test_a_phase_that_is_done_does_nothing(work):
    models = Models(work)
    models.written(report="r", phase_done=True)
    assert models.asked == []


def test_every_difference_is_told_in_words():
    for aspect in Aspect:
        bare, other = (
            _why(
                FailedClaim(
                    claim_id="c",
                    text="t",
                    reasons=(Discrepancy(aspect=aspect, claimed="weekly", in_source=found),),
                )
            )
            for found in ("", "daily")
        )
        assert bare.startswith(("the quotes ", "it is more or less certain"))
        assert other.startswith(bare)
        assert aspect is Aspect.LANGUAGE or ("weekly" in bare and "daily" in other)


def test_a_true_sentence_is_kept_with_a_finding_that_carries_it(work):
    kept = {"claims": [{"claim": "C1", "text": f"{TALL[:-1]} [F2]."}]}
    draft = f"# T\n\n## Said\n\n{TALL[:-1]} [F3]. {BUILT[:-1]} [F1]."
    models = Models(work, draft=draft, repair=kept)
    journal = models.written()
    said = models.asked[1].messages[-1].content
    assert (
        "Its tower is 90 feet tall and stands on a reef of granite." in said
    )  # of a finding that it does not cite
    assert body(journal).startswith(f"{TALL[:-1]} [1].")
    assert repairs(journal) == [("cited", TALL, TALL, "scripted:model-1")]
