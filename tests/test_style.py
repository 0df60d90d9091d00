"""Names and docstrings of the product say what things are: the counts of those that do not can only fall."""

import ast
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest
from pydantic import BaseModel

import deep_research
from deep_research.settings import Settings

PRODUCT = Path(deep_research.__file__).parent
WORDS = """answered asked begun borne checked chosen cited counted done drawn ended found given gone heard held joined
    kept known lost made marked meant merged met named paid quoted ranked repaired said saved scored seen sent
    settled shown spoken stated stored taken told tried used wanted wished written"""
PARTICIPLES = frozenset(WORDS.split())
CLAUSE = re.compile(r"(What|How|Which|Whether|Where|Who|When|Why)\b")
UNIT = re.compile(
    r"MAX|MIN|SECONDS|MS|BYTES|CHARS|WORDS|TOKENS|LINES|COUNT|LIMIT|RATIO|SHARE|WEIGHT|_PER_|DAYS|HOURS|DEPTH|SIZE|VERSION"
)
ALLOWED = {
    "variables that are bare participles": 642,
    "functions that are bare participles": 1,
    "module docstrings that are clauses": 15,
    "numeric constants without a unit": 160,
}
# A handle is as a future of asyncio, whose `done` it has.
PUBLIC_PARTICIPLES = {"ResearchHandle.done"}


def counts() -> Counter[str]:
    found: Counter[str] = Counter()
    for file in PRODUCT.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found["module docstrings that are clauses"] += bool(CLAUSE.match(ast.get_docstring(tree) or ""))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found["variables that are bare participles"] += node.id.strip("_") in PARTICIPLES
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found["functions that are bare participles"] += node.name.strip("_") in PARTICIPLES
        found["numeric constants without a unit"] += sum(map(_lacks_unit, tree.body))
    return found


def _lacks_unit(node: ast.stmt) -> bool:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    value = getattr(node, "value", None)
    is_number = isinstance(value, ast.Constant) and type(value.value) in (int, float)
    return is_number and isinstance(target, ast.Name) and not UNIT.search(target.id)


def test_the_counts_only_fall() -> None:
    found = counts()
    more = {what: found[what] for what, most in ALLOWED.items() if found[what] > most}
    assert not more, f"Name these after what they are: {more}, allowed {ALLOWED}."
    fewer = {what: found[what] for what, most in ALLOWED.items() if found[what] < most}
    assert not fewer, f"Fewer than before: put {fewer} into ALLOWED of tests/test_style.py."


@pytest.mark.parametrize("kind", ["modules", "settings", "public names", "members"])
def test_no_public_name_is_a_bare_participle(kind: str) -> None:
    public = {name: getattr(deep_research, name) for name in deep_research.__all__}
    names = {
        "modules": {file.stem: file.stem for file in PRODUCT.rglob("*.py")},
        "settings": {name: name for name in Settings.model_fields},
        "public names": {name: name for name in public},
        "members": {
            f"{name}.{member}": member
            for name, each in public.items()
            if inspect.isclass(each)
            for member in (*dir(each), *(each.model_fields if issubclass(each, BaseModel) else ()))
        },
    }[kind]
    assert {place for place, name in names.items() if name in PARTICIPLES} <= PUBLIC_PARTICIPLES
