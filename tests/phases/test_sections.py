"""A long report is kept piece by piece: what stops between two of them goes on with what is written."""

import asyncio

import pytest
from orm_light import FINDINGS, ORM, ORM_TEXT, TEXTS, finding, state

from deep_research.errors import ModelError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.phases.synthesis.sections import keeping, piece, pieces_of
from deep_research.state import Budget, DeepResearchPhase, RunOptions
from deep_research.state.events import PhaseRetried, PieceWritten
from deep_research.state.journal import MemoryJournal
from deep_research.testing.models import ScriptedProvider

SAID = (*(each.content for each in FINDINGS), "The lamp burned whale oil until 1843.")
FOUR = (
    *FINDINGS,
    finding(4, SAID[3], ORM, ORM_TEXT),
    finding(5, "The keepers were never paid in gold.", ORM, ORM_TEXT),
)
OUTLINE = {
    "title": "The lights",
    "sections": [
        {"heading": "Orm", "purpose": "The tower.", "findings": ["F1", "F2", "F99"]},
        {"heading": "Hare", "purpose": "The other.", "findings": ["F3"]},
        {"heading": "Lamps", "purpose": "Oil.", "findings": ["F4", "F5"]},
    ],
}
FRAME = {"answer": "Ada Brook built it [F1].", "open": "What it cost is not told."}
KINDS = ["outline", "Orm", "Hare", "Lamps", "frame", "last pass"]


class Writer(ScriptedProvider):
    """Writes what it is asked for; ``fails`` is what it cannot do, ``asked`` what it was asked for."""

    def __init__(self, *fails):
        self.asked = []
        self._fails = fails
        super().__init__(self._said)

    def _said(self, call):
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        if "claims" in fields:  # a repair of what the sources do not say
            return {"claims": []}
        kind = "outline" if "sections" in fields else "frame" if "answer" in fields else call.label
        self.asked.append(kind)
        if kind in self._fails:
            raise failure(Verdict.TRANSIENT, "it is down", model=self.name)
        if kind in ("outline", "frame"):
            return OUTLINE if kind == "outline" else FRAME
        if kind == "last pass":
            return "Nothing has to change."
        number = {"Orm": 1, "Hare": 3, "Lamps": 4}[kind]
        return f"{SAID[number - 1][:-1]} [F{number}] [F77]."  # one name was never given


def long(**more):
    options = RunOptions(report_words=2_000, **more)
    return state(phase=DeepResearchPhase.SYNTHESIS, findings=FOUR, options=options)


def write(work, provider, journal=None, **more):
    made = long(**more)
    journal = journal or MemoryJournal(made, texts=TEXTS.values())
    return work(SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF), made, provider, journal=journal)


def told(journal):
    made = journal.state
    return made.report, made.claims, made.report_metadata.removed_references


def test_each_piece_is_recorded_as_a_hash_of_its_text_and_forgotten_with_the_report(work):
    journal = write(work, Writer())
    pieces = [event for event in journal.events if isinstance(event, PieceWritten)]
    assert [each.piece.rpartition(" of ")[0] for each in pieces] == [
        *("outline", "section 1 of 3", "section 2 of 3", "section 3 of 3", "frame"),
    ]
    texts = asyncio.run(journal.texts([each.content_hash for each in pieces]))
    assert texts[1].startswith(SAID[0][:-1])
    assert journal.state.report
    assert journal.state.pieces == {}


@pytest.mark.parametrize(
    ("fails", "kept", "asked"),
    [
        ("outline", 0, KINDS),
        ("Orm", 1, KINDS[1:]),
        ("Hare", 2, KINDS[2:]),
        ("Lamps", 3, KINDS[3:]),
        ("frame", 4, ["frame", "last pass"]),
    ],
)
def test_after_an_outage_only_what_is_not_written_is_asked_for(work, fails, kept, asked):
    journal = MemoryJournal(long(), texts=TEXTS.values())
    with pytest.raises(ModelError):
        write(work, Writer(fails), journal)
    assert len(journal.state.pieces) == kept
    again = Writer()
    write(work, again, journal)
    assert again.asked == asked
    assert told(journal) == told(write(work, Writer()))


def test_a_report_that_is_to_be_written_again_has_no_pieces_of_the_last(work):
    journal = MemoryJournal(long(), texts=TEXTS.values())
    with pytest.raises(ModelError):
        write(work, Writer("frame"), journal)
    asyncio.run(journal.record(PhaseRetried(phase="synthesis", attempt=1)))
    assert journal.state.pieces == {}
    again = Writer()
    write(work, again, journal)
    assert again.asked == KINDS


@pytest.mark.parametrize("calls", [6, 5, 4])
def test_what_is_written_already_counts_as_paid_for_where_a_cap_bounds_the_sections(work, calls):
    """Six requests make three sections, five and four two; one that is stopped before the frame goes on with these."""
    cap = {"budget": Budget(max_model_calls=calls), "max_iterations": 1}
    first = Writer()
    whole = write(work, first, **cap)
    events = [
        event for event in whole.events if event.name in ("model.reserved", "model.settled", "piece.written")
    ]
    frame = max(n for n, event in enumerate(events) if event.name == "piece.written") - 2
    journal = MemoryJournal(long(**cap), texts=TEXTS.values())
    journal._contents |= whole._contents
    asyncio.run(journal.record(*events[:frame]))
    assert len(journal.state.pieces) == len(first.asked[: first.asked.index("frame")])
    again = Writer()
    write(work, again, journal, **cap)
    assert again.asked == first.asked[first.asked.index("frame") :]
    assert told(journal) == told(whole)


def test_a_piece_whose_text_is_gone_or_that_was_made_of_other_findings_is_written_again():
    journal = MemoryJournal(long(), texts=TEXTS.values())
    written = []

    async def text():
        written.append(1)
        return f"Text {len(written)}"

    async def steps():
        with keeping(pieces_of(journal)):
            first = await piece("outline", ["a", "b"], text)
            assert await piece("outline", ["a", "b"], text) == first == "Text 1"
            assert await piece("outline", ["a"], text) == "Text 2"
            assert await piece("frame", ["a", "b"], text) == "Text 3"
            journal._contents.clear()
            assert await piece("outline", ["a", "b"], text) == "Text 4"
        assert await piece("outline", ["a", "b"], text) == "Text 5"  # nobody keeps it

    asyncio.run(steps())
    assert len(journal.events) == 4
