"""Window of a model: the tokens that a request may have. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from deep_research.models.profiles import Profile

# Tokens that the environment of a call takes beside it, as the spec gives them.
RUNTIMES = {
    "direct-api": 10_000,
    "gemini-cli": 20_000,
    "codex": 30_000,
    "cursor": 40_000,
    "claude-code": 60_000,
}
# Of the window at most: ten thousand tokens of a small local model's would be all it has.
LARGEST_OVERHEAD = {"direct-api": 0.05}
SAFETY_MARGIN = 0.15
LEAST_ANSWER = 256  # tokens


@dataclass(frozen=True, slots=True)
class Window:
    """A model's window in tokens. ``output`` is kept for the answer, ``overhead`` for what surrounds a call, and of
    what is left ``margin`` (a fraction) for counts that are wrong."""

    context: int
    output: int
    overhead: int = 0
    margin: float = SAFETY_MARGIN

    @classmethod
    def of(
        cls,
        context: int,
        output: int,
        *,
        runtime: str = "direct-api",
        overhead: int | None = None,
        margin: float,
    ) -> Window:
        """With so much ``overhead``, or what the ``runtime`` takes."""
        if overhead is None:
            overhead = RUNTIMES[runtime]
            if runtime in LARGEST_OVERHEAD:
                overhead = min(overhead, int(context * LARGEST_OVERHEAD[runtime]))
        return cls(context, min(output, context // 2), overhead, margin)

    @property
    def input(self) -> int:
        """Tokens that may be sent by plan. The margin is for the planner alone: see ``most``."""
        return max(0, int((self.context - self.output - self.overhead) * (1 - self.margin)))

    @property
    def most(self) -> int:
        """Tokens that may be sent at all: what is certain to be a bound needs no margin."""
        return max(0, self.context - self.output - self.overhead)


def answer_cap(most: int, profile: Profile) -> int:
    """Tokens that an answer may have: ``most``, but of a small window no more than a third."""
    return max(LEAST_ANSWER, min(most, profile.output, profile.context // 3))
