"""Addresses: whether one is this machine, and whether two are of one server."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

USUAL_PORTS = {"http": 80, "https": 443}


def is_loopback(url: str) -> bool:
    """Whether an address is this machine, which no proxy can reach for us. Raises `ValueError` for what is no address."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def server_of(url: str) -> str:
    """The host of an address, with its port where that is not the usual one of the scheme. Raises `ValueError`."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if parts.port in (None, USUAL_PORTS.get(parts.scheme)) else f"{host}:{parts.port}"


def is_same_server(one: str, other: str) -> bool:
    """Whether two addresses have scheme, host and port in common. Raises `ValueError`."""
    return (urlsplit(one).scheme, server_of(one)) == (urlsplit(other).scheme, server_of(other))
