"""``--out FILE``: refused before a run when it cannot be written, and never left half written."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from deep_research.errors import UsageError
from deep_research.files import beside, whole


def check_target(name: str | None) -> None:
    """Raises `UsageError` for a place where no file can be written."""
    if name is None:
        return
    target = _target(name)
    if target.is_dir():
        raise UsageError(f"--out {name} is a folder.", hint="Give the path of a file.")
    try:
        if _is_special(target):
            target.open("a").close()
        else:
            probe = beside(target)
            probe.touch(exist_ok=False)
            probe.unlink()
    except OSError as error:
        raise _unwritable(name, error) from None


def write_whole(name: str, text: str) -> None:
    """The whole text or nothing; an earlier file is replaced. Raises `UsageError`."""
    target = _target(name)
    try:
        if _is_special(target):
            target.write_text(text, encoding="utf-8", newline="\n")
        else:
            with whole(target) as file:
                file.write(text.encode())
    except OSError as error:
        raise _unwritable(name, error) from None


def _target(name: str) -> Path:
    """Through symbolic links, so that a link stays one; but for that of a pipe, which leads to no path."""
    try:
        path = Path(name).expanduser()
        return path if _is_special(path) else path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"--out {name!r} is not a path: {error}.", hint="Give the path of a file.") from None


def _is_special(target: Path) -> bool:
    """A device or pipe, such as /dev/stdout: written to, never replaced."""
    return target.exists() and not target.is_file()


def _unwritable(name: str, error: OSError) -> UsageError:
    return UsageError(
        f"--out {name} cannot be written: {error.strerror or error}.",
        hint="Give the path of a file in an existing, writable folder.",
    )


def check_output(args: Namespace) -> None:
    """Looks at ``--out`` before anything is done for it. Raises `UsageError`."""
    for flag in ("estimate", "budget"):
        if getattr(args, flag, False) and args.out is not None:
            raise UsageError(f"--{flag} writes no report.", hint="Remove --out.")
    check_target(getattr(args, "out", None))
