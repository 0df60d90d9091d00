"""The hash of every stored shape, by which a database or a pack of another development version is told apart."""

from __future__ import annotations

import re

from deep_research.version import __version__

# Events, tables and the manifest of packs; `python tests/golden/pin_shapes.py` writes it.
SHAPES = "3162edf3b464aa92477c034b47c4f4b570c936b7bd82411990dc9c704573196c"


def readable(package: str, shapes: str) -> bool:
    """Whether this version reads what version ``package`` wrote in ``shapes``. Releases upgrade one another's shapes;
    development versions read their own shapes only."""
    return shapes == SHAPES or not ("dev" in package or "dev" in __version__)


def writer(package: str, shapes: str) -> str:
    """The version that wrote a database or a pack, for a message; what stands there is not trusted.

    Example:
        writer("0.1.0.dev0", "3f2a…")  # "deep-research 0.1.0.dev0 (formats 3f2a91c0)"
    """
    package, shapes = (re.sub(r"[^\w. +-]", "?", text, flags=re.ASCII)[:20] for text in (package, shapes[:8]))
    return f"deep-research {package} (formats {shapes or 'unknown'})"
