"""What stands in the documents of a `DocumentStore`: rows, commands and bodies, and the paths under which they are."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from document_database import Document, DocumentDatabase, Query, Transaction
from pydantic import TypeAdapter

from deep_research.errors import AppendRefusedError, RunNotFoundError
from deep_research.state.identity import sha256_hex
from deep_research.store import Command, RunRow
from deep_research.store.base import Append, NewRun, refused_error
from deep_research.store.listing import utc_text

PIECE_BYTES = 900_000  # of a body in one document
_ROW = TypeAdapter(RunRow)


def checked_row(document: Document | None, append: Append) -> tuple[RunRow, AppendRefusedError | None]:
    """The row that a unit leads on from, and why it is refused."""
    lane, new = append.lane, append.new_run
    row = new_row(append, new or NewRun(query="")) if document is None else row_of(document, lane.run_id)
    why = None
    if document is None and new is None:
        why = "it was deleted"
    elif row.fence != lane.fence:
        why = "its fence was raised"
    elif row.last_seq != append.expected:
        why = f"its log is at {row.last_seq}, not {append.expected}"
    return row, refused_error(lane, why) if why else None


def new_row(append: Append, new: NewRun) -> RunRow:
    return RunRow(
        run_id=append.lane.run_id,
        query=new.query,
        projection=append.projection,
        last_seq=0,
        created_at=append.at,
        updated_at=append.at,
        fence=append.lane.fence,
        owner=append.lane.owner,
        user_id=new.user_id,
        session_id=new.session_id,
        places=new.places,
    )


def row_document(row: RunRow, before: Document | None) -> Document:
    """The document of a row, with the fields that are searched. ``commands`` is the number of the last one; ``closing``
    the fence under which the run takes no more, since it completes."""
    return {
        "row": _ROW.dump_python(row, mode="json"),
        "run_id": row.run_id,
        "created_at": utc_text(row.created_at),
        "user_id": row.user_id,
        "session_id": row.session_id,
        "commands": before["commands"] if before else 0,
        "closing": before["closing"] if before else 0,
    }


def row_of(document: Document | None, run_id: str) -> RunRow:
    """Raises `RunNotFoundError`."""
    if document is None:
        raise RunNotFoundError.of(run_id)
    return _ROW.validate_python(document["row"])


def commands_of(database: DocumentDatabase | Transaction, run_id: str) -> list[Command]:
    found = database.find(Query("commands", (("run", "==", run_id),), ("number",)))
    return [Command(each["number"], each["run"], each["kind"], each["payload"]) for each in found]


def set_body(transaction: Transaction, path: str, body: bytes, **fields: Any) -> None:
    """A document with a body, and those of the pieces that do not fit into it."""
    pieces = [body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES)] or [b""]
    document = {**fields, "body": pieces[0], "pieces": len(pieces) - 1}
    transaction.set(path, document)
    for place, piece in zip(body_paths(path, document)[1:], pieces[1:], strict=True):
        transaction.set(place, {"body": piece})


def body_of(database: DocumentDatabase, path: str, document: Document) -> bytes:
    rest = (database.get(piece) or {"body": b""} for piece in body_paths(path, document)[1:])
    return b"".join([document["body"], *(piece["body"] for piece in rest)])


def body_paths(path: str, document: Document) -> list[str]:
    """The paths of a document with a body and of its pieces."""
    return [path, *(f"{path}/pieces/{number:04}" for number in range(document["pieces"]))]


def name_of(text: str) -> str:
    """Any text as the name of a document, which is never empty and has no slash."""
    return "=" + quote(text, safe="", errors="surrogatepass")


def run_path(run_id: str) -> str:
    return f"runs/{name_of(run_id)}"


def command_path(run_id: str, number: int) -> str:
    return f"commands/{name_of(run_id)}:{number:012}"


def page_path(url: str) -> str:
    return f"pages/{sha256_hex(url.encode('utf-8', 'surrogatepass'))}"


def content_path(content_hash: str) -> str:
    return f"contents/{name_of(content_hash)}"


def use_path(content_hash: str, run_id: str) -> str:
    return f"uses/{name_of(content_hash)}:{name_of(run_id)}"
