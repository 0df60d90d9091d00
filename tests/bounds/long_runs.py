"""Runs in which one long text stands at one place where text of others enters: each text that a model, a search, a page,
a tool, an agent, a hook, a document or the user may give. The places are read off the types and schemas themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, ClassVar

from gullible import GullibleModel
from held_loop import Spent, spent
from pydantic import BaseModel
from servers.instances import instance

from deep_research import DeepResearch, ResearchResult, SearchResult, SupervisorHooks
from deep_research.errors import (
    DeepResearchError,
    ExtractionError,
    FetchError,
    ModelError,
    SearchError,
    ToolError,
)
from deep_research.models.base import ModelCall, Reply
from deep_research.phases.gathering.handoff import GatheredSource, Unread
from deep_research.phases.gathering.tasks.tool import Link, Tool, ToolResult
from deep_research.sources.extract.document import Document
from deep_research.sources.fetch.pages import WebPage
from deep_research.sources.search import Scholarly
from deep_research.state import AgentRole, FirstLook, Mention, SupervisorAction
from deep_research.supervisor.hooks import Park, TaskVerdict, Verdict
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = "How tall is the Orm lighthouse?"
HEIGHT = "The tower of the Orm lighthouse is 90 feet tall."
TEXT = f"{HEIGHT} The Orm lighthouse was built in 1811 by Ada Brook of Hull. Its lamp burned whale oil until 1843."
LOST = "The Orm lighthouse of Hull was moved by 77 men in 1999 [F1]."

# One long run of each kind of character, and of what formats and prompts are made of.
RUNS: Mapping[str, str] = {
    "letters": "a",
    "capitals": "A",
    "digits": "7",
    "spaces": " ",
    "lines": "\n",
    "tabs": "\t",
    "words": "tower ",
    "names": "Ada Brook ",
    "sentences": "The tower is 90 feet. ",
    "stops": ".",
    "commas": ",",
    "hyphens": "-",
    "backticks": "`",
    "fences": "```\n",
    "fenced": "\n```py\n",
    "brackets": "[",
    "closing": "]",
    "braces": "{",
    "parentheses": "(",
    "references": "[F1]",
    "links": "[a](",
    "images": "![",
    "less": "<",
    "tags": "<a ",
    "entities": "&lt;",
    "ampersands": "&",
    "quotes": '"',
    "single": "'",
    "curly": "“",
    "dollars": "$",
    "bars": "|",
    "rows": "| a ",
    "table": "|a|b|\n",
    "stars": "*",
    "under": "_",
    "hashes": "#",
    "items": "\n- ",
    "numbered": "\n1. ",
    "backslashes": "\\",
    "slashes": "/",
    "addresses": "http://a.b/",
    "hosts": "www.",
    "mails": "a@",
    "zero width": "\u200b",
    "combining": "e\u0301",
    "marks": "\u0301",
    "cjk": "塔",
    "cjk stops": "塔。",
    "astral": "\U0001f5fc",
    "halves": "\ud83d",
    "nul": "\0",
    "escapes": "\x1b[",
    "directions": "\u202e",
    "separators": "\u2028",
    "capital i": "İ",
}


def long_text(kind: str, size: int) -> str:
    run = RUNS[kind]
    return (run * (size // len(run) + 1))[:size]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text enters; ``run`` does a run with the text there."""

    name: str
    run: Callable[[str], Coroutine[Any, Any, Any]]
    most: int = 10**9  # characters that are let in; what is longer is refused


def measured(place: Place, kind: str, size: int) -> tuple[Any, Spent]:
    text = long_text(kind, min(size, place.most))
    return spent(lambda: place.run(text))


# A value with a text at a place


def text_paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all texts in a model, a dataclass, a mapping or a sequence; of sequences those of the first item."""
    if isinstance(value, str):
        yield at
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from text_paths(getattr(value, name), (*at, name))
    elif is_dataclass(value):
        for field in fields(value):
            yield from text_paths(getattr(value, field.name), (*at, field.name))
    elif isinstance(value, Mapping):
        for name in list(value)[:1]:
            yield (*at, ("key", name))
        for name, item in value.items():
            yield from text_paths(item, (*at, name))
    elif isinstance(value, list | tuple) and value:
        yield from text_paths(value[0], (*at, 0))


def with_text(value: Any, path: tuple[Any, ...], text: str) -> Any:
    """The value with the text at a place, whether it fits there or not."""
    if not path:
        return text if type(value) is str else value
    name, *rest = path
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: with_text(getattr(value, name), tuple(rest), text)})
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{name: with_text(getattr(value, name), tuple(rest), text)})
    if isinstance(value, Mapping):
        if isinstance(name, tuple):
            return {text if key == name[1] else key: item for key, item in value.items()}
        return {**value, name: with_text(value[name], tuple(rest), text)}
    return type(value)([with_text(value[0], tuple(rest), text), *value[1:]])


def schema_paths(
    schema: Mapping[str, Any], root: Mapping[str, Any], at: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """The places of all texts that a JSON schema lets a model write."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    for choice in (*schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from schema_paths(choice, root, at)
    if schema.get("type") == "string" and "enum" not in schema and "const" not in schema:
        yield at
    for name, field in schema.get("properties", {}).items():
        yield from schema_paths(field, root, (*at, name))
    if "items" in schema:
        yield from schema_paths(schema["items"], root, (*at, 0))


def written_at(
    data: Any, schema: Mapping[str, Any], root: Mapping[str, Any], path: tuple[Any, ...], text: str
) -> Any:
    """An answer with the text at a place of its schema, which is filled on the way there."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if choices := [*schema.get("anyOf", ()), *schema.get("allOf", ())]:
        schema = next(c for c in choices if c.get("type") != "null")
        return written_at(data, schema, root, path, text)
    if not path:
        return text
    name, *rest = path
    if isinstance(name, int):
        items = data or [instance({**schema["items"], "$defs": root.get("$defs", {})})]
        return [written_at(items[0], schema["items"], root, tuple(rest), text), *items[1:]]
    data = data or instance({**schema, "$defs": root.get("$defs", {})})
    return {**data, name: written_at(data.get(name), schema["properties"][name], root, tuple(rest), text)}


# Runs


_NUMBERS = count()


class LongModel(GullibleModel):
    """A good model, which says one thing that nothing carries; ``change`` makes its answers long: it is given the name of
    the form, or of the text that is asked for, the answer and the schema. ``schemas`` are those of what was asked."""

    def __init__(
        self, change: Callable[[str, str, Mapping[str, Any]], str] | None = None, **reply: str
    ) -> None:
        super().__init__(f"m{next(_NUMBERS)}")  # what one model can do is remembered
        self.schemas: dict[str, Mapping[str, Any]] = {}
        self._change, self._reply = change, reply

    async def send(self, call: ModelCall, on_text: Any = None) -> Reply:
        reply = await super().send(call, on_text)
        return reply.model_copy(update=self._reply)

    def answer(self, call: ModelCall) -> str:
        schema = call.form.json_schema if call.form else {}
        name = ",".join(schema.get("properties", ())) or call.system[:60]
        self.schemas[name] = schema
        said = super().answer(call)
        if not schema and "[F1]" in said:
            said = said.replace("## Findings\n", f"## Findings\n\n{LOST}\n", 1)
        return self._change(name, said, schema) if self._change else said


def found(_: Any = None) -> list[SearchResult]:
    return [
        SearchResult(address="https://ok.example/orm", title="The Orm Light", text=TEXT, snippet=HEIGHT),
        SearchResult(
            address="https://hull.example/orm",
            title="Orm of Hull",
            text=f"{TEXT} It stands at Hull, in the county of York.",
            authors=("Ada Brook",),
        ),
    ]


RUN = {
    "store": "memory",
    "gathering": "search",
    "max_iterations": 2,
    "max_sub_queries": 2,
    "revise_with_critic": True,
    "reflection": "always",
    "judge": "all",
    "gate_retries": 0,
}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "search": {},
    "tasks": {"gathering": "agents"},
    "sections": {"report_words": 5_000},
    "unsure": {"clarify": "when_unsure"},
}


@dataclass
class Left:
    """What runs left behind, in bytes: of events, of results, and of all files of their folders."""

    is_wanted: bool = False
    events: int = 0
    result: int = 0
    files: int = 0


LEFT = Left()


async def _note(research: DeepResearch, result: ResearchResult, folder: Path) -> None:
    if LEFT.is_wanted:
        LEFT.events = sum(len(e.model_dump_json()) for e in await research.aevents(result.research_id))
        LEFT.result = len(result.model_dump_json())
        LEFT.files = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


async def run(
    query: str = QUESTION, *, beside: Any = None, options: Mapping[str, Any] | None = None, **given: Any
) -> Any:
    """What comes of a run: its result, or the error that tells why there is none."""
    with TemporaryDirectory() as folder:
        try:
            async with DeepResearch(
                **{"search": [ScriptedSearch(found)], "data_dir": folder, **RUN, **given}
            ) as research:
                result = await research.arun(query, **(options or {}))
                result = await beside(research, result) if beside else result
                await _note(research, result, Path(folder))
                return result
        except DeepResearchError as error:
            return error


def by_model(way: str, **given: Any) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    return lambda model: run(model=model, **WAYS[way], **given)


@cache
def forms(way: str) -> Mapping[str, Mapping[str, Any]]:
    """The schemas that a model is asked for in a run."""
    model = LongModel()
    spent(lambda: by_model(way)(model))
    return model.schemas


def _written(
    name: str, path: tuple[Any, ...], text: str, form: str, said: str, schema: Mapping[str, Any]
) -> str:
    if form != name:
        return said
    return json.dumps(written_at(json.loads(said), schema, schema, path, text), ensure_ascii=False)


def model_places() -> Iterator[Place]:
    seen: set[str] = set()
    for way in WAYS:
        for name, schema in forms(way).items():
            if name in seen:
                continue
            seen.add(name)
            short = f"model, {way}, {name[:40]}"
            for path in (*dict.fromkeys(schema_paths(schema, schema)),):

                def filled(text: str, path=path, name=name, way=way) -> Any:
                    return by_model(way)(LongModel(partial(_written, name, path, text)))

                yield Place(f"{short}: {'.'.join(map(str, path))}", filled)
            for how, change in (
                ("whole", lambda said, text: text),
                ("before", lambda said, text: text + said),
                ("behind", lambda said, text: said + text),
                ("within", lambda said, text: said[: len(said) // 2] + text + said[len(said) // 2 :]),
            ):

                def said_so(text: str, change=change, name=name, way=way) -> Any:
                    return by_model(way)(
                        LongModel(lambda form, said, _: change(said, text) if form == name else said)
                    )

                yield Place(f"{short}: {how}", said_so)
    for field in ("model", "request_id"):
        yield Place(
            f"model: {field}", lambda text, field=field: by_model("search")(LongModel(**{field: text}))
        )


def rich() -> SearchResult:
    """A result that says all that one may."""
    return replace(
        found()[0],
        extract=HEIGHT,
        text_at="https://ok.example/text",
        authors=("Ada Brook",),
        language="en",
        scholarly=Scholarly(doi="10.1/orm", arxiv="2001.0001", venue="Towers"),
        mentions=(Mention(name="orm", weight=0.5),),
        provider="catalogue",
        snapshot_hash="0" * 64,
        metadata={"place": "Hull"},
    )


class Own(ScriptedSearch):
    """A search with notes, and a first look."""

    def __init__(self, answers: Any = found, *, look: FirstLook | None = None, **given: Any) -> None:
        super().__init__(answers)
        self._look = look
        for name, value in given.items():
            setattr(self, name, value)

    async def look(self, question: str) -> FirstLook | None:
        return self._look


def search_places() -> Iterator[Place]:
    for path in text_paths(rich()):
        for way in ("keyless", "search", "tasks"):

            def long(text: str, path=path, way=way) -> Any:
                search = [Own([with_text(rich(), path, text), *found()[1:]])]
                return run(search=search) if way == "keyless" else by_model(way, search=search)(LongModel())

            yield Place(f"result, {way}: {path}", long)
    yield Place("search: notes", lambda text: run(search=[Own(notes=[text])]))
    yield Place("search: name", lambda text: run(search=[Own(name=text)]))
    look = FirstLook(
        names=(Mention(name="orm", weight=0.5),), words={"orm": 0.5}, titles=("Orm",), snippets=("The Orm",)
    )
    for path in text_paths(look):
        yield Place(
            f"first look: {path}",
            lambda text, path=path: run(search=[Own(look=with_text(look, path, text))], model=LongModel()),
        )


class Word(BaseModel):
    word: str = "orm"


class Glossary(Tool):
    name: ClassVar[str] = "glossary"
    description: ClassVar[str] = "Says what a word means."
    arguments: ClassVar[type[BaseModel]] = Word

    def __init__(self, gives: ToolResult | BaseException) -> None:
        self.gives = gives

    async def __call__(self, arguments: Any, view: Any) -> ToolResult:
        if isinstance(self.gives, BaseException):
            raise self.gives
        return self.gives


class UsingModel(LongModel):
    """Uses the tool of each task first."""

    def answer(self, call: ModelCall) -> str:
        properties = (call.form.json_schema if call.form else {}).get("properties", {})
        if "calls" in properties and "This is step 1 of" in call.messages[-1].content:
            return json.dumps({"thought": "What is it?", "calls": [{"tool": "glossary", "word": "orm"}]})
        return super().answer(call)


def with_tool(gives: Any) -> Any:
    return by_model("tasks", tools=[Glossary(gives)])(UsingModel())


def tool_places() -> Iterator[Place]:
    source = GatheredSource(
        title="Orm", url="https://tool.example/orm", snippet=HEIGHT, content=TEXT, fingerprint="0",
        snapshot_hash="0" * 64,
        mentions=(Mention(name="orm", weight=0.5),), metadata={"author": "Ada Brook"},
    )  # fmt: skip
    link = Link(
        address="https://tool.example/more",
        title="More",
        snippet=HEIGHT,
        text_at="https://tool.example/t",
        provider="p",
    )
    result = ToolResult(text="A word.", sources=(source,), links=(link,), notes=("It is old.",),
                        unread=(Unread(url="https://tool.example/no", why="it is gone"),))  # fmt: skip
    for path in text_paths(result):
        yield Place(f"tool: {path}", lambda text, path=path: with_tool(with_text(result, path, text)))


def page(document: Document, **given: Any) -> Any:
    """A reader of pages that finds the same on all."""

    async def read(url: str) -> WebPage[Document]:
        body = document.text.encode("utf-8", "replace")
        made = WebPage(
            url=url, final_url=url, fetched_at=datetime(2026, 1, 1, tzinfo=UTC), headers={"content-type": "text/html"},
            body=body, snapshot_hash=sha256(body).hexdigest(), document=document,
        )  # fmt: skip
        return replace(made, **given)

    return SimpleNamespace(read=read)


def unread_results(_: Any = None) -> list[SearchResult]:
    return [replace(each, text=None) for each in found()]


def page_places() -> Iterator[Place]:
    document = Document(
        title="The Orm Light", text=TEXT, author="Ada Brook", unread="a figure", language="en", pages=(0,),
        page_labels=("sheet 1",), fingerprint="0", manual="orm", snapshot_hash="0" * 64,
    )  # fmt: skip
    for path in text_paths(document):
        for way in ("keyless", "search"):

            def long(text: str, path=path, way=way) -> Any:
                beside = {"pages": page(with_text(document, path, text)), "search": [Own(unread_results)]}
                return run(**beside) if way == "keyless" else by_model(way, **beside)(LongModel())

            yield Place(f"page, {way}: {path}", long)
    for name in ("final_url", "headers"):

        def about(text: str, name=name) -> Any:
            value: Any = (
                f"https://ok.example/{text}" if name == "final_url" else {"content-type": text, "etag": text}
            )
            return run(pages=page(document, **{name: value}), search=[Own(unread_results)])

        yield Place(f"page: {name}", about)


def agent_places() -> Iterator[Place]:
    """Each text that an agent of somebody's own may answer with."""
    answers: dict[AgentRole, Any] = {}

    def kept(role: AgentRole, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def keep(handoff: Any) -> Any:
            made = answer(handoff)
            answers.setdefault(role, made)
            return made

        return keep

    agents = scripted_agents(iterations=2, improvements=("Say more of the tower.",))
    for role, agent in agents.items():
        agent._answers = kept(AgentRole(role), agent._answers)
    spent(lambda: run(agents=agents))
    for role, answer in answers.items():
        for path in text_paths(answer):

            def long(text: str, role=role, path=path) -> Any:
                agents = scripted_agents(iterations=2, improvements=("Say more of the tower.",))
                own = agents[role]._answers
                agents[role]._answers = lambda handoff: with_text(own(handoff), path, text)
                return run(agents=agents)

            yield Place(f"agent, {role}: {path}", long)


def hook_places() -> Iterator[Place]:
    returned: Mapping[str, Any] = {
        "before_phase": str,
        "after_phase": str,
        "think_pause": str,
        "gate": lambda text: Verdict(action=SupervisorAction.PROCEED, rationale=text, guidance=text),
        "decide_iteration": lambda text: Verdict(action=SupervisorAction.COMPLETE, rationale=text),
        "review": lambda text: TaskVerdict(approved=False, critique=text, follow_up_question=text),
    }
    for name, make in returned.items():
        for model in (False, True):

            def long(text: str, name=name, make=make, model=model) -> Any:
                hooks = SupervisorHooks(**{name: lambda *_: make(text)})
                return by_model("tasks", hooks=hooks)(LongModel()) if model else run(hooks=hooks)

            yield Place(f"hook, {'model' if model else 'keyless'}: {name}", long)

    async def answered(research: DeepResearch, result: ResearchResult, text: str) -> Any:
        return await research.aresume(result.research_id, answer=text)

    for name in ("think_pause", "after_phase", "before_phase"):

        def parked(text: str, name=name) -> Any:
            return run(hooks=SupervisorHooks(**{name: lambda *_: Park(waiting_for=text)}))

        def answer(text: str, name=name) -> Any:
            asked: list[int] = []

            def park(*_: Any) -> Park | None:
                asked.append(1)
                return Park(waiting_for="a word") if len(asked) == 1 else None

            return run(
                hooks=SupervisorHooks(**{name: park}), beside=lambda r, result: answered(r, result, text)
            )

        yield Place(f"hook: parks at {name}", parked)
        yield Place(f"answer: at {name}", answer, most=90_000)


def user_places() -> Iterator[Place]:
    for way in ("keyless", "search", "tasks", "unsure"):

        def asked(text: str, way=way, within: str = "{} {}") -> Any:
            query = within.format(QUESTION, text)
            return run(query) if way == "keyless" else run(query, model=LongModel(), **WAYS[way])

        yield Place(f"user, {way}: question", asked, most=19_900)
    for name in ("system_prompt", "language", "audience"):
        for way in ("keyless", "search"):

            def told(text: str, name=name, way=way) -> Any:
                more = {} if way == "keyless" else {"model": LongModel()}
                return run(options={name: text}, **more)

            yield Place(f"user, {way}: {name}", told)
    for name in ("source_types", "domains", "not_domains", "protected_sources"):
        yield Place(f"user: {name}", lambda text, name=name: run(options={name: (text,)}))

    for way in ("keyless", "search", "tasks"):

        def steered(text: str, way=way) -> Any:
            async def main() -> Any:
                given = {} if way == "keyless" else {"model": LongModel(), **WAYS[way]}
                said: list[int] = []
                engines: list[DeepResearch] = []

                async def say(event: Any) -> None:
                    return None

                async def steer(state: Any, *_: Any) -> None:
                    if not said:
                        said.append(1)
                        await engines[0].asteer(state.research_id, text)

                hooks = SupervisorHooks(before_phase=steer, event=say)
                with TemporaryDirectory() as folder:
                    try:
                        async with DeepResearch(
                            **{
                                "search": [ScriptedSearch(found)],
                                "data_dir": folder,
                                **RUN,
                                "hooks": hooks,
                                **given,
                            }
                        ) as research:
                            engines.append(research)
                            return await research.arun(QUESTION)
                    except DeepResearchError as error:
                        return error

            return main()

        yield Place(f"user, {way}: steer", steered, most=20_000)


DOCUMENTS: Mapping[str, str] = {
    ".txt": f"{TEXT}\n\n{{}}\n\n{TEXT}",
    ".md": f"# Orm\n\n{TEXT}\n\n{{}}\n\n## More\n\n{TEXT}",
    ".rst": f"Orm\n===\n\n{TEXT}\n\n{{}}\n\n{TEXT}",
    ".html": f"<html><title>Orm</title><body><p>{TEXT}</p><p>{{}}</p></body></html>",
    ".csv": f'name,height\nOrm,90\n"{{}}",80\n{TEXT.split(".")[0]},7',
    ".json": f'{{{{"text": "{TEXT}", "more": "{{}}"}}}}',
    ".eml": f"Subject: {{}}\nFrom: ada@hull.example\nContent-Type: text/plain\n\n{TEXT}\n{{}}",
    ".ipynb": '{{"cells": [{{"cell_type": "markdown", "source": ["{}"]}}], "metadata": {{}}, "nbformat": 4}}',
}


def document_places() -> Iterator[Place]:
    for suffix, within in DOCUMENTS.items():
        for way in ("keyless", "search"):

            def read(text: str, suffix=suffix, within=within, way=way) -> Any:
                async def main() -> Any:
                    with TemporaryDirectory() as folder:
                        Path(folder, "plain.md").write_text(f"# The Orm Light\n\n{TEXT}\n")
                        plain = json.dumps(text)[1:-1] if suffix in (".json", ".ipynb") else text
                        Path(folder, f"orm{suffix}").write_bytes(
                            within.format(*[plain] * 2).encode("utf-8", "replace")
                        )
                        given = {} if way == "keyless" else {"model": LongModel()}
                        return await run(search=None, corpus=folder, **given)

                return main()

            yield Place(f"document, {way}: {suffix}", read)


def error_places() -> Iterator[Place]:
    """Whatever raises says much, in words and in data."""

    def failing(raised: BaseException) -> Callable[..., Any]:
        async def fail(*_: Any, **__: Any) -> Any:
            raise raised

        return fail

    kinds: Mapping[str, Callable[[str], BaseException]] = {
        "ValueError": ValueError,
        "SearchError": lambda text: SearchError(text, hint=text, trouble="transient", body=text, more=[text]),
        "ModelError": lambda text: ModelError(text, hint=text, verdict="park", reason=text, body={"a": text}),
        "ToolError": lambda text: ToolError(text, hint=text, body=text),
        "FetchError": lambda text: FetchError(text, hint=text, trouble="status", url=text),
        "ExtractionError": lambda text: ExtractionError(text, limit=text),
    }
    for name, make in kinds.items():

        def search(text: str, make=make) -> Any:
            own = Own()
            own.search = failing(make(text))  # type: ignore[method-assign]
            return run(search=[own])

        def model(text: str, make=make) -> Any:
            own = LongModel()
            own.send = failing(make(text))  # type: ignore[method-assign]
            return by_model("search")(own)

        def tool(text: str, make=make) -> Any:
            return with_tool(make(text))

        def hook(text: str, make=make) -> Any:
            return run(hooks=SupervisorHooks(think_pause=failing(make(text))))

        def agent(text: str, make=make) -> Any:
            return run(agents={"analyzer": failing(make(text))})

        def pages(text: str, make=make) -> Any:
            return run(pages=SimpleNamespace(read=failing(make(text))), search=[Own(unread_results)])

        for place in (search, model, tool, hook, agent, pages):
            yield Place(f"error, {place.__name__}: {name}", place)


@cache
def places() -> tuple[Place, ...]:
    return tuple(
        place
        for make in (
            model_places, search_places, tool_places, page_places, agent_places, hook_places, user_places,
            document_places, error_places,
        )
        for place in make()
    )  # fmt: skip
