"""What a terminal, which renders no Markdown, is shown of a report."""

import re

import pytest
from attacks import documents

from deep_research.report.markup import escaped, readable

# The hosts of what terminals make links of without being asked.
_HOSTS = re.compile(r"(?i)(?:https?|ftp|file)://[^\s<>\"`/()?#]*|(?<![\w.])www\.\w[^\s<>\"`/()?#]*")


@pytest.mark.parametrize(
    "text",
    [
        "of cache_key and *args, see [note]",
        "a < b, <b>bold</b> and <T>",
        "R&D &lt; R &amp; D",
        "{braces} ~~~ tilde ![image](x.png)",
        "example.com and main.rs of node.io",
        "`code\\_of [x] &lt;` and a single ` after",
        "- no item",
        "7. no item",
        "# no heading",
        "[no]: label",
        "C:\\temp\\new",
    ],
)
def test_outside_text_that_was_made_safe_reads_as_it_was_written(text: str) -> None:
    assert readable(escaped(text)) == text


def test_code_and_what_breaks_an_address_stay_as_they_are() -> None:
    kept = "`a\\_b &lt;` `http`://evil.example `www`.evil.example\n\n```\n\\_ &lt;\n```\n\n<https://ok.example/a_b>"
    assert readable(kept) == kept


def test_code_within_an_item_stays_as_it_is() -> None:
    told = "- step\n\n  ```\n  grep -E 'a\\.b' x; rm foo\\*\n  ```\n"
    assert readable(told) == told


def test_a_terminal_finds_the_address_of_no_host_but_of_sources() -> None:
    for document in documents(0, 500):
        before = set(_HOSTS.findall(document.report))
        assert set(_HOSTS.findall(readable(document.report))) <= before, document.made_of
