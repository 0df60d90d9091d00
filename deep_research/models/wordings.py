"""How often the same is asked of the same model."""

from __future__ import annotations

import threading
from collections import Counter

from deep_research.models.base import ModelCall, ModelProvider
from deep_research.models.recording import key_of

MOST_REQUESTS = 4  # of one unit of work, and of one wording in a run

Wording = tuple[str, str]  # which model of which server, and a digest of what it reads


class Wordings:
    """How often each wording was sent to each model in a run, from when it was begun or resumed. Thread-safe."""

    def __init__(self, most: float = MOST_REQUESTS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._sent: Counter[Wording] = Counter()

    def take(self, wording: Wording) -> bool:
        """Whether it may be sent once more, which is counted."""
        with self._lock:
            if self._sent[wording] >= self._most:
                return False
            self._sent[wording] += 1
            return True

    def give_back(self, wording: Wording) -> None:
        """It was not sent after all."""
        with self._lock:
            self._sent[wording] -= 1

    def is_worn(self, wording: Wording) -> bool:
        with self._lock:
            return self._sent[wording] >= self._most


def wording_of(provider: ModelProvider, call: ModelCall) -> Wording:
    """Which model of which server reads it, and what it reads, whatever the form of the answer."""
    said = ModelCall(system=call.system, messages=call.messages, nonce=call.nonce)
    return provider.identity, key_of(said)
