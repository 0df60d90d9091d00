"""A run that gives no report of whose claims fewer are supported than its owner asks for."""

from contextlib import ExitStack

import pytest

from deep_research import DeepResearch
from deep_research.errors import SettingsError
from deep_research.phases.synthesis import SynthesizerOutput
from deep_research.phases.synthesis.phase import validate_synthesis
from deep_research.sources.search import SearchProvider, SearchResult
from deep_research.state import (
    AbortReason,
    ClaimCounts,
    DeepResearchState,
    ReportMetadata,
    RunOptions,
    RunStatus,
)
from deep_research.state.events import ReportDrafted, ReportWritten

QUESTION = "Who built the Orm lighthouse, and how tall is it?"
TEXT = "The Orm lighthouse was built in 1811 by Ada Brook. It is 90 feet tall. The lamp burned whale oil."
FALSE = "The keeper sold a blue parrot to a baker in Lisbon"
ASKED = "2 of the report's 5 claims are supported (40%); 90% are asked for."


class Shelf(SearchProvider):
    name = "shelf"

    async def search(self, request):
        return [SearchResult(address="orm.md", title="The Orm Light", text=TEXT)]


class Writer:
    """Writes so many true and so many false sentences a time, the last again and again; remembers its handoffs."""

    name = "by hand"

    def __init__(self, *shares, deterministic=False):
        self.shares, self.deterministic, self.asked = list(shares), deterministic, []

    async def __call__(self, handoff):
        self.asked.append(handoff)
        true, false = self.shares[min(len(self.asked), len(self.shares)) - 1]
        cite = handoff.findings[0].id
        told = ["The Orm lighthouse was built in 1811 by Ada Brook", "The lamp burned whale oil"][:true]
        said = " ".join(f"{sentence} [{cite}]." for sentence in (*told, *[FALSE] * false))
        return SynthesizerOutput(
            report=f"# The Orm\n\n## Said of the light and of those who kept it\n\n{said}\n"
        )


@pytest.fixture
def research():
    with ExitStack() as engines:

        def made(writer, least=0.9, **more):
            more |= {"agents": {"synthesizer": writer}} if writer else {}
            engine = DeepResearch(
                search=[Shelf()], store="memory", min_supported=least, max_iterations=1, **more
            )
            return engines.enter_context(engine)

        yield made


def test_too_few_end_the_run_without_a_report_and_say_the_share(research):
    engine = research(Writer((2, 3)))
    result = engine.run(QUESTION)
    assert (result.status, result.reason) == (RunStatus.ABORTED, AbortReason.NO_EVIDENCE)
    assert result.message == ASKED
    assert (result.report, result.report_metadata, result.citations, result.claims) == (None, None, (), ())
    assert result.findings  # what was found stays
    drafts = [event for event in engine.events(result.research_id) if isinstance(event, ReportDrafted)]
    assert FALSE in drafts[-1].draft.text
    assert engine.status(result.research_id).reason == AbortReason.NO_EVIDENCE


def test_an_agent_that_can_do_otherwise_is_told_and_asked_again(research):
    writer = Writer((2, 3), (2, 0))
    result = research(writer).run(QUESTION)
    assert result.status is RunStatus.COMPLETED
    assert result.report_metadata.claims.share == 1
    assert ASKED in writer.asked[1].guidance
    assert len(writer.asked) == 2


def test_one_that_would_only_repeat_itself_is_not_and_ends_so_again_when_it_is_resumed(research):
    writer = Writer((2, 3), deterministic=True)
    engine = research(writer)
    result = engine.run(QUESTION)
    assert (result.reason, result.message, len(writer.asked)) == (AbortReason.NO_EVIDENCE, ASKED, 1)
    (written,) = (event for event in engine.events(result.research_id) if isinstance(event, ReportWritten))
    assert FALSE in written.draft
    again = engine.resume(result.research_id)
    assert (again.reason, again.message, again.report) == (AbortReason.NO_EVIDENCE, ASKED, None)


def test_as_often_as_a_gate_may_ask_and_no_more(research):
    writer = Writer((2, 3))
    assert research(writer, gate_retries=2).run(QUESTION).reason == AbortReason.NO_EVIDENCE
    assert len(writer.asked) == 3


@pytest.mark.parametrize(("least", "status"), [(None, "completed"), (0.4, "completed"), (0.41, "aborted")])
def test_the_share_that_is_asked_for_is_enough(research, least, status):
    result = research(Writer((2, 3), deterministic=True), least).run(QUESTION)
    assert result.status == status
    if result.report:
        assert result.report.count("[unsupported]") == 4  # three marks, explained once
        told = "3 claims of the report are not supported by the cited sources."
        assert told in [notice.message for notice in result.notices]


def test_a_run_that_ended_so_writes_another_report_when_it_is_resumed(research):
    writer = Writer((2, 3), (2, 3), (2, 0))
    engine = research(writer)
    ended = engine.run(QUESTION)
    assert ended.reason == AbortReason.NO_EVIDENCE
    result = engine.resume(ended.research_id)
    assert (result.status, len(writer.asked)) == (RunStatus.COMPLETED, 3)
    assert result.report_metadata.claims.share == 1
    assert result.reason is None


def test_an_engine_without_a_model_supports_all_that_it_writes(research):
    result = research(None, 1.0).run(QUESTION)
    assert result.status is RunStatus.COMPLETED
    assert result.report_metadata.claims.share == 1


@pytest.mark.parametrize("least", [0, -0.1, 1.1, "many"])
def test_a_share_that_is_none_is_refused(least):
    with pytest.raises(SettingsError, match="min_supported"):
        DeepResearch(store="memory", min_supported=least)


EIGHTY = "8 of the report's 10 claims are supported (80%); 90% are asked for."
COUNTS = [
    (ClaimCounts(supported=9, unsupported=1), 0.9, ()),
    (ClaimCounts(supported=8, partial=2), 0.9, (EIGHTY,)),
    (ClaimCounts(), 1.0, ()),
    (ClaimCounts(supported=1, marks=1, contradicted=1), None, ()),
    (None, 0.9, ()),
]


@pytest.mark.parametrize(("counts", "least", "blocking"), COUNTS)
def test_the_gate_blocks_by_the_share_of_supported_claims(counts, least, blocking):
    state = DeepResearchState(
        query="q",
        report=f"# T\n\n## S\n\n{'x' * 500}",
        report_metadata=ReportMetadata(word_count=1, claims=counts),
        options=RunOptions(min_supported=least),
    )
    found = validate_synthesis(state)
    assert found.blocking == blocking
    marked = counts is not None and counts.marks
    assert ("1 claim of the report is not supported by the cited sources." in found.issues) is bool(marked)
    whole = validate_synthesis(state.model_copy(update={"report_metadata": None})).quality_score
    assert found.quality_score == pytest.approx(whole * (counts.share if counts else 1.0))
