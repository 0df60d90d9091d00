"""How much of what was found was sent to models, in words."""

from __future__ import annotations

from deep_research.budget.fidelity import RunFidelity
from deep_research.budget.ladder import FidelityBand
from deep_research.interfaces.cli import text


def fidelity_line(fidelity: RunFidelity) -> str:
    """How much of what was found was sent, in a line; "" where it was all, or nearly."""
    totals = fidelity.content_allocation_metadata
    return "" if totals.band is FidelityBand.FULL else fidelity_in_words(fidelity)


def fidelity_in_words(fidelity: RunFidelity) -> str:
    totals = fidelity.content_allocation_metadata
    texts = {name for phase in fidelity.phases.values() for name in phase.content_fidelity}
    many = text.count(len(texts), "text")
    cut, dropped = totals.items_summarized, totals.items_dropped
    said = f"{cut or dropped:,} of {many} {'was' if (cut or dropped) == 1 else 'were'}"
    match bool(cut), bool(dropped):
        case True, True:
            said += f" shortened, {dropped:,} left out"
        case True, False:
            said += " shortened"
        case False, True:
            said += " left out"
        case _:
            said = f"{many} {'was' if len(texts) == 1 else 'were'} sent whole"
    return f"Fidelity {share_in_words(totals.fidelity)} ({totals.band}): {said}."


def share_in_words(fidelity: float) -> str:
    """Rounded down, as it is measured: what is Condensed never reads 0.90."""
    return f"{round(10_000 * fidelity) // 100 / 100:.2f}"
