"""Hosts and sites: which addresses belong to one publisher. Pure."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

from deep_research.patterns import regex


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
