"""What a kill costs between the answer of a model and the record of its unit: that answer, once, and true books."""

import json

import pytest
from phases.builders import at_analysis, prompt
from prompt_reading import reading

from deep_research.phases.analysis import AnalysisPhase
from deep_research.phases.analysis.llm import LLMAnalyzer
from deep_research.phases.base import WorkLimits
from deep_research.state.events import SourcesAnalyzed
from deep_research.state.journal import MemoryJournal
from deep_research.testing.models import ScriptedProvider

TEXTS = [f"The tower number {n} on the reef was built by keeper Mole{n} in {1800 + n}." for n in range(3)]


class Killed(BaseException):
    """The end of the process."""


class Mortal(MemoryJournal):
    """Dies at the record of a unit, so often; what was recorded before is in its state."""

    deaths = 0

    async def record(self, *events, contents=()):
        if self.deaths and any(isinstance(event, SourcesAnalyzed) for event in events):
            self.deaths -= 1
            raise Killed
        await super().record(*events, contents=contents)


def analysed(work, deaths):
    journal = Mortal(at_analysis("Who built the towers on the reef?", TEXTS), texts=TEXTS)
    journal.deaths = deaths
    agent = LLMAnalyzer()
    agent.call_tokens = 10  # a source in a call
    phase = AnalysisPhase(agent, limits=WorkLimits(max_concurrent=1))
    provider = ScriptedProvider(lambda call: json.loads(reading(prompt(call), call.form.json_schema)))
    for _ in range(deaths):
        with pytest.raises(Killed):
            work(phase, None, provider, journal=journal)
    work(phase, None, provider, journal=journal)
    return provider, journal


@pytest.mark.parametrize("deaths", [0, 1, 3])
def test_an_answer_whose_unit_was_not_recorded_is_asked_for_once_more_and_paid_as_often(work, deaths):
    plain, whole = analysed(work, 0)
    provider, journal = analysed(work, deaths)
    assert len(provider.calls) == len(plain.calls) + deaths
    assert journal.state.usage.model_calls == len(provider.calls)  # none is in the books twice
    settled, reserved = (
        [e for e in journal.events if e.name == f"model.{n}"] for n in ("settled", "reserved")
    )
    assert len(settled) == len(reserved) == len(provider.calls)
    assert journal.state.usage.input_tokens == sum(event.tokens.input for event in settled)
    assert not journal.state.reservations
    assert journal.state.findings == whole.state.findings
