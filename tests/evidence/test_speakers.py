"""Who speaks, what is primary, what a model's word on a source counts, and which of true copies stays."""

from datetime import date

import pytest

from deep_research.provenance.independence import originals, preferred, voices
from deep_research.provenance.quality import MADE, STANDARD, SourceFacts, bounded_quality, judged, primary
from deep_research.state import ConfidenceLevel, ContradictionSide, Source, SourceKind, SourceQuality
from deep_research.verification.finding_clusters import confidence

C, Q = ConfidenceLevel, SourceQuality


def source(number, url, **more):
    kind = SourceKind.WEB if url.startswith("http") else SourceKind.DOCUMENT
    fields = {"id": f"src-{number}", "sub_query_id": "s", "title": f"Page {number}", "url": url, "kind": kind}
    return Source(**fields | more)


def told(number, url, quality=Q.UNKNOWN, **metadata):
    return source(number, url, quality=quality, metadata=metadata)


VOICES = {
    "pages of one site": ([("https://docs.orm.org/a", {}), ("https://www.orm.org/b", {})], 1),
    "two sites": ([("https://orm.org/a", {}), ("https://hare.org/b", {})], 2),
    "two authors of preprints": (
        [("https://arxiv.org/1", {"author": "A B"}), ("https://arxiv.org/2", {"author": "C D"})],
        2,
    ),
    "one author of preprints": (
        [("https://arxiv.org/1", {"author": "A B"}), ("https://arxiv.org/2", {"author": "a  b"})],
        1,
    ),
    "preprints of nobody knows whom": ([("https://arxiv.org/1", {}), ("https://arxiv.org/2", {})], 2),
    "projects of two owners": ([("https://github.com/orm/x", {}), ("https://github.com/hare/x", {})], 2),
    "two packages of a registry": (
        [("https://pypi.org/project/orm", {}), ("https://pypi.org/project/hare", {})],
        2,
    ),
    "pages of one package": (
        [("https://pypi.org/project/orm", {}), ("https://pypi.org/project/orm/1.0/", {})],
        1,
    ),
    "projects of one owner": ([("https://github.com/orm/x", {}), ("https://github.com/orm/y", {})], 1),
    "blogs of a platform": ([("https://orm.substack.com/a", {}), ("https://hare.substack.com/b", {})], 2),
    "two files": ([("a.md", {}), ("b.md", {})], 2),
    "files of one manual": ([("m/a.html", {"manual": "m"}), ("m/b.html", {"manual": "m"})], 1),
    "files of two manuals": ([("m/a.html", {"manual": "m"}), ("n/a.html", {"manual": "n"})], 2),
}


@pytest.mark.parametrize(("pages", "count"), VOICES.values(), ids=VOICES)
def test_a_voice_is_a_site_an_author_a_file_or_a_manual(pages, count):
    every = [told(n, url, **metadata) for n, (url, metadata) in enumerate(pages)]
    assert len(voices(every)) == count


def test_three_pages_of_one_manual_are_no_three_witnesses():
    pages = {f"src-{n}": told(n, f"https://docs.orm.org/{n}", Q.HIGH) for n in range(3)}
    assert confidence(C.LOW, pages, pages) is C.MEDIUM
    others = {f"src-{n}": told(n, f"https://orm{n}.org/", Q.HIGH) for n in range(3)}
    assert confidence(C.LOW, others, others) is C.CONFIRMED


STATED = {  # what a model says, of how many voices of high quality: what counts
    (C.HIGH, 0): C.MEDIUM,
    (C.LOW, 0): C.LOW,
    (C.HIGH, 1): C.HIGH,
    (C.LOW, 1): C.LOW,
    (C.LOW, 2): C.MEDIUM,
    (C.HIGH, 2): C.HIGH,
    (C.LOW, 3): C.HIGH,
    (C.HIGH, 3): C.HIGH,
    (C.SPECULATION, 3): C.SPECULATION,
}


@pytest.mark.parametrize(("case", "wanted"), STATED.items(), ids=lambda case: str(case))
def test_what_a_model_says_of_confidence_counts_within_one_step(case, wanted):
    said, many = case
    held = {f"src-{n}": told(n, f"https://orm{n}.org/", Q.HIGH) for n in range(many)}
    held |= {"src-9": told(9, "https://hare.org/")}
    made = confidence(said, held, held, stated_counts=True)
    assert made is wanted
    assert confidence(made, held, held, stated_counts=True) is wanted  # weighed again it is the same


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
    "a site that begins like it": ("https://pythonista.com/x", "How fast is Python 3.14?", ""),
    "a word that is no name": ("https://fast.com/x", "How fast is Python 3.14?", ""),
    "a word that asks": ("https://compare.com/x", "Compare Rust and Python.", ""),
    "a newspaper of that name": ("https://www.spiegel.de/x", "Wie groß ist ein Spiegel?", ""),
    "a platform of that name": ("https://medium.com/x", "Is Medium free?", ""),
    "a blog of that name": ("https://python.substack.com/p/x", "How fast is Python?", ""),
    "an account of that name": ("https://x.com/python", "How fast is Python?", ""),
    "a file": ("python.md", "How fast is Python 3.14?", ""),
    "a file that is the standard": ("specs/rfc9110.txt", "What does RFC 9110 say of caches?", STANDARD),
    "another standard": ("specs/rfc9111.txt", "What does RFC 9110 say of caches?", ""),
    "a file about one": ("notes-on-rfc9110.md", "What does RFC 9110 say of caches?", ""),
    "a number of something else": ("room 9110.md", "What stands in room 9110?", ""),
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
    assert "+2 of whoever made it: python.org" in judged(facts).signals


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
    held = source(1, "https://x.org", quality=by_code, metadata={"quality": signals, **more})
    assert bounded_quality(said, held) is wanted


def test_of_true_copies_the_primary_or_earliest_stays():
    late = source(1, "https://a.org", content_hash="h", published=date(2024, 5, 1))
    early = source(2, "https://b.org", content_hash="h", published=date(2023, 5, 1))
    undated = source(3, "https://c.org", content_hash="h")
    own = source(4, "https://d.org", content_hash="h", metadata={"primary": MADE})
    assert set(originals([late, undated, early]).values()) == {early.id}
    assert set(originals([undated, undated]).values()) == {undated.id}
    assert set(originals([late, early, own]).values()) == {own.id}


def test_a_primary_source_is_preferred_to_more_voices():
    every = [told(1, "https://orm.org", primary=MADE), told(2, "https://a.org"), told(3, "https://b.org")]
    sides = [
        ContradictionSide(finding_id=f"find-{n}", source_id=each.id, wording="57" if n else "58", voice=n)
        for n, each in enumerate(every)
    ]
    place, because = preferred(sides, [0, 1, 1], {each.id: each for each in every})
    assert (place, because) == (0, "a primary source says so")
