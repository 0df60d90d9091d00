"""The key discoveries of a run."""

from pathlib import Path

import pytest

from deep_research import DeepResearch
from deep_research.report.discoveries import MAX_DISCOVERIES, discoveries, in_one_paragraph
from deep_research.state import Claim, ClaimBasis, ClaimVerdict, ConfidenceLevel, Finding, Quote, Source, Span

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
QUOTE = Quote(source_id="src-1", quote="q", start=0, end=1, content_hash="a" * 64)
SOURCE = Source(id="src-1", sub_query_id="subq-1", title="Towers", url="towers.md")


CARRIED = {"verdict": ClaimVerdict.SUPPORTED, "code_verdict": ClaimVerdict.SUPPORTED, "evidence": (QUOTE,)}


def claim(number: int, **more: object) -> Claim:
    known = {"id": f"claim-{number}", "text": f"Tower {number} is tall.", "finding_ids": (f"find-{number}",)}
    stands = {"checker": "code", "numbers": (1,), "place": Span(start=number, end=number + 1)}
    return Claim.model_validate(CARRIED | known | stands | more)


def finding(number: int, confidence: ConfidenceLevel = ConfidenceLevel.MEDIUM) -> Finding:
    return Finding(id=f"find-{number}", content="c", confidence=confidence, source_ids=("src-1",))


@pytest.mark.parametrize(
    "more",
    [{"basis": ClaimBasis.RUN}, {"is_marked": True}, {"evidence": ()}, {"finding_ids": ()}]
    + [{"verdict": each} for each in ClaimVerdict if each is not ClaimVerdict.SUPPORTED],
    ids=str,
)
def test_only_what_sources_support_is_a_discovery(more: dict[str, object]) -> None:
    assert len(discoveries([claim(1)], [finding(1)], [SOURCE])) == 1
    assert discoveries([claim(1, **more)], [finding(1)], [SOURCE]) == ()


def test_there_are_at_most_seven_of_the_surest_in_the_order_of_the_report() -> None:
    sure = {3, 5, 11}
    findings = [finding(n, ConfidenceLevel.HIGH if n in sure else ConfidenceLevel.LOW) for n in range(12)]
    found = discoveries([claim(n) for n in range(12)], findings, [SOURCE])
    assert len(found) == MAX_DISCOVERIES
    numbers = [int(each.claim_id.removeprefix("claim-")) for each in found]
    assert numbers == sorted(numbers)
    assert sure <= set(numbers)


def test_a_finding_and_a_sentence_are_told_once() -> None:
    claims = [claim(1), claim(2, finding_ids=("find-1",)), claim(3, text="TOWER 1  is tall.")]
    found = discoveries(claims, [finding(1), finding(3)], [SOURCE])
    assert [each.claim_id for each in found] == ["claim-1"]


def test_a_completed_run_has_discoveries_with_source_and_confidence() -> None:
    with DeepResearch(corpus=CORPUS, store="memory", local_only=True) as research:
        result = research.run("How tall is the Cape Hatteras lighthouse?")
        assert 0 < len(result.discoveries) <= MAX_DISCOVERIES
        supported = {c.id for c in result.claims if c.verdict is ClaimVerdict.SUPPORTED}
        known = {source.id: source for source in result.sources}
        for each in result.discoveries:
            source = known[each.source_id]
            assert each.claim_id in supported
            assert (each.title, each.published) == (source.title, source.published)
        assert any("198.49" in each.text for each in result.discoveries)
        assert result.discovery_summary == in_one_paragraph(result.discoveries)
        assert '"discoveries"' in result.model_dump_json()
        nothing = research.run("What is the melting point of tungsten carbide?")
        assert (nothing.discoveries, nothing.discovery_summary) == ((), "")
