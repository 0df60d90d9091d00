"""Services on loopback that speak the real wire formats, of models and of searches, and fail when told to."""

from deep_research.testing.search_bench import Hit, hits
from servers.dialects import DIALECTS
from servers.faults import FAULT_KINDS, Fault
from servers.search_server import SearchServer
from servers.search_wire import Asked
from servers.server import ModelServer
from servers.server_exchange import Answer, Served, Usage
from servers.service import ABILITIES
from servers.website import WebSite, web_reply

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
