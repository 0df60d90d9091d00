"""Sources of settings: arguments, environment, a file, a preset, the defaults, in this order."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from deep_research.errors import SettingsError, UnknownNameError
from deep_research.files import read_regular
from deep_research.settings.folder_file import FolderFile
from deep_research.settings.model import Settings, kind, optional
from deep_research.settings.values import EVERY_SETTING, display_value, one_line, plain

PREFIX = "DEEP_RESEARCH_"
CONFIG_VARIABLE = "DEEP_RESEARCH_CONFIG"
CONFIG_NAME = "deep-research.toml"
SECTION = "research"
_ALIASES = {"DEEP_RESEARCH_HOME": "data_dir"}
MAX_FILE_BYTES = 1_000_000

# As an argument: takes a cap away, where None would mean that nothing was given.
UNSET: Any = object()

# In an installed package the presets lie inside it; in a source checkout beside it. The inside wins, because
# a folder called `config` beside an installed package belongs to someone else.
_PACKAGE = Path(__file__).resolve().parents[1]
_PRESET_FOLDERS = (_PACKAGE / "data" / "config", _PACKAGE.parent / "config")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSettings:
    """The settings in force. ``origins`` names for each setting where its value came from: «argument», the
    name of the environment variable, the path of the file, «preset NAME» or «default». ``folder_file`` is the file of
    the current folder that nobody named, None where no setting is in force that comes from one."""

    settings: Settings
    origins: dict[str, str]
    folder_file: FolderFile | None = None


@dataclass(frozen=True, slots=True)
class _Layer:
    """Values of one source. ``base`` is the folder that its relative paths start from."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    base: Path
    folder_file: FolderFile | None = None


def load_settings(
    *,
    overrides: Mapping[str, Any],
    config: Path | str | None = None,
    preset: str | None = None,
    environ: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
) -> ResolvedSettings:
    """Read every source and return the settings in force, with their origins.

    ``overrides`` are arguments; one that is None counts as not given, one that is
    `UNSET` as none wanted. ``config`` names the file to read;
    without it `DEEP_RESEARCH_CONFIG`, then `deep-research.toml` in ``cwd``, then in the user's config folder.
    Exactly one file is read; the one that is found in ``cwd`` may name no address and no path outside of it (see
    `folder_file`). Paths become absolute: from the file's folder for those in a file, from ``cwd`` (default: the
    current folder) for all others.

    Raises `UnknownNameError` for a name that does not exist and `SettingsError` for a value out of its
    bounds or a file that cannot be read.
    """
    cwd = (cwd or Path.cwd()).absolute()
    arguments = _arguments(dict(overrides) | {"preset": preset or overrides.get("preset")}, cwd)
    environment = _environment(environ, cwd)
    file = _config_file(config or environ.get(CONFIG_VARIABLE), cwd)
    preset_name = next(
        (layer.values["preset"] for layer in (arguments, environment, file) if "preset" in layer.values),
        "default",
    )
    return _merge((_preset(preset_name), file, environment, arguments))


def setting_from_text(name: str, text: str) -> Any:
    """The value that a text stands for, read as an environment variable's: for arguments typed at a prompt.

    Raises `UnknownNameError`. A text that does not parse is given back: `load_settings` refuses it.
    """
    _check_name(name)
    value = _parsed(name, text.strip())
    return UNSET if value is None else value


def preset_names() -> list[str]:
    """The presets that are installed, in alphabetical order."""
    return sorted(_presets())


def preset_values(name: str) -> Mapping[str, Any]:
    """The settings that a preset names. Raises `UnknownNameError`."""
    return _preset(name).values


def env_variable(name: str) -> str:
    """The environment variable that the reference names for a setting."""
    return next((alias for alias, target in _ALIASES.items() if target == name), PREFIX + name.upper())


def _merge(layers: tuple[_Layer, ...]) -> ResolvedSettings:
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    of_layer: dict[str, _Layer] = {}
    for layer in layers:
        for name, value in layer.values.items():
            values[name] = _absolute(name, value, layer)
            origins[name] = layer.origins[name]
            of_layer[name] = layer
    file = next((layer.folder_file for layer in layers if layer.folder_file), None)
    in_force = frozenset(name for name, layer in of_layer.items() if layer.folder_file)
    return ResolvedSettings(
        settings=Settings.model_validate(values, context={"origins": origins}),
        origins=origins,
        folder_file=replace(file, in_force=in_force) if file and in_force else None,
    )


def _absolute(name: str, value: Any, layer: _Layer) -> Any:
    """A path, made to start from the layer's folder. All else stays: the model refuses what is no path."""
    if name not in _path_settings():
        return value
    if isinstance(value, list | tuple):
        return tuple(_absolute(name, item, layer) for item in value)
    if isinstance(value, Mapping):
        return {key: _absolute(name, item, layer) for key, item in value.items()}
    if not isinstance(value, str | Path) or not str(value):
        return value
    try:
        return str(layer.base / Path(value).expanduser())
    except RuntimeError:
        origin = layer.origins[name]
        raise SettingsError(
            f"{name} names the home folder of an unknown user, got {display_value(value)} (from {origin}).",
            setting=name,
        ) from None


@cache
def _path_settings() -> frozenset[str]:
    sorts = {name: kind(Settings, name) for name in Settings.model_fields}
    return frozenset(name for name, sort in sorts.items() if Path in (sort, *_leaves(sort)))


def _leaves(sort: object) -> Iterator[object]:
    for part in get_args(sort):
        yield part
        yield from _leaves(part)


# --- arguments ---------------------------------------------------------------------------------------------


def _arguments(overrides: Mapping[str, Any], cwd: Path) -> _Layer:
    for name in overrides:
        _check_name(name)
    values = {
        name: None if value is UNSET else value for name, value in overrides.items() if value is not None
    }
    return _Layer(values, dict.fromkeys(values, "argument"), cwd)


def _check_name(name: str, where: str = "") -> None:
    if name not in Settings.model_fields:
        raise UnknownNameError.of(
            "setting", plain(name), Settings.model_fields, where=where, listed=EVERY_SETTING
        )


# --- environment -------------------------------------------------------------------------------------------


def _environment(environ: Mapping[str, str], cwd: Path) -> _Layer:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    # Sorted, so that of a setting's two variables the one with its own name comes last and wins.
    for variable in sorted(environ, key=lambda key: (key not in _ALIASES, key)):
        if not variable.startswith(PREFIX) or variable == CONFIG_VARIABLE:
            continue
        name = _ALIASES.get(variable) or variable.removeprefix(PREFIX).lower()
        _check_name(name, where=plain(variable))
        text = environ[variable].strip()
        if text:  # an empty variable counts as not set, as in most tools
            values[name] = _parsed(name, text)
            origins[name] = variable
    return _Layer(values, origins, cwd)


def _parsed(name: str, text: str) -> Any:
    """The value that a variable's text stands for. Text that does not parse is handed on as it is: the model
    refuses it and says what it wants."""
    if optional(Settings, name) and text.lower() in ("none", "null"):
        return None
    sort = kind(Settings, name)
    try:
        if sort in (int, float):
            return sort(text)
        if sort is bool:
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        if get_origin(sort) is dict and text.startswith("{"):
            return json.loads(text)
        if get_origin(sort) in (tuple, dict):
            return _items(text)
    except ValueError:
        return text
    return text


def _items(text: str) -> list[Any]:
    """A JSON list, or names with commas between them."""
    if text.startswith("["):
        items = json.loads(text)
        return items if isinstance(items, list) else [text]
    return [item for item in (part.strip() for part in text.split(",")) if item]


# --- files -------------------------------------------------------------------------------------------------


def _config_file(location: Path | str | None, cwd: Path) -> _Layer:
    if location:
        path = cwd / Path(location).expanduser()
        document = _read_toml(path, _display(path, cwd))
        if document is None:
            raise SettingsError(
                f"There is no config file {one_line(str(location))}.", hint="Check the path, or remove it."
            )
        return _file_layer(path, document, _display(path, cwd))
    for path in (cwd / CONFIG_NAME, _user_config_dir() / CONFIG_NAME):
        where = _display(path, cwd)
        document = _read_toml(path, where)
        if document is not None:
            layer = _file_layer(path, document, where)
            if path.parent == cwd != _user_config_dir():
                file = FolderFile(folder=cwd, where=where, path_settings=_path_settings())
                file.check(layer.values)
                return replace(layer, folder_file=file)
            return layer
    return _Layer({}, {}, cwd)


def _user_config_dir() -> Path:
    import platformdirs  # here, because importing the package must stay cheap

    return platformdirs.user_config_path("deep-research", appauthor=False)


def _display(path: Path, cwd: Path) -> str:
    return one_line(str(path.relative_to(cwd) if path.is_relative_to(cwd) else path))


def _file_layer(path: Path, document: Mapping[str, Any], where: str) -> _Layer:
    values = _section(document, where)
    return _Layer(values, dict.fromkeys(values, where), path.parent)


def _section(document: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    for name in document:
        if name in Settings.model_fields:
            raise SettingsError(
                f"{name} is outside of a section in {where}.",
                hint=f"Move it below [{SECTION}].",
                setting=name,
            )
        if name != SECTION:
            raise UnknownNameError.of("section", plain(name), [SECTION], where=where)
    values = document.get(SECTION, {})
    if not isinstance(values, Mapping):
        raise SettingsError(f"{SECTION} must be a section in {where}.", hint=f"Write it as [{SECTION}].")
    for name in values:
        _check_name(name, where=where)
    return values


def _read_toml(path: Path, where: str) -> dict[str, Any] | None:
    """The document, or None when there is no such file. Reads UTF-8 with or without a byte-order mark."""
    import tomllib  # here, because importing the package must stay cheap

    try:
        raw = read_regular(path, MAX_FILE_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # ValueError: a path that no file system takes
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(f"The config file {where} cannot be read: {reason}.") from None
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SettingsError(
            f"The config file {where} is not UTF-8 text, line {line}.", hint="Save it as UTF-8.", line=line
        ) from None
    except tomllib.TOMLDecodeError as error:
        line, reason = _place(str(error), raw)
        raise SettingsError(
            f"The config file {where} is not valid TOML, line {line}: {reason}.", line=line
        ) from None
    except RecursionError:
        raise SettingsError(f"The config file {where} is nested too deeply.") from None


def _place(message: str, raw: bytes) -> tuple[int, str]:
    """The parser's line and reason; it gives the line only inside its message."""
    reason, _, place = message.rpartition(" (")
    match = re.search(r"line (\d+)", place)
    return (int(match[1]) if match else raw.count(b"\n") + 1), one_line(reason or message)


# --- presets -----------------------------------------------------------------------------------------------


def _presets() -> dict[str, Path]:
    folder = next((folder for folder in _PRESET_FOLDERS if folder.is_dir()), None)
    return {path.stem: path for path in folder.glob("*.toml")} if folder else {}


def _preset(name: Any) -> _Layer:
    presets = _presets()
    if not isinstance(name, str) or name not in presets:
        raise UnknownNameError.of("preset", plain(str(name)), presets)
    path = presets[name]
    layer = _file_layer(path, _read_toml(path, path.name) or {}, f"preset {name}")
    if "preset" in layer.values:
        raise SettingsError(
            f"The preset {name} names a preset.", hint="A preset cannot contain another preset."
        )
    return layer
