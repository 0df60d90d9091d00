"""What a PDF says of itself in its packet of metadata (XMP): its title and author. Pure."""

from __future__ import annotations

import html
import re

from deep_research.patterns import regex

_ENTRY = "<(?:dc:{name})\\b[^>]{{0,200}}>(.{{0,4000}}?)</dc:{name}>"
_TAG = regex(r"<[^<>]{0,400}>")
_ITEM = regex(r"</rdf:li>")


def title_and_author(xmp: str) -> tuple[str, str]:
    """Each empty where the packet does not say it."""
    return _entry(xmp, "title"), _entry(xmp, "creator")


def _entry(xmp: str, name: str) -> str:
    entry = re.search(_ENTRY.format(name=name), xmp, re.DOTALL)
    values = (_TAG.sub("", value) for value in _ITEM.split(entry[1])) if entry else ()
    return "; ".join(html.unescape(" ".join(value.split())) for value in values if value.strip())
