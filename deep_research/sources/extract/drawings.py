"""Drawings in a PDF, which may be of millions of strokes: pypdf passes over those without text only as long as nobody
asks it for the type of the text, so they are taken away before."""

from __future__ import annotations

from typing import Any

_SHOWS = (b"Tj", b"TJ", b"Do", b"'", b'"')  # what shows text, or another drawing that may


def contents_of(page: Any) -> Any:
    """The drawing of a page with its strings as they are, None when it has none."""
    from pypdf.generic import ContentStream

    drawing = page.get("/Contents")
    return None if drawing is None else ContentStream(drawing, page.pdf, "bytes")


def shows_text(contents: Any) -> bool:
    """Whether a page can have text at all."""
    return _shows(contents.get_data())


def take_away_drawings(page: Any) -> None:
    """Empties the drawings of a page, and those within them, that have no text."""
    from pypdf.generic import DecodedStreamObject, NameObject

    nothing = DecodedStreamObject()
    nothing[NameObject("/Subtype")] = NameObject("/Form")
    seen: set[int] = set()
    waiting = [page]
    while waiting:
        drawings = _drawings(waiting.pop())
        for name in list(drawings):
            try:
                drawing = drawings[name]
                if drawing["/Subtype"] != "/Form" or id(drawing) in seen:
                    continue
                seen.add(id(drawing))
                if _shows(drawing.get_data()):
                    waiting.append(drawing)
                else:
                    drawings[NameObject(name)] = nothing
            except MemoryError:
                raise
            except Exception:  # noqa: S112 - a damaged one is passed over when its turn comes
                continue


def _shows(data: bytes) -> bool:
    return any(sign in data for sign in _SHOWS)


def _drawings(holder: Any) -> Any:
    try:
        return holder["/Resources"]["/XObject"]
    except (KeyError, TypeError):
        return {}
