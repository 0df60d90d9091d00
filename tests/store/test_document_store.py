"""The store of docs/own-store.md keeps every promise of the suite, and a run on it survives whatever interrupts it."""

from __future__ import annotations

import asyncio
import copy
import sys
import threading
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from deep_research import DeepResearch
from deep_research.state import RunStatus
from deep_research.store import Store
from deep_research.testing import ScriptedSearch, scripted_agents
from deep_research.testing.patience import PATIENCE_SECONDS
from deep_research.testing.store_suite import Bench, Check, checks_for

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES / "document_store"))

from document_database import (  # noqa: E402
    ContentionError,
    DocumentDatabase,
    Query,
    RefusalError,
    Transaction,
)
from document_store import DocumentStore  # noqa: E402

pytestmark = pytest.mark.timed

QUESTION = "What is known of towers?"
AT_THE_CORPUS = "Who built Bell Rock, and how tall is the Cape Hatteras lighthouse?"


def over(database: DocumentDatabase) -> Callable[[Callable[[], float]], Store]:
    return lambda now: DocumentStore(database, now=now, heartbeat=0.01, interval=0.005)


@pytest.mark.parametrize("check", checks_for(), ids=str)
def test_the_store_of_the_docs_keeps_the_promise(check: Check) -> None:
    with Bench(over(DocumentDatabase())) as bench:
        check(bench)


# Whole runs


class Recorded(DocumentDatabase):
    """Keeps an image of itself after each commit: what a crash at that moment leaves behind."""

    def __init__(self) -> None:
        super().__init__()
        self.images: list[Any] = []

    def _commit(self, transaction: Transaction) -> bool:
        with self._gate:
            done = super()._commit(transaction)
            if done and transaction.written:
                self.images.append(copy.deepcopy(self._collections))
            return done


def of_image(image: Any) -> DocumentDatabase:
    database = DocumentDatabase()
    database._collections = copy.deepcopy(image)
    database._version = 1_000_000
    return database


def scripted(database: DocumentDatabase, **more: Any) -> DeepResearch:
    return DeepResearch(
        agents=scripted_agents(without=["gatherer"], iterations=2),
        search=[ScriptedSearch()],
        store=DocumentStore(database, **more),
    )


def at_the_corpus(database: DocumentDatabase) -> DeepResearch:
    return DeepResearch(corpus=EXAMPLES / "corpus", store=DocumentStore(database), max_iterations=2)


def test_a_run_is_resumed_from_the_image_of_every_commit_and_ends_with_the_same_report() -> None:
    database = Recorded()
    with scripted(database, lease=0.0) as research:
        whole = research.run(QUESTION)
    assert len(database.images) > 15
    for image in database.images:
        with scripted(of_image(image)) as research:
            (run,) = research.list()
            result = research.resume(run.research_id)
        assert (result.status, result.report) == (RunStatus.COMPLETED, whole.report)
        assert result.answers == whole.answers


@pytest.mark.parametrize(
    ("make", "question", "places"),
    [(scripted, QUESTION, range(1, 25, 3)), (at_the_corpus, AT_THE_CORPUS, (2, 5, 9))],
    ids=["scripted", "corpus"],
)
def test_a_run_that_is_left_is_resumed_by_another_engine_and_ends_with_the_same_report(
    make: Callable[[DocumentDatabase], DeepResearch], question: str, places: range | tuple[int, ...]
) -> None:
    with make(DocumentDatabase()) as research:
        whole = research.run(question)
    assert whole.report

    async def left_after(count: int, database: DocumentDatabase) -> str:
        with make(database) as research:
            async with aclosing(research.stream(question)) as events:
                async for event in events:
                    if getattr(event, "seq", 0) >= count:
                        break
            return (await research.alist())[0].research_id

    for place in places:
        database = DocumentDatabase()
        run_id = asyncio.run(left_after(place, database))
        with make(database) as research:
            assert research.resume(run_id).report == whole.report


def test_a_run_that_was_submitted_is_worked_on_by_another_engine_and_steered_by_a_third() -> None:
    database = DocumentDatabase()
    with scripted(database) as client:
        run_id = client.submit(QUESTION)
        client.steer(run_id, "Also consider the keepers.")
    with scripted(database) as worker:
        assert worker.work(once=True) == 1
    with scripted(database) as client:
        assert client.status(run_id).status is RunStatus.COMPLETED
        client.delete(run_id)
    assert {name: held for name, held in database._collections.items() if held} == {}


# The double of the database


def test_a_transaction_that_was_overtaken_is_done_again() -> None:
    database, tries = DocumentDatabase(), []
    database.transact(lambda transaction: transaction.set("towers/1", {"height": 1}))

    def raised(transaction: Transaction) -> None:
        height = (transaction.get("towers/1") or {})["height"]
        tries.append(height)
        if len(tries) == 1:  # somebody else is faster
            database.transact(lambda other: other.set("towers/1", {"height": 10}))
        transaction.set("towers/1", {"height": height + 1})

    database.transact(raised)
    assert (tries, database.get("towers/1")) == ([1, 10], {"height": 11})


def test_what_a_query_found_is_read_as_well() -> None:
    database, counts = DocumentDatabase(), []

    def counted(transaction: Transaction) -> None:
        counts.append(len(transaction.find(Query("towers"))))
        if len(counts) == 1:
            database.transact(lambda other: other.set("towers/1", {"height": 10}))
        transaction.set("sums/towers", {"count": counts[-1]})

    database.transact(counted)
    assert (counts, database.get("sums/towers")) == ([0, 1], {"count": 1})


def test_a_transaction_that_is_always_overtaken_ends() -> None:
    database = DocumentDatabase()

    def overtaken(transaction: Transaction) -> None:
        transaction.get("towers/1")
        database.transact(lambda other: other.set("towers/1", {}))
        transaction.set("towers/2", {})

    with pytest.raises(ContentionError):
        database.transact(overtaken)
    assert database.get("towers/2") is None


def test_many_threads_count_without_losing_one() -> None:
    database = DocumentDatabase()

    def count(transaction: Transaction) -> None:
        held = transaction.get("sums/1") or {"count": 0}
        transaction.set("sums/1", {"count": held["count"] + 1})

    threads = [
        threading.Thread(target=lambda: [database.transact(count) for _ in range(20)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert database.get("sums/1") == {"count": 80}


def test_what_a_transaction_raises_ends_it_and_nothing_is_written() -> None:
    database = DocumentDatabase()

    def failing(transaction: Transaction) -> None:
        transaction.set("towers/1", {})
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        database.transact(failing)
    assert database.get("towers/1") is None


@pytest.mark.parametrize(
    "work",
    [
        lambda transaction: transaction.set("towers/1", {"body": b"x" * 1_000_001}),
        lambda transaction: transaction.set("towers", {}),
        lambda transaction: transaction.set("towers//1/2", {}),
        lambda transaction: transaction.get(""),
        lambda transaction: (transaction.set("towers/1", {}), transaction.get("towers/1")),
        lambda transaction: (transaction.delete("towers/1"), transaction.find(Query("towers"))),
    ],
)
def test_what_the_service_would_refuse_is_refused(work: Callable[[Transaction], object]) -> None:
    with pytest.raises(RefusalError):
        DocumentDatabase().transact(work)


def test_documents_are_copied_both_ways() -> None:
    database, document = DocumentDatabase(), {"keepers": ["Ann"]}
    database.transact(lambda transaction: transaction.set("towers/1", document))
    document["keepers"].append("Bob")
    (database.get("towers/1") or {})["keepers"].append("Eve")
    assert database.find(Query("towers")) == [{"keepers": ["Ann"]}]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (Query("towers", order=("height",)), "cabd"),
        (Query("towers", order=("-height", "name")), "dabc"),
        (Query("towers", order=("-height", "-name"), limit=2), "db"),
        (Query("towers", order=("-height", "-name"), after=(20, "b")), "ac"),
        (Query("towers", (("height", ">", 10), ("name", "<", "d")), ("name",)), "ab"),
        (Query("towers", (("height", "==", 40),)), "d"),
        (Query("towers", limit=0), ""),
        (Query("nothing"), ""),
    ],
)
def test_a_query_has_conditions_an_order_a_place_and_a_limit(query: Query, names: str) -> None:
    database = DocumentDatabase()
    for name, height in {"a": 20, "b": 20, "c": 10, "d": 40}.items():
        document = {"name": name, "height": height}
        database.transact(
            lambda transaction, document=document: transaction.set(f"towers/{document['name']}", document)
        )
    assert "".join(each["name"] for each in database.find(query)) == names
