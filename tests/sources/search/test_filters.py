"""What the caller wants is kept, whatever a service made of it."""

from datetime import date

import pytest

from deep_research.sources.search import SearchFilters, SearchResult
from deep_research.sources.search.filters import fits
from deep_research.state import SourceKind

MAY = date(2024, 5, 1)


def page(url="https://www.example.org/a", published=MAY, kind=SourceKind.WEB, text="All of it."):
    return SearchResult(address=url, title="A page", published=published, kind=kind, text=text)


@pytest.mark.parametrize(
    ("filters", "published", "wanted"),
    [
        (SearchFilters(since=MAY), MAY, True),
        (SearchFilters(since=date(2024, 5, 2)), MAY, False),
        (SearchFilters(until=MAY), MAY, True),
        (SearchFilters(until=date(2024, 4, 30)), MAY, False),
        (SearchFilters(since=MAY, until=MAY), None, True),
        (SearchFilters(as_of=MAY), MAY, True),
        (SearchFilters(as_of=date(2024, 4, 30)), MAY, False),
        (SearchFilters(as_of=MAY), None, False),
        (SearchFilters(until=date(2030, 1, 1), as_of=date(2024, 4, 1)), MAY, False),
    ],
)
def test_days_of_publication(filters, published, wanted):
    assert fits(page(published=published), filters) is wanted


def test_a_page_that_is_still_to_be_read_may_say_its_day_itself():
    assert fits(page(published=None, text=None), SearchFilters(as_of=MAY))
    assert not fits(page(published=date(2024, 5, 2), text=None), SearchFilters(as_of=MAY))


def test_a_document_of_ones_own_needs_no_date_and_has_no_domain():
    filters = SearchFilters(as_of=MAY, domains=("example.org",))
    assert fits(page("notes/a.md", None, SourceKind.DOCUMENT), filters)
    assert not fits(page("notes/a.md", date(2025, 1, 1), SourceKind.DOCUMENT), filters)


@pytest.mark.parametrize(
    ("domains", "not_domains", "url", "wanted"),
    [
        (("example.org",), (), "https://example.org/a", True),
        (("example.org",), (), "https://docs.example.org/a", True),
        (("example.org",), (), "https://notexample.org/a", False),
        (("example.org",), (), "https://example.org.evil.net/", False),
        (("https://www.example.org/",), (), "http://example.org/a", True),
        (("*.example.org",), (), "https://a.example.org", True),
        ((), ("example.org",), "https://www.example.org/a", False),
        ((), ("example.org",), "https://example.net/a", True),
        (("example.org",), ("old.example.org",), "https://old.example.org/a", False),
    ],
)
def test_sites_wanted_and_unwanted(domains, not_domains, url, wanted):
    assert fits(page(url), SearchFilters(domains=domains, not_domains=not_domains)) is wanted
