"""Runs to be packed, and packs to be spoiled."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from deep_research import DeepResearch
from deep_research.packs import Manifest, MemberEntry
from deep_research.packs.members import EVENTS, derived, event_rows
from deep_research.phases.synthesis.extractive_synthesizer import ExtractiveSynthesizer
from deep_research.phases.synthesis.phase import report_event
from deep_research.report.references import without_marks
from deep_research.sources.search import SearchResult
from deep_research.state import Claim, ClaimVerdict, Draft, Span
from deep_research.state.events import ReportWritten, decode_log
from deep_research.state.identity import sha256_hex
from deep_research.state.journal import missing
from deep_research.state.reducer import fold
from deep_research.store import MemoryStore, StoredEvent
from deep_research.testing import ScriptedSearch

QUESTION = "Who built the Bell Rock lighthouse? How tall is its tower?"
TEXT = "Robert Stevenson built the Bell Rock lighthouse. Its tower is 35 metres tall, 灯台 in Japanese."
PAGE = b"<html>Robert Stevenson built the Bell Rock lighthouse.</html>"
CHECKER = "stand-in 1"
SUPPORTED = ClaimVerdict.SUPPORTED


def researched() -> tuple[str, list[StoredEvent], dict[str, bytes]]:
    """A run that was carried out: its id, its log, and what it saved."""
    store = MemoryStore()
    found = SearchResult(address="https://example.org/bell-rock", title="Bell Rock", text=TEXT, relevance=0.9)
    with DeepResearch(search=[ScriptedSearch(lambda _: [found])], store=store) as research:
        run_id = research.run(QUESTION).research_id
        hashes = [source.content_hash for source in research.result(run_id).sources]
    saved = dict(zip(hashes, store.contents(hashes), strict=True)) | {sha256_hex(PAGE): PAGE}
    rows = changed(store.read(run_id), "sub_query.completed", _with_page)
    return run_id, with_claims(rows, saved), saved


def _with_page(body: dict[str, Any]) -> None:
    for source in body["sources"]:
        source["snapshot_hash"] = sha256_hex(PAGE)


class Held:
    """As much of a store as packing needs, with whatever log and texts."""

    def __init__(self, rows: Sequence[StoredEvent], texts: Mapping[str, bytes]) -> None:
        self.rows, self.texts = list(rows), dict(texts)

    def read(self, run_id: str) -> list[StoredEvent]:
        return self.rows

    def contents(self, hashes: Sequence[str]) -> list[bytes]:
        if hashes[0] not in self.texts:
            raise missing(hashes[0])
        return [self.texts[h] for h in hashes]


def changed(
    rows: Sequence[StoredEvent], kind: str, change: Callable[[dict[str, Any]], object]
) -> list[StoredEvent]:
    """The log with the bodies of one type changed in place."""
    made = []
    for row in rows:
        body = json.loads(row.body)
        if row.type == kind:
            change(body)
            row = StoredEvent(row.seq, row.type, row.version, json.dumps(body, ensure_ascii=False).encode())
        made.append(row)
    return made


def stand_in(draft: str, state: Any, texts: Mapping[str, str], *, partial: bool = False) -> tuple[Claim, ...]:
    """A checker: each line of a draft is a claim, supported where a text has its words."""
    found = []
    for number, line in enumerate(without_marks(draft).splitlines()):
        held = any(line in text for text in texts.values())
        verdict = SUPPORTED if held else ClaimVerdict.UNSUPPORTED
        found.append(
            Claim(
                id=f"claim-{number:012x}",
                text=line,
                place=Span(start=0, end=len(line)),
                verdict=verdict,
                code_verdict=verdict,
                checker=CHECKER,
                score=1.0 if held else 0.25,
            )
        )
    return tuple(found)


def with_claims(rows: Sequence[StoredEvent], texts: Mapping[str, bytes]) -> list[StoredEvent]:
    """The log of a run whose report has a claim that stands in a text, and one that does not."""
    events = decode_log(rows)
    state = fold(takewhile(lambda event: not isinstance(event, ReportWritten), events)).snapshot()
    draft = f"Robert Stevenson built the Bell Rock lighthouse. [{state.findings[0].id}]\nIt was painted blue."
    claims = stand_in(draft, None, {h: body.decode() for h, body in texts.items()})
    report = report_event(state, Draft(text=draft, writer=ExtractiveSynthesizer.name), claims)
    made = report.model_dump(mode="json", exclude={"seq", "at"})
    return changed(rows, "report.written", lambda body: body.update(made))


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path: Path, members: Mapping[str, bytes]) -> Path:
    """A pack of these files as they are, every checksum of the archive right."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return path


def forged(path: Path, members: Mapping[str, bytes], **said: Any) -> Path:
    """A pack whose manifest is made anew for what it holds: as by somebody who knows how."""
    body = dict(members)
    old = json.loads(body.pop("manifest.json"))
    listed = {name: MemberEntry.of(held) for name, held in body.items()}
    fields = {name: old[name] for name in ("package", "research_id", "checker")} | said
    manifest = Manifest(**fields, members=listed)
    return zipped(path, {**body, "manifest.json": manifest.encode()})


def with_log(
    members: Mapping[str, bytes], kind: str, change: Callable[[dict[str, Any]], object]
) -> dict[str, bytes]:
    """The members with another log, and all that follows from it."""
    rows = changed(event_rows(members[EVENTS]), kind, change)
    return {**members, **derived(rows)}
