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
from deep_research.models.base import TokenUsage
from deep_research.models.clients_bodies import STRANGE
from deep_research.models.failures import Verdict, failure, from_status
from deep_research.patterns import regex
from deep_research.unpacking import BodyError

_FOREIGN = frozenset(
    ("anthropic", "openai", "httpx", "httpx2", "httpcore", "httpcore2", "h11", "anyio", "jiter")
)
# What SDKs run into over answers that they did not expect.
_STUMBLES = (RuntimeError, AssertionError, AttributeError, LookupError, ValueError)
_LONGEST_CODE = 100  # characters
_NEVER_SENT = frozenset(
    ("ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError", "gaierror")
)
_UNTRUSTED = frozenset(("SSLCertVerificationError",))
_NO_ADDRESS = frozenset(("InvalidURL", "UnsupportedProtocol"))
_NOT_TAKEN = regex(
    r"unsupported|not? support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed",
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
    if body and isinstance(body, Mapping):
        return refused(200, body, model=model)
    if kinds & _UNTRUSTED:
        return failure(Verdict.FATAL, "the certificate of the service is not trusted", model=model)
    if kinds & _NO_ADDRESS:
        return failure(Verdict.FATAL, "the base URL is no address", model=model)
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
    message, told = said(body)
    error = from_status(
        status, message, model=model, code=code or told, headers=headers, request_id=request_id
    )
    if usage is not None and usage.known:
        error.data |= {"usage": usage.model_dump(), "maybe_billed": False}
    return error


def unusable(error: BodyError, *, model: str) -> ModelError:
    """What a body that cannot be used means: an error says by its status what is the matter, an answer is none."""
    if error.status:
        words = f"the service answered {error.status}, and what the error says is {error}"
        told = refused(error.status, {"message": words}, model=model, headers=error.headers)
        return ModelError(told.problem, hint=told.hint or STRANGE, **told.data)
    return malformed(f"the answer is {error}", model=model, hint=STRANGE)


def malformed(problem: str, *, model: str, hint: str = "", request_id: str | None = None) -> ModelError:
    return failure(
        Verdict.MALFORMED, problem, model=model, hint=hint, maybe_billed=True, request_id=request_id
    )


def said(body: Any) -> tuple[str, str]:
    """The message and the code of an error's body, as OpenAI, Anthropic, Ollama and vLLM write it; else empty. Only
    what is meant to be read is taken: other parts may quote the request."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        if isinstance(inner, str):
            return inner, ""
        if isinstance(inner, Mapping):
            body = inner
        message = body.get("message") or body.get("detail")
        details = body.get("details")
        exact = details.get("error_code") if isinstance(details, Mapping) else None
        code = exact or body.get("code") or body.get("type")
        known = str(code) if isinstance(code, str | int) else ""
        return (message if isinstance(message, str) else ""), known[:_LONGEST_CODE].encode(
            errors="replace"
        ).decode()
    return "", ""


class Wishes:
    """Fields of a request that may be left out, and what the service was found not to take.

    Which models know ``temperature`` or an effort changes with every release, so no list is kept. A service that will
    not have such a field says so in a 400 that costs nothing; from then on it is left out, or sent as ``instead``
    says, and the error asks to try again at once. ``also``: a pattern of what else a service may call a field.
    """

    def __init__(
        self, *names: str, instead: Mapping[str, str] | None = None, also: Mapping[str, str] | None = None
    ) -> None:
        self._names = names
        self._instead = dict(instead or {})
        self._also = dict(also or {})
        self._refused: set[str] = set()

    def granted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request without what is known not to be taken."""
        named = {(self._instead.get(name, "") if name in self._refused else name): name for name in request}
        return {new: request[old] for new, old in named.items() if new}

    def learned(self, error: ModelError, sent: Mapping[str, Any]) -> ModelError:
        """The error, or one that asks to try again since the next request will be another."""
        if error.data.get("status") not in (400, 422) or not _NOT_TAKEN.search(error.problem):
            return error
        for name in (*self._names, *self._instead):
            called = rf"\b(?:{'|'.join([name, *filter(None, [self._also.get(name)])])})"
            # Also where another request learned it meanwhile: this one was sent before.
            if name in sent and re.search(called, error.problem):
                self._refused.add(name)
                return failure(
                    Verdict.TRANSIENT,
                    f"the service does not take '{name}', which is left out from now on",
                    model=str(error.data["model"]),
                    status=error.data["status"],
                    retry_after=0.0,
                    request_id=error.data.get("request_id"),
                )
        return error


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
