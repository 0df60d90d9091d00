"""Versions of a document are told from copies of it, and the newer leads."""

from datetime import date

import pytest
from version_pairs import pairs

from deep_research.phases.evidence_lines import source_names
from deep_research.provenance.independence import newer, originals, preferred, superseded
from deep_research.provenance.near_duplicates import are_versions, copied, facts, fingerprint, versions
from deep_research.state import ContradictionSide, Source

PAGE = "\n\n".join(
    f"The {thing} of the server is {n} and may be raised in the settings of the project. It is read when the {thing} is"
    f" asked for, and kept until the {thing} is given back to whoever it was taken from before."
    for n, thing in enumerate(
        ("buffer", "timeout", "queue", "window", "batch", "pool", "limit", "interval"), 20
    )
)


def source(number, text=PAGE, **more):
    fields = {
        "title": "The server",
        "url": f"https://{number}.example/",
        "content_hash": f"hash-{number}",
        **more,
    }
    return Source(id=f"src-{number:012x}", sub_query_id="subq-1", fingerprint=fingerprint(text), **fields)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(1, 20))])
def test_of_sixty_pairs_at_least_57_are_told_apart(seed):
    right = sum(
        (versions if are else copied)(fingerprint(one), fingerprint(other))
        and not (copied if are else versions)(fingerprint(one), fingerprint(other))
        for one, other, are in pairs(60, seed)
    )
    assert right >= 57


CHANGED = {
    "a figure": ("is 24 and", "is 32 and", True),
    "a denial": ("It is read when the queue", "It is never read when the queue", True),
    "white space, case and marks": ("It is read when the queue is asked", "IT  is read – when the queue is asked", False),
    "what is no sentence": ("The buffer of", "Updated 3 May 2024\n\nThe buffer of", False),
    "other words": ("is given back to whoever", "is handed back to whoever", False),
}  # fmt: skip


@pytest.mark.parametrize(("was", "now", "are"), CHANGED.values(), ids=CHANGED)
def test_what_makes_a_version(was, now, are):
    assert was in PAGE
    assert are_versions(facts(PAGE), facts(PAGE.replace(was, now))) is are
    assert versions(fingerprint(PAGE), fingerprint(PAGE.replace(was, now))) is are
    assert copied(fingerprint(PAGE), fingerprint(PAGE.replace(was, now))) is not are


def test_what_is_kept_by_an_older_package_tells_copies_alone():
    old = fingerprint(PAGE).partition(".")[0]
    assert copied(old, fingerprint(PAGE.replace("is 24", "is 32")))
    assert copied(fingerprint(PAGE), old)


NEWER = {
    "by the number in the title": ({"title": "Server 3.13"}, {"title": "Server 3.14"}),
    "by the number in the address": ({"url": "https://a.example/3.9/x"}, {"url": "https://a.example/3.14/x"}),
    "by the date": ({"published": date(2020, 5, 1)}, {"published": date(2021, 4, 1)}),
    "the number counts before the date": (
        {"title": "Server 3.13", "published": date(2025, 1, 1)},
        {"title": "Server 3.14", "published": date(2024, 1, 1)},
    ),
}


@pytest.mark.parametrize(("old", "new"), NEWER.values(), ids=NEWER)
def test_the_newer_version_leads(old, new):
    one, other = source(1, **old), source(2, PAGE.replace("is 24", "is 32"), **new)
    assert newer(one, other) is newer(other, one) is other
    for both in ((one, other), (other, one)):
        assert superseded(both) == {one.id: other.id}
        assert originals(both) == {one.id: one.id, other.id: other.id}
        told = source_names(both)
        assert told.lines[told.names[one.id]].endswith(f", an older version of {told.names[other.id]}")
    sides = [
        ContradictionSide(finding_id=f"find-{n}", source_id=each.id, wording=said, voice=n)
        for n, (each, said) in enumerate(((one, "24"), (other, "32")))
    ]
    place, because = preferred(sides, (0, 1), {one.id: one, other.id: other})
    assert (place, because) == (1, "it stands in the newer version of the document")


def test_where_nothing_tells_which_is_newer_none_leads():
    one, other = source(1), source(2, PAGE.replace("is 24", "is 32"))
    assert newer(one, other) is None
    assert superseded((one, other)) == {}
