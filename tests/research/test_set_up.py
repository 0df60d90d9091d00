"""A run knows what it was set up with: it goes on with that, and with something else only when that is wanted."""

import asyncio
import os
import shutil

import pytest

from deep_research import DeepResearch, Park, StopResearch, SupervisorHooks
from deep_research.assembly.set_up import told_of
from deep_research.errors import (
    CorpusError,
    DeepResearchError,
    SettingsError,
    SetUpError,
    UnknownNameError,
    UsageError,
)
from deep_research.interfaces.cli.console import Exit, of_error
from deep_research.state.events import RunCreated, SetUpChanged
from deep_research.store import MemoryStore
from deep_research.store.sqlite import SQLiteStore
from deep_research.testing import ScriptedAgent, ScriptedSearch, scripted_agents

QUESTION = "Who built the Bell Rock lighthouse?"
CANARIES = {
    name: f"canary+{name.lower()}/Zq%9x&w=3v"
    for name in ("TAVILY_API_KEY", "OPENAI_API_KEY", "SEARXNG_API_KEY")
}


class Stopping(SupervisorHooks):
    """Ends the run before its first phase: it can be resumed, and no model or service is ever asked."""

    async def before_phase(self, state, phase):
        raise StopResearch


class Halting(Stopping):
    """Another class."""


class Planner:
    def __init__(self):
        self.scripted = scripted_agents()["planner"]

    async def __call__(self, handoff):
        return await self.scripted(handoff)


class Reader:
    async def read(self, url):
        raise NotImplementedError


class OtherReader(Reader):
    pass


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch, tmp_path):
    for name in [
        name for name in os.environ if name.startswith("DEEP_RESEARCH_") or name.endswith("_API_KEY")
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "user-config")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "bell.md").write_text(
        "# Bell Rock\n\nRobert Stevenson built the Bell Rock lighthouse in 1810.\n"
    )
    return folder


@pytest.fixture
def others(tmp_path):
    folder = tmp_path / "elsewhere" / "docs"
    folder.mkdir(parents=True)
    (folder / "other.md").write_text("# Other\n\nNothing of the kind.\n")
    return folder


@pytest.fixture
def make(tmp_path):
    """Engines over one store, which stop every run before its first phase unless they are given other hooks."""
    store = MemoryStore()

    def engine(**named):
        common = {"store": store, "data_dir": tmp_path / "data", "hooks": Stopping()}
        return DeepResearch(**{**common, **named})

    return engine


def begun(make, **named):
    with make(**named) as research:
        return research.run(QUESTION).research_id


def setup_of(make, run_id, **named):
    with make(**named) as research:
        return research.result(run_id).state.setup


# What is told of: how the run was set up, how the engine that resumes is, and what the line names with both values.
DIFFERENCES = {
    "the model": ({"model": "ollama:a"}, {"model": "ollama:b"}, "model was ollama:a and is ollama:b"),
    "the model that a chain goes on to": (
        {"model": ["ollama:a", "ollama:c"]},
        {"model": ["ollama:a"]},
        "model was ollama:a, then ollama:c and is ollama:a",
    ),
    "the model of a role": (
        {"model": "ollama:a", "models": {"analyzer": "ollama:x"}},
        {"model": "ollama:a", "models": {"analyzer": "ollama:y"}},
        "model of the analyzer and judge was ollama:x and is ollama:y",
    ),
    "a model at all": ({}, {"model": "ollama:a"}, "model was none and is ollama:a"),
    "who shortens texts": (
        {"model": "ollama:a", "summarization": {"model": "ollama:x"}},
        {"model": "ollama:a", "summarization": {"model": "ollama:y"}},
        "model of the summarizer was ollama:x and is ollama:y",
    ),
    "the search services": (
        {"search": ["wikipedia"]},
        {"search": ["openalex"]},
        "search services was wikipedia and is openalex",
    ),
    "a provider of one's own": (
        {"search": [ScriptedSearch()]},
        {},
        "search services was scripted and is none",
    ),
    "a gate": (
        {"gates": {"analysis": "strict"}},
        {"gates": {"analysis": "proceed"}},
        "gate of analysis was strict and is proceed",
    ),
    "reflection": ({"reflection": "never"}, {"reflection": "always"}, "reflection was never and is always"),
    "what an outage does": (
        {"on_outage": "park"},
        {"on_outage": "extractive"},
        "on_outage was park and is extractive",
    ),
    "a token option": (
        {"window": {"safety_margin": 0.2}},
        {"window": {"safety_margin": 0.3}},
        "window_safety_margin was 0.2 and is 0.3",
    ),
    "a window": (
        {"window": {"model_tokens": {"ollama:a": 9000}}},
        {"window": {"model_tokens": {"ollama:a": 8000}}},
        "window_model_tokens was ollama:a 9000 and is ollama:a 8000",
    ),
    "the network": ({}, {"local_only": True}, "local_only was false and is true"),
    "an own agent": (
        {"agents": {"planner": ScriptedAgent(None)}},
        {"agents": {"planner": Planner()}},
        "agent of the planner was ScriptedAgent and is Planner",
    ),
    "an own agent that is missing": (
        {"agents": {"planner": Planner()}},
        {},
        "agent of the planner was Planner and is none",
    ),
    "hooks": ({}, {"hooks": Halting()}, "hooks was Stopping and is Halting"),
    "hooks of functions": (
        {"hooks": SupervisorHooks(before_phase=Stopping().before_phase)},
        {},
        "hooks was SupervisorHooks(before_phase) and is Stopping",
    ),
    "the reader of pages": (
        {"search": ["wikipedia"], "pages": Reader()},
        {"search": ["wikipedia"], "pages": OtherReader()},
        "reader of pages was Reader and is OtherReader",
    ),
}


@pytest.mark.parametrize(("before", "after", "line"), DIFFERENCES.values(), ids=DIFFERENCES.keys())
def test_what_is_otherwise_is_refused_in_one_line_or_goes_on_as_a_new_setup(make, docs, before, after, line):
    run_id = begun(make, corpus=docs, **before)
    with make(corpus=docs, **after) as research:
        log = research.events(run_id)
        with pytest.raises(SetUpError) as refused:
            research.resume(run_id)
        assert line in str(refused.value)
        assert "\n" not in str(refused.value)
        assert "--with-new-setup" in refused.value.hint
        assert of_error(refused.value) is Exit.WRONG_USE
        assert research.events(run_id) == log  # nothing was begun
        assert research.status(run_id).status == "aborted"
        went_on = research.resume(run_id, setup="new")
        (changed,) = (e for e in research.events(run_id) if isinstance(e, SetUpChanged))
        assert changed.old == log[0].setup
        assert changed.new == went_on.state.setup
        assert [notice for notice in went_on.notices if line in notice.message]
        again = research.resume(run_id)  # from now on it is this
        assert [e.name for e in research.events(run_id)].count("setup.changed") == 1
        assert again.state.setup == changed.new


def test_all_that_differs_is_named_at_once(make, docs):
    run_id = begun(make, corpus=docs, reflection="never", gates={"planning": "abort"})
    engine = make(corpus=docs, reflection="always", gates={}, max_rewordings=2)
    with engine as research, pytest.raises(SetUpError) as refused:
        research.resume(run_id)
    assert [d["what"] for d in refused.value.data["differences"]] == [
        "gate of planning",
        "max_rewordings",
        "reflection",
    ]


def test_what_nobody_names_is_taken_from_the_run(make, docs):
    named = {
        "corpus": docs,
        "model": ["ollama:a", "openai-compatible:b@http://127.0.0.1:9/v1"],
        "models": {"planner": "ollama:p", "summarizer": "ollama:s"},
        "search": ["wikipedia", "searxng"],
        "search_urls": {"searxng": "http://127.0.0.1:8"},
        "gates": {"planning": "abort"},
        "reflection": "always",
        "window": {"runtime": "codex"},
        "cheap_model": True,
    }
    run_id = begun(make, **named)
    with make() as research:
        before = research.result(run_id).state.setup
        result = research.resume(run_id)
        parts = research._variants.of_run(before, [str(docs)])
        events = research.events(run_id)
    assert [event.name for event in events].count("run.resumed") == 1
    assert "setup.changed" not in [event.name for event in events]
    assert (result.state.setup, result.notices) == (before, ())
    assert parts.settings.model == ("ollama:a", "openai-compatible:b@http://127.0.0.1:9/v1")
    assert parts.settings.search_urls == {"searxng": "http://127.0.0.1:8"}
    assert parts.set_up_now == before
    assert parts.gates["planning"] == "abort"


@pytest.mark.parametrize("where", ["a variable", "a file", "a preset"])
def test_what_stands_in_the_environment_or_a_file_is_named_too(make, docs, tmp_path, monkeypatch, where):
    run_id = begun(make, corpus=docs, reflection="never")
    if where == "a variable":
        monkeypatch.setenv("DEEP_RESEARCH_REFLECTION", "always")
    elif where == "a file":
        (tmp_path / "deep-research.toml").write_text('[research]\nreflection = "always"\n')
    with (
        make(**({"preset": "deep"} if where == "a preset" else {})) as research,
        pytest.raises(SetUpError, match="reflection was never and is always"),
    ):
        research.resume(run_id)


def test_a_run_with_a_new_setup_keeps_what_is_not_named(make, docs):
    run_id = begun(make, corpus=docs, model="ollama:a", reflection="never")
    with make(model="ollama:b") as research:
        setup = research.resume(run_id, setup="new").state.setup
    assert [choice.name for choice in setup.model] == ["ollama:b"]
    assert (setup.reflection, [corpus.name for corpus in setup.corpora]) == ("never", ["docs"])


def test_functions_that_only_look_on_are_no_part_of_the_setup(make, docs):
    run_id = begun(make, corpus=docs, hooks=SupervisorHooks(event=lambda event: None), max_searches=0)
    with make(hooks=None) as research:
        assert research.result(run_id).state.setup.hooks is None
        assert research.resume(run_id).reason == "budget"


# Documents


def test_the_documents_of_a_run_are_found_where_they_stood(make, docs):
    parking = SupervisorHooks(think_pause=lambda state, prompt: Park("a word"))
    run_id = begun(make, corpus=docs, hooks=parking)
    with make(hooks=parking) as research:
        result = research.resume(run_id, answer="Go on.")
    assert result.sources or result.state.phase != "planning"
    assert not result.notices


def test_a_log_holds_the_name_and_the_fingerprint_of_documents_and_no_place(make, docs):
    run_id = begun(make, corpus=docs)
    with make() as research:
        (created,) = (e for e in research.events(run_id) if isinstance(e, RunCreated))
        assert str(docs.parent) not in created.model_dump_json()
        assert research._parts.store.run(run_id).places == (str(docs.resolve()),)
    (corpus,) = created.setup.corpora
    assert corpus.name == "docs"
    assert len(corpus.fingerprint) == 64


def test_two_machines_with_the_same_files_have_the_same_fingerprint(make, docs, tmp_path):
    (docs / "deep").mkdir()
    (docs / "deep" / "more.txt").write_text("More of it.")
    (docs / "unreadable.md").write_bytes(b"\0\1")
    copy = tmp_path / "copy" / "docs"
    shutil.copytree(docs, copy)
    os.utime(copy / "bell.md", (1, 1))
    (copy / "unreadable.md").unlink()
    first, second = (setup_of(make, begun(make, corpus=folder)) for folder in (docs, copy))
    assert first.corpora == second.corpora


def test_changed_files_of_the_same_folder_are_told_and_not_refused(make, docs):
    run_id = begun(make, corpus=docs)
    (docs / "new.md").write_text("A new page about Bell Rock.")
    with make() as research:
        for _ in range(2):
            result = research.resume(run_id)
            assert [notice.message for notice in result.notices if notice.name == "corpus"] == [
                "The documents in 'docs' have changed since the run began; what it had read before stays as it was."
            ]
        names = [event.name for event in research.events(run_id)]
    assert names.count("notice.added") == 1
    assert "setup.changed" not in names


def test_documents_that_have_moved_are_the_same(make, docs, tmp_path):
    run_id = begun(make, corpus=docs)
    moved = tmp_path / "moved"
    docs.rename(moved)
    with make() as research, pytest.raises(CorpusError, match=r"'docs', which was .*docs") as gone:
        research.resume(run_id)
    assert "--corpus" in gone.value.hint
    with make(corpus=moved) as research:
        assert not research.resume(run_id).notices
    with make() as research:  # it is remembered where they are now
        assert not research.resume(run_id).notices


def test_other_documents_are_refused_though_their_folder_has_the_same_name(make, docs, others):
    run_id = begun(make, corpus=docs)
    with make(corpus=others) as research:
        with pytest.raises(SetUpError, match=r"documents was docs \(\w{8}\) and is docs \(\w{8}\)"):
            research.resume(run_id)
        result = research.resume(run_id, setup="new")
        assert "documents was docs" in result.notices[0].message
        assert research._parts.store.run(run_id).places == (str(others.resolve()),)


def test_one_folder_more_is_another_setup(make, docs, others):
    run_id = begun(make, corpus=[docs, others])
    with make() as research:
        assert not research.resume(run_id).notices
    with make(corpus=docs) as research, pytest.raises(SetUpError, match=r"documents was docs .* and docs-2 "):
        research.resume(run_id)


def test_a_server_that_has_moved_is_told_and_not_refused(make, docs):
    here, there = (f"openai-compatible:m@http://127.0.0.1:{port}/v1" for port in (8, 9))
    run_id = begun(make, corpus=docs, model=here)
    with make(model=there) as research:
        result = research.resume(run_id)
    assert [notice.message for notice in result.notices] == [
        "The run continued with openai-compatible:m at another address."
    ]
    assert setup_of(make, run_id).addresses() == {"openai-compatible:m": "http://127.0.0.1:9/v1"}


# The run's own model


def test_a_run_may_have_a_model_of_its_own_and_keeps_it(make, docs):
    own = {"corpus": docs, "model": "ollama:engine", "models": {"analyzer": "ollama:reader"}}
    with make(**own) as research:
        run_id = research.run(QUESTION, provider_id="ollama:run").research_id
        before = research.result(run_id).state
        assert research.resume(run_id).state.setup == before.setup
        assert "ollama:run" in research.estimate(QUESTION, provider_id="ollama:run").models.values()
        assert before.options.provider_id == before.setup.provider_id == "ollama:run"
        assert [choice.name for choice in before.setup.model] == ["ollama:run"]
        assert before.setup.models == {}
        changed = research.resume(run_id, setup="new").state.setup
        assert ([choice.name for choice in changed.model], changed.provider_id) == (["ollama:engine"], None)
    with make() as research:
        assert research.resume(run_id).state.setup == changed


@pytest.mark.parametrize(
    ("wrong", "error"), [("nobody:x", UnknownNameError), ("", SettingsError), (7, SettingsError)]
)
def test_a_model_of_a_run_that_cannot_be_used_is_refused_before_it_begins(make, docs, wrong, error):
    with make(corpus=docs) as research:
        with pytest.raises(error):
            research.run(QUESTION, provider_id=wrong)
        assert research.list() == []


# Whoever resumes


def test_a_run_of_an_older_package_is_compared_with_nothing(make, docs, monkeypatch):
    monkeypatch.setattr("deep_research.assembly.engine_parts.Parts.set_up_now", None)
    run_id = begun(make, corpus=docs, model="ollama:a")
    monkeypatch.undo()
    with make(corpus=docs, reflection="always") as research:
        result = research.resume(run_id)
        assert (result.state.setup, result.notices) == (None, ())
        result = research.resume(run_id, setup="new")
        assert result.state.setup.reflection == "always"
        assert "unknown" in result.notices[0].message


def test_the_async_verb_does_the_same_and_wrong_words_are_refused(make, docs):
    run_id = begun(make, corpus=docs, reflection="never")

    async def journey():
        async with make(reflection="always") as research:
            with pytest.raises(SetUpError):
                await research.aresume(run_id)
            with pytest.raises(UnknownNameError, match="setup"):
                await research.aresume(run_id, setup="newest")
            return await research.aresume(run_id, setup="new")

    assert asyncio.run(journey()).state.setup.reflection == "always"


def test_the_refusal_is_wrong_use_and_pickles(make, docs):
    import pickle

    run_id = begun(make, corpus=docs, reflection="never")
    with make(reflection="always") as research, pytest.raises(UsageError) as refused:
        research.resume(run_id)
    copy = pickle.loads(pickle.dumps(refused.value))
    assert (str(copy), copy.data, copy.code) == (str(refused.value), refused.value.data, "set_up")


def test_no_key_and_no_login_is_in_a_byte_of_the_database(tmp_path, docs, monkeypatch):
    for name, key in CANARIES.items():
        monkeypatch.setenv(name, key)
    looks_like_a_key = tmp_path / "sk-canary-5f0e1d2c3b4a59687766" / "docs"
    shutil.copytree(docs, looks_like_a_key)
    data = tmp_path / "data"
    store = SQLiteStore(data / "runs.db")
    mine = ScriptedSearch()
    mine.name = "mine api_key=canary-name"
    named = {
        "corpus": [docs, looks_like_a_key],
        "model": "openai:m",
        "search": ["tavily", "searxng", mine],
        "search_urls": {"searxng": "http://127.0.0.1:8"},
        "store": store,
        "data_dir": data,
    }
    with DeepResearch(**named, hooks=Stopping()) as research:
        run_id = research.run(QUESTION).research_id
        setup = research.resume(run_id).state.setup
        held = b"".join(path.read_bytes() for path in data.glob("runs.db*"))
    store.close()
    held += b"".join(path.read_bytes() for path in data.glob("runs.db*"))
    for canary in (*CANARIES.values(), "canary-name", "sk-canary"):
        assert canary.encode() not in held
    assert [choice.name for choice in setup.services] == ["tavily", "searxng", "mine api_key=***"]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("http://127.0.0.1:8/v1", True),
        ("http://user:canary@127.0.0.1:8", False),
        ("https://example.org/?key=canary", False),
        ("https://example.org/#canary", False),
        ("http://[broken", False),
        (None, False),
    ],
)
def test_an_address_in_which_something_may_be_secret_is_left_out(address, told):
    assert told_of(address) == (address if told else "")


def test_a_record_of_answers_is_told_by_its_name_alone(make, docs, tmp_path):
    record = tmp_path / "record.jsonl"
    record.write_text("")
    run_id = begun(make, corpus=docs, model=f"replay:{record}")
    with make() as research:
        (choice,) = research.result(run_id).state.setup.model
        assert (choice.name, choice.by_name) == ("replay:record.jsonl", False)
        with pytest.raises(SetUpError, match=r"model was replay:record.jsonl and is none"):
            research.resume(run_id)
    with make(model=f"replay:{record}") as research:
        assert not research.resume(run_id).notices


def test_a_service_whose_key_is_gone_is_said_so(make, docs, monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", "a-key-of-tavily")
    run_id = begun(make, corpus=docs, search=["tavily"])
    monkeypatch.delenv("TAVILY_API_KEY")
    with make() as research, pytest.raises(SetUpError, match=r"was tavily and is none.*TAVILY_API_KEY"):
        research.resume(run_id)


def test_an_error_of_the_whole_is_not_hidden_by_the_setup(make):
    with make() as research, pytest.raises(DeepResearchError, match="nothing to search"):
        research.run(QUESTION)
