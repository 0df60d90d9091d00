"""Who speaks, which of true copies or versions leads, and what counts of a model's word on confidence."""

from datetime import date

import pytest
from version_pairs import PAGE

from deep_research.phases.evidence_lines import source_names
from deep_research.provenance.independence import newer, originals, preferred, superseded, voices
from deep_research.provenance.near_duplicates import fingerprint
from deep_research.provenance.quality import MADE
from deep_research.state import ConfidenceLevel, ContradictionSide, Source, SourceKind, SourceQuality
from deep_research.verification.finding_clusters import confidence

C, Q = ConfidenceLevel, SourceQuality


def source(number, address, **more):
    kind = SourceKind.WEB if address.startswith("http") else SourceKind.DOCUMENT
    fields = {
        "id": f"src-{number}",
        "sub_query_id": "s",
        "title": f"Page {number}",
        "url": address,
        "kind": kind,
    }
    return Source(**fields | more)


def told(number, url, quality=Q.UNKNOWN, **metadata):
    return source(number, url, quality=quality, metadata=metadata)


def sides(sources):
    """Each says something else, but the first."""
    return [
        ContradictionSide(finding_id=f"find-{n}", source_id=each.id, wording="57" if n else "58", voice=n)
        for n, each in enumerate(sources)
    ]


def preprints(one, other):
    return ("https://arxiv.org/1", {"author": one}), ("https://arxiv.org/2", {"author": other})


def addresses(*urls):
    return [(f"https://{url}", {}) for url in urls]


VOICES = {
    "pages of one site": (addresses("docs.orm.org/a", "www.orm.org/b"), 1),
    "two sites": (addresses("orm.org/a", "hare.org/b"), 2),
    "two authors of preprints": (preprints("A B", "C D"), 2),
    "one author of preprints": (preprints("A B", "a  b"), 1),
    "preprints of nobody knows whom": (addresses("arxiv.org/1", "arxiv.org/2"), 2),
    "projects of two owners": (addresses("github.com/orm/x", "github.com/hare/x"), 2),
    "projects of one owner": (addresses("github.com/orm/x", "github.com/orm/y"), 1),
    "two packages of a registry": (addresses("pypi.org/project/orm", "pypi.org/project/hare"), 2),
    "pages of one package": (addresses("pypi.org/project/orm", "pypi.org/project/orm/1.0/"), 1),
    "blogs of a platform": (addresses("orm.substack.com/a", "hare.substack.com/b"), 2),
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
    place, because = preferred(sides(every), [0, 1, 1], {each.id: each for each in every})
    assert (place, because) == (0, "a primary source says so")


NEWER = {
    "by the number in the title": ({"title": "Server 3.13"}, {"title": "Server 3.14"}),
    "by the number in the address": ({"url": "https://a.example/3.9/x"}, {"url": "https://a.example/3.14/x"}),
    "by the date": ({"published": date(2020, 5, 1)}, {"published": date(2021, 4, 1)}),
    "the number counts before the date": (
        {"title": "Server 3.13", "published": date(2025, 1, 1)},
        {"title": "Server 3.14", "published": date(2024, 1, 1)},
    ),
}


def versions(old, new):
    """A page and one with another figure."""
    texts, title = (PAGE, PAGE.replace("is 24", "is 32")), {"title": "The server"}
    return [
        source(
            n, f"https://{n}.example/", content_hash=f"{n}", fingerprint=fingerprint(text), **title | known
        )
        for n, (text, known) in enumerate(zip(texts, (old, new), strict=True))
    ]


@pytest.mark.parametrize(("old", "new"), NEWER.values(), ids=NEWER)
def test_the_newer_version_leads(old, new):
    one, other = versions(old, new)
    assert newer(one, other) is newer(other, one) is other
    for both in ((one, other), (other, one)):
        assert superseded(both) == {one.id: other.id}
        assert originals(both) == {one.id: one.id, other.id: other.id}
        told = source_names(both)
        assert told.lines[told.names[one.id]].endswith(f", an older version of {told.names[other.id]}")
    place, because = preferred(sides((one, other)), (0, 1), {one.id: one, other.id: other})
    assert (place, because) == (1, "it stands in the newer version of the document")


def test_where_nothing_tells_which_is_newer_none_leads():
    one, other = versions({}, {})
    assert newer(one, other) is None
    assert superseded((one, other)) == {}
