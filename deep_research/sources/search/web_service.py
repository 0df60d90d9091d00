"""Base of web search services: one client a loop, a deadline, bounds, and one meaning for every failure.

Nothing is repeated here: the caller decides that.
"""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

import httpx
from pydantic import SecretStr

from deep_research.addresses import is_loopback
from deep_research.errors import MissingKeyError, SearchError
from deep_research.models.characters import whole_characters
from deep_research.models.clients import (
    MAX_CONNECT_SECONDS,
    STRANGE,
    PerLoop,
    bounded,
    checked_url,
    read_json,
    secret_key,
    tls,
)
from deep_research.sources.search.base import SearchProvider, SearchRequest, SearchResult, Trouble
from deep_research.sources.search.fields import shortened
from deep_research.sources.search.keys import CONTACT, Needs
from deep_research.sources.search.service_failures import refusal, transient
from deep_research.unpacking import CODINGS, BodyError

SECONDS = 30.0  # for a whole search
MAX_BYTES = 5_000_000  # of one answer, as it is sent and as it is when unpacked
MAX_VALUES = 250_000  # in its JSON
_SALT = os.urandom(16)

Params = Mapping[str, str | int]


class MalformedError(Exception):
    """An answer that is not of the service's form. For `HttpSearch._find` to raise; it never leaves the provider."""


class HttpSearch(SearchProvider):
    """A provider over HTTP. A subclass says where its service is and how it is asked, see `_find`.

    ``base_url``: another place than the service's own, such as a proxy in front of it. ``timeout``: seconds for a whole
    search, however many requests it takes. The key is the one given, or that of the first variable in ``needs``.

    Raises `MissingKeyError` and `ConfigurationError`.
    """

    needs: ClassVar[Needs] = Needs()
    url: ClassVar[str] = ""
    key_variable: ClassVar[str | None] = None
    # The header that takes the key, and what stands before it there.
    key_header: ClassVar[tuple[str, str]] = ("authorization", "Bearer ")
    longest_query: ClassVar[int] = 400  # characters; what is longer is cut at a word
    says_who: ClassVar[bool] = False  # whether the service wants a contact
    contact: str | None = None  # else that of the environment
    sent_key: str = ""  # the variable of the environment whose key goes with each request, if one does

    def __init__(
        self,
        *,
        api_key: SecretStr | str | None = None,
        base_url: str | None = None,
        timeout: float = SECONDS,
    ) -> None:
        self.base_url = self._check_url(base_url or self.url)
        self.timeout = timeout
        self._key = secret_key(api_key, variable=self.key_variable)
        self.sent_key = self.key_variable or "" if self._key and api_key is None else ""
        if self._key is None and self.key_variable in self.needs.required:
            raise missing(self.name, self.needs.required)
        self._clients = PerLoop(self._client, httpx.AsyncClient.aclose)
        self._set_up()

    def _set_up(self) -> None:
        """What follows from the key and the address that it is made with."""

    @property
    def account(self) -> str:
        """Where it asks, and as whom: services count requests, and refuse, by key. Of the key it is a digest that means
        nothing to another process."""
        digest = (
            blake2b(self._key.get_secret_value().encode(), key=_SALT, digest_size=8) if self._key else None
        )
        return f"{self.base_url} {digest.hexdigest() if digest else ''}".strip()

    @abstractmethod
    async def _find(self, request: SearchRequest) -> Sequence[SearchResult]:
        """One search. May raise `SearchError`, `MalformedError` and what httpx raises."""

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        outcome = await self._outcome(request)
        # Raised here, away from frames that hold what was sent and what came.
        if isinstance(outcome, SearchError):
            raise outcome
        return outcome

    async def aclose(self) -> None:
        await self._clients.aclose()

    async def _outcome(self, request: SearchRequest) -> list[SearchResult] | SearchError:
        try:
            async with asyncio.timeout(self.timeout) as limit:
                results = await self._find(request)
            first: dict[str, SearchResult] = {}
            for result in results:
                first.setdefault(result.address, result)
            return [first[where] for where in first if where not in request.exclude][: request.limit]
        except SearchError as error:
            return error.with_traceback(None)
        except TimeoutError:
            if not limit.expired():
                raise
            return transient(self.name, f"no whole answer within {self.timeout:g} s")
        except BodyError as error:
            return self._unreadable(error)
        except MalformedError as error:
            # Of a gateway, or of another service.
            return transient(self.name, str(error) or "the answer is not one of this service", status=200)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return self._broken(error)

    def _unreadable(self, error: BodyError) -> SearchError:
        """What a body that cannot be used means: an error says by its status what is the matter."""
        if error.status:
            words = {"message": f"what the error says is {error}"}
            failure = self._refused(error.status, words, error.headers, ())
            return SearchError(failure.problem, hint=failure.hint or STRANGE, **failure.data)
        return transient(self.name, f"the answer is {error}", hint=STRANGE)

    def _broken(self, error: Exception) -> SearchError:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | OSError):
            return transient(
                self.name, "the service cannot be reached", hint="Is there a network?", unreached=True
            )
        return transient(self.name, f"the connection broke ({type(error).__name__})")

    def _reach(self) -> str:
        return self.contact or os.environ.get(CONTACT, "")

    def _check_url(self, url: str) -> str:
        return checked_url(url, of=self.name)

    def _client(self) -> httpx.AsyncClient:
        header, before = self.key_header
        key = {header: before + self._key.get_secret_value()} if self._key else {}
        return httpx.AsyncClient(
            headers={
                "user-agent": agent(self._reach() if self.says_who else ""),
                "accept": "application/json",
                "accept-encoding": CODINGS,
                **key,
            },
            timeout=httpx.Timeout(self.timeout, connect=min(self.timeout, MAX_CONNECT_SECONDS)),
            event_hooks={"response": [bounded(MAX_BYTES, values=MAX_VALUES)]},
            follow_redirects=False,
            verify=tls(),
            trust_env=not is_loopback(self.base_url),
        )

    async def _get(self, path: str, params: Params, *, base_url: str | None = None) -> Any:
        """The JSON that the service answers with. Raises as `_find` may."""
        response = await self._clients.here().get(f"{base_url or self.base_url}{path}", params=dict(params))
        if response.status_code == 200:
            return read_json(response.content, values=MAX_VALUES)
        raise self._refusal(response, tuple(str(value) for value in params.values()))

    def _refusal(self, response: httpx.Response, unsaid: tuple[str, ...]) -> SearchError:
        try:
            body = read_json(response.content, values=MAX_VALUES)
        except BodyError:
            body = None
        return self._refused(response.status_code, body, response.headers, unsaid)

    def _refused(
        self, status: int, body: Any, headers: Mapping[str, str], unsaid: tuple[str, ...]
    ) -> SearchError:
        return refusal(
            self.name,
            status,
            body,
            headers=headers,
            trouble=self._trouble(status, body),
            hint=self._hint(status),
            unsaid=unsaid,
        )

    def _trouble(self, status: int, body: Any) -> Trouble | None:
        """What the service's own words mean where its status says too little; None to go by the status."""
        return None

    def _hint(self, status: int) -> str:
        """What to do about a status, where this service has more to say than others."""
        return ""

    def _query(self, request: SearchRequest) -> str:
        return shortened(" ".join(whole_characters(request.query).split()), self.longest_query)


def missing(name: str, variables: tuple[str, ...]) -> MissingKeyError:
    return MissingKeyError(
        f"The search provider '{name}' needs {' and '.join(variables)}.",
        hint=f"Set {'them' if len(variables) > 1 else 'it'} in the environment, or leave the provider out.",
        name=name,
        needs=variables,
    )


def setting(value: str | None, variable: str) -> str:
    """What was given, or a variable of the environment has; no secret."""
    return (value if value is not None else os.environ.get(variable, "")).strip()


def agent(contact: str = "") -> str:
    """Who asks: this package and, for services that want one, whom to write to."""
    try:
        name = f"deep-research/{version('deep-research')}"
    except PackageNotFoundError:  # used from a folder of sources
        name = "deep-research"
    reach = " ".join(contact.split())
    is_sendable = reach and reach.isascii() and reach.isprintable() and not set("()") & set(reach)
    return f"{name} ({reach})" if is_sendable else name
