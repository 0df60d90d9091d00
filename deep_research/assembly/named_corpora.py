"""The corpora that a run may choose by name: those of the settings, and those uploaded to the data directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deep_research.errors import UnknownNameError
from deep_research.patterns import regex
from deep_research.settings import Settings

UPLOADS = "corpora"  # a folder of the data directory, which holds a folder for each uploaded corpus
CORPUS_NAME = regex(r"\A[a-z0-9][a-z0-9_-]{0,63}\Z")


def named_corpora(settings: Settings) -> dict[str, Path]:
    """The paths of all corpora by name. A name of the settings goes before an upload's."""
    folder = settings.data_dir / UPLOADS
    uploads = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        **{path.name: path for path in uploads if path.is_dir() and CORPUS_NAME.match(path.name)},
        **settings.named_corpora,
    }


def corpus_paths(settings: Settings, names: Sequence[str]) -> tuple[Path, ...]:
    """Where the corpora of these names are. Raises `UnknownNameError`."""
    corpora = named_corpora(settings)
    for name in names:
        if name not in corpora:
            raise UnknownNameError.of("corpus", name, corpora)
    return tuple(corpora[name] for name in names)
