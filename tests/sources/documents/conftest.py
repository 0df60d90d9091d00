"""What the tests of local documents share: a folder to fill, and a witness of every file that is opened."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


class OpenedFiles:
    """The paths handed to ``open`` and ``os.open``, and where the descriptors of ``os.open`` really lead."""

    def __init__(self) -> None:
        self.listening = False
        self.asked: list[str] = []
        self.real: list[str] = []

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.listening and event == "open" and isinstance(arguments[0], (str, bytes)):
            self.asked.append(os.fsdecode(arguments[0]))

    def outside(self, *allowed: Path) -> list[str]:
        """What was opened that is not under one of the ``allowed`` folders."""
        roots = tuple(os.path.realpath(path) for path in allowed)
        absolute = [path for path in self.asked if os.path.isabs(path)]
        inside = tuple(f"{root}/" for root in roots)
        bad = [path for path in absolute + self.real if path not in roots and not path.startswith(inside)]
        # A relative name is opened from an open folder; it must be a plain one.
        return bad + [p for p in self.asked if not os.path.isabs(p) and ("/" in p or p in ("", ".", ".."))]


WITNESS = OpenedFiles()
sys.addaudithook(WITNESS.hear)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenedFiles]:
    """Everything that is opened during the test."""
    WITNESS.asked.clear()
    WITNESS.real.clear()
    real_open = os.open

    def spying_open(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        descriptor = real_open(path, flags, mode, dir_fd=dir_fd)
        link = f"/proc/self/fd/{descriptor}"
        if os.path.islink(link):
            WITNESS.real.append(os.readlink(link))
        return descriptor

    monkeypatch.setattr(os, "open", spying_open)
    WITNESS.listening = True
    try:
        yield WITNESS
    finally:
        WITNESS.listening = False


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder for documents."""
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A document outside the root."""
    folder = tmp_path / "outside"
    folder.mkdir()
    file = folder / "secret.md"
    file.write_text("# Secret\n\nThe canary sings at midnight.\n")
    return file
