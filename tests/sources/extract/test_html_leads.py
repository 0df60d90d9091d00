"""What stands between the title and the text: a standfirst belongs to the text, a signature and buttons do not."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.reading import read
from deep_research.sources.extract.votes import is_prose, main_part

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
LEAD = "Why a small town on the northern coast raised a wall that nobody had asked it for in forty years."
TEXT = "\n\n".join(f"{number}. {PROSE.strip()}" for number in range(12))


def text_of(body: str) -> str:
    html = f"<!doctype html><html><head><title>The wall of Mole</title></head><body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000).text


def paragraphs() -> str:
    return "".join(f"<p>{each}</p>" for each in TEXT.split("\n\n"))


@pytest.mark.parametrize(
    "lead", [LEAD, f"## {LEAD}", f"{LEAD}\n\nA picture by I. Okafor", f"I. Okafor\n\n{LEAD}"]
)
def test_a_sentence_behind_the_title_is_text_though_nobody_voted_for_it(lead: str) -> None:
    assert LEAD in main_part(f"# The wall of Mole\n\n{lead}\n\n{TEXT}", TEXT)


@pytest.mark.parametrize(
    "before",
    [
        f"{LEAD}\n\n# The wall of Mole",
        LEAD,
        f"# The wall of Mole\n\n{LEAD}\n\n## Read on\n\nShips",
        "# The wall of Mole\n\nBy Ines Okafor, who writes on harbours and their walls for the weekly",
        f"# The wall of Mole\n\n\ue000{LEAD}",
        "# The wall of Mole\n\nSign up to the newsletter of this paper, and never miss a ship again.",
    ],
)
def test_what_is_no_sentence_behind_the_title_is_left_out(before: str) -> None:
    assert main_part(f"{before}\n\n{TEXT}", TEXT).removeprefix("# The wall of Mole\n\n") == TEXT


@pytest.mark.parametrize(
    "header",
    [
        f"<header><h1>The wall of Mole</h1><p>{LEAD}</p><ul><li>Share this</li></ul></header>",
        f"<h1>The wall of Mole</h1><header><p>{LEAD}</p><p>By I. Okafor</p></header>",
        f"<h1>The wall of Mole</h1><header>{LEAD}</header>",
        f"<header><div><h1>The wall of Mole</h1><h2>{LEAD}</h2></div><div>Share this</div></header>",
    ],
)
def test_a_header_of_an_article_keeps_its_standfirst_and_loses_its_buttons(header: str) -> None:
    found = text_of(f"<article>{header}{paragraphs()}</article>")
    assert found.replace("## ", "").startswith(f"# The wall of Mole\n\n{LEAD}")
    assert "Share this" not in found
    assert "Okafor" not in found


def test_the_header_of_a_site_is_no_text() -> None:
    site = f"<header><h2>Harbour Weekly</h2><p>{LEAD}</p></header>"
    assert LEAD not in text_of(f"{site}<article><h1>The wall of Mole</h1>{paragraphs()}</article>")


def test_what_a_sentence_is_does_not_hang_on_the_alphabet() -> None:
    assert is_prose("港の外壁が高くなった年に、モールの港は九メートルまで浚渫された。")
    assert not is_prose("港の外壁")
    assert not is_prose("Harbours. ")
