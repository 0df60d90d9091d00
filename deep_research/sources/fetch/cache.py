"""Cache rules: whether a saved page may be used instead of a new request. Pure.

This is the cache of one user, so what is private may be used again. What may not be stored (``no-store``) is still kept
as the evidence of its run; it is only never used for another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Protocol

from deep_research.patterns import regex

MIN_LIFETIME_SECONDS, MAX_LIFETIME_SECONDS = (
    300.0,
    86_400.0,
)  # seconds that are guessed where the server says nothing
_SHARE = 0.1  # of the time for which a page had not changed when it was fetched
_MAX_SECONDS = 10.0 * 365 * 86_400
_DIRECTIVE = regex(r"""([a-z-]+)(?:\s*=\s*("[^"]*"|[^\s,"]*))?""", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPage:
    """A page as it was fetched at ``url`` and found at ``final_url``. ``headers`` are those that matter, lower case;
    ``fetched_at`` is when the server last said that this is the page."""

    url: str
    final_url: str
    fetched_at: datetime
    headers: Mapping[str, str]
    body: bytes


class SavedPages(Protocol):
    """Where pages of earlier runs are kept."""

    async def latest(self, url: str) -> SavedPage | None:
        """The latest page that was fetched at an address, None when there is none."""
        ...


class NoPages:
    """Nothing was saved."""

    async def latest(self, url: str) -> SavedPage | None:
        return None


class Freshness(StrEnum):
    FRESH = "fresh"  # may be used without asking
    STALE = "stale"  # ask, on the conditions of `conditions`
    NEVER = "never"  # ask as if it had not been saved


def freshness(page: SavedPage, now: datetime) -> Freshness:
    """What may be done with a saved page at a moment."""
    directives = _directives(page.headers)
    if not reusable(page.headers):
        return Freshness.NEVER
    if "no-cache" in directives or "*" in page.headers.get("vary", ""):
        return Freshness.STALE
    return Freshness.FRESH if _age(page, now) < lifetime(page.headers) else Freshness.STALE


def reusable(headers: Mapping[str, str]) -> bool:
    """Whether a page with these headers may be used for another run at all."""
    return "no-store" not in _directives(headers)


def lifetime(headers: Mapping[str, str]) -> float:
    """Seconds for which a page is fresh from when its server made it: as told, else guessed within
    `MIN_LIFETIME_SECONDS` and `MAX_LIFETIME_SECONDS` from how long it had not changed."""
    directives = _directives(headers)
    if "max-age" in directives:
        return _seconds(directives["max-age"])
    created_at = _moment(headers.get("date"))
    if "expires" in headers:
        until = _moment(headers["expires"])  # what is no date, such as 0, means that it is over
        return max(0.0, (until - created_at).total_seconds()) if until and created_at else 0.0
    changed = _moment(headers.get("last-modified"))
    guess = _SHARE * (created_at - changed).total_seconds() if created_at and changed else 0.0
    return min(max(guess, MIN_LIFETIME_SECONDS), MAX_LIFETIME_SECONDS)


def conditions(page: SavedPage) -> dict[str, str]:
    """The headers that ask for a page only if it is another than the saved one; empty when nothing tells them apart."""
    if freshness(page, page.fetched_at) is Freshness.NEVER:
        return {}
    validators = {
        "if-none-match": page.headers.get("etag"),
        "if-modified-since": page.headers.get("last-modified"),
    }
    # What a server once said is sent back to it: a header, and nothing more.
    return {
        name: value for name, value in validators.items() if value and value.isascii() and value.isprintable()
    }


def renewed(page: SavedPage, headers: Mapping[str, str], now: datetime) -> SavedPage:
    """The saved page after its server said that it has not changed (304): what the answer tells anew is taken over."""
    # An answer without a body says nothing of its type.
    anew = {name: value for name, value in headers.items() if not name.startswith("content-")}
    old_headers = {name: value for name, value in page.headers.items() if name not in ("age", "date")}
    return replace(page, headers={**old_headers, **anew}, fetched_at=now)


def _age(page: SavedPage, now: datetime) -> float:
    """Seconds since the server made the page, on its way included."""
    created_at = _moment(page.headers.get("date"))
    apparent_age = (page.fetched_at - created_at).total_seconds() if created_at else 0.0
    resident_time = (now - page.fetched_at).total_seconds()
    if resident_time < 0:  # a clock was set back: nothing can be said
        return float("inf")
    return max(0.0, apparent_age, _seconds(page.headers.get("age", "0"))) + resident_time


def _directives(headers: Mapping[str, str]) -> dict[str, str]:
    """The directives of Cache-Control by name in lower case, the first of each."""
    directives: dict[str, str] = {}
    for name, value in _DIRECTIVE.findall(headers.get("cache-control", "")):
        directives.setdefault(name.lower(), value.strip('"'))
    return directives


def _seconds(text: str) -> float:
    return min(float(text), _MAX_SECONDS) if text.isascii() and text.isdigit() else 0.0


def _moment(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
