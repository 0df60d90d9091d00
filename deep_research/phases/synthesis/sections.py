"""A long report: an outline that gives each finding to one section, the sections side by side, then what stands before
and after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pydantic import BaseModel, Field

from deep_research.models.base import Effort, ModelCall, StopReason
from deep_research.models.base import Message as Turn
from deep_research.models.language import LanguageModel
from deep_research.models.verdicts import Verdict, failure
from deep_research.phases.base import together
from deep_research.phases.prompting import Message, listed, manner, one_line, output_for, wishes
from deep_research.phases.synthesis.drafting import (
    Draft,
    Given,
    beside,
    body_of,
    is_cut,
    told,
)
from deep_research.phases.synthesis.handoff import SynthesizerInput

OUTLINE_OUTPUT = 4_000  # tokens, thoughts included
TOKENS_A_WORD = 3.3
THOUGHTS = 2_000
FRAME_WORDS = 200  # of the answer at the beginning, and of what remains open
MOST_SECTIONS = 10

OUTLINE = """\
Plan a report of the given length from the findings. Give it a title and sections by theme, the most \
important first, each with a heading that says what is in it, one sentence on what it has to show, and the \
findings it rests on. Each finding belongs to one section, so that nothing is said twice; leave out \
findings that the answer does not need. No section for the summary, the conclusion or what remains open: \
those are written apart."""


class PlannedSection(BaseModel):
    heading: str
    purpose: str = Field(default="", description="what it has to show, one sentence")
    findings: list[str] = Field(description="names such as F1")


class Outline(BaseModel):
    title: str
    sections: list[PlannedSection] = Field(min_length=1)


async def in_sections(handoff: SynthesizerInput, material: Given, model: LanguageModel, system: str) -> str:
    """The report's Markdown with ids for references. Raises `ModelError` when a part of it cannot be had."""
    outline = await _outline(handoff, material, model, system)
    shares = _shares(outline, material)
    words = max(120, (handoff.words - FRAME_WORDS) // len(shares))
    bodies: dict[int, str] = {}

    async def write(at: int, section: PlannedSection, part: Given) -> None:
        bodies[at] = await _section(handoff, outline, section, part, words, model, system)

    await together(
        (partial(write, at, section, part) for at, (section, part) in enumerate(shares)), at_once=len(shares)
    )
    headings = [one_line(section.heading) for section, _ in shares]
    written = [f"## {heading}\n\n{bodies[at]}" for at, heading in enumerate(headings)]
    before, after = await _frame(handoff, material, written, model, system)
    text = "\n\n".join([f"# {one_line(outline.title)}", before, *written, after])
    draft = Draft.of(text, handoff.original_query, material)
    if draft.problem:
        raise failure(Verdict.MALFORMED, f"the report cannot be used: {draft.problem}", model=model.name)
    return draft.text


async def _outline(handoff: SynthesizerInput, material: Given, model: LanguageModel, system: str) -> Outline:
    message = Message()
    message.add(f"Question: {handoff.original_query}")
    message.add(wishes(handoff))
    told(handoff, material, message)
    message.add(f"{OUTLINE} Length: {handoff.words} words. {manner(handoff)}")
    call = ModelCall(
        system=system,
        messages=(Turn(content=str(message)),),
        max_output=output_for(model, OUTLINE_OUTPUT),
        effort=Effort.MEDIUM,
        nonce=message.mark,
    )
    return (await model.object(call, Outline)).value


def _shares(outline: Outline, material: Given) -> list[tuple[PlannedSection, Given]]:
    """Each section with its findings. One that two sections want goes to the first; a section without any is none."""
    taken: set[str] = set()
    shares = []
    by_id = {finding.id: finding for finding in material.findings}
    for section in outline.sections[:MOST_SECTIONS]:
        ids = [i for i in material.names.all(section.findings) if i not in taken]
        taken |= set(ids)
        if ids and section.heading.strip():
            shares.append((section, replace(material, findings=tuple(by_id[i] for i in ids))))
    return shares or [(PlannedSection(heading=outline.title, findings=[]), material)]


async def _section(
    handoff: SynthesizerInput,
    outline: Outline,
    section: PlannedSection,
    part: Given,
    words: int,
    model: LanguageModel,
    system: str,
) -> str:
    heading = one_line(section.heading)
    message = Message()
    message.add(f"Question: {handoff.original_query}")
    message.add(wishes(handoff))
    message.add(
        f"The report has these sections:\n{listed(one_line(other.heading) for other in outline.sections)}"
    )
    message.add("What was found for the section to be written:")
    message.material("findings", "\n".join(part.line(finding) for finding in part.findings))
    message.add(
        f"Write the text of the section “{heading}” alone, in about {words} words: {one_line(section.purpose)}"
        f" No heading of the section itself, no introduction, no summary: the other sections stand beside it."
        f" Subheadings, if it needs any, after ###. {manner(handoff)}"
    )
    call = ModelCall(
        system=system,
        messages=(Turn(content=str(message)),),
        max_output=output_for(model, int(words * TOKENS_A_WORD) + THOUGHTS),
        effort=Effort.MEDIUM,
        nonce=message.mark,
        label=heading,
    )
    answer = await model.text(call)
    body = _without_heading(body_of(answer.value))
    if answer.stop is not StopReason.END or not body or is_cut(body):
        raise failure(
            Verdict.MALFORMED, f"the section “{heading}” of the report breaks off", model=model.name
        )
    return body


def _without_heading(body: str) -> str:
    """Headings of the first and second order are the report's."""
    lines = body.split("\n")
    while lines and (not lines[0].strip() or lines[0].startswith(("# ", "## "))):
        lines.pop(0)
    return "\n".join(f"#{line}" if line.startswith("## ") else line for line in lines).strip()


class Frame(BaseModel):
    answer: str = Field(description="the question answered in two to four sentences, with references")
    open: str = Field(
        description="what remains open: the gaps and limits that matter; short paragraphs or a list"
    )
    answer_heading: str = Field(default="Summary", description="in the language of the report")
    open_heading: str = Field(default="What remains open", description="in the language of the report")


async def _frame(
    handoff: SynthesizerInput, material: Given, written: Sequence[str], model: LanguageModel, system: str
) -> tuple[str, str]:
    """What stands before and after the sections, written when they are known."""
    message = Message()
    message.add(f"Question: {handoff.original_query}")
    message.add(wishes(handoff))
    message.add("The sections of the report as they are:")
    message.material("sections", "\n\n".join(written))
    beside(handoff, material, message)
    message.add(
        "Write what stands before and after them: the answer to the question, and what remains open. Repeat no"
        f" sentence of theirs. {manner(handoff)}"
    )
    call = ModelCall(
        system=system,
        messages=(Turn(content=str(message)),),
        max_output=output_for(model, int(FRAME_WORDS * TOKENS_A_WORD) + THOUGHTS),
        effort=Effort.MEDIUM,
        nonce=message.mark,
    )
    frame = (await model.object(call, Frame)).value
    before = f"## {one_line(frame.answer_heading) or 'Summary'}\n\n{_without_heading(body_of(frame.answer))}"
    open_ = _without_heading(body_of(frame.open))
    after = f"## {one_line(frame.open_heading) or 'What remains open'}\n\n{open_}" if open_ else ""
    return before, after
