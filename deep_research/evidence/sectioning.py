"""The section of a document that an excerpt opens, told by the category of its finding. Pure."""

from __future__ import annotations

_UNDER = "section: "
LONGEST = 80  # characters of a heading that is shown


def in_section(heading: str) -> str | None:
    """The category of what stands under a heading, which is cut where it is long."""
    said = " ".join(heading.split())
    if len(said) > LONGEST:
        said = f"{said[:LONGEST].rsplit(' ', 1)[0]} …"
    return f"{_UNDER}{said}" if said else None


def section_of(category: str | None) -> str:
    """The heading, or nothing."""
    return category.removeprefix(_UNDER) if category and category.startswith(_UNDER) else ""
