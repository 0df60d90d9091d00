"""What a program prints in processes whose sets and dicts have another order."""

from __future__ import annotations

import os
import subprocess
import sys


def printed(program: str, seeds: range = range(2), text: str = "") -> set[str]:
    """All that it prints, once for each that differs; ``text`` is its input."""
    path = os.pathsep.join(filter(None, sys.path))
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            input=text,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": path, "PYTHONUTF8": "1"},
            check=True,
            capture_output=True,
            text=True,
            encoding="utf-8",
        ).stdout
        for seed in seeds
    }
