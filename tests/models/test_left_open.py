"""Nothing of an answer is left for the garbage collection, however it ends: each generator that it is read through is
closed by then. One that is left would be closed by its loop, or, where that is gone, by nobody."""

import asyncio
import gc
import sys
from functools import partial

import pytest
from servers import FAULT_KINDS, Answer, Fault, ModelServer

from deep_research.errors import ModelError
from deep_research.models.anthropic import AnthropicMessages
from deep_research.models.base import Message, ModelCall
from deep_research.models.ollama import Ollama
from deep_research.models.openai import OpenAIResponses
from deep_research.models.openai_chat import OpenAIChat

pytestmark = pytest.mark.timed

PROVIDERS = {
    "anthropic": lambda url: AnthropicMessages("model-1", api_key="k", base_url=url),
    "openai": lambda url: OpenAIResponses("model-1", api_key="k", base_url=f"{url}/v1"),
    "openai-compatible": lambda url: OpenAIChat("model-1", api_key="k", base_url=f"{url}/v1"),
    "ollama": lambda url: Ollama("model-1", base_url=url),
}
CALL = ModelCall(messages=(Message(content="Tell it."),), max_output=100_000, timeout=0.15)
LONG = Answer("Seven ships passed, and none of them was seen again. " * 400)
OF_A_REQUEST = (
    "ByteStream.__aiter__"  # bytes of a request that was given up while it was sent: httpcore's, nothing open
)


class Reader:
    """A loop with a provider and its server, and what was left there: the generators that nobody had closed."""

    def __init__(self, make, **server):
        self.left = []
        self.server = ModelServer(**server)
        self._runner = asyncio.Runner()
        self._make = make

    def __enter__(self):
        gc.collect()
        gc.freeze()  # what there is now is not of this test: only what comes is looked through
        self.server.__enter__()
        self._runner.__enter__()
        self.provider = self._make(self.server.base_url)
        return self

    def __exit__(self, *failure):
        self._runner.run(self.provider.aclose())
        self._runner.__exit__(*failure)
        self.server.__exit__(*failure)

    def run(self, ask):
        """What came of it: an answer, or an error."""
        outcome = self._runner.run(self._watched(ask))
        gc.collect()
        self._runner.run(asyncio.sleep(0))
        return outcome

    async def _watched(self, ask):
        closes = sys.get_asyncgen_hooks().finalizer

        def found(generator):
            if generator.__qualname__ != OF_A_REQUEST:
                self.left.append(generator.__qualname__)
            closes(generator)

        sys.set_asyncgen_hooks(finalizer=found)
        try:
            return await ask()
        except (ModelError, asyncio.CancelledError, KeyError) as error:
            return type(error)


@pytest.fixture(params=PROVIDERS)
def make(request):
    return PROVIDERS[request.param]


def test_no_fault_leaves_a_generator_behind(make):
    with Reader(make) as reader:
        for kind in FAULT_KINDS:
            reader.server.faults = [Fault(kind, times=None, interval=0.02, patience=2.0, size=10_000)]
            for on_text in (None, lambda piece: None):
                reader.run(partial(reader.provider.send, CALL, on_text))
                assert (kind, on_text is not None, reader.left) == (kind, on_text is not None, [])


def test_who_stops_listening_leaves_no_generator_behind(make):
    """A consumer that fails at the first piece, one that is cancelled at it, and one that hears all."""

    def fail(piece):
        raise KeyError(piece)

    def cancel(piece):
        asyncio.current_task().cancel()

    with Reader(make, answers=[LONG]) as reader:
        call = CALL.model_copy(update={"timeout": 60.0})
        outcomes = [
            reader.run(partial(reader.provider.send, call, hear))
            for hear in (fail, cancel, lambda piece: None)
        ]
        assert outcomes[:2] == [KeyError, asyncio.CancelledError]
        assert outcomes[2].text == LONG.text
        assert reader.left == []


def test_an_answer_that_was_heard_to_its_end_leaves_its_connection_for_the_next(make):
    with Reader(make, answers=[LONG]) as reader:
        call = CALL.model_copy(update={"timeout": 60.0})
        for on_text in (None, lambda piece: None) * 2:
            assert reader.run(partial(reader.provider.send, call, on_text)).text == LONG.text
        assert reader.left == []
