"""Messages to an MCP client about a failed call: one line, with the next step."""

from __future__ import annotations

from pydantic import ValidationError

from deep_research.errors import DeepResearchError, RunNotFoundError
from deep_research.logs import describe_error, get_log, placeless, redact
from deep_research.presentation import phrases

MAX_LINE_CHARACTERS = 1_000
MAX_FAULTS = 3  # arguments that are named
log = get_log("mcp")


def error_line(error: Exception) -> str:
    """The error in one line without secrets and paths of this machine. What is no error of ours is logged."""
    if isinstance(error, DeepResearchError):
        hint = "See research_list." if isinstance(error, RunNotFoundError) else error.hint
        words = f"{error.problem} {hint}"
    elif isinstance(error, ValidationError):
        words = f"{_faults(error)} See the tool's input schema."
    else:
        log.error("call_failed", error=describe_error(error), exc_info=error)
        words = f"Unexpected {type(error).__name__}. This is a fault of deep-research; its log on stderr says more."
    return phrases.line(placeless(redact(words)))[:MAX_LINE_CHARACTERS]


def _faults(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_input=False, include_context=False)[:MAX_FAULTS]
    return " ".join(
        phrases.with_full_stop(f"{'.'.join(map(str, fault['loc'])) or 'The arguments'}: {fault['msg']}")
        for fault in faults
    )
