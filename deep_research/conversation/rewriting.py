"""A follow-up question as one that stands by itself, by the planner's model."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from deep_research.budget.metered import RunModels
from deep_research.conversation.turn import Turn
from deep_research.conversation.turn_summary import summary_of
from deep_research.errors import StopResearch, StoreError
from deep_research.logs import describe_error, get_log
from deep_research.phases.prompting import OF_QUESTION, RULES, Message, Room, ask_model, one_line
from deep_research.provenance.secret_filter import MAX_QUERY_CHARS, askable
from deep_research.retrieval.parsed_question import parse_question
from deep_research.state import DeepResearchPhase, DeepResearchState, ModelRole

MAX_OUTPUT_TOKENS = 800  # thoughts included
MAX_WHY_CHARS = 300
TURNS_SHARE = 0.4  # of the room

log = get_log("conversation")

SYSTEM = f"""\
You prepare the next question of a conversation for researchers who have not read it. Write the question so \
that it can be understood alone: put names in the place of pronouns and of "the other one", complete what is \
left out, apply a correction to the question that it corrects. Change nothing else, keep its language, add no \
assumption, answer nothing. A question that stands by itself stays word for word as it is.

Where the conversation does not say what the question points to, give the question as it is, and is_clear: false.

{RULES}"""


class Rewritten(BaseModel):
    """What the model makes of a question."""

    question: str = Field(description="the question, understandable alone")
    why: str = Field(default="", description="what was put in, in a few words; empty where nothing was")
    is_clear: bool = True


async def rewrite(
    state: DeepResearchState, turns: Sequence[Turn], models: RunModels | None, tokens: int
) -> Rewritten | None:
    """The question of a run after these turns; None where no model answers. Raises `Halted`, `StoreError`."""
    if models is None or not models.roles.chain_of(ModelRole.PLANNER) or len(state.query) > MAX_QUERY_CHARS:
        return None
    model = models.model(ModelRole.PLANNER, DeepResearchPhase.PLANNING)
    try:
        answer, _ = await ask_model(
            model, SYSTEM, MAX_OUTPUT_TOKENS, Rewritten, lambda room: _message(state, turns, tokens, room)
        )
    except (StoreError, StopResearch):
        raise
    except Exception as error:  # a provider may be anybody's, and the rule does as well
        log.warning("not_rewritten", error=describe_error(error))
        return None
    # What earlier answers say comes from pages: no address and no instruction of theirs becomes part of a question.
    own = " ".join([state.query, *(turn.question for turn in turns)])
    question = askable(one_line(answer.question), own, state.options.system_prompt)
    if not answer.is_clear:
        question = state.query
    elif not _is_same(state.query, question):
        return None
    return answer.model_copy(update={"question": question, "why": one_line(answer.why)[:MAX_WHY_CHARS]})


def _is_same(query: str, question: str) -> bool:
    """Whether a question still has at least half of what the user's words ask."""
    read = parse_question(query)
    own = set(read.terms)
    return bool(question) and 2 * len(own & set(read.words.terms(question))) >= len(own)


def _message(state: DeepResearchState, turns: Sequence[Turn], tokens: int, room: Room) -> Message:
    message = Message(room)
    message.add("The conversation so far, the latest turn last:")
    message.material(
        "conversation", message.within(summary_of(turns, tokens), TURNS_SHARE, "the earlier turns")
    )
    message.add(f"The next question: {message.within(state.query, OF_QUESTION, 'the question')}")
    return message
