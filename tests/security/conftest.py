from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "sources" / "fetch", HERE.parent / "report"):
    sys.path.insert(0, str(folder))  # test files are imported by path and find no neighbours
