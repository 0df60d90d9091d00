"""Every error that a public call can raise, as one tree.

::

    DeepResearchError
    ├── UsageError                  the call is wrong; nothing was started
    │   ├── InvalidQuestionError    empty or too long
    │   ├── UnknownNameError        a setting, option, hook, model, provider or format that does not exist
    │   ├── RunNotFoundError        no run of that id
    │   ├── RunBusyError            another live process owns the run
    │   ├── RunStateError           the verb does not fit the run's status
    │   ├── PlanNotFoundError       no plan of capabilities with that id
    │   ├── MemoryNotFoundError     a user's memory has no entry of that id
    │   ├── MemoryFullError         a user's memory has no room for more
    │   ├── SetUpError              a run is to go on with another set-up than it has
    │   ├── PackError               a file that is no evidence pack, or one that cannot be read
    │   │   └── PackVersionError    written by a newer version of this package
    │   ├── RepeatedKeyError        an idempotency key that belongs to another question
    │   ├── TokenError              a request to a server without a token that it knows
    │   ├── RightError              the role of a token does not allow the request
    │   ├── QuotaError              the user of a token has too many runs
    │   ├── PhaseStateError         a phase is handed a state that stands elsewhere
    │   └── ReentrantCallError      a plain verb called on the engine's own loop
    ├── ConfigurationError          settings, corpus or providers cannot be used as given
    │   ├── SettingsError           a value out of its bounds, a file that cannot be read
    │   ├── CorpusError             a corpus that is missing, empty or unreadable
    │   ├── NoSearchProviderError   nothing to search with
    │   └── MissingKeyError         a service that needs a key, or an address, and has none
    ├── StoreError                  the database cannot do its work
    │   ├── StoreLockedError        another program holds it for too long
    │   ├── StoreFullError          the disk or a quota is full
    │   ├── StoreReadOnlyError      the file or its folder cannot be written
    │   ├── StoreDamagedError       not a database, or corrupt
    │   ├── StoreVersionError       written by a newer version of this package
    │   ├── AppendRefusedError      stale fence or sequence: another owner took the run over
    │   ├── LogDamagedError         an event that cannot be read or does not fit its log
    │   └── ContentMissingError     a saved text that the store does not hold
    ├── RemoteError                 a server cannot be reached, or its answer not be understood
    ├── WorkError                   a unit of work failed
    │   ├── SearchError             a search provider failed
    │   ├── FetchError              a page cannot be had, or may not be fetched
    │   ├── ExtractionError         what was fetched or opened has no text that can be read
    │   ├── ModelError              a language model gave no usable answer; ``verdict`` says what that means
    │   ├── WindowError             what is to be sent does not fit the model's window
    │   ├── BudgetError             a request would pass a cap of the run
    │   ├── ToolError               a tool of a task could not do what it was asked
    │   ├── CapabilityError         a capability could not be asked, or its answer not be used
    │   ├── AgentError              an agent raised
    │   └── HandoffError            an agent answered with something else than its output
    └── ResearchAbortedError        raised only by ``ResearchResult.raise_for_status()``

``StopResearch`` is no error: it is the one exception by which a hook ends a run.

An error's text is one line that says what is wrong and, after it, what to do next. ``code`` is a stable
name for programs, ``data`` holds the facts of the case; both survive pickling.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import islice
from typing import Any, ClassVar

from deep_research.escapes import without_escapes
from deep_research.secret_values import cut

MAX_LINE_CHARS = 8_000  # of a problem, a hint, or what others raised
MAX_DATA_ITEMS, MAX_DATA_DEPTH = 1_000, 8  # of the facts of an error
_CONTROLS = dict.fromkeys(
    code
    for codes in (
        range(0x20),
        range(0x7F, 0xA0),
        (0x200E, 0x200F),
        range(0x202A, 0x202F),
        range(0x2066, 0x206A),
    )
    for code in codes
    if not chr(code).isspace()
)


def one_line(text: str) -> str:
    """The text without line breaks and runs of white space: what others raise may have many lines."""
    return " ".join(text.split())


def bounded_line(text: str, most: int = MAX_LINE_CHARS) -> str:
    """`one_line` of text that anybody wrote, of ``most`` characters at most, without control and direction characters.
    No secret is cut in two."""
    line = one_line(without_escapes(cut(text, 2 * most)).translate(_CONTROLS))
    return line if len(line) <= most else f"{cut(line, most - 1)}…"


def bounded_data(value: Any, depth: int = 0) -> Any:
    """The facts of a case with each text in them as a `bounded_line`, and of long lists the first items."""
    if isinstance(value, Enum | bool | int | float | None):
        return value
    if isinstance(value, str):
        return bounded_line(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value[:MAX_LINE_CHARS])
    if depth >= MAX_DATA_DEPTH and isinstance(value, Mapping | list | tuple | set | frozenset):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, Mapping):
        items = islice(value.items(), MAX_DATA_ITEMS)
        return {bounded_data(key, depth + 1): bounded_data(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple | set | frozenset):
        parts = [bounded_data(item, depth + 1) for item in islice(value, MAX_DATA_ITEMS)]
        return (
            parts
            if isinstance(value, list)
            else tuple(parts)
            if isinstance(value, tuple)
            else frozenset(parts)
        )
    return value


class DeepResearchError(Exception):
    """Base class of all errors of this package.

    Attributes:
        code: A stable name for programs.
        problem: What is wrong.
        hint: What to do next.
        data: The facts of the case.

    ``str(error)`` is the problem and the hint on one line. Errors can be pickled.

    Example:
        try:
            engine.run(question)
        except DeepResearchError as error:
            print(error.code, error.problem, error.hint)
    """

    code: ClassVar[str] = "error"

    def __init__(self, problem: str, *, hint: str = "", **data: Any) -> None:
        self.problem = bounded_line(problem)
        self.hint = bounded_line(hint)
        self.data: dict[str, Any] = {name: bounded_data(value) for name, value in data.items()}
        # What services say does not always end as a sentence does.
        stop = "." if self.hint and self.problem and self.problem[-1] not in ".!?:;…" else ""
        super().__init__(f"{self.problem}{stop} {self.hint}".strip())

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.problem, self.hint, self.data)


def _rebuild(
    kind: type[DeepResearchError], problem: str, hint: str, data: Mapping[str, Any]
) -> DeepResearchError:
    error = kind.__new__(kind)
    DeepResearchError.__init__(error, problem, hint=hint, **data)
    return error


class UsageError(DeepResearchError):
    code = "usage"


class InvalidQuestionError(UsageError):
    code = "invalid_question"


class UnknownNameError(UsageError):
    """A name that is not known, with the nearest known one.

    ``UnknownNameError.of("setting", "max_iteration", known)`` reads
    «Unknown setting 'max_iteration'. Did you mean 'max_iterations'?». ``listed`` says where all names stand, of which
    there are too many for a line.
    """

    code = "unknown_name"

    @classmethod
    def of(
        cls, kind: str, name: str, known: Iterable[str], *, where: str = "", listed: str = ""
    ) -> UnknownNameError:
        choices = sorted(set(known))
        near = difflib.get_close_matches(name, choices, n=1, cutoff=0.6)
        if near:
            hint = f"Did you mean '{near[0]}'?"
        elif listed or not choices:
            hint = listed
        else:
            hint = f"Known: {', '.join(choices)}."
        place = f" in {where}" if where else ""
        return cls(f"Unknown {kind} '{name}'{place}.", hint=hint, kind=kind, name=name)


class RunNotFoundError(UsageError):
    code = "run_not_found"

    @classmethod
    def of(cls, research_id: str) -> RunNotFoundError:
        return cls(
            f"No run '{research_id}'.",
            hint="`deep-research list` shows the runs of this data directory.",
            research_id=research_id,
        )


class RunBusyError(UsageError):
    """The run is owned by a live process; ``data["owner"]`` names its host and pid."""

    code = "run_busy"


class RunStateError(UsageError):
    code = "run_state"

    @classmethod
    def no_question(cls, research_id: str) -> RunStateError:
        return cls(
            f"Run '{research_id}' waits for no answer.",
            hint=f"`deep-research status {research_id}` shows its status.",
            research_id=research_id,
        )


class MemoryNotFoundError(UsageError):
    """``data["entry_id"]`` is what was asked for."""

    code = "memory_not_found"

    @classmethod
    def of(cls, entry_id: str) -> MemoryNotFoundError:
        return cls(
            f"This user's memory has no entry '{bounded_line(str(entry_id), 100)}'.",
            hint="`deep-research memory list` shows what it has.",
            entry_id=str(entry_id)[:100],
        )


class PlanNotFoundError(UsageError):
    """There is no plan of capabilities with that id."""

    code = "plan_not_found"

    @classmethod
    def of(cls, plan_id: str) -> PlanNotFoundError:
        return cls(
            f"No plan '{bounded_line(str(plan_id), 100)}'.",
            hint="`deep-research assist --list` shows the plans of this data directory.",
            plan_id=str(plan_id)[:100],
        )


class MemoryFullError(UsageError):
    """``data["limit"]`` is how many entries one user may have."""

    code = "memory_full"


class RepeatedKeyError(UsageError):
    """``data["research_id"]`` is the run that the idempotency key belongs to."""

    code = "repeated_key"


class TokenError(UsageError):
    code = "token"


class RightError(UsageError):
    code = "right"


class QuotaError(UsageError):
    """``data["retry_after"]`` is in seconds."""

    code = "quota"


class PhaseStateError(UsageError):
    """``data`` has ``phase``, ``stands_at``, and ``event``: what is to be recorded before."""

    code = "phase_state"


class PackError(UsageError):
    """``data`` has ``path``, the file."""

    code = "pack"


class PackVersionError(PackError):
    code = "pack_version"


class SetUpError(UsageError):
    """``data`` has ``differences``: of each ``what``, and what it is of the run (``old``) and here (``new``)."""

    code = "set_up"


class ReentrantCallError(UsageError):
    code = "reentrant_call"


class ConfigurationError(DeepResearchError):
    code = "configuration"


class SettingsError(ConfigurationError):
    code = "settings"


class CorpusError(ConfigurationError):
    code = "corpus"


class NoSearchProviderError(ConfigurationError):
    code = "no_search_provider"


class MissingKeyError(ConfigurationError):
    """``data`` has ``name``, the service, and ``needs``, the variables of the environment that would do."""

    code = "missing_key"


class StoreError(DeepResearchError):
    code = "store"


class StoreLockedError(StoreError):
    code = "store_locked"


class StoreFullError(StoreError):
    code = "store_full"


class StoreReadOnlyError(StoreError):
    code = "store_read_only"


class StoreDamagedError(StoreError):
    code = "store_damaged"


class StoreVersionError(StoreError):
    code = "store_version"


class AppendRefusedError(StoreError):
    code = "append_refused"


class LogDamagedError(StoreError):
    code = "log_damaged"


class ContentMissingError(StoreError):
    code = "content_missing"


class RemoteError(DeepResearchError):
    code = "remote"


class WorkError(DeepResearchError):
    code = "work"


class SearchError(WorkError):
    """``data`` may have ``trouble`` (transient, quota, refused), ``retry_after`` (seconds), ``status`` and ``unreached``
    (there was no connection)."""

    code = "search"


class FetchError(WorkError):
    """``data`` has ``url``, ``refused`` where it may not be fetched, ``asked`` False where nobody was asked for it at
    all, ``status`` of an answer that was no page, and ``trouble``: connect, broken, slow, refused, unreadable, robots,
    closed (the site is left alone) or status."""

    code = "fetch"


class ExtractionError(WorkError):
    """The problem is why, in a few words; ``data`` has ``limit`` where one of memory, time or size was met, and
    ``passing`` where nothing is known of the file: another time it may be read."""

    code = "extraction"


class ModelError(WorkError):
    """``data`` has ``verdict`` (transient, park, fatal, incomplete, malformed, length, refusal), ``model``, ``status``,
    ``reason`` (the service's code), ``retry_after`` in seconds, ``usage`` and ``maybe_billed``."""

    code = "model"

    @property
    def verdict(self) -> str:
        return str(self.data.get("verdict", "transient"))


class WindowError(WorkError):
    """``data`` has ``tokens`` (what was to be sent, at most) and ``limit``; ``model`` where a call is meant, and
    ``items`` (protected, top, regular) where the floors of these do not fit."""

    code = "window"


class BudgetError(WorkError):
    """``data`` has ``cap`` (its name), ``limit``, ``used`` and ``wanted``, in the unit of the cap."""

    code = "budget"


class ToolError(WorkError):
    """``data["transient"]`` is true where the same use may work in a moment; it is tried once more then."""

    code = "tool"


class AgentError(WorkError):
    code = "agent"


class CapabilityError(WorkError):
    """A capability could not be asked, or what it answered cannot be used."""

    code = "capability"


class HandoffError(WorkError):
    code = "handoff"


class ResearchAbortedError(DeepResearchError):
    """A run ended without completing. Only `ResearchResult.raise_for_status` raises this.

    ``data`` has ``research_id``, ``status`` and ``reason``.

    Example:
        engine.run("Who built Bell Rock?").raise_for_status()
    """

    code = "research_aborted"


class StopResearch(Exception):  # noqa: N818 - a request, not an error
    """Raise this in a hook or an agent to end the run. It aborts with the reason ``cancelled``.

    Example:
        raise StopResearch("The question was withdrawn.")
    """

    def __init__(self, reason: str = "stopped by a hook") -> None:
        self.reason = bounded_line(str(reason))
        super().__init__(self.reason)


class Halted(StopResearch):
    """Raised between units of a run that somebody wants to stand still: its owner, or a process that takes it over.
    Nothing is lost by it: what was finished is in the log, and the rest remains."""

    def __init__(self) -> None:
        super().__init__("halted")
