"""Services on loopback that speak the real wire formats, of models and of searches, and fail when told to."""

from deep_research.testing.servers.dialects import DIALECTS
from deep_research.testing.servers.faults import FAULT_KINDS, Fault
from deep_research.testing.servers.search_hits import Hit, hits
from deep_research.testing.servers.search_server import SearchServer
from deep_research.testing.servers.search_wire import Asked
from deep_research.testing.servers.server import ModelServer
from deep_research.testing.servers.server_exchange import Answer, Served, Usage
from deep_research.testing.servers.service import ABILITIES
from deep_research.testing.servers.website import WebSite, web_reply

__all__ = [
    "ABILITIES",
    "DIALECTS",
    "FAULT_KINDS",
    "Answer",
    "Asked",
    "Fault",
    "Hit",
    "ModelServer",
    "SearchServer",
    "Served",
    "Usage",
    "WebSite",
    "hits",
    "web_reply",
]
