"""The bounds of a settings file that nobody named: the `deep-research.toml` of the current folder.

A folder may come from anybody. Its file changes how a run works, but sends no key and no document to another place, and
reaches no file outside of the folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deep_research.addresses import is_loopback
from deep_research.errors import SettingsError
from deep_research.settings.values import shown

# Words for models and reports, and sites that no request goes to on account of them.
FREE_TEXTS = (
    *("system_prompt", "audience", "language", "contact", "domains", "not_domains"),
    *("high_quality", "medium_quality", "low_quality"),
)
KEYLESS_MODELS = ("ollama:", "openai-compatible:")  # services that no key of another place goes to
_FILE_MODEL = "replay:"


def check_reach(values: Mapping[str, Any], paths: frozenset[str], folder: Path, where: str) -> None:
    """Raises `SettingsError` for a setting by which the file reaches out. ``paths`` are the settings that hold paths."""
    for name, value in values.items():
        for text in _texts(value):
            if name in paths:
                _check_path(name, text, folder, where)
            elif name not in FREE_TEXTS:
                _check_text(name, text, folder, where)


def _check_text(name: str, text: str, folder: Path, where: str) -> None:
    model = (text.partition("=")[2] if name == "models" and "=" in text else text).strip()
    if "://" in text or name == "search_urls":
        is_keyless = name in ("model", "models") and model.startswith(KEYLESS_MODELS)
        if not (is_keyless and _is_here(model.partition("@")[2])):
            raise _refusal(name, text, "an address, to which keys or documents would go", where)
    elif _FILE_MODEL in model:
        _check_path(name, model.partition(_FILE_MODEL)[2], folder, where)
    elif name == "dense_model" and Path(text).expanduser().exists():
        raise _refusal(name, text, "a model that is a file", where)


def _check_path(name: str, text: str, folder: Path, where: str) -> None:
    try:
        is_within = (folder / Path(text).expanduser()).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown user, a NUL
        is_within = False
    if not is_within:
        raise _refusal(name, text, "a path outside of its folder", where)


def _is_here(address: str) -> bool:
    try:
        return is_loopback(address)
    except ValueError:
        return False


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value of a TOML file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _refusal(name: str, text: str, what: str, where: str) -> SettingsError:
    return SettingsError(
        f"{name} in {where} names {what}: {shown(text)}.",
        hint=f"If you trust the file, name it: --config {where}, or config={where!r}.",
        setting=name,
    )
