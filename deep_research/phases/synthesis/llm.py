"""The synthesizer that thinks with a model: a report at once, or for long ones an outline and its sections side by
side."""

from __future__ import annotations

from deep_research.errors import ModelError
from deep_research.models.base import Effort, ModelCall, StopReason
from deep_research.models.base import Message as Turn
from deep_research.models.language import LanguageModel
from deep_research.models.verdicts import Verdict, failure
from deep_research.phases.prompting import RULES, Message, manner, output_for, room_for, wishes
from deep_research.phases.synthesis.drafting import Draft, Given, given, told, with_notes
from deep_research.phases.synthesis.handoff import SynthesizerInput, SynthesizerOutput
from deep_research.phases.synthesis.sections import in_sections

AT_ONCE = 1_500  # words of a report that is written in one go
TOKENS_A_WORD = 2.2  # of most languages, references included
THOUGHTS = 2_000  # tokens that a model may think before it writes

SYSTEM = f"""\
You write the report of a piece of research. You are given the question and what was found: findings (F1, \
F2 …) with how sure they are, contradictions between them, and gaps. Nothing else counts: what you know \
yourself has no place in the report.

Form
- Markdown. A title after "# ", then sections after "## ".
- First a section that answers the question in two to four sentences, the answer before everything else, \
with how sure it is.
- Then sections by theme, the most important first, with headings that say what is in them. Short \
paragraphs; a table where things are compared or figures stand over time; no list where a sentence does.
- If findings contradict each other, put them side by side and say which is better supported and why.
- Last a section on what remains open: the gaps and limits that matter to the reader. No closing remarks \
after it.

References
- After every statement that rests on findings stand their names in square brackets, like this [F2] or \
this [F1, F4]. Only names that were given.
- Do not write a list of references, links, addresses, images or HTML.

Style
- Plain, exact, readable. Figures with their units and dates. Say once what is to be said, nowhere twice.
- Tell what is well supported as such; what is weakly supported as "according to", "may", "one source \
says".
- Say nothing of how the research was done, of findings, sources or this task.

{RULES}"""


class LLMSynthesizer:
    """Has its model write the report. A draft that is cut, empty or without a reference is none: it is asked for once
    more, and then the extractive synthesizer writes."""

    uses_model = True
    deterministic = False
    falls_back = True
    name = "synthesizer"

    async def __call__(self, handoff: SynthesizerInput, model: LanguageModel) -> SynthesizerOutput:
        material = given(handoff, room=room_for(model, _output_of(handoff.words, model), SYSTEM, form=False))
        if handoff.words > AT_ONCE and len(material.findings) > 4:
            report = await in_sections(handoff, material, model, SYSTEM)
        else:
            report = await self._at_once(handoff, material, model)
        return SynthesizerOutput(report=with_notes(report, handoff, material))

    async def _at_once(self, handoff: SynthesizerInput, material: Given, model: LanguageModel) -> str:
        problem = why = ""
        for _ in range(2):
            message = Message()
            message.add(f"Question: {handoff.original_query}")
            message.add(wishes(handoff))
            told(handoff, material, message)
            message.add(f"Write the report in about {handoff.words} words. {manner(handoff)}")
            message.add(problem)
            call = ModelCall(
                system=SYSTEM,
                messages=(Turn(content=str(message)),),
                max_output=_output_of(handoff.words, model),
                effort=Effort.MEDIUM,
                nonce=message.mark,
                label="report",
            )
            answer = await model.text(call)
            draft = Draft.of(answer.value, handoff.original_query, material)
            if answer.stop is not StopReason.END:
                why = "the draft was cut off"
                problem = f"The last draft was cut off. Keep to {handoff.words} words."
            elif not draft.problem:
                return draft.text
            else:
                why = f"the draft cannot be used: {draft.problem.rstrip('.')}"
                problem = f"The last draft cannot be used: {draft.problem} Write the whole report again."
        raise unusable(model, why)


def unusable(model: LanguageModel, problem: str) -> ModelError:
    return failure(Verdict.MALFORMED, problem, model=model.name)


def _output_of(words: int, model: LanguageModel) -> int:
    return output_for(model, int(words * TOKENS_A_WORD * 1.5) + THOUGHTS)
