"""What a model can do is found out once, remembered, and never stops a run that could go on."""

import asyncio
import json
import stat
from datetime import UTC, datetime, timedelta

import pytest

from deep_research.errors import ModelError
from deep_research.models import ModelProvider, Reply, StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure
from deep_research.models.probe import FILE, KEPT, Probes
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities, Rung

SKY = '{"colour": "blue", "seen": ["the sun", "birds"]}'


class Server(ModelProvider):
    service = "test"
    forms = ("schema", "tool")
    base_url = "http://127.0.0.1:1"

    def __init__(self, answer):
        super().__init__("m")
        self.answer = answer
        self.asked = 0

    async def send(self, call, on_text=None):
        self.asked += 1
        outcome = self.answer(call)
        if isinstance(outcome, Exception):
            raise outcome
        return Reply(text=outcome, stop=StopReason.END, usage=TokenUsage(input=1, is_known=False))


def knows_json_only(call):
    if call.form is not None:
        return failure(Verdict.FATAL, "unknown field response_format", model="m", status=400)
    return SKY


async def no_sleep(seconds):
    pass


def ensure(probes, *providers):
    async def journey():
        await asyncio.gather(
            *(probes.ensure(provider, Profile(), Persistence(sleep=no_sleep)) for provider in providers)
        )

    asyncio.run(journey())


def test_a_model_is_asked_once_and_what_it_cannot_is_known_from_then_on(tmp_path):
    server, abilities = Server(knows_json_only), Abilities()
    probes = Probes(tmp_path, abilities)
    ensure(probes, server)
    ensure(probes, server, server)
    assert server.asked == 3
    assert abilities.rungs(server.identity, server.forms) == [Rung.JSON]
    found = probes.known_probe()["test:m@http://127.0.0.1:1"]
    assert found.rungs == {"schema": False, "tool": False, "json": True}
    assert not found.usage


def test_another_process_remembers(tmp_path):
    ensure(Probes(tmp_path, Abilities()), Server(knows_json_only))
    later, abilities = Server(knows_json_only), Abilities()
    ensure(Probes(tmp_path, abilities), later)
    assert later.asked == 0
    assert abilities.rungs(later.identity, later.forms) == [Rung.JSON]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_what_was_found_long_ago_is_asked_anew(tmp_path):
    ensure(Probes(tmp_path, Abilities()), Server(lambda call: SKY))
    held = json.loads((tmp_path / FILE).read_text())
    for item in held.values():
        item["at"] = (datetime.now(UTC) - KEPT - timedelta(days=1)).isoformat()
    (tmp_path / FILE).write_text(json.dumps(held))
    later = Server(lambda call: SKY)
    ensure(Probes(tmp_path, Abilities()), later)
    assert later.asked == 1


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"m": 1}', '{"m": {"name": "m"}}', "\x00", '{"m": null}', "[" * 200_000),
        '{"m": {"name": "m", "at": "0001-01-01T00:00:00"}}',
        '{"m": {"name": "m", "at": "9999-12-31T23:59:59-14:00"}}',
        '{"m": {"name": "m", "at": "2026-01-01T00:00:00Z", "rungs": {"none of ours": true}}}',
    ],
)
def test_a_file_that_is_damaged_costs_a_question_and_no_run(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    server = Server(lambda call: SKY)
    ensure(Probes(tmp_path, Abilities()), server)
    assert server.asked == 1
    assert "test:m@http://127.0.0.1:1" in json.loads((tmp_path / FILE).read_text())


def test_without_a_folder_it_is_remembered_in_the_process():
    server, probes = Server(lambda call: SKY), Probes(None, Abilities())
    ensure(probes, server)
    ensure(probes, server)
    assert server.asked == 1


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    server = Server(lambda call: SKY)
    ensure(Probes(tmp_path / "file" / "folder", Abilities()), server)
    assert server.asked == 1


def test_a_model_that_answers_badly_is_known_for_it_and_the_run_goes_on(tmp_path):
    server = Server(lambda call: "I cannot do that.")
    probes = Probes(tmp_path, Abilities())
    ensure(probes, server)
    assert server.asked <= 4
    assert not any(probes.known_probe()[server.identity].rungs.values())


@pytest.mark.parametrize("verdict", [Verdict.FATAL, Verdict.PARK, Verdict.TRANSIENT])
def test_a_model_that_cannot_be_reached_is_asked_again_the_next_time(tmp_path, verdict):
    server = Server(lambda call: failure(verdict, "no", model="m", status=401))
    probes = Probes(tmp_path, Abilities())
    for _ in range(2):
        with pytest.raises(ModelError):
            ensure(probes, server)
    assert server.asked == 2 * (4 if verdict is Verdict.TRANSIENT else 1)
    assert probes.known_probe() == {}


def test_what_is_found_of_one_model_keeps_what_is_known_of_others(tmp_path):
    other = Server(lambda call: SKY)
    other.base_url = "http://127.0.0.1:2"
    ensure(Probes(tmp_path, Abilities()), other)
    found = Probes(tmp_path, Abilities()).known_probe()[other.identity]
    Probes(tmp_path, Abilities()).remember(found.model_copy(update={"name": "test:another"}))
    assert Probes(tmp_path, Abilities()).known_probe().keys() == {other.identity, "test:another"}


def test_what_is_dated_far_ahead_is_asked_anew(tmp_path):
    ensure(Probes(tmp_path, Abilities()), Server(lambda call: SKY))
    held = json.loads((tmp_path / FILE).read_text())
    for item in held.values():
        item["at"] = (datetime.now(UTC) + KEPT + timedelta(days=1)).isoformat()
    (tmp_path / FILE).write_text(json.dumps(held))
    assert Probes(tmp_path, Abilities()).known_probe() == {}


def test_the_question_keeps_to_the_profile_so_that_no_server_loads_its_model_twice():
    asked = []

    def answer(call):
        asked.append((call.context, call.max_output))
        return SKY

    profile = Profile(context=32_768, output=500)
    asyncio.run(Probes(None, Abilities()).ensure(Server(answer), profile, Persistence(sleep=no_sleep)))
    assert asked == [(32_768, 500)]


@pytest.mark.timed
def test_a_model_that_loads_slowly_has_the_time_of_any_answer():
    asked = []

    def answer(call):
        asked.append(call.timeout)
        return SKY

    probes = Probes(None, Abilities())
    asyncio.run(probes.ensure(Server(answer), Profile(), Persistence(sleep=no_sleep), seconds=300.0))
    assert asked[0] == 300


def test_a_file_that_cannot_be_put_in_its_place_leaves_nothing_behind(tmp_path):
    (tmp_path / FILE).mkdir()
    ensure(Probes(tmp_path, Abilities()), Server(lambda call: SKY))
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
