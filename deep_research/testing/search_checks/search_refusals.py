"""Checks of a search service's refusals: ask again, wait, give up."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

from deep_research.testing.search_bench import QUERY, Ability, Bench

_TRANSIENT = (408, 425, 429, 500, 502, 503, 504, 529)
_REFUSED = (400, 401, 403, 404, 405, 410, 414, 422, 451)
_WAITS = (
    ("7", 7.0, "transient"),
    ("0", 0.0, "transient"),
    ("0.5", 0.5, "transient"),
    (" 12 ", 12.0, "transient"),
    ("60", 60.0, "transient"),
    ("61", 61.0, "quota"),
    ("3600", 3600.0, "quota"),
    ("99999999999", 2_592_000.0, "quota"),
    ("nan", None, "transient"),
    ("inf", None, "transient"),
    ("-5", None, "transient"),
    ("soon", None, "transient"),
    ("", None, "transient"),
    ("Sun, 06 Nov 1994 08:49:37 GMT", None, "transient"),
    ("Fri, 99 Foo 9999 99:99:99 GMT", None, "transient"),
)


async def what_may_pass_is_transient(bench: Bench) -> None:
    for status in _TRANSIENT:
        assert await _trouble(bench, status, (b"{}",)) == ("transient", None, status)


async def what_will_not_pass_is_refused(bench: Bench) -> None:
    for status in _REFUSED:
        assert await _trouble(bench, status, (b"{}",)) == ("refused", None, status)


async def an_account_without_credit_is_quota(bench: Bench) -> None:
    assert await _trouble(bench, 402, (b"{}",)) == ("quota", None, 402)


async def a_wait_is_told_in_every_form(bench: Bench) -> None:
    for header, seconds, trouble in _WAITS:
        for status in (429, 503):
            headers = {"retry-after": header}
            assert await _trouble(bench, status, (b"{}",), headers=headers) == (trouble, seconds, status), (
                header
            )


async def a_date_to_wait_for_is_seconds(bench: Bench) -> None:
    for ahead, trouble in ((30, "transient"), (7200, "quota")):
        headers = {"retry-after": formatdate(time.time() + ahead, usegmt=True)}
        actual, seconds, _ = await _trouble(bench, 429, (b"{}",), headers=headers)
        assert actual == trouble
        assert isinstance(seconds, float)
        assert ahead - 20 < seconds <= ahead


async def words_of_any_shape_are_read_or_left(bench: Bench) -> None:
    """A page of a gateway, nothing, lists, numbers: the status says enough."""
    for body in (b"", b"<html>no</html>", b"null", b"[]", b"7", b'{"error": 7}', b'{"error": [{}]}', b"\xff"):
        assert (await _trouble(bench, 500, (body,), "text/html"))[0] == "transient"
        assert (await _trouble(bench, 400, (body,)))[0] == "refused"


async def an_error_is_one_line_that_names_the_provider(bench: Bench) -> None:
    words = 'Do\nnot \x1b[31m"do" this, ' * 200
    for place in ({"error": {"message": words}}, {"detail": {"error": words}}, {"message": words}):
        bench.server.send(400, (json.dumps(place).encode(),))
        error = (await bench.search()).failure
        assert str(error).startswith(f"{bench.provider().name}: ")
        assert str(error).isprintable()
        assert len(str(error)) < 500


async def an_error_does_not_repeat_the_question(bench: Bench) -> None:
    """Not even where the service does."""
    for kind in ("400", "401", "500"):
        bench.server.fail(kind, message=f"Not found: {QUERY}.")
        assert QUERY not in str((await bench.search()).failure)


async def the_services_own_errors_are_understood(bench: Bench) -> None:
    """In its own format, with its own words; and nothing is asked twice."""
    for kind, trouble in (("429", "transient"), ("500", "transient"), ("400", "refused"), ("402", "quota")):
        bench.server.fail(kind)
        outcome = await bench.search()
        assert outcome.failure.data["trouble"] == trouble
        assert len(outcome.requests) == 1
    if bench.has(Ability.KEYED):
        bench.server.key = "another"
        assert (await bench.search()).failure.data["trouble"] == "refused"


async def _trouble(bench: Bench, *reply: Any, **details: Any) -> tuple[object, object, object]:
    bench.server.send(*reply, **details)
    data = (await bench.search()).failure.data
    return data["trouble"], data["retry_after"], data["status"]
