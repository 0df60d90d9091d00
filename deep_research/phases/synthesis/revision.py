"""A report that is there already, made better: a model gives the sections that change, the rest stays byte for byte;
what of an earlier version still holds, and which of two is better."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deep_research.budget.estimate import AT_ONCE, report_output
from deep_research.calls import TEXT_UNIT_CHARS, off_loop
from deep_research.errors import BudgetError, ModelError, WindowError
from deep_research.models.language_model import LanguageModel
from deep_research.phases.evidence_lines import with_short_names
from deep_research.phases.prompting import Message, listed, manner, one_line, opening, room_for
from deep_research.phases.synthesis.conflicts import HEADING as CONFLICTS
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.phases.synthesis.model_drafts import body_of, complete, is_cut, with_ids
from deep_research.phases.synthesis.writer_material import STYLE, SYSTEM, WriterMaterial, with_material
from deep_research.report.references import MARK, ids_in, marks_in, unmarked, without_marks
from deep_research.report.report_document import Document, Section
from deep_research.report.report_notices import LIMITS
from deep_research.state import Claim, ClaimCounts, ClaimVerdict, Contradiction, DeepResearchState, Remark
from deep_research.state.question_parts import PartVerdict
from deep_research.text import unspaced
from deep_research.text.passages import sentences
from deep_research.text.plain import plainly
from deep_research.text.words import content_stems
from deep_research.verification.finding_clusters import numbers

OF_ADVICE = 0.1  # of the room, for what is said of the last version
MAX_NEW_SHARE = 0.25  # of the words of a sentence in a last pass, that the draft has nowhere
MAX_CLAIMS = 20  # that nothing carries, of which the writer is told
_OURS = (CONFLICTS.casefold(), LIMITS.casefold())  # sections that code puts in anew

WORTH = 4  # further claims that are supported, for each that nothing carries
TOO_SHORT, TOO_LONG = 0.5, 1.6  # of the wanted words
NEW_FINDING_WORDS = 25  # that a revision may have more for each finding that the report does not use yet
MAX_GROWTH_RATIO = 1.5  # of the wanted words, short of `TOO_LONG`

REVISION = """\
You revise the report, which stands below as it is. Make it better where that is called for, and leave the rest alone: \
a good passage that you do not touch stays as it is.
- Give only the sections that change, each whole, after its heading as it stands ("## …"). A new section gets a heading \
of its own; one that is to go is given with nothing under its heading. What you do not give stays word for word.
- Take up the findings that the report does not use yet, where they answer the question; where they say otherwise than \
the report, tell both, and which is better supported.
- If nothing has to change, answer with the first section as it is."""
LAST_PASS = f"""\
You write the report of a piece of research, whose sections were written side by side: you go over it once more. What \
is said twice stays where it belongs and \
goes elsewhere; where two sections do not fit together, mend the seam; names and figures are written alike everywhere. \
Add no statement, change no figure, and keep the references behind what they stand for.

Give only the sections that change, each whole, after its heading as it stands ("## …"); what you do not give stays \
word for word. If nothing has to change, answer with the first section as it is.

{STYLE}"""
_STANDING = (ClaimVerdict.SUPPORTED, ClaimVerdict.PARTIAL, ClaimVerdict.UNCHECKED)


def without_ours(draft: str) -> str:
    """The draft without marks, and without what code puts below it."""
    sections = Document.read(unmarked(draft)).sections
    own_sections = [section.markdown for section in sections if _key(section.heading) not in _OURS]
    return f"{''.join(own_sections).rstrip()}\n"


def is_revisable(draft: str) -> bool:
    """Whether a draft has sections that could be changed one by one."""
    return sum(bool(section.heading) for section in Document.read(draft).sections) > 1


@dataclass(frozen=True, slots=True)
class Revised:
    """A draft, and the headings of the sections that are new in it."""

    text: str
    headings: tuple[str, ...]


def revised(
    draft: str, answer: str, material: WriterMaterial, *, adding: bool = True, whole: bool = True
) -> Revised:
    """The draft with the sections of an answer in their places, and new ones before the last. One that is given with
    nothing under its heading goes. A section that breaks off, or refers to nothing where the old one did, is left as it
    was; so is the last of an answer that is not ``whole``, and unless ``adding`` one that refers to what the draft does
    not or says what it does not, and one with which a reference would be lost to it."""
    answer_sections = Document.read(body_of(answer) + "\n").sections
    old = Document.read(draft).sections
    places = {_key(section.heading): place for place, section in enumerate(old) if section.heading}
    changed: dict[int, str] = {}
    fresh: dict[str, str] = {}  # sections by their headings
    for section in answer_sections if whole else answer_sections[:-1]:
        if not section.heading or _key(section.heading) in _OURS:
            continue
        body, references = with_ids(section.body, material.names, material.words)
        body = body.strip()
        place = places.get(_key(section.heading))
        if place is None:
            if adding and references and not is_cut(body):
                heading = one_line(section.heading)
                fresh[heading] = f"## {heading}\n\n{body}\n\n"
        elif _is_usable(old[place].body, body, references):
            changed[place] = f"## {old[place].heading}\n\n{body}\n\n" if body else ""
    if not any(changed.get(place, section.markdown) for place, section in enumerate(old) if section.heading):
        changed = {}
    if not adding:
        changed = _without_losses(old, changed)
    texts = [changed.get(place, section.markdown) for place, section in enumerate(old)]
    texts[-1:-1] = fresh.values()
    headings = [*(old[place].heading for place in sorted(changed)), *fresh]
    return Revised("".join(texts).rstrip() + "\n", tuple(headings))


def _is_usable(before: str, body: str, references: int) -> bool:
    """Whether new words can take the place of a section's."""
    worse = is_cut(body) or (bool(_cited_ids(before)) and not references)
    return not body or not (worse or plainly(body) == plainly(before))


def _without_losses(old: Sequence[Section], changed: Mapping[int, str]) -> dict[int, str]:
    """The changes that leave all references in the draft, and bring no new ones, nor anything else that is new."""
    texts = [section.markdown for section in old]
    cited_ids = _cited_ids("".join(texts))
    plain = without_marks("".join(texts))
    figures, stems = numbers(plain), set(content_stems(plain))
    restored: dict[int, str] = {}
    for place, text in changed.items():
        trial = [*texts[:place], text, *texts[place + 1 :]]
        if _cited_ids("".join(trial)) == cited_ids and not _adds(without_marks(text), figures, stems):
            texts, restored[place] = trial, text
    return restored


def _adds(text: str, figures: frozenset[str], said: set[str]) -> bool:
    """Whether a text has a figure, or a sentence of which much is in words, that the draft has not: `figures`, `said`."""
    if not numbers(text) <= figures:
        return True
    for span in sentences(text):
        stems = set(content_stems(text[span.start : span.end]))
        if len(stems - said) > max(1, MAX_NEW_SHARE * len(stems)):
            return True
    return False


def revision_words(wanted: int, draft: str, new: int) -> int:
    """Words that a revision may have: as many as are wanted, or as the draft has with some for each of the ``new``
    findings, up to `MAX_GROWTH_RATIO` of the wanted ones."""
    grown = unspaced.size(draft) + NEW_FINDING_WORDS * new
    return max(wanted, min(grown, int(MAX_GROWTH_RATIO * wanted)))


async def revise(
    handoff: SynthesizerInput, material: WriterMaterial, model: LanguageModel
) -> tuple[Revised, Message] | None:
    """The last report with the sections that its model gives anew, none where nothing of the answer can be used; None
    where it does not fit: then a report is to be written from the beginning."""
    draft = without_ours(handoff.draft)
    message = await off_loop(handoff.items, _with_draft, handoff, material, draft)
    for line in _critique(handoff, message):
        message.add(line)
    words = revision_words(handoff.words, draft, len(_unused(draft, material)))
    message.add(
        f"Give the sections that change, each whole and under its heading. The report should have about {words}"
        f" words. {manner(handoff)}"
    )
    if message.size > message.room:
        return None
    output = report_output(min(words, AT_ONCE), model.profile)
    answer = await model.text(message.call(SYSTEM, output, label="revision"))
    size = (len(draft) + len(answer.value)) // TEXT_UNIT_CHARS
    whole = complete(answer, model)
    return await off_loop(size, revised, draft, answer.value, material, whole=whole), message


async def last_pass(
    draft: str, handoff: SynthesizerInput, material: WriterMaterial, model: LanguageModel
) -> tuple[str, tuple[str, ...]]:
    """The draft of sections that were written side by side, without what is said twice, and what a reader should know of
    it. Nothing is added: a section that would refer to what the draft does not is left as it was. Without an answer the
    draft stays."""
    output = report_output(AT_ONCE, model.profile)
    message = Message(await room_for(model, output, LAST_PASS, form=False, rules=material.room.rules))
    opening(message, handoff)
    message.add("The report:")
    message.material("report", with_short_names(draft, material.names.names))
    message.add(f"Give the sections that change, each whole and under its heading. {manner(handoff)}")
    if message.size > message.room:
        return draft, ()
    try:
        answer = await model.text(message.call(LAST_PASS, output, label="last pass"))
        size = (len(draft) + len(answer.value)) // TEXT_UNIT_CHARS
        whole = complete(answer, model)
        revision = await off_loop(size, revised, draft, answer.value, material, adding=False, whole=whole)
        return revision.text, ()
    except (BudgetError, ModelError, WindowError) as error:
        return draft, (f"The sections of the report were not gone over once more: {error.problem}",)


def _with_draft(handoff: SynthesizerInput, material: WriterMaterial, draft: str) -> Message:
    message = with_material(handoff, material, REVISION)
    names = material.names.names
    message.add("The report as it is:")
    message.material("report", with_short_names(draft, names))
    if new := _unused(draft, material):
        message.add(f"Findings that it does not use yet: {', '.join(new)}.")
    return message


def _unused(draft: str, material: WriterMaterial) -> list[str]:
    """The names of the findings that a draft does not cite."""
    cited_ids = _cited_ids(draft)
    return [name for finding_id, name in material.names.names.items() if finding_id not in cited_ids]


def _critique(handoff: SynthesizerInput, message: Message) -> Iterable[str]:
    """What is said of the last version: by the refiner, and by the check of its claims."""
    remarks = [*map(_remark, handoff.remarks), *map(one_line, handoff.improvements)]
    if remarks:
        lines = message.lines(remarks, OF_ADVICE, "what was said of the last version")
        yield "What is said of it:\n" + message.fenced("critique", listed(lines))
    claims = [f"“{one_line(claim.text)}”" for claim in handoff.failing[:MAX_CLAIMS]]
    if claims:
        lines = message.lines(claims, OF_ADVICE, "claims that nothing carries")
        yield "What no source says; mend it, or leave it out:\n" + message.fenced("claims", listed(lines))


def _remark(remark: Remark) -> str:
    where = f"under “{one_line(remark.heading)}”, " if remark.heading else ""
    what = f"“{one_line(remark.sentence)}”: " if remark.sentence else ""
    return f"{remark.kind.value}: {where}{what}{one_line(remark.advice)}"


def _cited_ids(text: str) -> set[str]:
    return {each for mark in marks_in(text) for each in ids_in(mark.group())}


def _key(heading: str) -> str:
    return " ".join(heading.strip("#* :").casefold().split())


@dataclass(frozen=True, slots=True)
class Version:
    """What counts in a version: how many ``parts`` of the question it tells of, how many of its claims are not doubted
    (``standing``) and ``failing``, which ``share`` is supported, how many ``conflicts`` it shows with two sides, and
    its ``words``."""

    parts: int
    standing: int
    failing: int
    conflicts: int
    words: int
    share: float = 1.0

    @classmethod
    def of(
        cls,
        draft: str,
        claims: Sequence[Claim],
        verdicts: Iterable[PartVerdict],
        contradictions: Iterable[Contradiction],
    ) -> Version:
        cited_ids = _cited_ids(draft)
        return cls(
            parts=sum(bool(verdict.claim_ids) for verdict in verdicts),
            standing=sum(not c.is_marked and c.verdict in _STANDING for c in claims),
            failing=sum(claim.is_marked for claim in claims),
            conflicts=sum(len(cited_ids.intersection(c.finding_ids)) > 1 for c in contradictions),
            words=unspaced.size(draft),
            share=ClaimCounts.of(claims).share,
        )


def better(
    earlier: Version, new: Version, wanted: int, least: float | None = None
) -> tuple[bool, tuple[str, ...]]:
    """Whether the new version is to be kept, and why. In this order decide the ``least`` share of supported claims that
    its owner asks for, the parts of the question, claims that nothing carries, contradictions, a length that is far from
    the ``wanted`` words, and claims that stand, where they are fewer and a lesser share is supported; where nothing
    does, the new one has the refiner's advice in it."""
    if least is not None and (new.share >= least) is not (earlier.share >= least):
        shares = f"{new.share:.0%} of its claims are supported, before {earlier.share:.0%}"
        return new.share >= least, (f"{shares}; {least:.0%} are asked for",)
    if new.parts != earlier.parts:
        return new.parts > earlier.parts, (
            f"it tells of {_count_of(new.parts, 'part')}, before {earlier.parts}",
        )
    more = new.failing - earlier.failing
    gained = new.standing - earlier.standing
    if more > 0 and gained < WORTH * more:
        return False, (f"{_count_of(new.failing, 'claim')} of it nothing carries, before {earlier.failing}",)
    if more < 0 and -gained < -WORTH * more:
        return True, (f"{_count_of(new.failing, 'claim')} of it nothing carries, before {earlier.failing}",)
    if new.conflicts != earlier.conflicts:
        shows = f"it shows {_count_of(new.conflicts, 'contradiction')}, before {earlier.conflicts}"
        return new.conflicts > earlier.conflicts, (shows,)
    if _is_off(new.words, wanted) != _is_off(earlier.words, wanted):
        length = f"it has {new.words} words of the {wanted} wanted, before {earlier.words}"
        return not _is_off(new.words, wanted), (length,)
    if gained < 0 and new.words < earlier.words * TOO_SHORT:
        return False, (
            f"it says less: {_count_of(new.standing, 'claim')} that nothing speaks against, before {earlier.standing}",
        )
    if gained < 0 and new.share < earlier.share:
        shares = f"{new.share:.0%} of its claims are supported, before {earlier.share:.0%}"
        return False, (shares,)
    return True, (
        f"it has {_count_of(new.standing, 'claim')} that nothing speaks against, before {earlier.standing}",
    )


def _is_off(words: int, wanted: int) -> bool:
    return not TOO_SHORT * wanted <= words <= TOO_LONG * wanted


def _count_of(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def carried_over(state: DeepResearchState) -> str:
    """The last draft with the ids of findings that became part of others in place of theirs. A reference to a finding
    that stands no more goes."""
    standing = {finding.id for finding in state.findings}
    by_quote: dict[tuple[str, int, int], str] = {}
    for finding in state.findings:
        for quote in finding.quotes:
            by_quote.setdefault((quote.content_hash, quote.start, quote.end), finding.id)
    successors: dict[str, str] = {}
    for citation in state.citations:
        place = citation.content_hash, citation.start, citation.end
        if citation.finding_id not in standing and place in by_quote:
            successors.setdefault(citation.finding_id, by_quote[place])

    def renewed(mark: re.Match[str]) -> str:
        ids = ids_in(mark.group())
        stays = {each for each in ids if each in standing or each.startswith("src-")}
        current_ids = tuple(
            dict.fromkeys(each if each in stays else successors.get(each, "") for each in ids)
        )
        if current_ids == ids:
            return mark.group()
        ids_text = ", ".join(filter(None, current_ids))
        return f"{mark.group().partition('[')[0]}[{ids_text}]" if ids_text else ""

    return MARK.sub(renewed, state.report_draft)
