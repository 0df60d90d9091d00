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


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("It uses a _hashing\nfunction_, which is fast.", "It uses a hashing\nfunction, which is fast."),
        ("Call _open_lamp or\nopen_lamp_ by hand.", "Call _open_lamp or\nopen_lamp_ by hand."),
        ("One _ends here.\n\nAnother_ begins.", "One _ends here.\n\nAnother_ begins."),
    ],
)
def test_emphasis_may_go_over_the_end_of_a_line_but_not_of_a_paragraph(written: str, read: str) -> None:
    assert readable(written) == read
