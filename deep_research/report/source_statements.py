"""Statements on the sources of a report, and not on its subject: what they are called, who published them and when. Pure.

No text has to say such a thing of itself: what code knows of a source bears it out, or nothing does.
"""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.patterns import regex
from deep_research.report.citation_resolver import about
from deep_research.state import Source
from deep_research.text.statements import Reader

_WORD = regex(r"\w+")


def is_borne_out(text: str, cited: Sequence[Source], every: Sequence[Source], reads: Reader) -> bool:
    """Whether a statement says of sources what is known of them, and nothing else: of one that is named as a work (a
    manual, a page) its title, author, publisher, date, site or manual; of several, named as sources, what these are
    called together. ``cited`` are those it may speak of, ``every`` those of the report. "The manual was published in
    March 2024" is supported by the date of a source, "it doubled in March 2024" is not."""
    marks = reads.vocabulary.marks
    words = _WORD.findall(text.casefold())
    if not marks.saying.isdisjoint(words) or any(mark.denies for mark in reads.read(text).marks):
        return False
    told = marks.looked | marks.scope
    if not marks.looked.isdisjoint(words):
        named = reads.keys(" ".join(word for word in words if word not in told))
        if named and named <= reads.keys(" ".join(map(about, every))):
            return True
    if (marks.looked | marks.works).isdisjoint(words):
        return False
    told |= marks.works | marks.publishing
    named = reads.keys(" ".join(word for word in words if word not in told))
    known = [named <= reads.keys(_described(source)) for source in cited]
    whole = all if not marks.scope.isdisjoint(words) else any
    return bool(named and known) and whole(known)


def _described(source: Source) -> str:
    """All that is known of a source as a whole."""
    day = source.published
    manual = " ".join(_WORD.findall(source.metadata.get("manual", "").replace("_", " ")))
    return f"{about(source)} {manual} {f'{day.day} {day:%B} {day.year}' if day else ''}"
