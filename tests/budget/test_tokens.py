"""Counting: what is expected, what it can be at most, and an encoding that may not be there."""

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.budget.tokens import PER_CALL, PER_FORM, PER_MESSAGE, Counter, Encodings
from deep_research.models import Form, Message, ModelCall


class Words:
    """An encoding of one token a word, and one for each character that is no letter."""

    def encode_ordinary(self, text):
        return [0] * (len(text.split()) + sum(not c.isalnum() and not c.isspace() for c in text))


def call(text, form=None):
    return ModelCall(messages=(Message(content=text),), form=form)


@pytest.mark.parametrize(
    ("counter", "exact", "text", "expected", "bound"),
    [
        (Counter(), False, "Straße", 2, 7),
        (Counter(), False, "a" * 300, 100, 300),
        (Counter(Words()), True, "three short words", 3, 3),
    ],
    ids=["bytes", "a long word", "the model's own encoding"],
)
def test_without_an_encoding_the_bytes_are_the_bound_and_with_one_the_count(
    counter, exact, text, expected, bound
):
    assert (counter.exact, counter.expected(text), counter.bound(text)) == (exact, expected, bound)


@given(st.text(max_size=300))
def test_the_bound_is_never_below_what_is_expected_and_counts_half_characters(text):
    assert Counter().bound(text) >= Counter().expected(text)
    assert Counter().bound(text + "\ud800") >= len(text)


def test_a_call_counts_what_services_put_around_it():
    form = Form(by="schema", name="F", json_schema={"a": 1})
    plain, formed = (asyncio.run(Counter().bound_of(call("ab", each))) for each in (None, form))
    assert plain == 2 + PER_CALL + 2 * PER_MESSAGE
    assert formed == plain + PER_FORM + len("F") + len('{"a": 1}')


def test_a_large_call_is_counted_in_a_thread():
    where = []

    class Telling(Words):
        def encode_ordinary(self, text):
            where.append(threading.current_thread() is threading.main_thread())
            return super().encode_ordinary(text)

    asyncio.run(Counter(Telling()).bound_of(call("word " * 10_000)))
    asyncio.run(Counter(Telling()).bound_of(call("word")))
    assert where == [False, False, True, True]


@pytest.mark.timed
def test_an_encoding_that_does_not_come_in_time_is_done_without(monkeypatch):
    gate = threading.Event()

    def slow(name):
        gate.wait(300)
        return Words()

    monkeypatch.setattr("tiktoken.get_encoding", slow)
    encodings = Encodings(seconds=0.05)
    assert asyncio.run(encodings.get("o200k_base")) is None
    encodings._seconds = 3_600.0
    assert asyncio.run(encodings.get("o200k_base")) is None  # nobody waits again
    gate.set()
    encodings._loading["o200k_base"].join(300)
    assert asyncio.run(encodings.get("o200k_base")) is not None  # it came after all


@pytest.mark.parametrize("error", [OSError("no network"), ValueError("Unknown encoding"), KeyError("x")])
def test_an_encoding_that_cannot_be_loaded_is_done_without(monkeypatch, error):
    def fails(name):
        raise error

    monkeypatch.setattr("tiktoken.get_encoding", fails)
    assert asyncio.run(Encodings().get("o200k_base")) is None
