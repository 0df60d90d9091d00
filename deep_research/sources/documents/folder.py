"""Walking a folder of documents without ever leaving it.

The folder is opened once; from then on every step goes from an open directory to one name in it, never
following a symlink, so that neither a link, a ``..`` nor a file that is swapped between look and open leads
outside. Only regular files are opened. A hard link is a regular file and is read: nothing tells it from the
original.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType

from deep_research.errors import ConfigurationError, CorpusError
from deep_research.sources.extract import formats, readers
from deep_research.sources.extract.plaintext import UnreadableError, words

SUFFIXES = tuple(formats.SUFFIXES)
MAX_DEPTH = 64  # folders within folders
MAX_FILE_BYTES = 10_000_000

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a file swapped for a pipe would block the open itself.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
LINK = "a symbolic link; links are not followed"
# What package managers write is no document: their lock files, and the folders of packages that they install.
LOCK_FILE = "a lock file of a package manager; name the file itself to read it"
PACKAGES = "a folder of installed packages; name the folder itself to read it"
_LOCK_FILES = words(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock deno.lock "
    "poetry.lock uv.lock pdm.lock pipfile.lock cargo.lock go.sum gemfile.lock composer.lock "
    "packages.lock.json project.assets.json pubspec.lock podfile.lock mix.lock flake.lock"
)
_MAX_NAMED = 3  # files of a format that nobody reads
_MAX_FORMATS = 100
_PACKAGE_FOLDERS = frozenset(("node_modules", "site-packages"))
_PACKAGE = Path(__file__).resolve().parents[2]
# As with the presets, the inside wins.
_SAMPLES = (_PACKAGE / "data" / "corpus", _PACKAGE.parent / "docs" / "examples" / "corpus")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to read. ``path`` is relative, with ``/``, printable and unique; ``names`` are the names on
    disk."""

    path: str
    names: tuple[str, ...]
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not part of the corpus, or not whole, and why. Files of a format that nobody reads are one entry:
    how many they are (``count``), and in the place of the ``path`` the first of them by name."""

    path: str
    why: str
    count: int = 1


class _Unread:
    """The files of a format that nobody reads."""

    def __init__(self) -> None:
        self._count = 0
        self._first: list[str] = []

    def add(self, path: str) -> None:
        self._count += 1
        if len(self._first) < _MAX_NAMED:
            self._first.append(path)

    def entry(self, suffix: str) -> Skipped:
        why = readers.why_unread(suffix) or readers.NO_READER  # of several formats at once
        if self._count == 1:
            return Skipped(self._first[0], why)
        more = ", …" if self._count > len(self._first) else ""
        kind = f"{printable(suffix)} files" if suffix else "files without a suffix"
        return Skipped(f"{self._count} {kind} ({', '.join(self._first)}{more})", why, self._count)


class CorpusFolder:
    """A folder, or a single file seen as a folder of one. Use it as a context manager.

    Raises `CorpusError` when ``root`` does not exist, is neither file nor folder, or cannot be opened.
    """

    def __init__(self, root: Path | str, *, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self._max_file_bytes = max_file_bytes
        self._unread: dict[str, _Unread] = {}  # by suffix
        real = real_path(root)
        mode = os.stat(real).st_mode
        self._only: str | None = None
        if not stat.S_ISDIR(mode):
            if not stat.S_ISREG(mode) or not _is_document(os.path.basename(real)):
                why = readers.why_unread(PurePosixPath(real).suffix.lower())
                raise CorpusError(
                    f"The corpus {printable(str(root))} is neither a folder nor a document ({why}).",
                    hint=f"Name a folder, or a file that ends in {', '.join(readers.suffixes())}.",
                    root=str(root),
                )
            real, self._only = os.path.split(real)
        try:
            self._fd = os.open(real, _FOLDER_FLAGS)
        except OSError as error:
            raise CorpusError(
                f"The corpus folder {printable(str(root))} cannot be opened: {error.strerror}.",
                hint="Check its permissions.",
                root=str(root),
            ) from error

    def __enter__(self) -> CorpusFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def walk(self) -> Iterator[Candidate | Skipped]:
        """Every document, sorted within each folder, and each entry that was passed over although it might
        hold some, such as what package managers write; at the end the files of other formats, by format. Hidden names
        are passed over in silence."""
        self._unread.clear()
        if self._only is not None:
            yield from self._look(self._fd, (self._only,))
        else:
            yield from self._walk(self._fd, ())
        yield from (self._unread[suffix].entry(suffix) for suffix in sorted(self._unread))

    def read(self, names: tuple[str, ...]) -> tuple[bytes, os.stat_result]:
        """The bytes of one file, and its status before they were read. ``names`` lead to it from the root.

        Raises `UnreadableError` for whatever is not a regular file inside the root, or is too large.
        """
        if not names or not all(map(_is_plain_name, names)):
            raise UnreadableError("not a path inside the corpus")
        try:
            file = self._open_file(names)
        except OSError as error:
            raise UnreadableError(_reason(error)) from error
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableError("not a regular file")
            raw = _read_up_to(file, self._max_file_bytes + 1, status.st_size)
        except OSError as error:
            raise UnreadableError(_reason(error)) from error
        finally:
            os.close(file)
        if len(raw) > self._max_file_bytes:
            raise UnreadableError(self._too_large())
        return raw, status

    def _walk(self, folder: int, names: tuple[str, ...]) -> Iterator[Candidate | Skipped]:
        try:
            entries = sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except OSError as error:
            yield Skipped(_printable_path(names), _reason(error))
            return
        for name in entries:
            if name.lower() not in _LOCK_FILES:
                yield from self._look(folder, (*names, name))
            elif _is_document(name):
                yield Skipped(_printable_path((*names, name)), LOCK_FILE)

    def _look(self, folder: int, names: tuple[str, ...]) -> Iterator[Candidate | Skipped]:
        """What one entry of the open ``folder`` is; enters it when it is a folder itself."""
        path = _printable_path(names)
        try:
            status = os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            yield Skipped(path, _reason(error))
            return
        if stat.S_ISDIR(status.st_mode):
            yield from self._enter(folder, names)
        elif stat.S_ISLNK(status.st_mode):
            yield Skipped(path, LINK)
        elif not _is_document(names[-1]):
            suffix = PurePosixPath(names[-1]).suffix.lower()
            is_known = suffix in self._unread or len(self._unread) < _MAX_FORMATS
            self._unread.setdefault(suffix if is_known else "", _Unread()).add(path)
        elif not stat.S_ISREG(status.st_mode):
            yield Skipped(path, "not a regular file")
        elif status.st_size > self._max_file_bytes:
            yield Skipped(path, self._too_large())
        else:
            yield Candidate(path, names, status.st_size, status.st_mtime_ns)

    def _enter(self, folder: int, names: tuple[str, ...]) -> Iterator[Candidate | Skipped]:
        if names[-1] in _PACKAGE_FOLDERS:
            yield Skipped(_printable_path(names), PACKAGES)
            return
        if len(names) > MAX_DEPTH:
            yield Skipped(_printable_path(names), f"more than {MAX_DEPTH} folders deep")
            return
        try:
            inner = os.open(names[-1], _FOLDER_FLAGS, dir_fd=folder)
        except OSError as error:
            yield Skipped(_printable_path(names), _reason(error))
            return
        try:
            yield from self._walk(inner, names)
        finally:
            os.close(inner)

    def _open_file(self, names: tuple[str, ...]) -> int:
        """A descriptor of the file, reached name by name so that no component can be a link."""
        folder = os.dup(self._fd)
        try:
            for name in names[:-1]:
                inner = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
                os.close(folder)
                folder = inner
            # Looked at before it is opened: opening a device may already do something.
            if not stat.S_ISREG(os.stat(names[-1], dir_fd=folder, follow_symlinks=False).st_mode):
                raise UnreadableError("not a regular file")
            return os.open(names[-1], _FILE_FLAGS, dir_fd=folder)
        finally:
            os.close(folder)

    def _too_large(self) -> str:
        return f"larger than max_file_bytes ({self._max_file_bytes:,}); raise it"


def printable(name: str) -> str:
    """``name`` with everything escaped that is not UTF-8 or would not show as itself."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


def real_path(root: Path | str) -> str:
    """Where ``root`` is, all links resolved. Raises `CorpusError` when nothing is there."""
    try:
        return os.path.realpath(root, strict=True)
    except (OSError, ValueError) as error:
        raise CorpusError(
            f"There is no corpus at {printable(str(root))}.",
            hint="Name an existing folder with documents, such as .md, .html, .pdf or .docx.",
            root=str(root),
        ) from error


def _is_document(name: str) -> bool:
    return name.lower().endswith(readers.suffixes()) or not readers.why_unread(
        PurePosixPath(name).suffix.lower()
    )


def _is_plain_name(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _printable_path(names: tuple[str, ...]) -> str:
    return "/".join(map(printable, names)) or "."


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _read_up_to(file: int, limit: int, size: int) -> bytes:
    """At most ``limit`` bytes of a file that is of about ``size``: they are read at once, for pieces would be held twice
    while they are joined."""
    pieces: list[bytes] = []
    while limit > 0 and (piece := os.read(file, min(limit, max(size + 1, 1 << 16)))):
        pieces.append(piece)
        limit -= len(piece)
        size = 0
    return b"".join(pieces)


def sample_corpus() -> str:
    """The folder of the sample documents. Raises `ConfigurationError` when it was not installed."""
    for folder in _SAMPLES:
        if folder.is_dir():
            return str(folder)
    raise ConfigurationError(
        "The sample documents are not installed.", hint="Reinstall the package, or use --corpus PATH."
    )
