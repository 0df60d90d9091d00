"""What a command works with, and the translation of its arguments into those of the engine."""

from __future__ import annotations

import shlex
from argparse import Namespace
from dataclasses import dataclass
from typing import Any

from deep_research.errors import UsageError
from deep_research.interfaces.cli.console import CommandError, Console
from deep_research.interfaces.cli.exits import Exit
from deep_research.interfaces.cli.options import BY_NAME, COMMON, PROGRAM
from deep_research.research import DeepResearch
from deep_research.settings import Settings, setting_from_text
from deep_research.sources.documents.sample import sample_corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One command: its arguments, its streams, its engine."""

    args: Namespace
    console: Console
    engine: DeepResearch

    @property
    def talks(self) -> bool:
        """Whether progress and closing lines are wanted: not beside JSON, which is for programs."""
        return bool(self.args.verbose or not (self.args.quiet or self.args.json))

    def again(self, verb: str, run_id: str) -> str:
        """The command that does something with a run of this session, "" when the run was kept in memory only."""
        if self.engine.settings.settings.store == "memory":
            return ""
        return command_line(self.args, verb, run_id)


class Interrupted(CommandError):  # noqa: N818 - as KeyboardInterrupt
    """A signal stopped the command."""

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__("interrupted", problem, hint=hint, exit=Exit.INTERRUPTED)


def command_line(args: Namespace, verb: str, run_id: str) -> str:
    """A command for a run of the same data directory. What it searches is not part of a run, so `resume` names it
    again."""
    words = [PROGRAM, verb, run_id]
    given = [option for option in COMMON if option.metavar and option.flag != "--log-level"]
    if verb != "resume":
        given = [option for option in given if option.flag in ("--data-dir", "--config", "--set")]
    else:
        words += [
            flag for flag in ("--sample", "--local-only") if getattr(args, flag[2:].replace("-", "_"), False)
        ]
    for option in given:
        value = getattr(args, option.dest)
        for item in value if option.repeats else [value] if value is not None else []:
            words += [option.flag, item]
    return shlex.join(words)


def engine_arguments(args: Namespace) -> dict[str, Any]:
    """The keywords for `DeepResearch`. An option of its own goes before ``--set``.

    Raises `UsageError`, `ConfigurationError` without the sample corpus.
    """
    given = setting_arguments(args)
    return given | ({"config": args.config} if args.config is not None else {})


def setting_arguments(args: Namespace) -> dict[str, Any]:
    """The settings among the arguments, each read as an environment variable's text is."""
    given = dict(_pair(pair) for pair in args.set)
    for option in (*COMMON, *BY_NAME[args.command].options):
        said = getattr(args, option.dest)
        if option.dest not in Settings.model_fields or option.dest == "corpus" or said in (None, False, []):
            continue
        given[option.dest] = said if option.repeats or said is True else _value(option.dest, said)
    corpus = [*args.corpus, *([sample_corpus()] if getattr(args, "sample", False) else [])]
    return given | ({"corpus": corpus} if corpus else {})


def _pair(pair: str) -> tuple[str, Any]:
    name, equals, text = pair.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name:
        raise UsageError(
            f"--set takes NAME=VALUE, got '{pair[:60]}'.", hint="For example: --set max_concurrent=2"
        )
    return name, setting_from_text(name, text)


def _value(name: str, text: str) -> Any:
    """Texts are taken as they stand; numbers are read."""
    return text if name in ("system_prompt", "data_dir", "preset") else setting_from_text(name, text)
