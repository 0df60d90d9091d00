"""What in a text says nothing."""

import pytest

from deep_research.evidence.boilerplate import is_debris


@pytest.mark.parametrize(
    "text",
    [
        "See \\href{x}{this}.",
        "See https://x.example/y for more.",
        "Read the <a href='x'>note</a> of the keeper.",
        "{{cite web|title=Towers}} on the keepers.",
    ],
)
def test_markup_and_addresses_say_nothing(text):
    assert is_debris(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tower is 35 metres tall.",
        "The server listens on http://localhost:8000 unless told otherwise.",
        "Use List<String> to hold the names of all keepers.",
    ],
)
def test_a_sentence_of_the_text_is_kept(text):
    assert not is_debris(text)
