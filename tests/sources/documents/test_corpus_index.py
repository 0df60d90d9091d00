"""The index: what it finds, in what order, how sure it is, and how it keeps up with a folder."""

from __future__ import annotations

import re
import sqlite3
import string
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deep_research.errors import CorpusError, DeepResearchError, SearchError
from deep_research.sources.documents.folder import CorpusFolder
from deep_research.sources.documents.index import CorpusIndex, IndexReport
from deep_research.sources.documents.terms import (
    MAX_REPEATS,
    MAX_TERMS,
    Cover,
    match_expression,
    query_terms,
    stem,
)
from deep_research.sources.extract.document import Document
from deep_research.state.identity import sha256_hex

pytestmark = pytest.mark.timed

NASTY = [
    *('"', '""', '"""', "'", "''", "`", "*", "**", "a*", "*a", "^a", "a^2", "-a", "+a", "a-b"),
    *("a + b", "(", ")", "()", "(a", "a)", "{", "{a}", "[a]", "a:b", "title:x", "title : x"),
    *("body:", "rowid:1", "NEAR", "NEAR(a b)", "NEAR(a b, 5)", "AND", "OR", "NOT", "a AND"),
    *("AND a", "a OR OR b", "NOT a", "a NOT b", "a AND NOT", "\\", "%", "_", "__", "a_b", ";"),
    *("--", "/* x */", "'; DROP TABLE documents; --", '" OR 1=1 --', "a\x00b", "\x00", ",", "a, b"),
    *("?", "??1", ":a", "@a", "$a", "#a", "C++", "C#", ".NET", "node.js", "AT&T", "R&D", "100%"),
    *("3.14", "½", "\n", "\t", " ", "", "é", "É", "ﬁ", "日本", "日", "ي", "😀", "\ud800", "\u200b"),
    *("a" * 10_000, "a " * 10_000, "x'y\"z", "{title body}: a", "- {title}: a", "a . b"),
    *(
        "words MATCH 'a'",
        "́",
        "²",
        "_ _",
        "①",
        "ß",
        "İ",
    ),
]


def plain(text: str, title: str = "Title") -> Document:
    return Document(title=title, text=text, snapshot_hash=sha256_hex(text.encode()))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CorpusIndex]:
    made = CorpusIndex(tmp_path / "data" / "index.db", lock_timeout=300)
    yield made
    made.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CorpusIndex]:
    made = CorpusIndex(tmp_path_factory.mktemp("index") / "index.db")
    made.add(
        [
            ("solar.md", plain("Solar panels convert sunlight into electric power.", "Solar energy")),
            ("wind.md", plain("Wind turbines convert moving air into electric power.", "Wind energy")),
            ("code.md", plain("The snake_case_name option runs the café process.", "Options")),
            ("zh.md", plain("量子计算的优势是速度。", "量子")),
        ]
    )
    yield made
    made.close()


def refresh(index: CorpusIndex, root: Path, **options: int) -> IndexReport:
    with CorpusFolder(root) as folder:
        return index.refresh(folder, max_text_bytes=options.get("max_text_bytes", 2_000_000))


def paths(index: CorpusIndex, query: str, limit: int = 10) -> list[str]:
    return [hit.path for hit in index.search(query, limit)]


class TestQueries:
    @pytest.mark.parametrize("query", NASTY)
    def test_no_string_breaks_a_query(self, filled: CorpusIndex, query: str) -> None:
        assert isinstance(filled.search(query, 3), list)

    def test_there_are_enough_nasty_strings(self) -> None:
        assert len(set(NASTY)) >= 56

    @given(st.text(max_size=80))
    @settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_no_text_at_all_breaks_a_query(self, filled: CorpusIndex, query: str) -> None:
        filled.search(query, 2)
        terms = query_terms(query)
        assert len(terms) <= MAX_TERMS
        # What reaches MATCH is quoted words and OR, nothing else.
        assert all(set('"').isdisjoint(term) for term in terms)
        assert re.fullmatch(r'(?:"[^"]+"(?: \*)?(?: OR (?!\Z)|\Z))*', match_expression([*terms, "SEP"]))

    @given(st.text(alphabet=string.punctuation + " abNEARORANDNOT*", max_size=40))
    @settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_no_query_syntax_breaks_a_query(self, filled: CorpusIndex, query: str) -> None:
        filled.search(query, 2)

    def test_stop_words_are_left_out_unless_there_is_nothing_else(self) -> None:
        assert query_terms("What is the power of the sun?") == ["power", "sun"]
        assert query_terms("What is it?") == ["What", "is", "it"]

    def test_repeated_terms_are_kept_and_their_number_is_capped(self) -> None:
        assert query_terms("sun sun moon") == ["sun", "sun", "moon"]
        assert query_terms("sun " * 1_000 + "Moon") == ["sun"] * MAX_REPEATS + ["Moon"]
        assert len(query_terms(" ".join(f"w{n}" for n in range(300)))) == MAX_TERMS

    @pytest.mark.parametrize(
        ("query", "terms"),
        [
            ("the P-300", ["P", "300", "P_300"]),
            ("3-MA, IL-6r", ["3", "MA", "IL", "6r", "3_MA", "IL_6r"]),
            ("2026-05-06", ["2026", "05", "06"]),
            ("well-known x-1-y", ["well", "known", "x", "1", "y"]),
            ("日本-5", ["日本", "5"]),
        ],
    )
    def test_a_name_of_letters_and_digits_is_looked_for_as_a_whole_too(
        self, query: str, terms: list[str]
    ) -> None:
        assert query_terms(query) == terms

    def test_who_has_the_name_itself_goes_before_who_has_its_parts_more_often(
        self, index: CorpusIndex
    ) -> None:
        apart = [(f"{n}.md", plain(f"P of oil: the P takes 300. P 3{n}: item 300 of P.")) for n in range(300)]
        index.add([*apart, ("pump.md", plain(f"The P-300 takes oil. {'It stands in the hall. ' * 9}"))])
        assert paths(index, "Which oil does the P-300 take?")[0] == "pump.md"

    def test_an_empty_index_finds_nothing(self, index: CorpusIndex) -> None:
        index.add([])
        assert index.search("anything", 5) == []


class TestFinding:
    @pytest.mark.parametrize(
        ("query", "path"),
        [
            ("sunlight", "solar.md"),
            ("turbine moved", "wind.md"),
            ("SOLAR", "solar.md"),
            ("snake_case_name", "code.md"),
            ("cafe", "code.md"),
            ("量子计算", "zh.md"),
            ("优势是什么", "zh.md"),
        ],
    )
    def test_words_are_found_by_stem_case_accent_and_script(
        self, filled: CorpusIndex, query: str, path: str
    ) -> None:
        (best, *_) = filled.search(query, 5)
        assert best.path == path
        assert best.relevance > 0.3

    def test_a_hit_carries_the_document_and_the_spans_that_matched(self, index: CorpusIndex) -> None:
        filler = "\n\n".join(f"## Part {n}\n\n" + "Nothing of interest here. " * 30 for n in range(8))
        text = f"{filler}\n\n## Bees\n\nBees dance to tell where nectar is.\n\n{filler}"
        document = Document(title="T", text=text, published=date(2024, 1, 2), snapshot_hash="ab")
        index.add([("a.md", document), ("b.md", plain("bees"))])
        hit = next(hit for hit in index.search("nectar dance", 5) if hit.path == "a.md")
        assert (hit.title, hit.text, hit.published, hit.snapshot_hash) == ("T", text, date(2024, 1, 2), "ab")
        assert hit.content_hash == sha256_hex(text.encode())
        (span,) = hit.passages
        assert "Bees dance" in text[span.start : span.end]

    def test_a_document_is_one_hit_with_at_most_four_passages_best_first(self, index: CorpusIndex) -> None:
        parts = [f"## Part {n}\n\n" + "walrus " * (n + 1) + "word " * 200 for n in range(9)]
        index.add([("a.md", plain("\n\n".join(parts))), ("b.md", plain("no such animal"))])
        (hit,) = index.search("walrus", 5)
        assert len(hit.passages) == 4
        assert "Part 8" in hit.text[hit.passages[0].start : hit.passages[0].end]

    def test_enough_documents_are_found_though_one_has_many_passages(self, index: CorpusIndex) -> None:
        long = "\n\n".join(f"## Part {n}\n\nwalrus " + "word " * 200 for n in range(100))
        index.add(
            [("long.md", plain(long)), *((f"{n}.md", plain("walrus " + "other " * 300)) for n in range(3))]
        )
        assert sorted(paths(index, "walrus", 4)) == ["0.md", "1.md", "2.md", "long.md"]

    def test_the_title_counts_more_than_the_body(self, index: CorpusIndex) -> None:
        index.add([("a.md", plain("alpha beta", "gamma")), ("b.md", plain("gamma alpha", "beta"))])
        assert paths(index, "gamma") == ["a.md", "b.md"]

    def test_equal_documents_are_ordered_by_path_whatever_the_order_of_their_arrival(
        self, tmp_path: Path
    ) -> None:
        found = []
        for name, order in (("one.db", range(200)), ("two.db", reversed(range(200)))):
            index = CorpusIndex(tmp_path / name)
            index.add([(f"{n:03}.md", plain("the same walrus words")) for n in order])
            found.append([(hit.path, hit.passages) for hit in index.search("walrus", 5)])
            index.close()
        assert found[0] == found[1]
        assert [path for path, _ in found[0]] == ["000.md", "001.md", "002.md", "003.md", "004.md"]

    def test_in_a_small_corpus_a_word_of_half_the_documents_still_counts(self, index: CorpusIndex) -> None:
        index.add([("a.md", plain("an animal")), ("b.md", plain("the walrus with tusks " + "swims " * 50))])
        assert paths(index, "Which animal with tusks is the walrus?") == ["b.md", "a.md"]

    def test_very_common_words_do_not_hide_documents(self, index: CorpusIndex) -> None:
        index.add([(f"{n:04}.md", plain(f"common words number {n}")) for n in range(1500)])
        assert paths(index, "common 1234", 3)[0] == "1234.md"
        assert len(paths(index, "common 1234", 3)) == 3

    def test_excluded_paths_are_left_out_and_others_take_their_place(self, filled: CorpusIndex) -> None:
        hits = filled.search("electric power", 1, exclude=frozenset(["solar.md"]))
        assert [hit.path for hit in hits] == ["wind.md"]

    def test_adding_a_path_again_replaces_it(self, index: CorpusIndex) -> None:
        assert index.add([("a.md", plain("walrus")), ("b.md", plain("seal"))]).added == 2
        report = index.add([("a.md", plain("penguin"))])
        assert (report.added, report.changed, report.documents) == (0, 1, 2)
        assert paths(index, "walrus") == []
        assert paths(index, "penguin") == ["a.md"]

    def test_the_same_path_twice_in_one_go_is_one_document(self, index: CorpusIndex) -> None:
        report = index.add([("a.md", plain("walrus")), ("a.md", plain("penguin"))])
        assert report.documents == 1
        assert paths(index, "walrus penguin") == ["a.md"]

    def test_one_word_said_often_may_be_worth_more_than_two(self, index: CorpusIndex) -> None:
        both = [(f"both-{n:02}.md", plain(f"walrus {'and ' * (150 + n)} krill")) for n in range(40)]
        often = [(f"often-{n}.md", plain("walrus walrus walrus walrus")) for n in range(3)]
        index.add([*both, *often, *((f"none-{n:03}.md", plain("nothing of it")) for n in range(200))])
        assert paths(index, "walrus krill", 3) == ["often-0.md", "often-1.md", "often-2.md"]

    def test_what_is_asked_again_is_answered_alike_however_many_are_wanted(
        self, index: CorpusIndex, tmp_path: Path
    ) -> None:
        index.add([(f"{n:03}.md", plain(f"walrus {'ice ' * (n % 7)}")) for n in range(300)])
        widest = index.search("walrus ice", 30)
        other = CorpusIndex(tmp_path / "data" / "index.db")
        assert [other.search("walrus ice", n) for n in (3, 30, 9)] == [widest[:3], widest, widest[:9]]
        other.close()
        index.add([("new.md", plain("walrus ice ice ice"))])
        assert "new.md" in [hit.path for hit in index.search("walrus ice", 300)]

    def test_a_document_without_text_is_held_and_replaced(self, index: CorpusIndex) -> None:
        index.add([("a.md", plain("walrus"))])
        assert index.add([("empty.md", plain(""))]).documents == 2
        assert index.add([("empty.md", plain("penguin")), ("empty.md", plain("seal"))]).changed == 2
        assert paths(index, "penguin seal") == ["empty.md"]


class TestRelevance:
    def test_it_is_the_whole_when_all_telling_words_are_there(self, filled: CorpusIndex) -> None:
        assert filled.search("Do solar panels convert the sunlight?", 1)[0].relevance == pytest.approx(1)

    def test_rare_words_that_the_corpus_lacks_make_it_low(self, filled: CorpusIndex) -> None:
        assert filled.search("electric power of xylophones in Reykjavik", 1)[0].relevance < 0.4

    def test_words_of_title_and_heading_count(self, index: CorpusIndex) -> None:
        index.add(
            [("a.md", plain("## Install\n\n" + "Run the setup tool. " * 30, "Walrus")), ("b.md", plain("x"))]
        )
        assert index.search("install walrus setup", 1)[0].relevance == pytest.approx(1)

    def test_one_passage_has_to_cover_it(self, index: CorpusIndex) -> None:
        parts = [
            f"## {name}\n\n{name} " + "filler words " * 100 for name in ("walrus", "penguin", "seal", "otter")
        ]
        index.add([("a.md", plain("\n\n".join(parts)))])
        assert index.search("walrus penguin seal otter", 1)[0].relevance < 0.6

    def test_frequencies_are_counted_in_passages(self, filled: CorpusIndex) -> None:
        statistics = filled.statistics(["power", "turbines", "absent"])
        assert (statistics.total, dict(statistics.frequencies)) == (
            4,
            {"power": 2, "turbines": 1, "absent": 0},
        )

    def test_coverage_compares_stems_and_whole_words(self) -> None:
        weighted = {"running": 1.0, "Cafés": 1.0, "absent": 2.0}
        assert Cover(weighted).share("He runs a CAFE") == pytest.approx(0.5)
        assert Cover({"cat": 1.0}).share("concatenate category") == 0
        assert Cover({}).share("anything") == 0

    @given(st.dictionaries(st.text(max_size=8), st.floats(0, 10), max_size=6), st.text(max_size=60))
    @settings(deadline=None)
    def test_coverage_is_a_share(self, weighted: dict[str, float], text: str) -> None:
        assert 0 <= Cover(weighted).share(text) <= 1

    @pytest.mark.parametrize(
        "words", ["genealogy genealogical", "possible possibly", "relation relational relate"]
    )
    def test_stems_agree_with_those_of_the_index(self, words: str) -> None:
        with sqlite3.connect(":memory:") as connection:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(w, tokenize='porter unicode61')")
            connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
            connection.execute("INSERT INTO t VALUES (?)", (words,))
            kept = [term for (term,) in connection.execute("SELECT term FROM v ORDER BY offset")]
        connection.close()
        assert [stem(word) for word in words.split()] == kept


class TestRefresh:
    def test_only_what_changed_is_read_again(self, index: CorpusIndex, root: Path) -> None:
        for name in ("keep", "change", "touch", "remove"):
            (root / f"{name}.md").write_text(f"the {name} walrus")
        assert refresh(index, root) == IndexReport(documents=4, passages=4, added=4)
        read: list[str] = []

        class Watching(CorpusFolder):
            def read(self, names: tuple[str, ...]) -> object:  # type: ignore[override]
                read.append(names[-1])
                return super().read(names)

        (root / "change.md").write_text("the changed penguin")
        (root / "touch.md").touch()
        (root / "remove.md").unlink()
        (root / "new.md").write_text("the new seal")
        with Watching(root) as folder:
            report = index.refresh(folder, max_text_bytes=2_000_000)
        assert read == ["change.md", "new.md", "touch.md"]
        assert report == IndexReport(documents=4, passages=4, added=1, changed=1, removed=1)
        assert sorted(paths(index, "walrus penguin seal")) == ["change.md", "keep.md", "new.md", "touch.md"]
        assert paths(index, "remove") == []
        with Watching(root) as folder:
            assert index.refresh(folder, max_text_bytes=2_000_000) == IndexReport(documents=4, passages=4)
        assert len(read) == 3

    def test_after_many_changes_the_index_equals_a_fresh_one(
        self, index: CorpusIndex, root: Path, tmp_path: Path
    ) -> None:
        words = ["walrus", "penguin", "seal", "otter", "heron"]
        for round_ in range(6):
            for n in range(12):
                file = root / f"{n}.md"
                if (n + round_) % 4 == 0:
                    file.unlink(missing_ok=True)
                else:
                    file.write_text(
                        " ".join(words[(n * round_ + k) % 5] for k in range(n + 1)) + f" {round_}"
                    )
            refresh(index, root)
        fresh = CorpusIndex(tmp_path / "fresh.db")
        refresh(fresh, root)
        for query in (*words, "walrus otter", "5"):
            assert index.search(query, 20) == fresh.search(query, 20)
        fresh.close()

    def test_skipped_files_are_reported_each_time_but_not_read_each_time(
        self, index: CorpusIndex, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (root / "good.md").write_text("walrus")
        (root / "bad.md").write_bytes(b"\0\1")
        first = refresh(index, root)
        assert [(entry.path, entry.why) for entry in first.skipped] == [("bad.md", "binary data, not text")]
        monkeypatch.setattr(CorpusFolder, "read", lambda *_: pytest.fail("read again"))
        assert refresh(index, root) == IndexReport(documents=1, passages=1, skipped=first.skipped)

    def test_a_document_that_becomes_unreadable_leaves_and_may_come_back(
        self, index: CorpusIndex, root: Path
    ) -> None:
        (root / "a.md").write_text("walrus")
        (root / "b.md").write_text("seal")
        refresh(index, root)
        (root / "a.md").write_bytes(b"\0\1\2")
        report = refresh(index, root)
        assert (report.documents, report.removed, len(report.skipped)) == (1, 1, 1)
        assert paths(index, "walrus") == []
        (root / "a.md").write_text("walrus again")
        report = refresh(index, root)
        assert (report.documents, report.added, report.skipped) == (2, 1, ())

    def test_another_limit_of_text_is_applied_to_files_that_did_not_change(
        self, index: CorpusIndex, root: Path
    ) -> None:
        (root / "long.md").write_text("walrus " * 100)
        (root / "short.md").write_text("walrus")
        for limit, documents in ((100, 1), (1000, 2), (100, 1), (50, 1), (1000, 2)):
            report = refresh(index, root, max_text_bytes=limit)
            assert (report.documents, len(report.skipped)) == (documents, 2 - documents)

    def test_a_stopped_refresh_changes_nothing(self, index: CorpusIndex, root: Path) -> None:
        (root / "a.md").write_text("walrus")
        refresh(index, root)
        (root / "b.md").write_text("walrus")
        with CorpusFolder(root) as folder, pytest.raises(CorpusError, match="closed"):
            index.refresh(folder, max_text_bytes=100, stopped=lambda: True)
        assert paths(index, "walrus") == ["a.md"]


class TestTheFile:
    @pytest.mark.parametrize(
        "damage", [b"this is no database " * 500, b"", b"SQLite format 3\0" + b"\xff" * 5000]
    )
    def test_a_damaged_file_is_made_anew(self, tmp_path: Path, root: Path, damage: bytes) -> None:
        file = tmp_path / "index.db"
        (root / "a.md").write_text("walrus")
        file.write_bytes(damage)
        index = CorpusIndex(file)
        assert refresh(index, root).added == 1
        assert paths(index, "walrus") == ["a.md"]
        index.close()

    def test_pages_damaged_inside_are_found_and_the_file_is_made_anew(
        self, tmp_path: Path, root: Path
    ) -> None:
        for n in range(300):
            (root / f"{n}.md").write_text(f"walrus number {n} " * 20)
        index = CorpusIndex(tmp_path / "index.db")
        refresh(index, root)
        index.close()
        whole = (tmp_path / "index.db").read_bytes()
        (tmp_path / "index.db").write_bytes(whole[:4096] + b"\x55" * (len(whole) - 4096))
        index = CorpusIndex(tmp_path / "index.db")
        assert refresh(index, root).added == 300
        assert len(paths(index, "walrus", 5)) == 5
        index.close()

    def test_a_file_of_another_version_is_made_anew(self, tmp_path: Path, root: Path) -> None:
        (root / "a.md").write_text("walrus")
        connection = sqlite3.connect(tmp_path / "index.db")
        connection.execute("CREATE TABLE documents (x)")
        connection.execute("PRAGMA user_version = 99")
        connection.close()
        index = CorpusIndex(tmp_path / "index.db")
        assert refresh(index, root).added == 1
        index.close()

    def test_a_reader_follows_when_the_file_is_replaced(self, index: CorpusIndex, tmp_path: Path) -> None:
        index.add([("a.md", plain("walrus"))])
        assert paths(index, "walrus") == ["a.md"]
        other = CorpusIndex(tmp_path / "data" / "index.db")
        other.delete()
        other.add([("b.md", plain("walrus"))])
        other.close()
        assert paths(index, "walrus") == ["b.md"]

    def test_a_search_without_a_file_is_a_search_error(self, index: CorpusIndex) -> None:
        with pytest.raises(SearchError, match="cannot be read"):
            index.search("walrus", 1)

    def test_a_second_writer_waits_and_then_says_so(self, index: CorpusIndex, tmp_path: Path) -> None:
        other = CorpusIndex(tmp_path / "data" / "index.db", lock_timeout=0.05)

        def documents() -> Iterator[tuple[str, Document]]:
            with pytest.raises(CorpusError, match="Another process has been writing"):
                other.add([])
            yield "a.md", plain("walrus")

        with index._database.writing():
            list(documents())
        index.add([("a.md", plain("walrus"))])
        other.close()

    def test_a_folder_that_cannot_be_made_is_a_corpus_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        index = CorpusIndex(tmp_path / "file" / "index.db")
        with pytest.raises(CorpusError, match=r"cannot be written .* Name a writable data directory"):
            index.add([])
        index.close()

    @pytest.mark.parametrize("message", ["database or disk is full", "attempt to write a readonly database"])
    def test_an_error_of_the_database_does_not_escape(
        self, index: CorpusIndex, monkeypatch: pytest.MonkeyPatch, message: str
    ) -> None:
        def fail(*_: object) -> None:
            error = sqlite3.OperationalError(message)
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

        monkeypatch.setattr("deep_research.sources.documents.index.IndexWriter.put", fail)
        with pytest.raises(DeepResearchError, match=message):
            index.add([("a.md", plain("walrus"))])

    def test_foreign_schemas_are_not_trusted(self, index: CorpusIndex) -> None:
        index.add([])
        with index._database.reading() as connection:
            assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                connection.execute("DELETE FROM documents")
