"""``local_only`` never touches the network, whatever keys there are: judged by what the interpreter was asked to do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import WebSite, web_reply

from deep_research import DeepResearch, SearchProvider
from deep_research.errors import ConfigurationError
from deep_research.sources.search import SearchResult

pytestmark = pytest.mark.timed

SAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
KEYS = {
    "TAVILY_API_KEY": "tvly-0123456789abcdef",
    "GOOGLE_API_KEY": "AIza0123456789abcdefghij",
    "GOOGLE_CSE_ID": "engine",
    "SEMANTIC_SCHOLAR_API_KEY": "0123456789abcdef",
    "SEARXNG_URL": "http://127.0.0.1:9",
    "ANTHROPIC_API_KEY": "sk-ant-0123456789abcdef",
    "OPENAI_API_KEY": "sk-0123456789abcdef",
}
# Everything that could leave the machine, seen before it happens.
PROGRAM = """
import json, sys
asked = []
def audit(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.bind"):
        asked.append([event, repr(args[-1])])
sys.addaudithook(audit)
from deep_research import DeepResearch
told = []
for number, settings in enumerate(json.loads(sys.argv[3])):
    with DeepResearch(corpus=sys.argv[1], data_dir=f"{sys.argv[2]}/{number}", **settings) as engine:
        result = engine.run("How tall is the Bell Rock lighthouse, and who built it?")
    kinds = sorted({source.kind for source in result.sources})
    told.append({"asked": asked[:], "status": result.status, "kinds": kinds})
    asked.clear()
print(json.dumps(told))
"""
LOCAL = [{"local_only": True}, {"preset": "offline"}, {"search": ["corpus"]}, {}]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Of a run with each of the settings, one after the other in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(SAMPLE), str(tmp_path_factory.mktemp("data")), json.dumps(LOCAL)],
        env=os.environ | KEYS,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("number", range(len(LOCAL)), ids=[str(settings) for settings in LOCAL])
def test_documents_alone_are_researched_without_a_single_connection(number, told):
    assert told[number] == {"asked": [], "status": "completed", "kinds": ["document"]}


@pytest.mark.parametrize("name", ["web", "tavily", "wikipedia"])
def test_a_service_that_is_named_is_refused_before_anything_happens(name, tmp_path):
    with pytest.raises(ConfigurationError, match=f"local_only is set, and '{name}' is not on this machine"):
        DeepResearch(search=[name], local_only=True, corpus=SAMPLE, data_dir=tmp_path)


def test_a_provider_that_says_it_is_local_may_be_searched(tmp_path):
    class Notes(SearchProvider):
        name = "notes"
        local = True

        async def search(self, request):
            return []

    DeepResearch(search=[Notes()], local_only=True, data_dir=tmp_path).close()
    Notes.local = False
    with pytest.raises(ConfigurationError, match="'notes' is not on this machine"):
        DeepResearch(search=[Notes()], local_only=True, data_dir=tmp_path)


def test_pages_that_a_local_provider_names_are_not_fetched(tmp_path, monkeypatch):
    class Bookmarks(SearchProvider):
        name = "bookmarks"
        local = True

        async def search(self, request):
            return [SearchResult(address="http://site.example.com/a", title="Bell Rock", snippet="A tower.")]

    with WebSite({"/a": web_reply(b"<p>Bell Rock.</p>")}) as site:
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", site.guard)
        with DeepResearch(search=[Bookmarks()], local_only=True, data_dir=tmp_path) as research:
            research.run("Who built Bell Rock?")
    assert site.asked == []


@pytest.mark.parametrize(
    ("model", "here"),
    [
        ("anthropic:claude-sonnet-5", False),
        ("openai-compatible:m@https://example.org/v1", False),
        ("openai-compatible:m@http://127.0.0.1:8000/v1", True),
        ("ollama:m", True),
    ],
)
def test_only_a_model_of_this_machine_may_be_asked(model, here, tmp_path, monkeypatch):
    for variable, value in KEYS.items():
        monkeypatch.setenv(variable, value)
    made = {"model": model, "local_only": True, "corpus": SAMPLE, "data_dir": tmp_path}
    if here:
        DeepResearch(**made).close()
    else:
        with pytest.raises(ConfigurationError, match="is not on this machine"):
            DeepResearch(**made)


def test_without_documents_it_says_that_they_are_missing_and_nothing_of_the_web(tmp_path):
    with (
        DeepResearch(local_only=True, data_dir=tmp_path) as research,
        pytest.raises(ConfigurationError) as caught,
    ):
        research.run("Who built the Bell Rock lighthouse?")
    assert "--corpus" in str(caught.value)
    assert "web" not in str(caught.value)
