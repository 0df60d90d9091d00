"""What may be typed: the commands and their options, and the reading of a command line.

The tables below are the one source of the parsers, the help texts, the "Did you mean …?" and docs/cli.md.
Importing this module loads nothing of the engine.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from deep_research.errors import UnknownNameError, UsageError

PROGRAM = "deep-research"
WIDTH = 80
PATHS = ("PATH", "FILE", "DIR")  # the values that are paths
SUMMARY = "Research a question and get a report whose quotes stand in saved texts."
_HELP = ("-h", "--help")
_HELP_ALL = "--help-all"
_VERSION = ("-V", "--version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. Without a ``metavar`` it is a switch; ``name`` is where its value is found; ``short`` is its one letter
    with a dash before it, and ``choices`` are what a shell offers for its value."""

    flag: str
    help: str
    metavar: str = ""
    repeats: bool = False
    name: str = ""
    short: str = ""
    choices: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        return (self.short, self.flag) if self.short else (self.flag,)

    @property
    def dest(self) -> str:
        return self.name or self.flag.lstrip("-").replace("-", "_")

    @property
    def usage(self) -> str:
        return f"{', '.join(self.flags)} {self.metavar}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command. ``arguments`` are its positional ones, as (name, help); one in square brackets may be left out.
    ``choices`` are what a shell offers for the first of them."""

    name: str
    summary: str
    example: str
    arguments: tuple[tuple[str, str], ...] = ()
    options: tuple[Option, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def takes_file(self) -> bool:
        """Whether its first argument is a path."""
        return bool(self.arguments) and self.arguments[0][0] in ("PACK", *PATHS)

    @property
    def usage(self) -> str:
        return " ".join([self.name, *(name for name, _ in self.arguments)])


COMMON = (
    Option(
        flag="--corpus",
        short="-c",
        metavar="PATH",
        repeats=True,
        help="Folder or file of documents to search; repeatable.",
    ),
    Option(
        flag="--search",
        metavar="NAME",
        repeats=True,
        help="What to search: corpus, web, or a service such as tavily; repeatable.",
    ),
    Option(flag="--local-only", help="Never touch the network."),
    Option(
        flag="--model",
        short="-m",
        metavar="NAME",
        repeats=True,
        help="Language model for all agents, as SERVICE:MODEL; the next is asked when one cannot answer.",
    ),
    Option(
        flag="--preset",
        metavar="NAME",
        help="Named set of values to start from: default, fast, deep, agents, offline.",
        choices=("default", "fast", "deep", "agents", "offline"),
    ),
    Option(flag="--config", metavar="FILE", help="Settings file (TOML) to read."),
    Option(
        flag="--data-dir", metavar="DIR", help="Folder of the runs; else DEEP_RESEARCH_HOME, else the user's."
    ),
    Option(
        flag="--set", metavar="NAME=VALUE", repeats=True, help="Any setting of docs/settings.md; repeatable."
    ),
    Option(flag="--json", help="Print JSON on stdout, and errors as JSON on stderr."),
    Option(flag="--quiet", short="-q", help="No progress, and no closing line after a completed run."),
    Option(
        flag="--verbose",
        short="-v",
        help="Tell more: the plan, the reasons of gaps and decisions, every step.",
    ),
    Option(
        flag="--log-level",
        metavar="LEVEL",
        help="Print log lines on stderr: debug, info, warning, error.",
        choices=("debug", "info", "warning", "error"),
    ),
)
_OUT = Option(flag="--out", short="-o", metavar="FILE", help="Write the report to FILE instead of stdout.")
_SAMPLE = Option(flag="--sample", help="Search the sample documents that come with the package.")
_CAPS = (
    Option(flag="--max-usd", metavar="USD", help="Cap on the dollars of the run."),
    Option(flag="--max-tokens", metavar="N", help="Cap on the tokens of the run, in and out together."),
    Option(flag="--max-model-calls", metavar="N", help="Cap on the run's requests to language models."),
    Option(flag="--max-searches", metavar="N", help="Cap on the searches of the run."),
    Option(flag="--max-fetches", metavar="N", help="Cap on the pages that are fetched."),
    Option(flag="--max-seconds", metavar="S", help="Cap on the seconds of work of the run."),
)
_ID = ("ID", "The run, such as deepres-0123456789ab.")

COMMANDS = (
    Command(
        name="run",
        summary="Research a question and print the report.",
        example='deep-research run "Who built Bell Rock?" --corpus docs/',
        arguments=(("QUESTION", "The question; - reads it from stdin."),),
        options=(
            _OUT,
            _SAMPLE,
            Option(flag="--max-iterations", metavar="N", help="Rounds of searching and writing."),
            Option(
                flag="--max-sub-queries", metavar="N", help="Sub-queries that the question is split into."
            ),
            Option(flag="--max-sources-per-query", metavar="N", help="Sources kept for each sub-query."),
            Option(flag="--words", metavar="N", name="report_words", help="Length the report aims at."),
            Option(
                flag="--strict",
                metavar="FRACTION",
                name="min_supported",
                help="Give no report of whose claims fewer are supported, such as 0.9.",
            ),
            *_CAPS,
            Option(
                flag="--approve-plan",
                help="Show the plan before anything is searched, and wait for your word.",
            ),
            Option(flag="--estimate", help="Tell what the run may take, and do not start it."),
            Option(
                flag="--system-prompt", metavar="TEXT", help="Instructions added to those of every agent."
            ),
        ),
    ),
    Command(
        name="resume",
        summary="Go on with a run: interrupted, parked, aborted, or ended at a cap.",
        example="deep-research resume deepres-0123456789ab",
        arguments=(_ID,),
        options=(
            Option(
                flag="--answer",
                metavar="TEXT",
                help="Answer to what a parked run waits for, as `answer` takes it.",
            ),
            Option(
                flag="--with-new-setup",
                help="Go on with what is named here in place of what the run was set up with.",
            ),
            *_CAPS,
            Option(
                flag="--take-over",
                help="Have a process that works on the run let go of it, and go on here.",
            ),
            _OUT,
            _SAMPLE,
        ),
    ),
    Command(
        name="answer",
        summary="Answer what a parked run asks, and go on with it.",
        example='deep-research answer deepres-0123456789ab "The one in Scotland."',
        arguments=(_ID, ("VALUE", "The answer: a text, or JSON where `waiting` shows a form for it.")),
        options=(
            Option(flag="--no-run", help="Leave the answer for whoever goes on with the run."),
            _OUT,
            _SAMPLE,
        ),
    ),
    Command(
        name="steer",
        summary="Have a say in a run while it goes.",
        example='deep-research steer deepres-0123456789ab "Also consider the north coast."',
        arguments=(_ID, ("[TEXT]", "What those who work on it are to heed from their next step on.")),
        options=(
            Option(flag="--drop", metavar="ID", help="Drop a sub-query that was not searched yet."),
            Option(
                flag="--since",
                metavar="DAY",
                name="from_day",
                help="From now on search only what was published since that day.",
            ),
            Option(flag="--stop-searching", help="Search nothing more, and write the report."),
        ),
    ),
    Command(
        name="pause",
        summary="Park a run before its next step.",
        example="deep-research pause deepres-0123456789ab",
        arguments=(_ID,),
    ),
    Command(
        name="waiting",
        summary="List the parked runs: what each waits for, and until when.",
        example="deep-research waiting",
    ),
    Command(
        name="wake",
        summary="Go on with the parked runs whose time has come.",
        example="deep-research wake",
        options=(_SAMPLE,),
    ),
    Command(
        name="list",
        summary="List the runs, newest first, with how far each came.",
        example="deep-research list --status parked --limit 20",
        options=(
            Option(
                flag="--status",
                metavar="NAME",
                help="Only runs of this status: pending, running, parked, completed, aborted, interrupted.",
            ),
            Option(flag="--user", metavar="ID", help="Only runs of this user_id."),
            Option(flag="--session", metavar="ID", help="Only runs of this session_id."),
            Option(
                flag="--text", metavar="TEXT", help="Only runs whose question holds TEXT, in whatever case."
            ),
            Option(flag="--limit", metavar="N", help="At most N runs."),
            Option(
                flag="--after", metavar="ID", help="Go on after this run: the last one of the page before."
            ),
        ),
    ),
    Command(
        name="status",
        summary="Say where a run stands.",
        example="deep-research status deepres-0123456789ab",
        arguments=(_ID,),
    ),
    Command(
        name="show",
        summary="Print the report of a run again, or of the run in a pack.",
        example="deep-research show deepres-0123456789ab --out report.md",
        arguments=(("ID", f"{_ID[1]} Or the file that `pack` wrote, which is only read."),),
        options=(
            _OUT,
            Option(flag="--budget", help="Print instead what it was allowed, and what it spent on what."),
            Option(
                flag="--claims",
                help="Print instead what it claims, and what of its sources carries each claim.",
            ),
        ),
    ),
    Command(
        name="events",
        summary="Print the log of a run, one line an event.",
        example="deep-research events deepres-0123456789ab --follow",
        arguments=(_ID,),
        options=(
            Option(flag="--after", metavar="N", help="Begin after event number N."),
            Option(flag="--follow", help="Go on printing until the run ends."),
        ),
    ),
    Command(
        name="cancel",
        summary="End a run; what it found is kept.",
        example="deep-research cancel deepres-0123456789ab",
        arguments=(_ID,),
    ),
    Command(
        name="delete",
        summary="Remove a run and its saved texts.",
        example="deep-research delete deepres-0123456789ab",
        arguments=(_ID,),
    ),
    Command(
        name="pack",
        summary="Write a run with all its evidence to one file.",
        example="deep-research pack deepres-0123456789ab --out bell-rock.zip",
        arguments=(_ID,),
        options=(
            Option(flag="--out", short="-o", metavar="FILE", help="The file to write (zip)."),
            Option(flag="--force", help="Replace FILE where it exists."),
        ),
    ),
    Command(
        name="verify",
        summary="Check that a pack, or a run, is as it was recorded.",
        example="deep-research verify bell-rock.zip",
        arguments=(("PACK", "The file that `pack` wrote; or the id of a run of this data directory."),),
    ),
    Command(
        name="replay",
        summary="Print the run of a pack as it happened, one line an event.",
        example="deep-research replay bell-rock.zip",
        arguments=(("FILE", "The file that `pack` wrote."),),
    ),
    Command(
        name="archive",
        summary="Look after the texts kept of what was left out of prompts.",
        example="deep-research archive restore 3fa8c01d --out original.txt",
        arguments=(
            (
                "ACTION",
                "list: what is kept, newest first; restore: print a text again; clean: remove what expired.",
            ),
            ("[HASH]", "The text to restore: the beginning of its hash is enough."),
        ),
        options=(Option(flag="--out", short="-o", metavar="FILE", help="Write the restored text to FILE."),),
        choices=("list", "restore", "clean"),
    ),
    Command(
        name="doctor",
        summary="Check the installation and print every setting.",
        example="deep-research doctor --corpus docs/",
        options=(
            _SAMPLE,
            Option(flag="--probe", help="Ask each model and search service something small."),
            Option(flag="--skipped", help="Name every local file that was not read, and why."),
        ),
    ),
    Command(
        name="completion",
        summary="Print the completion of a shell, for its start-up file.",
        example="deep-research completion bash",
        arguments=(("SHELL", "The shell: bash, zsh or fish."),),
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
        shown = parser(command, common=every) if command else overview(common=every)
        return argparse.Namespace(command=None, text=shown.format_help())
    if command is None:
        raise UsageError("No command was given.", hint=f"See `{PROGRAM} --help`.")
    known = {flag for option in (*COMMON, *command.options) for flag in option.flags}
    for flag in flags:
        if flag not in known:
            raise _unknown("option", flag, known, command.name)
    args = parser(command).parse_args(rest)
    args.command = command.name
    return args


def parser(command: Command, *, common: bool = True, program: str = PROGRAM) -> argparse.ArgumentParser:
    """The parser of one command of a program. Without ``common`` its help names the options of every command in one
    line."""
    about = f"{command.summary}\n\nexample:\n  {command.example}"
    made = _Parser(command.usage, about, brief=not common, program=program)
    for name, text in command.arguments:
        plain = name.strip("[]")
        made.add_argument(plain.lower(), metavar=plain, help=text, nargs=None if plain == name else "?")
    if command.options:
        _add(made.add_argument_group("options of this command"), command.options)
    if common:
        _add(made.add_argument_group("options of every command"), COMMON)
    return made


def overview(*, common: bool = True) -> argparse.ArgumentParser:
    """The help of the program as a whole."""
    longest = max(len(command.name) for command in COMMANDS)
    lines = "\n".join(f"  {command.name:<{longest}}  {command.summary}" for command in COMMANDS)
    made = _Parser(
        "COMMAND",
        f"{SUMMARY}\n\ncommands:\n{lines}\n\nexample:\n  {COMMANDS[0].example}\n\n"
        f"`{PROGRAM} COMMAND --help` shows the options of a command.",
        brief=not common,
    )
    if common:
        group = made.add_argument_group("options of every command")
        _add(group, COMMON)
        group.add_argument(*_VERSION, action="store_true", help="Print the version.")
    return made


def _in_one_line() -> str:
    """The options of every command that are typed most; a line's width has room for no more."""
    most = [option for option in COMMON if option.short or option.flag in ("--search", "--json")]
    named = ", ".join(f"{option.short or option.flag} {option.metavar}".rstrip() for option in most)
    return f"also: {named}; all: {_HELP_ALL}"


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """An option's forms stand before its value, which is named once."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=WIDTH - 1)

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


def _unknown(kind: str, name: str, known: Iterable[str], command: str = "") -> UsageError:
    """With the nearest known name, or where to find the names: a list of all would be too long for a line."""
    hint = f"See `{PROGRAM} {command} --help`.".replace("  ", " ")
    if not difflib.get_close_matches(name, known, n=1):
        return UnknownNameError(f"Unknown {kind} '{name}'.", hint=hint, kind=kind, name=name)
    return UnknownNameError.of(kind, name, known)
