"""A report that rests on little says so before its first sentence."""

import pytest

from deep_research.report.checking import Checker
from deep_research.report.render import finished
from deep_research.report.report_document import Block, Document
from deep_research.report.report_notices import caution
from deep_research.state import (
    ClaimBasis,
    ConfidenceLevel,
    DeepResearchState,
    Finding,
    Quote,
    Source,
    SourceKind,
    SourceQuality,
)

HIGH, LOW, UNKNOWN = SourceQuality.HIGH, SourceQuality.LOW, SourceQuality.UNKNOWN


def source(n, quality=HIGH, text="", kind=SourceKind.WEB):
    fields = {
        "title": f"Page {n}",
        "url": f"https://site{n}.example/{n}",
        "content_hash": text or f"hash-{n}",
    }
    return Source(id=f"src-{n:012x}", sub_query_id="subq-a", quality=quality, kind=kind, **fields)


def finding(n, of):
    said = f"The tower number {n} was built in {1800 + n} by keeper {n}."
    quote = Quote(source_id=of.id, quote=said, start=0, end=len(said), content_hash=of.content_hash)
    fields = {"confidence": ConfidenceLevel.LOW, "source_ids": (of.id,), "quotes": (quote,)}
    return Finding(id=f"find-{n:012x}", content=said, **fields)


ONE, TWO, THREE = source(1, UNKNOWN), source(2), source(3)
DRAFT = "It was built in 1800. [find-000000000000]"


@pytest.mark.parametrize(
    ("sources", "of", "told"),
    [
        ((ONE, TWO, THREE), (0, 1, 2), ""),
        ((ONE, TWO), (0, 1), "2 findings"),
        ((ONE,), (0, 0, 0), "one source alone"),
        ((TWO,), (0, 0, 0), ""),
        ((source(1, LOW, kind=SourceKind.DOCUMENT), TWO), (0, 0, 0), "no source of more than low quality"),
        ((source(1, UNKNOWN, "a"), source(2, UNKNOWN, "a")), (0, 1, 1), "sources that speak with one voice"),
        ((source(1, LOW), source(2, LOW)), (0, 1, 1), "no source of more than low quality"),
        ((source(1, LOW), source(2, UNKNOWN)), (0, 1, 1), "no source of more than low quality"),
        ((source(1, UNKNOWN), source(2, UNKNOWN)), (0, 1, 1), ""),
        ((source(1, LOW), TWO), (0, 1, 1), ""),
        (
            (source(1, LOW),),
            (0,),
            "1 finding, on one source alone, and on no source of more than low quality",
        ),
        ((ONE,), (), "nothing that was found"),
    ],
)
def test_what_is_little_is_told(sources, of, told):
    found = caution([finding(n, sources[at]) for n, at in enumerate(of)], sources)
    assert found == (f"Read with caution: this report rests on {told}." if told else "")


def test_it_stands_once_after_the_title_and_tells_of_what_is_cited():
    findings = [finding(n, s) for n, s in enumerate((ONE, TWO, THREE))]
    text, metadata, _ = finished(f"# Towers\n\n## Answer\n\n{DRAFT}", findings, [ONE, TWO, THREE], writer="w")
    assert text.startswith(
        "# Towers\n\n*Read with caution: this report rests on 1 finding, and on one source alone.*\n\n## Answer"
    )
    assert metadata.sections == ("Answer", "References")
    assert metadata.word_count == 10  # what the report itself says


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# T\n\nX", "# T\n\n*Low.*\n\nX"),
        ("# T\n\n*Low.*\n\nX", "# T\n\n*Low.*\n\nX"),
        ("X", "*Low.*\n\nX"),
        ("", ""),
    ],
)
def test_it_is_written_once_and_an_empty_report_stays_empty(before, after):
    assert Document.read(before).after_title(Block.notice("Low.")).markdown == after


def test_a_model_that_repeats_it_makes_no_claim_that_sources_have_to_carry():
    state = DeepResearchState(query="When?", findings=(finding(0, ONE),), sources=(ONE,))
    sentence = caution(state.findings, state.sources)
    claims = Checker(state, {}).claims(f"# Towers\n\n*{sentence}*\n\n{DRAFT}", {})
    assert [claim.basis for claim in claims if claim.text.strip("*") == sentence] == [ClaimBasis.RUN]
