"""Recording what models answer, and answering from such a record: the same run again without a model.

A record is a file of JSON lines, one for each request: what was asked, and the reply or the failure. It holds prompts
and answers as they were, and is readable by its owner alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from deep_research.errors import ConfigurationError, ModelError
from deep_research.files import read_regular
from deep_research.logs import redact
from deep_research.models.base import MEMORY_LABEL, Message, ModelCall, ModelProvider, OnText, Reply, Wrapped
from deep_research.models.characters import in_all_texts
from deep_research.models.failures import Verdict, failure
from deep_research.patterns import regex
from deep_research.state.identity import sha256_hex

_MEMORIES = regex(
    rf"(?P<label>^<<(?P<mark>[0-9a-f]{{16}}) {MEMORY_LABEL} [^>\n]*>>)\n.*?\n(?P<end><<(?P=mark) end>>)$",
    re.S | re.M,
)
MAX_RECORD_BYTES = 500_000_000  # bytes of a record that is read


class Recorder(Wrapped):
    """Writes down each request to the provider within and what came of it. Thread-safe; raises
    `ConfigurationError` when the file cannot be written."""

    def __init__(
        self, inner: ModelProvider, path: Path, *, window: Callable[[], tuple[int, int] | None] | None = None
    ) -> None:
        """``window``: the size of the window that prompts are filled by, as it is known by then."""
        super().__init__(inner)
        self._window = window or (lambda: inner.window)
        self.path = path
        self._gate = threading.Lock()
        self._write({})  # now, not after an answer was paid for

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        try:
            reply = await self.inner.send(call, on_text)
        except ModelError as error:
            await asyncio.to_thread(self._write, self._line(call, error=_error_record(error)))
            raise
        await asyncio.to_thread(self._write, self._line(call, reply=reply.model_dump(mode="json")))
        return reply

    def _line(self, call: ModelCall, **outcome: Any) -> dict[str, Any]:
        shown = call.model_copy(update={"messages": tuple(map(_without_memories, call.messages))})
        asked = shown.model_dump(mode="json", exclude={"timeout"}, exclude_defaults=True)
        told = {"model": self.name, "window": self._window()}
        return {"key": key_of(call), **told, "call": asked, **outcome}

    def _write(self, line: dict[str, Any]) -> None:
        text = f"{json.dumps(line, ensure_ascii=False)}\n" if line else ""
        try:
            with self._gate:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as file:
                    file.write(text)
        except OSError as error:
            raise ConfigurationError(
                f"The record of model answers {self.path.name} cannot be written: {error.strerror}.",
                hint="Choose another file for record_models.",
            ) from None


class Replay(ModelProvider):
    """``replay:FILE``: answers as the record says. The same question is answered with its first reply, then the
    second, and so on, the last again and again; one that is not in the record fails. Costs nothing. The window is that
    of the recorded models, the smallest of several: what is put into a prompt goes by it."""

    service = "replay"
    probed = False

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._gate = threading.Lock()
        self._outcomes: dict[str, list[Reply | ModelError]] = defaultdict(list)
        self._given: dict[str, int] = defaultdict(int)
        self._schemas: dict[str, dict[str, Any]] = {}
        forms: set[str] = set()
        windows: dict[str, tuple[int, int]] = {}  # what was learned of a model later is learned again
        for number, line in enumerate(_lines(Path(model).expanduser()), start=1):
            try:
                self._outcomes[line["key"]].append(_outcome(line))
                if form := line["call"].get("form"):
                    forms.add(form["by"])  # what was never asked for would not be found
                    self._schemas.setdefault(form["name"], form["json_schema"])
                self.has_tools = self.has_tools or bool(line["call"].get("tools"))
                if line.get("window") is not None:
                    windows.setdefault(str(line.get("model")), _window(line["window"]))
            except (KeyError, TypeError, ValueError, AttributeError):
                raise ConfigurationError(
                    f"Line {number} of the record {Path(model).name} is not a recorded answer."
                ) from None
        both: tuple[Literal["schema", "tool"], ...] = ("schema", "tool")
        self.forms = tuple(form for form in both if form in forms)
        if windows:
            self.window = min(w[0] for w in windows.values()), min(w[1] for w in windows.values())

    def schema_of(self, answer: type[BaseModel]) -> dict[str, Any]:
        """As the recorded service takes it: its size counts in what is measured, by which later prompts are filled."""
        recorded = self._schemas.get(answer.__name__)
        return super().schema_of(answer) if recorded is None else deepcopy(recorded)

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        key = key_of(call)
        with self._gate:
            outcomes = self._outcomes.get(key, [])
            place = self._given[key]
            self._given[key] += 1
        if not outcomes:
            raise failure(
                Verdict.FATAL,
                "the record holds no answer to this request",
                model=self.name,
                hint="Record it again: prompts or settings have changed.",
                status=400 if call.form or call.tools else None,  # it may hold one in another form
            )
        outcome = outcomes[min(place, len(outcomes) - 1)]
        if isinstance(outcome, ModelError):
            raise outcome
        if on_text is not None and outcome.text:
            on_text(outcome.text)
        return outcome


def _without_memories(message: Message) -> Message:
    """What is remembered of a user is named by id and hash, and not written down: it may be forgotten. A turn as its
    service gave it stands in the reply that it came with."""
    plain = message.model_copy(update={"native": None})
    return in_all_texts(plain, lambda text: _MEMORIES.sub(r"\g<label>\n\g<end>", text))


def key_of(call: ModelCall) -> str:
    """What makes two requests the same: what the model reads and how it is to answer. Each service has a form of
    schemas of its own, so of a schema only the name counts; of a turn of a model what it says and calls."""
    form = [call.form.by, call.form.name] if call.form else None
    turns = [[message.role, message.content, *_tool_use(message)] for message in call.messages]
    parts: list[Any] = [call.system, turns, form, call.temperature, call.effort]
    if call.tools:
        parts.append([tool.model_dump() for tool in call.tools])
    text = json.dumps(parts, ensure_ascii=False)
    if call.nonce:
        text = text.replace(call.nonce, "nonce")
    return sha256_hex(text.encode("utf-8", "replace"))


def _tool_use(message: Message) -> list[dict[str, Any]]:
    return [part.model_dump() for part in (*message.calls, *message.outputs)]


def _window(held: Any) -> tuple[int, int]:
    context, output = held
    if not (isinstance(context, int) and isinstance(output, int) and context >= 512 and output >= 16):
        raise ValueError("no window")
    return context, output


def _lines(path: Path) -> list[Any]:
    try:
        text = read_regular(path, MAX_RECORD_BYTES).decode("utf-8")
        # At line feeds alone: texts hold other characters at which lines could be split.
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except OSError as error:
        raise ConfigurationError(f"The record {path.name} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ConfigurationError(f"The record {path.name} is not a file of JSON lines.") from None


def _error_record(error: ModelError) -> dict[str, Any]:
    return {"problem": redact(error.problem), "hint": redact(error.hint), "data": error.data}


def _outcome(line: Any) -> Reply | ModelError:
    if "reply" in line:
        return Reply.model_validate(line["reply"])
    error = line["error"]
    return ModelError(error["problem"], hint=error["hint"], **error["data"])
