"""Sections of a corpus by their numbers and titles."""

import asyncio

import pytest

from deep_research.retrieval.headings import Likeness
from deep_research.sources.documents import LocalCorpus

PARTS = ("one", "two")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manuals")
    for manual, other in (("alpha", "Lamps"), ("beta", "Pumps")):
        (folder / manual).mkdir()
        for chapter in range(1, 9):
            lines = [
                f"# {chapter}. {other} {PARTS[chapter % 2]}",
                "",
                f"See Section {chapter}.2.3 and 3.2.1.",
                "",
            ]
            for section in range(1, 4):
                lines += [f"## {chapter}.{section}. Parts of {section}", "", "Words.", ""]
                for inner in range(1, 4):
                    lines += [f"### {chapter}.{section}.{inner}. {other} {inner}", ""]
                    lines += [f"Told in {manual} of {chapter}.{section}.{inner}.", ""]
            (folder / manual / f"chapter-{chapter}.md").write_text("\n".join(lines))
    made = LocalCorpus([folder], data_dir=tmp_path_factory.mktemp("data"))
    yield made
    asyncio.run(made.aclose())


def opened(corpus, reference, near=""):
    return asyncio.run(corpus.section(reference, near))


@pytest.mark.parametrize(
    "number", [f"{a}.{b}.{c}" for a in range(1, 9) for b in range(1, 4) for c in range(1, 4)]
)
@pytest.mark.parametrize("manual", ["alpha", "beta"])
def test_every_number_opens_its_section_in_the_manual_that_names_it(corpus, manual, number):
    place, result = opened(corpus, f"Section {number}", f"{manual}/chapter-1.md")
    (span,) = result.passages
    assert place.likeness is Likeness.EXACT
    assert result.address == f"{manual}/chapter-{number[0]}.md"
    text = result.text[span.start : span.end]
    assert text.startswith(f"### {number}.")
    assert text.rstrip().endswith(f"Told in {manual} of {number}.")
    other = {"alpha": "beta", "beta": "alpha"}[manual]
    assert place.others == (f"{other}/chapter-{number[0]}.md",)


@pytest.mark.parametrize(
    ("reference", "name", "likeness"),
    [
        ("2. Pumps one", "2 Pumps one", Likeness.EXACT),
        ("Pumps one", "2 Pumps one", Likeness.EXACT),
        ("8.3.9", "8.3 Parts of 3", Likeness.NEAR),
        ("17.1", None, None),
        ("nothing of the kind", None, None),
    ],
)
def test_a_title_or_what_is_nearest_is_found(corpus, reference, name, likeness):
    found = opened(corpus, reference)
    if name is None:
        assert found is None
    else:
        assert (found[0].section.name, found[0].likeness) == (name, likeness)


@pytest.mark.parametrize(
    "reference",
    [
        '"',
        "'",
        'a" OR words MATCH "b',
        "NEAR(1 2)",
        "*",
        "title:x",
        "1.2.3)(",
        "\x00",
        "§" * 50,
        "x" * 10_000,
        "1." * 900,
    ],
)
def test_every_text_can_be_asked_for(corpus, reference):
    found = opened(corpus, reference)
    assert found is None or found[0].section.name
