"""A report is revised by the sections that change; of two versions the better is kept, and why stands in the log."""

import random
from dataclasses import replace

import pytest
from orm_light import BUILT, FINDINGS, ORM, ORM_TEXT, TALL, TEXTS, WHITE, finding, state
from phases.builders import SYNTHESIS, Model

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
    DeepResearchState,
    PartVerdict,
    QuestionPart,
    Remark,
    RemarkKind,
    RunOptions,
)
from deep_research.state.events import ReportCompared

NAMES = ("Built", "Height", "Paint", "Again", "Reef", "Colour", "Year", "Last")
SAID = (f"{BUILT[:-1]} [F1].", f"{TALL[:-1]} [F2].", f"{WHITE[:-1]} [F3].")
SECTIONS = {name: SAID[n % 3] for n, name in enumerate(NAMES)}
SOLD = "It was sold to a baker from Lisbon"
REEF = "The Orm tower stands on a reef of granite"
IDS = [each.id for each in FINDINGS]


def draft_of(sections):
    return "\n\n".join(["# The Orm", *(f"## {name}\n\n{said}" for name, said in sections.items())]) + "\n"


# The words of a draft


def test_what_code_puts_below_a_report_and_its_marks_are_no_part_of_what_is_revised():
    ours = "## Conflicting information\n\n| a |\n\n## Limits of this research\n\n- Little.\n"
    assert without_ours(f"# T\n\n## A\n\nIt is. [unsupported]\n\n{ours}") == "# T\n\n## A\n\nIt is.\n"
    assert is_revisable(draft_of(SECTIONS))
    assert not is_revisable("# T\n\n## Only one\n\nIt is.\n")


GIVEN = WriterMaterial(FINDINGS, Aliases("F", IDS), dict.fromkeys(IDS, ""), Room(9_000))
DRAFT = draft_of({"A": SAID[0], "B": SAID[1], "C": SAID[0]})
for number, known in enumerate(IDS, 1):
    DRAFT = DRAFT.replace(f"[F{number}]", f"[{known}]")
HIGH = "## B\n\nIt is high [F2]."
ANSWERS = {
    "one section": (HIGH, ["B"]),
    "its heading in another way": ("## **b**:\n\nIt is high [F2].", ["B"]),
    "the same words": (f"## A\n\n{SAID[0]}", []),
    "the whole report": (f"# The Orm\n\n## A\n\n{SAID[0]}\n\n{HIGH}\n\n## C\n\n{SAID[0]}", ["B"]),
    "a new section before the last": ("## D\n\nIt is white [F3].", ["D"]),
    "one that goes": ("## B\n", ["B"]),
    "all of them go": ("## A\n\n## B\n\n## C\n", []),
    "one that breaks off": (
        "## B\n\nIt is very high indeed [F2], and it stands on a reef of granite and the",
        [],
    ),
    "one without its references": ("## B\n\nIt is high.", []),
    "a new one without references": ("## D\n\nIt is white.", []),
    "a section of ours": ("## Limits of this research\n\nNone [F1].", []),
    "no section": ("Nothing has to change.", []),
    "in a fence": (f"```markdown\n{HIGH}\n```", ["B"]),
}


@pytest.mark.parametrize(("answer", "headings"), ANSWERS.values(), ids=ANSWERS)
def test_only_sections_that_can_be_used_take_the_place_of_others(answer, headings):
    made = revised(DRAFT, answer, GIVEN)
    assert list(made.headings) == headings
    old, new = (Document.read(text).sections for text in (DRAFT, made.text))
    held = {s.heading: s.markdown.strip() for s in new}
    assert all(held.get(s.heading) == s.markdown.strip() or s.heading in headings for s in old)
    order = [section.heading for section in new]
    assert "D" not in order or order == ["", "A", "B", "D", "C"]


def test_the_last_section_of_an_answer_that_was_cut_is_none():
    assert revised(DRAFT, f"## A\n\nIt is old [F1].\n\n{HIGH}", GIVEN, whole=False).headings == ("A",)


LAST_PASSES = {
    "said shorter": (HIGH, ["B"]),
    "what is said elsewhere goes": ("## C\n", ["C"]),
    "what is said nowhere else stays": ("## B\n", []),
    "nothing is added": ("## B\n\nIt is high [F2] and white [F3].", []),
    "no section is added": ("## D\n\nIt is old [F1].", []),
    "what the draft refers to, but does not say": (
        f"{HIGH[:-6]} [F2], and was sold to a baker from Lisbon [F2].",
        [],
    ),
    "a figure of its own": ("## B\n\nIt is 97 feet high [F2].", []),
    "a reference is not lost": ("## B\n\nIt is old [F1].", []),
}


@pytest.mark.parametrize(("answer", "headings"), LAST_PASSES.values(), ids=LAST_PASSES)
def test_a_last_pass_adds_and_loses_nothing(answer, headings):
    assert list(revised(DRAFT, answer, GIVEN, adding=False).headings) == headings


def test_findings_that_became_part_of_others_are_carried_over():
    joined = FINDINGS[1].model_copy(update={"quotes": (*FINDINGS[0].quotes, *FINDINGS[1].quotes)})
    citations = (Citation(number=1, finding_id=each.id, **each.quotes[0].model_dump()) for each in FINDINGS)
    one, two, three = IDS
    draft = f"A [{one}]. B [{two}, {one}]. C [{three}]. D [{three}, {two}]. E [src-000000000001]."
    at = DeepResearchState(query="Orm", report_draft=draft, citations=tuple(citations), findings=(joined,))
    assert carried_over(at) == f"A [{two}]. B [{two}]. C. D [{two}]. E [src-000000000001]."
    assert carried_over(at.model_copy(update={"findings": FINDINGS})) == draft


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
    kept = [
        better(VERSION, below, 300, 0.9)[0],
        better(below, VERSION, 300, 0.9)[0],
        better(VERSION, below, 300)[0],
    ]
    assert kept == [False, True, True]


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


# A phase with a model

REMARK = Remark(kind=RemarkKind.UNCLEAR, heading="Reef", sentence=TALL, advice="Say on what it stands.")
AGAIN = {"phase_done": False, "refined": 1, "remarks": (REMARK,)}


class Writes:
    """A model that writes a report, and to whoever asks for a revision says ``again``; it repairs nothing."""

    def __init__(self, work, again):
        self._work = work
        repairs = {"claims": []}
        self.model = Model(report=draft_of(SECTIONS), revision=again, RewordedClaims=repairs, **{"": repairs})

    def written(self, at, journal=None):
        phase = SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF)
        return self._work(phase, at, self.model, texts=TEXTS.values(), journal=journal)

    def first(self, **more):
        return self.written(state(phase=SYNTHESIS, options=RunOptions(report_words=100), **more)).state

    def revised(self, **more):
        """The report is written, looked at, and revised."""
        earlier = self.first(**more)
        return earlier, self.written(earlier.model_copy(update=AGAIN))


def compared(journal):
    (event,) = [event for event in journal.events if isinstance(event, ReportCompared)]
    return event


def test_of_eight_sections_the_one_that_changes_is_given_and_seven_stay_byte_for_byte(work):
    earlier, journal = Writes(work, f"## Reef\n\n{REEF} [F2].").revised()
    old, new = (Document.read(unmarked(each.report_draft)).sections for each in (earlier, journal.state))
    assert [one.heading for one, other in zip(old, new, strict=True) if one != other] == ["Reef"]
    assert len(old) == 9
    assert REEF in journal.state.report
    assert compared(journal).replaces_earlier
    drafts = [event.draft for event in journal.events if event.name == "report.drafted"]
    assert drafts[0].revised == ("Reef",)


def test_the_writer_sees_the_last_draft_the_critique_and_what_is_new(work):
    new = finding(4, REEF, ORM, ORM_TEXT, "stands on a reef of granite")
    writes = Writes(work, f"## Reef\n\n{REEF} [F3].")
    earlier = writes.first()
    failing = earlier.claims[0].model_copy(update={"is_marked": True, "text": "It was paid in gold."})
    known = {"findings": (*FINDINGS, new), "claims": (failing, *earlier.claims[1:])}
    writes.written(
        earlier.model_copy(update={**AGAIN, "report_improvements": ("Begin with the year.",), **known})
    )
    (said,) = writes.model.prompts("revision")
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


ASKED = ("Who built it?", "How tall is it?")
PARTS = tuple(QuestionPart(id=f"part-{n}", text=text) for n, text in enumerate(ASKED))
OF_PARTS = tuple(
    PartVerdict(part_id=f"part-{n}", verdict=AnswerStatus.ANSWERED, finding_ids=(IDS[n],)) for n in range(2)
)


@pytest.mark.parametrize("seed", range(20))
def test_a_worse_second_version_is_not_taken(work, seed):
    """A part less, or a claim more that nothing carries, in a section that chance chooses."""
    name = random.Random(seed).choice(NAMES)
    again = f"## {name}\n\n{SECTIONS[name]} {SOLD} number {seed} [F3]."
    if seed % 2:  # nobody is told who built it
        built = [name for name, said in SECTIONS.items() if "[F1]" in said]
        again = "\n\n".join(f"## {name}\n\n{SAID[2]}" for name in built)
    earlier, journal = Writes(work, again).revised(parts=PARTS, verdicts=OF_PARTS)
    assert not compared(journal).replaces_earlier
    assert compared(journal).because
    assert journal.state.report == earlier.report
    assert journal.state.phase_done
    assert [claim.text for claim in journal.state.claims] == [claim.text for claim in earlier.claims]


PARK = failure(Verdict.PARK, "come back later", model="m", retry_after=3_600.0)
NONE = {
    "no answer": "I would rather not.",
    "a wait": PARK,
    "an error": failure(Verdict.MALFORMED, "it broke", model="m"),
}


@pytest.mark.parametrize("again", NONE.values(), ids=NONE)
def test_where_no_revision_can_be_had_the_report_stays_and_nobody_waits(work, again):
    earlier, journal = Writes(work, again).revised()
    assert journal.state.report == earlier.report
    assert journal.state.phase_done
    assert [event.name for event in journal.events].count("report.compared") == 1


def test_a_report_that_another_agent_wrote_is_written_anew(work):
    writes = Writes(work, "## Reef\n\nIt is [F1].")
    earlier = writes.first()
    by_code = earlier.report_metadata.model_copy(update={"writer": "extractive synthesizer"})
    writes.written(earlier.model_copy(update={"phase_done": False, "report_metadata": by_code}))
    assert [call.label for call in writes.model.calls if call.label] == ["report", "report"]
