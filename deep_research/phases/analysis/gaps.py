"""What was not found beside parts of the question: names of it that no source has. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.evidence.inquiry import Inquiry
from deep_research.evidence.names import key, question_names, spelled
from deep_research.evidence.statements import reader
from deep_research.phases.analysis.handoff import AnalyzedGap, SurveyInput
from deep_research.state import FirstLook

NOTHING = "Nothing was found about "
MORE = "There may be more to find on: "
OURS = (NOTHING, MORE)  # how the gaps begin that are named here


def gaps(
    handoff: SurveyInput, inquiry: Inquiry, queries: Sequence[str], *, answered: bool
) -> tuple[AnalyzedGap, ...]:
    """Names that no source has; while ``queries`` may find more of a question that something answers, that they may."""
    if unknown := _unknown(handoff, inquiry):
        return (AnalyzedGap(description=f"{NOTHING}{_either(unknown)}.", priority=2),)
    if queries and answered and len(inquiry.parts) == 1:
        return (AnalyzedGap(description=f"{MORE}{inquiry.text}", priority=2),)
    return ()


def _unknown(handoff: SurveyInput, inquiry: Inquiry) -> list[str]:
    """The names that no source has in its whole text, as the question spells them; of one within another, the shorter."""
    names = question_names(handoff.original_query, handoff.first_look or FirstLook())
    keys = reader(inquiry.language).keys
    texts = {s.id: f"{s.title}\n{s.content}" for s in (*handoff.sources, *handoff.whole)}
    held = frozenset[str]().union(*map(keys, texts.values()))
    unknown = [mention.name for mention in names if not keys(mention.name) <= held]
    short = [n for n in unknown if not any(f" {o} " in f" {n} " for o in unknown if o != n)]
    return spelled(handoff.original_query, *sorted(short, key=key(handoff.original_query).find))


def _either(names: Sequence[str]) -> str:
    quoted = [f"“{name}”" for name in names]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]
