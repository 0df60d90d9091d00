"""Writing events, and printing them where a host asked for it.

``get_log("supervisor").info("phase started", attempt=0)`` goes to the standard logger
``deep_research.supervisor``. Nobody sees it until the host attaches a handler there or above, or calls
`configure`. Until then a call costs a look at the handlers, and structlog is not even imported. A host's own
handlers get «event key=value …» as the message, and the fields as ``record.deep_research``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

from deep_research.errors import UnknownNameError
from deep_research.logs.redaction import redact_value

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

ROOT = "deep_research"
LEVELS: Mapping[str, int] = MappingProxyType(
    {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
)
FORMATS = ("text", "json")

_FIELDS = "deep_research"  # the attribute of a log record that carries our fields
_NOISY = ("httpx", "httpx2", "httpcore")

# Keeps the standard library's handler of last resort from printing for a host that asked for nothing.
logging.getLogger(ROOT).addHandler(logging.NullHandler())

_bound: ContextVar[Mapping[str, object]] = ContextVar(
    "deep_research_log_fields", default=MappingProxyType({})
)


class Log:
    """Writes events of one part of the package; ``exc_info`` (an exception, or True) adds its traceback."""

    __slots__ = ("_logger", "_pipeline")

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._pipeline: Any = None

    def debug(self, event: str, **fields: object) -> None:
        self._write("debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._write("error", event, fields)

    def _write(self, level: str, event: str, fields: Mapping[str, object]) -> None:
        if not _has_listener(self._logger, LEVELS[level]):
            return
        if self._pipeline is None:
            self._pipeline = _pipeline(self._logger)
        getattr(self._pipeline, level)(event, **fields)


def get_log(name: str) -> Log:
    """The log of ``deep_research.<name>``; a module of the package may give its ``__name__``."""
    name = name.removeprefix(f"{ROOT}.")
    return Log(logging.getLogger(ROOT if name == ROOT else f"{ROOT}.{name}"))


@contextmanager
def bind(**fields: object) -> Iterator[None]:
    """Add fields, such as ``run`` and ``phase``, to every event written inside the block and by the tasks
    started there."""
    token = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(token)


def configure(level: str | None = "info", format: str = "text", stream: TextIO | None = None) -> None:
    """Print the package's events to ``stream`` (default: stderr), one line each, as key=value text or JSON.

    May be called again: the last call holds, and None as the level makes the package silent. The loggers of
    the HTTP clients are set to WARNING at least, because they print whole addresses with the keys in them.
    Raises `UnknownNameError` for a level or format that does not exist.
    """
    if level is not None and level not in LEVELS:
        raise UnknownNameError.of("log level", level, LEVELS)
    if format not in FORMATS:
        raise UnknownNameError.of("log format", format, FORMATS)
    logger = logging.getLogger(ROOT)
    for earlier in [handler for handler in logger.handlers if isinstance(handler, _Handler)]:
        logger.removeHandler(earlier)
    if level is None:
        logger.setLevel(logging.NOTSET)
        return
    handler = _Handler(stream)
    handler.setFormatter(_formatter(format))
    logger.addHandler(handler)
    logger.setLevel(LEVELS[level])
    for name in _NOISY:
        noisy = logging.getLogger(name)
        noisy.setLevel(max(noisy.level, logging.WARNING))


class _Handler(logging.StreamHandler[TextIO]):
    """What `configure` attaches, and by which the next call knows what to take away."""


def _has_listener(logger: logging.Logger, level: int) -> bool:
    """Whether any handler would print a record of this level."""
    if not logger.isEnabledFor(level):
        return False
    node: logging.Logger | None = logger
    while node is not None:
        if any(level >= h.level and not isinstance(h, logging.NullHandler) for h in node.handlers):
            return True
        node = node.parent if node.propagate else None
    return False


# --- from a call to a record -------------------------------------------------------------------------------


def _pipeline(logger: logging.Logger) -> Any:
    import structlog  # here, because it costs 40 ms that a silent engine must not pay

    # Everything is named, so that a host's own structlog.configure() does not change our lines.
    return structlog.wrap_logger(
        logger,
        processors=[_merge_bound, structlog.processors.format_exc_info, redact_fields, _to_record],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=True,
    )


def _merge_bound(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {**_bound.get(), **event}


def redact_fields(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The structlog processor that lets no secret through; see `redact_value`."""
    fields: EventDict = redact_value(event)
    return fields


def _to_record(_logger: WrappedLogger, _method: str, event: EventDict) -> tuple[tuple[str], dict[str, Any]]:
    """The arguments of the standard logger: a readable message for any handler, and the fields beside it."""
    return (_pairs(event),), {"extra": {_FIELDS: event}}


# --- from a record to a line -------------------------------------------------------------------------------


def _formatter(format: str) -> logging.Formatter:
    import structlog

    render: Processor = _line if format == "text" else structlog.processors.JSONRenderer()
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[_from_record],
        processors=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            redact_fields,
            render,
        ],
    )


def _from_record(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """The fields that a record of ours carries; a record that someone else wrote has only its message."""
    return {**event, **getattr(event["_record"], _FIELDS, {})}


def _line(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    return " ".join([*(event.pop(lead) for lead in ("timestamp", "level", "logger")), _pairs(event)])


def _pairs(event: EventDict) -> str:
    """«event key=value …» on one line. Titles and questions come from outside, so no line break may forge a
    line and no escape sequence reach a terminal."""
    text = str(event.get("event", ""))
    words = [f"{_word(key)}={_word(value)}" for key, value in event.items() if key != "event"]
    return " ".join([text if text.isprintable() else json.dumps(text)[1:-1], *words])


def _word(value: object) -> str:
    """A value in one piece: in quotes where its end would not be seen, escaped where it cannot be printed."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text.isprintable():
        return json.dumps(value)
    if text == "" or any(mark in text for mark in " =\"'"):
        return json.dumps(value, ensure_ascii=False)
    return text
