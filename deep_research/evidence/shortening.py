"""A sentence without what says nothing of its subject: a byline before it, an opening, marks of references. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.debris import standing_alone
from deep_research.state import Span

_MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
# What a list of results writes before a text: "by J Doe · 2021 · Cited by 16 — ", "Mar 3, 2021 — ".
_BYLINE = re.compile(
    r"(?:by \S[^·\n]{0,80}(?: · (?:19|20)\d\d)?(?: · Cited by [\d,]+)?"
    rf"|(?:{_MONTH})[a-z]* \d{{1,2}}, (?:19|20)\d\d) — (?=\S)"
)
_OPENINGS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:In|Throughout) (?:this|the present) (?:paper|work|study|article|survey|letter|thesis|report|chapter),?\s+"
        r"(?=\w)",
        r"To (?:address|tackle|solve|overcome|mitigate|remedy|alleviate|bridge|fill) (?:this|these|the|such) "
        r"(?:[\w-]+ ){0,2}(?:problem|issue|challenge|limitation|gap|drawback|shortcoming|difficulty|difficultie)s?,\s+",
        r"(?:Summary|Abstract)\s*[:.—]\s*",
        r"(?:Overall|Notably|Importantly|Interestingly|Unfortunately|Second|Secondly|Third|Thirdly|Lastly),\s+(?=\w)",
        # Who found it stands in the reference; how sure they are ("suggest") stays.
        r"(?:(?:We (?:also |further )?|(?:Our |The )?(?:extensive |experimental |empirical |comprehensive )*"
        r"(?:results?|experiments?|evaluations?|findings?|analys[ei]s) (?:also |further )?)"
        r"(?:show|demonstrate|reveal|find|observe|prove|confirm|verif(?:y|ie))s? that)\s+(?=\w)",
    )
)
_REFERENCES = re.compile(r"\s\[\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\]")
_VISIBLE = re.compile(r"\S")
_ENDS = ".!?…\"”'’)"
# Hardly found outside of sentences, unlike most words of a title or a list of names.
_SAYING = re.compile(
    r"\b(?:we|is|are|was|were|has|have|can|which|that|it|they|proposes?|presents?|introduces?|achieves?|shows?)\b",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"(?:[\s,;:(\[—–-]+(?:(?:an?|the|of|at|by|for|in|on|to|with|from|and|or|but|as|its|their|our|this|these|that|which"
    r"|is|are|be|while|when|where|using|via|into)\b)?)+\Z",
    re.IGNORECASE,
)
# What is meant stands in the sentence before.
_BACKWARD = re.compile(
    r"(?:(?:it|they|he|she|its|their|his|her|these|those|such|that|then|also|and|but)\b"
    r"|this (?!paper|work|study|article|survey|thesis|report|letter|review|chapter))",
    re.IGNORECASE,
)


def stands_alone(sentence: str) -> bool:
    """Whether it can be read without the one before; and says something, if it ends with dots as titles do in lists."""
    if sentence.endswith(("…", "...")) and not _SAYING.search(sentence):
        return False
    return _BACKWARD.match(sentence) is None


def without_byline(text: str, span: Span) -> Span:
    """Where a sentence begins, when a list of results has put its author and year before it."""
    match = _BYLINE.match(text, span.start, span.end)
    return Span(start=match.end(), end=span.end) if match else span


def breaks_off(text: str, span: Span) -> bool:
    """Whether a text ends within this sentence, as excerpts do; what has no word of a sentence is none."""
    return (
        text[span.end - 1] not in _ENDS
        and _VISIBLE.search(text, span.end) is None
        and _SAYING.search(text, span.start, span.end) is not None
    )


def shortened(sentence: str) -> str:
    """The sentence without openings and without the numbers of its own references."""
    text = _REFERENCES.sub("", sentence)
    for _ in _OPENINGS:
        before = text
        for opening in _OPENINGS:
            if match := opening.match(text):
                text = text[match.end() :]
                text = text[:1].upper() + text[1:]
        text = standing_alone(text)
        if text == before:
            break
    return text


def marked(beginning: str) -> str:
    """The beginning of a sentence that breaks off, with the mark of that in place of a loose last word."""
    return f"{_LOOSE.sub('', beginning)} …"
