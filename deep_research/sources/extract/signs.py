"""What a sign in a table is called, where that says something of its row. Pure.

It is what nobody sees, and where orders to programs might be put: only a few words are taken.
"""

from __future__ import annotations

import re

_LONGEST = 30  # characters
_MOST_WORDS = 4
_FILE = re.compile(r"[\w-]+\.(?:png|jpe?g|gif|svg|webp)\b", re.IGNORECASE)
_NO_SIGN = re.compile(
    r"\b(?:avatar|logo|icon|image|photo|picture|spacer|thumbnail|banner|arrow|bullet|sort|expand|collapse|close|menu|"
    r"link|share|copy|edit|delete|search|back|next|previous)\b",
    re.IGNORECASE,
)


def as_name(text: str) -> str:
    name = " ".join(text.split())
    is_short = len(name) <= _LONGEST and len(name.split()) <= _MOST_WORDS
    return "" if not is_short or _FILE.search(name) or _NO_SIGN.search(name) else name
