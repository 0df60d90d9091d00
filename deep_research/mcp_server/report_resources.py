"""Reports and saved texts as resources that a client lists and reads."""

from __future__ import annotations

from urllib.parse import parse_qsl

from deep_research.errors import ContentMissingError, RunStateError, UsageError
from deep_research.mcp_server.run_access import RunAccess
from deep_research.mcp_server.tool_results import Piece, report_uri, source_uri
from deep_research.patterns import regex
from deep_research.presentation import phrases
from deep_research.research.operations import Right
from deep_research.research.run_summary import RunSummary
from deep_research.state import RunStatus

MARKDOWN, PLAIN = "text/markdown", "text/plain"
MAX_RESOURCES = 50  # that are listed: the reports of the newest completed runs
REPORT_TEMPLATE = report_uri("{research_id}") + "{?start,end}"
SOURCE_TEMPLATE = source_uri("{research_id}", "{source_id}") + "{?start,end}"
MAX_URI_CHARACTERS = 300
_URI = regex(r"\Aresearch://([a-z0-9-]{1,60})/(report|source/([a-z0-9-]{1,60}))(?:\?([a-z0-9=&]{1,100}))?\Z")


async def reported_runs(runs: RunAccess) -> list[RunSummary]:
    """The runs whose reports are listed, newest first. Raises `RightError`."""
    runs.check(Right.READ)
    status = RunStatus.COMPLETED.value
    return list(await runs.engine.alist(status=status, user=runs.user, limit=MAX_RESOURCES))


async def read_resource(runs: RunAccess, uri: str) -> tuple[str, str]:
    """The text of a resource and its media type. Of a text without ``start`` and ``end`` it is the first piece, with a
    last line that says how long it is.

    Raises `RightError`, `UsageError` for an address of another form, `RunNotFoundError`, `RunStateError` for a run
    without a report, `ContentMissingError` for a source without a text.

    Example:
        await read_resource(runs, "research://deepres-0123456789ab/report?start=20000")
    """
    match = _URI.match(uri) if len(uri) <= MAX_URI_CHARACTERS else None
    if match is None:
        raise _unknown(uri)
    research_id, _, source_id, query = match.groups()
    start, end = _bounds(uri, query or "")
    runs.check(Right.READ)
    await runs.summary(research_id)
    result = await runs.engine.aresult(research_id)
    if source_id is None:
        if result.report is None:
            raise RunStateError(
                f"Run '{research_id}' is {result.status} and has no report.", hint="See research_status."
            )
        return _text_of(Piece.of(result.report, start, end)), MARKDOWN
    source = next((each for each in result.sources if each.id == source_id), None)
    if source is None or source.content_hash is None:
        raise ContentMissingError(
            f"Run '{research_id}' has no source '{source_id}' with a text.",
            hint="research_report names the sources.",
        )
    return _text_of(Piece.of(await runs.engine.atext(source), start, end)), PLAIN


def _text_of(piece: Piece) -> str:
    return f"{piece.text}\n\n[{piece.note}]" if piece.note else piece.text


def _bounds(uri: str, query: str) -> tuple[int, int | None]:
    bounds = dict(parse_qsl(query, keep_blank_values=True))
    if not bounds.keys() <= {"start", "end"} or not all(
        value.isascii() and value.isdigit() and len(value) < 13 for value in bounds.values()
    ):
        raise _unknown(uri)
    return int(bounds.get("start", 0)), int(bounds["end"]) if "end" in bounds else None


def _unknown(uri: str) -> UsageError:
    return UsageError(
        f"There is no resource '{phrases.line(uri[:MAX_URI_CHARACTERS])}'.",
        hint=f"Addresses look like {REPORT_TEMPLATE} and {SOURCE_TEMPLATE}.",
    )
