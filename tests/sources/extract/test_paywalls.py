"""A page that only asks something of its reader is no source; one that says something is, whatever it asks besides."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from made import web_page

from deep_research.provenance.page_requests import FILE
from deep_research.sources.extract.html import check_readable
from deep_research.sources.extract.plaintext import UnreadableError

CASES = tomllib.loads((Path(__file__).parents[2] / "data" / "walls.toml").read_text(encoding="utf-8"))
WORDINGS = tomllib.loads(FILE.read_text(encoding="utf-8"))
WHY = WORDINGS.pop("what")


def read_from_the_web(body: str) -> str:
    return web_page(body).text


@pytest.mark.parametrize(
    "case", [each for table in CASES.values() for each in table], ids=lambda case: case["html"][:70]
)
def test_what_a_page_asks_for_is_told_and_honest_pages_are_read(case: dict[str, str]) -> None:
    if case["is"] == "read":
        assert read_from_the_web(case["html"])
        return
    with pytest.raises(UnreadableError) as refused:
        read_from_the_web(case["html"])
    assert str(refused.value) == f"no readable text; {WHY[case['is']]}"


def test_a_long_text_is_read_with_a_request_at_its_end() -> None:
    told = "<p>The Bell Rock lighthouse is 36 metres tall and was finished in 1811.</p>" * 12
    assert read_from_the_web(f"<article>{told}<p>Subscribe to continue reading.</p></article>")


@pytest.mark.parametrize("language", WORDINGS)
def test_each_language_has_wordings_for_each_reason(language: str) -> None:
    assert WORDINGS[language]["asks"].keys() == WHY.keys() >= WORDINGS[language]["around"].keys()


PIECES = "we |<p>|you have |please |verify |to continue, |sorry, |por favor, |1 |\u2019|log in. "


@pytest.mark.parametrize("piece", PIECES.split("|"))
def test_hostile_pages_take_no_time(piece: str, seconds) -> None:
    def checked() -> None:
        try:
            check_readable("", piece * (1_000_000 // len(piece)))
        except UnreadableError:
            return

    assert seconds(1.0, checked) < 1.0
