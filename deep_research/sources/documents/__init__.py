"""Local documents as evidence: reading them safely, indexing them, searching them."""

from deep_research.sources.documents.corpus import LocalCorpus
from deep_research.sources.documents.folder import Skipped
from deep_research.sources.documents.index import CorpusIndex, IndexReport
from deep_research.sources.documents.lookup import Hit
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.texts import read_document

__all__ = ["CorpusIndex", "Document", "Hit", "IndexReport", "LocalCorpus", "Skipped", "read_document"]
