"""Secrets belong to the engine that was given them."""

import gc
import weakref

from deep_research import DeepResearch, SupervisorHooks, secret_values
from deep_research.logs import masked, redact, register_secret
from deep_research.testing import scripted_agents

OURS, THEIRS = "sk-ours-0a1b2c3d4e5f6a7b", "sk-theirs-9f8e7d6c5b4a3f2e"


def engine(folder, key, monkeypatch, **more):
    monkeypatch.setenv("TAVILY_API_KEY", key)
    return DeepResearch(search="tavily", agents=scripted_agents(), data_dir=folder, **more)


def test_a_run_hides_the_keys_of_its_own_engine_and_no_other(tmp_path, monkeypatch):
    heard = []
    hooks = SupervisorHooks(
        before_phase=lambda state, phase: heard.append((redact(OURS), redact(THEIRS[3:])))
    )
    with (
        engine(tmp_path / "ours", OURS, monkeypatch, hooks=hooks) as ours,
        engine(tmp_path / "theirs", THEIRS, monkeypatch) as theirs,
    ):
        result = ours.run(f"Is {OURS} a key, and {THEIRS}?")
        other = theirs.run(f"Is {OURS} a key, and {THEIRS}?")
        assert result.query == f"Is *** a key, and {THEIRS}?"
        assert other.query == f"Is {OURS} a key, and ***?"
        assert set(heard) == {("***", THEIRS[3:])}
        assert masked(f"{OURS} {THEIRS}") == "*** ***"  # nobody can tell whose it is


def test_what_is_registered_outside_of_an_engine_is_hidden_in_all(tmp_path, monkeypatch):
    register_secret("canary-of-the-process")
    with engine(tmp_path, OURS, monkeypatch) as ours:
        assert ours.run("Is canary-of-the-process a key?").query == "Is *** a key?"


def test_the_keys_of_an_engine_go_with_it(tmp_path, monkeypatch):
    research = engine(tmp_path, OURS, monkeypatch)
    research.close()
    gone = weakref.ref(research)
    del research
    gc.collect()
    assert gone() is None
    assert masked(OURS) == OURS


def test_a_key_that_is_part_of_another_is_hidden_as_a_part_of_it():
    outer, inner = secret_values.Keyring(), secret_values.Keyring()
    with inner.scope():
        register_secret("abcdefgh12")
    with outer.scope():
        register_secret("zz-abcdefgh12-zz")
    assert masked("a zz-abcdefgh12-zz b abcdefgh12") == "a *** b ***"
