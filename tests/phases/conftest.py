"""What the tests of phases share: a phase with a model over a journal in memory, and reports of some findings."""

import asyncio

import pytest

from deep_research.budget.metered import ModelRoles, RunModels
from deep_research.models.model_pool import ModelPool, Shared
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.phases.analysis import AnalyzerInput, SourceText
from deep_research.phases.analysis.extractive_analyzer import analyze
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive_synthesizer import draft
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, Gap, Source
from deep_research.state.journal import MemoryJournal

LARGE = Profile(context=200_000, output=32_000)


async def at_once(seconds):
    """No test waits for a service to be ready again."""


@pytest.fixture
def work():
    """Runs a phase with a provider; what was recorded is in the journal that it gives."""

    def run(phase, state, provider, *, texts=(), profile=LARGE, journal=None, by_role=None):
        journal = journal or MemoryJournal(state, texts=texts)
        provider.probed = False
        pool = ModelPool(
            profiles={provider.name: profile}, common=Shared(), persistence=Persistence(sleep=at_once)
        )
        models = RunModels(ModelRoles(pool=pool, chain=(provider,), by_role=by_role or {}), journal)
        asyncio.run(phase.run(journal.state, journal, models))
        return journal

    return run


RUN = {"research_id": "deepres-000000000000", "iteration": 1}


@pytest.fixture
def draft_of():
    """Writes the report on some findings, each as ``(content, source, relevance)`` with the place of its source, and its
    category where it has one; ``titles`` are those of the sources, ``gaps`` what was not found."""

    def made(question, said, titles=("A list",), sub_query_id="subq-0", gaps=()):
        findings = tuple(
            Finding(
                id=f"find-{n:012x}",
                content=content,
                confidence=ConfidenceLevel.LOW,
                source_ids=(f"src-{source}",),
                sub_query_id=sub_query_id,
                relevance=relevance,
                category=category[0] if category else None,
            )
            for n, (content, source, relevance, *category) in enumerate(said)
        )
        return draft(
            SynthesizerInput(
                original_query=question,
                current_phase=DeepResearchPhase.SYNTHESIS,
                max_iterations=3,
                finding_count=len(findings),
                gap_count=0,
                has_research_brief=True,
                findings=findings,
                gaps=tuple(Gap(id=f"gap-{n}", description=gap) for n, gap in enumerate(gaps)),
                sources=tuple(
                    Source(id=f"src-{n}", title=title, sub_query_id="subq-0")
                    for n, title in enumerate(titles)
                ),
                **RUN,
            )
        )

    return made


@pytest.fixture
def analyzed():
    """The findings that the extractive analyzer draws for a question from texts, each ``(title, text)``; every quote is
    held against its text."""

    def found(question, *texts):
        sources = tuple(
            SourceText(id=f"src-{n}", title=title, content=text) for n, (title, text) in enumerate(texts)
        )
        handoff = AnalyzerInput(
            original_query=question,
            current_phase=DeepResearchPhase.ANALYSIS,
            source_count=len(sources),
            high_quality_sources=0,
            sources=sources,
            **RUN,
        )
        findings = analyze(handoff).findings
        for finding in findings:
            for quote in finding.quotes:
                text = texts[int(quote.source_id.removeprefix("src-"))][1]
                assert text[quote.start : quote.start + len(quote.quote)] == quote.quote
        return findings

    return found
