"""Writes the generated pages of this folder: ``python docs/generate.py``. A test holds them against it."""

from __future__ import annotations

import inspect
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from deep_research import DeepResearch
from deep_research.interfaces.cli.console import MEANINGS
from deep_research.interfaces.cli.options import COMMANDS, COMMON, PROGRAM, Option
from deep_research.setting_fields import SettingGroup, bounds, flatten, group_of
from deep_research.settings import Settings, env_variable, preset_names
from deep_research.state import ParkedKind
from deep_research.state.transitions import mermaid

HERE = Path(__file__).resolve().parent

INTRODUCTION = """\
# Settings

<!-- Written by docs/generate.py from the models in deep_research/settings and deep_research/state/task_settings.py. -->

You can give a setting in five places. The first place that has it wins:

1. an argument, in Python (`DeepResearch(max_iterations=2)`) or at the prompt;
2. an environment variable;
3. a file, section `[research]`: the file of `--config` or `DEEP_RESEARCH_CONFIG`, else `deep-research.toml` in the
   current folder, else `deep-research.toml` in the user's config folder. The engine reads exactly one file. It
   reads the one in the current folder without being asked, so that file has [fewer
   rights](#where-keys-and-documents-go);
4. a preset;
5. the default.

```toml
[research]
preset = "fast"
max_sub_queries = 4
corpus = ["papers", "notes.md"]

[research.fetch]
timeout = 10
```

Settings that belong together are members of a group, such as `fetch`:

| place | one member of a group |
| --- | --- |
| Python | `DeepResearch(fetch=FetchSettings(timeout=10))` or `DeepResearch(fetch={"timeout": 10})` |
| command line | `--fetch-timeout 10` or `--set fetch.timeout=10` |
| environment | `DEEP_RESEARCH_FETCH_TIMEOUT=10` |
| file | `timeout = 10` below `[research.fetch]` |

Each of these four sets only the members that it names. The other members keep their value from the next place in the list
above.

For an unknown name the error suggests the nearest known one. For a value out of bounds it names the setting, the
bounds, the value and its origin. `deep-research doctor` prints each value in force and where it comes from.

- In an environment variable, write a list with commas (`papers,notes.md`) or as JSON (`["papers", "notes.md"]`). An
  empty variable counts as not set; `none` removes a cap.
- A relative path in a file starts from that file's folder; anywhere else, from the current folder.
- `DEEP_RESEARCH_DATA_DIR` is another name for `DEEP_RESEARCH_HOME`, and overrides it.
- `system_prompt`, `language`, `audience`, `source_language` and `protected_sources` need a model or a service. If no
  agent of a run supports one of them, the notices and the report say so: "language has no effect: the report is
  written without a language model, in the words of its sources."
- `unit_timeout` covers all requests for one answer of a model, so it cannot be less than `operation_timeout`.

## Where keys and documents go

The engine sends a key only to its own service, or to an address that you name: by argument, by variable (also
`ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL`), with `--config`, or in your own file. It follows no redirect with a
key. `deep-research doctor` lists each server that a run asks, and the variable of the key that goes there. If a
key, or your question, goes to another server than the service's own, the run prints this at its start, and whether
a file of the folder caused it.

| a value that names | argument, variable, `--config`, your own file | `deep-research.toml` of the current folder |
| --- | --- | --- |
| a model or a service without an address | its key goes to its own server | the same |
| `openai:` or `anthropic:` with an address, in any setting of models | its key goes there | refused |
| `openai-compatible:` or `ollama:` with an address | no key goes there | only on this machine, without a key |
| an address in `search_urls` | the key of that service goes there | refused |
| a server in `mcp_servers` | its token goes to its address, or the engine starts its command | refused |
| a proxy in `fetch.proxy` | its own password goes there | only `off` and `environment` |
| a path (`corpus`, `data_dir`, files, `replay:FILE`) | anywhere | only inside the folder |

If the folder's file names a model file or a `data_dir`, the same limits hold for that model file and for the runs in that
`data_dir`. The engine does not resume a run whose set-up goes beyond them. If you trust the folder, name its file:
`--config deep-research.toml`.

## Reference
"""


def settings_page() -> str:
    groups = {name: group for name, field in Settings.model_fields.items() if (group := group_of(field))}
    own = _setting_table({name: f for name, f in Settings.model_fields.items() if name not in groups})
    tables = "".join(
        f"\n### {name}\n\n{_summary(group)} In Python: `{group.__name__}`.\n\n"
        + _setting_table({f"{name}.{member}": field for member, field in group.model_fields.items()})
        for name, group in groups.items()
    )
    return f"{INTRODUCTION}\n{own}{tables}\n## Presets\n\n{_presets()}"


def _summary(group: type[SettingGroup]) -> str:
    return inspect.cleandoc(group.__doc__ or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")


def _setting_table(fields: Mapping[str, FieldInfo]) -> str:
    rows = [
        (
            f"`{path}`",
            _default(field),
            bounds(field) or "-",
            f"`{env_variable(path)}`",
            str(field.description),
        )
        for path, field in fields.items()
    ]
    return _table(("name", "default", "bounds", "environment variable", "what it does"), rows)


def _default(field: FieldInfo) -> str:
    if field.default_factory is dict:
        return "-"
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
        values = flatten(Settings, tomllib.loads(text)["research"])
        changes = ", ".join(f"`{path} = {_toml(value)}`" for path, value in values.items())
        rows.append((f"`{name}`", changes or "-", purpose))
    return _table(("name", "changes", "what it is for"), rows)


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


COMMAND_LINE = """\
# Command line

<!-- Written by docs/generate.py from research/operations.py and interfaces/cli/options.py. -->

```console
$ deep-research run --sample "Who built the Bell Rock lighthouse?" --out report.md
```

`python -m deep_research` does the same as `deep-research`. Put options before or after the command, as `--option
VALUE` or `--option=VALUE`; you cannot abbreviate them, but common ones have a letter, `-o FILE`. After `--` nothing
is an option. For completion, add one line to the start-up file of your shell: `eval "$(deep-research completion
bash)"`, the same with `zsh`, or `deep-research completion fish | source`.

- The report (Markdown) goes to stdout, or to the file of `--out`; everything else goes to stderr. On a terminal
  the report is printed without Markdown escapes.
- On a terminal, progress is redrawn in place. Elsewhere it is one line for each finished phase and sub-query; so it
  is on a terminal with `--verbose`, or if log lines are printed. `NO_COLOR` works. Progress counts the documents that
  are indexed, and the pages of a web search.
- `--verbose` shows the plan, the reasons for gaps and decisions, and a line for every step.
- With `--json`, stdout is only JSON, and progress appears only with `--verbose`. `--out` then also writes the
  report.
- A run keeps its options (length, rounds, sources). If the run began with another length, `resume ID --set
  report_words=120` prints an error and its exit code is 2.
- Ctrl-C and SIGTERM stop a run and print how to resume it. A second signal ends the process at once.
- A run keeps its set-up. `resume ID` takes models, services, gates and settings from the run, and searches its
  documents where they were; you need `--corpus` only if they moved. If you give
  another value, as an argument, in the environment, a file or a preset, `resume` names the difference and its exit
  code is 2. With `--with-new-setup` it continues with the new values; the log and the report's limits say so. If a
  Python program gave a run its agents or hooks, resume the run from that program.
- `status` shows the answer so far to each part of the question and each sub-query, and what failed, even while the
  run works: [driving a run](driving.md).
- `list` and `status` say why a run stopped and how far it is: searches done and planned, sources and findings,
  tokens, dollars, and seconds of work over all processes. The dollars are unknown if a model's price is unknown;
  everything is unknown if the log cannot be read. A killed process loses the seconds since its last record.
- Below the report, `run` and `show` say if the models did not see everything that was found, and how many parts of
  the question the report answers.
- `show FILE` opens an evidence pack read-only. A damaged, foreign, newer or harmful file gives one error line
  and exit code 2. It writes only the file of `--out`.
- `list --limit 20` prints a page; `--after ID` with the last run of a page prints the next one.
"""
_KINDS = ", ".join(f"`{kind}`" for kind in ParkedKind)
JSON_CONTRACT = f"""\
## JSON

A *run object* has `research_id`, `query`, `user_id`, `session_id`, `status`, `reason`, `phase`, `iteration`,
`created_at`, `updated_at`, `priority` and `not_before` (of a queued run). Why it stopped: `message` (of an aborted
run), `waiting_for`, `until`, `pause_id` and `parked_kind` (of a parked run). How far it is: `seconds`,
`searches_done`, `searches_planned`, `sources`, `findings`, `tokens`, `cost_usd`, `answer_coverage`. The values of
`parked_kind` are {_KINDS}.

A *turn object* has `research_id`, `user_message`, `question` (as it was researched), `answer`, `sources`, `status`,
`searches` and `at`. A *memory object* has `id`, `user_id`, `kind`, `text`, `words` (from which it was made), `run_id` and
`at`.

| command | prints |
| --- | --- |
| `run`, `resume`, `answer`, `show` | one object with the fields of `ResearchResult` \
(`show FILE`: of the run in the pack): `status`, `report`, `sources`, `findings`, `claims`, `citations`, \
`completeness` (0 to 1, how much of the question the findings cover), `probability` (0 to 1, that the passages of \
a run without a model contain the answer), … |
| `run --estimate` | one object: `iterations`, `searches`, `fetches`, `model_calls`, `input_tokens`, `output_tokens`, \
`cost_usd` (each `low` and `high`), `phases` (the same by phase), `models` by role, `unpriced`, `set_aside`, `caps`, \
`notes` |
| `show --budget` | one object: `caps` (`name`, `cap`, `usage`), `usage`, `fidelity`, `least_kept` (the texts that were \
shortened most), `notices` (with limits), `advice` |
| `show --claims` | one object: `claims` and `repairs`, as in `ResearchResult` |
| `list` | an array of run objects |
| `submit`, `cancel` | one run object |
| `status` | one run object, and `answers`: for each part of the question and each sub-query its \
`question`, `state` \
(`open`, `searched`, `found`, `answered`, `partly`, `not_found`, `failed`), at most three `sentences` (`text`, \
`source_ids`), and the `reason` if there is no answer; `limits` and `notices`: what failed or was left out |
| `events` | one JSON object for each event, one a line |
| `waiting` | an array of objects: `research_id`, `query`, `user_id`, `session_id`, `kind`, `waiting_for`, `until`, \
`asks` (whether it takes an answer), `answer_schema` (JSON schema of the answer) |
| `wake` | an array of objects: `research_id`, `status` |
| `steer`, `pause`, `delete` | `{{"steered": ID}}`, `{{"paused": ID}}`, `{{"deleted": ID}}` |
| `answer --no-run` | `{{"answered": ID}}` |
| `worker` | `{{"runs": N}}` when it ends: the runs that it worked on |
| `serve`, `researcher` | `{{"address": URL}}` as soon as it listens |
| `chat` | one turn object for each question, one a line |
| `assist` | one object, the plan: `id`, `request`, `steps`, `index`, `completed`, `messages`, `status`, `message`, … |
| `assist --list` | an array of objects: `id`, `request`, `steps`, `index`, `status`, `message` |
| `assist --delete` | nothing |
| `sessions list` | an array of objects: `session_id`, `user_id`, `title`, `question` (the first), `turns`, \
`created_at`, `updated_at`, `latest_run_id`, `latest_run_at` |
| `sessions show` | an array of turn objects, oldest first |
| `sessions export` | one object: `session_id`, `user_id`, `turns` (turn objects); with `--out` nothing |
| `sessions rename`, `sessions delete` | `{{"renamed": SESSION}}`; `{{"deleted": SESSION, "runs": N}}` |
| `memory list` | an array of memory objects |
| `memory show`, `memory add`, `memory edit` | one memory object |
| `memory export` | one object: `user_id`, `entries` (memory objects); with `--out` nothing |
| `memory forget` | `{{"forgotten": N}}` |
| `token add`, `token revoke` | `{{"name": NAME, "token": TOKEN}}`; `{{"revoked": NAME}}` |
| `token list` | an array of objects: `name`, `user`, `role`, `created`, `revoked`, `max_open_runs`, `max_usd` |
| `pack` | one object, the manifest: `research_id`, `package`, `checker`, `members` (`size`, `sha256` by name) |
| `verify` | one object: `holds`, `research_id`, `members`, `texts`, `quotes`, `claims`, `failures` and `differing` \
(`place`, `what`), `checker`, `own_checker` |
| `replay` | the same as `events` |
| `archive list` | an array of objects: `content_hash`, `archived_at`, `expires_at`, `size` in bytes |
| `archive restore` | one object: `content_hash`, `content`, `item_id`, `item_type`, `archived_at`, `archive_reason`, \
`original_tokens`, `metadata` |
| `archive clean` | `{{"removed": N}}` |
| `doctor` | one object: `ok`, `checks` (`name`, `state`, `detail`), `settings` (`name`, `value`, `origin`) |

An error is one object on stderr: `{{"error": {{"code": …, "message": …, "hint": …}}}}`. After Ctrl-C its code is
`interrupted`, and its hint has the command that resumes the run.
"""


def command_line_page() -> str:
    commands = "\n".join(
        f"### {command.name}\n\n{command.summary}\n\n```console\n$ {command.example}\n```\n\n"
        + _option_table([*_arguments(command.arguments), *map(_option, command.options)])
        for command in COMMANDS
    )
    codes = _table(("code", "meaning"), [(f"{code:d}", meaning) for code, meaning in MEANINGS.items()])
    return (
        f"{COMMAND_LINE}\n## Exit codes\n\n{codes}\n{JSON_CONTRACT}\n"
        f"## Options of every command\n\n{_option_table(list(map(_option, COMMON)))}\n"
        f"`{PROGRAM} --version` prints the version, `--help` the help of the program or of a command, `--help-all` \
with the options of every command.\n\n"
        f"## Commands\n\n{commands}"
    )


def _arguments(arguments: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"`{name}`", text) for name, text in arguments]


def _option(option: Option) -> tuple[str, str]:
    return f"`{option.usage}`", option.help


def _option_table(rows: Sequence[tuple[str, str]]) -> str:
    return _table(("option", "what it does"), rows) if rows else "This command has no options of its own.\n"


def architecture_page() -> str:
    """The page as it is, with the diagram made anew."""
    page = (HERE / "architecture.md").read_text(encoding="utf-8")
    opening, _, rest = page.partition("```mermaid\n")
    return f"{opening}```mermaid\n{mermaid()}```{rest.partition('```')[2]}"


BY_HAND = "*The model's answers in this example were written by hand: see [about the reports](about-the-reports.md).*"
SAMPLE_QUESTION = "How tall is the Cape Hatteras lighthouse?"


def readme_page() -> str:
    """The page as it is, with the sample report made anew."""
    page = (HERE.parent / "README.md").read_text(encoding="utf-8")
    corpus = HERE / "examples" / "corpus"
    with tempfile.TemporaryDirectory() as folder, DeepResearch(corpus=corpus, data_dir=folder) as research:
        report = research.run(SAMPLE_QUESTION).report or ""
    opening, _, rest = page.partition("```text\n")
    return f"{opening}```text\n{report.strip()}\n```{rest.partition('```')[2]}"


def model_report_page() -> str:
    """The report that a person's answers make, and that they are a person's."""
    from handwritten import report

    return f"{BY_HAND}\n\n{report()}"


PAGES = {
    "examples/cape-hatteras-with-a-model.md": model_report_page,
    "../README.md": readme_page,
    "settings.md": settings_page,
    "cli.md": command_line_page,
    "architecture.md": architecture_page,
}

sys.path.insert(0, str(HERE))

if __name__ == "__main__":
    for page, write in PAGES.items():
        (HERE / page).write_text(write(), encoding="utf-8", newline="\n")
