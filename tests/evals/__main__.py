"""``python tests/evals NAME --data DIR``: see docs/evals.md."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # The folder above takes the place of this one, whose modules are named as packages of others are (`datasets`).
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from evals.command_line import main

    sys.exit(main())
