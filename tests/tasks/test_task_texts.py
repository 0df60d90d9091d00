"""Texts and links that tasks are shown: in which one a quote stands, how many are held, what is told of one that is
gone."""

import asyncio
import weakref

import pytest
from pydantic import BaseModel
from task_runs import DONE, FOUND, HEIGHT, QUESTION, SEARCH, TEXT, TaskModel, engine, ran, task_of
from task_steps import quoting, search_first, searching, using

from deep_research import SearchResult, Tool, ToolResult
from deep_research.errors import ToolError
from deep_research.phases.gathering.collecting import collected
from deep_research.phases.gathering.handoff import GatheredSource
from deep_research.phases.gathering.tasks import task_context as desks
from deep_research.phases.gathering.tasks.task_context import TaskContext, UseOutput
from deep_research.phases.gathering.tasks.task_steps import apart
from deep_research.phases.gathering.tasks.tool import Link, Shown
from deep_research.phases.gathering.tasks.tools import ReadMore
from deep_research.provenance.page_identity import canonical_url
from deep_research.state import DeepResearchState, Source, Span
from deep_research.state.identity import source_id
from deep_research.state.journal import MemoryJournal, missing
from deep_research.testing import ScriptedSearch

PAGE = "https://ok.example/handbook"
KEEPERS = "The keepers of the Orm lighthouse were paid forty pounds a year."
OIL = "The lamp of the Orm lighthouse burned two litres of oil an hour."
PLAN = ("keepers of the Orm lighthouse", "oil of the Orm lighthouse")
SAYS = dict(zip(PLAN, (KEEPERS, OIL), strict=True))


# --- quotes stand in the text that they were taken from ----------------------------------------------------


def handbook(slow=""):
    """One address that says of each question what that asks for; ``slow`` is answered last."""

    async def before(request):
        for _ in range(30 if request.query == slow else 0):
            await asyncio.sleep(0)

    def found(request):
        said = SAYS.get(request.query, TEXT)
        return [SearchResult(address=PAGE, title="Handbook", text=f"{said} So says the handbook.")]

    return ScriptedSearch(found, before=before)


asking = search_first(lambda said: quoting(SAYS[task_of(said)]), lambda said: searching(task_of(said)))


def test_two_tasks_that_read_different_texts_of_one_address_keep_their_quotes_whoever_is_first():
    seen = []
    for slow in ("", *PLAN):
        with engine(TaskModel(asking, plan=PLAN), search=[handbook(slow)]) as research:
            result = research.run(QUESTION)
            texts = {s.id: research.text(s) for s in result.sources}
        held = {f.content: f.quotes[0] for f in result.findings}
        assert set(held) >= {KEEPERS, OIL}
        for content, quote in held.items():
            assert texts[quote.source_id][quote.start : quote.end] == content
        assert result.state.unlocated == 0
        seen.append((sorted((source.id, source.url) for source in result.sources), result.report))
    assert seen[0] == seen[1] == seen[2]  # who was first does not show


def test_one_text_that_two_tasks_read_is_one_source():
    plan = ("height of the Orm lighthouse", "feet of the Orm lighthouse")
    steps = search_first(quoting(HEIGHT), lambda said: searching(task_of(said)))
    result = ran(TaskModel(steps, plan=plan), search=[handbook()])
    assert len(result.sources) == 1
    assert len(result.state.tasks) == 2


def _found(text, known=frozenset()):
    sources = [GatheredSource(title="Handbook", url=PAGE, content=text, snippet="Of the light.")]
    return collected(sources, sub_query_id="subq-1", known=known, most_bytes=10_000)


@pytest.mark.parametrize(
    ("held", "by_model", "text", "taken"),
    [
        ("nothing", True, TEXT, "own"),
        ("nothing", False, TEXT, "plain"),
        ("own", False, TEXT, "own"),  # a model read the same before it could be reached no more
        ("own", False, OIL, "plain"),
        ("own", False, None, "own"),  # of a page that is known a search tells only that it is there
        ("plain", False, None, "plain"),
    ],
)
def test_a_source_is_told_by_its_address_and_where_models_quote_by_its_text(held, by_model, text, taken):
    (source,) = _found(TEXT).sources
    own = source.model_copy(update={"id": source_id(f"{source.id} {source.content_hash}")})
    known = {"nothing": {}, "own": {own.id: own}, "plain": {source.id: source}}[held]
    found = _found(text, frozenset({canonical_url(PAGE)}) if text is None else frozenset())
    desk = TaskContext(QUESTION, (), MemoryJournal(DeepResearchState(query=QUESTION)))
    (made,) = apart(found, desk, known, by_model=by_model).sources
    assert made.id == {"own": own.id, "plain": source.id}[taken]
    if text is None and taken == "own":
        assert made == own


# --- where quotes are looked for ---------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch):
    """Which texts are loaded, by their beginnings, and how many are held at most beside."""
    loaded = []
    read = TaskContext.read

    async def counted(self, source_id):
        loaded.append(self.names[source_id])
        return await read(self, source_id)

    monkeypatch.setattr(TaskContext, "read", counted)
    return loaded


def many():
    """A search that finds five texts."""
    return ScriptedSearch(lambda request: MANY)


TOLD = "The Orm lighthouse has {} steps in all."
MANY = [
    SearchResult(address=f"https://ok.example/{n}", title=f"Orm {n}", text=TOLD.format(n)) for n in range(5)
]


@pytest.mark.parametrize(
    ("source", "number", "loaded"),
    [
        ("S2", 1, ["S2"]),  # the named one alone
        ("S1", 1, ["S1", "S2"]),  # then the others, until it is found
        ("S9", 4, ["S1", "S2", "S3", "S4", "S5"]),  # a name that there is not
        ("S3", 9, ["S3", "S1", "S2", "S4", "S5"]),
    ],
)
def test_a_quote_is_looked_for_in_the_source_that_it_names_and_then_in_the_others(
    reads, source, number, loaded
):
    quote = TOLD.format(number)
    model = TaskModel((SEARCH, quoting(quote, source), {"actions": [DONE]}))
    task = ran(model, search=[many()], tasks={"max_retries": 0}).task
    assert [fact.content for fact in task.finding.facts] == ([quote] if number < 5 else [])
    assert reads[: len(loaded)] == loaded
    assert set(reads) == set(loaded)


class Watched(str):
    """A text of which one can see whether somebody has it still."""


def test_looking_for_quotes_holds_one_text_at_a_time(monkeypatch):
    monkeypatch.setattr(desks, "HELD", 0)
    read, texts, most = TaskContext.read, [], []

    async def watched(self, source_id):
        self._texts.clear()
        most.append(sum(ref() is not None for ref in texts))
        text = Watched(await read(self, source_id))
        texts.append(weakref.ref(text))
        return text

    monkeypatch.setattr(TaskContext, "read", watched)
    facts = [{"content": each.text, "source": f"S{n}", "quote": each.text} for n, each in enumerate(MANY, 1)]
    model = TaskModel((SEARCH, {"actions": [DONE], "answer": "x", "facts": facts}))
    assert len(ran(model, search=[many()]).task.finding.facts) == len(most) == 5
    assert max(most) <= 1  # the one before, until the next is there


# --- texts that are gone -----------------------------------------------------------------------------------


LONG = "".join(f"Line {n} of the log of the Orm lighthouse.\n" for n in range(900))


def test_a_text_that_later_ones_of_the_same_step_push_out_is_shown_all_the_same(monkeypatch):
    monkeypatch.setattr(desks, "HELD", 100)

    def found(request):
        long = SearchResult(address="https://ok.example/log", title="Log", text=LONG)
        return MANY if "more" in request.query else [long]

    uses = [*searching("more of it")["actions"], *using("read_more", source="S1")["actions"]]
    model = TaskModel((SEARCH, {"actions": uses}, {"actions": [DONE]}))
    ran(model, search=[ScriptedSearch(found)], tasks={"max_retries": 0})
    shown = model.asked[2].partition("S1, from character")[2]
    assert "Line 1" in shown
    assert "characters follow" in shown.partition("<<")[0]


class Gone:
    """A journal whose texts are gone."""

    async def texts(self, hashes):
        raise missing(hashes[0])


class Shows(Tool):
    name = "shows"
    description = "Shows the first source."

    class arguments(BaseModel):
        word: str

    async def __call__(self, arguments, view):
        return ToolResult(excerpts=(Shown(source_id=view.source("S1").id, span=Span(start=0, end=20)),))


@pytest.mark.parametrize(
    "use", [{"tool": "read_more", "source": "S1"}, {"tool": "shows", "word": "x"}], ids=["ours", "a caller's"]
)
def test_a_text_that_the_store_has_no_more_is_told_as_such_and_never_as_the_end(monkeypatch, use):
    add = TaskContext.add

    def forgets(self, step):
        add(self, step)
        self._texts.clear()
        self.journal = Gone()

    monkeypatch.setattr(TaskContext, "add", forgets)
    model = TaskModel((SEARCH, {"actions": [use]}, FOUND))
    result = ran(model, tools=[Shows()], tasks={"max_retries": 0})
    assert result.task.steps[1].uses[0].failed
    assert "[the end]" not in model.asked[2]
    assert "is gone from the store" in model.asked[2]
    assert (result.status, result.task.finding.unlocated) == ("completed", 1)


async def test_the_end_of_a_text_is_told_as_the_end():
    journal = MemoryJournal(DeepResearchState(query=QUESTION), texts=[TEXT])
    desk = TaskContext(QUESTION, ("web",), journal)
    (content_hash,) = journal._contents
    known = {"content_hash": content_hash, "length": len(TEXT)}
    source = Source(id="src-000000000001", sub_query_id="subq-1", title="M", **known)
    desk.add_known([source])
    result = await ReadMore()(ReadMore.arguments(source="S1"), desk)
    assert desk.take((), {source.id: await desk.read(source.id)}, result).text.endswith("[the end]")
    with pytest.raises(ToolError, match="S1 ends there"):
        await ReadMore()(ReadMore.arguments(source="S1"), desk)


# --- links and snippets ------------------------------------------------------------------------------------


def _links(*numbers, snippet=""):
    return tuple(Link(address=f"https://ok.example/{n}", title=f"Orm {n}", snippet=snippet) for n in numbers)


def _desk():
    return TaskContext(QUESTION, ("web",), MemoryJournal(DeepResearchState(query=QUESTION)))


LINKS = {
    "known": (_links(1), ["L1"]),
    "two": (_links(2, 1), ["L2", "L1"]),
    "new ones": (_links(3, 1, 4), ["L3", "L1", "L4"]),
    "another snippet": (_links(1, snippet="Said in other words."), ["L1"]),  # by another service
    "twice": (_links(3, 3), ["L3"]),
}


@pytest.mark.parametrize(("again", "shown"), LINKS.values(), ids=LINKS)
def test_a_link_that_is_known_keeps_its_name_and_is_shown(again, shown):
    desk = _desk()
    desk.take((), {}, ToolResult(links=_links(1, 2)))
    showing = desk.take((), {}, ToolResult(links=again))
    assert [line.partition(":")[0] for line in showing.text.splitlines() if line.startswith("L")] == shown
    assert [desk.link(name).address[-1] for name in ("L1", "L2")] == ["1", "2"]
    assert all(link.snippet in showing.text for link in again)


def test_a_resumed_task_has_its_links_under_the_same_names():
    desk, later = _desk(), _desk()
    for links in (_links(1, 2), _links(2, 3), _links(1, 4)):
        showing = desk.take((), {}, ToolResult(links=links))
        later.links += UseOutput.model_validate_json(showing.model_dump_json()).links
    assert later.links == desk.links
    assert [link.address[-1] for link in desk.links] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("by_model", [False, True])
def test_where_no_pages_are_read_snippets_are_what_there_is(by_model):
    told = [SearchResult(address="https://ok.example/a", title="The Orm Light", snippet=HEIGHT)]
    model = TaskModel((SEARCH, FOUND)) if by_model else None
    with engine(model, search=[ScriptedSearch(lambda request: told)], fetch={"enabled": False}) as research:
        result = research.run(QUESTION)
        (source,) = result.sources
        assert research.text(source) == HEIGHT
    assert HEIGHT in {finding.content for finding in result.findings}
    if model is not None:
        assert HEIGHT in model.asked[1]
        assert "L1" not in model.asked[1]  # nothing that could be opened
