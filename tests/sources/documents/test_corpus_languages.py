"""Documents in other languages and scripts: found by inflected words, and by words that no space tells apart."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deep_research.sources.documents import CorpusIndex, Document
from deep_research.sources.documents.index_writer import _passages
from deep_research.sources.documents.terms import Cover, fields, match_expression, query_terms
from deep_research.text.passages import passages
from deep_research.text.unspaced import occur_in, pairs

GERMAN = "Das Haus ist alt, und der Garten mit den Bäumen liegt nicht weit von der Kirche."
FRENCH = "La maison est vieille, et le jardin avec les arbres n'est pas loin de la rivière dans la vallée."
ENGLISH = "The house is old, and the garden with the trees is not far from the church."
RUSSIAN = "Этот дом очень старый, и книга о нем лежит на столе, который не был продан."
THAI = "บ้านหลังนี้เก่ามากและสวนอยู่ไม่ไกลจากวัด"
BURMESE = "ဤအိမ်သည်အလွန်ဟောင်းသည်။"
KHMER = "ផ្ទះនេះចាស់ណាស់"
LAO = "ເຮືອນນີ້ເກົ່າຫຼາຍ"
SCRIPTS = "量子计算的优势かなカナบ้านเก่าฟ้าຫຼາຍផ្ទះစာအုပ် abä1,。-\n#"

WORDS = ["量子", "计算", "快", "タワー", "かな", "บ้าน", "เก่า", "ข้าว", "ຫຼາຍ", "ផ្ទះ", "စာအုပ်", "အိမ်"]


def document(text: str, title: str = "T") -> Document:
    return Document(title=title, text=text)


def paths(index: CorpusIndex, query: str) -> list[str]:
    return [hit.path for hit in index.search(query, 10)]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CorpusIndex]:
    index = CorpusIndex(tmp_path_factory.mktemp("index") / "index.db")
    index.add(
        [
            ("de", document(GERMAN)),
            ("fr", document(FRENCH)),
            ("en", document(ENGLISH)),
            ("ru", document(RUSSIAN)),
            ("zh", document("量子计算的优势是速度。Shor 的算法很快。", "量子")),
            ("ja", document("東京タワーは赤い。夜は明るい。")),
            ("th", document(THAI)),
            ("my", document(BURMESE)),
            ("km", document(KHMER)),
            ("lo", document(LAO)),
        ]
    )
    yield index
    index.close()


class TestInflection:
    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ("Häuser", "de"),
            ("Wo stehen die alten Häuser?", "de"),
            ("Baum", "de"),
            ("maisons", "fr"),
            ("Où sont les vieilles maisons ?", "fr"),
            ("книги", "ru"),
            ("houses", "en"),
            ("gardens churches", "en"),
        ],
    )
    def test_an_inflected_word_finds_its_document(self, mixed: CorpusIndex, query: str, path: str) -> None:
        best = mixed.search(query, 3)[0]
        assert best.path == path
        assert best.relevance > 0.3

    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ("Bücherei", "compound"),  # begins one
            ("Stadtbücherei", ""),
            ("Thursday", "short"),
            ("What is there on Thursdays?", "short"),
            ("maximum", "short"),
        ],
    )
    @pytest.mark.parametrize("others", [0, 220])  # few passages are ordered by what they cover
    def test_a_compound_and_an_abbreviation_are_found(
        self, tmp_path: Path, query: str, path: str, others: int
    ) -> None:
        index = CorpusIndex(tmp_path / "index.db")
        index.add(
            [
                ("compound", document("Der Büchereiausweis ist nicht teuer und gilt für das ganze Jahr.")),
                ("short", document("Thu 9 to 5, and the max. length of it is 3 m.")),
                *((f"other{n}", document(f"{GERMAN} {n}")) for n in range(others)),
            ]
        )
        hits = index.search(query, 1)
        assert [hit.path for hit in hits] == ([path] if path else [])
        assert all(hit.relevance > 0.3 for hit in hits)
        index.close()

    def test_a_word_as_it_stands_counts_more_than_another_form_of_it(self, tmp_path: Path) -> None:
        index = CorpusIndex(tmp_path / "index.db")
        index.add([("a", document(GERMAN)), ("b", document(GERMAN.replace("Haus ist", "Häuser sind")))])
        index.add([(f"more{n}", document(f"{RUSSIAN} {n}")) for n in range(220)])
        assert paths(index, "Häuser")[:2] == ["b", "a"]
        assert paths(index, "Haus")[:2] == ["a", "b"]
        index.close()

    def test_an_english_question_is_not_looked_for_by_foreign_stems(self, tmp_path: Path) -> None:
        index = CorpusIndex(tmp_path / "index.db")
        english = [
            (f"en{n}", document(f"The garden number {n} is open and the gate is not.")) for n in range(300)
        ]
        index.add(english)
        alone = [(hit.path, hit.score) for hit in index.search("Where is the garden 7?", 3)]
        index.add([("de", document("Die Gärten sind nicht offen, und der Weg ist weit."))])
        assert [path for path, _ in alone] == [hit.path for hit in index.search("Where is the garden 7?", 3)]
        index.close()

    def test_a_language_that_has_left_is_not_looked_for(self, tmp_path: Path) -> None:
        index = CorpusIndex(tmp_path / "index.db")
        index.add([("a", document(GERMAN)), ("b", document(ENGLISH))])
        assert paths(index, "Häuser") == ["a"]
        index.add([("a", document(ENGLISH))])
        assert paths(index, "Häuser") == []
        with index._database.reading() as connection:
            held = dict(connection.execute("SELECT code, documents FROM languages").fetchall())
        assert held == {"de": 0, "en": 2}
        index.close()

    def test_english_texts_have_nothing_in_the_columns_of_others(self) -> None:
        assert fields("Title", "Heading", ENGLISH, "en") == ("Title", "Heading", ENGLISH, None, None)

    def test_a_stem_is_never_taken_for_a_word(self, mixed: CorpusIndex) -> None:
        assert mixed.statistics(["alt"]).frequencies == {"alt": 1}
        stems = fields("", "", GERMAN, "de").stems or ""
        assert all(not stem.isalpha() for stem in stems.split())

    def test_coverage_compares_stems_of_the_texts_language(self) -> None:
        assert Cover({"Häuser": 1.0}).share(GERMAN, "de") == 1
        assert Cover({"Häuser": 1.0}).share(GERMAN) == 0


class TestUnspacedScripts:
    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ("量子计算", "zh"),
            ("优势是什么", "zh"),
            ("快", "zh"),
            ("算", "zh"),
            ("Shor", "zh"),
            ("東京", "ja"),
            ("タワー", "ja"),
            ("夜", "ja"),
            ("บ้าน", "th"),
            ("วัดอยู่ที่ไหน", "th"),
            ("အိမ်", "my"),
            ("ផ្ទះ", "km"),
            ("ເຮືອນ", "lo"),
        ],
    )
    def test_words_are_found_inside_their_run(self, mixed: CorpusIndex, query: str, path: str) -> None:
        best = mixed.search(query, 3)[0]
        assert best.path == path
        assert best.relevance > 0

    def test_marks_tell_characters_apart(self, tmp_path: Path) -> None:
        index = CorpusIndex(tmp_path / "index.db")
        index.add([("a", document("ขาว")), ("b", document("ข้าว"))])
        assert (paths(index, "ขาว")[0], paths(index, "ข้าว")[0]) == ("a", "b")
        index.close()

    def test_they_have_a_column_of_their_own_and_other_words_stay(self) -> None:
        found = fields("量子", "", "Shor 的算法", "en")
        assert (found.title.strip(), found.body.split()) == ("", ["Shor"])
        assert (found.pairs or "").split() == ["量子", "子", "量子", "子", "的算", "算法", "法"]

    def test_a_query_is_made_of_the_pairs_of_its_runs(self) -> None:
        assert query_terms("Shor量子计 快") == ["Shor", "量子", "子计", "快"]
        assert match_expression(["量子", "快"]) == '"量子" OR "快" *'

    @given(st.lists(st.sampled_from(WORDS), min_size=1), st.data())
    def test_every_word_is_found_in_a_run_of_words(self, words: list[str], data: st.DataObject) -> None:
        word = data.draw(st.sampled_from(words))
        held = pairs("".join(words))
        for term in query_terms(word):
            form = match_expression([term])
            wanted = form.strip('" *')
            assert any(pair.startswith(wanted) if form.endswith("*") else pair == wanted for pair in held)

    @given(st.text(max_size=60) | st.text(alphabet=SCRIPTS, max_size=60))
    def test_the_quick_look_misses_nothing(self, text: str) -> None:
        text = text.encode(errors="replace").decode()
        assert occur_in(text) or not pairs(text)

    def test_latin_greek_and_typographic_signs_cost_no_closer_look(self) -> None:
        assert not occur_in("Naïve – “quoted” αβγ… Привет €")

    @given(st.text(alphabet=SCRIPTS + '"*:()^', max_size=40))
    @settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_no_run_breaks_a_query(self, mixed: CorpusIndex, query: str) -> None:
        mixed.search(query, 2)
        terms = query_terms(query)
        languages = ("de", "fr")
        outside = "".join(match_expression(terms, languages).split('"')[::2])
        assert set(outside) <= set(" OR*")


TEXTS = st.sampled_from(
    [
        GERMAN,
        FRENCH,
        ENGLISH,
        RUSSIAN,
        THAI,
        KHMER,
        "量子计算的优势。Shor",
        f"# 量子\n\n{GERMAN}\n\n## x\n\n{GERMAN * 20}",
    ]
)
CHANGES = st.lists(
    st.tuples(st.sampled_from(["a/camelCase.md", "b 量子.md", "c-2024.md"]), TEXTS, TEXTS), max_size=6
)


class TestForgetting:
    @given(CHANGES)
    @settings(max_examples=20, deadline=None)
    def test_after_changes_the_index_holds_the_words_of_a_fresh_one(
        self, tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, str, str]]
    ) -> None:
        folder = tmp_path_factory.mktemp("index")
        index, fresh = CorpusIndex(folder / "index.db"), CorpusIndex(folder / "fresh.db")
        last = {}
        for path, text, title in changes:
            index.add([(path, document(text, title[:20]))])
            last[path] = document(text, title[:20])
        index.add([])
        fresh.add(last.items())
        for table in ("words", "paths"):
            assert vocabulary(folder / "index.db", table) == vocabulary(folder / "fresh.db", table)
        index.close()
        fresh.close()


def vocabulary(file: Path, table: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(file)
    try:
        connection.execute(f"CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, {table}, col)")
        return connection.execute("SELECT * FROM temp.v WHERE doc > 0 ORDER BY 1, 2").fetchall()
    finally:
        connection.close()


@given(st.text(alphabet="ab \n\t.#`|-1", max_size=60) | st.text(max_size=60))
@settings(max_examples=500)
def test_short_texts_are_cut_as_all_others(text: str) -> None:
    assert _passages(text) == [(part.start, part.end, part.heading) for part in passages(text)]
