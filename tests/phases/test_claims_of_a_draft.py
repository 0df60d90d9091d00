"""SYNTHESIS checks what a draft claims: repairs it once, marks what stays, asks the judge, and tells what of the question
the report answers. Each step that would not come out the same is in the log before the next."""

import asyncio
import re

import pytest
from orm_light import BUILT, F1, F2, F3, FINDINGS, TALL, TEXTS, WHITE, state
from phases.builders import SYNTHESIS, Model, prompt

from deep_research.models.failures import Verdict, failure
from deep_research.phases.synthesis import SynthesisPhase, SynthesizerOutput
from deep_research.phases.synthesis.handoff import FailedClaim, JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.phases.synthesis.repair_request import MAX_CLAIMS_PER_REQUEST, _why
from deep_research.state import Aspect, Budget, ClaimVerdict, Discrepancy, ModelRole, QuestionPart, RunOptions
from deep_research.state.journal import MemoryJournal
from deep_research.state.question_parts import AnswerStatus, PartVerdict

EXPLAINED = "*[unsupported] stands after what the cited sources do not say, or say otherwise.*"
SOLD = "It was sold to a baker from Lisbon"
WRONG = "The Orm lighthouse was built in 1812 by Ada Brook"
RAISED = "Ada Brook raised the Orm lighthouse from the reef"
B, T, W = BUILT[:-1], TALL[:-1], WHITE[:-1]
BROKEN = failure(Verdict.MALFORMED, "it broke", model="m")


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


def counts(journal, *names):
    return tuple(getattr(journal.state.report_metadata.claims, name) for name in names)


def verdicts(journal):
    return [(claim.verdict.value, claim.is_marked) for claim in journal.state.claims]


# An agent without a model


def written(said, *, texts=TEXTS, deterministic=True, unknown=0, **more):
    async def writer(handoff):
        return SynthesizerOutput(report=f"# The Orm\n\n## Said\n\n{said}\n", unknown=unknown)

    writer.name, writer.deterministic = "by hand", deterministic
    journal = MemoryJournal(at_synthesis(**more), texts=texts.values())
    asyncio.run(SynthesisPhase(writer).run(journal.state, journal))
    return journal


def test_what_comes_out_the_same_is_one_unit_and_what_may_not_is_recorded_first():
    assert units(written(f"{WRONG} {F1}. {T} {F2}.")) == ["report.written"]
    journal = written(f"{B} {F1}.", deterministic=False)
    assert units(journal) == ["report.drafted", "report.written"]
    assert journal.events[0].draft.repairs is None
    assert journal.state.draft is None


# What is said, what stands, and what was done.
REPAIRED = {
    "nothing is wrong": (f"{B} {F1}. {T} {F2}.", f"{B} [1]. {T} [1].", []),
    "another finding carries it": (f"{B} {F3}. {W} {F3}.", f"{BUILT} [1] {W} [2].", [("cited", BUILT, BUILT)]),
    "its source says otherwise": (f"{WRONG} {F1}.", f"{BUILT} [1]", [("reworded", f"{WRONG}.", BUILT)]),
    "so it does, and that is told already": (f"{B} {F1}. {WRONG} {F1}.", f"{B} [1].", [("removed", f"{WRONG}.", "")]),
    "nothing says it and it cites nothing": (f"{SOLD}. {T} {F2}.", f"{T} [1].", [("removed", f"{SOLD}.", "")]),
    "an item of which nothing is left goes": (f"- {SOLD}\n- {T} {F2}", f"- {T} [1]", [("removed", SOLD, "")]),
    "it begins with its reference": (f"- {F3} {BUILT}\n- {T} {F2}", f"- {BUILT} [1]\n- {T} [1]", [("cited",
        BUILT, BUILT)]),
    "its reference has a line of its own": (f"{WRONG}.\n{F1}\n\nThe tower is 90 feet tall {F2}.",
        f"{BUILT} [1]\n\nThe tower is 90 feet tall [1].", [("reworded", f"{WRONG}.", BUILT)]),
}  # fmt: skip


@pytest.mark.parametrize(("said", "expected", "made"), REPAIRED.values(), ids=REPAIRED)
def test_code_repairs_what_it_can_and_nothing_stays_marked(said, expected, made):
    journal = written(said)
    assert body(journal) == expected
    assert repairs(journal) == [(*each, "code") for each in made]
    assert sum(counts(journal, "repairs", "removals")) == len(made)
    assert counts(journal, "marks") == (0,)
    assert EXPLAINED not in journal.state.report
    assert {claim.verdict for claim in journal.state.claims} == {ClaimVerdict.SUPPORTED}
    was = {after: before for _, before, after in made if after != before}
    assert all(claim.was == was.get(claim.text, "") for claim in journal.state.claims)


MARKED = {
    "it cites what does not say it": f"{SOLD} {F3}. [unsupported] {T} {F2}.",
    "it is alone under its heading": f"{SOLD}. [unsupported]\n\n## More\n\n{T} {F2}.",
    "it is a cell": f"| A | B |\n| --- | --- |\n| Tower | 91 feet {F2} [unsupported] |\n\n{T} {F2}.",
}


@pytest.mark.parametrize("expected", MARKED.values(), ids=MARKED)
def test_what_cannot_be_repaired_is_marked_explained_and_counted(expected):
    journal = written(expected.replace(" [unsupported]", ""))
    numbers = {F3: "[1]", F2: "[2]"} if F3 in expected else {F2: "[1]"}
    for mark, number in numbers.items():
        expected = expected.replace(mark, number)
    assert body(journal) == expected
    assert f"\n\n{EXPLAINED}\n\n## References" in journal.state.report
    assert counts(journal, "marks", "repairs", "removals") == (1, 0, 0)
    assert [claim.is_marked for claim in journal.state.claims].count(True) == 1
    assert "[unsupported]" in journal.events[-1].draft


def test_marks_are_no_words_and_one_that_an_agent_puts_in_is_none(work):
    lamp = "The lamp was bought for 40"
    one, other = (written(f"{s} {F3}. {T} {F2}.").state.report_metadata.word_count for s in (SOLD, lamp))
    assert one - other == len(SOLD.split()) - len(lamp.split())
    assert body(written(f"{B} {F1}. [unsupported]")) == f"{B} [1]."
    repair = {"claims": [{"claim": "C1", "text": "It was built in 1811 [F1]. [unsupported]"}]}
    journal = Models(work, said=f"{WRONG} [F1]. [unsupported] {T} [F2].", repair=repair).written()
    assert body(journal) == f"It was built in 1811 [1]. {T} [1]."
    assert counts(journal, "marks") == (0,)


def test_references_are_numbered_inherited_and_counted_where_they_were_never_given():
    assert written(f"{B} {F1} [find-00000000000f].", unknown=2).state.report_metadata.removed_references == 3
    journal = written(f"{W} {F3}. The Orm lighthouse was built by Ada Brook. {T} {F2}.")
    numbers = [(claim.numbers, claim.inherited) for claim in journal.state.claims]
    assert numbers == [((1,), False), ((2,), True), ((2,), False)]


# An agent with a model

DRAFT = f"{WRONG} [F1]. The tower is 91 feet tall [F2]. {SOLD} [F3].\n\n## More\n\n{W} [F3]."
IN_1811, IN_95 = "It was built in 1811", "The tower is 95 feet tall"
MENDED = {"C1": f"{IN_1811} [F1].", "C2": f"{IN_95} [F2].", "C3": ""}


def mended(**claims):
    return {"claims": [{"claim": name, "text": text} for name, text in claims.items()]}


class Models:
    """A model that writes what is ``said``, and repairs with ``repair``; and one that judges with ``judge``, if any."""

    def __init__(self, work, *, said=DRAFT, repair=None, judge=None):
        self._work, self._judges = work, judge is not None
        repair = mended(**MENDED) if repair is None else repair
        self.writer = Model(report=f"# The Orm\n\n## Said\n\n{said}", RewordedClaims=repair, **{"": repair})
        self.judge = Model(model="judge", JudgedReport=judge, **{"": judge})
        self.judge.probed = False

    def written(self, *, scope=JudgeScope.DOUBTFUL, journal=None, **more):
        by_role = {ModelRole.JUDGE: (self.judge,)} if self._judges else {}
        phase = SynthesisPhase(LLMSynthesizer(), judge=scope if self._judges else JudgeScope.OFF)
        fields = {"texts": TEXTS.values(), "by_role": by_role, "journal": journal}
        return self._work(phase, at_synthesis(**more), self.writer, **fields)

    @property
    def calls(self):
        return len(self.writer.calls) + len(self.judge.calls)


def test_a_model_is_asked_once_for_all_claims_that_fail_and_its_words_are_checked(work):
    models = Models(work)
    journal = models.written()
    assert units(journal) == ["report.drafted", "report.drafted", "report.written"]
    drafts = [event.draft for event in journal.events if event.name == "report.drafted"]
    assert [draft.repairs is None for draft in drafts] == [True, False]
    _, repair = models.writer.calls
    for line in (
        f"C1 (cites F1): {WRONG}. — the quotes do not have the date “1812”; there they have “1811”",
        "C2 (cites F2): The tower is 91 feet tall. — the quotes do not have the number “91”; there they have “90”",
        f"C3 (cites F3): {SOLD}. — the quotes do not name “Lisbon”",
        f"F1: {BUILT}\n  quote: “{BUILT}”",
    ):
        assert line in prompt(repair)
    assert body(journal).startswith(f"{IN_1811} [1]. {IN_95} [1]. [unsupported]")
    assert repairs(journal) == [
        ("reworded", f"{WRONG}.", f"{IN_1811}.", "scripted:model-1"),
        ("reworded", "The tower is 91 feet tall.", f"{IN_95}.", "scripted:model-1"),
        ("removed", f"{SOLD}.", "", "scripted:model-1"),
    ]
    assert EXPLAINED in journal.state.report


def test_a_true_sentence_is_kept_with_a_finding_that_carries_it(work):
    models = Models(work, said=f"{T} [F3]. {B} [F1].", repair=mended(C1=f"{T} [F2]."))
    journal = models.written()
    stands = "Its tower is 90 feet tall and stands on a reef of granite."
    assert stands in prompt(models.writer.calls[1])  # of a finding that it does not cite
    assert body(journal).startswith(f"{T} [1].")
    assert repairs(journal) == [("cited", TALL, TALL, "scripted:model-1")]


def test_where_no_claim_fails_or_the_phase_is_done_no_model_is_asked_again(work):
    models = Models(work, said=f"{B} [F1]. {T} [F2].")
    assert units(models.written()) == ["report.drafted", "report.written"]
    models.written(report="r", phase_done=True)
    assert models.calls == 1


PARTLY = {
    "says nothing of it": mended(),
    "cites nothing": mended(C1="It was built in 1811."),
    "cites what it was not given": mended(C1="It was built in 1811 [F9]."),
    "names another": mended(C9="It was built in 1811 [F1]."),
}


@pytest.mark.parametrize("repair", PARTLY.values(), ids=PARTLY)
def test_a_claim_that_the_model_gives_nothing_usable_for_is_repaired_by_code(work, repair):
    journal = Models(work, said=f"{WRONG} [F1]. {T} [F2].", repair=repair).written()
    assert body(journal) == f"{BUILT} [1] {T} [1]."
    assert repairs(journal) == [("reworded", f"{WRONG}.", BUILT, "code")]


@pytest.mark.parametrize("repair", ["I would rather not.", BROKEN], ids=["no answer of use", "an error"])
def test_where_the_model_fails_code_repairs_and_that_is_told_and_not_asked_again(work, repair):
    models = Models(work, repair=repair)
    journal = models.written()
    assert body(journal).startswith(f"{BUILT} [1] ")
    assert {by for *_, by in repairs(journal)} == {"code"}
    (told,) = notices(journal)
    assert told.startswith("Claims that nothing carried were repaired without a model: ")
    assert units(journal) == ["report.drafted", "report.drafted", "notice.added", "report.written"]
    # What was recorded before the report is enough to write the same without asking.
    again, calls = MemoryJournal(at_synthesis(), texts=TEXTS.values()), models.calls
    asyncio.run(again.record(*journal.events[: [e.name for e in journal.events].index("report.written")]))
    models.written(journal=again)
    assert models.calls == calls
    assert (again.state.report, notices(again)) == (journal.state.report, notices(journal))


def test_more_claims_than_a_request_has_room_for_are_bounded(work):
    sold = [f"{SOLD} number {n} [F3]." for n in range(100, 100 + MAX_CLAIMS_PER_REQUEST + 5)]
    models = Models(work, said=" ".join(sold), repair=mended())
    assert counts(models.written(), "marks") == (MAX_CLAIMS_PER_REQUEST + 5,)
    _, repair = models.writer.calls
    assert re.findall(r"\nC(\d+) ", prompt(repair))[-1] == str(MAX_CLAIMS_PER_REQUEST)


def test_every_difference_is_told_in_words():
    for aspect in Aspect:
        reasons = (Discrepancy(aspect=aspect, claimed="weekly", in_source=found) for found in ("", "daily"))
        bare, other = (_why(FailedClaim(claim_id="c", text="t", reasons=(reason,))) for reason in reasons)
        assert bare.startswith(("the quotes ", "it is more or less certain"))
        assert other.startswith(bare)
        assert aspect is Aspect.LANGUAGE or ("weekly" in bare and "daily" in other)


# The judge

JUDGED = f"{B} [F1]. {RAISED} [F1]. {WRONG} [F1]."


def judging(*verdicts):
    """An answer of the judge, with the given verdicts in the order of what it is asked."""
    told = [{"claim": f"C{n}", "verdict": each, "quotes": ["P1"]} for n, each in enumerate(verdicts, 1)]
    return {"verdicts": told}


def test_the_judge_sees_what_code_is_in_doubt_of_with_its_passages_and_all_where_it_is_to_see_all(work):
    models = Models(work, said=JUDGED, repair=mended(), judge=judging("supported"))
    assert units(models.written()) == ["report.drafted", "claims.judged", "report.drafted", "report.written"]
    (call,) = models.judge.calls
    assert re.findall(r"^C\d+ (.*)$", prompt(call), re.M) == [f"(Said): {RAISED}. — P1, P2"]
    assert f"P1 (The Orm Light): {BUILT}" in prompt(call)
    said = (
        f"{JUDGED}\n\n## Open questions\n\nWhat the Orm lighthouse cost to build."  # the log bears that out
    )
    models = Models(work, said=said, repair=mended(), judge=judging(*["supported"] * 3))
    models.written(scope=JudgeScope.ALL)
    assert len(re.findall(r"^C\d+ ", prompt(models.judge.calls[0]), re.M)) == 3


def test_the_verdict_of_the_judge_counts(work):
    judge = judging("contradicted", "supported", "supported")
    journal = Models(work, said=JUDGED, repair=mended(), judge=judge).written(scope=JudgeScope.ALL)
    assert verdicts(journal) == [("supported", False)] * 2  # the first is its source's own sentence
    assert [claim.code_verdict.value for claim in journal.state.claims] == ["supported", "partial"]
    assert {claim.judgement.model for claim in journal.state.claims} == {"scripted:judge"}
    assert counts(journal, "judged") == (2,)  # the third has another year than its quote, and went


SILENT = {
    "its failure": BROKEN,
    "no answer of use": "I would rather not.",
    "its silence": {"verdicts": []},
    "a claim that it was not asked about": {"verdicts": [{"claim": "C9", "verdict": "contradicted"}]},
}


@pytest.mark.parametrize("answer", SILENT.values(), ids=SILENT)
def test_a_judge_that_says_nothing_usable_is_no_word_against_a_claim(work, answer):
    said = f"{B} [F1]. Ada Brook built the Orm lighthouse in 1811 [F1]."
    journal = Models(work, said=said, judge=answer).written(scope=JudgeScope.ALL)
    assert journal.state.report == Models(work, said=said).written().state.report
    assert verdicts(journal) == [("supported", False), ("unchecked", False)]
    assert [claim.code_verdict.value for claim in journal.state.claims] == ["supported", "partial"]
    assert all(c.judgement.verdict is None and c.judgement.reason for c in journal.state.claims)
    assert counts(journal, "judged", "unasked", "unchecked", "supported") == (0, 2, 1, 1)


def test_a_cap_that_repair_or_judge_meets_leaves_it_to_code(work):
    cap = {"options": RunOptions(budget=Budget(max_model_calls=1))}
    journal = Models(work).written(**cap)
    assert {by for *_, by in repairs(journal)} == {"code"}
    (told,) = notices(journal)
    assert "max_model_calls" in told
    journal = Models(work, said=f"{B} [F1]. {T} [F2].", judge=judging("supported")).written(
        scope=JudgeScope.ALL, **cap
    )
    assert counts(journal, "unasked") == (2,)
    assert verdicts(journal) == [("supported", False)] * 2
    assert all("max_model_calls" in claim.judgement.reason for claim in journal.state.claims)


def test_what_was_judged_of_a_claim_with_another_reference_holds_no_more(work):
    repair = mended(C1=f"{B} [F1].")
    journal = Models(work, said=f"{B} [F3]. {W} [F3].", repair=repair, judge=judging("unsupported")).written()
    assert verdicts(journal) == [("supported", False)] * 2
    assert [kind for kind, *_ in repairs(journal)] == ["cited"]


UPON = "It was raised in 1811 upon granite by Ada Brook"


def test_new_words_are_judged_too_and_known_ones_not_again(work):
    said = f"{RAISED} [F1]. {WRONG} [F1]."
    models = Models(work, said=said, repair=mended(C1=f"{UPON} [F1]."), judge=judging("supported"))
    journal = models.written()
    asked = [re.findall(r"^C\d+ \(Said\): (.*?) — ", prompt(call), re.M) for call in models.judge.calls]
    assert asked == [[f"{RAISED}."], [f"{UPON}."]]
    assert units(journal).count("claims.judged") == 2


# The parts of the question

ASKED = ("Who built the Orm lighthouse?", "How tall is it?", "What did it cost?")
PARTS = tuple(QuestionPart(id=f"part-{n}", text=text) for n, text in enumerate(ASKED))
FOUND = (
    (AnswerStatus.ANSWERED, FINDINGS[:1]),
    (AnswerStatus.ANSWERED, FINDINGS[1:2]),
    (AnswerStatus.NOT_FOUND, ()),
)
OF_PARTS = tuple(
    PartVerdict(part_id=f"part-{n}", verdict=status, finding_ids=tuple(f.id for f in findings))
    for n, (status, findings) in enumerate(FOUND)
)
WHO, TALL_IT = (text.rstrip("?") for text in ASKED[:2])
TOLD = {
    "both that were found": (f"{B} {F1}. {T} {F2}.", [1, 1, 0], 0.6667, []),
    "one of them": (f"{B} {F1}.", [1, 0, 0], 0.3333, [TALL_IT]),
    "one without its reference": ("The Orm lighthouse was built by Ada Brook.", [1, 0, 0], 0.3333, [TALL_IT]),
    "one in words that nothing carries": (f"{SOLD} {F1}. {T} {F2}.", [0, 1, 0], 0.3333, [WHO]),
    "neither": (f"{W} {F3}.", [0, 0, 0], 0.0, [f"{WHO}; {TALL_IT}"]),
}


@pytest.mark.parametrize(("said", "claims", "coverage", "untold"), TOLD.values(), ids=TOLD)
def test_each_part_has_the_claims_that_tell_of_it_and_what_is_untold_is_told(said, claims, coverage, untold):
    journal = written(said, parts=PARTS, verdicts=OF_PARTS)
    known = {claim.id for claim in journal.state.claims}
    assert [len(verdict.claim_ids) for verdict in journal.state.verdicts] == claims
    assert known.issuperset(i for verdict in journal.state.verdicts for i in verdict.claim_ids)
    assert journal.state.report_metadata.coverage == coverage
    assert notices(journal) == [f"The report leaves out what was found of: {each}." for each in untold]
