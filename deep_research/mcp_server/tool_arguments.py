"""The arguments of the tools, with their bounds. A name that is not known is refused."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from deep_research.state import Budget, RunStatus

PAGE_SIZE_CHARS = 20_000  # of a text, where the call names no end
MAX_PAGE_CHARACTERS = 100_000
MAX_LISTED = 50
MAX_WAIT_SECONDS = 60
MAX_QUESTION_CHARACTERS = 100_000  # the setting max_question_chars allows fewer
MAX_GUIDANCE_CHARACTERS = 20_000

_RunId = Annotated[str, Field(max_length=60, description="The id of the run, such as deepres-0123456789ab.")]
_Place = Annotated[int, Strict(), Field(ge=0, lt=2**40)]
CAPS = frozenset(Budget.model_fields) - {"max_iterations"}


class Arguments(BaseModel):
    """What a call of a tool names."""

    model_config = ConfigDict(extra="forbid")


class QuestionArguments(Arguments):
    """A question, and how it is researched."""

    question: Annotated[
        str,
        Field(
            min_length=1, max_length=MAX_QUESTION_CHARACTERS, description="The question, in full sentences."
        ),
    ]
    depth: Annotated[
        Literal["quick", "standard", "deep", "auto"] | None,
        Field(description="How thoroughly; quick is one search. Default: as the server is set up."),
    ] = None
    report_words: Annotated[
        int | None, Strict(), Field(ge=100, le=20_000, description="Length the report aims at.")
    ] = None
    approve_plan: Annotated[
        bool,
        Strict(),
        Field(description="Park the run with its plan before it searches; research_answer continues it."),
    ] = False
    corpora: Annotated[
        list[Annotated[str, Field(max_length=200)]] | None,
        Field(
            max_length=8, description="Names of document collections to search in place of the usual ones."
        ),
    ] = None
    session_id: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            description="Conversation in whose turns the question may point back.",
        ),
    ] = None
    max_usd: Annotated[
        float | None,
        Strict(),
        Field(ge=0, le=1e6, allow_inf_nan=False, description="Cap on the run's dollars."),
    ] = None
    max_tokens: Annotated[
        int | None, Strict(), Field(ge=0, le=10**12, description="Cap on the tokens of the run's models.")
    ] = None
    max_searches: Annotated[
        int | None, Strict(), Field(ge=0, le=10**6, description="Cap on the run's searches.")
    ] = None
    max_seconds: Annotated[
        float | None,
        Strict(),
        Field(gt=0, le=1e6, allow_inf_nan=False, description="Cap on the run's seconds of work."),
    ] = None

    def options(self) -> dict[str, Any]:
        """What differs from the server's own options, as keywords of `RunOptions`, with the caps beside them by name."""
        return self.model_dump(exclude={"question"}, exclude_defaults=True)


class RunArguments(Arguments):
    """A run."""

    research_id: _RunId


class StatusArguments(RunArguments):
    """A run, and how long to wait for its end."""

    wait_seconds: Annotated[
        float,
        Field(ge=0, le=MAX_WAIT_SECONDS, description="Wait so long for the run to end or park."),
    ] = 0


class ReportArguments(RunArguments):
    """A piece of a report."""

    start: Annotated[_Place, Field(description="First character.")] = 0
    end: Annotated[
        _Place | None,
        Field(
            description=f"Behind the last; at most {MAX_PAGE_CHARACTERS:,} characters, else {PAGE_SIZE_CHARS:,}."
        ),
    ] = None


class TextArguments(ReportArguments):
    """A piece of the saved text of a source."""

    source_id: Annotated[
        str, Field(max_length=60, description="The id of the source, such as src-0123456789ab.")
    ]


class AnswerArguments(RunArguments):
    """An answer to what a parked run asks."""

    answer: Annotated[
        Any,
        Field(
            description="A text, or a value of the `answer_schema` that the run shows. Without it, the run continues from"
            " where it was interrupted or paused."
        ),
    ] = None
    wait: Annotated[bool, Strict(), Field(description="Wait for the end of the run.")] = True


class SteerArguments(RunArguments):
    """Guidance for a run."""

    text: Annotated[
        str, Field(max_length=MAX_GUIDANCE_CHARACTERS, description="Guidance, applied from the next step on.")
    ] = ""
    since: Annotated[
        date | None, Field(description="From now on search only what was published since that day.")
    ] = None
    stop_searching: Annotated[
        bool, Strict(), Field(description="Search nothing more, and write the report.")
    ] = False


class ListArguments(Arguments):
    """Which runs."""

    status: Annotated[RunStatus | None, Field(description="Only runs of this status.")] = None
    text: Annotated[
        str | None, Field(max_length=200, description="Only runs whose question holds this text.")
    ] = None
    limit: Annotated[int, Strict(), Field(ge=1, le=MAX_LISTED)] = 20
    after: Annotated[
        str | None, Field(max_length=60, description="Go on after this run, the last of the page before.")
    ] = None
