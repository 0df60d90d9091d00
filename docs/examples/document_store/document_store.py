"""A `Store` over a document database: ``DocumentStore(DocumentDatabase())``. docs/own-store.md explains it.

The paths, where ID is the encoded id of a run and HASH the sha256 of a text:

    runs/ID                        the row, beside the fields that are searched
    runs/ID/events/SEQ             an event of the log
    contents/HASH                  a text, or the bytes of a page
    uses/HASH:ID                   which run uses which text
    pages/HASH-OF-ADDRESS          the last snapshot of an address
    commands/ID:NUMBER             what somebody says to a run
    …/pieces/N                     the rest of a body that is too large for one document
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from document_database import ContentionError, DocumentDatabase, Query, Transaction
from document_records import (
    body_of,
    body_paths,
    checked_row,
    command_path,
    commands_of,
    content_path,
    page_path,
    row_document,
    row_of,
    run_path,
    set_body,
    use_path,
)
from pydantic import TypeAdapter

from deep_research.errors import (
    AppendRefusedError,
    DeepResearchError,
    RunBusyError,
    RunNotFoundError,
    RunStateError,
    StoreError,
    StoreLockedError,
)
from deep_research.logs import masked
from deep_research.state import CommandKind, RunStatus
from deep_research.state.journal import PageHead, missing
from deep_research.store import Command, Lane, Owner, RunCursor, RunFilter, RunRow, SavedPage, Store, Watch
from deep_research.store.base import (
    Append,
    StoredEvent,
    busy_error,
    claim_order,
    refuse_completed,
    refused_error,
)
from deep_research.store.listing import EVERY_RUN, utc_text

PAGE_RUNS = 100  # that are asked for at once
_HEAD = TypeAdapter(PageHead)
_T = TypeVar("_T")
log = logging.getLogger(__name__)


class DocumentStore(Store):
    """``now`` is the time in seconds since the epoch; a run stays for ``lease`` seconds with an owner who renews it no
    more. It is renewed each ``heartbeat`` seconds, and commands of other processes are looked for each ``interval``."""

    def __init__(
        self,
        database: DocumentDatabase,
        *,
        now: Callable[[], float] = time.time,
        lease: float = 15.0,
        heartbeat: float = 5.0,
        interval: float = 0.05,
    ) -> None:
        self.now, self.lease = now, lease
        self._database = database
        self._heartbeat, self._interval = heartbeat, interval
        self._gate = threading.RLock()
        self._writer: ThreadPoolExecutor | None = None
        self._watcher: threading.Thread | None = None
        self._watches: dict[str, tuple[Lane, Watch]] = {}
        self._news = threading.Event()

    def open(self) -> None:
        """The database is there as long as its process."""

    def close(self) -> None:
        with self._gate:
            writer, self._writer = self._writer, None
            self._watches.clear()
            self._news.set()
        if writer is not None:
            writer.shutdown(wait=True)

    def _transact(self, work: Callable[[Transaction], _T]) -> _T:
        try:
            return self._database.transact(work)
        except ContentionError:
            raise StoreLockedError("Too many write to the same documents.", hint="Try again.") from None

    # Appending

    def submit(self, appends: Sequence[Append]) -> None:
        with self._gate:  # so that `close` settles it, or a new thread takes it
            if self._writer is None:
                self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="document-store")
            for append in appends:
                self._writer.submit(self._settle, append)

    def _settle(self, append: Append) -> None:
        failure: DeepResearchError | None
        try:
            failure = self._append(append)
        except DeepResearchError as error:
            failure = error
        except Exception as error:
            failure = StoreError(f"The database failed: {error}", hint="Resume the run.")
        if failure is not None or append.release:
            append.lane.closed = True
            self.unwatch(append.lane)
        append.outbox.deliver([(append, failure)])

    def _append(self, append: Append) -> AppendRefusedError | None:
        """A transaction may be done again and ``closing`` must not: so the run first takes no more commands, and then
        those that are left are named once."""
        if append.lane.closed:
            return refused_error(append.lane, "an earlier append was refused")
        if append.projection.status is RunStatus.COMPLETED and append.closing is not None:
            left = self._transact(partial(self._refuse_commands, append))
            if isinstance(left, AppendRefusedError):
                return left
            append = append.with_leftover_commands(
                [command for command in left if command.id not in append.consumed]
            )
        return self._transact(partial(self._write, append))

    def _refuse_commands(
        self, append: Append, transaction: Transaction
    ) -> list[Command] | AppendRefusedError:
        path = run_path(append.lane.run_id)
        document = transaction.get(path)
        row, refusal = checked_row(document, append)
        left = commands_of(transaction, append.lane.run_id)
        if document is not None and refusal is None:
            transaction.set(path, {**document, "closing": row.fence})
        return refusal or left

    def _write(self, append: Append, transaction: Transaction) -> AppendRefusedError | None:
        run_id, path = append.lane.run_id, run_path(append.lane.run_id)
        document = transaction.get(path)
        row, refusal = checked_row(document, append)
        if refusal is not None:
            return refusal
        known = {c.hash: transaction.get(content_path(c.hash)) for c in append.contents}
        pages = {c.page.url: transaction.get(page_path(c.page.url)) for c in append.contents if c.page}
        is_last = append.projection.status is RunStatus.COMPLETED
        gone = [c.id for c in commands_of(transaction, run_id)] if is_last else append.consumed
        for content in append.contents:
            if known[content.hash] is None:
                set_body(transaction, content_path(content.hash), content.body, media_type=content.media_type)
            use = {"hash": content.hash, "run": run_id}
            transaction.set(use_path(content.hash, run_id), use)
            head, last = content.page, pages.get(content.page.url) if content.page else None
            if head is not None and (last is None or _HEAD.validate_python(last["head"]).at <= head.at):
                page = {"hash": content.hash, "head": _HEAD.dump_python(head, mode="json")}
                transaction.set(page_path(head.url), page)
                pages[head.url] = page
        for event in append.events:
            place = f"{path}/events/{event.seq:012}"
            set_body(transaction, place, event.body, seq=event.seq, type=event.type, version=event.version)
        for number in gone:
            transaction.delete(command_path(run_id, number))
        row = replace(
            row,
            projection=append.projection,
            last_seq=append.expected + len(append.events),
            updated_at=append.at,
            places=row.places if append.places is None else append.places,
        )
        if append.new_run is not None:
            row = replace(row, lease_until=self.now() + self.lease)
        if append.release:
            row = replace(row, owner=None, lease_until=0.0, claims=0)
        transaction.set(path, row_document(row, document))
        return None

    # Owning

    def acquire(self, run_id: str, owner: Owner, *, over: int | None = None) -> RunRow:
        return self._transact(partial(self._acquire, run_id, owner, over, None))

    def claim(self, owner: Owner, *, besides: Collection[str] = ()) -> RunRow | None:
        answered = set(self.answered_runs())
        for row in claim_order(self.runs(), answered, self.now()):
            if row.run_id not in besides:
                with suppress(RunBusyError, RunNotFoundError):  # another worker was faster, or it is deleted
                    return self._transact(partial(self._acquire, row.run_id, owner, None, answered))
        return None

    def _acquire(
        self,
        run_id: str,
        owner: Owner,
        over: int | None,
        answered: Collection[str] | None,
        transaction: Transaction,
    ) -> RunRow:
        """For a worker where the ``answered`` runs are given: then the run must be one that it may claim."""
        document = transaction.get(run_path(run_id))
        row = row_of(document, run_id)
        if row.owned(self.now()) and row.fence != over:
            raise busy_error(row)
        if answered is not None and not row.claimable(self.now(), answered):
            raise busy_error(row)
        stops = [c for c in commands_of(transaction, run_id) if c.kind == CommandKind.CANCEL]
        row = replace(row, owner=owner, fence=row.fence + 1, lease_until=self.now() + self.lease)
        if answered is not None:
            row = replace(row, claims=row.claims + 1, claimed_at=self.now())
        for command in stops:
            transaction.delete(command_path(run_id, command.id))
        transaction.set(run_path(run_id), row_document(row, document))
        return row

    def release(self, lane: Lane) -> None:
        self.unwatch(lane)
        lane.closed = True

        def let_go(transaction: Transaction) -> None:
            document = transaction.get(run_path(lane.run_id))
            if document is None or (row := row_of(document, lane.run_id)).fence != lane.fence:
                return
            if lane.seconds is not None:
                row = replace(row, projection=replace(row.projection, seconds=lane.seconds))
            row = replace(row, owner=None, lease_until=0.0, claims=0)
            transaction.set(run_path(lane.run_id), row_document(row, document))

        self._transact(let_go)

    def delete(self, run_id: str) -> None:
        self._transact(partial(self._delete, run_id))

    def _delete(self, run_id: str, transaction: Transaction) -> None:
        row = row_of(transaction.get(run_path(run_id)), run_id)
        if row.owned(self.now()):
            raise busy_error(row)
        gone = [run_path(run_id), *(command_path(run_id, c.id) for c in commands_of(transaction, run_id))]
        for event in transaction.find(Query(f"{run_path(run_id)}/events")):
            gone += body_paths(f"{run_path(run_id)}/events/{event['seq']:012}", event)
        for use in transaction.find(Query("uses", (("run", "==", run_id),))):
            content_hash = use["hash"]
            gone.append(use_path(content_hash, run_id))
            others = transaction.find(Query("uses", (("hash", "==", content_hash),), limit=2))
            if all(each["run"] == run_id for each in others):
                content = transaction.get(content_path(content_hash))
                gone += body_paths(content_path(content_hash), content or {"pieces": 0})
                pages = transaction.find(Query("pages", (("hash", "==", content_hash),)))
                gone += [page_path(page["head"]["url"]) for page in pages]
        for path in gone:
            transaction.delete(path)

    # Reading

    def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> list[StoredEvent]:
        events = f"{run_path(run_id)}/events"
        found = self._database.find(Query(events, (("seq", ">", after),), ("seq",), limit=limit))
        return [
            StoredEvent(each["seq"], each["type"], each["version"], body_of(self._database, path, each))
            for each in found
            for path in [f"{events}/{each['seq']:012}"]
        ]

    def run(self, run_id: str) -> RunRow:
        return row_of(self._database.get(run_path(run_id)), run_id)

    def runs(
        self,
        *,
        filter: RunFilter = EVERY_RUN,
        after: RunCursor | None = None,
        limit: int | None = None,
    ) -> list[RunRow]:
        """What equals a field is asked of the database; what it cannot know, such as whether an owner lives, is looked at
        page by page."""
        equal = (("user_id", filter.user), ("session_id", filter.session))
        where = tuple((name, "==", value) for name, value in equal if value is not None)
        at = None if after is None else (utc_text(after.created_at), after.run_id)
        rows: list[RunRow] = []
        while limit is None or len(rows) < limit:
            found = self._database.find(Query("runs", where, ("-created_at", "-run_id"), at, PAGE_RUNS))
            page = [row_of(document, "") for document in found]
            rows += [row for row in page if row.fits(filter, self.now())]
            if len(page) < PAGE_RUNS:
                break
            at = utc_text(page[-1].created_at), page[-1].run_id
        return rows[:limit]

    def contents(self, hashes: Sequence[str]) -> list[bytes]:
        bodies = []
        for content_hash in hashes:
            path = content_path(content_hash)
            if (document := self._database.get(path)) is None:
                raise missing(content_hash)
            bodies.append(body_of(self._database, path, document))
        return bodies

    def page(self, url: str) -> SavedPage | None:
        page = self._database.get(page_path(url))
        content = page and self._database.get(content_path(page["hash"]))
        if page is None or content is None:
            return None
        body = body_of(self._database, content_path(page["hash"]), content)
        return SavedPage(_HEAD.validate_python(page["head"]), content["media_type"], body)

    # Commands and watching

    def enqueue_command(self, run_id: str, kind: str, payload: str = "") -> int:
        def enqueue(transaction: Transaction) -> int:
            document = transaction.get(run_path(run_id))
            row = row_of(document, run_id)
            refuse_completed(row)
            if document and document["closing"] == row.fence and row.owner is not None:
                raise RunStateError(f"Run '{run_id}' is completing.", hint="Ask anew.", research_id=run_id)
            number = 1 + (document["commands"] if document else 0)
            command = {"run": run_id, "number": number, "kind": kind, "payload": masked(payload)}
            transaction.set(command_path(run_id, number), command)
            transaction.set(run_path(run_id), {**(document or {}), "commands": number})
            return number

        number = self._transact(enqueue)
        self._news.set()
        return number

    def pending_commands(self, run_id: str) -> list[Command]:
        return commands_of(self._database, run_id)

    def answered_runs(self) -> list[str]:
        answers = self._database.find(Query("commands", (("kind", "==", CommandKind.ANSWER.value),)))
        ids = dict.fromkeys(each["run"] for each in answers)
        parked = {row.run_id for row in self.runs(filter=RunFilter(status=RunStatus.PARKED))}
        return [run_id for run_id in ids if run_id in parked]

    def watch(self, lane: Lane, watch: Watch) -> None:
        with self._gate:
            self._watches[lane.run_id] = lane, watch
            self._news.set()
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._tend, name="document-watch", daemon=True)
                self._watcher.start()

    def unwatch(self, lane: Lane) -> None:
        with self._gate:
            if self._watches.get(lane.run_id, (None,))[0] is lane:
                del self._watches[lane.run_id]

    def _tend(self) -> None:
        """Renew leases and tell owners, until nobody watches."""
        next_beat = time.monotonic() + self._heartbeat
        while True:
            with self._gate:
                self._news.clear()
                held = list(self._watches.values())
                if not held:
                    self._watcher = None
                    return
            is_beat = time.monotonic() >= next_beat
            next_beat = time.monotonic() + self._heartbeat if is_beat else next_beat
            for lane, watch in held:
                try:
                    self._attend(lane, watch, is_beat=is_beat)
                except Exception as error:  # the next beat comes before the lease runs out
                    log.warning("%s was not looked after: %s", lane.run_id, error)
            self._news.wait(self._interval)

    def _attend(self, lane: Lane, watch: Watch, *, is_beat: bool) -> None:
        is_lost = is_beat and not self._transact(partial(self._renew, lane))
        commands = self.pending_commands(lane.run_id)
        with self._gate:  # nobody is told who has unwatched
            if self._watches.get(lane.run_id, (None,))[0] is not lane:
                return
            if is_lost:
                lane.closed = True
                del self._watches[lane.run_id]
                watch.on_lost()
                return
            for command in commands:
                if command.id not in watch.seen_ids:
                    watch.seen_ids.add(command.id)
                    watch.on_command(command)

    def _renew(self, lane: Lane, transaction: Transaction) -> bool:
        """False where the run is no longer the lane's."""
        document = transaction.get(run_path(lane.run_id))
        row = None if document is None else row_of(document, lane.run_id)
        if row is None or row.fence != lane.fence or row.owner is None:
            return False
        row = replace(row, lease_until=self.now() + self.lease)
        transaction.set(run_path(lane.run_id), row_document(row, document))
        return True
