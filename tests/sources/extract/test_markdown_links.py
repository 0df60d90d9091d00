"""Links of Markdown that are told elsewhere in the text: their words stay, their brackets go."""

import pytest

from deep_research.sources.extract.markdown import readable

TARGETS = "\n\n[mole]: https://mole.example/\n[badge]: https://mole.example/b.svg\n"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("See [Mole] for more.", "See Mole for more."),
        ("See [the port][mole] for more.", "See the port for more."),
        ("[![Build status][badge]][mole]\n\nThe port.", "The port."),
        ("- [x] dredge the basin", "- [x] dredge the basin"),
        ("An array `port[mole]` is [none] of these.", "An array port[mole] is [none] of these."),
        ("Say `git help\ntutorial` first.", "Say git help\ntutorial first."),
        ("A lone ` stays.\n\nAnd ` another.", "A lone ` stays.\n\nAnd ` another."),
    ],
)
def test_a_link_by_a_name_is_its_words(written: str, read: str) -> None:
    assert readable(written + TARGETS) == read
