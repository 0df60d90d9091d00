"""What tools of servers give, in the forms that are usual, as items."""

from __future__ import annotations

import json
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest

from deep_research.sources.search.mcp_results import MAX_ITEMS, ResultItem, items_of

URL = "https://notes.example/1"
ITEM = ResultItem(url=URL, title="One", snippet="Of one.")
TEXT = ResultItem(text="A text.")


def said(text: Any) -> SimpleNamespace:
    return SimpleNamespace(type="text", text=text if isinstance(text, str) else json.dumps(text))


RECORD = {"url": URL, "title": "One", "snippet": "Of one."}
STRUCTURED: list[tuple[Any, list[ResultItem]]] = [
    ({"results": [RECORD]}, [ITEM]),
    ({"result": [RECORD]}, [ITEM]),
    ({"result": {"items": [RECORD]}}, [ITEM]),
    ({"query": "one", "count": 1, "tags": ["a"], "documents": [RECORD]}, [ITEM]),
    ([RECORD], [ITEM]),
    (RECORD, [ITEM]),
    ({"link": URL, "name": "One", "description": "Of one."}, [ITEM]),
    ({"result": "A text."}, []),
    ({"result": ["A text.", "A text."]}, [TEXT]),
    ({"text": "A text."}, [TEXT]),
    ({"page_content": "A text.", "metadata": {"title": "no"}}, [TEXT]),
    ({"results": [{"url": URL, "date": "2024-05-17"}]}, [ResultItem(url=URL, published=date(2024, 5, 17))]),
    ({"results": []}, []),
    ({}, []),
    (None, []),
    (7, []),
    ("A text.", [TEXT]),
    ({"results": [{"url": 7, "title": None, "text": ["x"], "snippet": {}}]}, []),
    ({"results": [{"url": "javascript:alert(1)", "text": "A text."}]}, [TEXT]),
    ({"results": [{"url": "file:///etc/passwd", "text": "A text."}]}, [TEXT]),
    ({"results": [{"url": "https://user:pass@notes.example/", "text": "A text."}]}, [TEXT]),
    ({"results": [{"url": URL, "title": "<b>One</b>", "snippet": "Of\x00 <script>x</script>one."}]}, [ITEM]),
]


@pytest.mark.parametrize(("structured", "items"), STRUCTURED)
def test_structured_content_is_read_in_its_usual_forms(structured: Any, items: list[ResultItem]) -> None:
    assert items_of(structured, ()) == items


@pytest.mark.parametrize(
    ("structured", "items"), [row for row in STRUCTURED if isinstance(row[0], dict | list)]
)
def test_json_in_a_text_is_read_alike(structured: Any, items: list[ResultItem]) -> None:
    assert items_of(None, [said(structured)]) == items


BLOCKS: list[tuple[Any, list[ResultItem]]] = [
    (said("A text."), [TEXT]),
    (said("{A text."), [ResultItem(text="{A text.")]),
    (said("[" * 100_000), [ResultItem(text="[" * 100_000)]),
    (said(" \n "), []),
    (SimpleNamespace(type="image", data="x"), []),
    (SimpleNamespace(type=None), []),
    (SimpleNamespace(type="resource_link", uri=URL, name="One", title=None, description="Of one."), [ITEM]),
    (
        SimpleNamespace(type="resource", resource=SimpleNamespace(uri="note://1", text="A text.")),
        [ResultItem(title="note://1", text="A text.")],
    ),
    (
        SimpleNamespace(type="resource", resource=SimpleNamespace(uri=URL, blob="x")),
        [ResultItem(url=URL, title=URL)],
    ),
]


@pytest.mark.parametrize(("block", "items"), BLOCKS)
def test_a_block_is_an_item(block: Any, items: list[ResultItem]) -> None:
    assert items_of(None, [block]) == items


def test_structured_content_goes_before_texts_and_texts_stand_in_for_it() -> None:
    assert items_of({"results": [RECORD]}, [said("A text.")]) == [ITEM]
    assert items_of({"results": []}, [said("A text.")]) == [TEXT]


def test_items_are_few_and_each_is_there_once() -> None:
    many = [{"text": f"Text {n // 2}."} for n in range(10_000)]
    found = items_of({"results": many}, ())
    assert len(found) <= MAX_ITEMS
    assert len(set(found)) == len(found)


def test_what_is_nested_without_end_is_read_in_no_time() -> None:
    deep: Any = RECORD
    for _ in range(400):
        deep = {"a": deep, "b": [deep]}
    assert items_of(deep, ()) == []
