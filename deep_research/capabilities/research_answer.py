"""A run as the one message that the researcher answers."""

from __future__ import annotations

from deep_research.capabilities.research_contract import ResearchContract, ResearchData, ResearchSummary
from deep_research.report.reference_marks import reference_marks
from deep_research.report.references import PARTLY, UNSUPPORTED
from deep_research.research import ResearchResult
from deep_research.state import Claim, ClaimKind


def has_answer(result: ResearchResult) -> bool:
    """Whether a run ended, or waits for its owner, so that nothing more comes by itself."""
    return result.status.is_final or result.state.is_waiting


def answer_content(result: ResearchResult) -> str:
    """The contract as JSON where sources support something that the report says; else a sentence that says why not."""
    summary = research_summary(result)
    if summary is not None:
        data = ResearchData(research_summary=summary, tool_used=result.usage.searches > 0)
        return ResearchContract(data=data).model_dump_json()
    if result.state.is_waiting:
        return f"The research waits for {result.message}."
    why = " ".join((result.message or "The sources bear nothing of it out.").split())
    return f"The research ended without an answer: {why}"


def research_summary(result: ResearchResult) -> ResearchSummary | None:
    """None without a claim that a cited source supports."""
    addresses = _addresses(result)
    points = _key_points(result)
    if not addresses or not points:
        return None
    return ResearchSummary(
        topic=result.query, summary=_summary(result, points), key_points=points, sources=addresses
    )


def _key_points(result: ResearchResult) -> list[str]:
    claims = {claim.id: claim for claim in result.claims}
    return [
        _with_place(claims[each.claim_id], each.text) if each.claim_id in claims else each.text
        for each in result.discoveries
    ]


def _with_place(claim: Claim, text: str) -> str:
    """The words of a claim; of a cell, which says nothing alone, with its row and column."""
    if claim.kind is not ClaimKind.CELL:
        return text
    return f"{', '.join(claim.heading.split(' > ')[-2:])}: {text}"


def _summary(result: ResearchResult, points: list[str]) -> str:
    """The answer of the report without its references, which count what this message does not have. An answer of which
    part is unsupported is passed over for the key points."""
    answer = result.answer or ""
    if not answer or UNSUPPORTED in answer or PARTLY in answer:
        return " ".join(points)
    brackets = {
        (answer.rfind("[", 0, mark.start + 1), answer.find("]", mark.end - 1) + 1)
        for mark in reference_marks(answer, {citation.number for citation in result.citations})
    }
    for start, end in sorted(brackets, reverse=True):
        answer = answer[:start].rstrip(" ") + answer[end:]
    return answer.strip()


def _addresses(result: ResearchResult) -> list[str]:
    """In the order of their numbers in the report, each once."""
    sources = {source.id: source for source in result.sources}
    references = sorted({(each.number, each.source_id) for each in result.citations})
    cited_sources = [sources[source_id] for _, source_id in references if source_id in sources]
    return list(dict.fromkeys(source.url or source.title for source in cited_sources))
