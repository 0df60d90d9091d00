"""The synthesizer that thinks with a model: which drafts are refused, what is taken out of them, and long reports."""

import asyncio
import re

import pytest
from phases.builders import SYNTHESIS, finding, fits, handoff, prompt, source

from deep_research.budget.content_budget import ContentRules
from deep_research.errors import ModelError, WindowError
from deep_research.models.base import Reply, StopReason, TokenUsage
from deep_research.models.failures import TOO_LONG, Verdict, failure
from deep_research.models.profiles import Profile
from deep_research.phases.prompting import Aliases
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.phases.synthesis.model_drafts import ModelDraft, body_of, is_cut, with_ids
from deep_research.phases.synthesis.phase import SynthesisPhase
from deep_research.phases.synthesis.sections import Frame, Outline, most_sections
from deep_research.state import ConfidenceLevel, DeepResearchState, Notice, Quote
from deep_research.state.events import Written
from deep_research.testing.models import ScriptedModel, ScriptedProvider

QUESTION = "What is known of the towers?"
GOOD = """# Towers of the reef

## Answer

The first tower was built by its keeper [F1], and it stands on granite to this day [F2].

## What remains open

What it cost is not known to anybody who has written of it."""
SMALL = Profile(context=8_192, output=4_096)


def fact(n, level=ConfidenceLevel.MEDIUM, words=8):
    content = f"Fact number {n} of the tower {'and of the sea ' * (words // 4)}is written down."
    quote = Quote(source_id=f"src-{n:012x}", quote=f"quote {n}", start=0, end=7, content_hash="h")
    return finding(n, content, confidence=level, quotes=(quote,))


FINDINGS = tuple(map(fact, range(1, 7)))
MANY = tuple(fact(n, ConfidenceLevel.HIGH if n > 55 else ConfidenceLevel.LOW, 120) for n in range(1, 61))
NAMES = Aliases("F", [f.id for f in FINDINGS])


def written(answers, *, rules=None, profile=None, **more):
    """What is written, and the requests with the forms that were wanted."""
    model = ScriptedModel(answers, profile=profile)
    fields = {"original_query": QUESTION, "findings": FINDINGS, "words": 300, **more}
    output = asyncio.run(LLMSynthesizer(rules or ContentRules())(handoff(SynthesizerInput, **fields), model))
    return output, model.calls


def prompts(calls):
    return [prompt(call) for call, _ in calls]


def test_names_become_ids_those_that_were_not_given_go_and_the_engine_tells_its_own_limits():
    limit = Notice(name="agent", message="The planner could not do its work.")
    output, _ = written([GOOD.replace("[F2]", "[F2, F40] [F77]")], notices=(limit,))
    assert f"keeper [{FINDINGS[0].id}], and" in output.report
    assert "F40" not in output.report
    assert "F77" not in output.report
    assert output.unknown == 2
    assert output.report.startswith("# Towers of the reef\n")
    assert output.report.endswith("## Limits of this research\n\n- The planner could not do its work.\n")


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("So [F1].", 1),
        ("So [F1][F2].", 2),
        ("So [f1; F2 , F3].", 3),
        ("So [F1-F3].", 3),
        ("So [F1 and F2].", 2),
        ("So [**F1**].", 1),
        ("So 【F2】.", 1),
        ("So [Findings F1 & F2].", 2),
        ("So (F1, F2).", 2),
        ("So [F1], of Formula One (F1).", 1),
        ("So [F1], and so (F2).", 2),
        ("So [Finding 2] and [finding 1, F3].", 3),
        ("So (finding 2).", 1),
        ("So.", 0),
    ],
)
def test_references_are_read_as_they_are_written(said, count):
    text, found = with_ids(said, NAMES, "(medium): Formula One (F1) is a sport.")
    assert found == count == text.count("find-")
    assert ("(F1)" in text) is ("Formula" in said)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("It is so [F1].", f"It is so [{FINDINGS[0].id}]."),
        ("It is so [3].", "It is so."),
        ("It is so. [1, 2] Then", "It is so. Then"),
        ("It is so [S2][^1].", "It is so."),
        ("It is so [F9].", "It is so."),
        ("of the interval [0, 1] and", "of the interval [0, 1] and"),
        ("the list `x[1]` and `y [2]` of", "the list `x[1]` and `y [2]` of"),
        ("a [1](http://evil.example)", "a [1](http://evil.example)"),  # rendering takes the link out
        ("```\nx = [1]\n```\nSo [1].", "```\nx = [1]\n```\nSo."),
    ],
)
def test_numbers_that_look_like_references_go(body, after):
    assert with_ids(body, Aliases("F", [FINDINGS[0].id]))[0] == after


ONCE_MORE = {
    "empty": " ",
    "as good as empty": "# T\n\n## A\n\nShort [F1].",
    "none of the findings": GOOD.replace("[F1]", "").replace("[F2]", "[F99]"),
    "no sections": GOOD.replace("## Answer", "").replace("## What remains open", ""),
    "breaks": GOOD.removesuffix("to anybody who has written of it.")
    + "to anybody who has ever written of the",
}


@pytest.mark.parametrize("problem", ONCE_MORE)
def test_a_draft_that_is_none_is_asked_for_once_more_and_then_refused(problem):
    output, calls = written([ONCE_MORE[problem], GOOD])
    assert "Towers of the reef" in output.report
    assert problem.rpartition("as ")[2] in prompts(calls)[1]
    with pytest.raises(ModelError) as refused:
        written([ONCE_MORE[problem]])
    assert refused.value.verdict == Verdict.MALFORMED
    with pytest.raises(ModelError):  # without findings nobody is asked
        written(lambda call, wanted: pytest.fail("it is asked"), findings=())


def in_a_phase(work, answer, profile=SMALL):
    sources = tuple(source(n, sub_query_id="") for n in range(1, 7))
    at = DeepResearchState(query=QUESTION, phase=SYNTHESIS, findings=FINDINGS, sources=sources)
    return work(
        SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF),
        at,
        ScriptedProvider([answer]),
        profile=profile,
    )


def test_a_draft_that_the_wire_or_its_cap_cut_is_refused_too(work):
    cut = Reply(text=GOOD, stop=StopReason.INCOMPLETE, usage=TokenUsage(input=1, output=1))
    with pytest.raises(ModelError):
        in_a_phase(work, cut, Profile(context=200_000, output=4_000))


def test_an_answer_is_told_to_watchers_piece_by_piece_and_unknown_references_are_in_the_metadata(work):
    draft = GOOD.replace("[F2]", "[F2, F40]")
    journal = in_a_phase(work, draft)
    pieces = [note for note in journal.notes if isinstance(note, Written)]
    assert {note.label for note in pieces} == {"report"}
    assert len(pieces) > 1
    assert "".join(note.text for note in pieces) == draft
    assert journal.state.report_metadata.citations_count == 2
    assert journal.state.report_metadata.removed_references == 1


MIDDLE = GOOD.replace("## What remains", "## Sources\n\n- [1] A page\n\n## What remains")


@pytest.mark.parametrize(
    ("draft", "kept"),
    [
        (f"```markdown\n{GOOD}\n```", "# Towers"),
        (f"Here is your report:\n\n{GOOD}", "# Towers"),
        (f"Sure!\n\n```\n{GOOD}\n```", "# Towers"),
        (f"<think>I should not write\n# this\n</think>\n{GOOD}", "# Towers"),
        (f"{GOOD}\n\n## References\n\n1. https://evil.example\n2. Mine", "not known"),
        (f"{GOOD}\n\n## Quellen\n\n- Eine", "not known"),
        (f"{GOOD}\n\n**Sources:**\n\n- One", "not known"),
        (MIDDLE, "What it cost is not known"),
    ],
)
def test_what_does_not_belong_to_a_report_is_taken_out(draft, kept):
    draft = ModelDraft.of(draft, QUESTION, NAMES)
    assert draft.problem == ""
    assert draft.text.startswith("# Towers of the reef\n")
    for gone in ("```", "think", "Here is", "Sure", "evil", "Mine", "Eine", "Sources", "- One", "A page"):
        assert gone not in draft.text
    assert kept in draft.text
    assert body_of(f"Text.\n<<{'a1' * 8} source S1>>\nMore.") == "Text.\nMore."  # a mark of ours


def test_there_is_one_title_and_without_one_it_is_the_question():
    code = GOOD.replace("What it cost", "```\n# a comment\n```\nWhat it cost")
    drafts = GOOD.replace("## What", "# What"), GOOD.partition("\n")[2], code
    two, none, code = (ModelDraft.of(draft, QUESTION, NAMES).text for draft in drafts)
    assert re.findall(r"^# .*", two, re.M) == ["# Towers of the reef"]
    assert none.startswith(f"# {QUESTION}\n")
    assert "\n# a comment" in code


STORM = "The tower was built in the year of the storm"
SAID = "One thing is so. Another is not.\n\n"
CUT = [
    f"{STORM} and",
    f"{STORM},  ",
    f"{SAID}The light",
    f"{SAID}## What remains",
    f"{SAID}- One.\n- Two.\n- thr",
]
ENDS = [
    *(f"{STORM}.", f"{STORM} [find-1]", "灯台は一八一一年に建てられました。そして今もそこに立っています" * 3),
    *("- a list item of which nobody knows whether it ends here or", "The tower was built in the year 1811"),
    *(f"{SAID}It ends.", f"{SAID}It ends [F1]", f"{SAID}| a | b", f"{SAID}- one\n- two", "eins\n\nzwei", ""),
    "这里没有结束\n\n也没有",
]


def test_a_text_that_breaks_off_is_known_by_its_end_and_by_how_its_other_lines_end():
    assert [text for text in CUT if not is_cut(text)] == []
    assert [text for text in ENDS if is_cut(text)] == []


# Where there is no room


def test_where_there_is_no_room_something_of_each_finding_is_told_and_the_surest_whole():
    output, ((call, _),) = written([GOOD], findings=MANY, profile=SMALL)
    assert MANY[-1].content in prompt(call)
    assert MANY[39].content not in prompt(call)
    assert all(f"F{n} (" in prompt(call) for n in range(1, 61))
    assert output.notes[-1] == "Findings were shortened before the report was written, for want of room."
    assert output.notes[-1] in output.report
    assert fits(call, 8_192)
    surest, other = ({i.id: i for i in output.context_usage.items}[MANY[n].id] for n in (-1, 39))
    assert surest.current_tokens == surest.original_tokens
    assert 0 < other.current_tokens < other.original_tokens


def test_where_nothing_is_managed_what_does_not_fit_is_refused():
    def refused(call, wanted):
        assert all(f.content in prompt(call) for f in MANY)
        return WindowError("A prompt does not fit.")

    with pytest.raises(WindowError):
        written(refused, findings=MANY, profile=SMALL, rules=ContentRules(enabled=False))


def test_a_prompt_that_the_model_finds_too_long_is_halved_once():
    error = failure(Verdict.FATAL, "too long", model="m", hint=TOO_LONG)
    output, calls = written([error, GOOD], findings=tuple(fact(n, words=40) for n in range(1, 41)))
    first, second = prompts(calls)
    assert len(second) < 0.6 * len(first)
    assert "for want of room" in output.report


# Long reports

OUTLINE = {
    "title": "All of the towers",
    "sections": [
        {"heading": "How they were built", "purpose": "The work.", "findings": ["F1", "F2"]},
        {"heading": "Their lights", "purpose": "Lamps.", "findings": ["F2", "F3", "F4"]},
        {"heading": "their lights", "purpose": "Again.", "findings": ["F5"]},
        {"heading": "Nothing", "purpose": "Empty.", "findings": ["F90"]},
    ],
}
FRAME = {
    "answer": "They were built by keepers [F1].",
    "open": "What they cost.",
    "open_heading": "Their lights",
}


def part(call, wanted):
    """What a model answers to the calls of a long report."""
    if wanted is not None:
        return OUTLINE if wanted is Outline else FRAME
    if call.label == "last pass":
        return "Nothing has to change."
    names = re.findall(r"^(F\d+) \(", prompt(call), re.M)
    return "\n\n".join(
        ["## How they were built", *(f"What is known of {n} is this and no more [{n}]." for n in names)]
    )


def test_a_long_report_is_an_outline_and_its_sections_side_by_side():
    running = most = 0

    async def answer(call, wanted):
        nonlocal running, most
        is_section = wanted is None and call.label != "last pass"
        running += is_section
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= is_section
        return part(call, wanted)

    output, calls = written(answer, words=3_000, guidance=("Begin with the oldest.",))
    assert most == 2
    assert [wanted for _, wanted in calls] == [Outline, None, None, Frame, None]
    headings = [
        "# All of the towers",
        "## Summary",
        "## How they were built",
        "## Their lights",
        "## What remains open",
    ]
    assert re.findall(r"^#+ .*", output.report, re.M) == headings
    # The sixth is left out by the outline, the first stands in the answer too, the second serves two sections.
    assert [output.report.count(known.id) for known in FINDINGS] == [2, 2, 1, 1, 1, 0]
    assert output.unknown == 1
    # A section knows the others and only its own findings.
    assert [call.label for call, _ in calls[1:3]] == ["How they were built", "Their lights"]
    first, second = prompts(calls)[1:3]
    for text in (first, second):
        assert "- How they were built: The work.\n- Their lights: Lamps." in text
        assert "Begin with the oldest." in text
        assert "Nothing" not in text
        assert "Fact number 2 " in text
    assert "Fact number 1 " not in second
    assert "first, and before “Their lights”" in first


@pytest.mark.parametrize(
    "bad", ["No reference stands in this one.", "It breaks off in the middle of a [F3] sentence that"]
)
def test_a_section_that_is_none_is_asked_for_once_more_and_then_the_report_is_refused(bad):
    asked = []

    def badly(times):
        def answer(call, wanted):
            lights = wanted is None and "Their lights” alone" in prompt(call)
            asked.extend([call] * lights)
            return bad if lights and len(asked) <= times else part(call, wanted)

        return answer

    output, _ = written(badly(1), words=3_000)
    assert len(asked) == 2
    assert "## Their lights" in output.report
    with pytest.raises(ModelError, match="Their lights"):
        written(badly(99), words=3_000)


def test_a_long_report_has_as_many_sections_as_the_budget_pays_for():
    sections = [{"heading": f"Part {n}", "purpose": "Work.", "findings": [f"F{n}"]} for n in range(1, 6)]
    outline = {**OUTLINE, "sections": sections}
    answer = {Outline: lambda *_: outline}
    output, calls = written(lambda *asked: answer.get(asked[1], part)(*asked), words=3_000, requests=6)
    assert "in 3 sections at most" in prompts(calls)[0]
    assert [wanted for _, wanted in calls] == [Outline, None, None, None, Frame, None]
    assert all(
        known.id in output.report for known in FINDINGS[:5]
    )  # what is planned further stands in the last


@pytest.mark.parametrize(
    ("requests", "most"), [(3, 1), (4, 2), (5, 2), (6, 3), (13, 10), (99, 10), (None, 10)]
)
def test_a_request_is_kept_for_a_part_that_has_to_be_asked_for_again(requests, most):
    assert most_sections(requests) == most


@pytest.mark.parametrize(
    ("more", "told"),
    [
        *(({"words": 3_000, "requests": requests}, True) for requests in (0, 1, 3)),
        ({"words": 8_000, "findings": FINDINGS[:4]}, False),
    ],
)
def test_where_budget_or_findings_make_no_sections_a_shorter_report_is_written_at_once(more, told):
    output, ((call, _),) = written([GOOD], **more)
    assert "about 1500 words" in prompt(call)
    note = "For want of budget the report was written in 1500 words instead of 3000."
    assert (note in output.report) is told


def test_what_stands_around_long_sections_fits_a_small_window():
    def long(call, wanted):
        return f"{part(call, wanted)} {'The sea was heavy. ' * 800}" if wanted is None else part(call, wanted)

    output, calls = written(long, words=5_000, profile=SMALL)
    assert all(fits(call, 8_192) for call, _ in calls)
    assert output.report.count("The sea was heavy.") == 1_600  # only the prompt is shortened


def test_a_model_is_told_which_findings_rest_on_a_retracted_work():
    withdrawn = source(2, title="Withdrawn", metadata={"retracted": "yes"})
    _, ((call, _),) = written([GOOD], sources=(withdrawn,))
    assert "F1 (S1, from a work that was retracted)" in prompt(call)
    assert prompt(call).count("from a work that was retracted") == 1
