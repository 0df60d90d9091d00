"""The commands and options of the command line, and the reading of one.

Commands that are verbs of the engine take their help and options from `OPERATIONS`; the rest stands in the tables below.
Parsers, help texts, completion, the "Did you mean …?" and docs/cli.md are made from them. Importing this module loads
nothing of the engine.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from deep_research.errors import UnknownNameError, UsageError
from deep_research.research.operations import OPERATIONS, Parameter

PROGRAM = "deep-research"
WIDTH_CHARS = 80
PATHS = ("PATH", "FILE", "DIR")  # the values that are paths
SUMMARY = "Research a question and get a report with checked quotes."
_HELP = ("-h", "--help")
_HELP_ALL = "--help-all"
_VERSION = ("-V", "--version")


@dataclass(frozen=True, slots=True)
class Option:
    """One option. Without a ``metavar`` it is a switch; ``name`` is where its value is found; ``short`` is its one letter
    with a dash before it, and ``choices`` are what a shell offers for its value. ``of_verb``: it is a parameter of the
    command's operation."""

    flag: str
    help: str
    metavar: str = ""
    short: str = ""
    name: str = ""
    repeats: bool = False
    choices: tuple[str, ...] = ()
    of_verb: bool = False
    required: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        return (self.short, self.flag) if self.short else (self.flag,)

    @property
    def dest(self) -> str:
        return self.name or self.flag.lstrip("-").replace("-", "_")

    @property
    def usage(self) -> str:
        return f"{', '.join(self.flags)} {self.metavar}".rstrip()


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``arguments`` are its positional ones, as (name, help); one in square brackets may be left out.
    ``positional`` are the parameters of its operation among them. ``choices`` are what a shell offers for the first."""

    name: str
    summary: str
    example: str
    arguments: tuple[tuple[str, str], ...] = ()
    options: tuple[Option, ...] = ()
    choices: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()

    @property
    def takes_file(self) -> bool:
        """Whether its first argument is a path."""
        return bool(self.arguments) and self.arguments[0][0] in ("PACK", *PATHS)

    @property
    def usage(self) -> str:
        return " ".join([self.name, *(name for name, _ in self.arguments)])


_RUN = "deepres-0123456789ab"
_ID = ("ID", f"The run, such as {_RUN}.")
_FLAGS = {"drop_sub_query": "--drop", "path": "--out"}  # of parameters that have another name at the prompt
_SHORT = {"--out": "-o"}


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
    positional = tuple(parameter.name for parameter in parameters if parameter.positional)
    if arguments is None:
        arguments = (
            *((_ID,) if operation.of_run else ()),
            *(_argument(p) for p in parameters if p.positional),
        )
    return Command(
        name,
        operation.summary,
        f"{PROGRAM} {name} {example or _RUN * operation.of_run}".rstrip(),
        arguments,
        (*(_option(parameter) for parameter in parameters if not parameter.positional), *more),
        positional=positional,
    )


def _argument(parameter: Parameter) -> tuple[str, str]:
    return (f"[{parameter.value}]" if parameter.optional else parameter.value), parameter.help


def _option(parameter: Parameter) -> Option:
    flag = _FLAGS.get(parameter.name, f"--{parameter.name.replace('_', '-')}")
    return Option(
        flag,
        parameter.help,
        parameter.value,
        _SHORT.get(flag, ""),
        parameter.name,
        of_verb=True,
        required=not parameter.optional,
    )


_PRESETS = ("default", "fast", "deep", "agents", "offline")
_LEVELS = ("debug", "info", "warning", "error")
COMMON = (
    Option("--corpus", "Folder or file of documents to search; repeatable.", "PATH", "-c", repeats=True),
    Option(
        "--search",
        "What to search: corpus, web, or a service such as tavily; repeatable.",
        "NAME",
        repeats=True,
    ),
    Option("--local-only", "Never use the network."),
    Option(
        "--model",
        "Language model for all agents, as SERVICE:MODEL; repeat it to name fallbacks.",
        "NAME",
        "-m",
        repeats=True,
    ),
    Option(
        "--preset", f"Named set of values to start from: {', '.join(_PRESETS)}.", "NAME", choices=_PRESETS
    ),
    Option("--config", "Settings file (TOML) to read.", "FILE"),
    Option("--data-dir", "Folder of the runs; by default DEEP_RESEARCH_HOME or the user's.", "DIR"),
    Option(
        "--set",
        "Any setting of docs/settings.md, also as --NAME VALUE; repeatable.",
        "NAME=VALUE",
        repeats=True,
    ),
    Option("--json", "Print JSON on stdout, and errors as JSON on stderr."),
    Option("--quiet", "Print no progress, and no closing line after a completed run.", short="-q"),
    Option("--verbose", "Print more: the plan, the reasons for gaps and decisions, every step.", short="-v"),
    Option("--log-level", f"Print log lines on stderr: {', '.join(_LEVELS)}.", "LEVEL", choices=_LEVELS),
)
_OUT = Option("--out", "Write the report to FILE instead of stdout.", "FILE", "-o")
_SAMPLE = Option("--sample", "Search the sample documents that come with the package.")
_CAPS = (
    Option("--max-usd", "Cap on the dollars of the run.", "USD"),
    Option("--max-tokens", "Cap on the tokens of the run, input and output together.", "N"),
    Option("--max-model-calls", "Cap on the run's requests to language models.", "N"),
    Option("--max-searches", "Cap on the searches of the run.", "N"),
    Option("--max-fetches", "Cap on the pages that the run fetches.", "N"),
    Option("--max-seconds", "Cap on the seconds of work of the run.", "S"),
)
_OF_RUN = (
    Option(
        "--depth",
        "How thorough: quick, standard, deep, or auto.",
        "NAME",
        choices=("quick", "standard", "deep", "auto"),
    ),
    Option("--max-iterations", "Rounds of searching and writing.", "N"),
    Option("--max-sub-queries", "Most sub-queries of the plan, or auto.", "N"),
    Option("--max-sources-per-query", "Sources that each sub-query keeps.", "N"),
    Option("--words", "Target length of the report, in words.", "N", name="report_words"),
    Option(
        "--strict",
        "Least share of supported claims, such as 0.9; else give no report.",
        "FRACTION",
        name="min_supported",
    ),
    *_CAPS,
    Option("--approve-plan", "Show the plan before searching, and wait for approval."),
    Option("--system-prompt", "Instructions for every agent, added to its own.", "TEXT"),
)
_TOKENS = Option(
    "--tokens", "File of tokens; by default tokens.jsonl in the data directory, if it exists.", "FILE"
)


def _server_options(port: int) -> tuple[Option, ...]:
    return (
        Option("--host", "Address to listen on; by default 127.0.0.1.", "HOST"),
        Option("--port", f"Port to listen on; by default {port}.", "N"),
        _TOKENS,
        Option("--concurrency", "Work on N runs at once.", "N"),
        Option("--drain-seconds", "Seconds that runs get to finish a step when the server stops.", "N"),
        Option("--allowed-host", "Host name by which clients reach it; repeatable.", "NAME", repeats=True),
        _SAMPLE,
    )


_KINDS = ("profile", "preferences", "episodes", "sessions")
_ROLES = ("reader", "runner", "admin")
_QUESTION = (("QUESTION", "The question; - reads it from stdin."),)

COMMANDS = (
    _verb(
        "run",
        _OUT,
        _SAMPLE,
        *_OF_RUN,
        Option("--estimate", "Print what the run may use, and do not start it."),
        example='"Who built Bell Rock?" --corpus docs/',
        arguments=_QUESTION,
    ),
    Command(
        "chat",
        "Ask questions in turn; each may refer to the ones before.",
        f"{PROGRAM} chat --corpus docs/ --session towers",
        options=(
            Option("--session", "The session to continue or to begin.", "NAME"),
            Option("--user", "User of the session.", "ID"),
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
            Option("--plan", "Capabilities to use in this order, such as research,create_document.", "NAMES"),
            Option("--agents", "File (TOML) of services with more capabilities.", "FILE"),
            Option(
                "--approve",
                "Allow this capability to change or send something; repeatable.",
                "NAME",
                repeats=True,
            ),
            Option("--format", "Format of the document: html or docx.", "NAME", choices=("html", "docx")),
            Option("--out", "Write the document to FILE (.html or .docx).", "FILE", "-o"),
            Option("--resume", "Continue a plan.", "PLAN"),
            Option("--list", "Print the plans in this data directory."),
            Option("--delete", "Delete a plan.", "PLAN"),
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
        (
            Option("--user", "User of the session.", "ID"),
            Option("--out", "export: write to FILE.", "FILE", "-o"),
        ),
        ("list", "show", "rename", "export", "delete"),
    ),
    _verb(
        "submit",
        _SAMPLE,
        *_OF_RUN,
        example='"Who built Bell Rock?" --corpus docs/',
        arguments=_QUESTION,
    ),
    _verb("work", _SAMPLE, name="worker", example="--concurrency 4"),
    Command(
        "serve",
        "Serve runs over HTTP, and work on submitted runs.",
        f"{PROGRAM} serve --corpus docs/ --port 8000",
        options=_server_options(8000),
    ),
    Command(
        "researcher",
        "Serve only the researcher, for graphs of agents.",
        f"{PROGRAM} researcher --corpus docs/ --port 8001",
        options=_server_options(8001),
    ),
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
            Option("--role", "Rights of the token: reader, runner, admin.", "ROLE", choices=_ROLES),
            Option("--user", "The user_id of its runs; by default NAME.", "ID"),
            Option("--max-open-runs", "Cap on its runs in progress.", "N"),
            Option("--max-usd", "Cap on the dollars of each of its runs.", "USD", name="max_usd_of_run"),
        ),
        ("add", "list", "revoke"),
    ),
    _verb(
        "resume",
        Option(
            "--with-new-setup",
            "Continue with the set-up named here instead of the run's own.",
        ),
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
            (
                "ACTION",
                "list: newest first; restore: print a text; clean: remove expired texts.",
            ),
            ("[HASH]", "restore: the hash of the text, or its beginning."),
        ),
        (Option("--out", "Write the restored text to FILE.", "FILE", "-o"),),
        ("list", "restore", "clean"),
    ),
    Command(
        "memory",
        "Show, add, correct or forget what is remembered of a user.",
        f'{PROGRAM} memory add preferences "Short reports, please." --user ann',
        (
            ("ACTION", "list, show, add, edit, export or forget."),
            ("[ID]", "The entry; add: its kind, profile or preferences."),
            ("[TEXT]", "add, edit: the text."),
        ),
        (
            Option("--user", "User of the memory; by default that of runs without a user_id.", "ID"),
            Option(
                "--kind", "list, forget: only this kind; repeatable.", "KIND", repeats=True, choices=_KINDS
            ),
            Option("--all", "forget: all entries of the user."),
            Option("--limit", "list: at most N entries.", "N"),
            Option("--after", "list: continue after this entry, the last of the previous page.", "ID"),
            Option("--out", "export: write to FILE instead of stdout.", "FILE", "-o"),
        ),
        ("list", "show", "add", "edit", "export", "forget"),
    ),
    Command(
        "doctor",
        "Check the installation and print every setting.",
        f"{PROGRAM} doctor --corpus docs/",
        options=(
            _SAMPLE,
            Option("--probe", "Send a small request to each model and search service."),
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


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line as a namespace; ``command`` is None when only help or the version is wanted.

    Raises `UsageError` for anything that cannot be read.
    """
    argv = _with_settings(argv)
    name, rest, flags = _split(argv)
    if any(flag in _VERSION for flag in flags):
        return argparse.Namespace(command=None, text="version")
    if name is not None and name not in BY_NAME:
        raise _unknown("command", name, BY_NAME)
    command = BY_NAME[name] if name else None
    if any(flag in (*_HELP, _HELP_ALL) for flag in flags):
        every = _HELP_ALL in flags
        help_parser = parser(command, common=every) if command else overview(common=every)
        return argparse.Namespace(command=None, text=help_parser.format_help())
    if command is None:
        raise UsageError("No command was given.", hint=f"See `{PROGRAM} --help`.")
    known_flags = {flag for option in (*COMMON, *command.options) for flag in option.flags}
    for flag in flags:
        if flag not in known_flags:
            raise _unknown("option", flag, (*known_flags, *setting_flags()), command.name)
    args = parser(command).parse_args(rest)
    args.command = command.name
    return args


def parser(command: Command, *, common: bool = True, program: str = PROGRAM) -> argparse.ArgumentParser:
    """The parser of one command of a program. Without ``common`` its help names the options of every command in one
    line."""
    about = f"{command.summary}\n\nexample:\n  {command.example}"
    command_parser = _Parser(command.usage, about, brief=not common, program=program)
    for name, text in command.arguments:
        plain = name.strip("[]")
        command_parser.add_argument(
            plain.lower(), metavar=plain, help=text, nargs=None if plain == name else "?"
        )
    if command.options:
        _add(command_parser.add_argument_group("options of this command"), command.options)
    if common:
        _add(command_parser.add_argument_group("options of every command"), COMMON)
    return command_parser


def overview(*, common: bool = True) -> argparse.ArgumentParser:
    """The help of the program as a whole."""
    longest = max(len(command.name) for command in COMMANDS)
    lines = "\n".join(f"  {command.name:<{longest}}  {command.summary}" for command in COMMANDS)
    program_parser = _Parser(
        "COMMAND",
        f"{SUMMARY}\n\ncommands:\n{lines}\n\nexample:\n  {COMMANDS[0].example}\n\n"
        f"`{PROGRAM} COMMAND --help` shows the options of a command.",
        brief=not common,
    )
    if common:
        group = program_parser.add_argument_group("options of every command")
        _add(group, COMMON)
        group.add_argument(*_VERSION, action="store_true", help="Print the version.")
    return program_parser


def _in_one_line() -> str:
    """The options of every command that are typed most; a line's width has room for no more."""
    most = [option for option in COMMON if option.short or option.flag in ("--search", "--json")]
    names = ", ".join(f"{option.short or option.flag} {option.metavar}".rstrip() for option in most)
    return f"also: {names}; all: {_HELP_ALL}"


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """An option's forms stand before its value, which is named once."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=WIDTH_CHARS - 1)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {action.metavar}"


class _Parser(argparse.ArgumentParser):
    def __init__(self, usage: str, description: str, *, brief: bool, program: str = PROGRAM) -> None:
        super().__init__(
            prog=program,
            usage=f"{program} {usage} [options]",
            description=description,
            epilog=_in_one_line() if brief else None,
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self._command = usage.partition(" ")[0]

    def error(self, message: str) -> NoReturn:
        hint = f"See `{self.prog} {self._command} --help`."
        if message.startswith("unrecognized arguments") and self._command == "run":
            hint = "Put the question in quotes."
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", hint=hint)


def _add(group: argparse._ArgumentGroup, options: Iterable[Option]) -> None:
    for option in options:
        if not option.metavar:
            group.add_argument(*option.flags, dest=option.dest, action="store_true", help=option.help)
            continue
        group.add_argument(
            *option.flags,
            dest=option.dest,
            metavar=option.metavar,
            action="append" if option.repeats else "store",
            default=[] if option.repeats else None,
            help=option.help,
        )


def setting_flags() -> dict[str, str]:
    """The setting that each option names which stands in no table: every setting can be one."""
    from deep_research.settings import paths_by_name  # here, for few command lines need them

    flags = {f"--{name.replace('_', '-')}": name for name in paths_by_name()}
    return {flag: name for flag, name in flags.items() if flag not in _top_level()}


def _with_settings(argv: Sequence[str]) -> list[str]:
    """The words with each ``--fetch-timeout 10`` as ``--set fetch_timeout=10``. Raises `UsageError` where a value is
    missing."""
    known_flags, valued = _top_level(), _valued()
    words, read = list(argv), []
    while words and words[0] != "--":
        word = words.pop(0)
        flag, equals, text = word.partition("=")
        if flag in valued and not equals:
            read += [word, *words[:1]]
            words = words[1:]
        elif not flag.startswith("--") or flag in known_flags or flag not in setting_flags():
            read.append(word)
        elif equals or words:
            read += ["--set", f"{setting_flags()[flag]}={text if equals else words.pop(0)}"]
        else:
            raise UsageError(f"Argument {flag}: expected one argument.", hint="See docs/settings.md.")
    return [*read, *words]


def _split(argv: Sequence[str]) -> tuple[str | None, list[str], list[str]]:
    """The command, the words besides it, and the options among them; options may stand before the command."""
    valued = _valued()
    flags: list[str] = []
    words = list(enumerate(argv))
    place: int | None = None
    only_words = False
    while words:
        index, word = words.pop(0)
        if word == "--" and not only_words:
            only_words = True
        elif word.startswith("-") and word != "-" and not only_words:
            flag, equals, _ = word.partition("=")
            flags.append(flag)
            if flag in valued and not equals and words:
                words.pop(0)
            elif place is None and flag not in _top_level():
                raise _unknown("option", flag, _top_level())
        elif place is None:
            place = index
    if place is None:
        return None, list(argv), flags
    return argv[place], [*argv[:place], *argv[place + 1 :]], flags


def _valued() -> set[str]:
    return {flag for option in _all_options() if option.metavar for flag in option.flags}


def _all_options() -> list[Option]:
    return [*COMMON, *(option for command in COMMANDS for option in command.options)]


def _top_level() -> set[str]:
    return {flag for option in _all_options() for flag in option.flags} | {*_HELP, _HELP_ALL, *_VERSION}


def _unknown(kind: str, name: str, names: Iterable[str], command: str = "") -> UsageError:
    """With the nearest known name, or where to find the names: a list of all would be too long for a line."""
    hint = f"See `{PROGRAM} {command} --help`.".replace("  ", " ")
    if not difflib.get_close_matches(name, names, n=1):
        return UnknownNameError(f"Unknown {kind} '{name}'.", hint=hint, kind=kind, name=name)
    return UnknownNameError.of(kind, name, names)
