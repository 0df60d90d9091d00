"""Reports from a small web, read as a reader would: what they say, from whom, and what they say of themselves."""

import re

import pytest
from servers import SearchServer, WebSite
from small_web import PAGES, found

from deep_research import DeepResearch
from deep_research.report.report_notices import SURE
from deep_research.state import ConfidenceLevel

pytestmark = pytest.mark.usefixtures("kept_readers")

SERVICES = ("tavily", "openalex")


@pytest.fixture
def ask(monkeypatch, tmp_path):
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-canary")
    with SearchServer(found) as services, WebSite(PAGES) as site:
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", site.guard)

        def asked(question, *search, **settings):
            urls = dict.fromkeys(SERVICES, services.base_url)
            with DeepResearch(
                search=list(search), search_urls=urls, data_dir=tmp_path, **settings
            ) as research:
                result = research.run(question)
                for citation in result.citations:
                    assert research.text(citation)[citation.start : citation.end] == citation.quote
            for debris in ("cookies", "Sport", "Privacy", "Ten bridges", "SECRET"):
                assert debris not in (result.report or "")
            return result

        yield asked


def limits(result):
    """As they read: names of hosts are written so that no renderer makes links of them."""
    told = result.report.partition("## Gaps and limits")[2].replace("\\.", ".")
    return re.findall(r"^- (.*)$", told, re.MULTILINE)


def test_a_story_and_its_copies_leave_room_for_others_and_figures_stand_side_by_side(ask):
    result = ask("What did the new Harlow Bridge cost?", "tavily")
    told = re.findall(r"^\| (.*) \| (.*) \[\d\] \|$", result.report, re.MULTILINE)
    assert any("official figures" in who and figure == "412 million pounds" for who, figure in told)
    assert any("380 million pounds" in figure for _, figure in told)
    texts = [source.content_hash for source in result.sources]
    assert len(set(texts)) == len(texts)
    said = limits(result)
    assert any(line.endswith("not used: the same text as another page that is used.") for line in said)
    assert "1 page of gone.example.com was found but not read: the page is gone (404 Not Found)." in said
    assert any("closed.example.com was found but not read: the site's robots.txt" in line for line in said)


def test_a_reason_in_a_pdf_is_cited_with_its_page(ask):
    result = ask("Why did the Harlow Bridge collapse?", "tavily", report_words=300)
    assert "corrosion" in result.report
    assert re.search(r"^\d\. .*inquiry\.pdf>, pp?\. (1, )?2$", result.report, re.MULTILINE)


def test_what_only_a_retracted_work_says_stands_apart(ask):
    result = ask("Does magnesium improve insomnia in the elderly?", "openalex")
    sound, _, withdrawn = result.report.partition("## From works that were retracted")
    assert "magnesium does not improve insomnia in adults" in sound
    assert "Magnesium improves insomnia in the elderly" in withdrawn
    assert "Magnesium improves insomnia in the elderly" not in sound
    references = result.report.partition("## References")[2]
    assert (
        "1. L. Ahn, R. Boe: Magnesium for insomnia in adults: a trial. Journal of Sleep Trials (2022-02-03)."
        " <https://doi.org/10.1000/mag.1>, abstract"
    ) in references
    assert "(retracted). Annals of Sleep (2012-12-01)" in references


def test_as_of_a_day_later_pages_and_those_without_a_day_are_left_out_and_told(ask):
    result = ask("How many people did the Harlow Bridge kill?", "tavily", as_of="2020-12-31")
    assert {source.published.year for source in result.sources} == {2020}
    said = "\n".join(limits(result))
    assert "not used: no day of publication." in said
    assert (
        "transport.gov.uk was found but not used: published outside of the days that were asked for." in said
    )


def test_only_the_sites_that_are_wanted_are_used(ask):
    result = ask("Why did the Harlow Bridge collapse?", "tavily", domains=("gov.uk",))
    assert {source.url.split("/")[2] for source in result.sources} == {"www.transport.gov.uk"}


def test_the_user_s_word_on_a_site_stands_in_its_sources(ask):
    result = ask("What did the new Harlow Bridge cost?", "tavily", quality={"low": ("transport.gov.uk",)})
    told = {source.url: (source.quality, source.metadata["quality"]) for source in result.sources}
    assert told["http://www.transport.gov.uk/harlow"] == ("low", "= low by your list: transport.gov.uk")


def test_what_no_page_tells_is_not_made_up(ask):
    result = ask("Which orchestra played at the opening of the Harlow Bridge in 1961?", "tavily")
    doubts = [f"*{SURE[level]}*" for level in (ConfidenceLevel.LOW, ConfidenceLevel.SPECULATION)]
    assert any(doubt in result.report for doubt in doubts)
