"""One tree of errors: each says what to do next, carries its data, and survives pickling."""

import pickle
import re

import pytest

from deep_research import errors
from deep_research.logs import describe_error


def every(kind=errors.DeepResearchError):
    """The classes of the tree; interfaces may have private ones of their own."""
    children = [c for c in kind.__subclasses__() if c.__module__ == errors.__name__]
    return [kind, *(sub for child in children for sub in every(child))]


@pytest.mark.parametrize("kind", every(), ids=lambda kind: kind.__name__)
def test_an_error_keeps_its_words_and_data_through_pickling(kind):
    error = kind("It broke.", hint="Mend it.", research_id="deepres-1", owner={"pid": 7})
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == "It broke. Mend it."
    assert again.data == {"research_id": "deepres-1", "owner": {"pid": 7}}


def test_every_error_has_a_code_of_its_own():
    codes = [kind.code for kind in every()]
    assert len(set(codes)) == len(codes)


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes():
    drawn = set(re.findall(r"\b(\w+Error)\b", errors.__doc__))
    assert drawn == {kind.__name__ for kind in every()}


def test_an_unknown_name_comes_with_the_nearest_or_with_all():
    near = errors.UnknownNameError.of("hook", "gat", ["gate", "event"])
    assert str(near) == "Unknown hook 'gat'. Did you mean 'gate'?"
    far = errors.UnknownNameError.of("hook", "zzz", ["gate", "event"])
    assert str(far) == "Unknown hook 'zzz'. Known: event, gate."


@pytest.mark.parametrize("text", ["x" * 5_000_000, "\x1b[2J\x00\u202e\x9b" * 100_000 + "x", " \n" * 100_000])
def test_what_others_say_is_cut_and_without_controls(text: str) -> None:
    error = errors.DeepResearchError(text, hint=text)
    for line in (
        error.problem,
        error.hint,
        errors.StopResearch(text).reason,
        describe_error(ValueError(text)),
    ):
        assert len(line) <= errors.MAX_LINE_CHARS
        assert not set(line) & set("\x1b\x00\u202e\x9b\n")
