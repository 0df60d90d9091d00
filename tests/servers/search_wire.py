"""What every format of a search service has to say: how a request is judged, how answers and errors are written."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deep_research.testing.search_bench import Hit


@dataclass(slots=True)
class Asked:
    """One request as the service saw it. ``params`` are those of the address, or of a JSON body. ``fault`` is the kind
    of fault that struck, ``status`` what it was answered with, None for nothing."""

    method: str
    path: str
    headers: Mapping[str, str]
    params: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    body: str = ""
    fault: str | None = None
    status: int | None = None


class RefusedError(Exception):
    """The service will not answer this request."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class SearchWire(ABC):
    """One format: the requests that go to ``path`` with ``method``."""

    method = "GET"
    path = "/"
    params: frozenset[str] = frozenset()

    @abstractmethod
    def answer(self, asked: Asked, hits: Sequence[Hit]) -> Any:
        """The body of an answer. Raises `RefusedError` where the service would not give one."""

    @abstractmethod
    def error(self, status: int, message: str | None = None, code: str | None = None) -> Any:
        """The body of an error; without a message, the service's own words for this status."""

    def key(self, asked: Asked) -> str | None:
        """The key that was sent where this service looks for it."""
        return None

    def no_key(self) -> RefusedError:
        """What is said to a key that is missing or wrong."""
        return RefusedError(401, "Unauthorized")

    takes_key = True

    def check(self, asked: Asked) -> None:
        """Refuses names of parameters that this service does not know; some are more lenient than this."""
        for name in asked.params:
            if name not in self.params:
                raise RefusedError(400, f"Unknown parameter: {name}")


def whole_number(value: Any, least: int, most: int, name: str) -> int:
    if not re.fullmatch(r"\d{1,9}", str(value)) or not least <= int(value) <= most:
        raise RefusedError(400, f"{name} must be between {least} and {most}")
    return int(value)


def is_day(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value) is not None


def bearer(asked: Asked) -> str | None:
    kind, _, key = asked.headers.get("authorization", "").partition(" ")
    return key if kind == "Bearer" else None


def as_body(data: Any) -> bytes:
    return json.dumps(data).encode()
