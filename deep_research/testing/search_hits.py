"""Hits of a search service on loopback, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One thing that is found. Fields go into answers as they are, so that a hit may be as hostile as it likes; a format
    that has no place for a field leaves it out. ``page`` is the text of the page that a service gives beside its
    extract. ``spoiled`` goes in place of the whole item where it is not None."""

    url: Any
    title: Any = "A page"
    text: Any = "Seven ships passed the light that night."
    page: Any = None
    published: Any = None
    authors: tuple[Any, ...] = ()
    doi: Any = None
    arxiv: Any = None
    venue: Any = None
    pdf: Any = None
    citations: Any = None
    retracted: Any = None
    spoiled: Any = None


def hits(number: int, about: str = "ships") -> list[Hit]:
    """As many ordinary ones, which say of themselves which they are."""
    return [
        Hit(
            url=f"https://example.org/{about}/{index}",
            title=f"Page {index} on {about}",
            text=f"Page {index} says that seven {about} passed the light.",
            published="2024-05-17",
        )
        for index in range(1, number + 1)
    ]
