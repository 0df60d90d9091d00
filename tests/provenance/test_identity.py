"""One page has one name, whatever address led to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.provenance.page_identity import (
    arxiv_of,
    canonical_url,
    doi_of,
    without_credentials,
)
from deep_research.provenance.sites import host_of, same_site

SAME = {
    "https://example.org/a": [
        "http://example.org/a", "HTTPS://EXAMPLE.org/a", "https://www.example.org/a", "https://m.example.org/a",
        "https://mobile.example.org/a", "https://amp.example.org/a", "https://example.org:443/a",
        "http://example.org:80/a", "https://example.org./a", "https://example.org/a/", "https://example.org/a?",
        "https://example.org/a#part", "https://example.org/a#:~:text=tower", "https://example.org/b/../a",
        "https://example.org/./%61", "https://example.org/a?utm_source=x&utm_medium=y",
        "https://example.org/a?gclid=1&fbclid=2&msclkid=3&igshid=4&ref=home&mc_cid=5",
        "https://example.org/a?UTM_Source=x", "https://example.org/a?amp;utm_campaign=y",
        "https://example.org/a;jsessionid=0A1B2C", "https://example.org/a?PHPSESSID=abc",
        "https://example.org/a?sid=0123456789abcdef01234567", "  https://example.org/a",
        "https://example-org.cdn.ampproject.org/c/s/example.org/a", "https://www.google.com/amp/s/example.org/a",
    ],
    "https://example.org/": ["http://example.org", "https://www.example.org?utm_id=1", "https://example.org//"],
    "https://en.wikipedia.org/wiki/Tower": ["https://en.m.wikipedia.org/wiki/Tower#History"],
    "https://xn--mnchen-3ya.example/": ["https://München.example/", "https://xn--mnchen-3ya.example"],
    "https://example.org/a?b=2&a=1": ["https://example.org/a?b=2&&utm_term=z&a=1&"],
    "https://example.org/%C3%A9%2F": ["https://example.org/é%2f", "https://example.org/%c3%a9%2F"],
    "https://example.org/a%20b?q=c%20d": ["https://example.org/a b?q=c d"],
    "https://example.org/#!/page": ["http://example.org/#!/page"],
    "https://www.gov.uk/x": ["http://www.gov.uk/x/"],
    "https://doi.org/10.1000/xyz-1": [
        "http://dx.doi.org/10.1000/XYZ-1", "doi:10.1000/xyz-1", "DOI: 10.1000/xyz-1",
        "https://doi.org/10.1000/xyz-1?utm_source=a", "https://dl.acm.org/doi/10.1000/xyz-1",
        "https://dl.acm.org/doi/pdf/10.1000/xyz-1", "https://onlinelibrary.wiley.com/doi/full/10.1000/xyz-1",
        "https://academic.oup.com/some/article/doi/10.1000/xyz-1/6123456",
        "https://link.springer.com/content/pdf/10.1000/xyz-1.pdf",
        "https://www.frontiersin.org/articles/10.1000/xyz-1/full",
        "https://journals.plos.org/plosone/article?id=10.1000/xyz-1",
        "https://journals.plos.org/plosone/article/file?id=10.1000%2Fxyz-1&type=printable",
    ],
    "https://doi.org/10.1101/2020.01.02.123456": [
        "https://www.biorxiv.org/content/10.1101/2020.01.02.123456v2.full.pdf",
        "https://www.biorxiv.org/content/10.1101/2020.01.02.123456v1",
    ],
    "https://doi.org/10.1038/s41586-020-2649-2": ["https://www.nature.com/articles/s41586-020-2649-2.pdf"],
    "https://doi.org/10.1016/s0140-6736(20)30183-5": ["https://doi.org/10.1016/S0140-6736(20)30183-5"],
    "https://arxiv.org/abs/2101.00001": [
        "http://arxiv.org/pdf/2101.00001v3.pdf", "https://arxiv.org/html/2101.00001v1",
        "https://export.arxiv.org/abs/2101.00001", "https://ar5iv.labs.arxiv.org/html/2101.00001",
        "https://ar5iv.org/abs/2101.00001", "arXiv:2101.00001v2 [cs.CL]",
        "https://doi.org/10.48550/arXiv.2101.00001",
    ],
    "https://arxiv.org/abs/math/0309136": [
        "https://arxiv.org/abs/math.GT/0309136v1", "https://arxiv.org/pdf/math/0309136",
    ],
}  # fmt: skip
APART = [
    ("https://example.org/a", "https://example.org/A"),
    ("https://example.org/a", "https://example.org/index.html"),
    ("https://example.org/", "https://example.org/index.html"),
    ("https://example.org/a", "https://example.org:8443/a"),
    ("https://example.org/?a=1", "https://example.org/?a=2"),
    ("https://example.org/?a=1&b=2", "https://example.org/?b=2&a=1"),
    ("https://example.org/#!a", "https://example.org/#!b"),
    ("https://github.com/o/r/file?ref=main", "https://github.com/o/r/file?ref=next"),
    ("https://a.example.org/", "https://b.example.org/"),
    ("https://example.org/?s=cat", "https://example.org/?s=dog"),
    ("https://m.co.uk/", "https://co.uk/"),
    ("https://youtube.com/watch?v=1", "https://youtube.com/watch?v=2"),
    ("https://arxiv.org/list/cs.CL/2101", "https://arxiv.org/list/cs.CL/2102"),
    ("https://example.org/?id=10.2023/may", "https://doi.org/10.2023/may"),
    ("https://example.org/notes/10.2023/may", "https://doi.org/10.2023/may"),
]
JUNK = ["", "notes/tower.md", "10.1000/notes.md", "mailto:a@b.org", "ftp://a.org/x", "http://", "http://[::1", "//a.org",
        "https://a b.org/", "https://u:p@a.org/", "https://a.org:x/", "http://..", "http://a.org/\nb", "javascript:1",
        "https://" + "a" * 9_000]  # fmt: skip


@pytest.mark.parametrize(("name", "address"), [(n, a) for n, row in SAME.items() for a in (n, *row)])
def test_the_addresses_of_a_page_have_its_name(name, address):
    assert canonical_url(address) == name


@pytest.mark.parametrize(("one", "other"), APART)
def test_pages_that_may_differ_keep_names_of_their_own(one, other):
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize("junk", JUNK)
def test_what_is_no_web_address_is_given_back(junk):
    assert canonical_url(junk) == junk


PIECES = st.sampled_from(
    ["http://", "https://", "www.", "m.", "amp.", "a.org", "co.uk", "é", "/", "//", "..", ".", "%2e", "%41", "%", "%zz",
     "?", "&", "=", "a", "Z", "utm_x=1", "ref=b", "sid=", ";jsessionid=1", "#", "!", ":", ":80", "@", "[", "]", " ",
     "(", ")", "doi.org/", "10.1000/", "arxiv.org/abs/", "2101.00001", "v2", ".pdf", "google.com/amp/s/", "İ",
     "\ud800", "+", "'"]
)  # fmt: skip


@given(
    st.one_of(
        st.text(),
        st.lists(PIECES, max_size=12).map("".join),
        st.lists(PIECES).map(lambda p: "http://" + "".join(p)),
    )
)
def test_a_name_is_its_own_name_and_nothing_raises(address):
    name = canonical_url(address)
    assert canonical_url(name) == name
    doi_of(address), arxiv_of(address), host_of(address), same_site(address, name)


def test_a_work_is_known_by_any_of_its_names():
    assert doi_of("10.1000/AbC.") == "10.1000/abc"
    assert doi_of("(https://doi.org/10.1000/abc)"[1:]) == "10.1000/abc"
    assert doi_of("https://example.org/10.1000/abc") is None
    assert doi_of("10 reasons") is None
    assert arxiv_of("hep-th/9901001") is None
    assert arxiv_of("arxiv:hep-th/9901001v2") == "hep-th/9901001"
    assert arxiv_of("https://example.org/abs/2101.00001") is None


def test_hosts_are_given_as_resolvers_are_asked():
    assert host_of("https://WWW.Example.ORG.:443/x") == "www.example.org"
    assert host_of("http://[2001:DB8::1]/") == "2001:db8::1"
    assert host_of("München.example") == host_of("notes/a.md") == ""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://news.bbc.co.uk/1", "http://www.bbc.co.uk/2", True),
        ("https://a.co.uk", "https://b.co.uk", False),
        ("https://docs.example.org", "https://example.org", True),
        ("https://one.github.io", "https://two.github.io", False),
        ("https://x.one.github.io", "https://one.github.io", True),
        ("https://93.184.216.34", "https://93.184.216.35", False),
        ("notes/a.md", "notes/b.md", False),
    ],
)
def test_a_site_is_what_one_publisher_registered(one, other, same):
    assert same_site(one, other) is same


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.org/p?api_key=abc&x=1", "https://a.org/p?x=1"),
        ("https://a.org/p?x=1&access_token=abc#part", "https://a.org/p?x=1#part"),
        ("https://u:secret@a.org:8443/p?x=1", "https://a.org:8443/p?x=1"),
        ("https://a.org/p?X-Amz-Signature=0f&X-Amz-Date=1&id=3", "https://a.org/p?id=3"),
        ("https://a.org/p?X-Goog-Credential=z", "https://a.org/p"),
        ("https://a.org/p?sig=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5%3D", "https://a.org/p"),
        ("https://a.org/p?key=AIzaSyA0123456789abcdefgh", "https://a.org/p"),
        ("https://a.org/p?key=chapter-two", "https://a.org/p?key=chapter-two"),
        ("https://a.org/p?token=ring&sig=", "https://a.org/p?token=ring&sig="),
        ("https://a.org/p?&a=1&&b", "https://a.org/p?&a=1&&b"),
        ("notes/u@b.md?api_key=x", "notes/u@b.md?api_key=x"),
        ("http://[::1?api_key=x", "http://[::1?api_key=x"),
    ],
)
def test_no_address_is_shown_with_a_key_in_it(url, shown):
    assert without_credentials(url) == shown
    assert without_credentials(shown) == shown
    if "[" not in url and "@" not in url:
        assert canonical_url(url) == canonical_url(shown)
