"""A report is revised by the sections that change; of two versions the better is kept, and why stands in the log."""

import asyncio
import random
from dataclasses import replace

import pytest
from orm_light import BUILT, FINDINGS, ORM, ORM_TEXT, TALL, TEXTS, WHITE, finding, state

from deep_research.models.failures import Verdict, failure
from deep_research.phases.prompting import Aliases, Room
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.phases.synthesis.revision import (
    Version,
    better,
    carried_over,
    is_revisable,
    revised,
    revision_words,
    without_ours,
)
from deep_research.phases.synthesis.writer_material import WriterMaterial
from deep_research.report.references import unmarked
from deep_research.report.report_document import Document
from deep_research.state import (
    AnswerStatus,
    Citation,
    DeepResearchPhase,
    DeepResearchState,
    PartVerdict,
    QuestionPart,
    Remark,
    RemarkKind,
    RunOptions,
)
from deep_research.state.events import ReportCompared
from deep_research.state.journal import MemoryJournal
from deep_research.testing.models import ScriptedProvider

NAMES = ("Built", "Height", "Paint", "Again", "Reef", "Colour", "Year", "Last")
SAID = (f"{BUILT[:-1]} [F1].", f"{TALL[:-1]} [F2].", f"{WHITE[:-1]} [F3].")
SECTIONS = {name: SAID[n % 3] for n, name in enumerate(NAMES)}
SOLD = "It was sold to a baker from Lisbon"
REEF = "The Orm tower stands on a reef of granite"
REMARKS = (Remark(kind=RemarkKind.UNCLEAR, heading="Reef", sentence=TALL, advice="Say on what it stands."),)


def draft_of(sections):
    return "\n\n".join(["# The Orm", *(f"## {name}\n\n{said}" for name, said in sections.items())]) + "\n"


class Writes:
    """A model that writes ``first``, and to whoever asks for a revision says ``again``; it repairs nothing."""

    def __init__(self, work, again, first=None):
        self._work, self._again = work, again
        self._first = first or draft_of(SECTIONS)
        self.asked = []

    def _answer(self, call):
        self.asked.append(call)
        if call.label == "report":
            return self._first
        return self._again if call.label == "revision" else {"claims": []}

    def written(self, at, journal=None):
        phase = SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF)
        return self._work(phase, at, ScriptedProvider(self._answer), texts=TEXTS.values(), journal=journal)

    def first(self, **more):
        at = state(phase=DeepResearchPhase.SYNTHESIS, options=RunOptions(report_words=100), **more)
        return self.written(at)

    def revised(self, **more):
        """The report is written, looked at, and revised."""
        earlier = self.first(**more).state
        looked_at = earlier.model_copy(update={"phase_done": False, "refined": 1, "remarks": REMARKS})
        return earlier, self.written(looked_at)


def compared(journal):
    (event,) = [event for event in journal.events if isinstance(event, ReportCompared)]
    return event


# The words of a draft


def test_what_code_puts_below_a_report_and_its_marks_are_no_part_of_what_is_revised():
    ours = "## Conflicting information\n\n| a |\n\n## Limits of this research\n\n- Little.\n"
    assert without_ours(f"# T\n\n## A\n\nIt is. [unsupported]\n\n{ours}") == "# T\n\n## A\n\nIt is.\n"
    assert is_revisable(draft_of(SECTIONS))
    assert not is_revisable("# T\n\n## Only one\n\nIt is.\n")


def given():
    ids = [each.id for each in FINDINGS]
    return WriterMaterial(FINDINGS, Aliases("F", ids), dict.fromkeys(ids, ""), Room(9_000))


DRAFT = draft_of({"A": SAID[0], "B": SAID[1], "C": SAID[0]})
for number, known in enumerate(FINDINGS, 1):
    DRAFT = DRAFT.replace(f"[F{number}]", f"[{known.id}]")
ANSWERS = {
    "one section": ("## B\n\nIt is high [F2].", ["B"]),
    "its heading in another way": ("## **b**:\n\nIt is high [F2].", ["B"]),
    "the same words": (f"## A\n\n{SAID[0]}", []),
    "the whole report": (f"# The Orm\n\n## A\n\n{SAID[0]}\n\n## B\n\nIt is high [F2].\n\n## C\n\n{SAID[0]}", ["B"]),
    "a new section before the last": ("## D\n\nIt is white [F3].", ["D"]),
    "one that goes": ("## B\n", ["B"]),
    "all of them go": ("## A\n\n## B\n\n## C\n", []),
    "one that breaks off": ("## B\n\nIt is very high indeed [F2], and it stands on a reef of granite and the", []),
    "one without its references": ("## B\n\nIt is high.", []),
    "a new one without references": ("## D\n\nIt is white.", []),
    "a section of ours": ("## Limits of this research\n\nNone [F1].", []),
    "no section": ("Nothing has to change.", []),
    "in a fence": ("```markdown\n## B\n\nIt is high [F2].\n```", ["B"]),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "headings"), ANSWERS.values(), ids=ANSWERS)
def test_only_sections_that_can_be_used_take_the_place_of_others(answer, headings):
    made = revised(DRAFT, answer, given())
    assert list(made.headings) == headings
    old, new = (
        {s.heading.casefold(): s.markdown.strip() for s in Document.read(text).sections}
        for text in (DRAFT, made.text)
    )
    for key, text in old.items():
        assert new.get(key) == text or key.upper() in headings
    order = [section.heading for section in Document.read(made.text).sections]
    assert "D" not in order or order == ["", "A", "B", "D", "C"]


def test_the_last_section_of_an_answer_that_was_cut_is_none():
    answer = "## A\n\nIt is old [F1].\n\n## B\n\nIt is high [F2]."
    assert revised(DRAFT, answer, given(), whole=False).headings == ("A",)


LAST_PASSES = {
    "said shorter": ("## B\n\nIt is high [F2].", ["B"]),
    "what is said elsewhere goes": ("## C\n", ["C"]),
    "what is said nowhere else stays": ("## B\n", []),
    "nothing is added": ("## B\n\nIt is high [F2] and white [F3].", []),
    "no section is added": ("## D\n\nIt is old [F1].", []),
    "what the draft refers to, but does not say": (
        "## B\n\nIt is high [F2], and was sold to a baker from Lisbon [F2].",
        [],
    ),
    "a figure of its own": ("## B\n\nIt is 97 feet high [F2].", []),
    "a reference is not lost": ("## B\n\nIt is old [F1].", []),
}


@pytest.mark.parametrize(("answer", "headings"), LAST_PASSES.values(), ids=LAST_PASSES)
def test_a_last_pass_adds_and_loses_nothing(answer, headings):
    assert list(revised(DRAFT, answer, given(), adding=False).headings) == headings


def test_findings_that_became_part_of_others_are_carried_over():
    joined = FINDINGS[1].model_copy(update={"quotes": (*FINDINGS[0].quotes, *FINDINGS[1].quotes)})
    citations = [Citation(number=1, finding_id=each.id, **each.quotes[0].model_dump()) for each in FINDINGS]
    one, two, three = (each.id for each in FINDINGS)
    draft = f"A [{one}]. B [{two}, {one}]. C [{three}]. D [{three}, {two}]. E [src-000000000001]."
    state = DeepResearchState(query="Orm", report_draft=draft, citations=tuple(citations), findings=(joined,))
    carried = carried_over(state)
    assert carried == f"A [{two}]. B [{two}]. C. D [{two}]. E [src-000000000001]."
    assert carried_over(state.model_copy(update={"findings": FINDINGS})) == draft


# Which of two versions is better

VERSION = Version(parts=2, standing=10, failing=1, conflicts=1, words=300)
BETTER = {
    "nothing is another": ({}, True),
    "a part more": ({"parts": 3, "failing": 4}, True),
    "a part less": ({"parts": 1, "standing": 20, "failing": 0}, False),
    "a claim more that nothing carries": ({"failing": 2}, False),
    "many more that are supported with it": ({"failing": 2, "standing": 16}, True),
    "one less that nothing carries": ({"failing": 0, "standing": 9}, True),
    "much less is said for it": ({"failing": 0, "standing": 5, "words": 140}, False),
    "a contradiction is hidden": ({"conflicts": 0}, False),
    "a contradiction is shown": ({"conflicts": 2, "standing": 9}, True),
    "fewer that are supported, and a lesser share": ({"standing": 9, "share": 0.8}, False),
    "fewer that are supported, of as large a share": ({"standing": 9}, True),
    "far too long": ({"words": 800}, False),
    "far too short": ({"words": 100, "standing": 4}, False),
}


@pytest.mark.parametrize(("changes", "kept"), BETTER.values(), ids=BETTER)
def test_the_better_of_two_versions_is_kept(changes, kept):
    found, because = better(VERSION, replace(VERSION, **changes), 300)
    assert found is kept
    assert because


def test_the_share_that_its_owner_asks_for_comes_first():
    below = replace(VERSION, share=0.7, parts=3)
    assert better(VERSION, below, 300, 0.9)[0] is False
    assert better(below, VERSION, 300, 0.9)[0] is True
    assert better(VERSION, below, 300)[0] is True


# A phase with a model


def test_of_eight_sections_the_one_that_changes_is_given_and_seven_stay_byte_for_byte(work):
    models = Writes(work, f"## Reef\n\n{REEF} [F2].")
    earlier, journal = models.revised()
    old, new = (Document.read(unmarked(each.report_draft)).sections for each in (earlier, journal.state))
    changed = [one.heading for one, other in zip(old, new, strict=True) if one != other]
    assert changed == ["Reef"]
    assert len(old) == 9
    assert REEF in journal.state.report
    assert compared(journal).replaces_earlier
    drafts = [event.draft for event in journal.events if event.name == "report.drafted"]
    assert drafts[0].revised == ("Reef",)


def test_the_writer_sees_the_last_draft_the_critique_and_what_is_new(work):
    new = finding(4, REEF, ORM, ORM_TEXT, "stands on a reef of granite")
    models = Writes(work, f"## Reef\n\n{REEF} [F3].")
    earlier = models.first().state
    failing = earlier.claims[0].model_copy(update={"is_marked": True, "text": "It was paid in gold."})
    looked_at = earlier.model_copy(
        update={
            "phase_done": False,
            "refined": 1,
            "remarks": REMARKS,
            "report_improvements": ("Begin with the year.",),
            "findings": (*FINDINGS, new),
            "claims": (failing, *earlier.claims[1:]),
        }
    )
    models.written(looked_at)
    (call,) = [call for call in models.asked if call.label == "revision"]
    said = call.messages[-1].content
    for line in (
        f"## Reef\n\n{TALL[:-1]} [F2].",
        f"unclear: under “Reef”, “{TALL}”: Say on what it stands.",
        "Begin with the year.",
        "“It was paid in gold.”",
        "Findings that it does not use yet: F3.",
        "S1: “The Orm Light”, ok.example, 2019-03-01\n"
        "  has: “# The Orm Light The Orm lighthouse was built in 1811 by Ada Brook. Its tower is 90 feet tall",
    ):
        assert line in said
    assert "[find-" not in said
    assert said.count("The lamp burned whale oil") == 1  # what stands around several quotes is told once


PARTS = (QuestionPart(id="part-1", text="Who built it?"), QuestionPart(id="part-2", text="How tall is it?"))
OF_PARTS = tuple(
    PartVerdict(part_id=part.id, verdict=AnswerStatus.ANSWERED, finding_ids=(FINDINGS[n].id,))
    for n, part in enumerate(PARTS)
)


@pytest.mark.parametrize("seed", range(20))
def test_a_worse_second_version_is_not_taken(work, seed):
    """A part less, or a claim more that nothing carries, in sections that chance chooses."""
    chance = random.Random(seed)
    if seed % 2:
        told = {name: said for name, said in SECTIONS.items() if "[F1]" in said}
        again = "\n\n".join(
            f"## {name}\n\n{WHITE[:-1]} [F3]." for name in told
        )  # nobody is told who built it
    else:
        name = chance.choice(NAMES)
        again = f"## {name}\n\n{SECTIONS[name]} {SOLD} number {seed} [F3]."
    models = Writes(work, again)
    earlier, journal = models.revised(parts=PARTS, verdicts=OF_PARTS)
    assert not compared(journal).replaces_earlier
    assert compared(journal).because
    assert journal.state.report == earlier.report
    assert journal.state.phase_done
    assert [claim.text for claim in journal.state.claims] == [claim.text for claim in earlier.claims]


def test_where_no_revision_can_be_had_the_report_stays_and_nobody_waits(work):
    for again in (
        "I would rather not.",
        failure(Verdict.PARK, "come back later", model="m", retry_after=3_600.0),
        failure(Verdict.MALFORMED, "it broke", model="m"),
    ):
        models = Writes(work, again)
        earlier, journal = models.revised()
        assert journal.state.report == earlier.report
        assert journal.state.phase_done
        assert [event.name for event in journal.events].count("report.compared") == 1


def test_a_revision_that_was_interrupted_after_any_event_comes_out_the_same_and_no_call_is_made_twice(work):
    again = f"## Reef\n\n{REEF} [F2]. {SOLD} [F3]."
    _, whole = Writes(work, again).revised()
    recorded = list(whole.events)
    for place in range(1, len(recorded)):
        models = Writes(work, again)
        earlier = models.first().state
        asked = len(models.asked)
        at = earlier.model_copy(update={"phase_done": False, "refined": 1, "remarks": REMARKS})
        left = MemoryJournal(at, texts=TEXTS.values())
        asyncio.run(left.record(*recorded[:place]))
        models.written(at, journal=left)
        assert left.state.report == whole.state.report, place
        paid = sum(event.name == "model.settled" for event in recorded[:place])
        lost = recorded[place - 1].name == "model.settled"
        assert len(models.asked) - asked == 2 - paid + lost, place


def test_a_report_that_another_agent_wrote_is_written_anew(work):
    models = Writes(work, "## Reef\n\nIt is [F1].")
    earlier = models.first().state
    by_code = earlier.report_metadata.model_copy(update={"writer": "extractive synthesizer"})
    models.written(earlier.model_copy(update={"phase_done": False, "report_metadata": by_code}))
    assert [call.label for call in models.asked if call.label] == ["report", "report"]


LENGTHS = {
    "nothing is new": (800, 400, 0, 800),
    "there is room within what is wanted": (800, 450, 14, 800),
    "the report is as long as is wanted": (800, 800, 14, 1_150),
    "up to half as much more": (800, 1_000, 30, 1_200),
    "a short one may be longer": (100, 100, 1, 125),
}


@pytest.mark.parametrize(("wanted", "words", "new", "length"), LENGTHS.values(), ids=LENGTHS)
def test_a_revision_may_be_longer_by_what_is_new(wanted, words, new, length):
    assert revision_words(wanted, "word " * words, new) == length
