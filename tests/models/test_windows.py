"""Windows that servers tell, that errors name, and that users give."""

import asyncio
import json

import pytest
from servers import Fault, ModelServer
from servers.http import Reply

from deep_research.errors import ModelError
from deep_research.limits import Gates
from deep_research.models import Message, ModelCall
from deep_research.models.failures import Verdict, failure, is_too_long
from deep_research.models.model_pool import ModelPool, Shared
from deep_research.models.ollama import Ollama
from deep_research.models.openai_chat import OpenAIChat
from deep_research.models.probe import FILE
from deep_research.models.profiles import SMALLEST, Profile
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities
from deep_research.testing.models import ScriptedProvider

pytestmark = pytest.mark.timed

NAME = "openai-compatible:m"
PROMPT = ModelCall(messages=(Message(content="How many ships? " * 40),), max_output=4_000, timeout=300)


async def no_sleep(_seconds):
    pass


def pool_of(folder=None, **own):
    return ModelPool(
        profiles={NAME: Profile(**own)} if own else {},
        data_dir=folder,
        timeout=300.0,
        common=Shared(Gates(), Abilities()),
        persistence=Persistence(sleep=no_sleep),
    )


def asked(pool, provider):
    """Returns whether the window has to be assumed, and the window."""

    async def ask():
        try:
            return await pool.windows.ask(provider)
        finally:
            await provider.aclose()

    return asyncio.run(ask()), pool.profile_of(provider).context


def text(pool, provider, call=PROMPT):
    async def ask():
        try:
            return (await pool.language_model([provider]).text(call)).value
        finally:
            await provider.aclose()

    return asyncio.run(ask())


def chat(server):
    return OpenAIChat("m", base_url=f"{server.base_url}/v1")


def refused(window=4_096):
    return failure(Verdict.FATAL, "too long", model="m", status=400, window=window)


def test_a_server_is_asked_once_for_the_window_of_a_model_that_nothing_is_known_of():
    with ModelServer(context=32_768) as server:
        pool, provider = pool_of(), chat(server)
        assert asked(pool, provider) == (False, 32_768)
        assert asked(pool, provider) == (False, 32_768)
        assert [lookup.path for lookup in server.lookups] == ["/v1/models"]
        assert not server.log


def test_what_the_server_does_not_say_is_assumed_and_known_to_be():
    with ModelServer(dialect="window-openai") as server:
        pool, provider = pool_of(), chat(server)
        assert asked(pool, provider) == (True, SMALLEST)
        assert asked(pool, provider) == (True, SMALLEST)
        assert len(server.lookups) == 4  # the list of models, and where three servers have it


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_a_server_that_refuses_is_asked_no_more(status):
    with ModelServer() as server:
        server.canned = Reply(status, (b"{}",))
        pool, provider = pool_of(), chat(server)
        asked(pool, provider)
        assert pool.profile_of(provider).context == SMALLEST
        assert len(server.lookups) == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[1", b"[" * 100_000, b"{}" * 10, b'{"data": [7]}', b"<html></html>", b" " * 5_000_000],
)
def test_whatever_a_server_says_of_its_models_a_window_is_assumed(body):
    with ModelServer() as server:
        server.canned = Reply(200, (body,))
        assert asked(pool_of(), chat(server)) == (True, SMALLEST)


def test_a_server_that_is_not_there_says_nothing_and_may_later():
    with ModelServer() as server:
        provider, pool = chat(server), pool_of()
    assert asked(pool, provider) == (False, SMALLEST)


def test_nobody_is_asked_what_is_known():
    with ModelServer(context=32_768) as server:
        assert asked(pool_of(context=16_000), chat(server)) == (False, 16_000)
        known = OpenAIChat("m", base_url=f"{server.base_url}/v1")
        known.window = (9_000, 1_000)
        assert asked(pool_of(), known) == (False, 9_000)
        hosted = ScriptedProvider(service="openai", model="gpt-5")
        hosted.tells_window = True
        assert asked(pool_of(), hosted)[0] is False
        assert not server.lookups


@pytest.mark.parametrize(
    ("parameters", "largest", "window"),
    [
        ('num_ctx                        16384\nstop "<|im_end|>"', 131_072, 16_384),
        ("", 131_072, 32_768),
        ("", 2_048, 2_048),
        ("", None, SMALLEST),
    ],
)
def test_ollama_is_asked_for_as_much_of_a_window_as_the_model_is_set_up_with(parameters, largest, window):
    shown = {
        "parameters": parameters,
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": largest},
    }
    with ModelServer() as server:
        server.canned = Reply(200, (json.dumps(shown).encode(),))
        assert asked(pool_of(), Ollama("m", base_url=server.base_url))[1] == window


def test_a_smaller_window_in_an_error_is_believed_and_the_answer_made_to_fit():
    with ModelServer(["Seven."], dialect="window-vllm") as server:
        pool = pool_of()
        assert text(pool, chat(server)) == "Seven."
        assert [served.status for served in server.log] == [400, 200]
        assert server.log[1].limit < server.log[0].limit
        assert pool.profile(chat(server)).context == 4_096


def test_a_window_that_another_request_learned_meanwhile_is_kept_to_as_well():
    def answer(call):
        return refused() if call.max_output + len(PROMPT.messages[0].content) // 3 > 4_096 else "Seven."

    async def both():
        met, first = asyncio.Barrier(2), iter(range(2))

        class Together(ScriptedProvider):
            async def send(self, call, on_text=None):
                if next(first, None) is not None:
                    await met.wait()
                return await super().send(call, on_text)

        model = pool_of().language_model([Together(answer)])
        return await asyncio.gather(model.text(PROMPT), model.text(PROMPT))

    assert [answer.value for answer in asyncio.run(both())] == ["Seven.", "Seven."]


def test_a_prompt_that_does_not_fit_the_window_is_left_to_who_made_it():
    long = PROMPT.model_copy(update={"messages": (Message(content="ships " * 4_000),)})
    with ModelServer(["Seven."], dialect="window-openai") as server:
        pool, provider = pool_of(), chat(server)
        with pytest.raises(ModelError) as raised:
            text(pool, provider, long)
        assert is_too_long(raised.value)
        assert len(server.log) == 1
        assert pool.language_model([provider]).profile.context == 4_096


def test_a_server_that_names_ever_smaller_windows_is_left():
    def smaller(call):
        return refused(max(512, 4_096 - 600 * len(provider.calls)))

    provider = ScriptedProvider(smaller)
    with pytest.raises(ModelError):
        text(pool_of(), provider)
    assert len(provider.calls) == 2


def test_a_window_that_an_error_named_is_known_to_another_process_and_goes_with_what_is_probed(tmp_path):
    provider = ScriptedProvider()
    assert pool_of(tmp_path).windows.learn(provider, refused())
    later = pool_of(tmp_path)
    assert later.profile_of(provider).context == 4_096
    assert later.probes.known_probe() == {}  # what the model can do was not found out by that
    asyncio.run(later.probes.ensure(provider, Profile(), Persistence(sleep=no_sleep)))
    assert pool_of(tmp_path).profile_of(provider).context == 4_096
    assert json.loads((tmp_path / FILE).read_text())[provider.identity]["window"] == 4_096


def test_what_the_user_says_goes_over_what_was_remembered_and_an_error_over_that(tmp_path):
    with ModelServer() as server:
        provider = chat(server)
    pool_of(tmp_path).windows.learn(provider, refused())
    own = pool_of(tmp_path, context=16_000)
    assert own.profile_of(provider).context == 16_000
    assert own.windows.learn(provider, refused(8_000))
    assert own.profile_of(provider).context == 8_000
    assert not own.windows.learn(provider, refused(9_000))
    assert not own.windows.learn(provider, failure(Verdict.FATAL, "no key", model="m"))


def test_the_longest_answer_that_an_error_names_is_kept_to():
    words = "max_tokens is too large: 4000. This model supports at most 1024 completion tokens."
    with ModelServer(["Seven."]) as server:
        server.faults = [Fault("400", message=words)]
        pool = pool_of()
        assert text(pool, chat(server)) == "Seven."
        assert text(pool, chat(server)) == "Seven."
        assert [served.limit for served in server.log] == [4_000, 1_024, 1_024]
