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


def source(n, quality=HIGH, text=""):
    return Source(
        id=f"src-{n:012x}",
        sub_query_id="subq-a",
        title=f"Page {n}",
        url=f"https://site{n}.example/{n}",
        content_hash=text or f"hash-{n}",
        quality=quality,
    )


def finding(n, of):
    said = f"The tower number {n} was built in {1800 + n} by keeper {n}."
    quote = Quote(source_id=of.id, quote=said, start=0, end=len(said), content_hash=of.content_hash)
    return Finding(
        id=f"find-{n:012x}",
        content=said,
        confidence=ConfidenceLevel.LOW,
        source_ids=(of.id,),
        quotes=(quote,),
    )


ONE, TWO, THREE = source(1, UNKNOWN), source(2), source(3)


@pytest.mark.parametrize(
    ("sources", "of", "told"),
    [
        ((ONE, TWO, THREE), (0, 1, 2), ""),
        ((ONE, TWO), (0, 1), "2 findings"),
        ((ONE,), (0, 0, 0), "one source alone"),
        ((TWO,), (0, 0, 0), ""),
        (
            (source(1, LOW).model_copy(update={"kind": SourceKind.DOCUMENT}), TWO),
            (0, 0, 0),
            "no source of more than low quality",
        ),
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


def report(draft):
    return finished(draft, [finding(0, ONE)], [ONE], writer="w")


def test_it_stands_after_the_title_and_before_the_first_sentence():
    text, metadata, _ = report("# Towers\n\n## Answer\n\nIt was built in 1800. [find-000000000000]")
    assert text.startswith(
        "# Towers\n\n*Read with caution: this report rests on 1 finding, and on one source alone.*\n\n## Answer"
    )
    assert metadata.sections == ("Answer", "References")
    assert metadata.word_count == 10  # what the report itself says
    text, _, _ = report("It was built in 1800. [find-000000000000]")
    assert text.startswith("*Read with caution")


def test_it_is_written_once_and_an_empty_report_stays_empty():
    notice = Block.notice("Low.")
    for before, after in {
        "# T\n\nX": "# T\n\n*Low.*\n\nX",
        "# T\n\n*Low.*\n\nX": "# T\n\n*Low.*\n\nX",
        "X": "*Low.*\n\nX",
        "": "",
    }.items():
        assert Document.read(before).after_title(notice).markdown == after
    assert report("")[0] == ""


def test_only_what_is_cited_counts():
    findings = [finding(n, s) for n, s in enumerate((ONE, TWO, THREE))]
    draft = "It was built in 1800. [find-000000000000]"
    text, _, _ = finished(draft, findings, [ONE, TWO, THREE], writer="w")
    assert "rests on 1 finding, and on one source alone" in text


def test_a_model_that_repeats_it_makes_no_claim_that_sources_have_to_carry():
    state = DeepResearchState(query="When?", findings=(finding(0, ONE),), sources=(ONE,))
    sentence = caution(state.findings, state.sources)
    draft = (
        f"# Towers\n\n*{sentence}*\n\nThe tower number 0 was built in 1800 by keeper 0. [find-000000000000]"
    )
    claims = Checker(state, {}).claims(draft, {})
    assert [claim.basis for claim in claims if claim.text.strip("*") == sentence] == [ClaimBasis.RUN]
