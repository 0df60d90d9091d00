"""Numbers, sums and outside text in words, without a terminal."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from deep_research.escapes import without_escapes

_JOINERS = "\u200c\u200d"  # several scripts cannot be written without them


def clean(text: str) -> str:
    """Without escape sequences, control, bidirectional and invisible characters; lines and tabs stay."""
    text = without_escapes(text.replace("\r\n", "\n"))
    return "".join(c for c in text if c in "\n\t" or c in _JOINERS or not _acts(c))


def line(text: str) -> str:
    """Outside text as one clean line."""
    return " ".join(clean(text).split())


def _acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def in_bytes(number: int) -> str:
    """Bytes in the unit that reads best."""
    for unit, of in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= of:
            return f"{number / of:,.1f} {unit}"
    return f"{number} B"


def short_hash(content_hash: str) -> str:
    """As much of a hash as tells texts apart."""
    return content_hash.rpartition(":")[2][:12]


def dollars(amount: float | None) -> str:
    """Small sums to a hundredth of a cent."""
    if amount is None:
        return "unknown"
    fine = f"{amount:,.4f}"
    return f"${amount:,.2f}" if amount >= 10 or fine.endswith("00") else f"${fine}"


def with_full_stop(text: str) -> str:
    """With a full stop at its end, unless it has a mark there."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def moment(at: datetime) -> str:
    """A time to the minute, where the reader is."""
    return f"{at.astimezone():%Y-%m-%d %H:%M}"
