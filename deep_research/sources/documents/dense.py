"""An optional second opinion on the order of hits: how near their texts are to the query in meaning.

The model is any that the `sentence-transformers` package can load, by name or folder; the extra ``dense`` installs the
package. The word index still finds the candidates; the two orders are fused by reciprocal rank.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from deep_research.calls import contained
from deep_research.errors import ConfigurationError, SearchError
from deep_research.logs import describe_error
from deep_research.sources.documents.hits import Hit
from deep_research.state.identity import sha256_hex

CANDIDATES_PER_HIT = 4  # candidates looked at for each hit wanted
RANK_SMOOTHING = 60  # of reciprocal rank fusion, as in Cormack, Clarke and Buettcher (2009)
MAX_REMEMBERED = 20_000  # vectors
HUB_URL = "https://huggingface.co"
HUB_KEY, HUB_VARIABLE = "HF_TOKEN", "HF_ENDPOINT"  # the hub's own client reads them

Vector = Sequence[float]
Embed = Callable[[Sequence[str]], Sequence[Vector]]


class DenseStage:
    """``embed`` gives one vector per text, all of one length. Usable from any thread; one call at a time."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._gate = threading.Lock()
        self._vectors: dict[str, Vector] = {}  # by the hash of what was embedded

    def order(self, query: str, hits: Sequence[Hit]) -> list[int]:
        """The places of the hits, best first by both orders together; equal ones keep theirs. Raises `SearchError`."""
        if len(hits) < 2:
            return list(range(len(hits)))
        with self._gate:
            nearness = self._nearness(query, hits)
        by_meaning = sorted(range(len(hits)), key=lambda place: (-nearness[place], place))
        fused = [1.0 / (RANK_SMOOTHING + place) for place in range(len(hits))]
        for rank, place in enumerate(by_meaning):
            fused[place] += 1.0 / (RANK_SMOOTHING + rank)
        return sorted(range(len(hits)), key=lambda place: (-fused[place], place))

    def _nearness(self, query: str, hits: Sequence[Hit]) -> list[float]:
        texts = [f"{hit.title}\n{hit.matched}" for hit in hits]
        keys = [sha256_hex(text.encode()) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
        try:
            with contained():
                query_vector, *new_vectors = self._embed([query, *new.values()])
        except Exception as error:
            raise SearchError(
                f"The embedding model failed: {describe_error(error)}",
                hint="Check dense_model, or remove it.",
            ) from error
        if len(self._vectors) > MAX_REMEMBERED:
            self._vectors = {key: self._vectors[key] for key in keys if key in self._vectors}
        self._vectors.update(zip(new, new_vectors, strict=True))
        return [_cosine(query_vector, self._vectors[key]) for key in keys]


def hub_url() -> str:
    """Where models come from that are no folder."""
    return os.environ.get(HUB_VARIABLE) or HUB_URL


def load_stage(model: str, *, local_only: bool = False) -> DenseStage:
    """A stage with the sentence-embedding model of that name or folder, loaded at the first search. With ``local_only``
    it is not looked for on the network.

    Raises `ConfigurationError` when the extra is not installed.
    """
    if find_spec("sentence_transformers") is None:
        raise ConfigurationError(
            "dense_model needs the package sentence-transformers.",
            hint="Install it with: pip install 'deep-research[dense]'",
        )
    loaded: list[Any] = []

    def embed(texts: Sequence[str]) -> Sequence[Vector]:
        if not loaded:
            from sentence_transformers import SentenceTransformer

            loaded.append(SentenceTransformer(model, local_files_only=local_only))
        vectors: Sequence[Vector] = loaded[0].encode(list(texts), show_progress_bar=False)
        return vectors

    return DenseStage(embed)


def _cosine(one: Vector, other: Vector) -> float:
    product = sum(float(a) * float(b) for a, b in zip(one, other, strict=True))
    lengths = sum(float(a) ** 2 for a in one) * sum(float(b) ** 2 for b in other)
    return float(product / lengths**0.5) if lengths else 0.0
