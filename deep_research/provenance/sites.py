"""Host and site of a web address, and the class of its publisher. The publishers, and the rules by the first and last
labels of a host, stand in `publishers.toml`; the domains of shared hosting stand here."""

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

_FILE = Path(__file__).with_name("publishers.toml")
_ACADEMIC, _PERSONAL = "a university or research institute", "a personal page"
_HOME = regex(r"/~|/(?:people|users?|home|homepages?|staff)/[^/]+/?", re.IGNORECASE)

_NAME = regex(
    r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*\Z"
)


def words_of(rows: str) -> frozenset[str]:
    """A table that is written as words in rows."""
    return frozenset(rows.split())


# Below a country these stand for a branch of life, not for somebody.
_BRANCHES = words_of(
    """
    ac asn co com edu go gob gouv gov gv id info ltd mil muni ne net nhs nom or org plc police sch
    school web
    """
)
# Anyone can get a subdomain of these: each subdomain is a site of its own.
_SHARED_HOSTING = words_of(
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
    """The part of a host that somebody registered: ``bbc.co.uk`` for ``news.bbc.co.uk``. On shared hosting, each
    subdomain is a site of its own. Without the public-suffix list, two sites below a rare suffix count as one."""
    try:
        return str(IPv4Address(host))
    except ValueError:
        if ":" in host:
            return host
    labels = host.split(".")
    for keep in (2, 3):
        if ".".join(labels[-keep:]) in _SHARED_HOSTING:
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
    """A class of publishers, such as "a government or public body"."""

    name: str
    effect: int  # added to the judgement of a source, see `deep_research.provenance.quality`
    scholarly: bool = False  # age matters less there than elsewhere
    primary: bool = False  # a page there is the thing itself: a standard, a law, a data set
    # Where many write: the "author" of the page, or the "owner" or "package" in its address.
    speaker: str = ""
    # The maker of a thing publishes it there, under the name of the maker or the thing.
    is_makers_own: bool = False


@dataclass(frozen=True, slots=True)
class _Table:
    domains: Mapping[str, SiteClass]
    ends: tuple[tuple[re.Pattern[str], SiteClass], ...]
    begins: tuple[tuple[re.Pattern[str], SiteClass], ...]
    personal: SiteClass


@cache
def publisher_table() -> _Table:
    rows = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    kinds = {
        name: SiteClass(
            name,
            row["effect"],
            row.get("scholarly", False),
            row.get("primary", False),
            row.get("speaker", ""),
            row.get("is_makers_own", False),
        )
        for name, row in rows.items()
    }
    return _Table(
        {d: kinds[name] for name, row in reversed(rows.items()) for d in row.get("domains", "").split()},
        tuple((regex(row["ends"]), kinds[name]) for name, row in rows.items() if "ends" in row),
        tuple((regex(row["begins"]), kinds[name]) for name, row in rows.items() if "begins" in row),
        kinds[_PERSONAL],
    )


def class_of(url: str) -> tuple[SiteClass, str] | None:
    """The class of a web address, and the domain or host it was told by; None when nothing tells."""
    host = host_of(url)
    if not host:
        return None
    found = _class_of(host)
    if found and found[0].name == _ACADEMIC and _HOME.match(urlsplit(url.strip()).path):
        return publisher_table().personal, host
    return found


def owner_or_package(url: str, kind: SiteClass) -> str:
    """The owner or the package that the address of a page names, on a site where many write; "" if it names none.
    For ``github.com/orm/light`` it is "orm", for ``pypi.org/project/light`` "light"."""
    place = {"owner": 0, "package": 1}.get(kind.speaker)
    segments = urlsplit(url.strip()).path.strip("/").split("/")
    return unquote(segments[place]) if place is not None and len(segments) > place else ""


def _class_of(host: str) -> tuple[SiteClass, str] | None:
    labels = host.split(".")
    for start in range(len(labels) - 1):
        domain = ".".join(labels[start:])
        if domain in publisher_table().domains:
            return publisher_table().domains[domain], domain
    for pattern, kind in publisher_table().ends:
        if pattern.search(host):
            return kind, host
    for pattern, kind in publisher_table().begins if len(labels) >= 3 else ():
        if pattern.match(host):
            return kind, host
    return None
