"""One ranking of several, each thing once."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from deep_research.sources.search import Scholarly, SearchResult
from deep_research.sources.search.fusion import fused
from deep_research.state import SourceKind, SourceQuality, Span


def page(url, **more):
    return SearchResult(address=url, title=more.pop("title", url), **more)


def addresses(results):
    return [result.address for result in results]


def test_lists_without_anything_in_common_take_turns():
    one = [page(f"https://a.org/{n}") for n in range(3)]
    two = [page(f"https://b.org/{n}") for n in range(2)]
    assert addresses(fused([one, two])) == [
        "https://a.org/0",
        "https://b.org/0",
        "https://a.org/1",
        "https://b.org/1",
        "https://a.org/2",
    ]


def test_what_several_services_found_comes_first():
    one = [page("https://a.org/first"), page("https://both.org/x")]
    two = [page("https://b.org/first"), page("https://both.org/x")]
    assert addresses(fused([one, two]))[0] == "https://both.org/x"


def test_one_page_under_two_addresses_is_one_and_keeps_the_first():
    (only,) = fused([[page("https://www.a.org/x?utm_source=s")], [page("http://a.org/x#top")]])
    assert only.address == "https://www.a.org/x?utm_source=s"


def test_a_work_has_its_lasting_address_and_is_read_where_the_service_said():
    found = page("https://catalogue.org/paper/1", scholarly=Scholarly(doi="10.1234/ABC"))
    (only,) = fused([[found]])
    assert only.address == "https://doi.org/10.1234/abc"
    assert only.text_at == "https://catalogue.org/paper/1"


def test_one_work_in_two_catalogues_is_one_with_what_both_know():
    one = page("https://s.org/1", scholarly=Scholarly(doi="10.1000/x", citations=7), provider="one")
    two = page(
        "https://o.org/2",
        scholarly=Scholarly(doi="10.1000/X", retracted=True, citations=9, venue="Journal"),
        text="An abstract.",
        passages=(Span(start=0, end=2),),
        published=date(2020, 1, 2),
        provider="two",
    )
    (only,) = fused([[one], [two]])
    assert only.scholarly == Scholarly(doi="10.1000/x", citations=7, retracted=True, venue="Journal")
    assert (only.text, only.passages, only.published) == (
        "An abstract.",
        (Span(start=0, end=2),),
        date(2020, 1, 2),
    )
    assert only.provider == "one, two"


def test_the_word_of_one_catalogue_that_a_work_was_retracted_is_enough():
    one = page("https://s.org/1", scholarly=Scholarly(doi="10.1000/x", retracted=False))
    two = page("https://o.org/2", scholarly=Scholarly(doi="10.1000/x", retracted=True))
    assert fused([[one], [two]])[0].scholarly.retracted is True


def test_spans_stay_with_the_text_they_are_of():
    one = page("https://a.org/1", text="Short.")
    two = page("https://a.org/1", text="A much longer text.", passages=(Span(start=7, end=19),), pages=(0,))
    (only,) = fused([[one], [two]])
    assert (only.text, only.passages, only.pages) == ("Short.", (), ())


def test_a_document_is_never_taken_for_a_page():
    local = page("a.org/1", kind=SourceKind.DOCUMENT, quality=SourceQuality.HIGH)
    assert len(fused([[local], [page("https://a.org/1")]])) == 2


URLS = st.sampled_from([f"https://{host}.org/{n}" for host in "abc" for n in range(4)])


@given(st.lists(st.lists(URLS, max_size=8), max_size=4))
def test_everything_is_there_once_and_the_order_is_always_the_same(lists):
    results = [[page(url) for url in urls] for urls in lists]
    found = addresses(fused(results))
    assert sorted(found) == sorted({url for urls in lists for url in urls})
    assert found == addresses(fused(results))
    for urls in lists[:1] if len(lists) == 1 else []:
        assert found == list(dict.fromkeys(urls))
