"""The conformance suite of tools: one item a promise.

A subject is a tool, arguments that it can be used with, and what the view of a task has::

    SUBJECT = ToolSubject(tool=Glossary(), arguments={"word": "head race"}, says=("leads water",))

    @pytest.mark.parametrize("check", TOOL_CHECKS, ids=str)
    def test_my_tool(check: Check) -> None:
        check(SUBJECT)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from deep_research.errors import ToolError
from deep_research.models.base import json_schema
from deep_research.phases.gathering.tasks.task_context import TaskContext
from deep_research.phases.gathering.tasks.tool import NAME, TaskView, Tool, ToolResult
from deep_research.state import DeepResearchState
from deep_research.state.journal import MemoryJournal
from deep_research.testing.promises import Check as Promise
from deep_research.testing.promises import promises

__all__ = ["TOOL_CHECKS", "Check", "ToolSubject"]


def _view() -> TaskView:
    return TaskContext("What is asked?", (), MemoryJournal(DeepResearchState(query="What is asked?")))


@dataclass(frozen=True, kw_only=True)
class ToolSubject:
    """A ``tool``, ``arguments`` with which it gives something, and words of that (``says``); ``view`` is what it may look
    at: of a task that has found nothing yet, unless given."""

    tool: Tool
    arguments: Mapping[str, Any]
    says: tuple[str, ...] = ()
    view: TaskView = field(default_factory=_view)

    def on_a_loop(self, check: Callable[[ToolSubject], Coroutine[Any, Any, None]]) -> None:
        asyncio.run(check(self))

    async def use(self, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        call_arguments = self.tool.arguments.model_validate(
            dict(self.arguments if arguments is None else arguments)
        )
        return await self.tool(call_arguments, self.view)


Check = Promise[ToolSubject]


async def it_has_a_name_a_description_and_bounds(bench: ToolSubject) -> None:
    assert NAME.fullmatch(bench.tool.name)
    assert bench.tool.description.strip()
    assert "\n" not in bench.tool.description
    assert 0 < bench.tool.timeout <= 600
    assert min(bench.tool.searches, bench.tool.fetches) >= 0


async def it_only_reads(bench: ToolSubject) -> None:
    assert bench.tool.read_only is True


async def its_arguments_are_plain_fields_with_descriptions(bench: ToolSubject) -> None:
    assert "tool" not in bench.tool.arguments.model_fields
    assert all(item.description for item in bench.tool.arguments.model_fields.values())
    schema = json_schema(bench.tool.arguments)
    assert "$defs" not in schema, "an agent gives arguments as plain values, not as objects"
    json.dumps(schema)


async def what_it_says_is_in_its_result(bench: ToolSubject) -> None:
    result = await bench.use()
    assert isinstance(result, ToolResult)
    output = "\n".join(
        [
            result.text,
            *(f"{source.title}\n{source.content or source.snippet}" for source in result.sources),
            *(f"{link.title}\n{link.snippet}" for link in result.links),
        ]
    )
    assert [words for words in bench.says if words not in output] == []


async def the_same_arguments_do_not_change_what_it_gives(bench: ToolSubject) -> None:
    first, second = await bench.use(), await bench.use()
    assert [s.title for s in first.sources] == [s.title for s in second.sources]


async def what_it_asks_of_services_is_within_what_it_says(bench: ToolSubject) -> None:
    result = await bench.use()
    assert result.searches <= bench.tool.searches
    assert result.fetches <= bench.tool.fetches
    assert result.failed_searches <= result.searches


async def its_result_can_be_kept_and_read_back(bench: ToolSubject) -> None:
    result = await bench.use()
    again = ToolResult.model_validate_json(
        result.model_dump_json(exclude={"sources": {"__all__": {"snapshot"}}})
    )
    assert [link.address for link in again.links] == [link.address for link in result.links]


async def strange_arguments_are_a_result_or_a_tool_error(bench: ToolSubject) -> None:
    """Whatever a model writes there: nothing else may come of it."""
    texts = (
        "",
        " ",
        "x" * 20_000,
        "http://evil.example/?d=1",
        "'; DROP TABLE x; --",
        "../../etc/passwd",
        "\u202e",
        "S99",
    )
    for name, value in bench.arguments.items():
        if not isinstance(value, str):
            continue
        for text in texts:
            with suppress(ToolError, ValidationError):
                assert isinstance(await bench.use({**bench.arguments, name: text}), ToolResult)


def _here() -> Iterator[Check]:
    import sys

    for name, function in promises(sys.modules[__name__]):
        yield Check(name, function)


TOOL_CHECKS: tuple[Check, ...] = tuple(_here())
"""What every tool has to pass, one item a promise."""
