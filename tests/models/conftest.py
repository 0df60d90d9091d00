"""Units of work in virtual time."""

import pytest

from deep_research.models.base import Message, ModelCall, Reply, StopReason, TokenUsage
from deep_research.models.language_model import SingleModel
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities


@pytest.fixture
def model_of(time):
    """A language model over a provider, in virtual time and without chance."""

    def made(provider, *, abilities=None, profile=None, **more):
        return SingleModel(
            provider,
            profile or Profile(context=8_192, output=4_000),
            abilities=abilities or Abilities(),
            persistence=Persistence(sleep=time.sleep, chance=lambda: 0.0, **more),
            clock=time,
        )

    return made


@pytest.fixture
def call():
    return ModelCall(messages=(Message(content="How many ships?"),), max_output=1_000)


@pytest.fixture
def reply():
    def made(text="seven", stop=StopReason.END, *, tokens=(10, 5), known=True):
        usage = TokenUsage(input=tokens[0], output=tokens[1], is_known=known)
        return Reply(text=text, stop=stop, usage=usage)

    return made
