"""Places of the reference numbers in a finished report. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from deep_research.patterns import regex
from deep_research.report.report_document import BlockKind, Document

_CODE = regex(r"(?<![`\\])(`{1,8})(?!`)[^\n]*?(?<!`)\1(?!`)")
_MARK = regex(
    r"(?<= )\[(\d{1,4}(?:, \d{1,4}){0,40})\]"
)  # a bracket of outside text has a backslash before it
_NUMBER = regex(r"\d+")


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """A reference as it stands in a report: its number, and where its mark begins and ends, in characters."""

    number: int
    start: int
    end: int


def reference_marks(report: str, numbers: Collection[int]) -> Iterator[ReferenceMark]:
    """The marks of the references of these ``numbers``, in their order. The mark of ``[3]`` has its brackets; those of
    ``[1, 2]`` are the numbers alone, so that no two overlap.

    Example:
        [report[mark.start : mark.end] for mark in reference_marks("It is tall. [1] It is red. [1, 2]", (1, 2))]
        # ["[1]", "1", "2"]
    """
    start = 0
    for block in Document.read(report).blocks:
        text = block.markdown + block.gap
        if block.kind is not BlockKind.CODE:
            yield from _marks_in(text, start, numbers)
        start += len(text)


def _marks_in(text: str, start: int, numbers: Collection[int]) -> Iterator[ReferenceMark]:
    # What is code is blanked out; all else stays where it is.
    shown = _CODE.sub(lambda match: "`" * len(match.group()), text)
    for mark in _MARK.finditer(shown):
        found = list(_NUMBER.finditer(shown, *mark.span()))
        if not {int(each.group()) for each in found} <= set(numbers):
            continue
        if len(found) == 1:
            yield ReferenceMark(int(found[0].group()), start + mark.start(), start + mark.end())
            continue
        for each in found:
            yield ReferenceMark(int(each.group()), start + each.start(), start + each.end())
