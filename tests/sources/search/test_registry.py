"""Search providers by name, and what each wants of the environment."""

import subprocess
import sys

import pytest

from deep_research.errors import ConfigurationError, MissingKeyError, UnknownNameError
from deep_research.sources.search import SearchProvider, SourceType
from deep_research.sources.search.keys import Needs
from deep_research.sources.search.providers import PROVIDERS, known_providers, make_provider, needs

ORDER = ["tavily", "google", "semantic_scholar", "searxng", "wikipedia", "openalex"]
ENVIRONMENT = {
    "TAVILY_API_KEY": "tvly-0123456789",
    "GOOGLE_API_KEY": "google-0123456789",
    "GOOGLE_CSE_ID": "0123:abc",
    "SEARXNG_URL": "http://127.0.0.1:8888",
}


@pytest.fixture
def bare(monkeypatch):
    for name in {name for each in PROVIDERS for name in (*needs(each).required, *needs(each).optional)}:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture
def given(bare):
    for name, value in ENVIRONMENT.items():
        bare.setenv(name, value)


def test_these_are_the_providers_in_the_order_in_which_they_are_asked():
    assert list(PROVIDERS) == ORDER
    assert list(known_providers())[: len(ORDER)] == ORDER


@pytest.mark.parametrize("name", ORDER)
def test_every_entry_can_be_loaded_and_says_what_it_is(given, name):
    provider = make_provider(name)
    assert isinstance(provider, SearchProvider)
    assert provider.name == name
    assert provider.types
    assert provider.types <= set(SourceType)
    assert provider.at_once >= 1
    assert provider.per_minute is None or provider.per_minute > 0
    assert not provider.local


@pytest.mark.parametrize("name", ORDER)
def test_another_address_can_be_given(given, name):
    provider = make_provider(name, base_url="https://proxy.example/search/")
    assert provider.base_url == "https://proxy.example/search"


def test_loading_the_registry_loads_no_provider():
    code = (
        "import sys, deep_research.sources.search.providers\n"
        "print([m for m in sys.modules if m in ('httpx', 'tavily') or m.endswith(('.tavily', '.wikipedia'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_each_wants_is_told_without_making_one(bare):
    assert {name: needs(name).required for name in ORDER} == {
        "tavily": ("TAVILY_API_KEY",),
        "google": ("GOOGLE_API_KEY", "GOOGLE_CSE_ID"),
        "semantic_scholar": (),
        "searxng": ("SEARXNG_URL",),
        "wikipedia": (),
        "openalex": (),
    }
    assert needs("semantic_scholar").optional == ("SEMANTIC_SCHOLAR_API_KEY",)
    assert needs("openalex").optional == ("OPENALEX_API_KEY", "DEEP_RESEARCH_FETCH_CONTACT")


@pytest.mark.parametrize("name", ORDER)
def test_a_provider_can_be_made_exactly_when_nothing_is_missing(bare, name):
    lacking = needs(name).missing()
    if lacking:
        with pytest.raises(MissingKeyError) as raised:
            make_provider(name)
        assert set(lacking) <= set(raised.value.data["needs"])
        for variable in lacking:
            bare.setenv(variable, ENVIRONMENT[variable])
    assert needs(name).missing() == ()
    assert make_provider(name).name == name


def test_an_empty_variable_is_missing():
    wanted = Needs(required=("A", "B"), optional=("C",))
    assert wanted.missing({"A": " ", "B": "x"}) == ("A",)
    assert wanted.missing({}) == ("A", "B")


def test_an_unknown_name_is_refused_with_the_nearest():
    for ask in (make_provider, needs):
        with pytest.raises(UnknownNameError, match="Did you mean 'wikipedia'"):
            ask("wikpedia")


def test_a_provider_that_cannot_be_loaded_says_so(monkeypatch):
    monkeypatch.setitem(PROVIDERS, "broken", "deep_research.no_such_module:Provider")
    for ask in (make_provider, needs):
        with pytest.raises(ConfigurationError, match="cannot be loaded"):
            ask("broken")


def test_a_provider_that_does_not_say_wants_nothing(monkeypatch):
    monkeypatch.setitem(PROVIDERS, "scripted", "deep_research.testing:ScriptedSearch")
    assert needs("scripted") == Needs()
