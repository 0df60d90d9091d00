"""A report is inert in the renderers of JavaScript: remark-gfm, which looks for addresses in the page that it made, MDX,
which runs braces and modules, and MathJax and remark-math, which look for formulas."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attacks import OK, documents
from renderers import parsed, same, strange

from deep_research.report.markup import safe

FOLDER = Path(__file__).parent / "javascript"
pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (FOLDER / "node_modules").is_dir(),
    reason="needs Node.js and `npm install` in tests/report/javascript",
)


@pytest.fixture
def rendered(tmp_path: Path) -> Any:
    def render(texts: Sequence[str]) -> list[dict[str, Any]]:
        (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        command = ["node", str(FOLDER / "render.mjs"), str(tmp_path / "texts.json")]
        return list(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))

    return render


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(1, 20))])
def test_no_document_acts_or_leads_to_where_no_source_is(seed: int, rendered: Any) -> None:
    made = list(documents(seed, 1000))
    found = {}
    for document, page in zip(made, rendered([each.report for each in made]), strict=True):
        acts, links = parsed(page["html"])
        known = {same(url) for url in document.addresses}
        seen = [*acts, *strange(links, known), *page["code"], *page["formulas"]]
        if seen:
            found[document.made_of] = seen
    assert found == {}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (r"a $\href{javascript:alert(1)}{x}$ b", "formulas"),
        ("x{alert(1)}", "code"),
        ("export const x = alert(1)", "code"),
        (r"www\.evil.example and http:&#47;/evil.example", "html"),
    ],
)
def test_each_brings_to_life_what_is_not_made_safe_and_nothing_of_what_is(
    text: str, kind: str, rendered: Any
) -> None:
    raw, made = rendered([text, safe(text, set(OK))])
    assert parsed(raw["html"])[1] if kind == "html" else raw[kind]
    assert not parsed(made["html"])[1]
    assert (made["code"], made["formulas"]) == ([], [])
