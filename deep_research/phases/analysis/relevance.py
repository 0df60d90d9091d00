"""How near a passage and the sentences that were drawn from it are to what is asked. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deep_research.evidence.called import doings, identifiers
from deep_research.evidence.defining import describes
from deep_research.evidence.doing import action, done_once
from deep_research.evidence.expecting import YES_OR_NO, expected_answer
from deep_research.evidence.pairs import closeness
from deep_research.evidence.question import affirmed, singles
from deep_research.evidence.ranking import Passage, bm25, stems_of
from deep_research.evidence.saying import opens_with, said_by
from deep_research.evidence.text import coverage, denies, stem
from deep_research.phases.analysis.aspects import Aspect, Batch, decades

UNCALLED = 0.15  # of relevance, for saying nothing of what the question calls as programs do
OF_VERSIONS = 0.25  # of relevance, for standing in a list of what each version changed
UNDENIED = (
    0.1  # of relevance, for denying nothing where the question does: "does not exist" is not "already exists"
)
ABOUT = 0.25  # of relevance, for a title that says what somebody wants to do: such sources are about it
DESCRIBED = 0.15  # of relevance, for describing something under its name, and again for saying what it is
AFFIRMED = 0.15  # of relevance, for saying what is asked with "does", or denying it
SINGLED = 0.25  # of relevance, for the word for what only one of a kind is
ROW_FOR_A_YES = 0.2  # of relevance, for a row of a table where yes or no is asked for
OUTRIGHT = 0.3  # of relevance, for opening with it: "To light the lamp, …"
DONE = 0.1  # of relevance, for saying what somebody wants to do, and not only that with which
OPENS = 0.03  # of relevance, for opening with what is asked about
_WORD = re.compile(r"(?P<done>[^\W\d_]+)")
_INSTEAD = re.compile(r"\b(?:rather than|instead of|without)(?: (?:being|be|having|to))? (?P<done>[^\W\d_]+)")
_TO_DO_SO = re.compile(r"(?:\A|(?<=[.!?:]\s))To (?P<doing>\w+) ")


def promise(passage: Passage, weights: Mapping[str, float], batch: Batch) -> float:
    """What a passage covers together with its title, and a little for saying it often."""
    span = passage.span
    dated = decades(weights, batch.handoff.sources[passage.source].content[span.start : span.end])
    reach = coverage(weights, batch.titles[passage.source] | set(passage.terms) | dated)
    return reach + 0.1 * bm25(passage, weights) / (sum(weights.values()) * 2.2)


def relevance(
    aspect: Aspect,
    weights: Mapping[str, float],
    held: set[str],
    source: int,
    text: str,
    batch: Batch,
    *,
    described: bool,
) -> float:
    """How near a finding is to the question, up to .85, also by what it says itself of what its title does not say. What
    was followed up is as near as it and the finding that led to it are together: many texts have the words of a
    follow-up."""
    title = batch.handoff.sources[source].title
    said = said_by(text, weights, done=done_once(aspect.query))
    close = 0.1 * closeness(f"{title}. {text}", batch.phrases)
    called = identifiers(batch.handoff.original_query)
    if called and not any(name in text or name in title for name in called):
        close -= UNCALLED
    close -= OF_VERSIONS * (source in batch.records)
    close += _how_to(batch, title, text, described=described * coverage(batch.question, held))
    if denies(batch.handoff.original_query) and not denies(text):
        close -= UNDENIED
    close += OPENS * opens_with(text, weights)
    close += _yes_or_no(batch.handoff.original_query, text)
    wanted = batch.question if aspect.later else weights
    untold = {term: weight for term, weight in wanted.items() if term in said or term not in held}
    itself = 0.1 * coverage(wanted, said) + 0.2 * (coverage(untold, said) if untold else 1.0)
    if aspect.later:
        return 0.45 * coverage(batch.question, held | _led_from(aspect, batch)) + itself + close
    return 0.25 * coverage(weights, held) + 0.2 * coverage(batch.question, held) + itself + close


def _yes_or_no(question: str, text: str) -> float:
    """What speaks for a text, or against it, where yes or no is asked for."""
    if expected_answer(question) is not YES_OR_NO:
        return 0.0
    affirms = any(said.search(text) for said in affirmed(question))
    return AFFIRMED * affirms + SINGLED * singles(question, text) - ROW_FOR_A_YES * (" | " in text)


def _how_to(batch: Batch, title: str, text: str, *, described: float) -> float:
    """What speaks for a text where somebody asks how to do something: a title that is about it, a description of what
    does it (``described`` is how much of the question that has), and the doing itself ("read", or a reader)."""
    doing = action(batch.handoff.original_query)
    if not doing:
        return 0.0
    about = ABOUT * coverage(batch.question, doings(title))
    if _is_left_undone(doing, text):
        return about
    outright = any(stem(match["doing"]) == doing for match in _TO_DO_SO.finditer(text))
    own = DONE * (doing in doings(text)) + OUTRIGHT * outright * coverage(batch.question, stems_of(text))
    return about + DESCRIBED * described * (1 + describes(text)) + own


def _is_left_undone(doing: str, text: str) -> bool:
    """Whether a text only tells what is done in place of what somebody wants to do: "rather than lighting it"."""
    done = [match["done"] for match in _WORD.finditer(text) if stem(match["done"]) == doing]
    instead = [match["done"] for match in _INSTEAD.finditer(text) if stem(match["done"]) == doing]
    return bool(instead) and len(instead) == len(done)


def _led_from(aspect: Aspect, batch: Batch) -> set[str]:
    """The stems of the earlier finding that has the name which was followed, and most of the question."""
    name = set(aspect.weights) - batch.question.keys()
    told = (stems_of(finding.content) for finding in batch.handoff.findings)
    naming = [stems for stems in told if name and name <= stems]
    return max(naming, key=lambda stems: coverage(batch.question, stems), default=set())
