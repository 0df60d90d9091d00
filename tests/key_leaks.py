"""Where a key might be seen: logs at their loudest, errors with all variables of their tracebacks, any object."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping

import pytest

from deep_research.testing.service_bench import encoded_forms_of_key


def leaks(text: str, keys: Mapping[str, str]) -> list[str]:
    """The names of the keys that are in a text in whatever form."""
    return [name for name, key in keys.items() for form in encoded_forms_of_key(key) if form in text]


class Loudest(logging.Handler):
    """Keeps all there is in a record."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter())
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(f"{self.format(record)} {record.__dict__!r}")


def loud_logs(*names: str) -> Callable[[pytest.MonkeyPatch], Iterator[list[str]]]:
    """A fixture: all that these loggers and the root write."""

    def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        handler, root = Loudest(), logging.getLogger()
        for name in ("", *names):
            monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
        root.manager._clear_cache()
        root.addHandler(handler)
        yield handler.kept
        root.removeHandler(handler)
        root.manager._clear_cache()

    return pytest.fixture(logs)


def seen_in(error: BaseException | None) -> Iterator[str]:
    """All that a crash report may show of an error, of what led to it, and of what that was about."""
    while error is not None:
        yield from traceback.TracebackException.from_exception(error, capture_locals=True).format()
        yield f"{error} {error!r} {vars(error)!r}"
        error = error.__cause__ or error.__context__


def seen_of(thing: object) -> Iterator[str]:
    yield f"{thing!r} {thing} {vars(thing) if hasattr(thing, '__dict__') else ''!r}"
    try:
        yield pickle.dumps(thing).decode("latin-1")
    except Exception as error:
        yield repr(error)
