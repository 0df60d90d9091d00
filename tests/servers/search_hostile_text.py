"""Results that nobody should trust: what cannot be used is dropped, the rest is made plain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deep_research.testing.search_bench import Bench, Hit, hits
from deep_research.testing.search_checks.search_answers import well_formed

_NO_LINKS: tuple[Any, ...] = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>1</script>",
    "file:///etc/passwd",
    "ftp://example.org/x",
    "//example.org/x",
    "/relative",
    "example.org",
    "https://",
    "https://[::1",
    "https://example.org:port/",
    "https://user:password@example.org/",
    "https://example.org/ space",
    "https://example.org/\nHost: evil",
    "https://example.org/\x00",
    "https://example.org/\u202efdp.exe",
    'https://example.org/"><script>',
    "https://example.org/" + "x" * 100_000,
    "",
    None,
    7,
    [],
    {},
    True,
)
_NO_TEXTS: tuple[Any, ...] = (None, 7, 1.5, True, [], {}, ["x"], {"x": "y"})


async def only_web_addresses_come(bench: Bench) -> None:
    good = Hit(url="https://example.org/good")
    for url in _NO_LINKS:
        bench.holds([Hit(url=url), good])
        # A catalogue may know its own address of a work that has no other.
        for address in (await bench.search()).addresses:
            assert address != url
            assert address.startswith(("https://example.org/", "https://openalex.org/"))


async def items_of_any_other_shape_are_dropped(bench: Bench) -> None:
    shapes: tuple[Any, ...] = (7, "x", [], [[]], {}, {"url": 1}, {"x": {"y": {}}}, True, 1.5)
    for spoiled in shapes:
        good = Hit(url="https://example.org/good")
        bench.holds([Hit(url="https://example.org/bad", spoiled=spoiled), good])
        assert (await bench.search()).addresses == [good.url], spoiled


async def fields_of_any_other_shape_are_left_out(bench: Bench) -> None:
    good = hits(1)[0]
    for value in _NO_TEXTS:
        for name in ("title", "text", "published", "doi", "arxiv", "venue", "pdf", "citations", "retracted"):
            bench.holds([replace(good, **{name: value}), Hit(url="https://example.org/good")])
            outcome = await bench.search()
            for result in outcome.answer:
                well_formed(result)
            assert "https://example.org/good" in outcome.addresses, (name, value)
        bench.holds([replace(good, authors=(value, "Ada"))])
        for result in (await bench.search()).answer:
            well_formed(result)


async def markup_is_made_text(bench: Bench) -> None:
    bench.holds(
        [
            Hit(
                url="https://example.org/1",
                title="<b>Ships</b> &amp; <i>lights</i>&#39;",
                text="<span class='x'>Seven</span> ships&nbsp;passed<br/>the <em>light</em>.",
            )
        ]
    )
    (result,) = (await bench.search()).answer
    assert result.title == "Ships & lights '" or result.title == "Ships & lights'"
    assert "<" not in result.snippet
    assert "&" not in result.snippet
    assert "Seven ships passed the light" in " ".join(result.snippet.split())


async def what_cannot_be_seen_is_taken_out(bench: Bench) -> None:
    unseen = "".join(map(chr, (*range(9), 0x1B, 0x7F, 0x85, 0x200B, 0x202E, 0x2066, 0xFEFF, 0xE0041)))
    bench.holds(
        [Hit(url="https://example.org/1", title=f"Sh{unseen}ips", text=f"Seven{unseen} ships \ud83d.")]
    )
    (result,) = (await bench.search()).answer
    well_formed(result)
    assert "ips" in result.title


async def long_fields_are_cut(bench: Bench) -> None:
    for size, fields in ((1_000_000, {"title"}), (100_000, {"title", "venue"}), (1_000_000, {"text"})):
        long: dict[str, Any] = dict.fromkeys(fields, "word " * (size // 5))
        bench.holds([replace(hits(1)[0], **long, authors=("word " * 20_000,) * 3)])
        (result,) = (await bench.search()).answer
        well_formed(result)
        assert all(len(value) <= 300 for value in (*result.authors, *result.metadata.values()))
        assert len((result.scholarly and result.scholarly.venue) or "") <= 300


async def what_comes_twice_is_one_result(bench: Bench) -> None:
    there = hits(2)
    bench.holds([there[0], there[0], there[1], there[0]])
    assert (await bench.search()).addresses == [hit.url for hit in there]


async def ten_thousand_items_are_no_harm(bench: Bench) -> None:
    bench.holds([Hit(url=f"https://example.org/{n}", text="Ships.") for n in range(10_000)])
    assert len((await bench.search(limit=5)).answer) == 5


async def more_items_than_were_asked_for_are_cut(bench: Bench) -> None:
    item = '{"url": "https://example.org/%d", "link": "https://example.org/%d", "title": "x", "display_name": "x"}'
    items = ",".join(item % (n, n) for n in range(200))
    body = f'{{"results": [{items}], "data": [{items}], "items": [{items}], "searchInformation": {{}}}}'
    bench.server.send(200, (body.encode(),))
    outcome = await bench.search(limit=3)
    assert outcome.error is not None or len(outcome.answer) <= 3


async def deep_nesting_is_no_harm(bench: Bench) -> None:
    deep = b'{"results": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    for body in (deep, b"[" * 400_000, b'{"a":' * 200_000):
        bench.server.send(200, (body,))
        assert (await bench.search()).failure.data["trouble"] == "transient"


async def numbers_beyond_reason_are_no_harm(bench: Bench) -> None:
    for body in (b'{"results": [{"url": "https://x.example", "score": 1e999}]}', b"9" * 5_000, b"NaN"):
        bench.server.send(200, (body,))
        await bench.search()
