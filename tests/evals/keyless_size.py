"""How large the keyless half is: ``python tests/evals/keyless_size.py`` prints lines, files, patterns and numbers.

Counted are `evidence`, `phases/analysis` and `phases/synthesis` without their `llm.py`. A pattern is a `regex`, or a
text of a data file that opens a question; a number is a constant other than 0, 1 and 2 (and their negatives) that is no
limit of size or time: those are named by what they limit. Weights of the ranker were fitted, and are not counted.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "deep_research"
ROOMS = ("evidence", "phases/analysis", "phases/synthesis")
LIMIT = re.compile(
    r"MAX|MOST|LONGEST|SHORTEST|KEPT|LOOK|ROOM|LENGTH|CHAR|WORDS|BYTES|SECONDS|SIZE|DOCUMENTS|SOURCES|_PER_"
)
PLAIN = {0, 1, 2}


def files() -> list[Path]:
    every = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return sorted(path for path in every if path.name != "llm.py")


def patterns(tree: ast.AST) -> int:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sum(ast.unparse(called) in ("re.compile", "regex") for called in calls)


def numbers(tree: ast.AST) -> Iterator[float]:
    """The constants of a module, but for limits, sizes of caches, and places in a sequence."""
    limits: set[int] = set()
    for node in ast.walk(tree):
        named = node.targets if isinstance(node, ast.Assign) else []
        if any(LIMIT.search(name.id) for t in named for name in ast.walk(t) if isinstance(name, ast.Name)):
            limits |= {id(inner) for inner in ast.walk(node)}
        if isinstance(node, ast.keyword) and node.arg == "maxsize":
            limits |= {id(inner) for inner in ast.walk(node)}
        if isinstance(node, (ast.Slice, ast.Subscript)):
            limits |= (
                {id(inner) for inner in ast.walk(node.slice)} if isinstance(node, ast.Subscript) else set()
            )
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, (int, float))
            and not isinstance(node.value, bool)
            and id(node) not in limits
            and node.value not in PLAIN
        ):
            yield node.value


def openings() -> int:
    tables = tomllib.loads((ROOT / "text/languages.toml").read_text(encoding="utf-8"))
    return sum(len(every) for table in tables.values() for every in table["opens"].values())


def main() -> None:
    every = files()
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in every]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in every)
    counted = [sum(1 for _ in numbers(tree)) for tree in trees]
    print(f"{lines} lines in {len(every)} files")
    print(f"{sum(map(patterns, trees))} patterns, {openings()} openings of questions in three languages")
    print(f"{sum(counted)} numbers")
    for count, path in sorted(zip(counted, every, strict=True), reverse=True)[:10]:
        print(f"  {count:3} {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
