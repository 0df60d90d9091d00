"""What the rows of an older database lack, counted from the logs of its runs."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from deep_research.logs import get_log, told
from deep_research.state.events import decode_log
from deep_research.state.projection import Projector
from deep_research.state.reducer import fold
from deep_research.store.listing import utc_text
from deep_research.store.sqlite_rows import projected, stored_event

_COUNTED = ("message", "waiting_for", "parked_until", "pause_id", "parked_kind", "figures")
log = get_log("store")


def count_runs(db: sqlite3.Connection) -> None:
    """Fold the log of every run once, for why it stands where it does and how far it came. When runs were created is
    written in one form, by which they are ordered."""
    changes = ", ".join(f"{name} = ?" for name in ("created_at", *_COUNTED))
    for run_id, created_at in db.execute("SELECT run_id, created_at FROM runs").fetchall():
        rows = db.execute(
            "SELECT seq, type, version, body FROM events WHERE run_id = ? ORDER BY seq", (run_id,)
        ).fetchall()
        try:
            created = utc_text(datetime.fromisoformat(created_at))
            state = fold(decode_log([stored_event(run_id, *row) for row in rows]))
            row = projected(Projector(state).projection())
        except (
            Exception
        ) as error:  # what is wrong with one run must not shut the others away: it has no figures
            log.warning("run_not_counted", run=run_id, error=told(error))
            continue
        values = (created, *(row[name] for name in _COUNTED), run_id)
        db.execute(f"UPDATE runs SET {changes} WHERE run_id = ?", values)  # noqa: S608
