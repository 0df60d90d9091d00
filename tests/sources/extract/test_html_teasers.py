"""Other stories of a site beside a text, and what looks like them."""

from __future__ import annotations

from deep_research.sources.extract.reading import read
from deep_research.sources.extract.votes import main_part

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
OTHER = "The mayor of Overby told the council today that the {}th ferry is late, and that it would be later still."
ARTICLE = "\n\n".join(f"{number}. {PROSE * 2}".strip() for number in range(8))


def text_of(body: str) -> str:
    head = "<title>Mole</title><link rel='canonical' href='https://www.weekly.example/mole'>"
    html = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://www.weekly.example/mole", 1_000_000).text


def paragraphs() -> str:
    return "".join(f"<p>{each}</p>" for each in ARTICLE.split("\n\n"))


def teasers(count: int, mark: str = "\ue001") -> str:
    return "\n\n".join(
        f"### {mark}Ferry {number} is late\n\n- {OTHER.format(number)}" for number in range(count)
    )


def test_an_article_is_the_text_though_there_is_more_of_other_stories() -> None:
    assert main_part(f"{ARTICLE}\n\nRating failed.\n\n## More\n\n{teasers(30)}", ARTICLE) == ARTICLE


def test_a_page_of_headlines_is_all_of_them() -> None:
    assert main_part(teasers(30), OTHER.format(3)).count("The mayor") == 30


def test_questions_below_an_introduction_are_text() -> None:
    assert main_part(f"{ARTICLE}\n\n{teasers(40, mark='')}", ARTICLE).count("The mayor") == 40


def test_headlines_behind_an_article_go_and_those_of_a_review_of_other_sites_stay() -> None:
    for host, kept in (("", 0), ("https://blog.weekly.example", 0), ("https://overby.example", 6), ("#", 6)):
        below = "".join(
            f"<h3><b>News</b> <a href='{host}/{number}'>Ferry {number} is very late</a></h3><p>{OTHER.format(number)}</p>"
            for number in range(6)
        )
        found = text_of(f"<article><h1>Mole</h1>{paragraphs()}<h2>Other stories</h2>{below}</article>")
        assert found.count("The mayor") == kept
        assert found.count("Other stories") == min(kept, 1)


def test_a_table_of_contents_of_many_levels_is_no_text_and_its_headings_are() -> None:
    parts = [f"Part {number} of the wall" for number in range(6)]
    inner = "".join(f"<li><p><a href='#p{number}'>{part}</a></p></li>" for number, part in enumerate(parts))
    listing = f"<div class='topic'><ul><li><p><a href='#p'>The wall</a></p><ul>{inner}</ul></li></ul></div>"
    sections = "".join(f"<h2 id='p{number}'>{part}</h2>{paragraphs()}" for number, part in enumerate(parts))
    found = text_of(f"<div><h1>The wall</h1>{paragraphs()}{listing}{sections}</div>")
    assert [found.count(part) for part in parts] == [1] * 6


def test_a_line_of_links_with_signs_between_is_no_text() -> None:
    line = "<p>« <a href='/1'>Back</a> | <a href='/2'>Next</a> » :: <a href='/0'>Up</a></p>"
    assert "Next" not in text_of(f"<h1>Mole</h1>{line}{paragraphs()}{line}")


def test_the_name_of_a_list_of_other_pages_within_a_text_goes_with_it_and_headings_of_the_text_stay() -> None:
    links = "- \ue000The ferry is late\n- \ue000The mayor is late"
    whole = f"{ARTICLE}\n\n## Most read\n\n{links}\n\n## The wall\n\n{links}\n\n{PROSE.strip()}"
    assert (
        main_part(whole, f"{ARTICLE}\n\nThe wall\n\n{PROSE}")
        == f"{ARTICLE}\n\n## The wall\n\n{PROSE.strip()}"
    )
    standfirst = f"# Mole\n\n## How it was dredged\n\n- \ue000By Ines Okafor\n\n{ARTICLE}"
    assert "## How it was dredged" in main_part(standfirst, f"Mole\n\n{ARTICLE}")
