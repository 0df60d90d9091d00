"""Quality follows from what is known of a source, and says from what."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.provenance.quality import (
    MADE,
    STANDARD,
    QualityLists,
    SourceFacts,
    bounded_quality,
    judged,
    primary,
)
from deep_research.provenance.sites import class_of, publisher_table
from deep_research.state import Source, SourceKind, SourceQuality

TODAY = date(2026, 1, 1)
Q = SourceQuality


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
    said = {"reviewed": True, "venue": "PLOS ONE", "citations": 1_200, "authors": ("A. Person",)}
    known = {"published": date(2016, 1, 1), "abstract_only": True, "length": 1_000, "retracted": True}
    told = judged(facts("http://journals.plos.org/x", **said, **known)).signals
    assert "; ".join(told) == (
        "+3 a scholarly publisher: plos.org; -10 retracted; +3 peer-reviewed: PLOS ONE;"
        " +2 cited 1,200 times, 120 a year; +1 names its author; +1 dated;"
        " -1 only its abstract could be read; -1 not served over https"
    )


def test_citations_count_by_age():
    def signals(citations, year):
        return judged(facts("https://example.org/", citations=citations, published=date(year, 1, 1))).signals

    assert "+2 cited 30 times, 30 a year" in signals(30, 2025)
    assert "+1 cited 30 times, 2 a year" in signals(30, 2006)
    assert not any("cited" in s for s in signals(3, 2006))


NATURE = "https://www.nature.com/articles/x"
OWN, PAPER = {"kind": SourceKind.DOCUMENT}, {"reviewed": True}


@pytest.mark.parametrize(
    ("address", "known", "lists", "expected"),
    [
        ("drafts/old.md", OWN, {}, "high"),
        ("drafts/old.md", OWN, {"low": ("drafts/*",)}, "low"),
        ("drafts/old.md", OWN, {"low": ("drafts",)}, "low"),
        ("drafts/old.md", OWN, {"low": ("draft",)}, "high"),
        ("drafts/old.md", OWN, {"low": ("*.md",), "medium": ("drafts/old.md",)}, "medium"),
        (NATURE, PAPER, {"low": ("nature.com",)}, "low"),
        (NATURE, PAPER, {"low": ("https://www.nature.com/",)}, "low"),
        (NATURE, PAPER, {"low": ("*.nature.com",)}, "low"),
        (NATURE, PAPER, {"low": ("nature.com",), "medium": ("nature.com/articles",)}, "medium"),
        (NATURE, PAPER, {"high": ("nature.com",), "low": ("www.nature.com",)}, "low"),
        (NATURE, PAPER, {"low": ("ature.com", "nature.com/art", "nature.org")}, "high"),
        (NATURE, PAPER, {"high": ("nature.com",), "low": ("com",)}, "high"),
    ],
)  # fmt: skip
def test_the_users_most_specific_pattern_wins_over_all_signals(address, known, lists, expected):
    told = judged(facts(address, **known), QualityLists(**lists))
    assert told.quality == expected
    if told.signals[0].startswith("="):
        assert len(told.signals) == 1
        assert "your list" in told.signals[0] or "your own" in told.signals[0]


@given(
    st.builds(
        SourceFacts,
        address=st.one_of(
            st.text(), st.sampled_from(sorted(publisher_table().domains)).map("https://{}/~x".format)
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


# What is primary, and what a model's word counts

PRIMARY = {  # an address, a question, and why it is primary
    "a standard": ("https://www.rfc-editor.org/rfc/rfc9110", "", "a standards body"),
    "a law": ("https://www.gesetze-im-internet.de/bgb/__1.html", "", "a collection of laws"),
    "a data set": ("https://data.worldbank.org/indicator/x", "", "a publisher of data"),
    "the site of its name": ("https://docs.python.org/3/", "How fast is Python 3.14?", MADE),
    "of a name of two words": ("https://www.home-assistant.io/x", "What does Home Assistant cost?", MADE),
    "written in one": ("https://homeassistant.io/x", "What does Home Assistant cost?", MADE),
    "with what makers add": ("https://doc.rust-lang.org/std", "How does Rust drop a value?", MADE),
    "with what they put before": ("https://getorm.org/", "Who maintains Orm?", MADE),
    "by its initials": ("https://ietx.org/", "What is the Internet Engineering Task X?", MADE),
    "by too few initials": ("https://gbr.com/", "How long is the Great Barrier Reef?", ""),
    "a tenant of a platform": ("https://orm.readthedocs.io/x", "How fast is Orm?", MADE),
    "the owner of a repository": ("https://github.com/python/cpython", "How fast is Python?", MADE),
    "a repository of that name of others": ("https://github.com/someone/python", "How fast is Python?", ""),
    "a package": ("https://pypi.org/project/Orm/", "Which versions has Orm?", MADE),
    "a scoped package": ("https://www.npmjs.com/package/@vue/cli", "What is new in Vue 4?", MADE),
    "named as code": ("https://crates.io/crates/serde", "What does `serde` depend on?", MADE),
    "a word in small letters": ("https://pypi.org/project/requests/", "How many requests are made?", ""),
    "another package": ("https://pypi.org/project/orm-tools/", "Which versions has Orm?", ""),
    "a front page of a registry": ("https://pypi.org/", "Which versions has PyPI?", ""),
    "a site about it": ("https://realpython.com/x", "How fast is Python 3.14?", ""),
    "a site that anybody may call so": ("https://thepython.com/x", "How fast is Python 3.14?", ""),
    "a word that is no name": ("https://fast.com/x", "How fast is Python 3.14?", ""),
    "a word that asks": ("https://compare.com/x", "Compare Rust and Python.", ""),
    "a newspaper of that name": ("https://www.spiegel.de/x", "Wie groß ist ein Spiegel?", ""),
    "a platform of that name": ("https://medium.com/x", "Is Medium free?", ""),
    "an account of that name": ("https://x.com/python", "How fast is Python?", ""),
    "a file": ("python.md", "How fast is Python 3.14?", ""),
    "a file that is the standard": ("specs/rfc9110.txt", "What does RFC 9110 say of caches?", STANDARD),
    "another standard": ("specs/rfc9111.txt", "What does RFC 9110 say of caches?", ""),
    "a file about one": ("notes-on-rfc9110.md", "What does RFC 9110 say of caches?", ""),
    "a page that calls itself so": ("https://blog.example/rfc9110", "What does RFC 9110 say?", ""),
}


@pytest.mark.parametrize(("url", "question", "why"), PRIMARY.values(), ids=PRIMARY)
def test_what_is_primary(url, question, why):
    assert primary(url, question) == why


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("ISO 8601-1: Date and time", STANDARD),
        ("iso_8601-1", STANDARD),
        ("On ISO 8601-1", ""),
        ("ISO 8601-2", ""),
        ("Dates", ""),
    ],
)
def test_a_file_is_the_standard_that_its_title_begins_with(title, why):
    assert primary("dates.pdf", "How does ISO 8601-1 write a week?", title=title) == why
    assert primary("https://blog.example/x", "How does ISO 8601-1 write a week?", title=title) == ""


@pytest.mark.parametrize(
    ("authors", "why"),
    [(("Ada Brook",), MADE), (("C. Moor", "ada brook"), MADE), (("Ada Moor",), ""), ((), "")],
)
def test_a_work_of_whom_the_question_names_is_primary_by_a_catalogue(authors, why):
    assert (
        primary("https://doi.org/10.1/x", "What did Ada Brook measure on the reef?", authors=authors) == why
    )


def test_who_made_it_speaks_for_a_source():
    facts = SourceFacts(address="https://docs.python.org/3/", question="What is new in Python 3.14?")
    assert "+2 from its maker: python.org" in judged(facts).signals


COUNTED = {  # the quality by code, its signals, what a model says: what counts
    "lowered": (Q.HIGH, "+4 a government or public body: x.gov", {}, Q.LOW, Q.LOW),
    "raised with a publisher": (Q.MEDIUM, "+2 a reference work: x.org", {}, Q.HIGH, Q.HIGH),
    "by one step": (Q.UNKNOWN, "+1 a host of code: github.com", {}, Q.HIGH, Q.MEDIUM),
    "primary": (Q.MEDIUM, "", {"primary": MADE}, Q.HIGH, Q.HIGH),
    "not with what a page says of itself": (Q.MEDIUM, "+1 names its author; +1 dated", {}, Q.HIGH, Q.MEDIUM),
    "not with nothing": (Q.UNKNOWN, "", {}, Q.HIGH, Q.UNKNOWN),
    "an advertisement": (Q.LOW, "-2 a shop: x.com; +1 dated", {}, Q.HIGH, Q.LOW),
    "retracted": (Q.LOW, "+3 peer-reviewed; -10 retracted", {"retracted": "true"}, Q.HIGH, Q.LOW),
    "against the owner's list": (Q.LOW, "= low by your list: x.org", {"primary": MADE}, Q.HIGH, Q.LOW),
}


@pytest.mark.parametrize(("by_code", "signals", "more", "said", "wanted"), COUNTED.values(), ids=COUNTED)
def test_a_model_may_lower_a_source_and_raise_it_only_with_a_signal(by_code, signals, more, said, wanted):
    held = Source(
        id="src-1", sub_query_id="s", title="Page", quality=by_code, metadata={"quality": signals, **more}
    )
    assert bounded_quality(said, held) is wanted
