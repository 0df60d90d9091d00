"""The synthesizer that thinks with a model: what it is told, which drafts are refused, and long reports."""

import asyncio
import re

import pytest

from deep_research.budget.content_budget import ContentRules
from deep_research.errors import ModelError, WindowError
from deep_research.models.base import Reply, StopReason, TokenUsage
from deep_research.models.failures import TOO_LONG, Verdict, failure
from deep_research.models.profiles import Profile
from deep_research.phases.prompting import Room
from deep_research.phases.synthesis.handoff import JudgeScope, SynthesizerInput
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.phases.synthesis.model_drafts import ModelDraft, body_of, is_cut, with_ids
from deep_research.phases.synthesis.phase import SynthesisPhase
from deep_research.phases.synthesis.sections import Frame, Outline, most_sections
from deep_research.phases.synthesis.writer_material import writer_material
from deep_research.state import (
    ConfidenceLevel,
    Contradiction,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Gap,
    Notice,
    Quote,
    RunOptions,
    Source,
)
from deep_research.state.events import Written
from deep_research.state.identity import finding_id
from deep_research.testing.models import ScriptedModel, ScriptedProvider

QUESTION = "What is known of the towers?"
GOOD = """# Towers of the reef

## Answer

The first tower was built by its keeper [F1], and it stands on granite to this day [F2].

## What remains open

What it cost is not known to anybody who has written of it."""


def finding(n, level=ConfidenceLevel.MEDIUM, words=8):
    content = f"Fact number {n} of the tower {'and of the sea ' * (words // 4)}is written down."
    quote = Quote(source_id=f"src-{n:012x}", quote=f"quote {n}", start=0, end=7, content_hash="h")
    return Finding(
        id=finding_id(content),
        content=content,
        confidence=level,
        source_ids=(f"src-{n:012x}",),
        quotes=(quote,),
    )


FINDINGS = tuple(finding(n) for n in range(1, 7))


def handoff(**more):
    fields = {
        "research_id": "r",
        "original_query": QUESTION,
        "current_phase": DeepResearchPhase.SYNTHESIS,
        "iteration": 1,
        "max_iterations": 3,
        "finding_count": 6,
        "gap_count": 0,
        "has_research_brief": False,
        "findings": FINDINGS,
        "words": 300,
        **more,
    }
    return SynthesizerInput(**fields)


def written(answers, **more):
    model = answers if isinstance(answers, ScriptedModel) else ScriptedModel(answers)
    return asyncio.run(LLMSynthesizer()(handoff(**more), model)), model


def material(findings=FINDINGS):
    return writer_material(handoff(findings=findings), Room(100_000))


def test_all_that_is_wanted_reaches_the_prompt():
    gap = Gap(id="gap-1", description="What it cost")
    conflict = Contradiction(
        id="contra-1", description="Two heights", finding_ids=(FINDINGS[0].id, FINDINGS[2].id)
    )
    _, model = written(
        [GOOD],
        guidance=("Begin with the oldest.",),
        system_prompt="We are a museum.",
        language="German",
        audience="children",
        research_brief="By tower.",
        gaps=(gap, gap.model_copy(update={"id": "gap-2", "description": "Filled gap", "addressed": True})),
        contradictions=(conflict,),
        improvements=("Name the builder first.",),
        notices=(
            Notice(name="gate:analysis", message="No finding is of high confidence."),
            Notice(name="agent", message="The planner could not do its work."),
        ),
    )
    ((call, _),) = model.calls
    text = call.messages[0].content
    for said in (
        "Begin with the oldest.",
        "We are a museum.",
        "Write in German. Write for children.",
        "By tower.",
        "- What it cost",
        "F1, F3: Two heights",
        "Name the builder first.",
        "about 300 words",
        "No finding is of high confidence.",
        "F1 (1 source): Fact number 1",
        "medium: F1",
    ):
        assert said in text
    assert "Filled gap" not in text
    assert "The planner could not" not in text  # code tells that itself, once
    assert call.label == "report"


def test_names_become_ids_and_the_engine_tells_its_own_limits():
    output, _ = written([GOOD], notices=(Notice(name="agent", message="The planner could not do its work."),))
    assert f"keeper [{FINDINGS[0].id}], and" in output.report
    assert output.report.startswith("# Towers of the reef\n")
    assert output.report.endswith("## Limits of this research\n\n- The planner could not do its work.\n")


def test_names_that_were_not_given_go_and_are_counted():
    output, _ = written([GOOD.replace("[F2]", "[F2, F40] [F77]")])
    assert "F40" not in output.report + "F77" * 0
    assert "F77" not in output.report
    assert output.unknown == 2


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
    text, found = with_ids(said, material().names, "(medium): Formula One (F1) is a sport.")
    assert found == count
    assert text.count("find-") == count
    if "Formula" in said:
        assert "(F1)" in text


@pytest.mark.parametrize(
    ("draft", "problem"),
    [
        ("", "empty"),
        ("# T\n\n## A\n\nShort [F1].", "empty"),
        (GOOD.replace("[F1]", "").replace("[F2]", "[F99]"), "none of the findings"),
        (GOOD.replace("## Answer", "").replace("## What remains open", ""), "no sections"),
        (
            GOOD.removesuffix("to anybody who has written of it.") + "to anybody who has ever written of the",
            "breaks",
        ),
    ],
)
def test_a_draft_that_is_none_is_asked_for_once_more_and_then_refused(draft, problem):
    output, model = written([draft or " ", GOOD])
    assert "Towers of the reef" in output.report
    assert problem in model.calls[1][0].messages[0].content
    model = ScriptedModel([draft or " "])
    with pytest.raises(ModelError) as refused:
        written(model)
    assert refused.value.verdict == Verdict.MALFORMED
    assert len(model.calls) == 2


def test_a_draft_that_the_wire_or_its_cap_cut_is_refused_too(work):
    cut = Reply(text=GOOD, stop=StopReason.INCOMPLETE, usage=TokenUsage(input=1, output=1))
    provider = ScriptedProvider([cut])
    with pytest.raises(ModelError):
        work(
            SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF),
            state(),
            provider,
            profile=Profile(context=200_000, output=4_000),
        )


def test_without_findings_nobody_is_asked():
    model = ScriptedModel([GOOD])
    with pytest.raises(ModelError):
        written(model, findings=())
    assert model.calls == []


@pytest.mark.parametrize(
    ("around", "kept"),
    [
        ("```markdown\n{}\n```", "# Towers"),
        ("Here is your report:\n\n{}", "# Towers"),
        ("Sure!\n\n```\n{}\n```", "# Towers"),
        ("<think>I should not write\n# this\n</think>\n{}", "# Towers"),
        ("{}\n\n## References\n\n1. https://evil.example\n2. Mine", "not known"),
        ("{}\n\n## Quellen\n\n- Eine", "not known"),
        ("{}\n\n**Sources:**\n\n- One", "not known"),
    ],
)
def test_what_does_not_belong_to_a_report_is_taken_out(around, kept):
    draft = ModelDraft.of(around.format(GOOD), QUESTION, material().names)
    assert draft.problem == ""
    assert draft.text.startswith("# Towers of the reef\n")
    for gone in ("```", "think", "Here is", "Sure", "evil", "Mine", "Eine", "Sources", "- One"):
        assert gone not in draft.text
    assert kept in draft.text


def test_a_list_of_references_in_the_middle_takes_nothing_else_with_it():
    middle = GOOD.replace("## What remains", "## Sources\n\n- [1] A page\n\n## What remains")
    draft = ModelDraft.of(middle, QUESTION, material().names)
    assert "A page" not in draft.text
    assert "What it cost is not known" in draft.text


def test_marks_of_ours_are_in_no_report():
    assert body_of(f"Text.\n<<{'a1' * 8} source S1>>\nMore.") == "Text.\nMore."


def test_there_is_one_title_and_without_one_it_is_the_question():
    draft = ModelDraft.of(GOOD.replace("## What", "# What"), QUESTION, material().names)
    assert re.findall(r"^# .*", draft.text, re.M) == ["# Towers of the reef"]
    untitled = ModelDraft.of(GOOD.partition("\n")[2], QUESTION, material().names)
    assert untitled.text.startswith(f"# {QUESTION}\n")
    code = GOOD.replace("What it cost", "```\n# a comment\n```\nWhat it cost")
    assert "\n# a comment" in ModelDraft.of(code, QUESTION, material().names).text


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("The tower was built in the year of the storm and", True),
        ("The tower was built in the year of the storm,  ", True),
        ("The tower was built in the year of the storm.", False),
        ("The tower was built in the year of the storm [find-1]", False),
        ("灯台は一八一一年に建てられました。そして今もそこに立っています" * 3, False),
        ("- a list item of which nobody knows whether it ends here or", False),
        ("The tower was built by the engineers in the year 1811", False),
    ],
)
def test_a_text_that_breaks_off_is_known_by_its_end(text, cut):
    assert is_cut(text) is cut


MANY = tuple(
    finding(n, ConfidenceLevel.HIGH if n > 55 else ConfidenceLevel.LOW, words=120) for n in range(1, 61)
)
SMALL = Profile(context=8_192, output=4_096)


def test_where_there_is_no_room_something_of_each_finding_is_told_and_the_surest_whole():
    model = ScriptedModel([GOOD], profile=SMALL)
    output, _ = written(model, findings=MANY)
    call = model.calls[0][0]
    shown = call.messages[0].content
    assert MANY[-1].content in shown
    assert MANY[39].content not in shown
    assert all(f"F{n} (" in shown for n in range(1, 61))
    assert output.notes[-1] == "Findings were shortened before the report was written, for want of room."
    assert output.notes[-1] in output.report
    assert (len(call.system) + len(shown)) / 3 + call.max_output < 8_192
    sent = {item.id: item for item in output.context_usage.items}
    assert sent[MANY[-1].id].current_tokens == sent[MANY[-1].id].original_tokens
    assert 0 < sent[MANY[39].id].current_tokens < sent[MANY[39].id].original_tokens


def test_where_dropping_is_allowed_the_least_of_them_are_left_out():
    model = ScriptedModel([GOOD], profile=SMALL)
    writer = LLMSynthesizer(ContentRules(allow_dropping=True))
    output = asyncio.run(writer(handoff(findings=MANY), model))
    shown = model.calls[0][0].messages[0].content
    assert "Fact number 60 " in shown
    assert "Fact number 40 " not in shown
    assert "Findings of less weight were left out of the report for want of room." in output.notes
    assert any(not item.current_tokens for item in output.context_usage.items)


def test_where_nothing_is_managed_what_does_not_fit_is_refused():
    refused = WindowError("A prompt does not fit.")
    model = ScriptedModel([refused, GOOD], profile=SMALL)
    with pytest.raises(WindowError):
        asyncio.run(LLMSynthesizer(ContentRules(enabled=False))(handoff(findings=MANY), model))
    assert all(f.content in model.calls[0][0].messages[0].content for f in MANY)


def test_a_prompt_that_the_model_finds_too_long_is_halved_once():
    error = failure(Verdict.FATAL, "too long", model="m", hint=TOO_LONG)
    output, model = written([error, GOOD], findings=tuple(finding(n, words=40) for n in range(1, 41)))
    first, second = (call.messages[0].content for call, _ in model.calls)
    assert len(second) < 0.6 * len(first)
    assert "for want of room" in output.report


def state(**options):
    return DeepResearchState(
        query=QUESTION,
        phase=DeepResearchPhase.SYNTHESIS,
        findings=FINDINGS,
        sources=tuple(
            Source(id=f.source_ids[0], sub_query_id="", title=f"Page {n}") for n, f in enumerate(FINDINGS)
        ),
        options=RunOptions(**options),
    )


def test_an_answer_is_told_to_watchers_piece_by_piece(work):
    journal = work(SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF), state(), ScriptedProvider([GOOD]))
    pieces = [note for note in journal.notes if isinstance(note, Written)]
    assert {note.label for note in pieces} == {"report"}
    assert len(pieces) > 1
    assert "".join(note.text for note in pieces) == GOOD
    assert journal.state.report_metadata.citations_count == 2


def test_references_that_were_never_given_show_in_the_metadata(work):
    journal = work(
        SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF),
        state(),
        ScriptedProvider([GOOD.replace("[F2]", "[F2, F40]")]),
    )
    assert journal.state.report_metadata.removed_references == 1


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
    if wanted is Outline:
        return OUTLINE
    if wanted is Frame:
        return FRAME
    if call.label == "last pass":
        return "Nothing has to change."
    names = re.findall(r"^(F\d+) \(", call.messages[0].content, re.M)
    return "\n\n".join(
        [
            "## How they were built",
            *(f"What is known of {name} is this and no more [{name}]." for name in names),
        ]
    )


def test_a_long_report_is_an_outline_and_its_sections_side_by_side():
    running = most = 0

    async def answer(call, wanted):
        nonlocal running, most
        running += wanted is None and call.label != "last pass"
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= wanted is None and call.label != "last pass"
        return part(call, wanted)

    output, model = written(answer, words=3_000)
    assert most == 2
    assert [wanted for _, wanted in model.calls] == [Outline, None, None, Frame, None]
    headings = re.findall(r"^#+ .*", output.report, re.M)
    assert headings == [
        "# All of the towers",
        "## Summary",
        "## How they were built",
        "## Their lights",
        "## What remains open",
    ]
    # The sixth is left out by the outline, the first stands in the answer too, the second serves two sections.
    assert [output.report.count(known.id) for known in FINDINGS] == [2, 2, 1, 1, 1, 0]
    assert output.unknown == 1


def test_a_section_knows_the_others_and_only_its_own_findings():
    _, model = written(part, words=3_000, guidance=("Begin with the oldest.",))
    sections = [call for call, wanted in model.calls if wanted is None and call.label != "last pass"]
    for call in sections:
        text = call.messages[0].content
        assert "- How they were built: The work.\n- Their lights: Lamps." in text
        assert "Begin with the oldest." in text
        assert "Nothing" not in text
    assert "Fact number 1 " not in sections[1].messages[0].content
    assert "Fact number 2 " in sections[0].messages[0].content
    assert "Fact number 2 " in sections[1].messages[0].content
    assert "first, and before “Their lights”" in sections[0].messages[0].content
    assert [call.label for call in sections] == ["How they were built", "Their lights"]


@pytest.mark.parametrize(
    "bad", ["No reference stands in this one.", "It breaks off in the middle of a [F3] sentence that"]
)
def test_a_section_that_is_none_is_asked_for_once_more_and_then_the_report_is_refused(bad):
    calls = []

    def once(call, wanted):
        if wanted is None and "Their lights” alone" in call.messages[0].content:
            calls.append(call)
            if len(calls) == 1:
                return bad
        return part(call, wanted)

    output, _ = written(once, words=3_000)
    assert len(calls) == 2
    assert "## Their lights" in output.report

    def always(call, wanted):
        alone = wanted is None and "Their lights” alone" in call.messages[0].content
        return bad if alone else part(call, wanted)

    with pytest.raises(ModelError, match="Their lights"):
        written(always, words=3_000)


def test_a_long_report_has_as_many_sections_as_the_budget_pays_for():
    outline = OUTLINE | {
        "sections": [{"heading": f"Part {n}", "purpose": "Work.", "findings": [f"F{n}"]} for n in range(1, 6)]
    }
    output, model = written(
        lambda call, wanted: outline if wanted is Outline else part(call, wanted), words=3_000, requests=6
    )
    assert "in 3 sections at most" in model.calls[0][0].messages[0].content
    assert [wanted for _, wanted in model.calls] == [Outline, None, None, None, Frame, None]
    for known in FINDINGS[:5]:  # what is planned for further sections stands in the last
        assert known.id in output.report


@pytest.mark.parametrize(
    ("requests", "sections"), [(3, 1), (4, 2), (5, 2), (6, 3), (13, 10), (99, 10), (None, 10)]
)
def test_a_request_is_kept_for_a_part_that_has_to_be_asked_for_again(requests, sections):
    assert most_sections(requests) == sections


@pytest.mark.parametrize("requests", [0, 1, 3])
def test_where_the_budget_has_no_room_for_sections_a_shorter_report_is_written_at_once(requests):
    output, model = written([GOOD], words=3_000, requests=requests)
    assert len(model.calls) == 1
    assert "about 1500 words" in model.calls[0][0].messages[0].content
    assert "For want of budget the report was written in 1500 words instead of 3000." in output.report


def test_a_long_report_of_a_few_findings_is_written_at_once_and_no_longer_than_that_allows():
    output, model = written([GOOD], findings=FINDINGS[:4], words=8_000)
    (call,) = [call for call, _ in model.calls]
    assert "about 1500 words" in call.messages[0].content
    assert "For want of budget" not in output.report


def test_what_stands_around_long_sections_fits_a_small_window():
    def long(call, wanted):
        return f"{part(call, wanted)} {'The sea was heavy. ' * 800}" if wanted is None else part(call, wanted)

    model = ScriptedModel(long, profile=Profile(context=8_192, output=4_096))
    output, _ = written(model, words=5_000)
    for call, _ in model.calls:
        assert (len(call.system) + len(call.messages[0].content)) / 3 + call.max_output < 8_192
    assert output.report.count("The sea was heavy.") == 1_600  # only the prompt is shortened


def test_a_model_is_told_which_findings_rest_on_a_retracted_work():
    work = Source(
        id=FINDINGS[1].source_ids[0], sub_query_id="subq-1", title="Withdrawn", metadata={"retracted": "yes"}
    )
    _, model = written([GOOD], sources=(work,))
    ((call, _),) = model.calls
    assert "F1 (S1, from a work that was retracted)" in call.messages[0].content
    assert call.messages[0].content.count("from a work that was retracted") == 1
