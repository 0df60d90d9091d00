"""What settings change in runs whose agents ask a model."""

import asyncio
import time
from contextlib import contextmanager

import pytest
from prompt_reading import ReadingModel, reading
from servers import ModelServer
from setting_runs import (
    QUESTION,
    ModelPlanner,
    long_documents,
    model_server,
    read_in_part,
    read_of_long_documents,
    researched,
    with_documents,
    with_model,
)

from deep_research import DeepResearch, RunStatus
from deep_research.budget.archive import Archive
from deep_research.errors import ConfigurationError
from deep_research.models import Message, ModelCall, ModelProvider
from deep_research.models.failures import Verdict, failure
from deep_research.models.retry import Persistence
from deep_research.state.journal import utc_now
from deep_research.testing import ScriptedSearch


async def at_once(_seconds):
    await asyncio.sleep(0)


def seconds_of_all_requests_for_an_answer(tmp_path):
    class Hanging(ModelProvider):
        service, probed, asked = "hanging", False, 0

        async def send(self, call, on_text=None):
            self.asked += 1
            await asyncio.Event().wait()

    for seconds, requests in ((0.02, 1), (1_000, 4)):
        provider = Hanging("m")
        made = {
            "model": provider,
            "search": [ScriptedSearch()],
            "data_dir": tmp_path,
            "operation_timeout": 0.02,
        }
        with DeepResearch(**made, unit_timeout=seconds) as research:
            research._parts.models.pool.persistence = Persistence(sleep=at_once)
            assert research.run(QUESTION).status is RunStatus.PARKED
        assert provider.asked == requests


def models_that_are_asked_in_turn(tmp_path):
    with model_server() as (server, name):
        result = with_model(tmp_path, model=[name.format("one"), name.format("two")])
    assert [served.model for served in server.log] == ["one"]
    assert result.usage.model_calls == 1


def models_by_role(tmp_path):
    with model_server() as (server, name):
        with_model(tmp_path, model=name.format("one"), models={"planner": name.format("two")})
    assert [served.model for served in server.log] == ["two"]


def how_hard_models_think(tmp_path):
    for effort, planned in (({}, "high"), ("medium", "medium"), ({"planner": "low", "all": "high"}, "low")):
        with model_server() as (server, name):
            with_model(tmp_path, model=name.format("one"), effort=effort)
        assert [served.body["reasoning_effort"] for served in server.log] == [planned]


def tokens_for_thinking(tmp_path):
    caps = []
    for tokens in (0, 3_000, {"planner": 3_000}, {"refiner": 3_000}):
        with model_server() as (server, name):
            with_model(tmp_path, model=name.format("one"), thinking_tokens=tokens)
        caps.append(server.log[0].limit)
    assert [cap - caps[0] for cap in caps] == [0, caps[1] - caps[0], caps[1] - caps[0], 0]
    assert caps[1] > caps[0]


def what_is_known_of_models(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text('["openai-compatible:one"]\nprice = { input = 1000000.0, output = 0.0 }\n')
    with model_server() as (_, name):
        result = with_model(tmp_path, model=name.format("one"), model_file=path)
    assert result.usage.cost_usd == result.usage.input_tokens > 0


def a_record_of_answers(tmp_path):
    path = tmp_path / "record.jsonl"
    with model_server() as (_, name):
        first = with_model(tmp_path, model=name.format("one"), record_models=path)
    again = with_model(tmp_path, model=f"replay:{path}")
    assert (again.usage.input_tokens, again.usage.cost_usd) == (first.usage.input_tokens, 0.0)


def requests_to_models(tmp_path):
    for cap, status in ((1, "aborted"), (2, "completed")):
        with model_server() as (server, name):
            result = with_model(tmp_path, ModelPlanner(2), model=name.format("one"), max_model_calls=cap)
        assert (result.status, len(server.log)) == (status, cap)


def tokens_of_a_run(tmp_path):
    for cap, status in ((150, "aborted"), (1_000, "completed")):
        with model_server() as (_, name):
            assert with_model(tmp_path, model=name.format("one"), max_tokens=cap).status == status


def dollars_of_a_run(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text('["openai-compatible:one"]\nprice = { input = 100.0, output = 100.0 }\n')
    for cap, status in ((0.001, "aborted"), (1.0, "completed")):
        with model_server() as (_, name):
            result = with_model(tmp_path, model=name.format("one"), model_file=path, max_usd=cap)
        assert result.status == status
        assert result.usage.cost_usd <= cap
    with model_server() as (_, name), pytest.raises(ConfigurationError, match="price of"):
        with_model(tmp_path, model=name.format("one"), max_usd=1.0)


def requests_to_a_service_at_a_time(tmp_path):
    class Many(ModelPlanner):
        async def __call__(self, handoff, model):
            call = ModelCall(messages=(Message(content="What is a tower?"),), max_output=100)
            await asyncio.gather(*(model.text(call) for _ in range(6)))
            return await self.plan(handoff)

    for allowed in (1, 3):
        running, most = 0, 0

        async def answer(served, allowed=allowed):
            nonlocal running, most
            running += 1
            most = max(most, running)
            for _ in range(6_000):
                if most == allowed:
                    break
                await asyncio.sleep(0.01)
            running -= 1
            return "An answer."

        with ModelServer(answer) as server:
            name = f"openai-compatible:m@{server.base_url}/v1"
            with_model(tmp_path, Many(), model=name, rate_limits={"model_concurrency": allowed})
        assert most == allowed


def requests_to_a_service_in_a_minute(tmp_path):
    with model_server() as (_, name):
        began = time.monotonic()
        with_model(
            tmp_path,
            ModelPlanner(3),
            model=name.format("m"),
            rate_limits={"model_requests_per_minute": 600.0},
        )
    assert time.monotonic() - began >= 0.2  # two waits of a tenth of a second


def what_is_left_free_of_a_window(tmp_path):
    rooms = []
    for margin in (0.0, 0.5):
        planner = ModelPlanner()
        with model_server() as (_, name):
            with_model(tmp_path, planner, model=name.format("m"), window={"safety_margin": margin})
        rooms.append(planner.model.room(100))
    assert rooms[1] == rooms[0] // 2


def asked_of(model, start):
    return [call.messages[-1].content for call in model.calls if call.system.startswith(start)]


def what_agents_are_told(tmp_path):
    told = {"system_prompt": "Be brief and kind.", "language": "Portuguese", "audience": "children"}
    _, model = researched(tmp_path, report_words=321, **told)
    assert len(model.calls) >= 3
    agents = [
        call for call in model.calls if not call.system.startswith("You check a report")
    ]  # the judge is none
    assert all("Be brief and kind." in call.messages[-1].content for call in agents)
    (written,) = asked_of(model, "You write the report")
    assert "Write in Portuguese. Write for children." in written
    assert "about 321 words" in written


def model_of_one_run(tmp_path):
    with ModelServer(lambda served: reading(served.text, served.schema)) as server:
        name = f"openai-compatible:one@{server.base_url}/v1"
        with DeepResearch(corpus=with_documents(tmp_path), data_dir=tmp_path / "data") as research:
            assert research.run(QUESTION).usage.model_calls == 0
            assert research.run(QUESTION, provider_id=name).usage.model_calls > 0
        assert {served.model for served in server.log} == {"one"}


def only_models_of_this_machine(tmp_path):
    with model_server() as (server, name):
        made = {"search": ["corpus"], "corpus": with_documents(tmp_path), "local_only": True}
        with_model(tmp_path, model=name.format("one"), **made)
        assert [served.model for served in server.log] == ["one"]
        with pytest.raises(ConfigurationError, match="is not on this machine"):
            with_model(tmp_path, model="openai-compatible:one@http://192.0.2.1/v1", **made)


def when_the_supervisor_thinks(tmp_path):
    for when, thinks in (("never", False), ("on_failure", False), ("always", True)):
        _, model = researched(tmp_path, reflection=when)
        assert bool(asked_of(model, "You supervise")) == thinks


def the_least_share_of_claims_that_are_supported(tmp_path):
    """That nothing of weight is open is no more than likely."""
    for least, status, reason in ((0.5, "completed", None), (0.9, "aborted", "no_evidence")):
        result, _ = researched(tmp_path, min_supported=least)
        assert (result.status, result.reason) == (status, reason)
    assert result.report is None
    assert result.message.endswith("90% are asked for.")


def which_claims_the_judge_sees(tmp_path):
    seen = []
    for scope in ("doubtful", "all"):
        judge = ReadingModel("judge")
        result, _ = researched(tmp_path, models={"judge": judge}, judge=scope)
        assert result.usage.model_calls
        seen.append(sum(call.messages[-1].content.count("\nC") for call in judge.calls))
    assert seen[0] < seen[1]


def whether_a_report_is_looked_at(tmp_path):
    asked = []
    for wanted in (False, True):
        result, model = researched(tmp_path, revise_with_critic=wanted, max_iterations=1)
        assert result.status == "completed"
        asked.append(len(asked_of(model, "You judge what is missing")))
    assert asked == [0, 1]


class Gone(ReadingModel):
    """Cannot be reached."""

    async def send(self, call, on_text=None):
        raise failure(Verdict.PARK, "come back later", model=self.name, retry_after=3_600.0)


def what_is_done_without_a_model(tmp_path):
    for choice, status in (("park", "parked"), ("extractive", "completed")):
        result, _ = researched(tmp_path, model=Gone(), on_outage=choice)
        assert result.status == status
    assert "extractive" in result.report_metadata.writer


def the_cheaper_model_where_it_is_enough(tmp_path):
    profiles = tmp_path / "models.toml"
    for economy, asked in ((False, {"big"}), (True, {"big", "small"})):
        with ModelServer(lambda served: reading(served.text, served.schema)) as server:
            name = f"openai-compatible:{{}}@{server.base_url}/v1"
            profiles.write_text(f'["openai-compatible:big"]\ncheaper = "{name.format("small")}"\n')
            researched(tmp_path, model=name.format("big"), model_file=profiles, cheap_model=economy)
            assert {served.model for served in server.log} == asked


def where_the_engine_runs(tmp_path):
    profile = '["openai-compatible:m"]\ncontext = 60000\n'
    (tmp_path / "models.toml").write_text(profile)
    for runtime, status in (("direct-api", "completed"), ("claude-code", "aborted")):
        with model_server() as (_, name):
            result = with_model(
                tmp_path,
                model=name.format("m"),
                model_file=tmp_path / "models.toml",
                window={"runtime": runtime},
            )
        assert result.status == status


def what_is_left_free_for_the_surroundings(tmp_path):
    rooms = []
    for overhead in (0, 30_000):
        planner = ModelPlanner()
        with model_server() as (_, name):
            with_model(
                tmp_path,
                planner,
                model=name.format("m"),
                window={
                    "model_tokens": {"openai-compatible:m": 100_000},
                    "runtime_overhead": overhead,
                    "safety_margin": 0.0,
                },
            )
        rooms.append(planner.model.room(100))
    assert rooms == [99_900, 69_900]


def windows_of_models(tmp_path):
    for window in (50_000, "openai-compatible:m=80000"):
        planner = ModelPlanner()
        given = {"openai-compatible:m": window} if isinstance(window, int) else window
        with model_server() as (_, name):
            with_model(tmp_path, planner, model=name.format("m"), window={"model_tokens": given})
        assert planner.model.profile.context == (window if isinstance(window, int) else 80_000)


def how_much_a_model_reads(tmp_path):
    used = []
    for tokens in (2_000, 100_000):
        result, _ = read_in_part(tmp_path, reading={"tokens": tokens})
        used.append(result.fidelity.phases["analysis"].content_allocation_metadata)
    assert used[0].tokens_used <= 2_000 < used[1].tokens_used
    assert used[0].fidelity < used[1].fidelity == 1.0


def whether_it_reads_sections_alone(tmp_path):
    used = []
    for sections in (True, False):
        result, _ = read_of_long_documents(tmp_path, reading={"sections": sections})
        used.append(result.fidelity.phases["analysis"].content_allocation_metadata.tokens_used)
        assert any("(reading.sections)" in notice.message for notice in result.notices) is sections
    assert used[0] < used[1]


def whether_a_model_is_asked_about_doubtful_sources(tmp_path):
    (tmp_path / "corpus").mkdir()
    near = "The old tower of the town stood by the water."  # not a word of when it was built
    (tmp_path / "corpus" / "near.md").write_text(
        f"# Walks\n\n{near}\n\n" + "Ships came every evening. " * 300
    )
    for asks in (False, True):
        model = ReadingModel()
        result, _ = read_of_long_documents(
            tmp_path, model=model, reading={"triage": asks}, max_sources_per_query=20
        )
        forms = [call.form.name for call in model.calls if call.form]
        assert result.status == "completed"
        assert forms.count("Choices") == asks


def whether_content_is_made_to_fit(tmp_path):
    shares = []
    for enabled in (True, False):
        result, _ = read_in_part(tmp_path, window={"enabled": enabled})
        shares.append(result.fidelity.phases["analysis"].content_allocation_metadata.fidelity)
    assert shares[0] < shares[1] == 1.0


def whether_anything_is_left_out(tmp_path):
    for allowed in (False, True):
        result, _ = read_in_part(
            tmp_path,
            documents=8,
            max_sources_per_query=20,
            reading={"tokens": 4_000},
            window={"allow_dropping": allowed},
        )
        assert bool(result.fidelity.dropped_content_ids) is allowed


def what_is_never_left_out(tmp_path):
    kept = []
    for protected in ((), ("towers3.md",)):
        result, _ = read_in_part(tmp_path, window={"allow_dropping": True}, protected_sources=protected)
        (source,) = [s for s in result.sources if s.url.endswith("towers3.md")]
        kept.append(result.fidelity.phases["analysis"].content_fidelity[source.id].current_tokens)
    assert kept[1] > 0
    assert kept[1] != kept[0]


@contextmanager
def choosing_server():
    """A server whose models answer as they should, and its log of those that were to choose."""
    with ModelServer(lambda served: reading(served.text, served.schema)) as server:
        yield server, f"openai-compatible:{{}}@{server.base_url}/v1"


def choosers(server):
    return [served.model for served in server.log if "Keep about" in served.text]


def who_chooses_what_is_kept(tmp_path):
    with choosing_server() as (server, name):
        read_in_part(tmp_path, summarization={"model": name.format("chooser")})
        assert set(choosers(server)) == {"chooser"}
    with choosing_server() as (server, _):
        read_in_part(tmp_path)
        assert choosers(server) == []

    def answer(served):
        return "" if served.model == "first" else reading(served.text, served.schema)

    with ModelServer(answer) as server:
        name = f"openai-compatible:{{}}@{server.base_url}/v1"
        result, _ = read_in_part(
            tmp_path,
            summarization={"model": [name.format("first"), name.format("second")]},
        )
        assert {"first", "second"} == set(choosers(server))
    assert not [notice for notice in result.notices if notice.name == "summarizer"]


def how_long_choosing_may_take(tmp_path):
    async def never(_served):
        await asyncio.Event().wait()

    with ModelServer(never) as server:
        name = f"openai-compatible:slow@{server.base_url}/v1"
        result, _ = read_in_part(tmp_path, summarization={"model": name, "timeout": 0.1})
    assert any("0.1 s" in notice.message for notice in result.notices if notice.name == "summarizer")


def whether_choices_are_remembered(tmp_path):
    long_documents(tmp_path)
    for remembered in (True, False):
        with choosing_server() as (server, name):
            fields = {
                "model": [ReadingModel()],
                "corpus": tmp_path / "corpus",
                "data_dir": tmp_path / "data",
                "store": "memory",
                "reading": {"tokens": 2_000},
                "summarization": {"model": name.format("chooser"), "cache": remembered},
            }
            with DeepResearch(**fields) as research:
                research.run("When was the old tower of the town built?")
                first = len(choosers(server))
                research.run("When was the old tower of the town built?")
            again = len(choosers(server)) - first
        assert first > 0
        assert (again == 0) is remembered


def whether_originals_are_kept(tmp_path):
    for enabled in (False, True):
        result, _ = read_in_part(tmp_path, reading={"tokens": 1_200}, content_archive={"enabled": enabled})
        kept = Archive(tmp_path / "data" / "archive", 168, utc_now)
        hashes = result.fidelity.content_archive_hashes
        assert bool(hashes) is enabled
        assert sorted(hashes.values()) == sorted(entry.content_hash for entry in kept.list())
