"""A record of what models answered, and the same run again from it."""

import asyncio
import json
import stat

import pytest
from pydantic import BaseModel

from deep_research.errors import ConfigurationError, ModelError
from deep_research.models import Form, Message, ModelCall, ModelProvider, Reply, StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure
from deep_research.models.recording import Recorder, Replay


class Counting(ModelProvider):
    service = "test"
    forms = ("schema",)

    def __init__(self, *outcomes):
        super().__init__("m")
        self.outcomes = list(outcomes)

    async def send(self, call, on_text=None):
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return Reply(text=outcome, stop=StopReason.END, usage=TokenUsage(input=7, output=3))


def call(text="hello", **more):
    return ModelCall(messages=(Message(content=text),), **more)


def send(provider, *calls, on_text=None):
    async def journey():
        return [await provider.send(each, on_text) for each in calls]

    return asyncio.run(journey())


def test_a_record_gives_the_same_replies_again(tmp_path):
    path = tmp_path / "deep" / "record.jsonl"
    recorder = Recorder(Counting("one", "two", "three"), path)
    said = send(recorder, call("a"), call("b"), call("a"))
    replay = Replay(str(path))
    assert replay.forms == ()  # nobody asked for one
    assert send(replay, call("a"), call("b"), call("a")) == said
    assert send(replay, call("a"))[0].text == "three"  # the last one, again and again


def test_failures_are_recorded_too(tmp_path):
    path = tmp_path / "record.jsonl"
    error = failure(Verdict.TRANSIENT, "busy", model="test:m", status=429, retry_after=7.0)
    recorder = Recorder(Counting(error, "fine"), path)
    with pytest.raises(ModelError):
        send(recorder, call())
    send(recorder, call())
    replay = Replay(str(path))
    with pytest.raises(ModelError) as caught:
        send(replay, call())
    assert (str(caught.value), caught.value.data) == (str(error), error.data)
    assert send(replay, call())[0].text == "fine"


def test_limits_and_schemas_do_not_change_what_is_asked(tmp_path):
    path = tmp_path / "record.jsonl"

    def formed(schema, timeout):
        return call(form=Form(by="schema", name="F", json_schema=schema), timeout=timeout)

    send(Recorder(Counting("{}"), path), formed({"strict": True}, 5))
    assert send(Replay(str(path)), formed({}, 9))[0].text == "{}"


def test_a_replay_writes_schemas_as_the_recorded_service_takes_them(tmp_path):
    class F(BaseModel):
        colour: str

    path, schema = tmp_path / "record.jsonl", {"strict": True}
    form = Form(by="schema", name="F", json_schema=schema)
    send(Recorder(Counting("{}"), path), call(form=form))
    assert Replay(str(path)).schema_of(F) == schema


def test_what_is_not_in_the_record_fails_for_good_and_says_why(tmp_path):
    path = tmp_path / "record.jsonl"
    send(Recorder(Counting("x"), path), call("a"))
    with pytest.raises(ModelError, match="holds no answer to this request") as caught:
        send(Replay(str(path)), call("b"))
    assert caught.value.verdict == "fatal"


def test_a_replayed_answer_is_handed_over_in_a_piece(tmp_path):
    path = tmp_path / "record.jsonl"
    send(Recorder(Counting("hello"), path), call())
    pieces = []
    send(Replay(str(path)), call(), on_text=pieces.append)
    assert pieces == ["hello"]


def test_a_record_is_for_its_owner_and_is_added_to(tmp_path):
    path = tmp_path / "record.jsonl"
    for text in ("one", "two"):
        send(Recorder(Counting(text), path), call("half \ud800 a character"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line["reply"]["text"] for line in lines] == ["one", "two"]


def test_a_record_that_cannot_be_written_is_told_before_anything_is_paid_for(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        Recorder(Counting(), tmp_path / "file" / "record.jsonl")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read: No such file"),
        ("no json", "is not a file of JSON lines"),
        ('{"key": "k"}\n', "Line 1 of the record record.jsonl is not a recorded answer"),
        ("[]\n", "Line 1"),
        ('{"key": "k", "call": {}, "reply": {"text": 1}}\n', "Line 1"),
        ('{"key": "k", "call": {}, "error": {"problem": "p"}}\n', "Line 1"),
        ('{"key": "k", "call": {}, "window": [1], "reply": {}}\n', "Line 1"),
        ('{"key": "k", "call": {}, "window": [-1, "x"], "reply": {}}\n', "Line 1"),
    ],
)
def test_a_file_that_is_no_record_is_one_line(tmp_path, text, problem):
    path = tmp_path / "record.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        Replay(str(path))
    assert problem in str(caught.value)


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85", "\x0c", "\x1e", "\r"])
def test_a_text_with_any_line_separator_is_replayed_as_it_was(tmp_path, character):
    path, text = tmp_path / "record.jsonl", f"one{character}two"
    send(Recorder(Counting(text), path), call(text))
    (reply,) = send(Replay(str(path)), call(text))
    assert reply.text == text


def test_a_record_that_is_nested_without_end_is_one_line(tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_text("[" * 200_000)
    with pytest.raises(ConfigurationError, match="is not a file of JSON lines"):
        Replay(str(path))
