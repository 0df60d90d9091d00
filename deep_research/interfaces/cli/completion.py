"""Shell completion. A shell runs the program to ask for what may follow the words that were typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deep_research.errors import UnknownNameError
from deep_research.interfaces.cli.options import BY_NAME, COMMANDS, COMMON, PATHS, PROGRAM, setting_flags

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


def script(shell: str) -> str:
    """The script of a shell. Raises `UnknownNameError` for one that is not known."""
    if shell not in _SCRIPTS:
        raise UnknownNameError.of("shell", shell, _SCRIPTS)
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
        yield from [FILES] if command.takes_file else command.choices
