"""The commands and options of the command line.

Commands that are verbs of the engine take their help and options from `OPERATIONS`; the rest stands in the tables below.
The parsers, completion and docs/cli.md are made from them. Importing this module loads nothing of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deep_research.research.operations import OPERATIONS, Parameter

PROGRAM = "deep-research"
PATHS = ("PATH", "FILE", "DIR")  # the values that are paths
_RUN = "deepres-0123456789ab"
_ID = ("ID", f"The run, such as {_RUN}.")
_FLAGS = {
    "drop_sub_query": "--drop",
    "path": "-o, --out",
}  # of parameters that have another name at the prompt
_PRESETS = ("default", "fast", "deep", "agents", "offline")
_LEVELS = ("debug", "info", "warning", "error")
_DEPTHS = ("quick", "standard", "deep", "auto")
_FORMATS = ("html", "docx")
_KINDS = ("profile", "preferences", "episodes", "sessions")
_ROLES = ("reader", "runner", "admin")
_MODELS = "Language model for all agents, as SERVICE:MODEL; repeat it to name fallbacks."
_NAMED_SETS = f"Named set of values to start from: {', '.join(_PRESETS)}."
_STRICT = "Least share of supported claims, such as 0.9; else give no report."
_QUESTION = (("QUESTION", "The question; - reads it from stdin."),)
_ASKING = '"Who built Bell Rock?" --corpus docs/'


@dataclass(frozen=True, slots=True)
class Option:
    """One option, its ``usage`` as help shows it: ``-o, --out FILE``. Without a value it is a switch; ``name`` is where
    its value is found, and ``choices`` are what a shell offers for it. ``of_verb``: it is a parameter of the command's
    operation."""

    usage: str
    help: str
    name: str = ""
    repeats: bool = False
    choices: tuple[str, ...] = ()
    of_verb: bool = False
    required: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(word.rstrip(",") for word in self.usage.split() if word.startswith("-"))

    @property
    def flag(self) -> str:
        return self.flags[-1]

    @property
    def short(self) -> str:
        return self.flags[0] if len(self.flags) > 1 else ""

    @property
    def metavar(self) -> str:
        return self.usage.partition(self.flag)[2].strip()

    @property
    def dest(self) -> str:
        return self.name or self.flag.lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``arguments`` are its positional ones, as (name, help); one in square brackets may be left out,
    and the first word of the name is that of the value. ``positional`` are the parameters of its operation among them.
    ``choices`` are what a shell offers for the first."""

    name: str
    summary: str
    example: str
    arguments: tuple[tuple[str, str], ...] = ()
    options: tuple[Option, ...] = ()
    choices: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        return " ".join([self.name, *(name for name, _ in self.arguments)])


def _verb(
    verb: str,
    *more: Option,
    name: str = "",
    example: str = "",
    arguments: tuple[tuple[str, str], ...] | None = None,
    without: Sequence[str] = (),
) -> Command:
    """The command of an operation, with ``more`` options, and ``without`` the parameters that these stand for.
    ``name`` is that of the command, where it is another."""
    operation, name = OPERATIONS[verb], name or verb
    parameters = [parameter for parameter in operation.parameters if parameter.name not in without]
    positional = [parameter for parameter in parameters if parameter.positional]
    if arguments is None:
        arguments = (*((_ID,) if operation.of_run else ()), *map(_argument, positional))
    return Command(
        name,
        operation.summary,
        f"{PROGRAM} {name} {example or _RUN * operation.of_run}".rstrip(),
        arguments,
        (*(_option(parameter) for parameter in parameters if not parameter.positional), *more),
        positional=tuple(parameter.name for parameter in positional),
    )


def _argument(parameter: Parameter) -> tuple[str, str]:
    return (f"[{parameter.value}]" if parameter.optional else parameter.value), parameter.help


def _option(parameter: Parameter) -> Option:
    flag = _FLAGS.get(parameter.name, f"--{parameter.name.replace('_', '-')}")
    usage = f"{flag} {parameter.value}".rstrip()
    return Option(usage, parameter.help, parameter.name, of_verb=True, required=not parameter.optional)


COMMON = (
    Option("-c, --corpus PATH", "Folder or file of documents to search; repeatable.", repeats=True),
    Option(
        "--search NAME", "What to search: corpus, web, or a service such as tavily; repeatable.", repeats=True
    ),
    Option("--local-only", "Never use the network."),
    Option("-m, --model NAME", _MODELS, repeats=True),
    Option("--preset NAME", _NAMED_SETS, choices=_PRESETS),
    Option("--config FILE", "Settings file (TOML) to read."),
    Option("--data-dir DIR", "Folder of the runs; by default DEEP_RESEARCH_HOME or the user's."),
    Option(
        "--set NAME=VALUE", "Any setting of docs/settings.md, also as --NAME VALUE; repeatable.", repeats=True
    ),
    Option("--json", "Print JSON on stdout, and errors as JSON on stderr."),
    Option("-q, --quiet", "Print no progress, and no closing line after a completed run."),
    Option("-v, --verbose", "Print more: the plan, the reasons for gaps and decisions, every step."),
    Option("--log-level LEVEL", f"Print log lines on stderr: {', '.join(_LEVELS)}.", choices=_LEVELS),
)
_OUT = Option("-o, --out FILE", "Write the report to FILE instead of stdout.")
_SAMPLE = Option("--sample", "Search the sample documents that come with the package.")
_CAPS = (
    Option("--max-usd USD", "Cap on the dollars of the run."),
    Option("--max-tokens N", "Cap on the tokens of the run, input and output together."),
    Option("--max-model-calls N", "Cap on the run's requests to language models."),
    Option("--max-searches N", "Cap on the searches of the run."),
    Option("--max-fetches N", "Cap on the pages that the run fetches."),
    Option("--max-seconds S", "Cap on the seconds of work of the run."),
)
_OF_RUN = (
    Option("--depth NAME", "How thorough: quick, standard, deep, or auto.", choices=_DEPTHS),
    Option("--max-iterations N", "Rounds of searching and writing."),
    Option("--max-sub-queries N", "Most sub-queries of the plan, or auto."),
    Option("--max-sources-per-query N", "Sources that each sub-query keeps."),
    Option("--words N", "Target length of the report, in words.", name="report_words"),
    Option("--strict FRACTION", _STRICT, name="min_supported"),
    *_CAPS,
    Option("--approve-plan", "Show the plan before searching, and wait for approval."),
    Option("--system-prompt TEXT", "Instructions for every agent, added to its own."),
)
_TOKENS = Option(
    "--tokens FILE", "File of tokens; by default tokens.jsonl in the data directory, if it exists."
)


def _server(name: str, summary: str, port: int) -> Command:
    options = (
        Option("--host HOST", "Address to listen on; by default 127.0.0.1."),
        Option("--port N", f"Port to listen on; by default {port}."),
        _TOKENS,
        Option("--concurrency N", "Work on at most N runs at once; by default 4."),
        Option("--drain-seconds N", "Seconds that runs get to finish a step at the end; by default 10."),
        Option("--allowed-host NAME", "Host name by which clients reach it; repeatable.", repeats=True),
        _SAMPLE,
    )
    return Command(name, summary, f"{PROGRAM} {name} --corpus docs/ --port {port}", options=options)


_ESTIMATE = Option("--estimate", "Print what the run may use, and do not start it.")

COMMANDS = (
    _verb("run", _OUT, _SAMPLE, *_OF_RUN, _ESTIMATE, example=_ASKING, arguments=_QUESTION),
    Command(
        "chat",
        "Ask questions in turn; each may refer to the ones before.",
        f"{PROGRAM} chat --corpus docs/ --session towers",
        options=(
            Option("--session NAME", "The session to continue or to begin."),
            Option("--user ID", "User of the session."),
            _SAMPLE,
            *_OF_RUN,
        ),
    ),
    Command(
        "assist",
        "Carry out a request that needs more than research.",
        f'{PROGRAM} assist "Who built Bell Rock?" --plan research,create_document',
        (("[REQUEST]", "The request; - reads it from stdin."),),
        (
            Option("--plan NAMES", "Capabilities to use in this order, such as research,create_document."),
            Option("--agents FILE", "File (TOML) of services with more capabilities."),
            Option(
                "--approve NAME",
                "Allow one call of this capability, which may change or send something.",
                repeats=True,
            ),
            Option("--format NAME", "Format of the document: html or docx.", choices=_FORMATS),
            Option("-o, --out FILE", "Write the document to FILE (.html or .docx)."),
            Option("--resume PLAN", "Continue a plan."),
            Option("--list", "Print the plans in this data directory."),
            Option("--delete PLAN", "Delete a plan."),
            _SAMPLE,
            *_OF_RUN,
        ),
    ),
    Command(
        "sessions",
        "List, show, rename, export and delete sessions.",
        f"{PROGRAM} sessions show towers",
        (
            ("ACTION", "list; show the turns; rename; export the turns as JSON; delete the runs."),
            ("[SESSION]", "The session."),
            ("[TITLE]", "rename: the new title in lists."),
        ),
        (Option("--user ID", "User of the session."), Option("-o, --out FILE", "export: write to FILE.")),
        ("list", "show", "rename", "export", "delete"),
    ),
    _verb("submit", _SAMPLE, *_OF_RUN, example=_ASKING, arguments=_QUESTION),
    _verb("work", _SAMPLE, name="worker", example="--concurrency 4"),
    _server("serve", "Serve runs over HTTP, and work on submitted runs.", 8000),
    _server("researcher", "Serve only the researcher API (LangServe, LangGraph and health).", 8001),
    Command(
        "mcp",
        "Serve research tools to an MCP client over stdio.",
        f"{PROGRAM} mcp --corpus docs/ --max-usd 2",
        options=(_SAMPLE, *_OF_RUN),
    ),
    Command(
        "token",
        "Create, list and revoke the tokens of a server's users.",
        f"{PROGRAM} token add alice --role runner --max-usd 2",
        (
            ("ACTION", "add: create a token and print it once; list; revoke."),
            ("[NAME]", "The name of the token."),
        ),
        (
            _TOKENS,
            Option(
                "--role ROLE", "Rights of the token: reader, runner (the default), admin.", choices=_ROLES
            ),
            Option("--user ID", "The user_id of its runs; by default NAME."),
            Option("--max-open-runs N", "Cap on its runs that are queued, running or interrupted."),
            Option("--max-usd USD", "Cap on the dollars of each of its runs.", name="max_usd_of_run"),
        ),
        ("add", "list", "revoke"),
    ),
    _verb(
        "resume",
        Option("--with-new-setup", "Continue with the set-up named here instead of the run's own."),
        *_CAPS,
        _OUT,
        _SAMPLE,
        without=("setup", "budget", "shared_budget"),
    ),
    _verb(
        "answer",
        Option("--no-run", "Queue the answer; the run takes it when it continues."),
        _OUT,
        _SAMPLE,
        example=f'{_RUN} "The one in Scotland."',
        without=("run",),
    ),
    _verb("steer", example=f'{_RUN} "Also consider the north coast."'),
    _verb("pause"),
    _verb("waiting"),
    _verb("wake", _SAMPLE),
    _verb("list", example="--status parked --limit 20"),
    _verb("status"),
    Command(
        "show",
        "Print the report of a run, or of the run in a pack.",
        f"{PROGRAM} show {_RUN} --out report.md",
        (("ID", f"{_ID[1]} Or a file written by `pack`."),),
        (
            _OUT,
            Option("--budget", "Print the caps of the run and its spending instead."),
            Option("--claims", "Print its claims and the passages that support them instead."),
        ),
    ),
    _verb("events", Option("--follow", "Keep printing until the run ends."), example=f"{_RUN} --follow"),
    _verb("cancel"),
    _verb("delete"),
    _verb("pack", example=f"{_RUN} --out bell-rock.zip"),
    _verb(
        "verify",
        example="bell-rock.zip",
        arguments=(("PACK", "A file written by `pack`, or the id of a run in this data directory."),),
    ),
    Command(
        "replay",
        "Print the events of the run in a pack, one a line.",
        f"{PROGRAM} replay bell-rock.zip",
        (("FILE", "A file written by `pack`."),),
    ),
    Command(
        "archive",
        "Manage the archived texts that prompts left out.",
        f"{PROGRAM} archive restore 3fa8c01d --out original.txt",
        (
            ("ACTION", "list: newest first; restore: print a text; clean: remove expired texts."),
            ("[HASH]", "restore: the hash of the text, or its beginning."),
        ),
        (Option("-o, --out FILE", "Write the restored text to FILE."),),
        ("list", "restore", "clean"),
    ),
    Command(
        "memory",
        "Show, add, correct or forget what is remembered of a user.",
        f'{PROGRAM} memory add preferences "Short reports, please." --user ann',
        (
            ("ACTION", "list, show, add, edit, export or forget."),
            ("[ID or KIND]", "The entry; add: its kind, profile or preferences."),
            ("[TEXT]", "add, edit: the text."),
        ),
        (
            Option("--user ID", "User of the memory; by default that of runs without a user_id."),
            Option("--kind KIND", "list, forget: only this kind; repeatable.", repeats=True, choices=_KINDS),
            Option("--all", "forget: all entries of the user."),
            Option("--limit N", "list: at most N entries."),
            Option("--after ID", "list: continue after this entry, the last of the previous page."),
            Option("-o, --out FILE", "export: write to FILE instead of stdout."),
        ),
        ("list", "show", "add", "edit", "export", "forget"),
    ),
    Command(
        "doctor",
        "Check the installation and print every setting.",
        f"{PROGRAM} doctor --corpus docs/",
        options=(
            _SAMPLE,
            Option(
                "--probe",
                "Send a small request to each model and search service, and connect to each MCP server.",
            ),
            Option("--skipped", "Name every local file that could not be read, and why."),
        ),
    ),
    Command(
        "completion",
        "Print shell completion, for a start-up file.",
        f"{PROGRAM} completion bash",
        (("SHELL", "The shell: bash, zsh or fish."),),
        choices=("bash", "zsh", "fish"),
    ),
)
BY_NAME = {command.name: command for command in COMMANDS}
