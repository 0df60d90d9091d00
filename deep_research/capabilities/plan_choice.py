"""Choice of the capabilities for a request, by the planner's model or by a rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, Field

from deep_research.capabilities.capability import Capability
from deep_research.capabilities.plan import MAX_STEPS
from deep_research.capabilities.research_contract import RESEARCH
from deep_research.capabilities.small_talk import small_talk
from deep_research.errors import UnknownNameError, UsageError
from deep_research.models.language_model import LanguageModel
from deep_research.patterns import regex
from deep_research.phases.prompting import OF_QUESTION, RULES, Message, Room, ask_model, one_line

_MAX_OUTPUT_TOKENS = 800  # thoughts included
_MAX_DESCRIPTION_CHARS = 400
_WORD = regex(r"[^\W_]+")

_SYSTEM = f"""\
Agents of other people offer capabilities. Choose those that a request needs, in the order in which they are to work: \
what one of them makes, the next ones read. Choose none that the request does not ask for; research comes before what \
is made of it. Use the names exactly as they are listed.

{RULES}"""


class PlanAnswer(BaseModel):
    """What a model answers."""

    capabilities: list[str] = Field(description="names of capabilities, in the order of their work")


def checked_steps(steps: Sequence[str], capabilities: Mapping[str, Capability]) -> tuple[str, ...]:
    """Steps that a user named. Raises `UsageError`, `UnknownNameError`."""
    for name in steps:
        if name not in capabilities:
            raise UnknownNameError.of("capability", name, capabilities)
    if len(steps) > MAX_STEPS:
        raise UsageError(f"A plan has at most {MAX_STEPS} steps.", hint="Split it into several plans.")
    return tuple(steps)


async def steps_by_model(
    request: str, capabilities: Mapping[str, Capability], model: LanguageModel
) -> tuple[str, ...]:
    """What the model chooses, without names that nobody offers; empty where it chooses nothing. Raises `ModelError`."""
    answer, _ = await ask_model(
        model, _SYSTEM, _MAX_OUTPUT_TOKENS, PlanAnswer, lambda room: _message(request, capabilities, room)
    )
    names = dict.fromkeys(name.strip() for name in answer.capabilities)
    return tuple(name for name in names if name in capabilities)[:MAX_STEPS]


def steps_by_rule(request: str, capabilities: Mapping[str, Capability]) -> tuple[str, ...]:
    """Research, unless the request is small talk, and then each capability whose keywords the request has, or all words
    of whose name, in the order in which it has them."""
    if small_talk(request) is not None:
        return ()
    places = {name: _place(capability, request) for name, capability in capabilities.items()}
    matches = [name for name, place in places.items() if place is not None and name != RESEARCH]
    matches.sort(key=lambda name: places[name] or 0)
    first = (RESEARCH,) if RESEARCH in capabilities else ()
    return (*first, *matches)[:MAX_STEPS]


def _place(capability: Capability, request: str) -> int | None:
    """Index of the first request word that begins a keyword, or that is a word of the name if all words of the name
    occur, in any order; None if neither."""
    words = [word.casefold() for word in _WORD.findall(request)]
    phrases = [_phrase(_WORD.findall(keyword)) for keyword in capability.keywords]
    places = [place for phrase in phrases if (place := _phrase_place(phrase, words)) is not None]
    of_name = _phrase(capability.name.replace("-", "_").split("_"))
    if all(word in words for word in of_name):
        places.append(min(map(words.index, of_name)))
    return min(places, default=None)


def _phrase(words: Iterable[str]) -> list[str]:
    return [word.casefold() for word in words if word]


def _phrase_place(phrase: Sequence[str], words: Sequence[str]) -> int | None:
    """The place of a phrase, whose last word may go on: "document" is in "documents"."""
    *before, last = phrase or [""]
    for place in range(len(words) - len(before)):
        end = place + len(before)
        if last and list(words[place:end]) == before and words[end].startswith(last):
            return place
    return None


def _message(request: str, capabilities: Mapping[str, Capability], room: Room) -> Message:
    message = Message(room)
    message.add("The capabilities:")
    lines = [
        f"{name}: {one_line(capability.description)[:_MAX_DESCRIPTION_CHARS]}"
        for name, capability in capabilities.items()
    ]
    message.material("capabilities", "\n".join(lines))
    message.add(f"The request: {message.within(request, OF_QUESTION, 'the request')}")
    return message
