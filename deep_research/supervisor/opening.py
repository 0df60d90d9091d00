"""The beginning of a run: its question, how it is let in, what it takes from earlier runs and from its user's memory, and
before the first search one question to its owner, by rule or from a model.

By rule a question is not clear where it says nothing that can be searched, where it names what several documents are
named, and where what it asks and what the run may search exclude each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from pydantic import BaseModel, Field

from deep_research.budget.metered import RunModels
from deep_research.conversation.conversation import UNRESOLVED, Conversation
from deep_research.conversation.user_memory import UserMemory
from deep_research.errors import InvalidQuestionError, StopResearch, StoreError
from deep_research.logs import describe_error, get_log
from deep_research.patterns import regex
from deep_research.phases.base import Phase
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
    Admission,
    DeepResearchPhase,
    DeepResearchState,
    Depth,
    ModelRole,
    Notice,
    ParkedKind,
    Parking,
    RunOptions,
    RunStatus,
    SupervisorAction,
    UserContext,
    WhenDue,
)
from deep_research.state import events as ev
from deep_research.state.identity import new_run_id, normalised
from deep_research.state.journal import Clock, Journal, MemoryJournal
from deep_research.state.parking import as_advice
from deep_research.supervisor import decisions
from deep_research.supervisor.hooks import HookCalls, Refuse
from deep_research.supervisor.plan_approval import planned_again
from deep_research.supervisor.review import guidance_event
from deep_research.text.plain import clean

MAX_QUESTION_CHARS = 20_000
CLARIFY = "clarify"
GO_ON = "Go on as you think."
MAX_OUTPUT_TOKENS = 600  # tokens, thoughts included
MAX_BACK_CHARS = 500  # of a question back
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


def checked_question(query: object, max_chars: int = MAX_QUESTION_CHARS) -> str:
    """The question as it is researched. Raises `InvalidQuestionError`."""
    if not isinstance(query, str):
        raise InvalidQuestionError("The question is no text.", hint="Ask something, as a str.")
    if "\x00" in query or any(0xD800 <= ord(c) <= 0xDFFF for c in query):
        raise InvalidQuestionError(
            "The question holds characters that are not text.", hint="Remove them and ask again."
        )
    question = clean(query).strip()
    if not question:
        raise InvalidQuestionError("The question is empty.", hint="Ask something.")
    if len(question) > max_chars:
        raise InvalidQuestionError(
            f"The question has {len(question):,} characters; {max_chars:,} are allowed.",
            hint="Shorten it, or give its background as system_prompt.",
        )
    return question


async def journal_of(
    research: str | DeepResearchState | Journal, options: RunOptions | None, clock: Clock
) -> Journal:
    """Where a run is recorded: in memory for a question or a state. Raises `InvalidQuestionError`."""
    if isinstance(research, DeepResearchState):
        return MemoryJournal(research, clock=clock)
    if not isinstance(research, str) and hasattr(research, "record"):
        return research
    question = checked_question(research)
    journal = MemoryJournal(clock=clock)
    await journal.record(
        ev.RunCreated(research_id=new_run_id(), query=question, options=options or RunOptions())
    )
    return journal


class Stopwatch:
    """The seconds of work on a run by all its owners together: those ``before``, and since `start` those of this one.
    ``clock`` gives seconds and never goes back."""

    def __init__(self, clock: Callable[[], float], before: float = 0.0) -> None:
        self._clock = clock
        self._before = before
        self._started: float | None = None

    def start(self) -> None:
        """Waiting for a turn is no work: the watch stands until this is called."""
        self._started = self._clock()

    def __call__(self) -> float:
        here = 0.0 if self._started is None else self._clock() - self._started
        return round(self._before + here, 3)


class Opening:
    """How runs begin: whether one is let in, what its question means after others, and what is remembered of its user."""

    def __init__(
        self,
        phases: Mapping[DeepResearchPhase, Phase],
        hook: HookCalls,
        conversation: Conversation | None,
        memory: UserMemory | None,
    ) -> None:
        self._phases = phases
        self._hook = hook
        self._conversation = conversation
        self._memory = memory

    def is_needed(self, state: DeepResearchState) -> bool:
        """Whether a run has not begun, or was refused the last time."""
        refused = state.admission is not None and not state.admission.safety_check
        return state.status is RunStatus.PENDING or (
            state.status is RunStatus.RUNNING and (refused or not state.decisions)
        )

    def asks(self, state: DeepResearchState) -> bool:
        """Whether somebody has to be asked first: the ``admit`` hook, or a model what the question means after others."""
        return self._hook.has("admit") or self._converses(state)

    async def at_once(self, state: DeepResearchState) -> list[ev.Event]:
        """What a run begins with where nobody has to be asked."""
        return [*self._let_in(state), *await self._memories(state)]

    def _let_in(self, state: DeepResearchState, *, asked: bool = False) -> list[ev.Event]:
        """Nothing where there is nothing to record: a user whom a directory knows, or a depth of its own."""
        known = state.setup.user if state.setup is not None else None
        if not (asked or known or state.options.depth != decisions.USUAL):
            return []
        depth, reason = self._depth(state)
        admission = Admission(user=user_of(state), depth=depth, depth_reason=reason)
        return [ev.RunAdmitted(admission=admission)]

    async def admit(self, journal: Journal) -> str | None:
        """Let a run in; why it is refused, where it is. Raises `ParkedError`."""
        state, user = journal.state, user_of(journal.state)
        unknown = Refuse("It could not be decided whether it may.")
        answer = await self._hook(journal, "admit", state.query, user, failed=unknown)
        if isinstance(answer, Refuse):
            admission = Admission(safety_check=False, user=user, reason=answer.reason)
            await journal.record(ev.RunAdmitted(admission=admission))
            return answer.reason or "The run was refused."
        if let_in := self._let_in(journal.state, asked=self._hook.has("admit")):
            advice = [answer] if isinstance(answer, str) else []
            planning = DeepResearchPhase.PLANNING
            await journal.record(*let_in, *(guidance_event(planning, 1, each, "hook") for each in advice))
        return None

    async def context(self, state: DeepResearchState, models: RunModels | None) -> list[ev.Event]:
        """What the question means after those before it, and what is remembered of the user."""
        return [*await self._resolved(state, models), *await self._memories(state)]

    async def _resolved(self, state: DeepResearchState, models: RunModels | None) -> list[ev.Event]:
        if self._conversation is None or not self._converses(state) or state.resolution is not None:
            return []
        resolution = await self._conversation.resolve(state, models)
        if resolution is None:
            return []
        events: list[ev.Event] = [ev.QuestionResolved(resolution=resolution)]
        # The depth of the question as it is meant may be another than that of the user's words.
        depth, reason = self._depth(state.model_copy(update={"query": resolution.question}))
        if depth is not state.depth:
            events.append(ev.DepthChanged(depth=depth, reason=reason))
        if not resolution.is_resolved:
            events.append(ev.NoticeAdded(notice=Notice(name="conversation", message=UNRESOLVED)))
        return events

    async def _memories(self, state: DeepResearchState) -> list[ev.Event]:
        """What of the user's memory is shown to a planner or a writer with a model."""
        phases = (self._phases[DeepResearchPhase.PLANNING], self._phases[DeepResearchPhase.SYNTHESIS])
        if self._memory is None or not any(phase.spec.uses_model for phase in phases):
            return []
        entries = await self._memory.load(state)
        return [ev.MemoryLoaded(entries=entries)] if entries else []

    def _converses(self, state: DeepResearchState) -> bool:
        """Whether the question of a run may point back to others."""
        options = state.options
        turns = options.session_id, options.previous_run_id, options.history or None
        return self._conversation is not None and any(each is not None for each in turns)

    def _depth(self, state: DeepResearchState) -> tuple[Depth, str]:
        planner = self._phases[DeepResearchPhase.PLANNING].spec
        return decisions.depth_of(state, by_planner=planner.uses_model)


def user_of(state: DeepResearchState) -> UserContext:
    """For whom a run works, as far as anybody knows."""
    known = state.setup.user if state.setup is not None else None
    return known or UserContext(name=state.options.user_id, language=state.options.language)


# Clarification


class Doubt(BaseModel):
    """What the supervisor's model says of a question."""

    unsure: bool = False
    question: str = Field(default="", description="the one question to the owner; empty where it is clear")
    why: str = ""


async def ask_about_question(
    state: DeepResearchState, models: RunModels | None, clock: Clock
) -> list[ev.Event]:
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
    question = one_line(doubt.question)[:MAX_BACK_CHARS].strip()
    is_asked = doubt.unsure and bool(question)
    decision = decisions.action(
        state,
        name=CLARIFY,
        rationale=one_line(doubt.why)[:MAX_BACK_CHARS] or "It is clear what is asked.",
        outputs={"unsure": is_asked, "question": question if is_asked else ""},
        at=clock(),
    )
    event = ev.DecisionMade(action=SupervisorAction.PROCEED, decision=decision)
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
    return [event, ev.RunParked(parking=parking)]


def _answer_events(state: DeepResearchState, pause_id: str, at: datetime) -> list[ev.Event]:
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
