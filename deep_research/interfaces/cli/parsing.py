"""Reads a command line: parsers and help texts from the tables of options, "Did you mean …?", and what a shell offers for
a word that is not finished. Importing this module loads nothing of the engine."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from deep_research.errors import UnknownNameError, UsageError
from deep_research.interfaces.cli.options import BY_NAME, COMMANDS, COMMON, PATHS, PROGRAM, Command, Option

WIDTH_CHARS = 80
SUMMARY = "Research a question and get a report with checked quotes."
_HELP = ("-h", "--help")
_HELP_ALL = "--help-all"
_VERSION = ("-V", "--version")
_OPTIONS = (*COMMON, *(option for command in COMMANDS for option in command.options))
_VALUED = {flag for option in _OPTIONS if option.metavar for flag in option.flags}
_KNOWN = {flag for option in _OPTIONS for flag in option.flags} | {*_HELP, _HELP_ALL, *_VERSION}
FILES = "<files>"  # the answer that any path fits
_ASK = f"{PROGRAM} completion words --"
_SCRIPTS = {
    "bash": f"""\
# bash completion of {PROGRAM}
_deep_research() {{
    local IFS=$'\\n' found
    found="$({_ASK} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null | cut -f1)"
    if [ "$found" = "{FILES}" ]; then found="$(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}")"; fi
    COMPREPLY=($found)
}}
complete -o filenames -F _deep_research {PROGRAM}
""",
    "zsh": f"""\
#compdef {PROGRAM}
# zsh completion of {PROGRAM}
_deep_research() {{
    local -a found
    local tab=$'\\t'
    found=("${{(@f)$({_ASK} "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    if [[ "$found[1]" == "{FILES}" ]]; then
        _files
    elif [[ -n "$found[1]" ]]; then
        found=("${{(@)found//$tab/:}}")
        _describe -V unsorted found
    fi
}}
compdef _deep_research {PROGRAM}
if [[ "$funcstack[1]" = "_{PROGRAM}" ]]; then _deep_research; fi
""",
    "fish": f"""\
# fish completion of {PROGRAM}
function __deep_research
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l found ({_ASK} $typed[2..-1] "$current" 2>/dev/null)
    if test "$found[1]" = "{FILES}"
        __fish_complete_path "$current"
    else
        printf '%s\\n' $found
    end
end
complete -c {PROGRAM} -f -a "(__deep_research)"
""",
}


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
            raise _unknown("option", flag, (*known_flags, *setting_flags()), command.name)
    args = parser(command).parse_args(rest)
    if command.choices:
        kind = command.arguments[0][0].lower()
        if (value := getattr(args, kind)) not in command.choices:
            raise UnknownNameError.of(kind, value, command.choices)
    args.command = command.name
    return args


def _split(argv: Sequence[str]) -> tuple[str | None, list[str], list[str]]:
    """The command, the words besides it, and the options among them. Options may stand before the command; each
    ``--fetch-timeout 10`` is read as ``--set fetch_timeout=10``. Raises `UsageError` where its value is missing."""
    name, words = None, list(argv)
    rest: list[str] = []
    flags: list[str] = []
    while words:
        word = words.pop(0)
        flag, equals, value = word.partition("=")
        if word == "--":
            if name is None and words:
                name = words.pop(0)
            rest += [word, *words]
            break
        if not word.startswith("-") or word == "-":
            if name is None:
                name = word
            else:
                rest.append(word)
            continue
        if flag.startswith("--") and flag not in _KNOWN and (setting := setting_flags().get(flag)):
            if not (equals or words):
                raise UsageError(f"Argument {flag}: expected one argument.", hint="See docs/settings.md.")
            flag, word = "--set", f"--set={setting}={value if equals else words.pop(0)}"
        elif flag in _VALUED and not equals and words:
            rest.append(word)
            word = words.pop(0)
        elif name is None and flag not in _KNOWN:
            raise _unknown("option", flag, _KNOWN)
        flags.append(flag)
        rest.append(word)
    return name, rest, flags


def setting_flags() -> dict[str, str]:
    """The setting that each option names which stands in no table: every setting can be one."""
    from deep_research.settings import paths_by_name  # here, for few command lines need them

    flags = {f"--{name.replace('_', '-')}": name for name in paths_by_name()}
    return {flag: name for flag, name in flags.items() if flag not in _KNOWN}


def _unknown(kind: str, name: str, names: Iterable[str], command: str = "") -> UsageError:
    """With the nearest known name, or where to find the names: a list of all would be too long for a line."""
    hint = f"See `{PROGRAM} {command} --help`.".replace("  ", " ")
    if not difflib.get_close_matches(name, names, n=1):
        return UnknownNameError(f"Unknown {kind} '{name}'.", hint=hint, kind=kind, name=name)
    return UnknownNameError.of(kind, name, names)


# Parsers and help


def parser(command: Command, *, common: bool = True, program: str = PROGRAM) -> argparse.ArgumentParser:
    """The parser of one command of a program. Without ``common`` its help names the options of every command in one
    line."""
    about = f"{command.summary}\n\nexample:\n  {command.example}"
    command_parser = _Parser(command.usage, about, brief=not common, program=program)
    for name, text in command.arguments:
        plain = name.strip("[]")
        command_parser.add_argument(
            plain.split()[0].lower(), metavar=plain, help=text, nargs=None if plain == name else "?"
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
        kind: dict[str, Any] = {"action": "store_true"}
        if option.metavar:
            kind = {"action": "append", "default": []} if option.repeats else {}
            kind["metavar"] = option.metavar
        group.add_argument(*option.flags, dest=option.dest, help=option.help, **kind)


# Completion


def script(shell: str) -> str:
    """The script of a shell, which is one of the choices."""
    return _SCRIPTS[shell]


def candidates(words: Sequence[str]) -> str:
    """The lines that may stand for the last of the words after the program: each with its help after a tab."""
    *before, current = words or [""]
    return "\n".join(
        line for line in _candidates(before, current) if line == FILES or line.startswith(current)
    )


def _candidates(before: Sequence[str], current: str) -> Iterator[str]:
    command = next((BY_NAME[word] for word in before if word in BY_NAME), None)
    options = (*(command.options if command else ()), *COMMON)
    valued = {flag: option for option in options for flag in option.flags if option.metavar}
    if before and (option := valued.get(before[-1])):
        yield from [FILES] if option.metavar in PATHS else option.choices
    elif current.startswith("-"):
        yield from (f"{flag}\t{option.help.rstrip('.')}" for option in options for flag in option.flags)
        yield from setting_flags() if command and len(current) > len("--") else ()
        yield from ("--help\tPrint help", "--help-all\tPrint help with the options of every command")
    elif command is None:
        yield from (f"{each.name}\t{each.summary.rstrip('.')}" for each in COMMANDS)
    else:
        takes_file = command.arguments and command.arguments[0][0] in ("PACK", *PATHS)
        yield from [FILES] if takes_file else command.choices
