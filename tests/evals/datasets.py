"""Reading a data set: a folder with ``corpus.jsonl`` and one file of questions, a JSON object a line."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from deep_research.errors import UsageError
from deep_research.sources.documents import Document
from deep_research.state.identity import sha256_hex
from deep_research.text.plain import clean

CORPUS = "corpus.jsonl"
TITLE_LENGTH = 60  # characters of the text that stand for a title where titles are left out
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Nugget:
    """One thing that a good report says."""

    text: str
    vital: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question with what is known to be right. ``gold`` are groups of ids: each group is one piece of evidence,
    and any of its ids shows it. ``dataset`` names the set it comes from, "" where there is only one. ``answers`` are
    short answers that are accepted; the question is asked of the corpus ``without`` some documents, or of one ``folder``
    of it."""

    id: str
    text: str
    dataset: str = ""
    gold: tuple[frozenset[str], ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    answers: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """The corpus of a data set, a file or a folder of documents, and its file of questions."""

    corpus: Path
    questions: Path

    @property
    def fingerprint(self) -> str:
        """sha256 (hex) of what both hold."""
        files = [self.corpus] if self.corpus.is_file() else folder_files(self.corpus)
        hashes = " ".join(f"{path.name} {file_hash(path)}" for path in [*files, self.questions])
        return sha256_hex(hashes.encode())


def folder_files(folder: Path) -> list[Path]:
    """The files of a folder of documents, in the order of their paths."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def find_dataset(data: Path, folder: str, kind: str, corpus_name: str = CORPUS) -> Dataset:
    """The corpus and the questions in ``data/folder``. The questions are in ``{kind}-dev.jsonl``, or else in the only
    file named ``{kind}*.jsonl`` or ``{kind}*.toml``.

    Raises `UsageError` for a folder or file that is missing, and for several of which none is the ``-dev`` one.
    """
    home = data / folder
    if not home.is_dir():
        raise UsageError(f"There is no folder {home}.", hint="--data names the folder that holds it.")
    corpus = home / corpus_name
    if not corpus.exists():
        raise UsageError(f"There is no file {corpus}.", hint="Each data set has a corpus of that name.")
    found = sorted(
        path for path in home.glob(f"{kind}*") if path.is_file() and path.suffix in (".jsonl", ".toml")
    )
    preferred = [path for path in found if path.stem.endswith("-dev")] or found
    if not preferred:
        raise UsageError(f"There is no file {home / kind}*.jsonl.", hint="It holds the questions.")
    if len(preferred) > 1:
        names = ", ".join(path.name for path in preferred)
        raise UsageError(f"Several files in {home} may be meant: {names}.", hint="Leave one of them there.")
    return Dataset(corpus, preferred[0])


def documents(corpus: Path) -> Iterator[tuple[str, Document]]:
    """The documents of a corpus by id. The text is ``text``, or ``sentences`` joined. Raises `UsageError`."""
    return read_records(corpus, _document)


def corpus_texts(corpus: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """Title and text of each document by id, or, of a folder of Markdown or text, by the path in it.

    Raises `UsageError`.
    """
    if corpus.is_file():
        for name, document in documents(corpus):
            yield name, (document.title, document.text)
        return
    for path in folder_files(corpus):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} cannot be read: {error}.") from error
        first, _, rest = text.partition("\n")
        titled = first.startswith("# ")
        yield path.relative_to(corpus).as_posix(), (first[2:].strip(), rest) if titled else (path.stem, text)


def read_records(path: Path, read: Callable[[Mapping[str, Any]], _T]) -> Iterator[_T]:
    """What ``read`` makes of each line, or of each ``[[question]]`` of a TOML file. Raises `UsageError` that names the
    line which is no JSON object, or not one as ``read`` needs it (it then raises `KeyError`, `TypeError` or
    `ValueError`)."""
    try:
        if path.suffix == ".toml":
            for number, record in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["question"], 1):
                yield _parsed(path, number, json.dumps(record).encode(), read)
            return
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _parsed(path, number, line, read)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise UsageError(f"{path} holds no table of questions: {error}.") from error


def file_hash(path: Path) -> str:
    """sha256 (hex). Raises `UsageError`."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error


def text_of(record: Mapping[str, Any], field: str) -> str:
    """A text field. Raises `KeyError`, `TypeError`, `ValueError`."""
    return texts([record[field]], field)[0]


def texts_of(record: Mapping[str, Any], field: str) -> list[str]:
    """A field that holds a list of texts. Raises `KeyError`, `TypeError`, `ValueError`."""
    return texts(record[field], field)


def texts(value: Any, field: str) -> list[str]:
    """``value``, if it is a list of texts that can be written. Raises `TypeError`, `ValueError`."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"{field} is not made of texts")
    "".join(value).encode()  # half a surrogate pair is JSON and no text
    return value


def _parsed(path: Path, number: int, line: bytes, read: Callable[[Mapping[str, Any]], _T]) -> _T:
    try:
        record = json.loads(line)
        if not isinstance(record, dict):
            raise TypeError("no object")
        return read(record)
    except KeyError as error:
        why = f"{error.args[0]} is missing"
    except json.JSONDecodeError as error:
        why = f"no JSON, {error.msg}"
    except (TypeError, ValueError, RecursionError) as error:
        why = str(error) or type(error).__name__
    raise UsageError(f"{path} line {number} is damaged: {why}.", hint="Get the file anew.")


def _document(record: Mapping[str, Any]) -> tuple[str, Document]:
    text = " ".join(texts_of(record, "sentences")) if "sentences" in record else text_of(record, "text")
    title = text_of(record, "title") if record.get("title") else ""
    return text_of(record, "_id"), Document(title=" ".join(clean(title).split()), text=clean(text))
