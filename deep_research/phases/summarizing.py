"""A text made shorter by a model, which chooses what is kept: sentences by their numbers, so that every word that is
handed on is the source's own and can be quoted. A long text is chosen from in parts side by side, and then once more
from what was chosen."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import BaseModel, Field

from deep_research.budget.condense import condense
from deep_research.budget.tokens import Counter
from deep_research.models.failures import Verdict, failure
from deep_research.models.language_model import LanguageModel
from deep_research.phases.concurrency import together
from deep_research.phases.prompting import RULES, Message, Room, one_line, output_for, room_for
from deep_research.retrieval.salience import Sentences, sentences_of
from deep_research.state.identity import sha256_hex

MAX_OUTPUT_TOKENS = 3_000  # tokens, thoughts included
PART_TOKENS = (
    16_000  # of a text that are chosen from at a time: more, and models overlook what stands in the middle
)
AT_ONCE = 4  # parts of a text
SPARE = 1.6  # times what is wanted is chosen of each part, to choose from once more
NUMBER = 5  # tokens of a sentence's number and the end of its line
OF_QUERY = 0.15  # of the room
REMEMBERED = 4_096  # texts of which is known what was chosen, those asked for last

SYSTEM = f"""\
You shorten a text for a piece of research by choosing which of its sentences are kept. Every sentence stands on a line \
of its own behind its number.

Choose those that help most to answer the question: facts, figures with their units and dates, who says so, what \
qualifies or contradicts them; a heading or the first row of a table where what is kept of it would not be understood \
without. Leave out what repeats, what is about the page itself, and what has no bearing on the question. Give the \
numbers only, the most important sentence first.

{RULES}"""


class SentenceChoice(BaseModel):
    keep: list[int] = Field(description="numbers of the sentences to keep, the most important first")


@dataclass(frozen=True, slots=True)
class _Asked:
    """For what a text is shortened, and what is told of the date."""

    query: str
    day: str


class Choices:
    """What was chosen of texts, so that the same is not paid for twice; of one engine. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    def get(self, key: str) -> tuple[int, ...] | None:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def put(self, key: str, places: Sequence[int]) -> None:
        with self._lock:
            self._known[key] = tuple(places)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)


class Summarizer:
    """``timeout`` in seconds is for each text; ``choices`` None: nothing is remembered."""

    def __init__(self, timeout: float = 60.0, choices: Choices | None = None) -> None:
        self._timeout = timeout
        self._choices = choices

    async def condensed(
        self, text: str, size: int, *, query: str, counter: Counter, model: LanguageModel, day: str = ""
    ) -> str:
        """``text`` in at most ``size`` tokens; ``day`` is what the model is told of the date. Raises `WorkError`."""
        key = sha256_hex("\n".join((model.name, str(size), query, day, text)).encode("utf-8", "replace"))
        places = self._choices.get(key) if self._choices else None
        if places is None:
            try:
                async with asyncio.timeout(self._timeout):
                    places = await self._choose(text, size, _Asked(query, day), counter, model)
            except TimeoutError:
                problem = f"no choice within {self._timeout:g} s"
                raise failure(Verdict.TRANSIENT, problem, model=model.name) from None
            if self._choices is not None:
                self._choices.put(key, places)
        shortened = await asyncio.to_thread(
            condense, text, size, query=query, measure=counter.expected, chosen=places
        )
        return shortened.text

    async def _choose(
        self, text: str, size: int, asked: _Asked, counter: Counter, model: LanguageModel
    ) -> tuple[int, ...]:
        """Places of sentences, the most important first."""
        sentences, numbered_text, whole = await asyncio.to_thread(_numbered, text, counter)
        room = await room_for(model, output_for(model, MAX_OUTPUT_TOKENS), SYSTEM)
        left = int(room.tokens * (1 - OF_QUERY))
        most = min(PART_TOKENS, left)
        parts = list(_parts(numbered_text, whole / max(1, len(text)), most))
        share = min(1.0, size / max(1, whole))
        part_share = share if len(parts) == 1 else min(1.0, SPARE * share)
        by_part: dict[int, list[int]] = {}

        async def choose(number: int, part: range) -> None:
            by_part[number] = await self._ask(numbered_text, part, part_share, asked, room, model)

        await together((partial(choose, n, part) for n, part in enumerate(parts)), at_once=AT_ONCE)
        order = _by_turns([by_part[n] for n in range(len(parts))])
        chosen_chars = sum(sentences[place].end - sentences[place].start for place in order)
        if len(parts) == 1 or chosen_chars * whole / max(1, len(text)) > most:
            return tuple(order)
        again = await self._ask(numbered_text, sorted(order), min(1.0, 1 / SPARE), asked, room, model)
        return tuple(dict.fromkeys((*again, *order)))

    async def _ask(
        self,
        shown: Sequence[str],
        places: Sequence[int],
        share: float,
        asked: _Asked,
        room: Room,
        model: LanguageModel,
    ) -> list[int]:
        message = Message(room)
        message.add(f"Question: {message.within(asked.query, OF_QUERY, 'the question')}")
        message.add(asked.day)
        message.material("text", "\n".join(f"{place + 1} {shown[place]}" for place in places))
        many = max(1, round(share * len(places)))
        message.add(f"Keep about {many} of these {len(places)} sentences.")
        call = message.call(SYSTEM, output_for(model, MAX_OUTPUT_TOKENS)).model_copy(
            update={"timeout": self._timeout}
        )
        answer = (await model.object(call, SentenceChoice)).value
        allowed = set(places)
        keep_places = [n - 1 for n in dict.fromkeys(answer.keep) if n - 1 in allowed]
        if not keep_places:
            raise failure(Verdict.MALFORMED, "nothing was chosen", model=model.name)
        return keep_places


def _numbered(text: str, counter: Counter) -> tuple[Sentences, list[str], int]:
    """The sentences of a text, what is shown of each, and about how many tokens it has."""
    sentences = sentences_of(text)
    return sentences, [one_line(text[s.start : s.end]) for s in sentences], counter.expected(text)


def _parts(shown: Sequence[str], per_character: float, most: int) -> Iterator[range]:
    """The sentences in parts of about so many tokens."""
    first, part_size = 0, 0.0
    for place, words in enumerate(shown):
        size = len(words) * per_character + NUMBER
        if place > first and part_size + size > most:
            yield range(first, place)
            first, part_size = place, 0.0
        part_size += size
    if first < len(shown):
        yield range(first, len(shown))


def _by_turns(ranked: Sequence[Sequence[int]]) -> list[int]:
    """The first of each part, then the second of each, and so on."""
    longest = max(map(len, ranked), default=0)
    return [part[turn] for turn in range(longest) for part in ranked if turn < len(part)]
