"""Names of models: what they mean, and one line for those that mean nothing."""

import sys

import pytest

from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.models import ModelProvider
from deep_research.models.registry import SERVICES, known_services, make_model_provider, parse_name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("anthropic:claude-x", ("anthropic", "claude-x", None)),
        (" ollama:qwen3:8b ", ("ollama", "qwen3:8b", None)),
        ("openai-compatible:org/m@http://h:1/v1", ("openai-compatible", "org/m", "http://h:1/v1")),
        ("anthropic:claude@20260101", ("anthropic", "claude@20260101", None)),
        ("openai:m@2@https://h/v1", ("openai", "m@2", "https://h/v1")),
        ("replay:/tmp/a b.jsonl", ("replay", "/tmp/a b.jsonl", None)),
        ("replay:a@b.c/d.jsonl", ("replay", "a@b.c/d.jsonl", None)),
        ("ollama:m@sha256:0123456789abcdef", ("ollama", "m@sha256:0123456789abcdef", None)),
        ("openai:m@v1.2", ("openai", "m@v1.2", None)),
        ("ollama:m@ftp://h", ("ollama", "m", "ftp://h")),
    ],
)
def test_a_name_has_a_service_a_model_and_perhaps_an_address(name, parts):
    found = parse_name(name)
    assert (found.service, found.model, found.base_url) == parts


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("opnai:gpt-5", "Unknown model service 'opnai' in 'opnai:gpt-5'. Did you mean 'openai'?"),
        (
            "gpt-5-mini",
            "'gpt-5-mini' has no service. Did you mean 'openai:gpt-5-mini'?",
        ),
        ("claude-sonnet-5-5", "Did you mean 'anthropic:claude-sonnet-5-5'?"),
        ("something", "'something' has no service. Write it as SERVICE:MODEL."),
        ("openai", "'openai' is a service. Say which model: openai:MODEL."),
        ("openai:", "'openai:' names no model. Write it as openai:MODEL."),
        ("ollama: ", "names no model."),
        ("openai-compatible:@http://h/v1", "names no model."),
        ("", "'' has no service."),
        ("ollama:a\x1b[31mb\nc", "'ollama:a\\x1b[31mb\\nc' has invalid characters."),
        (
            "openai-compatible:m@localhost:8000/v1",
            "has no http:// or https://. Write 'openai-compatible:m@http://localhost:8000/v1'.",
        ),
        ("ollama:qwen3:8b@10.0.0.7:11434", "Write 'ollama:qwen3:8b@http://10.0.0.7:11434'."),
        ("ollama:m@gpu.example.com/api", "Write 'ollama:m@http://gpu.example.com/api'."),
    ],
)
def test_a_name_that_means_nothing_is_one_line_with_what_was_meant(name, problem):
    with pytest.raises((UnknownNameError, ConfigurationError)) as caught:
        parse_name(name)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_address_with_a_password_does_not_show_it():
    with pytest.raises(UnknownNameError) as caught:
        parse_name("opnai:m@http://me:hunter22@h/v1")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["http://me:hunter22@h/v1", "http://hunter22@h/v1", "http://h/v1?key=hunter22", "http://h/v1#hunter22"],
)
@pytest.mark.parametrize("service", ["ollama", "openai-compatible"])
def test_an_address_holds_no_secret_since_it_is_shown_and_stored(service, url):
    with pytest.raises(ConfigurationError, match="contains more than an address") as caught:
        make_model_provider(f"{service}:m@{url}")
    assert "hunter22" not in str(caught.value)


def test_what_is_no_web_address_is_no_address():
    with pytest.raises(ConfigurationError, match="is not an http"):
        make_model_provider("ollama:m@ftp://h")


def test_looking_a_name_up_loads_no_sdk():
    assert {"anthropic", "openai", "ollama", "openai-compatible", "replay"} <= known_services().keys()
    assert "deep_research.models.registry" in sys.modules


def test_each_service_of_ours_can_be_made(monkeypatch, tmp_path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    (tmp_path / "record").write_text("")
    for service in SERVICES:
        address = "@http://127.0.0.1:9/v1" if service != "replay" else ""
        model = str(tmp_path / "record") if service == "replay" else "m"
        provider = make_model_provider(f"{service}:{model}{address}")
        assert provider.name == f"{service}:{model}"


class Point:
    name = "house"

    def __init__(self, value):
        self.value = value


class House(ModelProvider):
    service = "house"

    async def send(self, call, on_text=None):
        raise NotImplementedError


class NoProvider:
    def __init__(self, model):
        pass


def test_a_package_joins_with_a_service_through_an_entry_point(monkeypatch):
    point = Point(f"{__name__}:House")
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or type(sys)("m"))
    monkeypatch.setattr(sys.modules[__name__], "House", House, raising=False)
    monkeypatch.setattr("deep_research.models.registry.entry_points", lambda group: [point])
    assert isinstance(make_model_provider("house:m"), House)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("no_such_module:House", "cannot be loaded"),
        ("deep_research:NoSuchClass", "cannot be loaded"),
        ("pathlib:Path", "is not a ModelProvider"),
    ],
)
def test_a_service_that_cannot_be_loaded_is_one_line(monkeypatch, value, problem):
    monkeypatch.setattr("deep_research.models.registry.entry_points", lambda group: [Point(value)])
    with pytest.raises(ConfigurationError, match=problem):
        make_model_provider("house:m")
