"""Who speaks, what is primary, what a model's word on a source counts, and which of true copies stays."""

from datetime import date

import pytest

from deep_research.evidence.agreement import confidence
from deep_research.evidence.preference import preferred
from deep_research.evidence.primary import MADE, primary
from deep_research.evidence.quality import SourceFacts, counted, judged
from deep_research.evidence.voices import originals, voices
from deep_research.state import ConfidenceLevel, ContradictionSide, Source, SourceKind, SourceQuality

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


PRIMARY = {
    "a standard": ("https://www.rfc-editor.org/rfc/rfc9110", "", "a standards body"),
    "a law": ("https://www.gesetze-im-internet.de/bgb/__1.html", "", "a collection of laws"),
    "a data set": ("https://data.worldbank.org/indicator/x", "", "a publisher of data"),
    "of whoever made it": ("https://docs.python.org/3/", "How fast is Python 3.14?", MADE),
    "a site about it": ("https://realpython.com/x", "How fast is Python 3.14?", ""),
    "a word that is no name": ("https://fast.com/x", "How fast is Python 3.14?", ""),
    "a newspaper of that name": ("https://www.spiegel.de/x", "Wie groß ist ein Spiegel?", ""),
    "a platform of that name": ("https://medium.com/x", "Is Medium free?", ""),
    "a file": ("python.md", "How fast is Python 3.14?", ""),
}


@pytest.mark.parametrize(("url", "question", "why"), PRIMARY.values(), ids=PRIMARY)
def test_what_is_primary(url, question, why):
    assert primary(url, question) == why


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
    assert counted(said, held) is wanted


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
        ContradictionSide(finding_id=f"find-{n}", source_id=each.id, told="57" if n else "58", voice=n)
        for n, each in enumerate(every)
    ]
    place, because = preferred(sides, [0, 1, 1], {each.id: each for each in every})
    assert (place, because) == (0, "a primary source says so")
