"""What `doctor` says of tokens: windows by role, who shortens texts, the archive."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_double import Done

from deep_research.budget.archive import Archive
from deep_research.state.journal import utc_now

Cli = Callable[..., Done]
LOCAL = ("--model", "ollama:m")


def found(done: Done, name: str) -> list[tuple[str, str]]:
    return [(check["state"], check["detail"]) for check in done.json["checks"] if check["name"] == name]


def test_without_a_model_nothing_has_to_fit(plain: Cli, home: Path) -> None:
    done = plain("doctor", "--json")
    assert found(done, "tokens") == [("ok", "no model, so no window to fit")]
    assert found(done, "archive")[0][1].startswith("off; content_archive_enabled")
    assert not home.exists()


def test_each_role_is_told_what_its_model_can_be_sent(plain: Cli) -> None:
    *roles, shortening = found(plain("doctor", "--json", *LOCAL), "tokens")
    assert {name for _, said in roles for name in said.partition(":")[0].split(", ")} == {
        *("planner", "task_agent", "reviewer", "analyzer", "synthesizer", "judge", "refiner", "supervisor")
    }
    assert roles[0][1] == (
        "planner, refiner, supervisor: 4,490 of the 8,192 tokens of ollama:m are for content:"
        " overhead 409 (direct-api), answer 2,500, margin 15 %"
    )
    assert {state for state, _ in roles} == {"ok"}
    assert shortening == ("ok", "a round reads 100,000 tokens of sources; more is shortened without a model")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("model_context_overrides=ollama:m=64000",), "64,000 tokens (model_context_overrides) of ollama:m"),
        (("runtime_overhead=0",), "overhead 0 (runtime_overhead)"),
        (("runtime=codex", "model_context_overrides=ollama:m=200000"), "overhead 30,000 (codex)"),
        (("token_safety_margin=0.5",), "margin 50 %"),
        (("report_words=400",), "synthesizer"),
        (("reading_tokens=5000",), "a round reads 5,000 tokens of sources"),
        (
            ("summarization_provider=ollama:a", "summarization_providers=ollama:b"),
            "shortened by ollama:a, then ollama:b",
        ),
        (("summarization_provider=ollama:a",), "summarizer"),
        (("token_management_enabled=false",), "requests that do not fit a window fail"),
    ],
)
def test_the_settings_show(plain: Cli, settings: tuple[str, ...], said: str) -> None:
    given = [word for setting in settings for word in ("--set", setting)]
    assert any(said in detail for _, detail in found(plain("doctor", "--json", *LOCAL, *given), "tokens"))


def test_an_overhead_that_leaves_too_little_is_told(plain: Cli) -> None:
    done = plain("doctor", "--json", *LOCAL, "--set", "runtime_overhead=5000")
    notes = [detail for state, detail in found(done, "tokens") if state == "note"]
    assert done.code == 0
    assert len(notes) > 1
    assert all("less than a quarter: lower runtime_overhead" in detail for detail in notes)


@pytest.mark.parametrize("setting", ["runtime_overhead=100000", "model_context_overrides=ollama:m=1024"])
def test_a_window_with_nothing_left_for_content_is_broken(plain: Cli, setting: str) -> None:
    more = ("--set", "runtime=codex") if "overrides" in setting else ()
    done = plain("doctor", "--json", *LOCAL, "--set", setting, *more)
    *roles, _shortening = found(done, "tokens")
    assert done.code == 1
    assert {state for state, _ in roles} == {"broken"}
    wanted = "No request can be made: lower runtime_overhead, or choose a model with a larger window"
    assert all(detail.endswith(wanted) for _, detail in roles)


@pytest.mark.parametrize(
    "names",
    [
        ("summarization_provider=nope:a",),
        ("summarization_provider=ollama:a", "summarization_providers=nope:b"),
    ],
)
def test_a_summarizer_of_a_wrong_name_is_told_once(plain: Cli, names: tuple[str, ...]) -> None:
    given = [word for name in names for word in ("--set", name)]
    done = plain("doctor", "--json", *LOCAL, *given)
    (detail,) = [detail for state, detail in found(done, "tokens") if state == "broken"]
    assert done.code == 1
    assert detail.startswith("summarizer: Unknown model service 'nope'")


def test_the_archive_is_counted(plain: Cli, home: Path) -> None:
    archive = Archive(home / "archive", 168, utc_now)
    for content in ("one", "two"):
        archive.save(content, item_id="s", item_type="source", reason="dropped", original_tokens=1)
    ((state, said),) = found(plain("doctor", "--json"), "archive")
    assert (state, said.partition(" B ")[0][:9]) == ("ok", "2 texts, ")
    assert said.endswith(f" in {home / 'archive'}, kept for 168 hours; content_archive_enabled is off")
    on = ("--set", "content_archive_enabled=true", "--set", "content_archive_ttl_hours=5")
    assert found(plain("doctor", "--json", *on), "archive")[0][1].endswith("kept for 5 hours")


def test_a_large_archive_is_told(plain: Cli, home: Path) -> None:
    archive = Archive(home / "archive", 168, utc_now)
    record = archive.save("one", item_id="s", item_type="source", reason="dropped", original_tokens=1)
    os.truncate(home / "archive" / f"{record.content_hash[7:]}.json", 1_100_000_000)  # takes no room on disk
    (_, first), (state, said) = found(plain("doctor", "--json"), "archive")
    assert "1 text, 1.1 GB in " in first
    assert (state, said) == ("note", "it is large: lower content_archive_ttl_hours, then run archive clean")


def test_an_archive_that_cannot_be_used_is_broken(plain: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in ("file", "file/below"):
        on = ("--set", "content_archive_enabled=true", "--set", f"research_archive_dir={folder}")
        done = plain("doctor", "--json", *on)
        assert done.code == 1
        assert "broken" in [state for state, _ in found(done, "archive")]


def test_it_fits_eighty_columns(plain: Cli) -> None:
    on = ("--set", "content_archive_enabled=true", "--set", "research_archive_dir=kept")
    out = plain("doctor", *LOCAL, "--set", "runtime=claude-code", *on).out
    told = [line for line in out.splitlines() if "tokens" in line or "archive" in line]
    assert len(told) > 5
    assert all(len(line) <= 80 for line in told)
