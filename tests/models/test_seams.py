"""Of an answer that was cut, what came is kept and the rest is asked for."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.errors import WindowError
from deep_research.models import Message, ModelCall, Reply, StopReason, TokenUsage
from deep_research.models.language_model import SingleModel
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.models.stream import join_texts
from deep_research.models.structured import Abilities
from deep_research.testing.models import ScriptedProvider

USED = TokenUsage(input=10, output=5)
WHOLE = " ".join(f"Sentence number {n} of the answer stands here." for n in range(40))


def cut(text):
    return Reply(text=text, stop=StopReason.INCOMPLETE, usage=USED)


def end(text):
    return Reply(text=text, stop=StopReason.END, usage=USED)


async def no_sleep(seconds):
    pass


def ask(*replies, on_piece=None):
    provider = ScriptedProvider(list(replies))
    model = SingleModel(
        provider,
        Profile(context=100_000, output=8_000),
        abilities=Abilities(),
        persistence=Persistence(sleep=no_sleep),
    )
    call = ModelCall(messages=(Message(content="Tell all."),))
    return provider, asyncio.run(model.text(call, on_piece=on_piece))


def test_the_rest_of_a_cut_answer_is_asked_for_and_put_behind_it():
    provider, answer = ask(cut(WHOLE[:800]), end(WHOLE[800:]))
    assert (answer.value, answer.stop, answer.requests) == (WHOLE, StopReason.END, 2)
    turns = provider.calls[1].messages
    assert [turn.role for turn in turns] == ["user", "assistant", "user"]
    assert turns[1].content == WHOLE[:800].rstrip()
    assert "Go on exactly where it stopped" in turns[2].content


def test_it_may_be_cut_more_than_once():
    _, answer = ask(cut(WHOLE[:400]), cut(WHOLE[400:900]), end(WHOLE[900:]))
    assert (answer.value, answer.requests) == (WHOLE, 3)


def test_what_is_said_twice_at_the_seam_stands_once():
    _, answer = ask(cut(WHOLE[:800]), end(WHOLE[750:]))
    assert answer.value == WHOLE


def test_a_model_that_begins_anew_is_understood():
    _, answer = ask(cut(WHOLE[:800]), end(WHOLE))
    assert answer.value == WHOLE


def test_so_little_that_beginning_anew_is_cheaper_is_not_kept():
    provider, answer = ask(cut("Only a few words"), end(WHOLE))
    assert answer.value == WHOLE
    assert len(provider.calls[1].messages) == 1


def test_an_answer_that_is_cut_each_time_is_given_as_far_as_it_came():
    parts = [cut(WHOLE[start : start + 300]) for start in range(0, 1_200, 300)]
    provider, answer = ask(*parts)
    assert (answer.value, answer.stop) == (WHOLE[:1_200], StopReason.INCOMPLETE)
    assert len(provider.calls) == 4


def test_what_was_told_stays_and_goes_on():
    told = []
    _, answer = ask(cut(WHOLE[:800]), end(WHOLE[800:]), on_piece=told.append)
    assert None not in told
    assert "".join(told) == answer.value


def test_a_rest_that_fails_on_the_way_is_void_and_what_came_before_is_told_again():
    told = []
    _, answer = ask(cut(WHOLE[:800]), cut("A false start"), end(WHOLE[800:]), on_piece=told.append)
    assert answer.value == WHOLE
    assert told.count(None) == 1
    assert "".join(told[told.index(None) + 1 :]) == WHOLE


def test_a_rest_that_does_not_fit_the_window_leaves_what_came():
    _, answer = ask(cut(WHOLE[:800]), WindowError("too long"))
    assert (answer.value, answer.stop) == (WHOLE[:800], StopReason.INCOMPLETE)


@given(st.text(max_size=300), st.text(max_size=300))
def test_nothing_of_what_came_is_lost_at_a_seam(so_far, more):
    whole = join_texts(so_far, more)
    assert whole.startswith(so_far) or whole == more
    assert len(whole) <= len(so_far) + len(more)


@pytest.mark.parametrize("place", [1, 37, 200, 999])
def test_a_text_cut_anywhere_is_whole_again(place):
    assert join_texts(WHOLE[:place], WHOLE[place:]) == WHOLE
