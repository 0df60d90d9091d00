"""Messages about requests that a cap or a share refuses. Pure."""

from __future__ import annotations

from deep_research.errors import BudgetError, WorkError
from deep_research.state import Limit
from deep_research.state.records import SHARED


def limit_of(error: WorkError) -> Limit | None:
    """The cap that was reached, if it was one."""
    if not isinstance(error, BudgetError) or "share" in error.data:
        return None
    name = str(error.data.get("cap", "budget"))
    cap, used = error.data.get("limit"), error.data.get("used")
    of = f" of {cap:,.10g}" if isinstance(cap, int | float) else ""
    shared = bool(error.data.get("shared"))
    which = "shared cap" if shared else "cap"
    return Limit(
        name=SHARED + name if shared else name,
        message=f"The {which} {name}{of} was reached; the rest was done without a model.",
        cap=cap,
        usage=used,
    )


def share_of(error: WorkError) -> Limit | None:
    """The share of a cap that a phase used up, if it was that, named by both: the cap is not reached, and the run goes
    on."""
    if not isinstance(error, BudgetError) or "share" not in error.data:
        return None
    cap, phase = error.data.get("cap"), error.data["share"]
    return Limit(
        name=f"{cap}:{phase}",
        message=f"The {phase} used its share of {cap}; the rest of it was done without a model.",
        cap=error.data.get("limit"),
        usage=error.data.get("used"),
    )
