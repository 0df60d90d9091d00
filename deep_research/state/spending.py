"""Caps of a run, and the books of its searches and model requests.

Books are kept by adding, never by counting again: `Usage.charged` is the one place where a request is booked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field

from deep_research.state.phases import DeepResearchPhase, ModelRole
from deep_research.state.records import Record

ON_MODELS = ("max_model_calls", "max_tokens", "max_usd")  # caps on what is asked of models

# Those who work in a phase beside its agent: without the agent's own answer the phase has none.
BESIDE_AGENTS = frozenset({ModelRole.SUMMARIZER.value, ModelRole.SUPERVISOR.value, ModelRole.JUDGE.value})


class Budget(Record):
    """Caps of one run; None means no cap. A run that reaches a cap writes its report from what it has; with
    ``on_budget_exhausted="ask"`` it parks and asks for more.

    Args:
        max_usd: Dollars. Needs the price of every model.
        max_tokens: Tokens, input and output together.
        max_seconds: Seconds of work, over all processes that work on the run.
        max_model_calls: Requests to model services.
        max_searches: Searches.
        max_fetches: Pages that the run requests over the network.
        max_iterations: Rounds of searching and writing.

    A cap is a finite number: texts and booleans are refused.

    Example:
        engine.run("Who built Bell Rock?", budget=Budget(max_usd=0.5, max_searches=20))
    """

    max_usd: float | None = Field(default=None, ge=0, strict=True, allow_inf_nan=False)
    max_tokens: int | None = Field(default=None, ge=0, strict=True)
    max_seconds: float | None = Field(default=None, gt=0, strict=True, allow_inf_nan=False)
    max_model_calls: int | None = Field(default=None, ge=0, strict=True)
    max_searches: int | None = Field(default=None, ge=0, strict=True)
    max_fetches: int | None = Field(default=None, ge=0, strict=True)
    max_iterations: int | None = Field(default=None, ge=1, strict=True)

    @property
    def on_models(self) -> dict[str, float]:
        """The caps on requests to models that are set, by name."""
        caps = {name: getattr(self, name) for name in ON_MODELS}
        return {name: cap for name, cap in caps.items() if cap is not None}


class TokenUsage(Record):
    """Tokens as the provider counted them. ``cache_read`` (read) and ``cache_write`` to a cache are part of ``input``,
    ``reasoning`` is part of ``output``. ``is_known`` is false where the provider did not say."""

    input: int = Field(default=0, ge=0)
    cache_read: int = Field(default=0, ge=0)
    cache_write: int = Field(default=0, ge=0)
    output: int = Field(default=0, ge=0)
    reasoning: int = Field(default=0, ge=0)
    is_known: bool = True

    @property
    def total(self) -> int:
        return self.input + self.output

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
            is_known=self.is_known and other.is_known,
        )


class Reservation(Record):
    """What one request to a model can cost at most, set aside before it is sent: the bound of its input, the cap of
    its output. ``cost_usd`` is None where the price is unknown; a ``probe`` only asks what the model can do.
    ``input_bytes`` are those of the texts that are sent, where they cannot be counted in tokens, else 0."""

    call_id: str
    role: str
    phase: DeepResearchPhase
    model: str
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cost_usd: float | None = Field(default=None, ge=0)
    probe: bool = False
    input_bytes: int = Field(default=0, ge=0)

    @property
    def tokens(self) -> TokenUsage:
        return TokenUsage(input=self.input_tokens, output=self.output_tokens, is_known=False)

    @property
    def by_cap(self) -> dict[str, float | None]:
        """What it takes at most, by the name of the cap on it."""
        return by_cap(1, self.input_tokens + self.output_tokens, self.cost_usd)


class ModelSpend(Record):
    """What one role asked one model for in one phase. ``calls`` are requests, those that failed included;
    ``probes`` are those that were answered and only asked what the model can do. ``cost_usd`` is None where a price is
    unknown. ``measured_tokens`` are what ``measured_bytes`` of input turned out to be, of requests that could not be
    counted before."""

    role: str
    phase: DeepResearchPhase
    model: str
    calls: int = 0
    failed: int = 0
    probes: int = 0
    tokens: TokenUsage = TokenUsage()
    cost_usd: float | None = 0.0
    measured_bytes: int = 0
    measured_tokens: int = 0


class Usage(Record):
    """What a run spent. A search is one sub-query searched, whatever number of providers answered it; a fetch is a page
    that was asked for over the network while gathering. ``models`` are the books by role, phase and model, and the other
    figures of models are their sums: requests, tokens (input includes cached, output reasoning), dollars. ``cost_usd`` is
    None when a price is unknown. ``tokens_known`` is false when a provider did not say what a request took; it is charged
    with the most it can have taken then."""

    searches: int = 0
    failed_searches: int = 0
    fetches: int = 0
    model_calls: int = 0
    failed_model_calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    tokens_known: bool = True
    cost_usd: float | None = 0.0
    models: tuple[ModelSpend, ...] = ()

    def share(self, role: ModelRole) -> float:
        """Of all tokens those of one role, 0 to 1."""
        own = sum(row.tokens.total for row in self.models if row.role == role.value)
        return own / ((self.input_tokens + self.output_tokens) or 1)

    def answers(self, phase: DeepResearchPhase) -> int:
        """How many requests of the agent of a phase were answered, probes aside."""
        return sum(
            row.calls - row.failed - row.probes
            for row in self.models
            if row.phase is phase and row.role not in BESIDE_AGENTS
        )

    def bytes_a_token(self) -> dict[str, float]:
        """What was measured of the texts that models were sent, by model. What the supervisor asks is not looked at: it
        asks beside the phases, and what they are told must not hang on who is first."""
        sums: dict[str, tuple[int, int]] = {}
        for row in self.models:
            if row.measured_tokens and row.role != ModelRole.SUPERVISOR.value:
                size, tokens = sums.get(row.model, (0, 0))
                sums[row.model] = size + row.measured_bytes, tokens + row.measured_tokens
        return {model: size / tokens for model, (size, tokens) in sums.items()}

    def charged(
        self, request: Reservation, tokens: TokenUsage, cost_usd: float | None, *, failed: bool
    ) -> Usage:
        """The books with one more request."""
        rows = {(row.role, row.phase, row.model): row for row in self.models}
        key = (request.role, request.phase, request.model)
        row = rows.get(key) or ModelSpend(role=request.role, phase=request.phase, model=request.model)
        # A probe is no prompt, and a replay makes none: what it took must not decide what fits into those that follow.
        is_measured = (
            request.input_bytes > 0 and tokens.is_known and tokens.input > 0 and not (failed or request.probe)
        )
        rows[key] = row.model_copy(
            update={
                "calls": row.calls + 1,
                "failed": row.failed + failed,
                "probes": row.probes + (request.probe and not failed),
                "tokens": row.tokens + tokens,
                "cost_usd": plus(row.cost_usd, cost_usd),
                "measured_bytes": row.measured_bytes + is_measured * request.input_bytes,
                "measured_tokens": row.measured_tokens + is_measured * tokens.input,
            }
        )
        sums: dict[str, Any] = {
            "model_calls": self.model_calls + 1,
            "failed_model_calls": self.failed_model_calls + failed,
            "input_tokens": self.input_tokens + tokens.input,
            "cached_tokens": self.cached_tokens + tokens.cache_read,
            "output_tokens": self.output_tokens + tokens.output,
            "reasoning_tokens": self.reasoning_tokens + tokens.reasoning,
            "tokens_known": self.tokens_known and tokens.is_known,
            "cost_usd": plus(self.cost_usd, cost_usd),
        }
        return self.model_copy(update=sums | {"models": tuple(rows[key] for key in sorted(rows))})


class Spent(Record):
    """What is spent at a moment, in all. ``tokens`` are those of input and output; ``cost_usd`` is None where a price is
    unknown."""

    model_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    searches: int = 0
    fetches: int = 0

    @classmethod
    def of(cls, usage: Usage, open_requests: Iterable[Reservation] = ()) -> Spent:
        """``open_requests``, of which no end is known, are charged with all that was set aside for them."""
        for request in open_requests:
            usage = usage.charged(request, request.tokens, request.cost_usd, failed=True)
        return cls(
            model_calls=usage.model_calls,
            tokens=usage.input_tokens + usage.output_tokens,
            cost_usd=usage.cost_usd,
            searches=usage.searches,
            fetches=usage.fetches,
        )

    @property
    def by_cap(self) -> dict[str, float | None]:
        """What models took, by the name of the cap on it."""
        return by_cap(self.model_calls, self.tokens, self.cost_usd)


def by_cap(model_calls: int, tokens: int, cost_usd: float | None) -> dict[str, float | None]:
    """What models took, by the name of the cap on it."""
    return dict(zip(ON_MODELS, (model_calls, tokens, cost_usd), strict=True))


def plus(one: float | None, other: float | None) -> float | None:
    """A sum of dollars; what is unknown stays so."""
    return None if one is None or other is None else one + other
