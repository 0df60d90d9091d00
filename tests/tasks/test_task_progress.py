"""What is told of tasks while they are worked on: on a terminal, in lines, and to who follows the run."""

import pytest
from task_runs import APPROVED, QUESTION, TaskModel, ran
from task_steps import rejecting, search_first

from deep_research.interfaces.cli.progress import ASCII, Lines, picture
from deep_research.state.events import Progress, TaskStepped
from deep_research.state.reducer import Fold
from deep_research.store import RunJournal

REJECTED = rejecting("That is the height above the sea.")


class Paper:
    """A console that keeps its lines."""

    def __init__(self):
        self.lines = []

    def note(self, *lines):
        self.lines += lines


@pytest.fixture
def followed(monkeypatch):
    """Everything that who follows a run closely is told, in its order: notes may be dropped where they are not read at
    once, so they are heard where they are told."""
    notes = []
    tell = RunJournal.progress

    def heard(self, note):
        notes.append((self.state.seq, note))
        tell(self, note)

    monkeypatch.setattr(RunJournal, "progress", heard)

    def follow(model, **more):
        notes.clear()
        told = [(event.seq, 0, event) for event in ran(model, **more).log]
        told += [(seq, 1, note) for seq, note in notes]
        return [each for _, _, each in sorted(told, key=lambda each: each[:2])]

    return follow


def test_each_step_of_a_task_is_told_before_its_tools_work_and_shown_in_the_live_picture(followed):
    told = followed(TaskModel(), tasks={"max_steps": 4})
    (note,) = [each for each in told if isinstance(each, Progress) and each.step]
    assert (note.message, note.step) == (QUESTION, "step 1 of 4, search Orm lighthouse height")
    assert (note.done, note.total) == (1, 4)
    assert told.index(note) < next(n for n, each in enumerate(told) if isinstance(each, TaskStepped))
    fold, shown, searching = Fold(), [], {}
    for each in told:
        if isinstance(each, Progress):
            searching[each.message] = each.step or ""
        else:
            fold.apply(each)
        if fold.research_id:
            shown += picture(fold, searching, seconds=0, columns=100, lines=20, marks=ASCII, turn=0)
    assert f"    - step 1 of 4, search Orm lighthouse height: {QUESTION}" in shown
    assert f"    + {QUESTION}" in shown


def test_lines_tell_what_was_sent_back_and_with_verbose_every_step(followed):
    model = TaskModel(search_first(), [REJECTED, APPROVED])
    told = followed(model, tasks={"max_steps": 3})
    for verbose in (False, True):
        paper = Paper()
        lines = Lines(paper, None, verbose=verbose)
        for each in told:
            lines.show(each)
        said = "\n".join(paper.lines)
        assert ("step 1 of 3, search Orm lighthouse height" in said) is verbose
        assert f"'{QUESTION}': sent back: That is the height above the sea." in said
