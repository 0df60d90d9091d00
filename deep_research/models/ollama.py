"""Models on this machine, or another, that run in Ollama, over its own format.

Its OpenAI-compatible one cannot set the size of the context, which is 4,096 tokens on most machines: what does not fit
is dropped from the prompt without a word.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
from pydantic import SecretStr

from deep_research.addresses import is_loopback
from deep_research.errors import ModelError
from deep_research.models.base import ModelCall, ModelProvider, OnText, Reply, StopReason
from deep_research.models.characters import whole_characters
from deep_research.models.clients import (
    MAX_CONNECT_SECONDS,
    MAX_SILENCE_SHARE,
    UNPACKED,
    PerLoop,
    bounded,
    checked_url,
    deadline,
    secret_key,
    tls,
)
from deep_research.models.clients_errors import (
    STREAM,
    SYSTEM,
    OptionalParams,
    foreign_errors,
    no_answer,
    refused,
)
from deep_research.models.clients_wire import (
    MAX_ANSWER_BYTES,
    AnswerText,
    Body,
    drain,
    error_data,
    is_stream,
    json_lines,
    number,
    record,
    text,
    turns,
    usage_from,
    whole,
    without_system,
)
from deep_research.models.error_bodies import MAX_UNKNOWN_OUTPUT_TOKENS, as_window, read_error
from deep_research.models.failures import Verdict, failure
from deep_research.patterns import regex

URL_VARIABLE = "OLLAMA_HOST"
OWN_PORT = 11434

_SECONDS_TO_SHOW = 10.0
MAX_UNASKED_TOKENS = (
    32_768  # of a window: a larger one takes more memory than who did not ask for it may have
)
_NUM_CTX = regex(r"(?m)^num_ctx\s{1,80}(\d{1,9})\s*$")
_STOPS = {"stop": StopReason.END, "length": StopReason.LENGTH}


class Ollama(ModelProvider):
    """``ollama:MODEL``. ``base_url`` is that of OLLAMA_HOST unless given, else this machine; a key is only needed
    where a server behind a login is used.

    ``context`` of a call becomes ``num_ctx``; a prompt that is longer is refused (by servers from 0.12.4 on) instead of
    cut. Ollama's schema output binds any model, so that a form asked for by tool is asked for in the same way: there
    is no forcing a tool here.
    """

    service = "ollama"
    own_url = f"http://127.0.0.1:{OWN_PORT}"
    forms = ("schema",)
    tells_window = True

    def __init__(
        self, model: str, *, api_key: SecretStr | str | None = None, base_url: str | None = None
    ) -> None:
        super().__init__(model)
        self.base_url = checked_url(
            base_url or ollama_host(os.environ.get(URL_VARIABLE, "")), of=self.service
        )
        self._key = secret_key(api_key)
        self._optional = OptionalParams("think")
        self._clients = PerLoop(self._client, httpx.AsyncClient.aclose)

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        stream = on_text is not None and self._optional.takes(STREAM)
        call = call if self._optional.takes(SYSTEM) else without_system(call)
        request = self._optional.granted(self._request(call)) | {STREAM: stream}
        try:
            async with (
                deadline(call.timeout, model=self.name),
                self._opened("/api/chat", request, call.timeout) as body,
            ):
                if on_text is not None and is_stream(body):
                    return await self._streamed(body, on_text, call.timeout * MAX_SILENCE_SHARE)
                answer = record(await whole(body, model=self.name))
                reply = self._reply(answer, _piece(answer), lines=1)
        except ModelError as error:
            raise self._optional.learned(error, request, call) from None
        if on_text is not None and reply.text:
            on_text(reply.text)
        return reply

    async def ask_window(self) -> tuple[int, int] | None:
        """The window that the model is set up with, else as much of its largest as is asked for without being told to: it
        takes memory."""
        async with (
            deadline(_SECONDS_TO_SHOW, model=self.name),
            self._opened("/api/show", {"model": self.model}, _SECONDS_TO_SHOW) as body,
        ):
            details = record(await whole(body, model=self.name))
        setup = _NUM_CTX.search(text(details.get("parameters")))
        window = as_window(setup.group(1) if setup else min(_largest_window(details), MAX_UNASKED_TOKENS))
        return None if window is None else (window, min(window // 2, MAX_UNKNOWN_OUTPUT_TOKENS))

    async def aclose(self) -> None:
        await self._clients.aclose()

    def _client(self) -> httpx.AsyncClient:
        key = {"authorization": f"Bearer {self._key.get_secret_value()}"} if self._key else {}
        return httpx.AsyncClient(
            base_url=self.base_url,
            headers=UNPACKED | key,
            event_hooks={"response": [bounded(MAX_ANSWER_BYTES)]},
            verify=tls(),
            trust_env=not is_loopback(self.base_url),
        )

    def _request(self, call: ModelCall) -> dict[str, Any]:
        options: dict[str, Any] = {"num_predict": call.max_output}
        if call.context is not None:
            options["num_ctx"] = call.context
        if call.temperature is not None:
            options["temperature"] = call.temperature
        request: dict[str, Any] = {
            "model": self.model,
            "messages": turns(call),
            "options": options,
            # Neither cut what does not fit, nor forget the beginning while writing.
            "truncate": False,
            "shift": False,
        }
        if call.form is not None:
            request["format"] = call.form.json_schema
        if call.effort is not None:
            request["think"] = call.effort.value
        return request

    @asynccontextmanager
    async def _opened(self, path: str, request: Mapping[str, Any], seconds: float) -> AsyncIterator[Body]:
        client = self._clients.here()
        timeout = httpx.Timeout(seconds, connect=min(seconds, MAX_CONNECT_SECONDS))
        with foreign_errors(self.name):
            sent = client.build_request("POST", path, json=request, timeout=timeout)
            response = await client.send(sent, stream=True)
        try:
            if response.status_code != 200:
                raise await self._refused(response)
            yield response
        finally:
            await response.aclose()

    async def _refused(self, response: httpx.Response) -> ModelError:
        try:
            body = await error_data(response, model=self.name)
        except ModelError as error:
            if error.data.get("status"):  # it tells of a body that is not to be read
                return error
            body = None
        if response.status_code == 404 and "model" in read_error(body).message:
            return failure(
                Verdict.FATAL,
                "the model is not there",
                model=self.name,
                hint=f"Run `ollama pull {self.model}`.",
                status=404,
            )
        return refused(response.status_code, body, model=self.name, headers=response.headers)

    def _reply(self, last: Mapping[str, Any], said: str, *, lines: int) -> Reply:
        """The last line of an answer, of which a plain one has just one, and all that was said."""
        if last.get("error"):
            raise refused(200, last, model=self.name)
        if lines == 1 and "message" not in last:
            raise no_answer(last, "the answer has no message", model=self.name)
        done = last.get("done") is True
        # Servers that say that they are done and not why are older than the reason.
        stop = _STOPS.get(text(last.get("done_reason")) or "stop", StopReason.END)
        return Reply(
            text=whole_characters(said),
            stop=stop if done else StopReason.INCOMPLETE,
            usage=usage_from(last.get("prompt_eval_count"), last.get("eval_count", 0)),
            model=text(last.get("model")),
        )

    async def _streamed(self, body: Body, on_text: OnText, silence: float) -> Reply:
        said = AnswerText(self.name)
        last: Mapping[str, Any] = {}
        lines = 0
        async with aclosing(json_lines(body, model=self.name, silence=silence)) as stream:
            async for line in stream:
                last = record(line)
                lines += 1
                if last.get("error"):
                    break
                if piece := _piece(last):
                    said.add(piece)
                    on_text(piece)
                if last.get("done") is True:
                    await drain(stream)
                    break
        return self._reply(last, str(said), lines=lines)


def _largest_window(details: Mapping[str, Any]) -> int:
    info = record(details.get("model_info"))
    return number(info.get(f"{text(info.get('general.architecture'))}.context_length"))


def ollama_host(host: str) -> str:
    """The address that OLLAMA_HOST means: its parts may be missing, and the server reads it as where to listen."""
    scheme, found, rest = host.strip().rpartition("://")
    scheme = scheme if found else "http"
    place, slash, path = rest.partition("/")
    name, port = _host_and_port(place)
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(name, name)  # noqa: S104
    usual = {"http": "80", "https": "443"}.get(scheme, str(OWN_PORT)) if found else str(OWN_PORT)
    return f"{scheme}://{name}:{port or usual}{slash}{path}"


def _host_and_port(place: str) -> tuple[str, str]:
    if place.endswith("]") or ":" not in place:
        return place, ""
    name, _, port = place.rpartition(":")
    return name, port


def _piece(line: Mapping[str, Any]) -> str:
    return text(record(line.get("message")).get("content"))
