"""What a model is given to write a report from, and what becomes of its draft. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deep_research.budget.tokens import Counter
from deep_research.evidence.plain import clean
from deep_research.phases.prompting import Aliases, Message, listed, one_line
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.report.render import escaped
from deep_research.state import Finding

LONGEST_TITLE = 120  # characters
SHORTEST = 100  # characters of a report
OF_ROOM = 0.8  # for findings; the rest is for what stands around them
LONGEST_QUOTE = 300  # characters of a quote beside its finding
_REFERENCE = re.compile(r"[ \t]*\[((?:F\d{1,4})(?:\s*[,;]\s*F\d{1,4})*)\]", re.IGNORECASE)
# What looks like a reference and is none: numbers are given by code, and other names are not to be referred to.
_FORGED = re.compile(
    r"(?P<code>^```.*?^```|`[^`\n]*`)"
    r"|(?<=[\w.,;:!?)”\"'*])[ \t]*\[(?:\^\w{1,20}|[SG]?[1-9]\d{0,3}(?:\s*[,;–-]\s*[SG]?[1-9]\d{0,3})*)\](?![(\[])",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r"\A\s*#[ \t]+(.+?)[ \t#]*(?:\n|\Z)")
_HEADING = re.compile(r"^##[ \t]+\S", re.MULTILINE)
_OWN_REFERENCES = re.compile(
    r"^##+[ \t]*(?:references|sources|bibliography|works cited|citations)[ \t:]*\n.*\Z",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_FENCED = re.compile(r"\A\s*```(?:markdown|md)?[ \t]*\n(.*?)\n```\s*\Z", re.DOTALL | re.IGNORECASE)
_TOLD = ("agent", "model", "analyzer", "sources")
_CUT = re.compile(r"[\w,;:(–-]\s*\Z")


@dataclass(frozen=True, slots=True)
class Given:
    """The findings that a model is given, by name, and how many there was no room for."""

    findings: tuple[Finding, ...]
    names: Aliases
    left_out: int = 0

    def line(self, finding: Finding) -> str:
        voices = len(finding.source_ids)
        about = f"{finding.confidence.value}, {voices} source{'s' if voices != 1 else ''}"
        theme = f"; {one_line(finding.category)}" if finding.category else ""
        quote = finding.quotes[0].quote if finding.quotes else ""
        words = one_line(quote)
        shown = (
            f' — "{words}"' if words and len(words) <= LONGEST_QUOTE and words not in finding.content else ""
        )
        return f"{self.names.names[finding.id]} ({about}{theme}): {one_line(finding.content)}{shown}"


def given(handoff: SynthesizerInput, *, room: int) -> Given:
    """As many findings as there is room for, those of the earliest rank first."""
    all_names = Aliases("F", [f.id for f in handoff.findings])
    everything = Given(handoff.findings, all_names)
    counter, left = Counter(), int(room * OF_ROOM)
    kept = []
    for finding in handoff.findings:
        left -= counter.expected(everything.line(finding)) + 1
        if left < 0:
            break
        kept.append(finding)
    names = Aliases("F", [f.id for f in kept])
    return Given(tuple(kept), names, left_out=len(handoff.findings) - len(kept))


def told(handoff: SynthesizerInput, material: Given, message: Message) -> None:
    """The findings and what is to be known beside them."""
    if handoff.research_brief:
        message.add(f"How it was looked into: {one_line(handoff.research_brief)}")
    message.add("What was found:")
    message.material("findings", "\n".join(material.line(f) for f in material.findings))
    beside(handoff, material, message)
    if handoff.improvements:
        message.add(
            f"What was said of the last version; write it better:\n{listed(map(one_line, handoff.improvements))}"
        )


def beside(handoff: SynthesizerInput, material: Given, message: Message) -> None:
    """Contradictions, gaps and limits."""
    names = material.names.names
    conflicts = [
        f"{', '.join(names[i] for i in c.finding_ids if i in names)}: {one_line(c.description)}"
        for c in handoff.contradictions
    ]
    if conflicts:
        message.add("What contradicts itself:")
        message.material("contradictions", "\n".join(conflicts))
    gaps = [one_line(gap.description) for gap in handoff.gaps if not gap.addressed]
    if gaps:
        message.add("What was not found:")
        message.material("gaps", listed(gaps))
    if handoff.limits:
        message.add(f"Limits of the research:\n{listed(one_line(limit.message) for limit in handoff.limits)}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft in the form that the phase wants: a title, and ids in place of names. ``problem`` says why it is none."""

    text: str
    problem: str = ""

    @classmethod
    def of(cls, written: str, question: str, material: Given) -> Draft:
        body = body_of(written)
        title = _TITLE.match(body)
        heading = one_line(title.group(1)) if title else " ".join(question.split())
        if title:
            body = body[title.end() :]
        body, references = with_ids(body, material)
        if len(heading) > LONGEST_TITLE:
            heading = f"{heading[:LONGEST_TITLE].rsplit(' ', 1)[0]} …"
        text = f"# {escaped(heading)}\n\n{body.strip()}\n"
        return cls(text, _problem(body, references))


def with_notes(report: str, handoff: SynthesizerInput, material: Given) -> str:
    """The report with what the engine has to say of itself: what was left out, and who did not do his work."""
    notes = [
        escaped(limit.message)
        for limit in handoff.limits
        if limit.name in _TOLD or limit.name.startswith("max_")
    ]
    if material.left_out:
        notes.append(
            f"{material.left_out} findings were left out, since they did not fit the model's window."
        )
    return f"{report.rstrip()}\n\n## Limits of this research\n\n{listed(notes)}\n" if notes else report


def body_of(written: str) -> str:
    """The text without a fence around it, and without a list of references of its own."""
    body = clean(written).strip()
    if fenced := _FENCED.match(body):
        body = fenced.group(1)
    return _OWN_REFERENCES.sub("", body).strip()


def with_ids(body: str, material: Given) -> tuple[str, int]:
    """Names of findings become their ids; names that were not given go, and so do numbers that look like references.
    The number of references that stand."""
    count = 0

    def ids(match: re.Match[str]) -> str:
        nonlocal count
        found = material.names.all(re.findall(r"F\d+", match.group(1), re.IGNORECASE))
        count += len(found)
        return f" [{', '.join(found)}]" if found else ""

    body = _FORGED.sub(lambda match: match["code"] or "", body)
    return _REFERENCE.sub(ids, body), count


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
    """Whether a text ends in the middle of a sentence."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    return bool(_CUT.search(last)) and not last.startswith(("#", "|", "-", "*", "[")) and len(last) > 40
