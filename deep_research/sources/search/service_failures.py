"""Classification of a search service's failures: ask again, wait, give up. Pure.

| answer | trouble |
|---|---|
| 408, 409, 425, 429, 5xx, a success other than 200; a broken connection; no answer of the service in time | transient |
| one of these with a ``Retry-After`` of more than 60 seconds | quota |
| 402, or where the service says that a plan, a day or a budget is used up | quota |
| any other 3xx and 4xx: the key, the address or the request is wrong | refused |

A wait that was named is in ``retry_after`` in every case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from deep_research.errors import SearchError
from deep_research.logs import redact
from deep_research.models.clients_wire import record, text
from deep_research.sources.search.base import Trouble, search_failure

MAX_WAIT_SECONDS = 60.0  # seconds; rather than wait longer, the engine asks another service
MAX_QUOTA_SECONDS = 30 * 24 * 3600.0

_PASSING = frozenset((408, 409, 425, 429))
_MAX_REASON_CHARS = 200  # characters of what a service says
_MAX_READ_CHARS = 4_000
_HINTS = {
    401: "Check the API key.",
    402: "The account has no credit left.",
    403: "Check the API key and what it may use.",
    404: "Check the base URL.",
}


def transient(
    name: str, problem: str, *, status: int | None = None, hint: str = "", unreached: bool = False
) -> SearchError:
    return search_failure(
        Trouble.TRANSIENT, f"{name}: {problem}.", hint=hint, status=status, unreached=unreached
    )


def refusal(
    name: str,
    status: int,
    body: Any,
    *,
    headers: Mapping[str, str],
    trouble: Trouble | None = None,
    hint: str = "",
    unsaid: tuple[str, ...] = (),
    now: datetime | None = None,
) -> SearchError:
    """The failure that a status other than 200 tells. ``trouble``: what the service's own code means, over that of the
    status. ``unsaid``: texts of the request; a message that quotes one is left out."""
    wait = retry_after(headers.get("retry-after"), now or datetime.now(UTC))
    kind = trouble or of_status(status)
    if kind is Trouble.TRANSIENT and wait is not None and wait > MAX_WAIT_SECONDS:
        kind = Trouble.QUOTA
    words = message(body)
    # A service that quotes the request would put the question, or a key, where only an error was to be told.
    if any(len(phrase) > 3 and phrase.casefold() in words.casefold() for phrase in unsaid):
        words = ""
    if 300 <= status < 400:
        words, hint = "the base URL leads elsewhere", hint or "Give the address that it leads to."
    problem = f"{name}: {_printable(words) or 'the service did not answer'} (status {status})."
    if not hint and kind is not Trouble.TRANSIENT:
        hint = (
            "The plan or the day's allowance is used up." if kind is Trouble.QUOTA else _HINTS.get(status, "")
        )
    return search_failure(kind, problem, hint=hint, retry_after=wait, status=status)


def of_status(status: int) -> Trouble:
    """What a status means where the service says no more."""
    if status == 402:
        return Trouble.QUOTA
    passing = status < 300 or status >= 500 or status in _PASSING
    return Trouble.TRANSIENT if passing else Trouble.REFUSED


def retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds that a service asks to wait, 30 days at most; None where it does not, or names what is no time to
    wait."""
    header = (value or "").strip()
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            seconds = (moment - now).total_seconds()
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    return min(seconds, MAX_QUOTA_SECONDS) if math.isfinite(seconds) and seconds >= 0 else None


def message(body: Any) -> str:
    """The words of an error's body, in the places where these services put them; else empty."""
    error_body = record(body)
    inner = error_body.get("error")
    for place in (error_body.get("detail"), inner):
        if words := text(record(place).get("error")) or text(record(place).get("message")):
            return words
        if words := text(record(place).get("info")):
            return words
    return text(error_body.get("message")) or text(inner) or text(error_body.get("detail"))


def _printable(words: str) -> str:
    """On one line, without secrets, markup or characters that a terminal would obey."""
    one = redact(" ".join(words[:_MAX_READ_CHARS].split()))
    one = "".join(character if character.isprintable() else "?" for character in one)
    return one[:_MAX_REASON_CHARS].rstrip(". ")
