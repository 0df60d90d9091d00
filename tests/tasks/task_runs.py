"""Runs whose sub-queries are tasks, and models that work on them as they are told."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prompt_reading import ReadingModel, as_calls, blocks, prompt_of

from deep_research import DeepResearch, ResearchResult, SearchResult
from deep_research.models.base import ModelCall
from deep_research.sources.extract import Document
from deep_research.sources.fetch.pages import WebPage
from deep_research.state import TaskState
from deep_research.state.events import Event
from deep_research.state.journal import utc_now
from deep_research.testing import ScriptedSearch

QUESTION = "How tall is the Orm lighthouse?"
HEIGHT = "The tower of the Orm lighthouse is 90 feet tall."
BUILT = "The Orm lighthouse was built in 1811 by Ada Brook of Hull."
TEXT = f"{BUILT} {HEIGHT} Its lamp burned whale oil until the year 1843."
DONE = {"tool": "done"}
FOUND = {
    "actions": [DONE],
    "answer": "It is 90 feet tall.",
    "facts": [{"content": HEIGHT, "source": "S1", "quote": HEIGHT, "confidence": "high"}],
}
APPROVED = {"approved": True}
ENOUGH = {"is_enough": True, "thought": "All is known."}
SEARCH = {"actions": [{"tool": "search", "query": "Orm lighthouse height"}]}


def number_of(said: str) -> int:
    """Of a step that is asked for, counted from 1; 0 for the last."""
    found = re.search(r"^This is step (\d+) of", said, re.M)
    return int(found.group(1)) if found else 0


def task_of(said: str) -> str:
    found = re.search(r"^(?:Your|The) task: (.*)$", said, re.M)
    return found.group(1) if found else ""


def attempt_of(said: str) -> int:
    """0 for a first attempt, and 1 for any that was sent back."""
    return int("critique" in blocks(said) or "Its attempt before was sent back" in said)


class TaskModel(ReadingModel):
    """``steps`` and ``reviews`` are answers one after the other, the last again and again, or functions of the prompt;
    exceptions are raised. ``waves`` are what the lead says of each, "enough" by default. ``asked``, ``judged`` and
    ``led`` hold the prompts. One sub-query is planned, or ``plan``."""

    def __init__(
        self,
        steps: Sequence[Any] | Callable[[str], Any] = (SEARCH, FOUND),
        reviews: Sequence[Any] | Callable[[str], Any] = (APPROVED,),
        *,
        plan: Sequence[str] = (QUESTION,),
        waves: Sequence[Any] | Callable[[str], Any] = (ENOUGH,),
        scope: str = "survey",
        model: str = "m",
        **more: Any,
    ) -> None:
        super().__init__(model, **more)
        self.asked: list[str] = []
        self.judged: list[str] = []
        self.led: list[str] = []
        self._steps, self._reviews, self._plan = steps, reviews, plan
        self._waves, self._scope = waves, scope

    @property
    def read_on(self) -> bool:
        """Whether it read sources that no task had quoted."""
        return any("Read these sources" in call.messages[-1].content for call in self.calls)

    def answer(self, call: ModelCall) -> str:
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        said = prompt_of(call)
        if "calls" in fields:
            self.asked.append(said)
            return _given(self._steps, said, len(self.asked))
        if "approved" in fields:
            self.judged.append(said)
            return _given(self._reviews, said, len(self.judged))
        if "is_enough" in fields:
            self.led.append(said)
            return _given(self._waves, said, len(self.led))
        if "sub_queries" in fields:
            queries = [{"query": q, "rationale": "asked", "priority": 1} for q in self._plan]
            made = {"research_brief": "It is looked into.", "sub_queries": queries}
            return json.dumps(made | ({"scope": self._scope} if "scope" in fields else {}))
        return super().answer(call)


def _given(answers: Sequence[Any] | Callable[[str], Any], said: str, number: int) -> str:
    given = answers(said) if callable(answers) else answers[min(number, len(answers)) - 1]
    if isinstance(given, BaseException):
        raise given
    return given if isinstance(given, str) else json.dumps(as_calls(given) if "actions" in given else given)


class Pages:
    """Every page has the same text, and its number; ``asked`` are the addresses."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def read(self, url: str) -> WebPage[Document]:
        self.asked.append(url)
        text = f"{TEXT} This is the page at {len(self.asked)} of the light."
        return WebPage(
            url=url, final_url=url, fetched_at=utc_now(), headers={}, body=text.encode(), snapshot_hash="0" * 64,
            document=Document(title="The Orm Light", text=text), was_requested=True,
        )  # fmt: skip


def orm(text: str = TEXT) -> ScriptedSearch:
    return ScriptedSearch(
        lambda request: [SearchResult(address="https://ok.example/orm", title="The Orm Light", text=text)]
    )


def engine(model: Any = None, **more: Any) -> DeepResearch:
    given: Mapping[str, Any] = {
        "search": [orm()],
        "gathering": "agents",
        "store": "memory",
        "max_iterations": 1,
        "revise_with_critic": False,
        "reflection": "never",
        "gate_retries": 0,
        "max_sub_queries": 2,
    }
    return DeepResearch(model=model, **{**given, **more})


class Run:
    """What came of a run, with its log: all that its result has, and what tests ask of its tasks."""

    def __init__(self, result: ResearchResult, log: list[Event]) -> None:
        self.result, self.log = result, log

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result, name)

    def events(self, kind: type) -> list[Any]:
        return [event for event in self.log if isinstance(event, kind)]

    @property
    def task(self) -> TaskState:
        (task,) = self.result.state.tasks
        return task

    def told(self, name: str = "task") -> list[str]:
        """What is told of its tasks, or of something else."""
        return [notice.message for notice in self.result.notices if notice.name == name]

    @property
    def lacks(self) -> list[str]:
        """Its gaps, as they are described."""
        return [gap.description for gap in self.result.gaps]

    @property
    def contents(self) -> list[str]:
        """What its findings say."""
        return [finding.content for finding in self.result.findings]


def ran(model: Any = None, question: str = QUESTION, **more: Any) -> Run:
    with engine(model, **more) as research:
        result = research.run(question)
        return Run(result, list(research.events(result.research_id)))
