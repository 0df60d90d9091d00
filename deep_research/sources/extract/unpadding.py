"""A page without what nobody reads of it: scripts, styles, drawings, comments, pictures written into it. In linear
time, whatever is unclosed."""

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
_TAG_LENGTH = 400
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
        elif name in ("svg", "template"):
            endless.add(name)
            here = opening.end()  # the name, not the drawing
            parts.append(opening[0])
        else:
            break  # browsers show nothing of it either
    else:
        parts.append(page[here:])
    return _PICTURE.sub("", "".join(parts))


def _is_metadata(script: str) -> bool:
    return len(script) <= _METADATA_LENGTH and "ld+json" in script[:_TAG_LENGTH].partition(">")[0]
