"""Quality follows from what is known of a source, and says from what."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.provenance.quality import QualityLists, SourceFacts, judged
from deep_research.provenance.sites import class_of, table
from deep_research.state import SourceKind, SourceQuality

TODAY = date(2026, 1, 1)


def facts(address, **known):
    return SourceFacts(address=address, today=TODAY, **known)


def quality(address, **known):
    return judged(facts(address, **known)).quality.value


@pytest.mark.parametrize(
    ("address", "known", "expected"),
    [
        ("https://www.gov.uk/statistics", {}, "high"),
        ("https://stats.govt.nz/x", {}, "high"),
        ("https://www.rfc-editor.org/rfc/rfc9309", {}, "high"),
        ("https://cs.example.edu/report", {"authors": ("A. Person",)}, "high"),
        ("https://cs.example.edu/~student/page", {}, "unknown"),
        ("https://journals.plos.org/x", {"reviewed": True, "venue": "PLOS ONE"}, "high"),
        ("https://example.org/paper", {"reviewed": True, "authors": ("A",)}, "high"),
        ("https://arxiv.org/abs/2101.00001", {"reviewed": False, "authors": ("A",)}, "medium"),
        ("https://www.nature.com/articles/x", {"reviewed": True, "retracted": True, "citations": 900}, "low"),
        ("https://en.wikipedia.org/wiki/Tower", {}, "medium"),
        ("https://www.bbc.co.uk/news/1", {"published": date(2025, 12, 1)}, "medium"),
        ("https://www.bbc.co.uk/news/1", {"published": date(2025, 12, 1), "authors": ("A",)}, "high"),
        ("https://www.bbc.co.uk/news/1", {"published": date(2005, 12, 1), "authors": ("A",)}, "medium"),
        ("https://docs.example.org/guide", {}, "medium"),
        ("https://x.com/someone/1", {"authors": ("S",), "published": date(2025, 1, 1)}, "low"),
        ("https://someone.blogspot.com/1", {"authors": ("S",)}, "low"),
        ("https://someone.blogspot.com/1", {"authors": ("S",), "published": date(2025, 1, 1)}, "medium"),
        ("https://www.ehow.com/how", {"authors": ("S",)}, "low"),
        ("https://example.org/", {}, "unknown"),
        ("https://example.org/", {"published": date(2025, 1, 1)}, "unknown"),
        ("https://example.org/", {"published": date(2025, 1, 1), "authors": ("A",)}, "medium"),
        ("http://example.org/", {"length": 90}, "low"),
        ("https://www.gov.uk/x", {"length": 0}, "low"),
    ],
)
def test_quality_follows_from_the_signals(address, known, expected):
    assert quality(address, **known) == expected


def test_every_signal_is_told_with_its_effect():
    told = judged(
        facts(
            "http://journals.plos.org/x",
            reviewed=True,
            venue="PLOS ONE",
            citations=1_200,
            published=date(2016, 1, 1),
            authors=("A. Person",),
            abstract_only=True,
            length=1_000,
            retracted=True,
        )
    )
    assert told.signals == (
        "+3 a scholarly publisher: plos.org",
        "-10 retracted",
        "+3 peer-reviewed: PLOS ONE",
        "+2 cited 1,200 times, 120 a year",
        "+1 names its author",
        "+1 dated",
        "-1 only its abstract could be read",
        "-1 not served over https",
    )


def test_citations_count_by_age():
    def signals(citations, year):
        return judged(facts("https://example.org/", citations=citations, published=date(year, 1, 1))).signals

    assert "+2 cited 30 times, 30 a year" in signals(30, 2025)
    assert "+1 cited 30 times, 2 a year" in signals(30, 2006)
    assert not any("cited" in s for s in signals(3, 2006))


def test_a_document_of_ones_own_is_high_unless_a_list_says_otherwise():
    own = facts("drafts/old.md", kind=SourceKind.DOCUMENT)
    assert judged(own).quality is SourceQuality.HIGH
    assert judged(own, QualityLists(low=("drafts/*",))).quality is SourceQuality.LOW
    assert judged(own, QualityLists(low=("drafts",))).quality is SourceQuality.LOW
    assert judged(own, QualityLists(low=("draft",))).quality is SourceQuality.HIGH
    assert judged(own, QualityLists(low=("*.md",), medium=("drafts/old.md",))).quality is SourceQuality.MEDIUM


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"low": ("nature.com",)}, "low"),
        ({"low": ("https://www.nature.com/",)}, "low"),
        ({"low": ("*.nature.com",)}, "low"),
        ({"low": ("nature.com",), "medium": ("nature.com/articles",)}, "medium"),
        ({"high": ("nature.com",), "low": ("www.nature.com",)}, "low"),
        ({"low": ("ature.com", "nature.com/art", "nature.org")}, "high"),
        ({"high": ("nature.com",), "low": ("com",)}, "high"),
    ],
)
def test_the_users_most_specific_pattern_wins_over_all_signals(lists, expected):
    told = judged(
        facts("https://www.nature.com/articles/x", reviewed=True, retracted=None), QualityLists(**lists)
    )
    assert told.quality == expected
    if told.signals[0].startswith("="):
        assert len(told.signals) == 1
        assert "your list" in told.signals[0]


@given(
    st.builds(
        SourceFacts,
        address=st.one_of(
            st.text(),
            st.sampled_from(sorted(table().domains)).map("https://{}/~x".format),
        ),
        published=st.none() | st.dates(),
        today=st.none() | st.dates(),
        citations=st.none() | st.integers(0, 10**6),
        length=st.none() | st.integers(0, 10**6),
        reviewed=st.none() | st.booleans(),
        retracted=st.none() | st.booleans(),
    ),
    st.builds(QualityLists, low=st.lists(st.text()).map(tuple), high=st.lists(st.text()).map(tuple)),
)
def test_a_judgement_is_always_given_and_always_the_same(known, lists):
    assert judged(known, lists) == judged(known, lists)
    assert not known.retracted or judged(known).quality is SourceQuality.LOW


def test_a_host_that_only_ends_alike_is_of_no_class():
    assert class_of("https://notnature.com/") is None
    assert class_of("https://nature.com.evil.example/") is None
    assert class_of("notes/a.md") is None
