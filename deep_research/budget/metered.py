"""The models of one run, as phases are handed them: every request is checked against the window, set aside for,
sent, settled and written to the log."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel

from deep_research.budget.estimate import report_cost
from deep_research.budget.shared_budget import BudgetScope, SharedBudget
from deep_research.budget.spend import Spend
from deep_research.budget.spend_ledger import Allowance, unpriced
from deep_research.budget.tokens import Counter, Reasoning, Window
from deep_research.calls import TEXT_UNIT_CHARS, contained, off_loop
from deep_research.errors import AgentError, BudgetError, ModelError, WindowError
from deep_research.logs import describe_error, get_log, masked
from deep_research.models.base import Message, ModelCall, ModelProvider, Reply, TokenUsage
from deep_research.models.characters import in_all_texts, text_size
from deep_research.models.failures import usage_of
from deep_research.models.language_model import Answer, LanguageModel
from deep_research.models.model_pool import ModelPool, Named
from deep_research.models.probe import PROBE
from deep_research.models.profiles import Profile
from deep_research.models.retry import GRACE_SECONDS, Wordings
from deep_research.models.stream import OnPiece
from deep_research.models.thoughts import Echoes, Stream
from deep_research.state import Budget, DeepResearchPhase, ModelRole, Notice, Reservation, Spent
from deep_research.state.events import ModelFellBack, ModelReserved, ModelSettled, Progress, Written
from deep_research.state.journal import Clock, Journal, utc_now
from deep_research.state.records import OF_MODEL
from deep_research.state.spending import by_cap

_Object = TypeVar("_Object", bound=BaseModel)
_Value = TypeVar("_Value")

NEARLY = 0.7  # of the window: from here on the service is asked to count, where it can and we cannot
MIN_OUTPUT_TOKENS = 1_000  # tokens of an answer that is asked for instead of a longer one
COUNT_SECONDS = 10.0
MAX_ID_CHARS = 200  # characters of the name that a service gives a request
log = get_log("metered")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRoles:
    """Which models an engine uses for which role: the chain of the role, else that for all roles. ``margin``,
    ``runtime`` and ``overhead`` are those of `Window`; ``reasoning`` says how hard they think; ``asked`` are the roles
    whose agents use a model, None: all of them."""

    pool: ModelPool
    chain: Sequence[Named] = ()
    by_role: Mapping[ModelRole, Sequence[Named]] = field(default_factory=dict)
    margin: float = 0.15
    runtime: str = "direct-api"
    overhead: int | None = None
    reasoning: Reasoning = field(default_factory=Reasoning)
    asked: frozenset[ModelRole] | None = None

    def chain_of(self, role: ModelRole) -> Sequence[Named]:
        return self.by_role.get(role) or self.chain

    def window(self, profile: Profile, output: int) -> Window:
        return Window.of(
            profile.context, output, runtime=self.runtime, overhead=self.overhead, margin=self.margin
        )

    def check(self, budget: Budget, shared: Sequence[SharedBudget] = ()) -> None:
        """What must hold before anything is spent. Raises `ConfigurationError`."""
        if budget.max_usd is None and not BudgetScope(shared).in_dollars:
            return
        for model in {model for chain in (self.chain, *self.by_role.values()) for model in chain}:
            if self.pool.profile(model).price is None:
                raise unpriced(self.pool.provider(model).name)

    def report_cost(self, words: int) -> Spent:
        """What one request for a report of so many words takes at most; nothing where no model writes it."""
        writes = self.asked is None or ModelRole.SYNTHESIZER in self.asked
        chain = self.chain_of(ModelRole.SYNTHESIZER) if writes else ()
        return report_cost(words, self.pool.profile(chain[0])) if chain else Spent()

    def of_run(
        self, journal: Journal, clock: Clock = utc_now, shared: Sequence[SharedBudget] = ()
    ) -> RunModels:
        return RunModels(self, journal, clock, shared)


class RunModels:
    """The models of one run, on its loop. ``shared`` are the budgets that it draws on beside its own."""

    def __init__(
        self,
        roles: ModelRoles,
        journal: Journal,
        clock: Clock = utc_now,
        shared: Sequence[SharedBudget] = (),
    ) -> None:
        self.roles = roles
        self.journal = journal
        self.purse = BudgetScope(shared)
        self.spend = Spend(journal.state, self.purse)
        self.mark = secrets.token_hex(8)  # around material in prompts; nobody outside knows it
        self._clock = clock
        self._wordings = Wordings()

    async def assumed_windows(self) -> tuple[Notice, ...]:
        """Asks servers for the windows of models that nothing is known of; what has to be assumed all the same."""
        roles, pool = self.roles, self.roles.pool
        asked = ModelRole if roles.asked is None else roles.asked
        providers = {
            (provider := pool.provider(m)).identity: provider for role in asked for m in roles.chain_of(role)
        }
        assumed = await asyncio.gather(*map(pool.windows.ask, providers.values()))
        return tuple(
            _assumed(provider, pool.profile_of(provider).context)
            for provider, is_assumed in zip(providers.values(), assumed, strict=True)
            if is_assumed
        )

    def affordable(
        self,
        role: ModelRole,
        phase: DeepResearchPhase,
        input_tokens: int,
        output_tokens: int,
        *,
        now: bool = False,
    ) -> int | None:
        """How many requests of this size all caps have room for, see `affordable_by_cap`; None: no cap. ``now``: of what
        is left by now, in budgets that are shared as well."""
        counts = list(self.affordable_by_cap(role, phase, input_tokens, output_tokens, now=now).values())
        if now:
            counts += self.purse.requests(self._most_of(role, input_tokens, output_tokens))
        return min(counts, default=None)

    def affordable_by_cap(
        self,
        role: ModelRole,
        phase: DeepResearchPhase,
        input_tokens: int,
        output_tokens: int,
        *,
        now: bool = False,
    ) -> dict[str, int]:
        """How many requests of this size the caps of the run and the shares of the phase had room for when this pass of
        the phase began, by the name of each cap that is set and bounds them. It follows from the log alone, so budgets
        that are shared with other runs are not looked at. ``now``: what is left by now, after a stop in the middle say.
        Raises `AgentError` without a model, `ConfigurationError` for a price that is unknown."""
        each = self._most_of(role, input_tokens, output_tokens)
        state = self.journal.state
        spent = (Spent.of(state.usage, state.reservations) if now else state.phase_spent).by_cap
        if state.options.budget.max_usd is not None and None in (each["max_usd"], spent["max_usd"]):
            raise unpriced(self.roles.pool.provider(self._chain(role)[0]).name)
        counts = {
            name: share.requests(spent[name] or 0, each[name] or 0)
            for name, share in self.allowance(phase, role).shares.items()
        }
        return {name: count for name, count in counts.items() if count is not None}

    def _most_of(self, role: ModelRole, input_tokens: int, output_tokens: int) -> dict[str, float | None]:
        """What one request of this size takes at most, by the name of the cap on it."""
        profile = self.roles.pool.profile(self._chain(role)[0])
        output_tokens = self.roles.reasoning.output(role, output_tokens, profile)
        usd = profile.price.most(input_tokens, output_tokens) if profile.price else None
        return by_cap(1, input_tokens + output_tokens, usd)

    def bytes_a_token(self, model: str) -> float | None:
        """What had been measured of the texts of a model when this pass of the phase began."""
        return self.journal.state.bytes_a_token.get(model)

    def allowance(self, phase: DeepResearchPhase, role: ModelRole) -> Allowance:
        """The shares of a phase for a role as they stand now."""
        state = self.journal.state
        whole = Allowance.of(state, phase, self.roles.report_cost(state.report_words))
        return whole.beside_agent(state) if role is ModelRole.SUMMARIZER else whole

    def _chain(self, role: ModelRole) -> Sequence[Named]:
        chain = self.roles.chain_of(role)
        if not chain:
            raise AgentError(f"The role {role} has no model.", hint="Name one: model=… or --model NAME.")
        return chain

    def model(self, role: ModelRole, phase: DeepResearchPhase, *, steered: bool = True) -> LanguageModel:
        """The model of a role, whose requests are booked under that role and phase. ``steered``: they keep to the shares
        of the phase, not to the caps alone. Raises `AgentError` without a model."""
        chain = self._chain(role)

        async def fell_back(model: str, following: str, error: ModelError) -> None:
            await self.journal.record(
                ModelFellBack(role=role.value, model=model, next_model=following, error=error.problem)
            )

        def waits(seconds: float, error: ModelError) -> None:
            until = self._clock() + timedelta(seconds=seconds)
            note = f"waiting {seconds:.0f} s: {error.problem}"
            self.journal.progress(Progress(phase=phase, message=note, until=until))

        inner = self.roles.pool.language_model(
            chain,
            usage_recorder=_UsageRecorder(self, role, phase, steered),
            wordings=self._wordings,
            on_wait=waits,
            on_fallback=fell_back,
        )
        return _RunModel(inner, self, role, phase)


class _RunModel:
    """A model within a run: what may be sent is what the run's margins leave, the texts that it writes are told to who
    watches, and what it may not repeat is cut out of both."""

    def __init__(
        self, inner: LanguageModel, run: RunModels, role: ModelRole, phase: DeepResearchPhase
    ) -> None:
        self._inner = inner
        self._run = run
        self._role = role
        self._phase = phase

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def profile(self) -> Profile:
        return self._inner.profile

    @property
    def bytes_a_token(self) -> float | None:
        return self._run.bytes_a_token(self.name)

    @property
    def mark(self) -> str:
        return self._run.mark

    def room(self, output: int) -> int:
        roles, profile = self._run.roles, self.profile
        output = min(roles.reasoning.output(self._role, output, profile), profile.output)
        return roles.window(profile, output).input

    async def text(self, call: ModelCall, *, on_piece: OnPiece | None = None) -> Answer[str]:
        def show_piece(piece: str | None) -> None:
            self._run.journal.progress(Written(phase=self._phase, label=call.label, text=piece))

        call = self._prepared(call)
        # A stream costs several times the CPU of a whole answer, so there is one only where somebody looks.
        tell = on_piece or (show_piece if self._run.journal.watched else None)
        echoes = self._echoes(call)
        if echoes is None:
            return await self._inner.text(call, on_piece=tell)
        if tell is None:
            answer = await self._inner.text(call)
            return replace(answer, value=await _cleared(echoes, answer.value))
        stream = Stream(echoes, tell)
        answer = await self._inner.text(call, on_piece=stream.take)
        text = await _cleared(echoes, answer.value)
        stream.end(text)
        return replace(answer, value=text)

    async def object(self, call: ModelCall, answer: type[_Object]) -> Answer[_Object]:
        call = self._prepared(call)
        found = await self._inner.object(call, answer)
        echoes = self._echoes(call)
        return found if echoes is None else replace(found, value=await _cleared(echoes, found.value))

    async def turn(self, call: ModelCall) -> Answer[Message]:
        call = self._prepared(call.model_copy(update={"messages": tuple(map(_masked, call.messages))}))
        answer = await self._inner.turn(call)
        echoes = self._echoes(call)
        if echoes is None:
            return answer
        native = answer.value.native  # is read by its service alone, and goes back as it came
        plain = await _cleared(echoes, answer.value.model_copy(update={"native": None}))
        return replace(answer, value=plain.model_copy(update={"native": native}))

    def _prepared(self, call: ModelCall) -> ModelCall:
        """Without what is secret, and with the effort of the role."""
        return self._run.roles.reasoning.call(self._role, in_all_texts(call, masked), self.profile)

    def _echoes(self, call: ModelCall) -> Echoes | None:
        """What the answer may not repeat, where the prompt holds text from outside behind a mark."""
        if not call.nonce:
            return None
        instructions = self._run.journal.state.options.system_prompt or ""
        told = "\n".join(text for message in call.messages for text in message.texts)
        shown = told.replace(instructions, "") if instructions else told
        return Echoes(ours=call.system, owners=instructions, mark=call.nonce, prompt=shown)


def _masked(message: Message) -> Message:
    """A turn as its service gave it is sent back unchanged or not at all: one that holds a secret is put into words."""
    if message.native is None or in_all_texts(message.native, masked) is message.native:
        return message
    return message.model_copy(update={"native": None})


async def _cleared(echoes: Echoes, value: _Value) -> _Value:
    return await off_loop(text_size(value) // TEXT_UNIT_CHARS, echoes.cleared, value)


@dataclass(frozen=True, slots=True)
class _ReservedCall:
    """``call`` is the one that may be sent."""

    reservation: Reservation
    profile: Profile
    call: ModelCall


class _UsageRecorder:
    """Records the requests of one role in one phase: see `deep_research.models.retry.UsageRecorder`."""

    def __init__(self, run: RunModels, role: ModelRole, phase: DeepResearchPhase, steered: bool) -> None:
        self._run = run
        self._role = role
        self._phase = phase
        self._steered = steered

    def _allowed(self) -> Allowance | None:
        return self._run.allowance(self._phase, self._role) if self._steered else None

    async def reserve(self, provider: ModelProvider, call: ModelCall) -> _ReservedCall:
        """Raises `WindowError`, `BudgetError`, `ConfigurationError`, and `Halted`."""
        self._run.journal.check()
        roles, spend = self._run.roles, self._run.spend
        profile = roles.pool.profile_of(provider)
        window = roles.window(profile, call.max_output)
        counter = await Counter.of(profile.encoding, self._run.bytes_a_token(provider.name))
        bound, exact = await counter.bound_of(call), counter.exact
        wanted = self._reservation(provider, call, profile, bound, measured=not exact)
        expected = bound if exact else await counter.expected_of(call)
        nearly = expected > NEARLY * window.most
        if not exact and (nearly or spend.refusal(wanted, self._allowed())):
            counted = await _count_by_service(provider, call)
            exact, bound = counted is not None, counted or bound
            wanted = self._reservation(provider, call, profile, bound, measured=True)
        # Where nobody can count, bytes would keep out half of what fits. A server that is sent too much refuses it.
        likely = bound if exact else expected
        if likely > window.most:
            raise WindowError(
                f"A prompt of about {likely} tokens does not fit the {window.most} that '{provider.name}' has for it.",
                hint="Send less, or use a model with a larger window.",
                model=provider.name,
                tokens=likely,
                limit=window.most,
            )
        held = await self._hold(wanted, profile)
        try:
            await self._run.journal.record(ModelReserved(reservation=held))
        except BaseException:
            spend.lose(held.call_id)
            raise
        return _ReservedCall(held, profile, call.model_copy(update={"max_output": held.output_tokens}))

    async def _hold(self, wanted: Reservation, profile: Profile) -> Reservation:
        """Few answers are as long as they may be: where the longest cannot be paid for, a shorter one is asked for."""
        refused: BudgetError | None = None
        for output in shorter(wanted.output_tokens):
            cost = profile.price.most(wanted.input_tokens, output) if profile.price else None
            smaller = wanted.model_copy(update={"output_tokens": output, "cost_usd": cost})
            try:
                return await self._run.spend.hold(smaller, self._allowed)
            except BudgetError as error:
                refused = refused or error
        assert refused is not None
        raise refused

    def _reservation(
        self, provider: ModelProvider, call: ModelCall, profile: Profile, bound: int, *, measured: bool
    ) -> Reservation:
        return Reservation(
            call_id="",
            role=self._role.value,
            phase=self._phase,
            model=provider.name,
            input_tokens=bound,
            output_tokens=call.max_output,
            cost_usd=profile.price.most(bound, call.max_output) if profile.price else None,
            probe=call.label == PROBE,
            input_bytes=Counter.bytes_of(call) if measured else 0,
        )

    async def settle(self, reserved: _ReservedCall, outcome: Reply | ModelError, seconds: float) -> None:
        """What the service says that it took; where nobody knows, all that was set aside."""
        request, price = reserved.reservation, reserved.profile.price
        failed = isinstance(outcome, ModelError)
        said = usage_of(outcome) if isinstance(outcome, ModelError) else _likely(outcome)
        tokens = said if said.is_known else _at_most(said, request)
        cost = price.of(tokens) if price else None
        if not tokens.total:
            cost = 0.0  # nothing was taken, so nothing is to be paid
        self._run.spend.settle(request.call_id, tokens.total, cost, answered=not failed)
        await self._run.journal.record(
            ModelSettled(
                call_id=request.call_id,
                outcome=outcome.verdict if isinstance(outcome, ModelError) else outcome.stop.value,
                failed=failed,
                tokens=tokens,
                cost_usd=cost,
                seconds=round(seconds, 3),
                request_id=_request_id(outcome),
            )
        )

    def lose(self, reserved: _ReservedCall) -> None:
        """The request was given up. Its end is not written: the log charges it when the run ends or goes on."""
        self._run.spend.lose(reserved.reservation.call_id)


def _assumed(provider: ModelProvider, context: int) -> Notice:
    message = (
        f"The server of '{provider.name}' does not say how large the window of the model is; {context:,} tokens are"
        f' assumed. Set window.model_tokens, as {{"{provider.name}" = 32768}}, to what it has.'
    )
    return Notice(name=OF_MODEL, message=message)


def shorter(output: int) -> Iterator[int]:
    """How long an answer may be: as long as is wanted, or half or a quarter of it if that is still worth reading."""
    yield output
    for less in (output // 2, output // 4):
        if less >= MIN_OUTPUT_TOKENS:
            yield less


async def _count_by_service(provider: ModelProvider, call: ModelCall) -> int | None:
    """What the service counts: asked where bytes would not do, since the prompt nearly fills the window or a cap.
    Counting is a service to us: whatever goes wrong with it, the answer will say what is wrong."""
    try:
        async with asyncio.timeout(COUNT_SECONDS + GRACE_SECONDS):
            with contained():
                counted: object = await provider.count(call.model_copy(update={"timeout": COUNT_SECONDS}))
    except Exception as error:  # anyone may write a provider
        log.info("count_failed", provider=provider.name, error=describe_error(error))
        return None
    return counted if isinstance(counted, int) and counted > 0 else None


def _request_id(outcome: Reply | ModelError) -> str | None:
    said = outcome.data.get("request_id") if isinstance(outcome, ModelError) else outcome.request_id
    return str(said)[:MAX_ID_CHARS] if said else None


def _likely(reply: Reply) -> TokenUsage:
    """The usage of a reply, which is not known where it cannot be: no prompt has no tokens, nor has a text."""
    usage = reply.usage
    if usage.input and (usage.output or not reply.text):
        return usage
    return usage.model_copy(update={"is_known": False})


def _at_most(said: TokenUsage, request: Reservation) -> TokenUsage:
    """The larger of what was said so far and what was set aside."""
    return said.model_copy(
        update={
            "input": max(said.input, request.input_tokens),
            "output": max(said.output, request.output_tokens),
            "is_known": False,
        }
    )
