"""What an embedder sees of the engine: short results, typed keywords, and one error for an engine that is closed."""

import asyncio
import inspect
import subprocess
import sys
import types
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from deep_research import DeepResearch, RunOptions, SupervisorHooks
from deep_research.errors import ConfigurationError, UsageError
from deep_research.models.clients import tls
from deep_research.report.report_blocks import answer_of
from deep_research.research.arguments import RunArguments, SettingArguments
from deep_research.setting_fields import SettingGroup
from deep_research.settings import Settings
from deep_research.settings.mcp_servers import McpServer
from deep_research.sources.documents.folder import sample_corpus
from deep_research.state import Exchange
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = "How tall is the Cape Hatteras lighthouse?"
ROOT = Path(__file__).parents[2]
LONG = "It is 5 m. [1]\n\nAnd old. [2]\n\n### More\n\nMuch. [1]"
CODE = "```\n# no heading\n## nor this\n```\n\nDone. [1]"

# The result


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    data_dir = tmp_path_factory.mktemp("data")
    with DeepResearch(corpus=sample_corpus(), data_dir=data_dir, store="memory") as research:
        return research.run(QUESTION), research.run("Who built the Zorgblatt reactor in 2077?")


def test_the_answer_is_the_text_of_the_report_that_answers_with_its_citations(results):
    told, untold = results
    assert told.answer.startswith("The National Park Service, which owns the tower")
    assert "198.49 feet (60.5 metres)." in told.answer
    assert told.answer.endswith("[1]")
    assert told.answer in told.report
    assert 1 in {citation.number for citation in told.citations}
    assert untold.answer is None


@pytest.mark.parametrize(
    ("report", "answer"),
    [
        (f"# T\n\n## Summary\n\n{LONG}\n\n## Rest\n\nx", LONG),
        ("# T\n\nIt is 5 m. [1]\n\n## Rest\n\nx", "It is 5 m. [1]"),
        (
            "# T\n\n*Read with caution: this report rests on 1 finding.*\n\n## Réponse\n\nC'est 5 m. [1]",
            "C'est 5 m. [1]",
        ),
        ("It is 5 m. [1]\n\n## References\n\n1. A", "It is 5 m. [1]"),
        (f"## Answer\n\n{CODE}\n", CODE),
        ("# T\n\n## Gaps and limits\n\n- Nothing.\n\n## References\n\n1. A", ""),
        ("# T\n", ""),
        ("", ""),
    ],
)
def test_the_answer_is_told_by_the_shape_of_the_report(report, answer):
    assert answer_of(report) == answer


def test_a_result_is_one_short_line_and_a_notebook_shows_the_report(results):
    told, untold = results
    for result in results:
        for text in (repr(result), str(result), repr(result.state)):
            assert len(text) < 500
            assert "\n" not in text
            assert result.research_id in text
    assert "The National Park Service" in repr(told)
    assert told._repr_markdown_() == told.report
    assert untold._repr_markdown_().startswith("**aborted (no_evidence)** No finding answers")


# Keywords


def accepted(kind):
    """How a caller may write a value of a field, as text."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return accepted(inner[0])
    if origin in (Union, types.UnionType):
        return {kind for each in inner for kind in accepted(each)}
    if origin is Literal:
        return {str(kind)}
    if kind is McpServer:
        return {"Mapping[str, typing.Any]", f"{McpServer.__module__}.McpServer"}
    if isinstance(kind, type) and issubclass(kind, SettingGroup):
        return {"Mapping[str, typing.Any]", kind.__name__}
    if origin is tuple and inner[0] is Exchange:
        return {f"Sequence[{Exchange.__module__}.Exchange | Mapping[str, str]]"}
    if origin is tuple:
        return {"str", "Sequence[str]"}
    if origin is dict:
        return {f"Mapping[str, {' | '.join(sorted(accepted(inner[1])))}]"}
    return {Path: {"Path", "str"}, date: {"date", "str"}, type(None): {"None"}}.get(kind, {kind.__name__})


def written(kind):
    if get_origin(kind) in (Union, types.UnionType):
        return {name for each in get_args(kind) for name in written(each)}
    if isinstance(kind, type) and not get_args(kind):
        return {"None" if kind is type(None) else kind.__name__}
    return {str(kind).replace("collections.abc.", "").replace("pathlib.", "")}


def own_parameters():
    kinds = inspect.Parameter
    return {
        name
        for name, each in inspect.signature(DeepResearch.__init__).parameters.items()
        if each.kind is kinds.KEYWORD_ONLY
    }


FOR_ALL_ROLES = ("effort", "thinking_tokens")  # tables by role, or one value for all


@pytest.mark.parametrize("model", [RunOptions, Settings])
def test_the_keywords_are_those_of_the_models_with_their_types(model):
    arguments = RunArguments if model is RunOptions else SettingArguments
    beside = {"shared_budget"} if model is RunOptions else set()
    hints = get_type_hints(arguments)
    own = set() if model is RunOptions else own_parameters()
    fields = get_type_hints(model, include_extras=True)
    assert set(hints) - beside == set(model.model_fields) - own
    for name in model.model_fields.keys() - own:
        wanted = accepted(fields[name]) | {"None"}
        if name in FOR_ALL_ROLES:
            wanted |= accepted(get_args(get_args(fields[name])[0])[1])
        assert written(hints[name]) == wanted, name


@pytest.mark.parametrize("verb", ["run", "arun", "start", "astart", "stream", "estimate", "aestimate"])
def test_every_verb_that_takes_options_names_them(verb):
    kind = inspect.signature(getattr(DeepResearch, verb)).parameters["options"].annotation
    assert "Unpack[RunArguments]" in str(kind)


SNIPPET = """\
from deep_research import Budget, DeepResearch

with DeepResearch(preset="fast", max_concurrent=2, protected_sources=["a"], data_dir="d", since="2024-01-01") as engine:
    engine.run("q", max_iterations=2, domains=("example.org",), budget=Budget(max_usd=1), on_budget_exhausted="ask")
    engine.run("q", max_iteration=2)
    engine.run("q", max_iterations="2")
    engine.start("q", on_budget_exhausted="stop")
DeepResearch(max_concurent=2)
print(engine.run("q").answer.upper())
"""


@pytest.mark.slow
def test_mypy_refuses_keywords_that_there_are_not(tmp_path):
    path = tmp_path / "snippet.py"
    path.write_text(SNIPPET, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(path)], cwd=ROOT, capture_output=True, text=True
    )
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    assert lines == {5, 6, 7, 8, 9}, done.stdout


# The engine


def test_an_engine_that_is_closed_refuses_to_work():
    engine = DeepResearch(search=[ScriptedSearch()], agents=scripted_agents(), store="memory")
    run = engine.run(QUESTION)
    assert run.status == "completed"
    engine.close()
    engine.close()  # twice is once

    async def streamed():
        async for _ in engine.stream(QUESTION):
            raise AssertionError

    for work in (
        lambda: engine.run(QUESTION),
        lambda: engine.start(QUESTION),
        lambda: asyncio.run(engine.arun(QUESTION)),
        lambda: asyncio.run(streamed()),
        lambda: engine.estimate(QUESTION),
    ):
        with pytest.raises(UsageError, match=r"This engine is closed.* Create another engine"):
            work()


def test_a_closed_engine_takes_up_no_run(tmp_path):
    from deep_research import Park

    hooks = SupervisorHooks(before_phase=lambda *_: Park("a word"))
    engine = DeepResearch(search=[ScriptedSearch()], agents=scripted_agents(), hooks=hooks, data_dir=tmp_path)
    parked = engine.run(QUESTION)
    engine.close()
    for work in (engine.resume, lambda run: engine.answer(run, "Go on.")):
        with pytest.raises(UsageError, match="This engine is closed"):
            work(parked.research_id)
    engine.close()


def test_what_only_the_handle_and_the_command_line_need_is_private():
    public = {name for name in vars(DeepResearch) if not name.startswith("_")}
    assert not public & {"wait_for", "refuse_reentrance", "files_read"}


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_certificates_that_cannot_be_read_are_told_with_the_variable(monkeypatch, tmp_path, name):
    for each in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, str(tmp_path / "nope"))
    tls.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match=f"{name} names certificates that cannot be read.*nope"):
            tls()
    finally:
        monkeypatch.undo()
        tls.cache_clear()


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_run_on_the_web_without_certificates_does_not_begin(monkeypatch, tmp_path, name):
    for each in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, str(tmp_path / "nope"))
    tls.cache_clear()
    web = {"search": ["searxng"], "search_urls": {"searxng": "https://127.0.0.1:9"}}
    try:
        with (
            DeepResearch(store="memory", data_dir=tmp_path, **web) as engine,
            pytest.raises(ConfigurationError, match=f"{name} names certificates that cannot be read.*nope"),
        ):
            engine.run("How tall is the tower?")
    finally:
        monkeypatch.undo()
        tls.cache_clear()


def test_a_file_that_holds_no_certificates_is_told_as_well(monkeypatch, tmp_path):
    (tmp_path / "certificates.pem").write_text("none", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificates.pem"))
    tls.cache_clear()
    try:
        with pytest.raises(ConfigurationError, match="SSL_CERT_FILE names certificates"):
            tls()
    finally:
        monkeypatch.undo()
        tls.cache_clear()
