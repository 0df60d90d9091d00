"""What becomes of the draft that a model wrote: its title, its references, and whether it is one. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deep_research.errors import ModelError
from deep_research.models.base import StopReason
from deep_research.models.failures import Verdict, failure
from deep_research.models.language_model import Answer, LanguageModel
from deep_research.patterns import regex
from deep_research.phases.prompting import Aliases, one_line
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.provenance.quotes import shortened
from deep_research.report.markup import escaped
from deep_research.report.report_document import Block, Document
from deep_research.report.report_notices import LIMITS
from deep_research.state import Limit, Notice
from deep_research.text.plain import clean

MAX_TITLE_CHARS = 120
MIN_REPORT_CHARS = 100  # characters of a report
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
MAX_RANGE_LENGTH = 20
_THOUGHTS = regex(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_MARKED = regex(r"^.*<<[0-9a-f]{16} [^>\n]{0,80}>>.*\n?", re.MULTILINE)
_TITLE = regex(r"^#[ \t]+(.+?)[ \t#]*(?:\n|\Z)", re.MULTILINE)
MAX_PREFACE_CHARS = 300  # characters before the title: "Here is the report"
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


@dataclass(frozen=True, slots=True)
class ModelDraft:
    """A draft in the form that the phase wants: a title, and ids in place of names. ``problem`` says why it is none."""

    text: str
    problem: str = ""

    @classmethod
    def of(cls, written: str, question: str, names: Aliases, material: str = "") -> ModelDraft:
        """``names`` are those of findings, ``material`` what the writer was given."""
        body = body_of(written)
        title = _TITLE.search(body)
        if title and title.start() <= MAX_PREFACE_CHARS and not _HEADING.search(body[: title.start()]):
            heading = one_line(_REFERENCE.sub("", title.group(1)))
            body = body[title.end() :]
        else:
            heading = one_line(question)
        body, references = with_ids(_demoted(body), names, material)
        text = f"# {escaped(shortened(heading, MAX_TITLE_CHARS))}\n\n{body.strip()}\n"
        return cls(text, _problem(body, references))


def with_notes(report: str, handoff: SynthesizerInput, more: Sequence[str] = ()) -> str:
    """The report with what the engine has to say of itself: what was left out, and who did not do his work."""
    note_lines = [notice.line for notice in handoff.notices if is_of_engine(notice)]
    notes = list(dict.fromkeys(escaped(note) for note in (*note_lines, *more)))
    if not notes:
        return report
    section = (Block.heading(2, LIMITS), *Block.items(notes))
    return f"{Document.read(report.rstrip()).with_blocks(section).markdown}\n"


def is_of_engine(notice: Notice) -> bool:
    """Whether the engine itself tells of it below the report."""
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
        labels = _SPELT.sub("F", match.group(1))
        finding_ids = names.all(re.findall(r"F\d+", _RANGE.sub(_counted_out, labels), re.IGNORECASE))
        count += len(finding_ids)
        return f" [{', '.join(finding_ids)}]" if finding_ids else ""

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
    return ", ".join(f"F{n}" for n in range(first, min(last, first + MAX_RANGE_LENGTH) + 1))


def _problem(body: str, references: int) -> str:
    if len(body.strip()) < MIN_REPORT_CHARS:
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
    whole_lines = sum(not _breaks_off(line) for line in others)
    return whole_lines * 2 > len(others) if others else len(last) > 40 and not is_item


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
