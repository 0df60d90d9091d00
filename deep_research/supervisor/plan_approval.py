"""The plan before its owner: it is shown before anything is searched, with the form of what may be answered, and what is
answered is done. Pure, but for the estimate that is asked for.

What was answered and not yet acted on shows in the state, so a run that is resumed in between does it once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pydantic import Field, ValidationError

from deep_research.errors import StopResearch
from deep_research.provenance.secret_filter import MAX_QUERY_CHARS, askable
from deep_research.state import (
    Budget,
    DeepResearchPhase,
    DeepResearchState,
    Guidance,
    ParkedKind,
    Parking,
    Record,
    SubQuery,
    SupervisorAction,
    WhenDue,
)
from deep_research.state import events as ev
from deep_research.state.identity import sub_query_id
from deep_research.state.parking import as_advice, misfit
from deep_research.state.plan_terms import PlanTerms
from deep_research.state.records import ANSWERED
from deep_research.supervisor import decisions

APPROVE = "approve"
AGREED = (APPROVE, "approved", "agree", "agreed", "yes", "ok", "okay", "go ahead", "looks good")
_NO = ("no", "cancel", "cancelled", "stop", "abort")
REFUSED = (*_NO, "reject", "rejected", "refuse", "disagree", "never mind")
CAPS = ("max_searches", "max_fetches", "max_model_calls", "max_tokens", "max_usd", "max_seconds")
SITES = ("source_types", "domains", "not_domains")
DAYS = ("since", "until")
MAX_SENTENCE_CHARS, MAX_NAME_CHARS, MAX_PRIORITY = 4_000, 200, 100

PlanEstimate = Callable[[DeepResearchState], Awaitable[dict[str, Any]]]
PLAN = "plan"
NOT_WANTED = "The owner of the run does not want its plan."
_RETRIED = "retry_phase"


def agrees(answer: object) -> bool:
    """Whether an answer agrees to the plan as it stands."""
    return _word(answer) in AGREED


def refuses(answer: object) -> bool:
    """Whether an answer ends the run: its owner wants no such research."""
    return _word(answer) in REFUSED


def _word(answer: object) -> str:
    return " ".join(answer.split()).casefold().rstrip(".!") if isinstance(answer, str) else ""


class EditedQuery(Record):
    """A line of an edited plan: ``id`` alone keeps a sub-query, with a ``query`` rewords it, a ``query`` alone adds one.
    What is None is as it was."""

    id: str | None = None
    query: str | None = None
    rationale: str | None = None
    priority: int | None = Field(default=None, ge=1, le=MAX_PRIORITY)
    data_sources: tuple[str, ...] | None = None


class Limits(Budget):
    """Caps of the run, and how many sources are kept for a sub-query."""

    max_sources_per_query: int | None = Field(default=None, ge=1, le=50)


class Places(Record):
    """What is searched: kinds of sources, sites, and days of publication."""

    source_types: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None
    not_domains: tuple[str, ...] | None = None
    since: date | None = None
    until: date | None = None


class PlanEdit(Record):
    """An edited plan, in the order in which it is to be searched; what it leaves out is dropped."""

    sub_queries: tuple[EditedQuery, ...] | None = None
    limits: Limits | None = None
    sources: Places | None = None
    by: str | None = None


class BadEditError(ValueError):
    """Why an edited plan cannot be, in one line."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The plan as its owner wants it; None: as it stands."""

    sub_queries: tuple[SubQuery, ...] | None
    terms: PlanTerms | None
    by: str


def answer_schema(
    state: DeepResearchState, *, replans: bool, data_sources: Sequence[str] = ()
) -> dict[str, Any]:
    """The JSON schema of an answer: ``approve``, ``no``, an edited plan, or where it may be planned again a sentence."""
    word = {"enum": [*AGREED, *REFUSED]} if not replans else _text(MAX_SENTENCE_CHARS)
    return {"anyOf": [word, _of_edits(state, data_sources)]}


def _of_edits(state: DeepResearchState, data_sources: Sequence[str]) -> dict[str, Any]:
    item_schema = {"enum": list(data_sources)} if data_sources else _text(MAX_NAME_CHARS)
    line = _object(
        id={"enum": [s.id for s in state.pending_sub_queries()]},
        query=_text(MAX_QUERY_CHARS),
        rationale={"type": "string", "maxLength": MAX_SENTENCE_CHARS},
        priority={"type": "integer", "minimum": 1, "maximum": MAX_PRIORITY},
        data_sources={"type": "array", "items": item_schema, "uniqueItems": True},
    ) | {"minProperties": 1}
    lines = {"type": "array", "items": line, "minItems": 1, "maxItems": state.max_sub_queries}
    whole = {"type": "integer", "minimum": 0}
    caps: dict[str, Any] = dict.fromkeys(CAPS, whole) | {
        "max_usd": {"type": "number", "minimum": 0},
        "max_seconds": {"type": "number", "exclusiveMinimum": 0},
        "max_sources_per_query": {"type": "integer", "minimum": 1, "maximum": 50},
    }
    names = {"type": "array", "items": _text(MAX_NAME_CHARS), "uniqueItems": True}
    day = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}
    places = dict.fromkeys(SITES, names) | dict.fromkeys(DAYS, day)
    return _object(
        sub_queries=lines, limits=_object(**caps), sources=_object(**places), by=_text(MAX_NAME_CHARS)
    ) | {"minProperties": 1}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _text(longest: int) -> dict[str, Any]:
    return {"type": "string", "pattern": r"\S", "maxLength": longest}


def unfit(state: DeepResearchState, value: Any) -> str:
    """Why a value is no answer to what a run is parked for, in one line; empty where it is one. An edited plan is held
    against the plan too: whether it can be searched."""
    parking = state.question
    if parking is None:
        return "nothing is asked"
    if parking.kind is ParkedKind.PLAN and (agrees(value) or refuses(value)):
        return ""
    if parking.kind is not ParkedKind.PLAN or not isinstance(value, dict):
        problem = misfit(parking, value)
        is_sentence = parking.kind is ParkedKind.PLAN and isinstance(value, str)
        if not problem and is_sentence and not any(map(str.isalpha, value)):  # no letter of any script
            problem = "it has no words to plan with"
        return problem
    of_edits = (parking.answer_schema or {}).get("anyOf", [None])[-1]
    problem = misfit(parking.model_copy(update={"answer_schema": of_edits}), value)
    if problem:
        return problem
    try:
        read_edit(state, value)
    except BadEditError as error:
        return str(error)
    return ""


def read_edit(state: DeepResearchState, value: Any) -> Edited:
    """What an edited plan makes of the plan of a run. Raises `BadEditError`.

    Example:
        read_edit(state, {"sub_queries": [{"id": second.id}, {"query": "keepers of the light"}]})
    """
    try:
        edit = PlanEdit.model_validate_json(json.dumps(value, allow_nan=False))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadEditError(" ".join(f"{place}: {first['msg']}".split())) from None
    except ValueError:
        raise BadEditError("it is no JSON value") from None
    lines = edit.sub_queries
    return Edited(
        sub_queries=None if lines is None else tuple(_lines(state, lines)),
        terms=_terms(state, edit),
        by=" ".join((edit.by or "").split())[:MAX_NAME_CHARS] or "owner",
    )


def _lines(state: DeepResearchState, lines: Sequence[EditedQuery]) -> Iterator[SubQuery]:
    """Each with its id, in the places that those of the plan have which stay; what is new comes behind the run's last."""
    if not lines:
        raise BadEditError("the plan is empty: leave at least one search, or cancel the run")
    if len(lines) > state.max_sub_queries:
        raise BadEditError(
            f"the plan has {len(lines)} searches, and at most {state.max_sub_queries} are allowed"
        )
    pending_by_id = {s.id: s for s in state.pending_sub_queries()}
    sub_queries: dict[str, SubQuery] = {}
    used_places: set[str] = set()
    for number, line in enumerate(lines, 1):
        old = pending_by_id.get(line.id) if line.id is not None else None
        if line.id is not None and old is None:
            raise BadEditError(f"search {number}: the plan has no sub-query '{line.id[:40]}'")
        each = _line(state, line, old, pending_by_id, number)
        place = (old or each).id
        if each.id in sub_queries or place in used_places:
            raise BadEditError(f"search {number}: '{each.query[:80]}' is in the plan twice")
        used_places.add(place)
        sub_queries[each.id] = each
    fresh = sum(each.index < 0 for each in sub_queries.values())
    places = sorted(
        [each.index for each in sub_queries.values() if each.index >= 0]
        + list(range(state.next_index, state.next_index + fresh))
    )
    for each, index in zip(sub_queries.values(), places, strict=True):
        yield each.model_copy(update={"index": index})


def _line(
    state: DeepResearchState,
    line: EditedQuery,
    old: SubQuery | None,
    pending_by_id: dict[str, SubQuery],
    number: int,
) -> SubQuery:
    """The sub-query of a line; the index of one without a place in the plan is -1."""
    text = " ".join((line.query or "").split()) if line.query is not None else old.query if old else ""
    if not text:
        raise BadEditError(f"search {number}: it is empty")
    if old is None or sub_query_id(text) != old.id:
        safe_text = askable(text, state.query, state.options.system_prompt)
        if safe_text != text:
            what = "an address, or what your instructions keep confidential"
            raise BadEditError(f"search {number}: '{text[:80]}' cannot be searched: it holds {what}")
        old = old or pending_by_id.get(sub_query_id(text))
    key = sub_query_id(text)
    base = old or SubQuery(
        id=key,
        query=text,
        index=-1,
        iteration=state.iteration,
        part_id=state.parts[0].id if len(state.parts) == 1 else None,
    )
    changes = {
        name: value
        for name in ("rationale", "priority", "data_sources")
        if (value := getattr(line, name)) is not None
    }
    return base.model_copy(update={"id": key, "query": base.query if base.id == key else text, **changes})


def _terms(state: DeepResearchState, edit: PlanEdit) -> PlanTerms | None:
    limits, sources = edit.limits or Limits(), edit.sources or Places()
    caps = {name: cap for name in CAPS if (cap := getattr(limits, name)) is not None}
    terms = PlanTerms(
        max_sources_per_query=limits.max_sources_per_query,
        since=sources.since,
        until=sources.until,
        budget=Budget(**caps) if caps else None,
        **{name: _names(getattr(sources, name)) for name in SITES},
    )
    if terms == PlanTerms():
        return None
    options = state.options.model_copy(update=terms.changes(state.options.budget))
    if refused := state.permissions.excess(options.budget, options.source_types):
        raise BadEditError(refused)
    if options.since and options.until and options.since > options.until:
        raise BadEditError(f"sources: since {options.since} is after until {options.until}")
    return terms


def _names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(dict.fromkeys(name.strip().casefold() for name in names))


def sentences(state: DeepResearchState) -> int:
    """How often the plan was made again since its owner said something of it."""
    return sum(d.action == _RETRIED and (d.outputs or {}).get("asked_by") == PLAN for d in state.decisions)


async def ask_for_approval(
    state: DeepResearchState,
    at: datetime,
    estimate: PlanEstimate | None = None,
    data_sources: Sequence[str] = (),
) -> list[ev.Event]:
    """What is to be recorded before GATHERING begins, empty where nothing is: the run parks with its plan, or does what
    was answered. Raises `StopResearch` where its owner does not want it."""
    if state.plan_approved or not state.options.approve_plan:
        return []
    pause_id = f"{state.iteration}.{PLAN}.{sentences(state)}"
    replans = sentences(state) < state.options.max_supervisor_retries
    # One that was refused, and is gone on with all the same, asks again.
    abort_count = sum(d.action == "abort" and d.rationale == NOT_WANTED for d in state.decisions)
    problem = ""
    while pause_id in state.answers:  # once, but where an answer was taken that cannot be followed any more
        answer = state.answers[pause_id]
        if refuses(answer):
            if not abort_count:
                raise StopResearch(NOT_WANTED)
            abort_count, pause_id = abort_count - 1, f"{pause_id}+"
            continue
        if agrees(answer):
            return [ev.PlanApproved(by="owner")]
        if isinstance(answer, str) and replans:
            return planned_again(state, answer, PLAN, at)
        try:
            edited = read_edit(state, answer)
        except BadEditError as error:
            problem, pause_id = f"; what was answered cannot be: {error}", f"{pause_id}+"
            continue
        return [ev.PlanApproved(sub_queries=edited.sub_queries, terms=edited.terms, by=edited.by)]
    searches = len(state.pending_sub_queries())
    may = [name for name in data_sources if state.options.may_search(name)]
    parking = Parking(
        waiting_for=f"your word on the plan of {searches} search{'es' * (searches != 1)}{problem}",
        pause_id=pause_id,
        kind=ParkedKind.PLAN,
        answer_schema=answer_schema(state, replans=replans, data_sources=may),
        then=WhenDue.STAY,
        about=await plan_data(state, estimate),
    )
    return [ev.RunParked(parking=parking)]


async def plan_data(state: DeepResearchState, estimate: PlanEstimate | None) -> dict[str, Any]:
    """The plan as data: what its owner has to see to agree to it."""
    return {
        "brief": state.research_brief or "",
        "parts": [{"id": part.id, "text": part.text} for part in state.parts],
        "sub_queries": [
            {
                "id": each.id,
                "query": each.query,
                "rationale": each.rationale,
                "priority": each.priority,
                "part": each.part_id,
                "data_sources": list(each.data_sources),
            }
            for each in state.pending_sub_queries()
        ],
        "most": state.max_sub_queries,
        "estimate": await estimate(state) if estimate is not None else {},
    }


def planned_again(state: DeepResearchState, answer: Any, asked_by: str, at: datetime) -> list[ev.Event]:
    """The planning is done again with what the owner said, which all who work later are told too."""
    planning = DeepResearchPhase.PLANNING
    earlier = sum(
        d.action == _RETRIED and (d.outputs or {}).get("phase") == planning.value for d in state.decisions
    )
    decision = decisions.action(
        state,
        name=_RETRIED,
        rationale="The owner of the run answered.",
        outputs={"phase": planning.value, "asked_by": asked_by},
        at=at,
    )
    said_so = Guidance(
        phase=planning,
        iteration=state.iteration,
        text=as_advice(answer).strip(),
        origin=ANSWERED,
        lasting=True,
    )
    return [
        ev.GuidanceGiven(guidance=said_so),
        ev.DecisionMade(action=SupervisorAction.RETRY, decision=decision),
        ev.PhaseRetried(phase=planning, attempt=earlier + 1, asked_by=ANSWERED),
    ]
