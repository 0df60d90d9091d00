"""The bounds of a settings file that nobody named: the `deep-research.toml` of the current folder.

A folder may come from anybody. Its file changes how a run works, but sends no key and no document to another place,
starts no program, and reaches no file outside of the folder. The same bounds hold for the model file that it names, and
for the set-ups of runs in its ``data_dir``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deep_research.addresses import is_loopback
from deep_research.errors import SettingsError
from deep_research.files import read_regular
from deep_research.setting_fields import display_value

# Free text, and sites that the engine only filters by: an address in them is not contacted.
FREE_TEXTS = (
    *("system_prompt", "audience", "language", "fetch.contact", "domains", "not_domains"),
    *("quality.high", "quality.medium", "quality.low", "protected_sources"),
)
_MODEL_SETTINGS = ("model", "models", "summarization.model", "model_file")
_KEYLESS_MODELS = ("ollama:", "openai-compatible:")  # to which the engine sends no key of another service
_MAX_MODEL_FILE_BYTES = 1_000_000
_FILE_MODEL = "replay:"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """The file of the current folder. ``where`` is its path as it is displayed, ``path_settings`` are the settings that
    hold paths, ``in_force`` those whose value is the file's."""

    folder: Path
    where: str
    path_settings: frozenset[str] = field(repr=False)
    in_force: frozenset[str] = frozenset()

    def check(self, values: Mapping[str, Any], source: str = "") -> None:
        """Raises `SettingsError` for a value that starts a program, names an address on another machine, or names a path
        outside of the folder. ``source`` is what the values stand in, if not in the file itself."""
        source = source or self.where
        for name, value in values.items():
            if name == "mcp_servers" and value:
                what = "a program that would be started, or a server to which questions would go"
                raise self._refusal(
                    name, ", ".join(value) if isinstance(value, Mapping) else "", what, source
                )
            for text in _texts(value):
                if name in self.path_settings:
                    self._check_path(name, text, source)
                elif name not in FREE_TEXTS:
                    self._check_text(name, text, source)
                if name == "model_file":
                    self._check_model_file(text)

    def _check_text(self, name: str, text: str, source: str) -> None:
        model = (text.partition("=")[2] if name == "models" and "=" in text else text).strip()
        if "://" in text or name == "search_urls":
            is_keyless = name in _MODEL_SETTINGS and model.startswith(_KEYLESS_MODELS)
            if not (is_keyless and _is_here(model.partition("@")[2])):
                raise self._refusal(name, text, "an address, to which keys or documents would go", source)
        elif _FILE_MODEL in model:
            self._check_path(name, model.partition(_FILE_MODEL)[2], source)

    def _check_path(self, name: str, text: str, source: str) -> None:
        try:
            is_within = (
                (self.folder / Path(text).expanduser()).resolve().is_relative_to(self.folder.resolve())
            )
        except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown user, a NUL
            is_within = False
        if not is_within:
            raise self._refusal(name, text, "a path outside of its folder", source)

    def _check_model_file(self, text: str) -> None:
        """A profile names the model that is asked in place of another. A file that cannot be read is left to the code
        that reads it."""
        import tomllib  # here, because importing the package must stay cheap

        path = self.folder / Path(text).expanduser()
        try:
            profiles = tomllib.loads(read_regular(path, _MAX_MODEL_FILE_BYTES).decode("utf-8"))
        except (OSError, ValueError, RecursionError):
            return
        for each in _texts(profiles):
            self._check_text("model_file", each, path.name)

    def _refusal(self, name: str, text: str, what: str, source: str) -> SettingsError:
        return SettingsError(
            f"{name} in {source} names {what}: {display_value(text)}.",
            hint=f"If you trust the folder, name its file: --config {self.where}, or config={self.where!r}.",
            setting=name,
        )


def _is_here(address: str) -> bool:
    try:
        return is_loopback(address)
    except ValueError:
        return False


def _texts(value: Any) -> Iterator[str]:
    """All texts and paths in a value."""
    if isinstance(value, str | Path):
        yield str(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
