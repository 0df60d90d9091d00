"""What the tests of verification share stands beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours
