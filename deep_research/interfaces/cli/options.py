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
SUMMARY = "Research a question and get a report whose quotes stand in saved texts."
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
    Option("--local-only", "Never touch the network."),
    Option(
        "--model",
        "Language model for all agents, as SERVICE:MODEL; the next is asked when one cannot answer.",
        "NAME",
        "-m",
        repeats=True,
    ),
    Option(
        "--preset", f"Named set of values to start from: {', '.join(_PRESETS)}.", "NAME", choices=_PRESETS
    ),
    Option("--config", "Settings file (TOML) to read.", "FILE"),
    Option("--data-dir", "Folder of the runs; else DEEP_RESEARCH_HOME, else the user's.", "DIR"),
    Option("--set", "Any setting of docs/settings.md; repeatable.", "NAME=VALUE", repeats=True),
    Option("--json", "Print JSON on stdout, and errors as JSON on stderr."),
    Option("--quiet", "No progress, and no closing line after a completed run.", short="-q"),
    Option("--verbose", "Tell more: the plan, the reasons of gaps and decisions, every step.", short="-v"),
    Option("--log-level", f"Print log lines on stderr: {', '.join(_LEVELS)}.", "LEVEL", choices=_LEVELS),
)
_OUT = Option("--out", "Write the report to FILE instead of stdout.", "FILE", "-o")
_SAMPLE = Option("--sample", "Search the sample documents that come with the package.")
_CAPS = (
    Option("--max-usd", "Cap on the dollars of the run.", "USD"),
    Option("--max-tokens", "Cap on the tokens of the run, in and out together.", "N"),
    Option("--max-model-calls", "Cap on the run's requests to language models.", "N"),
    Option("--max-searches", "Cap on the searches of the run.", "N"),
    Option("--max-fetches", "Cap on the pages that are fetched.", "N"),
    Option("--max-seconds", "Cap on the seconds of work of the run.", "S"),
)
_OF_RUN = (
    Option(
        "--depth",
        "How thoroughly: quick, standard, deep, or auto.",
        "NAME",
        choices=("quick", "standard", "deep", "auto"),
    ),
    Option("--max-iterations", "Rounds of searching and writing.", "N"),
    Option("--max-sub-queries", "Sub-queries that the question is split into at most, or auto.", "N"),
    Option("--max-sources-per-query", "Sources kept for each sub-query.", "N"),
    Option("--words", "Length the report aims at.", "N", name="report_words"),
    Option(
        "--strict",
        "Give no report of whose claims fewer are supported, such as 0.9.",
        "FRACTION",
        name="min_supported",
    ),
    *_CAPS,
    Option("--approve-plan", "Show the plan before anything is searched, and wait for approval."),
    Option("--system-prompt", "Instructions added to those of every agent.", "TEXT"),
)
_TOKENS = Option(
    "--tokens", "File of tokens; else tokens.jsonl of the data directory, if there is one.", "FILE"
)


def _server_options(port: int) -> tuple[Option, ...]:
    return (
        Option("--host", "Address to listen on; 127.0.0.1 if none is named.", "HOST"),
        Option("--port", f"Port to listen on; {port} if none is named.", "N"),
        _TOKENS,
        Option("--concurrency", "Work on N runs at once.", "N"),
        Option("--drain-seconds", "How long runs may go on when the server is to end.", "N"),
        Option("--allowed-host", "Name under which others reach it; repeatable.", "NAME", repeats=True),
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
        Option("--estimate", "Tell what the run may take, and do not start it."),
        example='"Who built Bell Rock?" --corpus docs/',
        arguments=_QUESTION,
    ),
    Command(
        "chat",
        "Ask one question after the other; each may point back.",
        f"{PROGRAM} chat --corpus docs/ --session towers",
        options=(
            Option("--session", "The session to go on with, or to begin.", "NAME"),
            Option("--user", "Whose session it is.", "ID"),
            _SAMPLE,
            *_OF_RUN,
        ),
    ),
    Command(
        "assist",
        "Carry out a request that takes more than research.",
        f'{PROGRAM} assist "Who built Bell Rock?" --plan research,create_document',
        (("[REQUEST]", "What is wanted; - reads it from stdin."),),
        (
            Option("--plan", "Capabilities to use in this order, such as research,create_document.", "NAMES"),
            Option("--agents", "File (TOML) of services with more capabilities.", "FILE"),
            Option(
                "--approve", "Let this capability change or send something; repeatable.", "NAME", repeats=True
            ),
            Option("--format", "Of a document: html or docx.", "NAME", choices=("html", "docx")),
            Option("--out", "Write the document to FILE, which ends with .html or .docx.", "FILE", "-o"),
            Option("--resume", "Go on with a plan.", "PLAN"),
            Option("--list", "Print the plans of this data directory."),
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
            ("ACTION", "list; show: its turns; rename; export: its turns as JSON; delete: its runs."),
            ("[SESSION]", "The session."),
            ("[TITLE]", "What it is listed by: rename."),
        ),
        (Option("--user", "Whose session it is.", "ID"), Option("--out", "Write it to FILE.", "FILE", "-o")),
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
        "Serve runs over HTTP, and work on those that are submitted.",
        f"{PROGRAM} serve --corpus docs/ --port 8000",
        options=_server_options(8000),
    ),
    Command(
        "researcher",
        "Serve the researcher alone, for graphs of agents.",
        f"{PROGRAM} researcher --corpus docs/ --port 8001",
        options=_server_options(8001),
    ),
    Command(
        "mcp",
        "Serve the tools of research to an MCP client over stdio.",
        f"{PROGRAM} mcp --corpus docs/ --max-usd 2",
        options=(_SAMPLE, *_OF_RUN),
    ),
    Command(
        "token",
        "Make, list and revoke the tokens of a server's users.",
        f"{PROGRAM} token add alice --role runner --max-usd 2",
        (
            ("ACTION", "add: make a token and print it once; list; revoke: end one."),
            ("[NAME]", "The token to make or to revoke."),
        ),
        (
            _TOKENS,
            Option("--role", "What it may do: reader, runner, admin.", "ROLE", choices=_ROLES),
            Option("--user", "The user_id of its runs; else NAME.", "ID"),
            Option("--max-open-runs", "Cap on its runs that have not ended.", "N"),
            Option("--max-usd", "Cap on the dollars of each of its runs.", "USD", name="max_usd_of_run"),
        ),
        ("add", "list", "revoke"),
    ),
    _verb(
        "resume",
        Option(
            "--with-new-setup",
            "Go on with what is named here in place of what the run was set up with.",
        ),
        *_CAPS,
        _OUT,
        _SAMPLE,
        without=("setup", "budget", "shared_budget"),
    ),
    _verb(
        "answer",
        Option("--no-run", "Queue the answer for whoever goes on with the run."),
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
        "Print the report of a run again, or of the run in a pack.",
        f"{PROGRAM} show {_RUN} --out report.md",
        (("ID", f"{_ID[1]} Or the file that `pack` wrote, which is only read."),),
        (
            _OUT,
            Option("--budget", "Print instead what it was allowed, and what it spent on what."),
            Option("--claims", "Print instead what it claims, and what of its sources carries each claim."),
        ),
    ),
    _verb("events", Option("--follow", "Go on printing until the run ends."), example=f"{_RUN} --follow"),
    _verb("cancel"),
    _verb("delete"),
    _verb("pack", example=f"{_RUN} --out bell-rock.zip"),
    _verb(
        "verify",
        example="bell-rock.zip",
        arguments=(("PACK", "The file that `pack` wrote; or the id of a run of this data directory."),),
    ),
    Command(
        "replay",
        "Print the run of a pack as it happened, one line an event.",
        f"{PROGRAM} replay bell-rock.zip",
        (("FILE", "The file that `pack` wrote."),),
    ),
    Command(
        "archive",
        "Look after the texts kept of what was left out of prompts.",
        f"{PROGRAM} archive restore 3fa8c01d --out original.txt",
        (
            (
                "ACTION",
                "list: what is kept, newest first; restore: print a text again; clean: remove what expired.",
            ),
            ("[HASH]", "The text to restore: the beginning of its hash is enough."),
        ),
        (Option("--out", "Write the restored text to FILE.", "FILE", "-o"),),
        ("list", "restore", "clean"),
    ),
    Command(
        "memory",
        "Look at what is remembered of a user; add, correct or forget.",
        f'{PROGRAM} memory add preferences "Short reports, please." --user ann',
        (
            ("ACTION", "list, show, add, edit, export or forget."),
            ("[ID]", "The entry; of add its kind: profile or preferences."),
            ("[TEXT]", "The text that add and edit put there."),
        ),
        (
            Option("--user", "Whose memory; that of runs without a user_id if none is named.", "ID"),
            Option(
                "--kind", "list, forget: only this kind; repeatable.", "KIND", repeats=True, choices=_KINDS
            ),
            Option("--all", "forget: everything that is remembered of the user."),
            Option("--limit", "list: at most N entries.", "N"),
            Option("--after", "list: go on after this entry, the last one of the page before.", "ID"),
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
            Option("--probe", "Ask each model and search service something small."),
            Option("--skipped", "Name every local file that was not read, and why."),
        ),
    ),
    Command(
        "completion",
        "Print the completion of a shell, for its start-up file.",
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
            raise _unknown("option", flag, known_flags, command.name)
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


def _split(argv: Sequence[str]) -> tuple[str | None, list[str], list[str]]:
    """The command, the words besides it, and the options among them; options may stand before the command."""
    valued = {flag for option in _all_options() if option.metavar for flag in option.flags}
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
