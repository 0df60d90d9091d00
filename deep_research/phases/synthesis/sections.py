"""A long report: an outline that gives findings to sections, the sections side by side, what stands before and after
them, and one last pass over the whole.

Each of these pieces is in the log once it is written, so that a run that stops between two of them asks for none again.
The writer makes them within one call, and knows of no log; a caller that has one passes `keeping`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from deep_research.budget.estimate import text_output
from deep_research.calls import TEXT_UNIT_CHARS, off_loop
from deep_research.errors import ContentMissingError
from deep_research.logs import masked
from deep_research.models.language_model import LanguageModel
from deep_research.phases.concurrency import together
from deep_research.phases.evidence_rounds import searches_by_round
from deep_research.phases.prompting import (
    RULES,
    Aliases,
    Message,
    advice,
    brief,
    listed,
    manner,
    one_line,
    opening,
    output_for,
    room_for,
    shortened,
    standing,
)
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.phases.synthesis.model_drafts import (
    ModelDraft,
    body_of,
    complete,
    is_cut,
    unusable,
    with_ids,
)
from deep_research.phases.synthesis.revision import last_pass
from deep_research.phases.synthesis.writer_material import (
    MATERIAL,
    STYLE,
    WriterMaterial,
    add_findings,
    beside,
    contradicting,
    improvements,
    with_material,
)
from deep_research.state.events import PieceWritten
from deep_research.state.identity import sha256_hex
from deep_research.state.journal import Content, Journal

OUTLINE_OUTPUT = 4_000  # tokens, thoughts included
FRAME_WORDS = 200  # of the answer at the beginning, and of what remains open
MAX_SECTIONS = 10
MIN_SECTIONS = 2  # that a report is worth being planned for
BESIDE_SECTIONS = 3  # requests: the outline, what stands around the sections, and the last pass
AGAIN = 1  # requests that are kept for a part that is cut or cannot be read
OF_SECTIONS = 0.5  # of the room, when what stands around them is written

Write = Callable[[], Awaitable[str]]
Keep = Callable[[str, Write], Awaitable[str]]
_KEEP: ContextVar[Keep | None] = ContextVar("keep_pieces", default=None)
_SHOWN = 12  # digits of what a piece was written from

OUTLINE = f"""\
You plan the report of a piece of research. {MATERIAL}

Give it a title and sections by theme, the most important first: three to six for most reports, more only \
for very long ones. Each has a heading of its own that says what is in it, one sentence on what it has to \
show, and the names of the findings it rests on. A finding may serve several sections, for what each has to show; what \
it says is told in full in one of them. Findings that contradict each other belong to the same one. \
Leave out findings that the answer \
does not need. No section for the summary, the conclusion, the sources or what remains open: those are \
written apart.

{RULES}"""
PART = f"""\
You write one part of the report of a piece of research; other parts are written by others. {MATERIAL}

Form
- Markdown without the heading of the part, which stands there already. Short paragraphs; a table where \
things are compared or figures stand over time; no list where a sentence does.
- If findings contradict each other, put them side by side and say which is better supported and why.
- No introduction, no summary, no outlook.

{STYLE}"""
FRAME = f"""\
You write what stands before and after the sections of a report: first the answer to the question in two to four \
sentences, with how sure it is; last what remains open, the gaps that matter to the reader, in short paragraphs or a \
list. {MATERIAL}

{STYLE}"""


class PlannedSection(BaseModel):
    heading: str
    purpose: str = Field(default="", description="what it has to show, one sentence")
    findings: list[str] = Field(description="names such as F1")


class Outline(BaseModel):
    title: str
    sections: list[PlannedSection] = Field(min_length=1)


class Carried(Outline):
    """An outline as it is carried out: with ids of findings, and no more sections than can be paid for. ``unknown``
    counts names in it that were never given."""

    unknown: int = 0


class Frame(BaseModel):
    answer: str = Field(description="the question answered in two to four sentences, with references")
    open: str = Field(description="what remains open: the gaps that matter; short paragraphs or a list")
    answer_heading: str = Field(default="Summary", description="in the language of the report")
    open_heading: str = Field(default="What remains open", description="in the language of the report")


def section_words(words: int, count: int = MAX_SECTIONS) -> int:
    """Of each section of a report of so many words with so many sections."""
    return max(120, (words - FRAME_WORDS) // count)


def longest_output(words: int) -> int:
    """Tokens of the longest answer that a report of so many words takes, thoughts included."""
    return max(OUTLINE_OUTPUT, text_output(section_words(words)))


def most_sections(requests: int | None) -> int:
    """How many sections so many requests of a model are enough for, beside the outline and the frame; where it leaves
    two sections, one request is for what has to be asked for again: without that part there would be no report."""
    if requests is None:
        return MAX_SECTIONS
    left = max(0, requests - 2)
    return min(MAX_SECTIONS, left - AGAIN if left > MIN_SECTIONS else left)


@dataclass(frozen=True, slots=True)
class _Share:
    """A section with its findings."""

    heading: str
    purpose: str
    part: WriterMaterial


async def in_sections(
    handoff: SynthesizerInput, material: WriterMaterial, model: LanguageModel
) -> tuple[str, Message, tuple[str, ...]]:
    """The report's Markdown with ids for references, the message that its outline was made of, and what a reader should
    know of it. Raises `ModelError` when a part of it cannot be had."""
    message = await off_loop(handoff.items, _asking_for_outline, handoff, material)
    ids = [finding.id for finding in material.findings]
    outline = Carried.model_validate_json(
        await piece("outline", ids, partial(_outline, handoff, material, message, model))
    )
    material.names.unknown += outline.unknown
    shares = await off_loop(handoff.items, _shares, outline, material, handoff)
    words = section_words(handoff.words, len(shares))
    bodies: dict[int, str] = {}

    async def write(at: int, share: _Share) -> None:
        name = f"section {at + 1} of {len(shares)}"
        bodies[at] = await piece(name, ids, partial(_section, handoff, share, shares, words, model))

    await together((partial(write, at, share) for at, share in enumerate(shares)), at_once=len(shares))
    section_texts = [f"## {share.heading}\n\n{bodies[at]}" for at, share in enumerate(shares)]
    frame = Frame.model_validate_json(
        await piece("frame", ids, partial(_frame, handoff, material, section_texts, model))
    )
    opened = {share.heading.casefold() for share in shares}
    before = _headed(frame.answer_heading, "Summary", frame.answer, opened)
    after = _headed(frame.open_heading, "What remains open", frame.open, opened)
    title = one_line(outline.title) or one_line(handoff.original_query)
    text = "\n\n".join([f"# {title}", before, *section_texts, after])
    draft = await off_loop(
        len(text) // TEXT_UNIT_CHARS,
        ModelDraft.of,
        text,
        handoff.original_query,
        material.names,
        material.words,
    )
    if draft.problem:
        raise unusable(model, f"the report cannot be used: {draft.problem}")
    if handoff.requests is not None and handoff.requests < len(shares) + BESIDE_SECTIONS:
        return draft.text, message, ()
    text, notes = await last_pass(draft.text, handoff, material, model)
    return text, message, notes


def _asking_for_outline(handoff: SynthesizerInput, material: WriterMaterial) -> Message:
    message = with_material(handoff, material)
    improvements(handoff, message)
    most = most_sections(handoff.requests)
    bound = f", in {most} sections at most" if most < MAX_SECTIONS else ""
    message.add(f"Plan a report of {handoff.words} words{bound}. {manner(handoff)}")
    return message


async def _outline(
    handoff: SynthesizerInput, material: WriterMaterial, message: Message, model: LanguageModel
) -> str:
    """The plan as it is carried out, as JSON."""
    call = message.call(OUTLINE, output_for(model, OUTLINE_OUTPUT))
    outline = (await model.object(call, Outline)).value
    return _carried_out(outline, material, most_sections(handoff.requests)).model_dump_json()


def _carried_out(outline: Outline, material: WriterMaterial, most: int) -> Carried:
    """Each section with the ids of its findings, of which one may serve several. Two sections of one heading are one; a
    section without any finding is none, and what is planned for more than ``most`` goes to the last of these."""
    names = Aliases("F", material.names.ids)
    by_section: dict[str, tuple[PlannedSection, dict[str, None]]] = {}
    for section in outline.sections:
        heading = one_line(section.heading).strip("# ")
        ids = names.all(section.findings)
        if heading and ids:
            name = heading.casefold()
            last = name if name in by_section or len(by_section) < most else next(reversed(by_section))
            by_section.setdefault(last, (section, {}))[1].update(dict.fromkeys(ids))
    sections = [
        PlannedSection(
            heading=one_line(section.heading).strip("# "),
            purpose=one_line(section.purpose),
            findings=list(ids),
        )
        for section, ids in by_section.values()
    ]
    if not sections:
        heading = one_line(outline.title).strip("# ") or "Findings"
        sections = [PlannedSection(heading=heading, findings=[f.id for f in material.findings])]
    return Carried(title=outline.title, sections=sections, unknown=names.unknown)


def _shares(outline: Carried, material: WriterMaterial, handoff: SynthesizerInput) -> list[_Share]:
    """The sections, each with its findings and what stands around their quotes."""
    return [
        _Share(
            section.heading,
            section.purpose,
            material.of(section.findings, handoff),
        )
        for section in outline.sections
    ]


async def _section(
    handoff: SynthesizerInput, share: _Share, shares: Sequence[_Share], words: int, model: LanguageModel
) -> str:
    """Its text without its heading; asked for once more where it is cut, empty or without a reference."""
    problem = ""
    for _ in range(2):
        message = Message(share.part.room)
        standing(message, handoff)
        brief(message, handoff.research_brief)
        planned = [f"{each.heading}: {each.purpose}" if each.purpose else each.heading for each in shares]
        message.add(f"The report has these sections:\n{listed(planned)}")
        add_findings(
            share.part,
            message,
            "What was found for the section to be written",
            searches_by_round(handoff, message),
        )
        contradicting(handoff, share.part, message)
        advice(message, handoff)
        message.add(
            f"Write the text of the section “{share.heading}” alone, in about {words} words: {share.purpose}"
            f" {_neighbours(share, shares)} What belongs to another section is told there. Subheadings, if it needs any,"
            f" after ###. {manner(handoff)}"
        )
        message.add(problem)
        call = message.call(
            PART,
            output_for(model, text_output(words)),
            label=share.heading,
        )
        answer = await model.text(call)
        size = len(answer.value) // TEXT_UNIT_CHARS
        body = _without_heading(await off_loop(size, body_of, answer.value), share.heading)
        if not complete(answer, model) or is_cut(body):
            problem = f"The last draft broke off. Keep to {words} words."
        elif not body or not with_ids(body, Aliases("F", share.part.names.ids))[1]:
            problem = "The last draft refers to none of the findings."
        else:
            return body
    raise unusable(model, f"the section “{share.heading}”: {problem}")


def _neighbours(share: _Share, shares: Sequence[_Share]) -> str:
    """Between which sections it stands."""
    at = shares.index(share)
    before = f"after “{shares[at - 1].heading}”" if at else "first"
    after = f"before “{shares[at + 1].heading}”" if at + 1 < len(shares) else "last"
    return f"It stands {before}, and {after}." if before != "first" or after != "last" else ""


def _without_heading(body: str, heading: str) -> str:
    """Headings of the first and second order are the report's, and so is the section's own, however it is written."""
    lines = body.split("\n")
    while lines and (
        not lines[0].strip()
        or lines[0].startswith(("# ", "## "))
        or (heading and lines[0].strip("#* :").casefold() == heading.casefold())
    ):
        lines.pop(0)
    return "\n".join(
        f"### {line.lstrip('# ')}" if line.startswith(("# ", "## ")) else line for line in lines
    ).strip()


def _headed(heading: str, usual: str, text: str, taken: set[str]) -> str:
    """A part of the frame under its heading, which no section has."""
    body = _without_heading(body_of(text), heading)
    heading_text = one_line(heading).strip("# ") or usual
    return f"## {usual if heading_text.casefold() in taken else heading_text}\n\n{body}" if body else ""


async def _frame(
    handoff: SynthesizerInput, material: WriterMaterial, written: Sequence[str], model: LanguageModel
) -> str:
    """What stands before and after the sections, written when they are known; as JSON."""
    output = output_for(model, text_output(FRAME_WORDS))
    message = Message(await room_for(model, output, FRAME, rules=material.room.rules))
    opening(message, handoff)
    message.add("The sections of the report as they are:")
    each = int(message.room * OF_SECTIONS) // len(written)
    message.material("sections", "\n\n".join(shortened(section, each, message.count) for section in written))
    beside(handoff, material, message)
    message.add(
        "Write what stands before and after them: the answer to the question, and what remains open. Repeat no"
        f" sentence of theirs. {manner(handoff)}"
    )
    call = message.call(FRAME, output)
    return (await model.object(call, Frame)).value.model_dump_json()


@contextmanager
def keeping(keep: Keep) -> Iterator[None]:
    """Within it ``keep`` is asked for each piece: ``with keeping(pieces_of(journal)): await writer(…)``."""
    token = _KEEP.set(keep)
    try:
        yield
    finally:
        _KEEP.reset(token)


async def piece(name: str, of: Iterable[str], write: Write) -> str:
    """The piece of this name ``of`` these findings, by their ids: as it is kept, else as ``write`` makes it."""
    keep = _KEEP.get()
    if keep is None:
        return await write()
    return await keep(f"{name} of {sha256_hex(' '.join(of).encode())[:_SHOWN]}", write)


def pieces_of(journal: Journal) -> Keep:
    """Takes pieces from a journal as they were written before in this pass of the phase, and keeps the others there. One
    whose saved text is gone is written again."""

    async def keep(key: str, write: Write) -> str:
        if (piece := journal.state.pieces.get(key)) is not None:
            try:
                (text,) = await journal.texts((piece,))
                return text
            except ContentMissingError:
                pass  # what was deleted is no piece any more
        content = Content.of(masked(await write()))
        await journal.record(PieceWritten(piece=key, content_hash=content.hash), contents=(content,))
        return content.body.decode("utf-8")

    return keep
