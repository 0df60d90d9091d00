"""Documents are found by the words of their path and by their date, but what their texts say comes first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from deep_research.sources.documents import CorpusIndex, Document
from deep_research.sources.documents.terms import path_words


def document(text: str, title: str = "T", published: date | None = None) -> Document:
    return Document(title=title, text=text, published=published)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CorpusIndex]:
    made = CorpusIndex(tmp_path / "index.db")
    yield made
    made.close()


def paths(index: CorpusIndex, query: str, limit: int = 10) -> list[str]:
    return [hit.path for hit in index.search(query, limit)]


FILLER = [(f"filler/{n:03}.md", document(f"something else, number {n}")) for n in range(250)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("reports/annual-review_2023.final.md", "reports/annual-review_2023.final"),
        ("src/camelCase.html", "src/camelCase src camel Case"),
        ("HTTPServer.txt", "HTTPServer HTTP Server"),
        ("report2024.rst", "report2024 report 2024"),
        ("notes v1.2", "notes v1.2 notes v 1 2"),
        ("plain", "plain"),
    ],
)
def test_a_path_is_split_into_its_words_without_the_suffix(path: str, expected: str) -> None:
    assert path_words(path, None) == expected


def test_a_date_is_found_as_year_month_day_and_iso() -> None:
    assert path_words("a.md", date(2024, 3, 5)) == "a 2024-03-05 5 March"


class TestFinding:
    @pytest.mark.parametrize("more", [[], FILLER], ids=["small", "large"])
    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ("budget", "finance/budget-2023.md"),
            ("finances", "finance/budget-2023.md"),
            ("parser", "src/queryParser.md"),
            ("queryParser", "src/queryParser.md"),
            ("snake_case", "x/snake_case.md"),
            ("計画", "計画書.md"),
            ("2019", "dated.md"),
            ("March 2019", "dated.md"),
            ("2019-03-05", "dated.md"),
        ],
    )
    def test_a_word_of_path_or_date_finds_the_document(
        self, index: CorpusIndex, more: list[tuple[str, Document]], query: str, path: str
    ) -> None:
        index.add(more)
        index.add(
            [
                ("finance/budget-2023.md", document("Nothing to see.")),
                ("src/queryParser.md", document("Nothing to see.")),
                ("x/snake_case.md", document("Nothing to see.")),
                ("計画書.md", document("Nothing to see.")),
                ("dated.md", document("Nothing to see.", published=date(2019, 3, 5))),
            ]
        )
        (hit,) = index.search(query, 5)
        assert (hit.path, hit.relevance, hit.score <= 0) == (path, 0, True)
        assert [hit.text[part.start : part.end] for part in hit.passages] == ["Nothing to see."]

    @pytest.mark.parametrize("more", [[], FILLER], ids=["small", "large"])
    def test_a_word_in_the_path_never_comes_before_one_in_the_text(
        self, index: CorpusIndex, more: list[tuple[str, Document]]
    ) -> None:
        index.add(more)
        index.add(
            [
                ("walrus/walrus-walrus.md", document("short")),
                ("b.md", document("a very long text " * 60 + "walrus " + "with more words " * 60)),
            ]
        )
        assert paths(index, "walrus") == ["b.md", "walrus/walrus-walrus.md"]
        assert paths(index, "walrus", 1) == ["b.md"]

    @pytest.mark.parametrize("more", [[], FILLER], ids=["small", "large"])
    def test_among_texts_that_say_the_same_path_and_date_decide(
        self, index: CorpusIndex, more: list[tuple[str, Document]]
    ) -> None:
        index.add(more)
        index.add(
            [
                ("a.md", document("the budget of the town")),
                ("b.md", document("the budget of the town", published=date(2019, 3, 5))),
                ("c/penguin.md", document("the budget of the town")),
            ]
        )
        assert paths(index, "budget 2019") == ["b.md", "a.md", "c/penguin.md"]
        assert paths(index, "budget penguin") == ["c/penguin.md", "a.md", "b.md"]

    def test_a_path_that_repeats_the_title_changes_no_score(self, tmp_path: Path) -> None:
        scores = []
        for name, path in (("one", "x.md"), ("two", "walrus-song.md")):
            index = CorpusIndex(tmp_path / name)
            index.add([*FILLER, (path, document("the song of the animal", "Walrus song"))])
            scores.append(index.search("walrus song", 1)[0].score)
            index.close()
        assert scores[0] == scores[1]

    def test_a_replaced_document_is_no_longer_found_by_its_old_date(self, index: CorpusIndex) -> None:
        index.add([("a.md", document("text", published=date(2019, 3, 5)))])
        index.add([("a.md", document("text", published=date(2021, 7, 1)))])
        assert (paths(index, "2019"), paths(index, "July 2021")) == ([], ["a.md"])

    def test_excluded_paths_are_left_out_here_too(self, index: CorpusIndex) -> None:
        index.add([("walrus-1.md", document("x")), ("walrus-2.md", document("x"))])
        hits = index.search("walrus", 1, exclude=frozenset(["walrus-1.md"]))
        assert [hit.path for hit in hits] == ["walrus-2.md"]
