"""placeholder until the documents branch lands"""

from collections.abc import Sequence
from typing import Any

from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult


class LocalCorpus(SearchProvider):
    name = "documents"

    def __init__(self, roots: Any, **k: Any) -> None: ...
    def prepare(self) -> None: ...
    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        return []
