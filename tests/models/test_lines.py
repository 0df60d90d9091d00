"""Plain lines in place of JSON."""

from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from deep_research.models import key_values
from deep_research.models.object_parser import Unreadable


class Item(BaseModel):
    query: str
    weight: float = 1.0


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")
    brief: str
    items: list[Item] = Field(default_factory=list)
    tags: tuple[str, ...] = ()
    done: bool = False


def test_lines_are_read_with_bullets_bold_names_blocks_and_values_over_several_lines():
    written = """Here you are:
**Brief**: what to
find out
- tags: one
- tags: two
* done: yes
[items]
1. query: first thing
weight: 2
[Items]
Query: second thing
"""
    assert key_values.read(written, Plan) == Plan(
        brief="what to\nfind out",
        tags=("one", "two"),
        done=True,
        items=[Item(query="first thing", weight=2), Item(query="second thing")],
    )


def test_the_instructions_name_every_field():
    told = key_values.instructions(Plan)
    assert all(name in told for name in ("brief:", "tags:", "done:", "[items]", "query:", "weight:"))


def test_lines_without_a_field_are_told_so():
    with pytest.raises(Unreadable, match="no line"):
        key_values.read("Once upon a time there was a lighthouse.", Plan)


def test_a_web_address_or_a_remark_within_a_text_stays_whole():
    written = "brief: see\nhttps://example.org/a\nNote: it is old\n[1] a source"
    assert key_values.read(written, Plan).brief == "see\nhttps://example.org/a\nNote: it is old\n[1] a source"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(end):
    assert key_values.read(end.join(["brief: x", "tags: a", "tags: b"]), Plan) == Plan(
        brief="x", tags=("a", "b")
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("**Brief:** x y", "x y"),
        ("**Brief: x y**", "x y"),
        ("brief: **x** y", "**x** y"),
        ('brief: "x" or "y"', '"x" or "y"'),
        ('brief: "x y"', "x y"),
        ("- `brief` = x", "x"),
        ("brief: a_b __init__", "a_b __init__"),
    ],
)
def test_marks_around_a_value_go_those_in_it_stay(written, value):
    assert key_values.read(written, Plan).brief == value


class Kind(Enum):
    OLD = "old"
    NEW = "new"


class Whole(BaseModel):
    kind: Kind
    size: Literal["small", "large"] | None = None
    item: Item
    notes: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    parts: list[Annotated[Item, Field()]] | None = None


def test_one_object_within_another_is_a_block_too():
    fields = "kind: new\nsize: small\nnotes: a\nnotes: b\n"
    written = f"{fields}[item]\nquery: x\n[parts]\nquery: y\n[parts]\nquery: z\nweight: 3"
    assert key_values.read(written, Whole) == Whole(
        kind=Kind.NEW,
        size="small",
        notes=["a", "b"],
        item=Item(query="x"),
        parts=[Item(query="y"), Item(query="z", weight=3)],
    )


def test_the_instructions_say_what_may_be_chosen():
    told = key_values.instructions(Whole)
    assert "kind: <one of old, new>" in told
    assert "size: <one of small, large>" in told
    assert "[item]\nquery: <text>\nweight: <a number>" in told


def test_a_field_of_the_whole_may_come_after_the_blocks():
    assert key_values.read("[items]\nquery: x\nbrief: y", Plan) == Plan(brief="y", items=[Item(query="x")])


def test_empty_values_are_values_that_were_not_given():
    assert key_values.read("brief: x\nitems:\ntags:\ndone:", Plan) == Plan(brief="x")


def test_what_does_not_fit_is_told_by_its_place():
    with pytest.raises(Unreadable, match=r"items\.0\.weight"):
        key_values.read("brief: x\n[items]\nquery: y\nweight: heavy", Plan)
