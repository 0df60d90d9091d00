"""A page without what nobody reads of it: scripts, styles, drawings, comments, pictures written into it. Of a drawing
its name stays. In linear time, whatever is unclosed."""

from __future__ import annotations

import re

_OPENING = re.compile(r"<!--|<(script|style|svg|template)(?=[\s>/])", re.IGNORECASE)
_ENDS = {
    "": re.compile("-->"),
    **{
        name: re.compile(rf"</{name}[^>]{{0,100}}>", re.IGNORECASE)
        for name in ("script", "style", "svg", "template")
    },
}
_PICTURE = re.compile(r"data:[\w/+.;=-]{1,80},[A-Za-z0-9+/=%_.~-]+")
_NAME_OF_DRAWING = re.compile(
    r"\baria-label\s*=\s*(?:\"(?P<double>[^\"<>]{1,80})\"|'(?P<single>[^'<>]{1,80})')"
    r"|<title[^<>]{0,100}>(?P<title>[^<>]{1,80})</title",
    re.IGNORECASE,
)
_KIND_OF_DRAWING = re.compile(r"\bclass\s*=\s*[\"']([^\"'<>]{1,200})[\"']", re.IGNORECASE)
_TAG_LENGTH = 400
_NAME_LENGTH = 1_000
_METADATA_LENGTH = 200_000


def unpadded(page: str) -> str:
    parts: list[str] = []
    here = 0
    endless: set[str] = set()  # what has no end any more need not be looked for again
    while opening := _OPENING.search(page, here):
        name = (opening[1] or "").lower()
        parts.append(page[here : opening.start()])
        end = None if name in endless else _ENDS[name].search(page, opening.end())
        if end:
            here = end.end()
            whole = page[opening.start() : here]
            if name == "script" and _is_metadata(whole):
                parts.append(whole)
            elif name == "svg":
                parts.append(_stub(whole[:_NAME_LENGTH]))
        elif name in ("svg", "template"):
            endless.add(name)
            here = opening.end()  # the name, not the drawing
            parts.append(opening[0])
        else:
            break  # browsers show nothing of it either
    else:
        parts.append(page[here:])
    return _PICTURE.sub("", "".join(parts))


def _stub(drawing: str) -> str:
    """An empty drawing with the name and kind of this one, which may say yes or no in a table."""
    name = _NAME_OF_DRAWING.search(drawing)
    kind = _KIND_OF_DRAWING.search(drawing[:_TAG_LENGTH].partition(">")[0])
    told = "".join(name.groups("")) if name else ""
    told = told.replace('"', "&quot;")
    return f'<svg aria-label="{told}" class="{kind[1] if kind else ""}"></svg>' if name or kind else ""


def _is_metadata(script: str) -> bool:
    return len(script) <= _METADATA_LENGTH and "ld+json" in script[:_TAG_LENGTH].partition(">")[0]
