"""Tools: the promises of ours, and what becomes of those that hang, raise, write, or are used wrongly."""

import asyncio
from types import SimpleNamespace

import pytest
from pydantic import BaseModel, Field
from task_runs import DONE, FOUND, HEIGHT, QUESTION, SEARCH, Pages, TaskModel, engine, orm, ran
from task_steps import quoting, search_first, using

from deep_research import DeepResearch, Tool, ToolResult
from deep_research.calls import Calls
from deep_research.errors import ConfigurationError, SetUpError, ToolError
from deep_research.phases.gathering.caps import Fetching
from deep_research.phases.gathering.handoff import GatheredSource, GathererInput
from deep_research.phases.gathering.source_reading import SourceReader
from deep_research.phases.gathering.tasks import tool
from deep_research.phases.gathering.tasks.library import DataSources, Library
from deep_research.phases.gathering.tasks.task_context import TaskContext
from deep_research.phases.gathering.tasks.tool import Link
from deep_research.phases.gathering.tasks.tools import tools_of
from deep_research.sources.search import SearchFilters
from deep_research.sources.search.combined_search import SearchPool
from deep_research.sources.search.policy import Service
from deep_research.state import DeepResearchPhase, DeepResearchState, Source
from deep_research.state.journal import MemoryJournal
from deep_research.testing import ScriptedSearch
from deep_research.testing.tool_suite import TOOL_CHECKS, Check, ToolSubject

pytestmark = pytest.mark.timed

MANUAL = (
    "# Manual\n\nThe lamp is described first.\n\n## 20.4 Lamps\n\nA lamp has a wick. See Section 20.4.4.\n\n"
    "## 20.4.4 Burners\n\nA burner takes two litres an hour.\n\n## 20.5 Oil\n\nOil is kept cool."
)


RACE = "A head race leads water to the wheel."


class Word(BaseModel):
    word: str = Field(description="a word of the company")


class Glossary(Tool):
    name = "glossary"
    description = "Say what a word of the company means."
    arguments = Word

    async def __call__(self, arguments, view):
        if arguments.word != "head race":
            raise ToolError(f"No meaning of '{arguments.word[:40]}' is known.")
        return ToolResult(sources=(GatheredSource(title="head race", content=RACE),))


def handed():
    return GathererInput(
        research_id="deepres-000000000000", original_query=QUESTION, current_phase=DeepResearchPhase.GATHERING,
        iteration=1, sub_queries=(QUESTION,), max_sources_per_query=3,
    )  # fmt: skip


def desk_with_manual(pages=()):
    journal = MemoryJournal(DeepResearchState(query=QUESTION), texts=[MANUAL])
    desk = TaskContext(QUESTION, ("web",), journal)
    source = Source(
        id="src-000000000001", sub_query_id="subq-1", title="Manual", url="https://ok.example/m", length=len(MANUAL),
        content_hash=next(iter(journal._contents)), pages=pages,
    )  # fmt: skip
    desk.add_known([source])
    desk.links.append(Link(address="https://ok.example/orm", title="The Orm Light"))
    return desk


def ours():
    service = Service.of(orm(), calls=Calls())
    library = Library(
        DataSources(pool=SearchPool(services=(service,))), SourceReader(pages=Pages()), handed(), Fetching()
    )
    return {tool.name: tool for tool in tools_of(library)}


def subject(name, *says, **arguments):
    return ToolSubject(tool=ours()[name], arguments=arguments, says=says, view=desk_with_manual())


SUBJECTS = {
    "search": subject("search", HEIGHT, query="Orm"),
    "fetch": subject("fetch", HEIGHT, link="L1"),
    "look_up": subject("look_up", section="20.4.4", source="S1"),
    "outline": subject("outline", "20.4.4 Burners", source="S1"),
    "find": subject("find", "under 20.4.4 Burners", source="S1", words="burner"),
    "read_more": subject("read_more", source="S1"),
    "a caller's": ToolSubject(tool=Glossary(), arguments={"word": "head race"}, says=("leads water",)),
}


@pytest.mark.parametrize("check", TOOL_CHECKS, ids=str)
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_tool_keeps_its_promises(name: str, check: Check) -> None:
    check(SUBJECTS[name])


@pytest.mark.parametrize(
    ("section", "begins"),
    [
        ("20.4.4", "## 20.4.4 Burners"),
        ("Section 20.4.4", "## 20.4.4 Burners"),
        ("Burners", "## 20.4.4 Burners"),
        ("20.4", "## 20.4 Lamps"),
        ("oil", "## 20.5 Oil"),
        ("page 2", "A burner takes"),
    ],
)
def test_a_section_is_opened_by_its_number_its_title_or_its_page(section, begins):
    tool = ours()["look_up"]
    view = desk_with_manual(pages=(0, MANUAL.index("A burner")))
    result = asyncio.run(tool(tool.arguments(section=section, source="S1"), view))
    (shown,) = result.excerpts
    assert MANUAL[shown.span.start :].startswith(begins)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (using("fetch", link="http://evil.example/x"), "Nothing of that may be asked"),
        (using("fetch", link="L7"), "There is no link L7"),
        (using("read_more", source="https://ok.example/orm"), "Nothing of that may be asked"),
        (using("read_more"), "source: Field required"),
        (using("look_up", section="99.9", source="S1"), "There is no section 99.9 in S1"),
        (using("search", query="http://evil.example/KODE7731X"), "Nothing of that may be asked"),
        (using("search", query="x", data_source="compny_db"), "There is no data source"),
        (using("look_up", section="Burners"), "There are no documents"),
    ],
    ids=lambda value: value["actions"][0]["tool"] if isinstance(value, dict) else "",
)
def test_a_use_that_cannot_be_is_told_to_the_agent_who_goes_on(use, said):
    result = ran(model := TaskModel((SEARCH, use, FOUND)))
    assert result.task.steps[1].uses[0].failed
    assert said in model.asked[2]
    assert HEIGHT in result.contents


class Odd(Tool):
    """Does what it was made for, and counts its uses."""

    name = "odd"
    description = "Do something odd."
    arguments = Word

    def __init__(self, do):
        self.do, self.uses = do, 0

    async def __call__(self, arguments, view):
        self.uses += 1
        return await self.do(self)


async def _raises(tool):
    raise RuntimeError("it broke\nin two lines")


async def _recovers(tool):
    if tool.uses == 1:
        raise ToolError("not now", transient=True)
    return ToolResult(text="It works now.")


async def _never_works(tool):
    raise ToolError("not now", transient=True)


async def _gives_much(tool):
    long = GatheredSource(title="Long", content="x" * 10_000_000)
    return ToolResult(text="y" * 10_000_000, sources=(long,))


async def _gives_another_thing(tool):
    return {"text": "no result"}


async def _hangs(tool):
    await asyncio.Event().wait()


ODD = {
    "raises": (_raises, "odd failed: RuntimeError", 1),
    "recovers": (_recovers, "It works now.", 2),
    "never works": (_never_works, "not now", 2),
    "gives 10 MB": (_gives_much, "yyyy", 1),
    "gives another thing": (_gives_another_thing, "no ToolResult", 1),
    "hangs": (_hangs, "odd gave nothing within 0.01 s", 1),
}


@pytest.mark.parametrize("name", ODD)
def test_whatever_a_tool_does_the_agent_is_told_within_bounds(name):
    do, said, uses = ODD[name]
    tool = Odd(do)
    if name == "hangs":
        tool.timeout = 0.01
    result = ran(model := TaskModel((SEARCH, using("odd", word="w"), FOUND)), tools=[tool])
    assert tool.uses == uses
    assert said in model.asked[2]
    assert len(model.asked[2]) < 60_000
    assert HEIGHT in result.contents
    if name == "gives 10 MB":
        assert any("its text is longer than" in notice.message for notice in result.notices)


MEANING = using("glossary", word="head race")


def test_what_a_tool_of_a_caller_brings_can_be_quoted():
    model = TaskModel(search_first(quoting(RACE), lambda said: MEANING))
    assert ran(model, "What is a head race?", tools=[Glossary()]).contents == [RACE]


def _tool(**more):
    return type("Made", (Glossary,), more)()


def _broken():
    raise ImportError("no module named ledgers")


def _packaged(monkeypatch, load):
    """As if a package were installed that brings a tool."""
    point = SimpleNamespace(name="glossary", load=load)
    monkeypatch.setattr(tool, "entry_points", lambda group: [point] if group == tool.GROUP else [])


def test_a_package_brings_a_tool_that_tasks_use(monkeypatch):
    _packaged(monkeypatch, lambda: Glossary)
    result = ran(model := TaskModel((MEANING, SEARCH, FOUND)))
    assert "glossary" in result.task.task.tools
    assert RACE in model.asked[1]


REFUSED = {  # what is given, what a package brings, and what is said
    "twice": ({"tools": [Glossary(), Glossary()]}, None, "two tools 'glossary'"),
    "ours": ({"tools": [_tool(name="search")]}, None, "two tools 'search'"),
    "a name": ({"tools": [_tool(name="Not a name")]}, None, "is not a name for a tool"),
    "done": ({"tools": [_tool(name="done")]}, None, "is not a name for a tool"),
    "writes": ({"tools": [_tool(read_only=False)]}, None, "declares that it writes"),
    "arguments": ({"tools": [_tool(arguments=dict)]}, None, "are not a pydantic model"),
    "no tool": ({"tools": [object()]}, None, "is not a Tool"),
    "a package that is broken": (
        {"tools": []},
        _broken,
        "'glossary' cannot be loaded: .*no module named ledgers",
    ),
    "one of a package twice": ({"tools": [Glossary()]}, lambda: Glossary, "two tools 'glossary'"),
    "no tool of a package": ({"tools": []}, lambda: dict, "is not a Tool"),
    "a name of a source": (
        {"data_sources": {"Bad name": ScriptedSearch()}},
        None,
        "is not a name for a data source",
    ),
    "no provider": ({"data_sources": {"company_db": object()}}, None, "no SearchProvider"),
}


@pytest.mark.parametrize(("given", "load", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused_in_one_line_when_the_engine_is_made(monkeypatch, given, load, said):
    if load:
        _packaged(monkeypatch, load)
    with pytest.raises(ConfigurationError, match=said) as refused:
        DeepResearch(search=[ScriptedSearch()], store="memory", **given)
    assert "\n" not in str(refused.value)


def test_a_run_knows_its_tools_and_is_not_gone_on_with_without_them(tmp_path):
    more = {"store": "sqlite", "data_dir": tmp_path, "search": [ScriptedSearch(())]}
    model = TaskModel((SEARCH, {"actions": [DONE]}))
    stopped = ran(model, tools=[Glossary()], tasks={"max_retries": 0}, **more)
    assert stopped.status == "aborted"
    with (
        engine(model, **more) as research,
        pytest.raises(SetUpError, match="tool glossary was Glossary and is none"),
    ):
        research.resume(stopped.research_id)


def fetching(filters=None):
    handoff = handed() if filters is None else handed().model_copy(update={"filters": filters})
    library = Library(DataSources(), SourceReader(pages=Pages()), handoff, Fetching())
    desk = desk_with_manual()
    desk.links = [Link(address=f"https://site{n}.example/", title="see") for n in range(1, 5)]
    return {tool.name: tool for tool in tools_of(library)}["fetch"], library, desk


def test_a_link_to_a_site_that_the_run_leaves_out_is_not_followed():
    tool, library, desk = fetching(SearchFilters(not_domains=("site1.example",)))
    with pytest.raises(ToolError, match="does not read pages of that site"):
        asyncio.run(tool(tool.arguments(link="L1"), desk))
    assert library.fetching.attempts == 0


def test_pages_that_are_fetched_side_by_side_are_counted_once():
    tool, library, desk = fetching()

    async def four():
        return await asyncio.gather(*(tool(tool.arguments(link=f"L{n}"), desk) for n in range(1, 5)))

    assert [result.fetches for result in asyncio.run(four())] == [1, 1, 1, 1]
    assert library.fetching.attempts == 4
