"""Where journeys find the web that several of them are made in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours
