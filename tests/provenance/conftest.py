"""Generators of texts and quotes stand beside the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours
