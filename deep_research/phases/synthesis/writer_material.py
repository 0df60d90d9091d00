"""What a model is given to write a report from, and how it is told to write. Pure.

Writer and revision have the same instructions and the same beginning: the question, the brief, and what was found, round
by round. What changes from one to the next stands behind that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from deep_research.budget.allocation import ItemClass
from deep_research.budget.content_budget import Content
from deep_research.phases.evidence_lines import about_finding, levels, source_names
from deep_research.phases.evidence_rounds import (
    EvidenceRounds,
    RoundEvidence,
    add_evidence,
    in_order,
    searches_by_round,
)
from deep_research.phases.prompting import (
    RULES,
    Aliases,
    Message,
    Room,
    advice,
    brief,
    listed,
    one_line,
    standing,
)
from deep_research.phases.synthesis.conflicts import conflict_line
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.phases.synthesis.model_drafts import is_of_engine
from deep_research.state import Finding, SentItem

OF_BESIDE = 0.06  # of the room, for each of the things that stand beside the findings
OF_SOURCES = 0.15  # of the room, for the lines that tell of the sources
NAME_TOKENS = 12  # of a finding's name, where it stands and in the list of how sure they are, at most
MAX_LABEL_SHARE = 0.5  # of the room for findings, for their names and sources: the rest is for what they say

MATERIAL = """\
You are given the question and what was found: the sources (S1, S2 …), with who says it, when, how good they are, and \
what they have word for word, so that you know what the findings are about; the findings (F1, F2 …), each with its \
sources; how sure they are, contradictions between them, and gaps. Nothing else counts: what you know yourself has no \
place in the report."""
STYLE = f"""\
References
- After every statement that rests on findings stand their names in square brackets, like this [F2] or \
this [F1, F4]. Only names that were given. What is true of a source as a whole (of which manual it is, who published it \
and when) stands beside it, and needs no name.
- Do not write a list of references, links, addresses, images or HTML.

Style
- Plain, exact, readable. Figures with their units and dates. Say once what is to be said, nowhere twice.
- Tell what is well supported as such. What rests on one source is told as its: who says it, and when, as in \
“according to the maintainers, March 2025”. Copies of one text are one source. Where a newer or more competent source \
stands against an older one, say so.
- Say nothing of how the research was done, of findings, sources or this task.

{RULES}"""
SYSTEM = f"""\
You write the report of a piece of research, or you revise it, as the end of the message says. {MATERIAL}

{STYLE}"""


@dataclass(frozen=True, slots=True)
class WriterMaterial:
    """The findings that a model is given, by name, with their words, and what was found as it is told of them, in
    ``rounds``. ``room`` is what the message has, ``for_sources`` and ``for_passages`` the tokens of it for sources and
    for what they have word for word; ``items`` what of all findings there was room for, out of the ``available``
    tokens."""

    findings: tuple[Finding, ...]
    names: Aliases
    texts: Mapping[str, str]
    room: Room
    rounds: tuple[RoundEvidence, ...] = ()
    lacks_sources: bool = False  # whether there was no room for all lines of sources
    items: tuple[SentItem, ...] = ()
    available: int = 0
    for_sources: int = 0
    for_passages: int = 0

    @property
    def left_out(self) -> int:
        """How many findings there was no room for."""
        return sum(not item.current_tokens for item in self.items)

    @property
    def shortened(self) -> int:
        """How many it was given in part."""
        return sum(0 < item.current_tokens < item.original_tokens for item in self.items)

    @property
    def words(self) -> str:
        """All that it was given of findings and sources."""
        return "\n".join((*self.texts.values(), *(each.text for each in self.rounds)))

    def of(self, finding_ids: Iterable[str], handoff: SynthesizerInput) -> WriterMaterial:
        """The same for some of the findings alone, under the same names."""
        wanted_ids = set(finding_ids)
        return self._with_findings(tuple(f for f in self.findings if f.id in wanted_ids), handoff)

    def _with_findings(self, findings: tuple[Finding, ...], handoff: SynthesizerInput) -> WriterMaterial:
        evidence = EvidenceRounds(
            handoff,
            self.texts,
            self.names.names,
            self.room.counter.expected,
            self.for_sources,
            self.for_passages,
        )
        rounds = evidence.rounds(findings)
        return replace(self, findings=findings, rounds=rounds, lacks_sources=evidence.is_short)


def writer_material(handoff: SynthesizerInput, room: Room) -> WriterMaterial:
    """As many findings as there is room for, in an order that stays: of each as much as it matters."""
    around = with_material(handoff, WriterMaterial((), Aliases("F", ()), {}, room))
    names = source_names(handoff.sources)
    sources = {s.id: s for s in handoff.sources}
    most = int(room.tokens * OF_SOURCES)
    lines = min(most, sum(map(around.count, names.lines_of(handoff.findings))))
    left = max(0, room.tokens - around.size - lines - int(room.tokens * OF_BESIDE))
    labels = {f.id: around.count(about_finding(f, names, sources)) + NAME_TOKENS for f in handoff.findings}
    every = [
        Content(f.id, (one_line(f.content),), *handoff.weights.finding(f, sources)) for f in handoff.findings
    ]
    contents = _within(every, labels, int(left * MAX_LABEL_SHARE))
    left -= sum(labels[each.id] for each in contents)
    findings = Message(room)
    fitted = findings.fitted(contents, left, handoff.original_query, "the findings")
    dropped = tuple(
        SentItem(id=each.id, original_tokens=around.count(each.forms[0]), current_tokens=0)
        for each in every
        if each.id not in fitted.texts
    )
    fitting = tuple(f for f in in_order(handoff) if fitted.texts.get(f.id))
    material = WriterMaterial(
        fitting,
        Aliases("F", [f.id for f in fitting]),
        {**dict.fromkeys((item.id for item in dropped), ""), **fitted.texts},
        room,
        items=(*fitted.items, *dropped),
        available=findings.available,
        for_sources=most,
        for_passages=max(0, left - fitted.tokens),
    )
    return material._with_findings(fitting, handoff)


def _within(contents: Sequence[Content], labels: Mapping[str, int], tokens: int) -> list[Content]:
    """Those that matter most, in their order, whose labels fit into so many tokens."""
    if sum(labels.values()) <= tokens:
        return list(contents)
    best: set[str] = set()
    for each in sorted(
        contents, key=lambda content: (content.klass is not ItemClass.PROTECTED, -content.priority)
    ):
        tokens -= labels[each.id]
        if tokens < 0:
            break
        best.add(each.id)
    return [each for each in contents if each.id in best]


def with_material(handoff: SynthesizerInput, material: WriterMaterial, task: str = "") -> Message:
    """A message that tells what there is to write from: first what stays the same as long as the run goes on, behind it
    the instructions of the ``task``."""
    message = Message(material.room)
    standing(message, handoff)
    brief(message, handoff.research_brief)
    add_evidence(message, material.rounds, searches=searches_by_round(handoff, message))
    message.add(task)
    add_finding_notes(material, message)
    message.sent += material.items
    message.available += material.available
    beside(handoff, material, message)
    advice(message, handoff)
    return message


def add_findings(
    material: WriterMaterial,
    message: Message,
    what: str = "What was found",
    searches: Mapping[int, Sequence[str]] = MappingProxyType({}),
) -> None:
    """The findings, and the sources that they come from, each round behind its ``searches``."""
    add_evidence(message, material.rounds, what, searches)
    add_finding_notes(material, message)


def add_finding_notes(material: WriterMaterial, message: Message) -> None:
    """What changes of findings, and whether there was no room for all sources."""
    if material.lacks_sources:
        message.shortened["the sources"] = None
    if material.findings:
        message.add(f"How sure the findings are: {levels(material.findings, material.names.names)}.")


def improvements(handoff: SynthesizerInput, message: Message) -> None:
    """What was said of a last version that is not there to be revised."""
    if handoff.improvements:
        better = message.lines([one_line(i) for i in handoff.improvements], OF_BESIDE, "improvements")
        message.add(f"What was said of the last version; write it better:\n{listed(better)}")


def beside(handoff: SynthesizerInput, material: WriterMaterial, message: Message) -> None:
    """Contradictions, gaps, and the notices that are the model's to tell."""
    contradicting(handoff, material, message)
    room = int(message.room * OF_BESIDE)
    gaps = [g for g in handoff.gaps if not g.addressed]
    if gaps:
        contents = [Content(g.id, (one_line(g.description),), *handoff.weights.gap(g)) for g in gaps]
        fitted = message.fitted(contents, room, handoff.original_query, "the gaps")
        message.add("What was not found:")
        message.material("gaps", listed(filter(None, fitted.texts.values())))
    limits = [one_line(notice.line) for notice in handoff.notices if not is_of_engine(notice)]
    if limits:
        message.add(f"Limits:\n{listed(message.lines(limits, OF_BESIDE, 'the limits'))}")


def contradicting(handoff: SynthesizerInput, material: WriterMaterial, message: Message) -> None:
    """The contradictions that the findings of the material have a side in."""
    finding_ids = {finding.id for finding in material.findings}
    names = material.names.names
    room = int(message.room * OF_BESIDE)
    sources = {s.id: s for s in handoff.sources}
    conflicts = {
        c.id: line
        for c in handoff.contradictions
        if finding_ids.intersection(c.finding_ids) and (line := conflict_line(c, names, sources))
    }
    if conflicts:
        fitted = message.fitted(
            [Content(i, (text,), 1.0) for i, text in conflicts.items()], room, "", "contradictions"
        )
        message.add("What contradicts itself:")
        message.material("contradictions", "\n".join(filter(None, fitted.texts.values())))
