"""What a failed request means: ask again, wait, give up. Pure.

``transient``: the same request may work soon. ``park``: it may work, but later than a run should wait. ``fatal``: it
never will, until someone changes a key, a name or an account. ``malformed``: an answer came that is not what was
asked for. Answers that were cut, too long or refused are replies; `retry` gives them the verdicts ``incomplete``,
``length`` and ``refusal`` when they stand to the end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

from pydantic import ValidationError

from deep_research.errors import ModelError
from deep_research.logs import redact
from deep_research.models.base import TokenUsage
from deep_research.models.error_bodies import as_window, limit_in
from deep_research.patterns import regex

MAX_WAIT_SECONDS = 60.0  # seconds; a service that asks for more parks the run
MAX_PARK_SECONDS = 30 * 24 * 3600.0  # seconds; services may name any moment, and calendars end
MAX_MESSAGE_CHARS = 300  # characters of what a service says
TOO_LONG = "The prompt is longer than the model's window."

_MAX_READ_CHARS = 20_000  # characters of a message that are looked at for secrets
# Of the statuses that blame the request, those that say nothing against the next one like it.
_PASSING = frozenset((408, 409, 423, 424, 425, 429, 498, 499))
_NOT_DONE = frozenset((501, 505))
_BUSY = frozenset((408, 429, 503, 529))  # whatever their words are, they are not about the prompt
_SURELY_FREE = frozenset((501, 503, 505, 529))
# Limits that no waiting lifts, whatever the status they come with.
_SPENT = frozenset(
    (
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "account_deactivated",
        "billing_error",
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
    )
)
_OVERLOADED = frozenset(
    (
        "overloaded_error",
        "api_error",
        "server_error",
        "timeout_error",
        "rate_limit_error",
        "rate_limit_exceeded",
    )
)
# Errors within a stream come with status 200, so that only their type tells.
_HOPELESS = frozenset(
    (
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
        "invalid_api_key",
        "model_not_found",
    )
)
_CONTEXT = regex(
    r"context[_ ](?:length|window|size|limit)|context\b.{0,20}\boverflow|\bn_ctx\b|max_(?:seq|model)_len|maximum context"
    r"|maximum (?:model|prompt|sequence|input) length|(?:prompt|input|messages?)(?: is| are)? too (?:long|large)"
    r"|too many tokens|longer than the m(?:aximum|odel)|\btoken limit\b|reduce the length of|range of input length"
    r"|`?(?:inputs|max_new_tokens)`? must (?:be|have) (?:<=|less)|(?:prompt|tokens?\b.{0,40}) exceeds?\b"
    r"|exceeds? the (?:model|context|maximum number of tokens|maximum allowed length)",
    re.IGNORECASE,
)
# A request that is by itself more than a minute's tokens: waiting does not help.
_TOO_LARGE = regex(r"reduce your message size|tokens must be reduced", re.IGNORECASE)
_ANSWER_CAP = regex(
    r"\bmax(?:_(?:completion|output|new))?_tokens\b|(?:completion|output) tokens", re.IGNORECASE
)
# A form of the answer that a service fails over.
_FORM = regex(
    r"\bgrammar|response[_ ]?format|json[_ ]?(?:schema|mode|object)|\bschema\b|structured[_ ]output"
    r"|guided[_ ](?:json|decod)|guidance|\btools?(?:[_ ](?:choice|calls?|use|parser))?\b|function[_ ]?call|outlines",
    re.IGNORECASE,
)


class Verdict(StrEnum):
    TRANSIENT = "transient"
    PARK = "park"
    FATAL = "fatal"
    INCOMPLETE = "incomplete"
    MALFORMED = "malformed"
    LENGTH = "length"
    REFUSAL = "refusal"


def failure(
    verdict: Verdict,
    problem: str,
    *,
    model: str,
    hint: str = "",
    status: int | None = None,
    code: str = "",
    retry_after: float | None = None,
    usage: TokenUsage | None = None,
    maybe_billed: bool = False,
    request_id: str | None = None,
    window: int | None = None,
    longest_answer: int | None = None,
) -> ModelError:
    """The one kind of error that a model raises. ``maybe_billed``: the request may be paid for though no usage came;
    ``window`` and ``longest_answer``: the tokens of the model's window and of what it may write at most, as the service
    named them."""
    return ModelError(
        f"{model}: {_short(problem)}",
        hint=hint,
        verdict=verdict.value,
        model=model,
        status=status,
        reason=_short(code),
        retry_after=retry_after,
        usage=(usage or TokenUsage(is_known=not maybe_billed)).model_dump(),
        maybe_billed=maybe_billed,
        request_id=_short(request_id) if request_id else None,
        **({} if window is None else {"window": window}),
        **({} if longest_answer is None else {"longest_answer": longest_answer}),
    )


def usage_of(error: ModelError) -> TokenUsage:
    """What the request or the unit that failed so has used; unknown where it may be billed and no number came."""
    told, maybe_billed = error.data.get("usage"), bool(error.data.get("maybe_billed"))
    try:
        usage = TokenUsage.model_validate(told) if told else TokenUsage()
    except ValidationError:  # a provider of someone else's wrote it
        return TokenUsage(is_known=False)
    return usage.model_copy(update={"is_known": usage.is_known and not maybe_billed})


def from_status(
    status: int,
    message: str,
    *,
    model: str,
    code: str = "",
    headers: Mapping[str, str] | None = None,
    now: datetime | None = None,
    request_id: str | None = None,
    window: int | None = None,
) -> ModelError:
    """What an HTTP status with its error code (or type) means. An error inside a stream comes with status 200."""
    wait = retry_after(headers or {}, now or datetime.now(UTC))
    verdict, hint, is_of_answer = Verdict.TRANSIENT, "", False
    if code in _SPENT or status == 402:
        verdict, hint = Verdict.FATAL, "The account has no credit left or its spend limit is reached."
    elif status in (401, 403):
        verdict, hint = Verdict.FATAL, "Check the API key and what it may use."
    elif status == 404:
        verdict, hint = Verdict.FATAL, "Check the model's name and the base URL."
    elif _TOO_LARGE.search(message) or (
        status not in _BUSY and code not in _OVERLOADED and _CONTEXT.search(f"{code} {message}")
    ):
        verdict, hint = Verdict.FATAL, TOO_LONG
    elif _blames_the_request(status, code):
        verdict = Verdict.FATAL
        is_of_answer = _ANSWER_CAP.search(message) is not None
    elif wait is not None and wait > MAX_WAIT_SECONDS:
        verdict, hint = Verdict.PARK, "The service asks to wait longer than a run should."
    return failure(
        verdict,
        message or f"the service answered {status}",
        model=model,
        hint=hint,
        status=status,
        code=code or ("context_length" if hint == TOO_LONG else ""),
        retry_after=wait,
        maybe_billed=hint != TOO_LONG
        and (status in (200, 408) or (status >= 500 and status not in _SURELY_FREE)),
        request_id=request_id,
        window=(window or limit_in(message)) if hint == TOO_LONG else None,
        longest_answer=limit_in(message) if is_of_answer else None,
    )


def _blames_the_request(status: int, code: str) -> bool:
    if code in _OVERLOADED:
        return False
    if status == 200:
        return code in _HOPELESS
    return status in _NOT_DONE or (400 <= status < 500 and status not in _PASSING)


def is_outage(error: Exception) -> bool:
    """Whether a failure says nothing of the answer: the service cannot be reached, or does not serve us."""
    if not isinstance(error, ModelError) or is_too_long(error):
        return False
    return error.verdict in (Verdict.TRANSIENT, Verdict.PARK, Verdict.FATAL)


def is_too_long(error: ModelError) -> bool:
    """Whether the prompt did not fit the model's window."""
    return error.hint == TOO_LONG


def names_form(error: ModelError) -> bool:
    """Returns True for an error that speaks of the form that was asked for."""
    return bool(_FORM.search(error.problem))


def limits_of(error: ModelError) -> tuple[int | None, int | None]:
    """The tokens of the model's window and of its longest answer, where an error names them."""
    return as_window(error.data.get("window")), as_window(error.data.get("longest_answer"))


def tells_too_long(message: str) -> bool:
    """Whether the words of an error are about a prompt that did not fit its window."""
    return bool(_CONTEXT.search(message)) or TOO_LONG in message


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a service asks to wait; None where it does not, or says what is no time to wait."""
    lower = {name.lower(): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(lower[name]) * unit
        except (KeyError, ValueError):
            continue
        return min(seconds, MAX_PARK_SECONDS) if math.isfinite(seconds) and seconds >= 0 else None
    try:
        moment = parsedate_to_datetime(lower["retry-after"])
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return min(max(0.0, (moment - now).total_seconds()), MAX_PARK_SECONDS)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError):
        return None


def _short(message: str) -> str:
    """On one line, without secrets, and without characters that a terminal would obey."""
    line = redact(" ".join(message[:_MAX_READ_CHARS].split()))
    line = "".join(
        character if character.isprintable() else "?" for character in line[: MAX_MESSAGE_CHARS + 1]
    )
    return line if len(line) <= MAX_MESSAGE_CHARS else f"{line[:MAX_MESSAGE_CHARS]}…"
