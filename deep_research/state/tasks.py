"""Tasks of research: sub-queries that agents work on with tools, step by step, until a reviewer approves the finding.

Texts that a step brought are contents; these records name them by their hashes.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from deep_research.state.phases import ConfidenceLevel
from deep_research.state.records import Quote, Record
from deep_research.state.spending import TokenUsage

BY_RULES = "rules"  # who reviewed a task, where no model did
BY_HOOK = "hook"
BY_NOBODY = "nobody"


class TaskLimits(Record):
    """How much one attempt at a task may take; None: no bound of its own. ``searches`` and ``fetches`` are its part of
    what the caps of the run leave."""

    steps: int = Field(ge=0)
    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)
    seconds: float = Field(ge=0)
    searches: int | None = Field(default=None, ge=0)
    fetches: int | None = Field(default=None, ge=0)


class Task(Record):
    """One attempt at a sub-query. ``data_sources`` and ``tools`` are the names of what it may use; ``tool_hashes`` are
    those of tools of MCP servers, as the servers described them when the task was made; ``context_hash`` is
    the saved text of what the run knew of its question; ``attempt`` counts from 0, and ``critique`` is what the reviewer
    said of the attempt before. ``private`` are the names of private sources of which the run knew something when the task
    was made."""

    id: str
    sub_query_id: str
    question: str
    data_sources: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    tool_hashes: dict[str, str] = Field(default_factory=dict)
    context_hash: str | None = None
    attempt: int = 0
    critique: str = ""
    private: tuple[str, ...] = ()
    limits: TaskLimits


class ToolUse(Record):
    """One call of a tool within a step: its arguments without secrets, and the saved text of what it gave.
    ``failed``: that text says why it gave nothing; ``refused``: since it could have told others what the task was
    shown."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    result_hash: str | None = None
    failed: bool = False
    refused: bool = False


class TaskStep(Record):
    """What an agent did at once: it asked for tools, which worked side by side. ``source_ids`` are the sources that came
    with it, new or known; ``private`` the names of private sources and tools that gave something; ``offered`` the sites
    of links that pages named and that were offered, for each link both: whose page named it and where it leads;
    ``tokens`` and ``cost_usd`` (None: unknown) what its model took, ``seconds`` how long it lasted. ``turn_hash`` is that
    of the saved turn of the model, where it called tools by its service's own means."""

    number: int
    thought: str = ""
    turn_hash: str | None = None
    uses: tuple[ToolUse, ...] = ()
    source_ids: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    tokens: TokenUsage = TokenUsage()
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    searches: int = 0
    failed_searches: int = 0
    fetches: int = 0


class KeyFact(Record):
    """A statement that a task's agent drew, with the passages that carry it."""

    content: str
    confidence: ConfidenceLevel = ConfidenceLevel.LOW
    quotes: tuple[Quote, ...] = ()


class TaskFinding(Record):
    """What a task came to. ``source_ids`` are all sources it found, best first; ``missing`` is what it could not find,
    and ``owner_question`` what only the owner of the run can answer. ``unlocated`` counts quotes that no source has.
    ``stopped`` says why it ended before its agent was done, ``error`` why it found nothing; both are empty as a rule.
    ``by_search``: it is the sources of a search without a model. ``worth_reading`` are sources that its agent names as
    worth reading whole, by id."""

    answer: str = ""
    facts: tuple[KeyFact, ...] = ()
    source_ids: tuple[str, ...] = ()
    confidence: ConfidenceLevel = ConfidenceLevel.SPECULATION
    missing: tuple[str, ...] = ()
    owner_question: str = ""
    unlocated: int = 0
    stopped: str = ""
    error: str = ""
    by_search: bool = False
    worth_reading: tuple[str, ...] = ()


class TaskReview(Record):
    """The verdict on a finding. ``follow_up_question`` takes the place of the task's question where it is done again.
    ``by`` is a model's name, or rules, hook, nobody: then ``unchecked`` says why."""

    approved: bool
    critique: str = ""
    follow_up_question: str | None = None
    by: str = BY_RULES
    unchecked: str = ""


class TaskState(Record):
    """A task as it stands: its latest attempt with its steps, finding and review, and of the attempts before it their
    findings (``earlier``) and questions (``questions``). ``private``, ``offered`` and ``refusals`` are of all attempts:
    the private sources of which it was shown something, the sites of links that were offered (see `TaskStep`), how many
    uses of tools were refused. ``is_settled``: it is worked on no more; ``is_merged``: what it found is among the
    findings of the run."""

    task: Task
    steps: tuple[TaskStep, ...] = ()
    finding: TaskFinding | None = None
    review: TaskReview | None = None
    earlier: tuple[TaskFinding, ...] = ()
    questions: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    refusals: int = 0
    is_settled: bool = False
    is_merged: bool = False

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The sources of all attempts, each once, in the order in which they came."""
        known = dict.fromkeys(i for finding in self.earlier for i in finding.source_ids)
        known |= dict.fromkeys(i for step in self.steps for i in step.source_ids)
        return tuple(known)

    @property
    def findings(self) -> tuple[TaskFinding, ...]:
        """Those of all attempts, the latest last."""
        return (*self.earlier, *((self.finding,) if self.finding else ()))

    @property
    def outcome(self) -> TaskFinding:
        """What goes on into the run: the latest finding, without the facts of one that was rejected."""
        latest = self.findings[-1] if self.findings else TaskFinding()
        approved = self.finding is not None and (self.review is None or self.review.approved)
        return latest if approved else latest.model_copy(update={"answer": "", "facts": ()})

    @property
    def quoted_source_ids(self) -> frozenset[str]:
        """The sources that its facts quote."""
        return frozenset(quote.source_id for fact in self.outcome.facts for quote in fact.quotes)

    @property
    def sources_to_read(self) -> frozenset[str]:
        """The sources that ANALYSIS reads: those that the agent quotes or names as worth reading; all of a search, and of
        an agent that names none."""
        named = self.quoted_source_ids | frozenset(self.outcome.worth_reading)
        return named if named and not self.outcome.by_search else frozenset(self.source_ids)
