"""Which section of a text a reference means."""

import pytest
from tables import cases

from deep_research.retrieval.headings import Likeness, SectionName, best_section, neighbours, sections_of

MANUAL = """# Chapter 20. Server Configuration

Intro.

## 20.4. Resource Consumption

### 20.4.3. Disk

A.

### 20.4.4. Linux Memory Overcommit

B.

```
# 20.4.5 no heading
```

## 20.10\\. Automatic Vacuuming

C.

# Appendix A. Error Codes

## A.2. Classes

# Part II. Locks and Keys

# Locks
"""
SECTIONS = sections_of(MANUAL)


@pytest.mark.parametrize(
    ("reference", "name", "likeness"),
    cases("""
        20.4.4 | 20.4.4 Linux Memory Overcommit | EXACT
        see Section 20.4.4 | 20.4.4 Linux Memory Overcommit | EXACT
        Section 20.4.4 (Linux Memory Overcommit) | 20.4.4 Linux Memory Overcommit | EXACT
        § 20.10. | 20.10 Automatic Vacuuming | EXACT
        chapter 20 | 20 Server Configuration | EXACT
        Kapitel 20 | 20 Server Configuration | EXACT
        Appendix A | A Error Codes | EXACT
        A.2 | A.2 Classes | EXACT
        Part II | II Locks and Keys | EXACT
        “automatic vacuuming” | 20.10 Automatic Vacuuming | EXACT
        locks | Locks | EXACT
        memory overcommit | 20.4.4 Linux Memory Overcommit | WORDS
        17.2. Automatic Vacuuming | 20.10 Automatic Vacuuming | WORDS
        20.4.4.7 | 20.4.4 Linux Memory Overcommit | NEAR
        20.4.9 | 20.4 Resource Consumption | NEAR
        automatic cleaning | 20.10 Automatic Vacuuming | NEAR
    """),
)
def test_a_reference_means_a_section(reference, name, likeness):
    place, found = best_section(SectionName.read(reference), SECTIONS)
    assert (SECTIONS[place].name, found) == (name, Likeness[likeness])


@pytest.mark.parametrize("reference", ["vacuuming by hand or automatic", "99.9", "", "§"])
def test_what_means_no_section_finds_none(reference):
    assert best_section(SectionName.read(reference), SECTIONS) is None


def test_a_section_ends_where_the_next_of_its_level_begins():
    by_number = {section.number: section for section in SECTIONS}
    overcommit = by_number["20.4.4"]
    assert MANUAL[overcommit.start : overcommit.end].rstrip().endswith("```")
    assert MANUAL[by_number["20.4"].start : by_number["20.4"].end].count("###") == 2
    assert "20.4.5" not in by_number, "code has no headings"


def test_what_stands_around_a_section_is_named():
    place = next(n for n, section in enumerate(SECTIONS) if section.number == "20.4.4")
    around = {where: section.number for where, section in neighbours(SECTIONS, place).items()}
    assert around == {"in": "20.4", "before": "20.4.3", "after": "20.10"}


@pytest.mark.parametrize(
    ("title", "text", "names"),
    [
        ("20.10. Automatic Vacuuming", "No heading.", ["20.10 Automatic Vacuuming"]),
        ("20.10. Automatic Vacuuming", "# 20.10. Automatic Vacuuming\n\nx", ["20.10 Automatic Vacuuming"]),
        ("Manual", "# 1 One\n\n# 2 Two", ["Manual", "1 One", "2 Two"]),
        ("", "No heading.", []),
    ],
)
def test_the_title_of_a_text_is_the_section_that_has_all(title, text, names):
    assert [section.name for section in sections_of(text, title)] == names
