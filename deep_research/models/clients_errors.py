"""Whatever an SDK or its HTTP stack raises, as the one error that a model raises.

Neither SDK is imported here: their errors are told by what they have, and the classes of the two HTTP stacks (httpx,
httpx2) by their names, which are the same in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from deep_research.errors import ModelError
from deep_research.models.base import ModelCall, TokenUsage
from deep_research.models.clients import STRANGE
from deep_research.models.error_bodies import read_error
from deep_research.models.failures import Verdict, failure, from_status, is_too_long, usage_of
from deep_research.patterns import regex
from deep_research.unpacking import BodyError

_FOREIGN = frozenset(
    ("anthropic", "openai", "httpx", "httpx2", "httpcore", "httpcore2", "h11", "anyio", "jiter")
)
# What SDKs run into over answers that they did not expect.
_STUMBLES = (RuntimeError, AssertionError, AttributeError, LookupError, ValueError)
_NEVER_SENT = frozenset(
    ("ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError", "gaierror")
)
_UNTRUSTED = frozenset(("SSLCertVerificationError",))
_NO_ADDRESS = frozenset(("InvalidURL", "UnsupportedProtocol"))
_NOT_TAKEN = regex(
    r"unsupported|not? (?:be )?support|n[o']t (?:be )?(?:support|allow|permit|enable|implement|available|accept)"
    r"|unrecogni[sz]ed|not (?:currently )?(?:enabled|available|implemented)|disabled"
    r"|must be false|cannot be (?:used|set|true)|is invalid",
    re.IGNORECASE,
)
# What a service says of a field that it does not know, and of its own troubles as well: "unexpected end of stream".
_NOT_KNOWN = regex(r"unknown|unexpected|extra", re.IGNORECASE)
STREAM, SYSTEM = "stream", "system"
_STREAM = r"stream(?:ing|ed)?(?!\w)"  # other fields begin so
# The statuses of services that will not have a field.
_OBJECTS = frozenset((400, 403, 404, 405, 406, 415, 422, 500, 501))
_NO_SYSTEM = regex(
    r"(?:system|developer)\W{0,3}(?:role|message|prompt|instruction|turn)s?\b.{0,60}?(?:\bnot\b|n't|\bun|invalid|disabled|only)"
    r"|(?:\bnot\b|n't|\bun\w+|invalid|disallowed|\bno\b).{0,60}?\W(?:system|developer)\W{0,3}(?:role|message|prompt|instruction"
    r"|turn)|\brole\b.{0,60}?\W(?:system|developer)\b|\bunexpected role|conversation roles? must alternate"
    r"|only .{0,20}\buser\b.{0,40}\broles?\b|\broles?\b.{0,40}(?:must|should|can only) be.{0,20}\buser\b",
    re.IGNORECASE,
)


@contextmanager
def foreign_errors(model: str) -> Iterator[None]:
    """Around calls into an SDK or HTTP stack, and nothing else: what they raise becomes `ModelError`; cancellation and
    bugs of ours pass. The foreign error is not chained, since it carries the request with its key and prompt."""
    try:
        yield
    except BodyError as error:
        raise unusable(error, model=model) from None
    except Exception as error:
        if isinstance(error, ModelError) or not _is_foreign(error):
            raise
        raise from_foreign(error, model=model) from None


def from_foreign(error: Exception, *, model: str) -> ModelError:
    """What a foreign error means: by its status, by its body, or by its kind."""
    kinds = {kind.__name__ for each in _chain(error) for kind in type(each).__mro__}
    status, body = getattr(error, "status_code", None), getattr(error, "body", None)
    if isinstance(status, int) and "APIStatusError" in kinds:
        response = getattr(error, "response", None)
        return refused(
            status,
            body,
            model=model,
            headers=getattr(response, "headers", None),
            code=getattr(error, "error_code", None),
            request_id=getattr(error, "request_id", None),
        )
    if body and isinstance(body, Mapping | list):
        return refused(200, body, model=model)
    if kinds & _UNTRUSTED:
        return failure(Verdict.FATAL, "the certificate of the service is not trusted", model=model)
    if kinds & _NO_ADDRESS:
        return failure(Verdict.FATAL, "the base URL is not an address", model=model)
    kind = type(error.__cause__ or error).__name__
    if isinstance(error, _STUMBLES) or "APIResponseValidationError" in kinds:
        return malformed(f"the answer cannot be read ({kind})", model=model)
    return failure(
        Verdict.TRANSIENT,
        "the service cannot be reached" if kinds & _NEVER_SENT else f"the connection broke ({kind})",
        model=model,
        hint="Is it running?" if kinds & _NEVER_SENT else "",
        maybe_billed=not kinds & _NEVER_SENT,
    )


def refused(
    status: int,
    body: Any,
    *,
    model: str,
    headers: Mapping[str, str] | None = None,
    code: str | None = None,
    request_id: str | None = None,
    usage: TokenUsage | None = None,
) -> ModelError:
    """What an error in a service's own words means, whether it came with its status or within a stream (200)."""
    if 300 <= status < 400:
        problem = "the base URL leads elsewhere"
        return failure(
            Verdict.FATAL, problem, model=model, hint="Give the address it leads to.", status=status
        )
    error_body = read_error(body)
    error = from_status(
        status,
        error_body.message,
        model=model,
        code=code or error_body.code,
        headers=headers,
        request_id=request_id,
        window=error_body.window,
    )
    if usage is not None and usage.is_known:
        error.data |= {"usage": usage.model_dump(), "maybe_billed": False}
    return error


def unusable(error: BodyError, *, model: str) -> ModelError:
    """What a body that cannot be used means: an error says by its status what is the matter, an answer is none."""
    if error.status:
        words = f"the service answered {error.status}, and what the error says is {error}"
        told = refused(error.status, {"message": words}, model=model, headers=error.headers)
        return ModelError(told.problem, hint=told.hint or STRANGE, **told.data)
    return malformed(f"the answer is {error}", model=model, hint=STRANGE)


def no_answer(data: Any, problem: str, *, model: str, request_id: str | None = None) -> ModelError:
    """Returns the error for data that came with status 200 and is no answer: the service's own, where it has words."""
    if read_error(data).message:
        return refused(200, data, model=model, request_id=request_id)
    return malformed(problem, model=model, request_id=request_id)


def malformed(problem: str, *, model: str, hint: str = "", request_id: str | None = None) -> ModelError:
    return failure(
        Verdict.MALFORMED, problem, model=model, hint=hint, maybe_billed=True, request_id=request_id
    )


class OptionalParams:
    """Fields of a request that may be left out, and what the service was found not to take.

    Which models know ``temperature`` or an effort changes with every release, so no list is kept. A service that will
    not have such a field says so in an error that costs nothing; from then on it is left out, or sent as ``instead``
    says, and the error asks to try again at once. ``also``: a pattern of what else a service may call a field.
    `STREAM` and `SYSTEM` stand for how an answer is sent and where instructions stand; providers ask for them with
    `takes`.
    """

    def __init__(
        self, *names: str, instead: Mapping[str, str] | None = None, also: Mapping[str, str] | None = None
    ) -> None:
        self._names = (*names, STREAM, SYSTEM)
        self._instead = dict(instead or {})
        self._also = dict(also or {})
        self._refused: set[str] = set()

    def takes(self, name: str) -> bool:
        return name not in self._refused

    def granted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request without what is known not to be taken."""
        named = {(self._instead.get(name, "") if name in self._refused else name): name for name in request}
        return {new: request[old] for new, old in named.items() if new}

    def learned(self, error: ModelError, sent: Mapping[str, Any], call: ModelCall) -> ModelError:
        """The error, or one that asks to try again since the next request will be another."""
        if error.data.get("status") not in _OBJECTS or is_too_long(error):
            return error
        for name in (*self._names, *self._instead):
            # Also where another request learned it meanwhile: this one was sent before.
            if (name in sent or (name == SYSTEM and call.system)) and self._is_refused(name, error):
                self._refused.add(name)
                return failure(
                    Verdict.TRANSIENT,
                    f"the service does not take '{name}', which is sent in another way from now on",
                    model=str(error.data["model"]),
                    status=error.data["status"],
                    retry_after=0.0,
                    usage=usage_of(error),
                    maybe_billed=bool(error.data.get("maybe_billed")),
                    request_id=error.data.get("request_id"),
                )
        return error

    def _is_refused(self, name: str, error: ModelError) -> bool:
        problem = error.problem
        if name == SYSTEM:
            return _NO_SYSTEM.search(problem) is not None
        names = [_STREAM if name == STREAM else name, *filter(None, [self._also.get(name)])]
        called = re.search(rf"\b(?:{'|'.join(names)})", problem, re.IGNORECASE)
        blames_request = error.data["status"] < 500
        return bool(
            called and (_NOT_TAKEN.search(problem) or (blames_request and _NOT_KNOWN.search(problem)))
        )


def _is_foreign(error: Exception) -> bool:
    if isinstance(error, OSError) or any(_root(kind.__module__) in _FOREIGN for kind in type(error).__mro__):
        return True
    return isinstance(error, _STUMBLES) and _raised_in_foreign_code(error)


def _raised_in_foreign_code(error: Exception) -> bool:
    """Whether the innermost code that is neither ours nor the standard library's JSON is an SDK's."""
    trace, inmost = error.__traceback__, ""
    while trace is not None:
        name = _root(trace.tb_frame.f_globals.get("__name__", ""))
        inmost = inmost if name in ("json", "codecs", "encodings") else name
        trace = trace.tb_next
    return inmost in _FOREIGN


def _root(module: str) -> str:
    return module.partition(".")[0]


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it."""
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__
