from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import SettingsError, UnknownNameError
from deep_research.setting_fields import flatten, nest, value_at
from deep_research.settings import Settings, load_settings, preset_names, sources

CONFIG = Path(__file__).resolve().parents[1] / "config"
NAMES = ["agents", "deep", "default", "fast", "offline"]


@pytest.fixture(autouse=True)
def no_user_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "user-config")


def load(preset: str, cwd: Path) -> Settings:
    return load_settings(overrides={}, preset=preset, environ={}, cwd=cwd).settings


def test_the_presets_are_the_files_of_the_config_folder() -> None:
    assert preset_names() == NAMES == sorted(path.stem for path in CONFIG.glob("*.toml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_gives_what_its_file_says_and_nothing_else(name: str, tmp_path: Path) -> None:
    values: dict[str, Any] = tomllib.loads((CONFIG / f"{name}.toml").read_text("utf-8"))["research"]
    plain = load("default", tmp_path)
    changed = {
        path: list(value) if isinstance(value, tuple) else value
        for path, value in flatten(Settings, dict(load(name, tmp_path))).items()
        if value != value_at(plain, path) and path != "preset"
    }
    assert nest(changed) == values


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_opens_with_a_comment_on_what_it_is_for(name: str) -> None:
    assert (CONFIG / f"{name}.toml").read_text("utf-8").startswith("# ")


def test_fast_asks_for_less_than_the_default_and_deep_for_more(tmp_path: Path) -> None:
    fast, plain, deep = (load(name, tmp_path) for name in ("fast", "default", "deep"))
    for name in ("max_iterations", "max_sub_queries", "max_sources_per_query", "report_words"):
        assert getattr(fast, name) < getattr(plain, name) < getattr(deep, name)


def test_offline_searches_local_documents_only(tmp_path: Path) -> None:
    assert load("offline", tmp_path).search == ("corpus",)


@pytest.mark.parametrize("name", ["fats", "../fast", "fast.toml", "FAST"])
def test_an_unknown_preset_is_refused_with_those_there_are(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=f"Unknown preset '{name}'"):
        load(name, tmp_path)


def test_a_slip_in_a_presets_name_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'offline'"):
        load("ofline", tmp_path)


def test_presets_inside_the_package_win_over_a_folder_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, beside = tmp_path / "inside", tmp_path / "beside"
    for folder, rounds in ((inside, 7), (beside, 9)):
        folder.mkdir()
        (folder / "default.toml").write_text(f"[research]\nmax_iterations = {rounds}", encoding="utf-8")
    monkeypatch.setattr(sources, "_PRESET_FOLDERS", (inside, beside))
    assert load("default", tmp_path).max_iterations == 7
    monkeypatch.setattr(sources, "_PRESET_FOLDERS", (tmp_path / "none", beside))
    assert load("default", tmp_path).max_iterations == 9


def test_a_preset_cannot_name_a_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "odd.toml").write_text('[research]\npreset = "fast"', encoding="utf-8")
    monkeypatch.setattr(sources, "_PRESET_FOLDERS", (tmp_path,))
    with pytest.raises(SettingsError, match="preset odd names a preset"):
        load("odd", tmp_path)
