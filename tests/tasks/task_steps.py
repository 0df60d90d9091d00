"""What models say that work on tasks, step by step, and those that review them."""

from collections.abc import Callable
from typing import Any

from task_runs import DONE, FOUND, SEARCH, number_of

from deep_research.models.failures import Verdict, failure


def using(tool: str, **arguments: Any) -> dict[str, Any]:
    """A step that uses one tool."""
    return {"actions": [{"tool": tool, **arguments}]}


def searching(*queries: str) -> dict[str, Any]:
    """A step that searches for each of them."""
    return {"actions": [{"tool": "search", "query": query} for query in queries]}


def quoting(text: str, source: str = "S1") -> dict[str, Any]:
    """The end of a task that quotes a text as its answer."""
    fact = {"content": text, "source": source, "quote": text}
    return {"actions": [DONE], "answer": text, "facts": [fact]}


def rejecting(critique: str, **more: Any) -> dict[str, Any]:
    return {"approved": False, "critique": critique, **more}


def search_first(then: Any = FOUND, step: Callable[[str], Any] = lambda said: SEARCH) -> Callable[[str], Any]:
    """What a model does that searches in the first step, and ends with something in the next."""
    return lambda said: step(said) if number_of(said) == 1 else then(said) if callable(then) else then


def down(said: str = "") -> Any:
    """A model that cannot be reached."""
    raise failure(Verdict.PARK, "come back later", model="m", retry_after=90.0)
