"""Members of a pack, derived from the log of a run. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from pydantic import BaseModel

from deep_research.errors import LogDamagedError
from deep_research.packs.manifest import MANIFEST, canonical
from deep_research.patterns import regex
from deep_research.state import Citation, DeepResearchState, Quote
from deep_research.state import events as ev
from deep_research.state.reducer import fold
from deep_research.store import StoredEvent

REPORT, CLAIMS, SETUP, EVENTS = "report.md", "claims.json", "setup.json", "events.jsonl"
TEXTS, SNAPSHOTS = "texts/", "snapshots/"
_NAME = regex(rf"(?:{REPORT}|{CLAIMS}|{SETUP}|{EVENTS}|{MANIFEST}|(?:{TEXTS}|{SNAPSHOTS})[0-9a-f]{{64}})\Z")
_LINE = regex(rb'\{"seq":(\d{1,9}),"type":"([a-z_.]{1,60})","version":(\d{1,9}),"body":(.*)\}\Z')
_AFTER_REPORT = ev.PhaseEnded | ev.RunCompleted | ev.RunAborted


def is_member(name: str) -> bool:
    """Whether a pack may hold a file of this name."""
    return _NAME.match(name) is not None


def event_lines(rows: Iterable[StoredEvent]) -> bytes:
    """The log, an event a line, each with its body as it is stored. A line break between the words of JSON means nothing;
    within a text it is written otherwise."""
    return b"".join(
        b'{"seq":%d,"type":"%s","version":%d,"body":%s}\n'
        % (row.seq, row.type.encode(), row.version, row.body.replace(b"\n", b" "))
        for row in rows
    )


def event_rows(lines: bytes) -> list[StoredEvent]:
    """The log back. Raises `LogDamagedError`."""
    return [_row(number, line) for number, line in enumerate(lines.removesuffix(b"\n").split(b"\n"), start=1)]


def _row(number: int, line: bytes) -> StoredEvent:
    match = _LINE.match(line)
    if match is None or int(match[1]) != number:
        raise LogDamagedError(f"Line {number} of {EVENTS} is not event {number}.", hint="Pack the run again.")
    return StoredEvent(number, match[2].decode(), int(match[3]), match[4])


def derived(rows: Sequence[StoredEvent]) -> dict[str, bytes]:
    """What can be read in a pack without reading its log: report, claims and set-up, as the last events that say them
    have them. Nothing is made of them but text, so that a later version derives the same. Raises `LogDamagedError`."""
    setup_data: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    for row in rows:
        if row.type == "run.created":
            created = _body(row)
            setup_data |= {name: created.get(name) for name in ("research_id", "query", "options", "setup")}
        elif row.type == "setup.changed":
            setup_data["setup"] = _body(row).get("new")
        elif row.type == "report.written":
            report = _body(row)
            files[REPORT] = str(report.get("report", "")).encode("utf-8", "replace")
            files[CLAIMS] = canonical(report.get("claims", []))
        elif row.type == "run.aborted" and _is_refused(_body(row)):
            files = {}
    return {**files, SETUP: canonical(setup_data), EVENTS: event_lines(rows)}


def _is_refused(abort: dict[str, Any]) -> bool:
    """Whether too little of the report was supported: then the run has none."""
    return (abort.get("reason"), abort.get("phase")) == ("no_evidence", "synthesis")


def _body(row: StoredEvent) -> dict[str, Any]:
    try:
        body = json.loads(row.body)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise LogDamagedError(f"Event {row.seq} cannot be read.", hint="Pack the run again.")
    return body


def saved_texts(state: DeepResearchState, events: Iterable[ev.Event]) -> tuple[set[str], set[str]]:
    """The hashes of the texts that quotes stand in, and of those that were read besides."""
    quoted_hashes = {quote.content_hash for event in events for quote in quotes_in(event)}
    return quoted_hashes, {
        source.content_hash for source in state.sources if source.content_hash
    } - quoted_hashes


def snapshots(state: DeepResearchState) -> set[str]:
    """The hashes of pages as they were fetched. Of local documents the hash alone is kept."""
    return {source.snapshot_hash for source in state.sources if source.snapshot_hash}


def quotes_in(value: object) -> Iterator[Quote | Citation]:
    """Every passage that a record refers to, wherever in it."""
    if isinstance(value, Quote | Citation):
        yield value
    elif isinstance(value, BaseModel):
        for _, inner in value:
            yield from quotes_in(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from quotes_in(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from quotes_in(inner)


def report_written(
    events: Sequence[ev.Event],
) -> tuple[ev.ReportWritten, DeepResearchState, DeepResearchState] | None:
    """The last report, the state before it, and the one that its claims were checked in: the log up to where its phase or
    the run ends. A whole one that a stop made partial is told as it was checked, as a whole one. None where there is no
    report."""
    reports = [(n, event) for n, event in enumerate(events) if isinstance(event, ev.ReportWritten)]
    if not reports:
        return None
    last, report = next((each for each in reversed(reports) if each[1].draft), reports[-1])
    if report.metadata.partial:
        whole = (each for each in reversed(reports) if not each[1].metadata.partial)
        if (before := next(whole, None)) is not None and before[1].draft == report.draft:
            last = before[0]
            report = report.model_copy(update={"metadata": before[1].metadata})
    folded = fold(events[:last])
    state_before = folded.snapshot()
    for event in takewhile(lambda event: not isinstance(event, _AFTER_REPORT), events[last:]):
        folded.apply(event)
    return report, state_before, folded.snapshot()


def checker_of(state: DeepResearchState) -> str:
    """Who checked the claims of the report, by name and version; several are named all."""
    return ", ".join(sorted({claim.checker for claim in state.claims}))
