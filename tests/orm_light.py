"""Two sources with findings, a gap, and drafts over them: what the tests of claims are about."""

from datetime import date

from deep_research.state import ConfidenceLevel, DeepResearchState, Finding, Gap, Quote, Source
from deep_research.state.journal import Content

ORM_TEXT = """\
# The Orm Light

The Orm lighthouse was built in 1811 by Ada Brook. Its tower is 90 feet tall and stands on a reef of granite.
The keepers were never paid in gold. The lamp burned whale oil until 1843.
"""
HARE_TEXT = """\
# The Hare Light

The Hare lighthouse was painted white in 1902. Its lamp was lit by Carl Stone on a stormy night.
The lamp was bought for 40 pounds.
"""
BUILT = "The Orm lighthouse was built in 1811 by Ada Brook."
TALL = "The tower of the Orm lighthouse is 90 feet tall."
WHITE = "The Hare lighthouse was painted white in 1902."


def source(number, title, text, **more):
    return Source(
        id=f"src-{number:012x}",
        sub_query_id="subq-1",
        title=title,
        url=f"https://ok.example/{number}",
        content_hash=Content.of(text).hash,
        length=len(text),
        **more,
    )


def finding(number, content, of, text, quote=None):
    quote = quote or content
    start = text.index(quote)
    return Finding(
        id=f"find-{number:012x}",
        content=content,
        confidence=ConfidenceLevel.MEDIUM,
        source_ids=(of.id,),
        quotes=(
            Quote(
                source_id=of.id,
                quote=quote,
                start=start,
                end=start + len(quote),
                content_hash=of.content_hash,
            ),
        ),
    )


ORM = source(1, "The Orm Light", ORM_TEXT, published=date(2019, 3, 1))
HARE = source(2, "The Hare Light", HARE_TEXT)
FINDINGS = (
    finding(1, BUILT, ORM, ORM_TEXT),
    finding(2, TALL, ORM, ORM_TEXT, "Its tower is 90 feet tall and stands on a reef of granite."),
    finding(3, WHITE, HARE, HARE_TEXT),
)
TEXTS = {ORM.content_hash: ORM_TEXT, HARE.content_hash: HARE_TEXT}
F1, F2, F3 = (f"[{each.id}]" for each in FINDINGS)
COST = "What the Orm lighthouse cost to build"


def state(**more):
    fields = {
        "query": "How tall is the Orm lighthouse?",
        "sources": (ORM, HARE),
        "findings": FINDINGS,
        "gaps": (Gap(id="gap-1", description=COST),),
        **more,
    }
    return DeepResearchState(**fields)
