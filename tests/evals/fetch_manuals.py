"""Gets the manuals that a file of questions is about: ``python tests/evals/fetch_manuals.py FILE.toml DIR/manuals``.

Needs Debian's ``apt-get`` and ``dpkg-deb``. The folder of each package is laid down under the manual's name, beside a
copy of the questions, as `tests/evals manuals` reads them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path


def main(questions: Path, home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    for name, manual in tomllib.loads(questions.read_text(encoding="utf-8"))["manuals"].items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["apt-get", "download", manual["package"]], cwd=folder, check=True)
            subprocess.run(["dpkg-deb", "-x", next(Path(folder).glob("*.deb")), folder], check=True)
            shutil.copytree(Path(folder) / manual["folder"], home / name, ignore_dangling_symlinks=True)
    shutil.copy(questions, home / "questions.toml")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
