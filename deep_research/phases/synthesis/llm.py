"""The synthesizer that thinks with a model: a report at once, or for long ones an outline and its sections side by
side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from deep_research.budget.estimate import AT_ONCE, report_output
from deep_research.calls import TEXT_UNIT_CHARS, off_loop
from deep_research.errors import ModelError, WindowError
from deep_research.models.failures import is_too_long
from deep_research.models.language_model import LanguageModel
from deep_research.phases.prompting import Message, ModelAgent, Room, manner, room_for
from deep_research.phases.synthesis.conflicts import with_conflicts
from deep_research.phases.synthesis.handoff import (
    RepairInput,
    RepairOutput,
    SynthesizerInput,
    SynthesizerOutput,
)
from deep_research.phases.synthesis.model_drafts import ModelDraft, complete, unusable, with_notes
from deep_research.phases.synthesis.repair_request import repair
from deep_research.phases.synthesis.revision import TOO_SHORT, revise
from deep_research.phases.synthesis.sections import MIN_SECTIONS, in_sections, most_sections
from deep_research.phases.synthesis.writer_material import (
    SYSTEM,
    WriterMaterial,
    improvements,
    with_material,
    writer_material,
)
from deep_research.text import unspaced

# The report, the message that had all of its material, which sections of it are new where it is a revision, and what a
# reader should know of it.
_Written = tuple[str, Message, tuple[str, ...] | None, tuple[str, ...]]
_Write = Callable[[SynthesizerInput, WriterMaterial, LanguageModel], Awaitable[_Written]]
NOT_REVISED = "For want of room the report was not revised after it was looked at."
FEW = 4  # findings that are not worth an outline

WHOLE = """\
You write the whole report.
- Markdown. A title after "# ", then sections after "## ".
- First a section that answers the question in two to four sentences, the answer before everything else, \
with how sure it is.
- Then sections by theme, the most important first, with headings that say what is in them. Short \
paragraphs; a table where things are compared or figures stand over time; no list where a sentence does.
- If findings contradict each other, put them side by side and say which is better supported and why.
- Last a section on what remains open: the gaps that matter to the reader. No closing remarks after it."""


class LLMSynthesizer(ModelAgent):
    """Has its model write the report. A draft that is cut, empty, or without references or sections is none: it is
    asked for once more, and then the extractive synthesizer writes."""

    name = "synthesizer"

    async def __call__(self, handoff: SynthesizerInput, model: LanguageModel) -> SynthesizerOutput:
        return await self._report(handoff, model, self._write_anew)

    async def revise(self, handoff: SynthesizerInput, model: LanguageModel) -> SynthesizerOutput:
        """The next version of the last report, ``draft``."""
        return await self._report(handoff, model, self._write_revision)

    async def _report(
        self, handoff: SynthesizerInput, model: LanguageModel, write: _Write
    ) -> SynthesizerOutput:
        target_words = handoff.words
        long = target_words > AT_ONCE and most_sections(handoff.requests) >= MIN_SECTIONS
        if not long:
            handoff = handoff.model_copy(update={"words": min(target_words, AT_ONCE)})
        room = await self._room(target_words, model, long)
        material = await off_loop(handoff.items, writer_material, handoff, room)
        try:
            result = await write(handoff, material, model)
        except (WindowError, ModelError) as error:
            if not self._rules.enabled or (isinstance(error, ModelError) and not is_too_long(error)):
                raise
            material_tokens = sum(room.counter.expected(each.text) for each in material.rounds)
            now = await self._room(target_words, model, long)  # its window may have turned out to be smaller
            smaller = replace(now, tokens=min(now.tokens, min(room.tokens, material_tokens) // 2))  # once
            material = await off_loop(handoff.items, writer_material, handoff, smaller)
            result = await write(handoff, material, model)
        report, message, headings, notices = result
        notes = (*message.notes(self.name), *notices)
        if handoff.words < target_words:
            shorter = f"For want of budget the report was written in {handoff.words} words instead of {target_words}."
            notes = (*notes, shorter)
        if material.left_out:
            notes = (*notes, "Findings of less weight were left out of the report for want of room.")
        elif material.shortened:
            notes = (*notes, "Findings were shortened before the report was written, for want of room.")
        report = await off_loop(len(report) // TEXT_UNIT_CHARS, with_conflicts, report, handoff)
        return SynthesizerOutput(
            report=await off_loop(len(report) // TEXT_UNIT_CHARS, with_notes, report, handoff, notes),
            unknown=material.names.unknown,
            notes=notes,
            context_usage=message.sending,
            revised=headings,
        )

    async def _room(self, wanted: int, model: LanguageModel, long: bool) -> Room:
        output = report_output(min(wanted, AT_ONCE), model.profile)
        return await room_for(model, output, f"{SYSTEM}\n\n{WHOLE}", form=long, rules=self._rules)

    async def _write_revision(
        self, handoff: SynthesizerInput, material: WriterMaterial, model: LanguageModel
    ) -> _Written:
        _check(material, model)
        # One that is far shorter than is wanted is written anew, where there is something new and room for more.
        short = handoff.words > AT_ONCE and unspaced.size(handoff.draft) < TOO_SHORT * handoff.words
        if handoff.improving or not short:
            if (revision := await revise(handoff, material, model)) is not None:
                return revision[0].text, revision[1], revision[0].headings, ()
            if handoff.improving:  # nothing new is to be told
                return handoff.draft, with_material(handoff, material), (), (NOT_REVISED,)
        return await self._write_anew(handoff, material, model)

    async def _write_anew(
        self, handoff: SynthesizerInput, material: WriterMaterial, model: LanguageModel
    ) -> _Written:
        _check(material, model)
        if handoff.words > AT_ONCE and len(material.findings) > FEW:
            report, message, notes = await in_sections(handoff, material, model)
            return report, message, None, notes
        shorter = handoff.model_copy(update={"words": min(handoff.words, AT_ONCE)})
        return (*await self._at_once(shorter, material, model), None, ())

    async def repair(self, handoff: RepairInput, model: LanguageModel) -> RepairOutput:
        """New words for claims that nothing carries, by one request for all."""
        return await repair(handoff, model, self._rules)

    async def _at_once(
        self, handoff: SynthesizerInput, material: WriterMaterial, model: LanguageModel
    ) -> tuple[str, Message]:
        problem = why = ""
        for _ in range(2):
            message = await off_loop(handoff.items, with_material, handoff, material, WHOLE)
            improvements(handoff, message)
            message.add(f"Write the report in about {handoff.words} words. {manner(handoff)}")
            message.add(problem)
            call = message.call(SYSTEM, report_output(handoff.words, model.profile), label="report")
            answer = await model.text(call)
            size = len(answer.value) // TEXT_UNIT_CHARS
            question, names = handoff.original_query, material.names
            draft = await off_loop(size, ModelDraft.of, answer.value, question, names, material.words)
            if not complete(answer, model):
                why = "the draft was cut off"
                problem = f"The last draft was cut off. Keep to {handoff.words} words."
            elif not draft.problem:
                return draft.text, message
            else:
                why = f"the draft cannot be used: {draft.problem.rstrip('.')}"
                problem = f"The last draft cannot be used: {draft.problem} Write the whole report again."
        raise unusable(model, why)


def _check(material: WriterMaterial, model: LanguageModel) -> None:
    if not material.findings:
        raise unusable(model, "there is no finding to write from")
