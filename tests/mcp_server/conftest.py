from __future__ import annotations

import sys
from pathlib import Path

# Test files are imported by path and find no neighbours; the servers over HTTP are those of the tests of the server.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "server")]
