"""Sources that code would leave out and is not sure of: a model is shown their titles, headings and best passages, all in
one request, and says of each how much of it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.models.language_model import LanguageModel
from deep_research.phases.base import Handoff
from deep_research.phases.prompting import RULES, Aliases, Message, Room, asked, listed, one_line, opening
from deep_research.state import Extent, Record, SubQuery

MOST_OUTPUT = 1_500  # tokens, thoughts included
MOST_DOUBTFUL = 20  # sources of one request, those that come nearest
LONGEST_TITLE = 200  # characters
MOST_HEADINGS, LONGEST_HEADING = 12, 80  # of a source, and characters of each
LONGEST_PASSAGE = 800  # characters
OF_BESIDE = 0.08  # of the room, for the searches
READ = {"whole": Extent.WHOLE, "sections": Extent.SECTIONS, "no": Extent.NOTHING}

SYSTEM = f"""\
You choose what is read for a piece of research. Of each source (S1, S2 …) you see its title, its headings and the \
passage of it that has most of the words of what is asked. It has few of them, and would be left unread. Say of each:
- whole: most of it bears on what is asked;
- sections: the passage, and what stands around it, may tell something that is asked;
- no: nothing in it helps to answer.

Judge by what is meant: a source may answer in other words than the question's. A source on another matter that shares \
some words does not. What is read takes the room of other sources, so where nothing speaks for a source it is no.

{RULES}"""


class Choice(BaseModel):
    source: str = Field(description="name of the source, such as S1")
    read: Literal["whole", "sections", "no"]


class Choices(BaseModel):
    choices: list[Choice] = Field(description="one for each source")


class Doubtful(Record):
    """What is shown of a source: the title, the first headings, and its best passage."""

    id: str
    title: str = ""
    url: str | None = None
    headings: tuple[str, ...] = ()
    passage: str = ""


class DoubtInput(Handoff):
    """The sources of a round that code is not sure of, those that come nearest first."""

    sub_queries: tuple[SubQuery, ...] = ()
    sources: tuple[Doubtful, ...] = ()


class DoubtOutput(Record):
    """How much is read of each source that the model named, by id, and the model's name."""

    extents: dict[str, Extent] = Field(default_factory=dict)
    by: str = ""


async def decide(handoff: DoubtInput, model: LanguageModel, rules: ContentRules = DEFAULTS) -> DoubtOutput:
    """What the model says of each. Names that were not given mean nothing; of two answers on one source the first
    counts."""
    names = Aliases("S", [source.id for source in handoff.sources])
    made, _ = await asked(
        model, SYSTEM, MOST_OUTPUT, Choices, lambda room: _told(handoff, names.names, room), rules
    )
    extents: dict[str, Extent] = {}
    for choice in made.choices:
        if (source_id := names.id(choice.source)) is not None:
            extents.setdefault(source_id, READ[choice.read])
    return DoubtOutput(extents=extents, by=model.name)


def _told(handoff: DoubtInput, names: Mapping[str, str], room: Room) -> Message:
    message = Message(room)
    opening(message, handoff)
    if searches := _searches(handoff.sub_queries):
        message.add(f"What was searched for:\n{listed(message.lines(searches, OF_BESIDE, 'the searches'))}")
    for source in handoff.sources:
        message.material(f"source {names[source.id]}", _shown(source))
    message.add("Say of each source how much of it is read.")
    return message


def _searches(sub_queries: Sequence[SubQuery]) -> list[str]:
    return [
        f"{one_line(s.query)} ({one_line(s.rationale)})" if s.rationale else one_line(s.query)
        for s in sub_queries
    ]


def _shown(source: Doubtful) -> str:
    lines = [f"Title: {one_line(source.title)[:LONGEST_TITLE]}"]
    if source.url:
        lines.append(f"Address: {one_line(source.url)[:LONGEST_TITLE]}")
    headings = [one_line(heading)[:LONGEST_HEADING] for heading in source.headings[:MOST_HEADINGS]]
    if headings:
        lines.append(f"Headings: {'; '.join(headings)}")
    return "\n".join((*lines, f"Passage: {one_line(source.passage)[:LONGEST_PASSAGE]}"))
