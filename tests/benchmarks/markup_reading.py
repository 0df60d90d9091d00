"""How well Markdown and reStructuredText are read: `python tests/benchmarks/markup_reading.py FOLDER`.

Prints the agreement of our text with a plain reference (F1 of 4-grams of words): the text of the page that markdown-it-py
makes of Markdown, that of docutils' own tree of reStructuredText, or, for a manual as Sphinx puts it beside its pages
(``_sources/x.rst.txt`` and ``x.html``), that of the page. Besides, the time for each file.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from pathlib import Path

from docutils.core import publish_doctree
from lxml import html
from markdown_it import MarkdownIt

from deep_research.sources.extract.markdown import front_matter
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.texts import read_document
from deep_research.text.plain import clean

_QUIET = {
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
}
_NO_WORDS = "//a[@class='headerlink']|//div[contains(@class,'toctree-wrapper')]"
_SHOWN = 10  # of the worst files


def main(folder: Path) -> None:
    rows: list[tuple[float, float, Path]] = []
    for path in sorted(folder.rglob("*")):
        name = path.name.removesuffix(".txt") if path.name.endswith(".rst.txt") else path.name
        if not path.is_file() or not name.endswith((".md", ".rst")):
            continue
        raw = path.read_bytes()
        started = time.process_time()
        try:
            text = read_document(raw, name).text
        except UnreadableError as error:
            print(f"{path}: {error}")
            continue
        seconds = time.process_time() - started
        rows.append((agreement(text, reference(path, clean(raw.decode("utf-8", "replace")))), seconds, path))
    for share, seconds, path in sorted(rows)[:_SHOWN]:
        print(f"{share:.3f} {seconds * 1000:7.1f} ms {path.relative_to(folder)}")
    if rows:
        shares, times, _ = zip(*rows, strict=True)
        print(f"{len(rows)} files: agreement {sum(shares) / len(rows):.4f}", end=", ")
        print(f"{sum(times) / len(rows) * 1000:.1f} ms each, at most {max(times) * 1000:.0f} ms")


def reference(path: Path, text: str) -> str:
    """The words of a text without their marks."""
    if path.suffix == ".md":
        page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(front_matter(text)[1])
        return str(html.fromstring(f"<div>{page}</div>").text_content())
    parts = str(path.with_suffix("").with_suffix(".html")).split("/_sources/")
    if len(parts) == 2 and (page := Path("/".join(parts))).exists():
        body = html.fromstring(page.read_bytes())
        for element in body.xpath(_NO_WORDS):
            element.drop_tree()
        return str((body.xpath("//div[@class='body']") or [body])[0].text_content())
    return str(publish_doctree(text, settings_overrides=_QUIET).astext())


def agreement(ours: str, theirs: str) -> float:
    first, second = _grams(ours), _grams(theirs)
    both, all_of_them = sum((first & second).values()), sum(first.values()) + sum(second.values())
    return 2 * both / all_of_them if all_of_them else 1.0


def _grams(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return Counter(zip(words, words[1:], words[2:], words[3:], strict=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
