"""Location of the sample documents: in an installed package, or in a checkout."""

from __future__ import annotations

from pathlib import Path

from deep_research.errors import ConfigurationError

_PACKAGE = Path(__file__).resolve().parents[2]
# As with the presets, the inside wins.
_SAMPLES = (_PACKAGE / "data" / "corpus", _PACKAGE.parent / "docs" / "examples" / "corpus")


def sample_corpus() -> str:
    """The folder of the sample documents. Raises `ConfigurationError` when it was not installed."""
    for folder in _SAMPLES:
        if folder.is_dir():
            return str(folder)
    raise ConfigurationError(
        "The sample documents are not installed.", hint="Reinstall the package, or use --corpus PATH."
    )
