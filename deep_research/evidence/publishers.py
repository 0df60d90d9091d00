"""What kind of publisher a web address belongs to: tables of well-known ones, and rules by the ends of hosts, all of it
in `publishers.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from deep_research.evidence.sites import host_of
from deep_research.patterns import regex

FILE = Path(__file__).with_name("publishers.toml")
ACADEMIC, PERSONAL = "a university or research institute", "a personal page"
_HOME = regex(r"/~|/(?:people|users?|home|homepages?|staff)/[^/]+/?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Class:
    """``effect`` is what it adds to the judgement of a source (see `deep_research.evidence.quality`); ``scholarly`` says
    that age matters less there than elsewhere, ``primary`` that what stands there is the thing itself: a standard, a law,
    a data set; ``voice`` who speaks where many do: the "author" of a page, or the "owner" or "package" that its address
    names; ``keeps`` that who made a thing keeps it there under its name."""

    name: str
    effect: int
    scholarly: bool = False
    primary: bool = False
    voice: str = ""
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class _Table:
    domains: Mapping[str, Class]
    ends: tuple[tuple[re.Pattern[str], Class], ...]
    begins: tuple[tuple[re.Pattern[str], Class], ...]
    personal: Class


@cache
def table() -> _Table:
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))
    kinds = {
        name: Class(
            name,
            row["effect"],
            row.get("scholarly", False),
            row.get("primary", False),
            row.get("voice", ""),
            row.get("keeps", False),
        )
        for name, row in rows.items()
    }
    return _Table(
        {d: kinds[name] for name, row in reversed(rows.items()) for d in row.get("domains", "").split()},
        tuple((regex(row["ends"]), kinds[name]) for name, row in rows.items() if "ends" in row),
        tuple((regex(row["begins"]), kinds[name]) for name, row in rows.items() if "begins" in row),
        kinds[PERSONAL],
    )


def class_of(url: str) -> tuple[Class, str] | None:
    """The class of a web address, and the domain or host it was told by; None when nothing tells."""
    host = host_of(url)
    if not host:
        return None
    found = _class_of(host)
    if found and found[0].name == ACADEMIC and _HOME.match(urlsplit(url.strip()).path):
        return table().personal, host
    return found


def named_by(url: str, kind: Class) -> str:
    """Whom or what the address of a page names on a site where many write: its owner, or the package that it is of; ""
    where nobody. ``github.com/orm/light`` is of "orm", ``pypi.org/project/light`` of "light"."""
    place = {"owner": 0, "package": 1}.get(kind.voice)
    segments = urlsplit(url.strip()).path.strip("/").split("/")
    return unquote(segments[place]) if place is not None and len(segments) > place else ""


def _class_of(host: str) -> tuple[Class, str] | None:
    labels = host.split(".")
    for start in range(len(labels) - 1):
        domain = ".".join(labels[start:])
        if domain in table().domains:
            return table().domains[domain], domain
    for pattern, kind in table().ends:
        if pattern.search(host):
            return kind, host
    for pattern, kind in table().begins if len(labels) >= 3 else ():
        if pattern.match(host):
            return kind, host
    return None
