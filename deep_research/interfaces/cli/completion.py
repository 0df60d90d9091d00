"""Shell completion: scripts that are written from the tables of commands and options. Pure.

What is offered is names alone: commands, options, fixed values, and files where a path is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from deep_research.errors import UnknownNameError
from deep_research.interfaces.cli.options import COMMANDS, COMMON, PATHS, PROGRAM, Command, Option


def script(shell: str) -> str:
    """The script of a shell. Raises `UnknownNameError` for one that is not known."""
    if shell not in _SCRIPTS:
        raise UnknownNameError.of("shell", shell, _SCRIPTS)
    return _SCRIPTS[shell]()


def _flags(command: Command) -> str:
    return " ".join(flag for option in _options(command) for flag in option.flags)


def _options(command: Command) -> Sequence[Option]:
    return (*command.options, *COMMON)


def _every() -> list[Option]:
    """Each option once, whichever commands have it."""
    return list({option.flag: option for command in COMMANDS for option in _options(command)}.values())


def _patterns(options: Iterable[Option]) -> str:
    return "|".join(flag for option in options for flag in option.flags)


def _bash() -> str:
    every = _every()
    paths = [option for option in every if option.metavar in PATHS]
    fixed = [option for option in every if option.choices]
    others = [option for option in every if option.metavar and option not in (*paths, *fixed)]
    values = "\n".join(
        f'        {_patterns([option])}) _deep_research_words "{" ".join(option.choices)}"; return ;;'
        for option in fixed
    )
    words = "\n".join(
        f'        {command.name}) flags="{_flags(command)}" values="{" ".join(command.choices)}"'
        f"{' files=1' if command.takes_file else ''} ;;"
        for command in COMMANDS
    )
    names = "|".join(command.name for command in COMMANDS)
    return f"""\
# bash completion of {PROGRAM}
_deep_research_words() {{ COMPREPLY=($(compgen -W "$1" -- "$current")); }}
_deep_research() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="" word flags values
    local files=""
    case "$before" in
        {_patterns(paths)}) local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$current")); return ;;
{values}
        {_patterns(others)}) COMPREPLY=(); return ;;
    esac
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in {names}) command="$word"; break ;; esac
    done
    case "$command" in
{words}
        *) flags="{" ".join(flag for option in COMMON for flag in option.flags)}" values="{names.replace("|", " ")}" ;;
    esac
    case "$current" in
        -*) _deep_research_words "$flags --help --help-all" ;;
        *) if [ -n "$files" ]; then local IFS=$'\n'; COMPREPLY=($(compgen -f -- "$current"))
           else _deep_research_words "$values"; fi ;;
    esac
}}
complete -o filenames -F _deep_research {PROGRAM}
"""


def _zsh() -> str:
    commands = "\n".join(f"        {_quoted(f'{c.name}:{_plain(c.summary)}')}" for c in COMMANDS)
    cases = "\n".join(
        f"        {command.name}) _arguments -s {' '.join(_zsh_spec(o) for o in _options(command))}"
        f" {_quoted(_zsh_value(command))} ;;"
        for command in COMMANDS
    )
    return f"""\
#compdef {PROGRAM}
# zsh completion of {PROGRAM}
_deep_research() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command="$words[2]"
    shift words
    (( CURRENT-- ))
    case "$command" in
{cases}
    esac
}}
compdef _deep_research {PROGRAM}
if [[ "$funcstack[1]" = "_{PROGRAM}" ]]; then _deep_research; fi
"""


def _zsh_spec(option: Option) -> str:
    """As `_arguments` reads it: names, help, and what kind of value follows."""
    help = _plain(option.help).replace("[", "(").replace("]", ")")
    value = ""
    if option.metavar:
        kind = "_files" if option.metavar in PATHS else f"({' '.join(option.choices)})"
        value = f":{option.metavar}:{kind}"
    star = "*" if option.repeats else ""
    return " ".join(_quoted(f"{star}{flag}[{help}]{value}") for flag in option.flags)


def _zsh_value(command: Command) -> str:
    name = command.arguments[0][0] if command.arguments else ""
    values = "_files" if command.takes_file else f"({' '.join(command.choices)})"
    return f"1:{name.strip('[]') or 'none'}:{values}"


def _fish() -> str:
    names = " ".join(command.name for command in COMMANDS)
    lines = [f"# fish completion of {PROGRAM}", f"complete -c {PROGRAM} -f"]
    for command in COMMANDS:
        lines.append(
            f"complete -c {PROGRAM} -n {_quoted(f'not __fish_seen_subcommand_from {names}')}"
            f" -a {command.name} -d {_quoted(_plain(command.summary))}"
        )
        within = f"complete -c {PROGRAM} -n {_quoted(f'__fish_seen_subcommand_from {command.name}')}"
        lines += [f"{within} -F"] if command.takes_file else []
        lines += [f"{within} -a {choice}" for choice in command.choices]
        lines += [f"{within} {_fish_spec(option)}" for option in command.options]
    lines += [f"complete -c {PROGRAM} {_fish_spec(option)}" for option in COMMON]
    return "\n".join(lines) + "\n"


def _fish_spec(option: Option) -> str:
    spec = [f"-l {option.flag.removeprefix('--')}"]
    spec += [f"-s {option.short.removeprefix('-')}"] if option.short else []
    if option.metavar:
        spec.append("-r")
        spec += ["-F"] if option.metavar in PATHS else []
        spec += [f"-a {_quoted(' '.join(option.choices))}"] if option.choices else []
    return " ".join([*spec, f"-d {_quoted(_plain(option.help))}"])


def _plain(text: str) -> str:
    """Help as one line without what a shell's completion reads as its own."""
    return text.rstrip(".").replace(":", ",").replace("'", "’").replace("\\", "/")


def _quoted(text: str) -> str:
    return f"'{text}'"


_SCRIPTS: dict[str, Callable[[], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
