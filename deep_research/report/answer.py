"""The answer of a report: what a reader wants who reads nothing else."""

from __future__ import annotations

import re

from deep_research.patterns import regex
from deep_research.report.markup import without_code
from deep_research.report.own_lines import GAPS, LIMITS, OPENING, STOPPED
from deep_research.report.render import EXPLAINED, EXPLAINED_PARTLY, REFERENCES

_HEADING = regex(r"^(#{1,2})[ \t]+([^\n]*)$", re.MULTILINE)
_OTHERS = (GAPS, LIMITS, REFERENCES)
_OWN = (OPENING, EXPLAINED.lstrip("*"), EXPLAINED_PARTLY.lstrip("*"), *STOPPED.values())


def answer_of(report: str) -> str:
    """The text under the title, or where there is none that of the first section, in Markdown, with the numbers of its
    citations; empty for a report without either. What the engine says of the report is left out."""
    headings = [*_HEADING.finditer(without_code(report))]
    ends = [*(heading.start() for heading in headings[1:]), len(report)]
    if not headings or report[: headings[0].start()].strip():
        return _text(report[: headings[0].start() if headings else len(report)])
    for heading, end in zip(headings, ends, strict=True):
        text = _text(report[heading.end() : end])
        if text and heading[2].strip(" \t#") not in _OTHERS:
            return text
    return ""


def _text(section: str) -> str:
    paragraphs = (part.strip() for part in section.split("\n\n"))
    return "\n\n".join(part for part in paragraphs if part and not part.lstrip("*_").startswith(_OWN))
