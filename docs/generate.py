"""Writes the generated pages of this folder: ``python docs/generate.py``. A test holds them against it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deep_research.settings import Settings, bounds, env_variable, preset_names

HERE = Path(__file__).resolve().parent

INTRODUCTION = """\
# Settings

<!-- Written by docs/generate.py from the model in deep_research/settings/model.py. -->

Every setting may be given in five places. The first that names it wins:

1. an argument, in Python (`DeepResearch(max_iterations=2)`) or at the prompt;
2. an environment variable;
3. a file, section `[research]`: the one that `--config` or `DEEP_RESEARCH_CONFIG` names, else
   `deep-research.toml` in the current folder, else `deep-research.toml` in the user's config folder. Exactly
   one file is read;
4. a preset;
5. the default.

```toml
[research]
preset = "fast"
max_sub_queries = 4
corpus = ["papers", "notes.md"]
```

A name that does not exist is refused with the nearest one that does. A value out of its bounds is refused
with the setting, the bounds, the value and the place it came from. `deep-research doctor` prints each value
in force and where it came from.

- A list in an environment variable is written with commas (`papers,notes.md`) or as JSON
  (`["papers", "notes.md"]`). An empty variable counts as not set; `none` takes a cap away.
- A relative path in a file starts from that file's folder; anywhere else, from the current folder.
- `DEEP_RESEARCH_DATA_DIR` does the same as `DEEP_RESEARCH_HOME`, and wins over it.
- `heartbeat` may be at most half of `lease_ttl`, so that one late renewal does not cost a run its owner.

## Reference
"""


def settings_page() -> str:
    rows = [
        (f"`{name}`", _default(name), bounds(name) or "-", f"`{env_variable(name)}`", str(field.description))
        for name, field in Settings.model_fields.items()
    ]
    reference = _table(("name", "default", "bounds", "environment variable", "what it does"), rows)
    return f"{INTRODUCTION}\n{reference}\n## Presets\n\n{_presets()}"


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    if field.default_factory is not None:
        return "the user's data folder"
    default = field.default
    if default in (None, ()):
        return "-"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def _presets() -> str:
    rows = []
    for name in preset_names():
        text = (HERE.parent / "config" / f"{name}.toml").read_text("utf-8")
        purpose = " ".join(
            line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")
        )
        values = tomllib.loads(text)["research"]
        changes = ", ".join(f"`{key} = {_toml(value)}`" for key, value in values.items())
        rows.append((f"`{name}`", changes or "-", purpose))
    return _table(("name", "changes", "what it is for"), rows)


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


PAGES = {"settings.md": settings_page}

if __name__ == "__main__":
    for page, write in PAGES.items():
        (HERE / page).write_text(write(), encoding="utf-8", newline="\n")
