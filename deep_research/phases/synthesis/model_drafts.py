"""What a model is given to write a report from, how it is told to write, and what becomes of its draft. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deep_research.budget.content_budget import Content
from deep_research.budget.report_cost import PASSAGES
from deep_research.errors import ModelError
from deep_research.evidence.plain import clean
from deep_research.evidence.quotes import shortened
from deep_research.models.base import StopReason
from deep_research.models.failures import Verdict, failure
from deep_research.models.language_model import Answer, LanguageModel
from deep_research.patterns import regex
from deep_research.phases.evidence_lines import (
    NO_SOURCES,
    SourceNames,
    finding_forms,
    source_names,
    with_quotes,
)
from deep_research.phases.prompting import RULES, Aliases, Message, Room, brief, listed, one_line, opening
from deep_research.phases.synthesis.conflicts import conflict_line
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.report.markup import escaped
from deep_research.report.own_lines import LIMITS
from deep_research.report.report_document import Block, Document
from deep_research.state import Finding, Limit, Notice, SentItem

LONGEST_TITLE = 120  # characters
SHORTEST = 100  # characters of a report
OF_BESIDE = 0.06  # of the room, for each of the things that stand beside the findings
OF_SOURCES = 0.15  # of the room, for the lines that tell of the sources
NAME = 8  # tokens of a finding's name and the end of its line, at most
# Names as they are asked for, and as some write them all the same: [F1 and F2], [F1-F3], 【F1】, [**F1**], (F1).
_NAME = r"\**(?:F|finding[ \t]{1,3})\d{1,4}\**"
_NAMES = rf"\s*(?:findings?\s+)?({_NAME}(?:(?:\s*[,;&–-]\s*|\s+and\s+){_NAME})*)\s*"
_REFERENCE = regex(rf"(?<![ \t])[ \t]*+[\[【]{_NAMES}[\]】]", re.IGNORECASE)
# What looks like a reference and is none: numbers are given by code, and other names are not to be referred to.
_FORGED = regex(
    r"(?P<code>^```.*?^```|`[^`\n]*`)"
    r"|(?<=[\w.,;:!?)\]”\"'*])[ \t]*\[(?:\^\w{1,20}|[SG]?[1-9]\d{0,3}(?:\s*[,;–-]\s*[SG]?[1-9]\d{0,3})*)\](?!\()",
    re.MULTILINE | re.DOTALL,
)
_SPELT = regex(r"finding[ \t]{1,3}(?=\d)", re.IGNORECASE)
_ROUND = regex(rf"(?<![ \t])[ \t]*+\({_NAMES}\)", re.IGNORECASE)
_RANGE = regex(r"F(\d{1,4})\**\s*[–-]\s*\**F(\d{1,4})", re.IGNORECASE)
MOST_IN_RANGE = 20
_THOUGHTS = regex(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_MARKED = regex(r"^.*<<[0-9a-f]{16} [^>\n]{0,80}>>.*\n?", re.MULTILINE)
_TITLE = regex(r"^#[ \t]+(.+?)[ \t#]*(?:\n|\Z)", re.MULTILINE)
LONGEST_PREFACE = 300  # characters before the title: "Here is the report"
_ITEM = regex(r"\s*(?:[-*+]|\d+[.)])\s")
_HEADING = regex(r"^##[ \t]+\S", re.MULTILINE)
# A list of references of its own, up to the next heading: numbers and the list are put in by code.
_OWN_REFERENCES = regex(
    r"^(?:#{1,6}[ \t]*|\*\*)(?:references|sources|source list|bibliography|works cited|citations|quellen"
    r"|literatur(?:verzeichnis)?|quellenverzeichnis|références|bibliographie|fuentes|referencias|bibliografía"
    r"|fonti|referências|источники|参考文献|参考资料)[ \t:*]*\n.*?(?=^#{1,6}[ \t]|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_FENCED = regex(
    r"\A(.{0,300}?)^```(?:markdown|md)?[ \t]*\n(.*?)\n```\s*\Z", re.DOTALL | re.IGNORECASE | re.MULTILINE
)
# Notices that the engine tells itself, beside limits; the others are for the model to weigh.
_TOLD = (
    "agent",
    "model",
    "analyzer",
    "sources",
    "pages",
    "window",
    "evidence",
    "archive",
    "summarizer",
    "guidance",
    "option",
)

MATERIAL = """\
You are given the question and what was found: findings (F1, F2 …) with how sure they are, contradictions \
between them, and gaps. Of the sources (S1, S2 …) you are told who says it, when, and how good they are; what they have \
word for word stands beside the findings, so that you know what these are about. Nothing else counts: what you know \
yourself has no place in the report."""
STYLE = f"""\
References
- After every statement that rests on findings stand their names in square brackets, like this [F2] or \
this [F1, F4]. Only names that were given.
- Do not write a list of references, links, addresses, images or HTML.

Style
- Plain, exact, readable. Figures with their units and dates. Say once what is to be said, nowhere twice.
- Tell what is well supported as such. What rests on one source is told as its: who says it, and when, as in \
“according to the maintainers, March 2025”. Copies of one text are one source. Where a newer or more competent source \
stands against an older one, say so.
- Say nothing of how the research was done, of findings, sources or this task.

{RULES}"""


@dataclass(frozen=True, slots=True)
class Given:
    """The findings that a model is given, by name, with what it is told of each, and of their sources. ``room`` is what
    the message has, ``for_findings`` the tokens of it that they may take; ``sent`` what of all findings there was room
    for, out of the ``available`` tokens."""

    findings: tuple[Finding, ...]
    names: Aliases
    texts: Mapping[str, str]
    room: Room
    sources: SourceNames = NO_SOURCES
    sent: tuple[SentItem, ...] = ()
    available: int = 0
    for_findings: int = 0

    @property
    def left_out(self) -> int:
        """How many findings there was no room for."""
        return sum(not item.current_tokens for item in self.sent)

    @property
    def shortened(self) -> int:
        """How many it was given in part."""
        return sum(0 < item.current_tokens < item.original_tokens for item in self.sent)

    @property
    def words(self) -> str:
        """All that it was given of findings."""
        return "\n".join(self.texts.values())

    def line(self, finding: Finding) -> str:
        return f"{self.names.names[finding.id]} {self.texts[finding.id]}"


def given(handoff: SynthesizerInput, room: Room) -> Given:
    """As many findings as there is room for, in their order: of each as much as it matters."""
    around = Message(room)
    opening(around, handoff)
    told(handoff, Given((), Aliases("F", ()), {}, room), around)
    named = source_names(handoff.sources)
    sources = {s.id: s for s in handoff.sources}
    lines = min(int(room.tokens * OF_SOURCES), around.count("\n".join(named.told(handoff.findings))))
    left = room.tokens - around.size - lines - int(room.tokens * OF_BESIDE) - NAME * len(handoff.findings)
    contents = [
        Content(f.id, finding_forms(f, named, sources), *handoff.weights.finding(f, sources))
        for f in handoff.findings
    ]
    findings = Message(room)
    fitted = findings.fitted(contents, max(0, left), handoff.original_query, "the findings")
    kept = tuple(f for f in handoff.findings if fitted.texts[f.id])
    names = Aliases("F", [f.id for f in kept])
    return Given(kept, names, fitted.texts, room, named, fitted.items, findings.available, max(0, left))


def with_passages(material: Given, handoff: SynthesizerInput) -> Given:
    """The same, with what stands around the quotes of the first findings, where it fits; each passage once."""
    count = material.room.counter.expected
    used = sum(count(material.texts[finding.id]) for finding in material.findings)
    spare = min(PASSAGES, material.for_findings - used)
    sources = {s.id: s for s in handoff.sources}
    texts = dict(material.texts)
    shown: set[str] = set()
    for finding in material.findings:
        said = finding_forms(finding, material.sources, sources)[-1]
        around = ["" if text in shown else text for text in handoff.passages.get(finding.id, ())]
        whole = with_quotes(finding, around, material.sources, said)
        more = count(whole) - count(texts[finding.id]) if whole else 0
        if whole and more <= spare:
            spare -= max(0, more)
            shown.update(around)
            texts[finding.id] = whole
    return replace(material, texts=texts)


def with_material(handoff: SynthesizerInput, material: Given) -> Message:
    """A message that tells what there is to write from, and not yet what to write."""
    message = Message(material.room)
    opening(message, handoff)
    told(handoff, material, message)
    return message


def told(handoff: SynthesizerInput, material: Given, message: Message) -> None:
    """The findings and what is to be known beside them."""
    brief(message, handoff.research_brief)
    searched(handoff, message)
    found(material, message)
    message.sent += material.sent
    message.available += material.available
    beside(handoff, material, message)
    if handoff.improvements:
        better = message.lines([one_line(i) for i in handoff.improvements], OF_BESIDE, "improvements")
        message.add(f"What was said of the last version; write it better:\n{listed(better)}")


def found(material: Given, message: Message, heading: str = "What was found:") -> None:
    """The findings, and the sources that they come from."""
    sources = material.sources.told(material.findings)
    where = "Where it was found; these names are for you, and no references:"
    message.listing(where, "sources", sources, OF_SOURCES, "the sources", bullet="")
    message.add(heading)
    message.material("findings", "\n".join(material.line(f) for f in material.findings))


def searched(handoff: SynthesizerInput, message: Message) -> None:
    """What was searched for, and why."""
    lines = [f"{one_line(s.query)} — {one_line(s.rationale)}" for s in handoff.sub_queries if s.rationale]
    if lines:
        told = listed(message.lines(lines, OF_BESIDE, "the searches"))
        message.add(f"What was searched for, and why:\n{told}")


def beside(handoff: SynthesizerInput, material: Given, message: Message) -> None:
    """Contradictions, gaps, and the notices that are the model's to tell."""
    contradicting(handoff, material, message)
    room = int(message.room * OF_BESIDE)
    gaps = [g for g in handoff.gaps if not g.addressed]
    if gaps:
        contents = [Content(g.id, (one_line(g.description),), *handoff.weights.gap(g)) for g in gaps]
        fitted = message.fitted(contents, room, handoff.original_query, "the gaps")
        message.add("What was not found:")
        message.material("gaps", listed(filter(None, fitted.texts.values())))
    limits = [one_line(notice.line) for notice in handoff.notices if not _is_told(notice)]
    if limits:
        message.add(f"Limits:\n{listed(message.lines(limits, OF_BESIDE, 'the limits'))}")


def contradicting(handoff: SynthesizerInput, material: Given, message: Message) -> None:
    """The contradictions that the findings of the material have a side in."""
    given_ = {finding.id for finding in material.findings}
    names = material.names.names
    room = int(message.room * OF_BESIDE)
    sources = {s.id: s for s in handoff.sources}
    conflicts = {
        c.id: line
        for c in handoff.contradictions
        if given_.intersection(c.finding_ids) and (line := conflict_line(c, names, sources))
    }
    if conflicts:
        fitted = message.fitted(
            [Content(i, (text,), 1.0) for i, text in conflicts.items()], room, "", "contradictions"
        )
        message.add("What contradicts itself:")
        message.material("contradictions", "\n".join(filter(None, fitted.texts.values())))


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft in the form that the phase wants: a title, and ids in place of names. ``problem`` says why it is none."""

    text: str
    problem: str = ""

    @classmethod
    def of(cls, written: str, question: str, material: Given) -> Draft:
        body = body_of(written)
        title = _TITLE.search(body)
        if title and title.start() <= LONGEST_PREFACE and not _HEADING.search(body[: title.start()]):
            heading = one_line(_REFERENCE.sub("", title.group(1)))
            body = body[title.end() :]
        else:
            heading = one_line(question)
        body, references = with_ids(_demoted(body), material.names, material.words)
        text = f"# {escaped(shortened(heading, LONGEST_TITLE))}\n\n{body.strip()}\n"
        return cls(text, _problem(body, references))


def with_notes(report: str, handoff: SynthesizerInput, more: Sequence[str] = ()) -> str:
    """The report with what the engine has to say of itself: what was left out, and who did not do his work."""
    said = [notice.line for notice in handoff.notices if _is_told(notice)]
    notes = list(dict.fromkeys(escaped(note) for note in (*said, *more)))
    if not notes:
        return report
    section = (Block.heading(2, LIMITS), *Block.items(notes))
    return f"{Document.read(report.rstrip()).with_blocks(section).markdown}\n"


def _is_told(notice: Notice) -> bool:
    return isinstance(notice, Limit) or notice.name in _TOLD


def body_of(written: str) -> str:
    """The text without thoughts before it, a fence around it, marks of ours, and a list of references of its own."""
    body = _MARKED.sub("", _THOUGHTS.sub("", clean(written))).strip()
    if fenced := _FENCED.match(body):
        body = fenced.group(2)
    return _OWN_REFERENCES.sub("", f"{body}\n").strip()


def with_ids(body: str, names: Aliases, material: str = "") -> tuple[str, int]:
    """Names of findings become their ids; names that were not given go, and so do numbers that look like references.
    The number of references that stand. Names in round brackets, which the ``material`` may have too, are references
    unless it has them."""
    count = 0

    def ids(match: re.Match[str]) -> str:
        nonlocal count
        written = _SPELT.sub("F", match.group(1))
        found = names.all(re.findall(r"F\d+", _RANGE.sub(_counted_out, written), re.IGNORECASE))
        count += len(found)
        return f" [{', '.join(found)}]" if found else ""

    body = _FORGED.sub(lambda match: match["code"] or "", body)
    # A heading refers to nothing.
    body = "\n".join(_REFERENCE.sub("" if line.startswith("#") else ids, line) for line in body.split("\n"))
    own = {match.group().strip() for match in _ROUND.finditer(material)} if count else set[str]()
    body = _ROUND.sub(lambda match: match.group() if match.group().strip() in own else ids(match), body)
    return body, count


def _demoted(body: str) -> str:
    """With one title alone: further ones are sections. Comments in code stay what they are."""
    code, lines = False, []
    for line in body.split("\n"):
        code ^= line.startswith("```")
        lines.append(f"#{line}" if line.startswith("# ") and not code else line)
    return "\n".join(lines)


def _counted_out(match: re.Match[str]) -> str:
    first, last = int(match.group(1)), int(match.group(2))
    return ", ".join(f"F{n}" for n in range(first, min(last, first + MOST_IN_RANGE) + 1))


def _problem(body: str, references: int) -> str:
    if len(body.strip()) < SHORTEST:
        return "it is empty or nearly so."
    if not references:
        return "it refers to none of the findings."
    if not _HEADING.search(body):
        return "it has no sections."
    if is_cut(body):
        return "it breaks off."
    return ""


def is_cut(text: str) -> bool:
    """Whether a text ends in the middle of a sentence. Scripts without capitals have ends of their own."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines or lines[-1].startswith("|"):
        return False
    *before, last = lines
    if last.startswith("#"):
        return True
    is_item = bool(_ITEM.match(last))
    others = [line for line in before if line[0] not in "#|" and bool(_ITEM.match(line)) is is_item]
    if not _breaks_off(last):
        return False
    # Who ends all other lines with a mark did not mean to end here.
    ended = sum(not _breaks_off(line) for line in others)
    return ended * 2 > len(others) if others else len(last) > 40 and not is_item


def _breaks_off(line: str) -> bool:
    last = line.rstrip()[-1]
    return last in ",;:(–-" or last.islower()


def complete(answer: Answer[str], model: LanguageModel) -> bool:
    """Whether a text came to its own end. One that the wire cut, however often it was asked for, is an outage: raises
    `ModelError`."""
    if answer.stop is StopReason.INCOMPLETE:
        raise failure(Verdict.TRANSIENT, "the answer was cut off each time", model=model.name)
    return answer.stop is StopReason.END


def unusable(model: LanguageModel, problem: str) -> ModelError:
    return failure(Verdict.MALFORMED, problem, model=model.name)
