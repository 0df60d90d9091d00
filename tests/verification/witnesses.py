"""Sources and what findings say of them."""

from deep_research.state import ConfidenceLevel, Finding, Quote, Source, SourceQuality
from deep_research.state.identity import finding_id

TITLE = "The tower and the power station of Mole"


def source(name, **fields):
    made = {"title": TITLE, "quality": SourceQuality.MEDIUM, "content_hash": name, **fields}
    return Source(id=name, sub_query_id="q", url=f"https://{name}.example/", **made)


def finding(content, *quotes, sources=("a",), confidence=ConfidenceLevel.MEDIUM):
    """``quotes`` are pairs of a source and its words; without any, the sources are quoted with the content."""
    quoted = quotes or [(name, content) for name in sources]
    return Finding(
        id=finding_id(content),
        content=content,
        confidence=confidence,
        source_ids=tuple(dict.fromkeys(name for name, _ in quoted)),
        quotes=tuple(
            Quote(source_id=name, quote=text, start=100, end=100 + len(text), content_hash=name)
            for name, text in quoted
        ),
    )
