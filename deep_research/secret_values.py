"""Secrets in every form that they may take, whose they are, and cutting texts so that no half of one is left."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote, quote_plus
from weakref import WeakSet

MASK = "***"
BLOT = "*"
MIN_CORE_CHARS = 8
MAX_KEY_CHARS = 1_000  # of a word that may be a key
_KEY_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.~%:@\\-")
_LOCK = threading.RLock()
_version = 0  # of all keyrings, so that what is made of them is made anew after a change
_KEYRINGS: WeakSet[Keyring] = WeakSet()
_CURRENT: ContextVar[Keyring | None] = ContextVar("keyring", default=None)


class Secrets:
    """Values to hide, in all their forms, longest first: a form goes before one that is part of it."""

    def __init__(self, forms: Iterable[str] = ()) -> None:
        self._forms = tuple(sorted(set(forms), key=lambda form: (-len(form), form)))
        # In JSON each form may stand as JSON writes it.
        json_forms = (json.dumps(form, ensure_ascii=False)[1:-1] for form in self._forms)
        self._bytes = tuple(
            dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in (*self._forms, *json_forms))
        )

    def hide(self, text: str) -> str:
        for form in self._forms:
            if form in text:  # else it stays what it is, such as the member of an enumeration
                text = text.replace(form, MASK)
        return text

    def blot(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                text = text.replace(form, BLOT * len(form))
        return text

    def blot_bytes(self, body: bytes) -> bytes:
        for form in self._bytes:
            body = body.replace(form, BLOT.encode() * len(form))
        return body

    def stand_in(self, body: bytes) -> bool:
        # Looking for each form by itself takes a fifth of the time of one expression for all of them.
        return any(form in body for form in self._bytes)

    def end_before(self, text: str, end: int) -> int:
        """The place itself, or where the secret begins that stands around it."""
        for form in self._forms:
            start = text.rfind(form, max(0, end - len(form) + 1), end + len(form) - 1)
            if 0 <= start < end < start + len(form):
                return self.end_before(text, start)
        return end


class Keyring:
    """The secrets that belong together, such as those of an engine. It lives as long as its owner holds it.

    Example:
        keyring = Keyring()
        with keyring.scope():
            register_secret("sk-1234567890")  # of this keyring
    """

    def __init__(self) -> None:
        self._forms: set[str] = set()
        self._unmistakable_forms: set[str] = set()
        self._views: tuple[tuple[int, int], Secrets, Secrets] | None = None
        with _LOCK:
            _KEYRINGS.add(self)

    def add(self, value: str, *, unmistakable: bool) -> None:
        """``unmistakable`` values cannot be taken for a word. The others are hidden in what is printed alone: many
        servers take "ollama" for a key."""
        global _version
        forms = encodings(value)
        with _LOCK:
            self._forms |= forms
            if unmistakable:
                self._unmistakable_forms |= forms
            _version += 1

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Inside the block, `register_secret` adds to this keyring, and its and the process's secrets are masked."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_PROCESS = Keyring()  # of what is registered outside of any scope


def keyring() -> Keyring:
    """The keyring of the scope; outside of any, that of the process."""
    return _CURRENT.get() or _PROCESS


def secrets() -> Secrets:
    """What is hidden in all that is printed. Outside of a scope these are the secrets of all keyrings: nobody can tell
    whose text it is."""
    return _views()[0]


def unmistakable_secrets() -> Secrets:
    """Those that cannot be taken for a word, for what is kept and sent."""
    return _views()[1]


def _views() -> tuple[Secrets, Secrets]:
    """Made of several keyrings together, since a key of one may be part of a key of another."""
    own = _CURRENT.get()
    holder = own or _PROCESS
    views, now = holder._views, (_version, len(_KEYRINGS))
    if views is None or views[0] != now:
        with _LOCK:
            rings = {own, _PROCESS} if own else set(_KEYRINGS)
            views = holder._views = (
                now,
                Secrets(form for ring in rings for form in ring._forms),
                Secrets(form for ring in rings for form in ring._unmistakable_forms),
            )
    return views[1], views[2]


def cut(text: str, most: int) -> str:
    """At most ``most`` characters of the text, which ends before a registered secret that would be cut in two, and before
    a word that would be: nobody could tell any more that it was a key. The first word, and a row of more than 1,000
    characters, is cut where it must be."""
    if len(text) <= most:
        return text
    end = secrets().end_before(text, most)
    if text[end] not in _KEY_CHARS:
        return text[:end]
    start = end
    while start > max(0, end - MAX_KEY_CHARS) and text[start - 1] in _KEY_CHARS:
        start -= 1
    return text[: start if start > 0 and end - start < MAX_KEY_CHARS else end]


def encodings(value: str) -> set[str]:
    """The forms that a text may take on its way: in an address, in JSON, in source code, in base64 wherever it may begin
    in what is encoded, in hex, in another case, read backwards."""
    raw = value.encode("utf-8", "surrogatepass")
    encoded = {
        quote(value, safe="", errors="surrogatepass"),
        quote(value, errors="surrogatepass"),
        quote_plus(value, errors="surrogatepass"),
    }
    lower = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), form) for form in encoded}
    cases = {value, value.lower(), value.upper()}
    cases |= {each[::-1] for each in cases if len(value) >= MIN_CORE_CHARS}
    escaped = {json.dumps(each)[1:-1] for each in cases} | {repr(each)[1:-1] for each in cases}
    escaped |= {json.dumps(each, ensure_ascii=False)[1:-1] for each in cases}
    in_hex = raw.hex()
    spelled = "".join(f"%{byte:02x}" for byte in raw)
    forms = {*cases, *encoded, *lower, *escaped, in_hex, in_hex.upper(), spelled, spelled.upper()}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(raw).decode("ascii")
        forms |= {whole, whole.rstrip("=")}
        forms |= {core for core in _cores(raw, encode) if len(core) >= MIN_CORE_CHARS}
    return forms


def _cores(raw: bytes, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """The characters that base64 of a longer text has wherever ``raw`` is inside it, as in Basic credentials:
    one run for each of the three places where a group of three bytes may begin."""
    for shift, first in ((0, 0), (1, 2), (2, 3)):
        text = encode(bytes(shift) + raw).decode("ascii").rstrip("=")
        # The last character of an unfinished group depends on what follows.
        yield text[first : len(text) - (1 if (shift + len(raw)) % 3 else 0)]
