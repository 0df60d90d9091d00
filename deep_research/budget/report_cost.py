"""Cost of writing a report with a model."""

from __future__ import annotations

from deep_research.budget.window import answer_cap
from deep_research.models.profiles import Profile
from deep_research.state import Spent

TOKENS_A_WORD = 3.3  # at most, of most languages, references included
AT_ONCE = 1_500  # words of a report that is written in one go
THOUGHTS = 2_000  # tokens that a model may think before it writes
PASSAGES = 4_000  # tokens of what stands around quotes, in one message
INPUT = 6_000  # tokens of the findings and instructions that a report is written from


def text_output(words: int) -> int:
    """Tokens that a text of so many words may have as output, thoughts included."""
    return int(words * TOKENS_A_WORD) + THOUGHTS


def report_output(words: int, profile: Profile) -> int:
    """Tokens that a report written in one go may have as output."""
    return answer_cap(text_output(words), profile)


def report_cost(words: int, profile: Profile) -> Spent:
    """What one request for a report takes at most, a long one made shorter; dollars are None where the price is
    unknown."""
    output = report_output(min(words, AT_ONCE), profile)
    return Spent(
        model_calls=1,
        tokens=INPUT + output,
        cost_usd=profile.price.most(INPUT, output) if profile.price else None,
    )
