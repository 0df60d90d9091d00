"""What the writing of a report takes of a model."""

from __future__ import annotations

from deep_research.models.profiles import Profile
from deep_research.state import Spent

TOKENS_A_WORD = 2.2  # of most languages, references included
THOUGHTS = 2_000  # tokens that a model may think before it writes
INPUT = 6_000  # tokens of the findings and instructions that a report is written from
LEAST = 256  # tokens of any answer


def report_output(words: int, profile: Profile) -> int:
    """Tokens that a report written in one go may have as output: of a small window no more than a third."""
    most = int(words * TOKENS_A_WORD * 1.5) + THOUGHTS
    return max(LEAST, min(most, profile.output, profile.context // 3))


def report_cost(words: int, profile: Profile) -> Spent:
    """What one request for a report takes at most; dollars are None where the price is unknown."""
    output = report_output(words, profile)
    return Spent(
        model_calls=1,
        tokens=INPUT + output,
        cost_usd=profile.price.most(INPUT, output) if profile.price else None,
    )
