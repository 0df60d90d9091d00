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

from deep_research.errors import ModelError
from deep_research.logs import redact
from deep_research.models.base import TokenUsage

LONGEST_WAIT = 60.0  # seconds; a service that asks for more parks the run
LONGEST_MESSAGE = 300  # characters of what a service says
TOO_LONG = "The prompt is longer than the model's window."

_FATAL = frozenset((400, 401, 402, 403, 404, 405, 410, 413, 415, 422))
# Limits that no waiting lifts, whatever the status they come with.
_SPENT = frozenset(
    (
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "account_deactivated",
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
_CONTEXT = re.compile(
    r"context[_ ](?:length|window)|maximum context|prompt is too long|too many tokens|exceeds? the (?:model|context)",
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
) -> ModelError:
    """The one kind of error that a model raises. ``maybe_billed``: the request may be paid for though no usage came."""
    return ModelError(
        f"{model}: {_short(problem)}",
        hint=hint,
        verdict=verdict.value,
        model=model,
        status=status,
        reason=code,
        retry_after=retry_after,
        usage=(usage or TokenUsage(known=not maybe_billed)).model_dump(),
        maybe_billed=maybe_billed,
        request_id=request_id,
    )


def from_status(
    status: int,
    message: str,
    *,
    model: str,
    code: str = "",
    headers: Mapping[str, str] | None = None,
    now: datetime | None = None,
    request_id: str | None = None,
) -> ModelError:
    """What an HTTP status with its error code (or type) means. An error inside a stream comes with status 200."""
    wait = retry_after(headers or {}, now or datetime.now(UTC))
    verdict, hint = Verdict.TRANSIENT, ""
    if code in _SPENT or status == 402:
        verdict, hint = Verdict.FATAL, "The account has no credit left or its spend limit is reached."
    elif status in (401, 403):
        verdict, hint = Verdict.FATAL, "Check the API key and what it may use."
    elif status == 404:
        verdict, hint = Verdict.FATAL, "Check the model's name and the base URL."
    elif _CONTEXT.search(f"{code} {message}"):
        verdict, hint = Verdict.FATAL, TOO_LONG
    elif status in _FATAL and code not in _OVERLOADED:
        verdict = Verdict.FATAL
    elif wait is not None and wait > LONGEST_WAIT:
        verdict, hint = Verdict.PARK, "The service asks to wait longer than a run should."
    return failure(
        verdict,
        message or f"the service answered {status}",
        model=model,
        hint=hint,
        status=status,
        code=code or ("context_length" if hint == TOO_LONG else ""),
        retry_after=wait,
        maybe_billed=status in (200, 408, 500, 502, 503, 504),
        request_id=request_id,
    )


def is_too_long(error: ModelError) -> bool:
    """Whether the prompt did not fit the model's window."""
    return error.hint == TOO_LONG


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a service asks to wait; None where it does not, or says what is no time to wait."""
    lower = {name.lower(): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(lower[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        moment = parsedate_to_datetime(lower["retry-after"])
    except (KeyError, ValueError, TypeError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _short(message: str) -> str:
    line = redact(" ".join(message.split())).encode(errors="replace").decode()  # halves of characters
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}…"
