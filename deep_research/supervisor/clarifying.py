"""Clarification before the first search: one question to the owner, by rule or from a model.

By rule a question is not clear where it says nothing that can be searched, where it names what several documents are
named, and where what it asks and what the run may search exclude each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import BaseModel, Field

from deep_research.budget.metered import RunModels
from deep_research.errors import StopResearch, StoreError
from deep_research.logs import describe_error, get_log
from deep_research.patterns import regex
from deep_research.phases.prompting import (
    OF_ADVICE,
    OF_BRIEF,
    OF_QUESTION,
    RULES,
    Message,
    Room,
    ask_model,
    instructions,
    listed,
    one_line,
)
from deep_research.retrieval.parsed_question import parse_question
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    ModelRole,
    ParkedKind,
    Parking,
    SupervisorAction,
    WhenDue,
)
from deep_research.state.events import DecisionMade, Event, RunParked
from deep_research.state.identity import normalised
from deep_research.state.journal import Clock
from deep_research.state.parking import as_advice
from deep_research.supervisor import decisions
from deep_research.supervisor.plan_approval import planned_again

CLARIFY = "clarify"
GO_ON = "Go on as you think."
MAX_OUTPUT_TOKENS = 600  # tokens, thoughts included
MAX_QUESTION_CHARS = 500  # characters of a question back
MAX_NAMED = 4  # documents that are told of a name that several have
_YEAR = regex(r"\b(?:1[5-9]|20)\d\d\b")
_QUALIFIER = regex(r"(?<!\s)\s*+(?:\([^()]*+\)|,.*)\s*+$")
log = get_log("clarifying")

SYSTEM = f"""\
You supervise a piece of research that is about to search. You see the question, and how it is understood. \
Say whether you are unsure what is asked: whether it could be meant in two ways that would lead to different \
answers, names what several things are named, or asks for what excludes itself. A question that is merely \
broad or difficult is clear.

Where you are unsure, give the one question whose answer would settle it, in the language of the question, \
short and to its owner, who has not seen the plan; and why you ask. Else say unsure: false, and leave both \
empty.

{RULES}"""


class Doubt(BaseModel):
    """What the supervisor's model says of a question."""

    unsure: bool = False
    question: str = Field(default="", description="the one question to the owner; empty where it is clear")
    why: str = ""


async def ask_about_question(state: DeepResearchState, models: RunModels | None, clock: Clock) -> list[Event]:
    """What is to be recorded before GATHERING begins, empty where nothing is: the run parks with the question, or is
    planned again with what was answered. A run asks once. Raises `Halted`, `StoreError`."""
    if state.options.clarify == "never":
        return []
    pause_id = f"{state.iteration}.{CLARIFY}"
    if any(d.action == CLARIFY for d in state.decisions):
        return _answer_events(state, pause_id, clock())
    by_model = models is not None and bool(models.roles.chain_of(ModelRole.SUPERVISOR))
    doubt = await _by_model(state, models) if by_model and models is not None else None
    if doubt is None:
        doubt = by_rule(state)
        if doubt is None and not by_model:
            return []  # what is told by rule is told the same again
    doubt = doubt or Doubt()
    question = one_line(doubt.question)[:MAX_QUESTION_CHARS].strip()
    is_asked = doubt.unsure and bool(question)
    decision = decisions.action(
        state,
        name=CLARIFY,
        rationale=one_line(doubt.why)[:MAX_QUESTION_CHARS] or "It is clear what is asked.",
        outputs={"unsure": is_asked, "question": question if is_asked else ""},
        at=clock(),
    )
    event = DecisionMade(action=SupervisorAction.PROCEED, decision=decision)
    if not is_asked:
        return [event]
    parking = Parking(
        waiting_for=question,
        pause_id=pause_id,
        kind=ParkedKind.QUESTION,
        default=GO_ON,
        then=WhenDue.DEFAULT,
        about={"why": decision.rationale, "brief": state.research_brief or ""},
    )
    return [event, RunParked(parking=parking)]


def _answer_events(state: DeepResearchState, pause_id: str, at: datetime) -> list[Event]:
    """Planned again with the answer, once; who wants it gone on with as it is gets that."""
    answer = state.answers.get(pause_id)
    has_replanned = any((d.outputs or {}).get("asked_by") == CLARIFY for d in state.decisions)
    if (
        answer is None
        or has_replanned
        or normalised(as_advice(answer)).rstrip(".") == normalised(GO_ON).rstrip(".")
    ):
        return []
    return planned_again(state, answer, CLARIFY, at)


def by_rule(state: DeepResearchState) -> Doubt | None:
    """What is not clear by what the question, its options and the first look say; None where all is. Pure."""
    return next(_doubts(state), None)


def _doubts(state: DeepResearchState) -> Iterator[Doubt]:
    read = parse_question(state.query)
    if not read.terms:
        why = "The question holds no word that can be searched."
        yield Doubt(
            unsure=True, question="What is the question about? Name what is to be looked for.", why=why
        )
        return
    yield from _excluding(state)
    look = state.first_look
    for mention in look.names if look is not None else ():
        bearing = _bearing(mention.name, look.titles if look is not None else ())
        if mention.bearers > 1 and len(bearing) > 1 and not _told_apart(state.query, mention.name, bearing):
            title_list = "; ".join(bearing[:MAX_NAMED])
            name = _as_written(mention.name, state.query)
            why = f"Several documents are named '{name}'."
            yield Doubt(unsure=True, question=f"Which '{name}' is meant: {title_list}?", why=why)


def _bearing(name: str, titles: tuple[str, ...]) -> list[str]:
    """The titles that are the name and what tells it apart from others of that name."""
    plain_name = normalised(name)
    return [
        title
        for title in dict.fromkeys(one_line(title) for title in titles)
        if normalised(_QUALIFIER.sub("", title)) == plain_name
    ]


def _as_written(name: str, question: str) -> str:
    start = question.casefold().find(name)
    text = question[start : start + len(name)] if start >= 0 else ""
    return text if text.casefold() == name else name


def _told_apart(question: str, name: str, bearing: list[str]) -> bool:
    """Whether the question has a word of the qualifier of one of them."""
    read = parse_question(question)
    own = set(read.words.terms(name))
    other_terms = set(read.terms) - own
    return any(other_terms & (set(read.words.terms(title)) - own) for title in bearing)


def _excluding(state: DeepResearchState) -> Iterator[Doubt]:
    """What the run may search against itself, and against the years that the question names."""
    options = state.options
    last = min((day for day in (options.until, options.as_of) if day is not None), default=None)
    if options.since and last and options.since > last:
        yield _excluded(f"what is searched would have to be published from {options.since} on and by {last}")
    barred = {site.casefold() for site in options.not_domains}
    sites = [site.casefold() for site in options.domains]
    if sites and all(_is_below(site, barred) for site in sites):
        yield _excluded("every site that may be used is one that may not be used")
    years = [int(year) for year in _YEAR.findall(state.query)]
    if last is not None and years and min(years) > last.year:
        yield _excluded(f"the question is of {min(years)}, and nothing later than {last.isoformat()} is used")


def _excluded(why: str) -> Doubt:
    sentence = f"{why[0].upper()}{why[1:]}"
    return Doubt(unsure=True, question=f"{sentence}: which of the two is meant?", why=f"{sentence}.")


def _is_below(site: str, others: set[str]) -> bool:
    parts = site.split(".")
    return any(".".join(parts[n:]) in others for n in range(len(parts)))


async def _by_model(state: DeepResearchState, models: RunModels) -> Doubt | None:
    """None where the model does not answer: then the rules tell. It sees the words of the owner, and what the planner
    made of them; no page."""
    model = models.model(ModelRole.SUPERVISOR, DeepResearchPhase.PLANNING)
    try:
        doubt, _ = await ask_model(model, SYSTEM, MAX_OUTPUT_TOKENS, Doubt, lambda room: _prompt(state, room))
        return doubt
    except (StoreError, StopResearch):
        raise
    except Exception as error:  # a provider may be anybody's
        log.warning("not_asked", error=describe_error(error))
        return None


def _prompt(state: DeepResearchState, room: Room) -> Message:
    message = Message(room)
    message.add(f"Question: {message.within(state.query, OF_QUESTION, 'the question')}")
    instructions(message, state.options.system_prompt)
    if state.research_brief:
        brief = message.within(one_line(state.research_brief), OF_BRIEF, "the brief")
        message.add(f"How it is understood: {brief}")
    pending = [one_line(s.query) for s in state.pending_sub_queries()]
    message.add(f"What would be searched:\n{listed(message.lines(pending, OF_ADVICE, 'the searches'))}")
    return message
