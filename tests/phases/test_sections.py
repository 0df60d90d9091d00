"""A long report is kept piece by piece: what stops between two of them goes on with what is written."""

import asyncio

import pytest
from orm_light import FINDINGS, ORM, ORM_TEXT, TEXTS, finding, state
from phases.builders import SYNTHESIS, Model

from deep_research.errors import ModelError
from deep_research.models.failures import Verdict, failure
from deep_research.phases.synthesis import SynthesisPhase
from deep_research.phases.synthesis.handoff import JudgeScope
from deep_research.phases.synthesis.llm import LLMSynthesizer
from deep_research.phases.synthesis.sections import keeping, piece, pieces_of
from deep_research.state import Budget, RunOptions
from deep_research.state.events import PhaseRetried, PieceWritten
from deep_research.state.journal import MemoryJournal

OIL, GOLD = "The lamp burned whale oil until 1843.", "The keepers were never paid in gold."
SAID = (*(each.content for each in FINDINGS), OIL)
FOUR = (*FINDINGS, finding(4, OIL, ORM, ORM_TEXT), finding(5, GOLD, ORM, ORM_TEXT))
SECTIONS = {"Orm": ["F1", "F2", "F99"], "Hare": ["F3"], "Lamps": ["F4", "F5"]}
OUTLINE = {
    "title": "The lights",
    "sections": [{"heading": name, "purpose": "p", "findings": names} for name, names in SECTIONS.items()],
}
FRAME = {"answer": "Ada Brook built it [F1].", "open": "What it cost is not told."}
KINDS = ["Outline", "Orm", "Hare", "Lamps", "Frame", "last_pass"]


class Writer(Model):
    """Writes what it is asked for, but what it ``fails`` at; each section has a name that was never given."""

    def __init__(self, *fails):
        sections = {
            name: f"{SAID[n - 1][:-1]} [F{n}] [F77]." for name, n in (("Orm", 1), ("Hare", 3), ("Lamps", 4))
        }
        down = failure(Verdict.TRANSIENT, "it is down", model="m")
        answers = {"Outline": OUTLINE, "Frame": FRAME, "last_pass": "Nothing has to change.", **sections}
        super().__init__(**answers | dict.fromkeys(fails, down), RewordedClaims={"claims": []})

    @property
    def kinds(self):
        calls = [(self.calls.index(call), kind) for kind, calls in self.asked.items() for call in calls]
        return [kind for _, kind in sorted(calls) if kind in KINDS]


def long(**more):
    return state(phase=SYNTHESIS, findings=FOUR, options=RunOptions(report_words=2_000, **more))


def write(work, writer, journal=None, **more):
    journal = journal or MemoryJournal(long(**more), texts=TEXTS.values())
    return work(SynthesisPhase(LLMSynthesizer(), judge=JudgeScope.OFF), None, writer, journal=journal)


def told(journal):
    made = journal.state
    return made.report, made.claims, made.report_metadata.removed_references


def test_each_piece_is_recorded_as_a_hash_of_its_text_and_forgotten_with_the_report(work):
    journal = write(work, Writer())
    pieces = [event for event in journal.events if isinstance(event, PieceWritten)]
    names = [*("outline", "section 1 of 3", "section 2 of 3", "section 3 of 3", "frame")]
    assert [each.piece.rpartition(" of ")[0] for each in pieces] == names
    texts = asyncio.run(journal.texts([each.content_hash for each in pieces]))
    assert texts[1].startswith(SAID[0][:-1])
    assert journal.state.report
    assert journal.state.pieces == {}


def stopped(work, fails, **more):
    journal = MemoryJournal(long(**more), texts=TEXTS.values())
    with pytest.raises(ModelError):
        write(work, Writer(fails), journal)
    return journal


@pytest.mark.parametrize(("kept", "fails"), [*enumerate(KINDS[:-1])])
def test_after_an_outage_only_what_is_not_written_is_asked_for(work, fails, kept):
    journal = stopped(work, fails)
    assert len(journal.state.pieces) == kept
    again = Writer()
    write(work, again, journal)
    assert again.kinds == KINDS[kept:]
    assert told(journal) == told(write(work, Writer()))


def test_a_report_that_is_to_be_written_again_has_no_pieces_of_the_last(work):
    journal, again = stopped(work, "Frame"), Writer()
    asyncio.run(journal.record(PhaseRetried(phase="synthesis", attempt=1)))
    assert journal.state.pieces == {}
    write(work, again, journal)
    assert again.kinds == KINDS


@pytest.mark.parametrize("calls", [6, 5, 4])
def test_what_is_written_already_counts_as_paid_for_where_a_cap_bounds_the_sections(work, calls):
    """Six requests make three sections, five and four two; one that is stopped before the frame goes on with these."""
    cap = {"budget": Budget(max_model_calls=calls), "max_iterations": 1}
    first = Writer()
    whole = write(work, first, **cap)
    events = [e for e in whole.events if e.name in ("model.reserved", "model.settled", "piece.written")]
    frame = max(n for n, event in enumerate(events) if event.name == "piece.written") - 2
    journal = MemoryJournal(long(**cap), texts=TEXTS.values())
    journal._contents |= whole._contents
    asyncio.run(journal.record(*events[:frame]))
    before = first.kinds.index("Frame")
    assert len(journal.state.pieces) == before
    again = Writer()
    write(work, again, journal, **cap)
    assert again.kinds == first.kinds[before:]
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
