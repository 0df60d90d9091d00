"""Names of scholarly works: DOIs and arXiv numbers, and where these lead. Pure."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from deep_research.patterns import regex

_DOI = regex(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/[^\s<>\"]{1,300})", re.IGNORECASE)
_ARXIV = regex(r"(?:arxiv:)?(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?", re.IGNORECASE)
_ARXIV_DOI = regex(r"10\.48550/arxiv\.(.+)", re.IGNORECASE)
_ARXIV_PAGE = regex(r"https?://(?:www\.)?arxiv\.org/(?:abs|pdf)/(.+?)(?:\.pdf)?", re.IGNORECASE)


def doi(value: Any) -> str | None:
    """A DOI without what stands before it, in lower case since case means nothing there."""
    match = _DOI.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[1].lower() if match and match[1].isprintable() else None


def arxiv_id(value: Any) -> str | None:
    """The number of a paper at arXiv, without its version."""
    match = _ARXIV.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[1] if match else None


def arxiv_of(*places: Any) -> str | None:
    """The number of a paper at arXiv from a DOI or an address."""
    for place in places:
        for pattern in (_ARXIV_DOI, _ARXIV_PAGE):
            match = pattern.fullmatch(place.strip()) if isinstance(place, str) else None
            if match and (number := arxiv_id(match[1])):
                return number
    return None


def at_doi(name: str | None) -> str | None:
    return f"https://doi.org/{quote(name, safe='/:;().,-_~@+=!*')}" if name else None


def at_arxiv(number: str | None) -> str | None:
    return f"https://arxiv.org/pdf/{number}" if number else None
