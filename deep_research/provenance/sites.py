"""Hosts and sites, and who publishes there: tables of well-known publishers, and rules by the ends of hosts, all of it in
`publishers.toml`. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from urllib.parse import unquote, urlsplit

from deep_research.patterns import regex

FILE = Path(__file__).with_name("publishers.toml")
ACADEMIC, PERSONAL = "a university or research institute", "a personal page"
_HOME = regex(r"/~|/(?:people|users?|home|homepages?|staff)/[^/]+/?", re.IGNORECASE)


def words_of(rows: str) -> frozenset[str]:
    """A table that is written as words in rows."""
    return frozenset(rows.split())


_NAME = regex(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*\Z"
)
# Below a country these stand for a branch of life, not for somebody.
_BRANCHES = words_of(
    """
    ac asn co com edu go gob gouv gov gv id info ltd mil muni ne net nhs nom or org plc police sch
    school web
    """
)
# Below these everybody may have a name: each is a site of its own.
_LANDLORDS = words_of(
    """
    appspot.com azurewebsites.net bitbucket.io blogspot.com cloudfront.net codeberg.page firebaseapp.com
    fly.dev ghost.io github.io gitlab.io herokuapp.com hatenablog.com livejournal.com medium.com
    neocities.org netlify.app notion.site onrender.com over-blog.com pages.dev readthedocs.io
    s3.amazonaws.com substack.com surge.sh tumblr.com typepad.com vercel.app web.app weebly.com
    wixsite.com wordpress.com workers.dev
    """
)


def host_of(url: str) -> str:
    """The host of a web address in lower case and ASCII, without port and trailing dot; "" where there is none."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme.lower() not in ("http", "https"):
        return ""
    return ascii_host(host)


def ascii_host(host: str) -> str:
    """A host name as resolvers are asked for it, or an address without brackets; "" for what is neither."""
    if ":" in host:
        try:
            return str(IPv6Address(host))
        except ValueError:
            return ""
    host = host.lower().removesuffix(".")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii").lower().removesuffix(".")
        except UnicodeError:
            return ""
    return host if _NAME.match(host) else ""


def site_of(host: str) -> str:
    """The part of a host that somebody registered: ``news.bbc.co.uk`` is of ``bbc.co.uk``, and what stands below a
    platform where everybody has a name is of nobody else. By rule, not by the registries' list: exotic ones err
    towards one site too many in common."""
    try:
        return str(IPv4Address(host))
    except ValueError:
        if ":" in host:
            return host
    labels = host.split(".")
    for keep in (2, 3):
        if ".".join(labels[-keep:]) in _LANDLORDS:
            return ".".join(labels[-keep - 1 :])
    return ".".join(labels[-(3 if is_suffix(labels[-2:]) else 2) :])


def is_suffix(labels: list[str]) -> bool:
    """Whether names are given out below these labels: ``co.uk``, ``gov.au``, and everything of one label."""
    if len(labels) < 2:
        return True
    return len(labels) == 2 and len(labels[1]) == 2 and labels[0] in _BRANCHES


def same_site(one: str, other: str) -> bool:
    """Whether two web addresses are of one site; False where one has no host."""
    a, b = host_of(one), host_of(other)
    return bool(a and b) and site_of(a) == site_of(b)


@dataclass(frozen=True, slots=True)
class SiteClass:
    """``effect`` is what it adds to the judgement of a source (see `deep_research.provenance.quality`); ``scholarly``
    says that age matters less there than elsewhere, ``primary`` that what stands there is the thing itself: a standard,
    a law, a data set; ``voice`` who speaks where many do: the "author" of a page, or the "owner" or "package" that its
    address names; ``keeps`` that who made a thing keeps it there under its name."""

    name: str
    effect: int
    scholarly: bool = False
    primary: bool = False
    voice: str = ""
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class _Table:
    domains: Mapping[str, SiteClass]
    ends: tuple[tuple[re.Pattern[str], SiteClass], ...]
    begins: tuple[tuple[re.Pattern[str], SiteClass], ...]
    personal: SiteClass


@cache
def table() -> _Table:
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))
    kinds = {
        name: SiteClass(
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


def class_of(url: str) -> tuple[SiteClass, str] | None:
    """The class of a web address, and the domain or host it was told by; None when nothing tells."""
    host = host_of(url)
    if not host:
        return None
    found = _class_of(host)
    if found and found[0].name == ACADEMIC and _HOME.match(urlsplit(url.strip()).path):
        return table().personal, host
    return found


def named_by(url: str, kind: SiteClass) -> str:
    """Whom or what the address of a page names on a site where many write: its owner, or the package that it is of; ""
    where nobody. ``github.com/orm/light`` is of "orm", ``pypi.org/project/light`` of "light"."""
    place = {"owner": 0, "package": 1}.get(kind.voice)
    segments = urlsplit(url.strip()).path.strip("/").split("/")
    return unquote(segments[place]) if place is not None and len(segments) > place else ""


def _class_of(host: str) -> tuple[SiteClass, str] | None:
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
