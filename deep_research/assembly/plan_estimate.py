"""What a run may take from its plan on, as data for who is to agree to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deep_research.state import DeepResearchState

if TYPE_CHECKING:
    from deep_research.assembly.engine_parts import Parts


def of_plan(parts: Parts, state: DeepResearchState) -> dict[str, Any]:
    """From the low to the high end: searches, pages, requests to models, tokens and dollars (None where a price is not
    known) of the whole run with so many sub-queries, and what it has taken by now."""
    from deep_research.assembly.run_estimate import (
        estimated,  # not needed by a run that nobody is asked about
    )

    planned = max(1, len(state.pending_sub_queries()))
    options = state.options.model_copy(update={"max_sub_queries": planned})
    made = estimated(parts, parts.settings, state.query, options)
    tokens = made.input_tokens + made.output_tokens
    return {
        "searches": made.searches.model_dump(),
        "fetches": made.fetches.model_dump(),
        "model_calls": made.model_calls.model_dump(),
        "tokens": tokens.model_dump(),
        "usd": made.cost_usd.model_dump() if made.cost_usd is not None else None,
        "spent": {
            "model_calls": state.usage.model_calls,
            "tokens": state.usage.input_tokens + state.usage.output_tokens,
            "usd": state.usage.cost_usd,
        },
        "notes": list(made.notes),
    }
