"""Checks of stores that remember pages, one function a promise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from deep_research.state import RunStatus
from deep_research.state.journal import Content, PageHead
from deep_research.state.projection import Projection
from deep_research.testing.store_bench import Bench

URL = "https://example.org/a"
MORNING = datetime(2026, 1, 2, 8, tzinfo=UTC)
BODY = b"<p>\xff\x00 bytes, not text</p>"


def an_address_that_nobody_saved_has_no_page(bench: Bench) -> None:
    assert bench.store.page(URL) is None


def a_page_comes_back_as_it_was_fetched(bench: Bench) -> None:
    bench.create(pages=[_page(BODY, etag='"1"')])
    page = bench.store.page(URL)
    assert page is not None
    assert page.body == BODY
    assert page.media_type == "text/html"
    assert (page.head.url, page.head.found_at, page.head.at) == (URL, f"{URL}/final", MORNING)
    assert dict(page.head.headers) == {"etag": '"1"'}


def the_bytes_of_a_page_are_found_by_their_hash_too(bench: Bench) -> None:
    page = _page(BODY)
    bench.create(pages=[page])
    assert bench.store.contents([page.hash]) == [BODY]


def the_last_page_of_an_address_counts_whatever_comes_later(bench: Bench) -> None:
    lane = bench.create(pages=[_page(b"noon", hours=4)])
    bench.append(lane, 1, pages=[_page(b"morning")])
    assert (page := bench.store.page(URL)) is not None
    assert page.body == b"noon"
    bench.append(lane, 2, pages=[_page(b"evening", hours=12)])
    assert (page := bench.store.page(URL)) is not None
    assert page.body == b"evening"


def a_refused_append_leaves_no_page(bench: Bench) -> None:
    lane = bench.create()
    assert bench.append(lane, 7, pages=[_page(BODY)]) is not None
    assert bench.store.page(URL) is None


def deleting_the_only_run_of_a_page_forgets_it(bench: Bench) -> None:
    projection = Projection(status=RunStatus.COMPLETED)
    for run in ("run-1", "run-2"):
        lane = bench.create(run, pages=[_page(BODY)])
        assert bench.append(lane, 1, projection=projection, release=True) is None
    bench.store.delete("run-1")
    assert bench.store.page(URL) is not None
    bench.store.delete("run-2")
    assert bench.store.page(URL) is None


def _page(body: bytes, *, hours: int = 0, **headers: str) -> Content:
    head = PageHead(URL, f"{URL}/final", MORNING + timedelta(hours=hours), headers)
    return Content.of_page(body, "text/html", head)
