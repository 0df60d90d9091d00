"""Names in the index: what a corpus says of a question, and documents that found ones name."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep_research.errors import SearchError
from deep_research.sources.documents import CorpusIndex, Document, LocalCorpus
from deep_research.sources.search import SearchRequest

FILM = Document(title="Harbour", text="Harbour is a film of 1950. Its director was Ann Mole, who kept bees.")
PERSON = Document(title="Ann Mole", text="Ann Mole (1901-1980) was born in Ghent, in a house by the water.")
OTHERS = [
    (
        f"other-{n}",
        Document(title=f"Ship {n}", text=f"The ship {n} was born by the sea and the director left."),
    )
    for n in range(250)
]
QUESTION = "Where was the director of the film Harbour born?"


@pytest.fixture
def index(tmp_path: Path):
    made = CorpusIndex(tmp_path / "index.db")
    made.add([("film", FILM), ("person", PERSON), *OTHERS])
    yield made
    made.close()


def test_a_document_that_a_found_one_names_comes_along_when_it_has_what_is_lacking(index):
    hits = index.search(QUESTION, 4, linked=2)
    (named,) = [hit for hit in hits if hit.path == "person"]
    assert named.via == "Harbour"
    assert len(hits) == 4
    assert "person" not in [hit.path for hit in index.search(QUESTION, 4)]


def test_a_text_without_capitals_brings_along_what_it_names(tmp_path: Path):
    small = [
        (path, Document(title=each.title.lower(), text=each.text.lower()))
        for path, each in [("film", FILM), ("person", PERSON), *OTHERS]
    ]
    made = CorpusIndex(tmp_path / "small.db")
    made.add(small)
    assert [hit.via for hit in made.search(QUESTION, 4, linked=2) if hit.path == "person"] == ["harbour"]
    made.close()


def test_a_named_document_with_nothing_of_what_is_lacking_stays_away(index):
    index.add([("person", Document(title="Ann Mole", text="Ann Mole wrote letters."))])
    assert "person" not in [hit.path for hit in index.search(QUESTION, 4, linked=2)]


def test_what_is_excluded_is_not_brought_along(index):
    hits = index.search(QUESTION, 4, linked=2, exclude=frozenset(["person"]))
    assert "person" not in [hit.path for hit in hits]


def test_a_hit_tells_the_names_in_what_was_matched_and_how_many_bear_them(index):
    (film, *_) = index.search("film Harbour 1950", 1, linked=1)
    mentions = {mention.name: mention for mention in film.mentions}
    assert mentions["ann mole"].bearers == 1
    assert 0.0 < mentions["ann mole"].weight <= 1.0


def test_a_removed_document_bears_its_name_no_more(index):
    index.add([("person", Document(title="Bob Hare", text="Bob Hare was born in Bruges."))])
    (film, *_) = index.search("film Harbour 1950", 1, linked=1)
    assert {m.name: m.bearers for m in film.mentions}["ann mole"] == 0


def test_a_first_look_tells_names_in_any_case_telling_words_and_titles(index):
    look = index.look("where was ann mole born, and by which sea?")
    assert [(name.name, name.bearers) for name in look.names] == [("ann mole", 1)]
    assert look.words["mole"] > look.words["sea"]
    assert "Ann Mole" in look.titles
    assert look.passages == 252


def test_a_first_look_does_not_see_what_is_excluded(index):
    assert "Ann Mole" not in index.look("ann mole", exclude=frozenset(["person"])).titles


def test_first_looks_at_several_folders_are_one(tmp_path: Path):
    for name, title in (("one", "Ann Mole"), ("two", "Bob Hare")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {title}\n\n{title} lived by the sea.\n", "utf-8")
    corpus = LocalCorpus([tmp_path / "one", tmp_path / "two"], data_dir=tmp_path / "data")
    look = asyncio.run(corpus.look("Were Ann Mole and Bob Hare friends?"))
    assert {name.name for name in look.names} == {"ann mole", "bob hare"}
    assert set(look.titles) == {"Ann Mole", "Bob Hare"}
    asyncio.run(corpus.aclose())


def test_known_addresses_come_again_and_take_no_place(tmp_path: Path):
    for n in range(4):
        (tmp_path / f"{n}.md").write_text(f"# Part {n}\n\nThe lamp of part {n} burns.\n", "utf-8")
    corpus = LocalCorpus(tmp_path, data_dir=tmp_path / "data")
    known = frozenset(["0.md", "1.md"])
    found = asyncio.run(corpus.search(SearchRequest(query="lamp", limit=2, known_addresses=known)))
    assert {r.address for r in found} == {"0.md", "1.md", "2.md", "3.md"}
    asyncio.run(corpus.aclose())


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=120), st.text(max_size=120), st.text(max_size=60))
def test_any_texts_and_question_can_be_looked_at(tmp_path_factory, title, text, question):
    index = CorpusIndex(tmp_path_factory.mktemp("index") / "i.db")
    index.add([("a", Document(title=title, text=text)), ("b", PERSON)])
    assert all(0.0 <= mention.weight <= 1.0 for mention in index.look(question).names)
    index.search(question, 3, linked=2)
    index.add([("a", Document(title="changed", text=text))])
    index.search(question, 3, linked=2)
    index.close()


def test_an_index_that_was_made_anew_leads_to_its_own_documents(tmp_path: Path) -> None:
    """By another process, say, while this one keeps what it knew of the old one."""
    path = tmp_path / "index.db"
    index = CorpusIndex(path)
    person = Document(title="Ann Mole", text="Ann Mole, 1901 to 1980, was born in Ghent.")
    ordinary = [(at, Document(title=one.title, text="The sea, and who is born there.")) for at, one in OTHERS]
    for order in (
        [("film", FILM), ("person", person), *ordinary],
        [("film", FILM), *ordinary, ("person", person)],
        [*ordinary, ("person", person), ("film", FILM)],
    ):
        index.delete()
        index.add(order)
        linked = [hit.path for hit in index.search(QUESTION, 5, linked=2) if hit.via]
        assert linked == ["person"]
    index.close()


def test_an_index_that_is_being_made_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    writer, reader = CorpusIndex(tmp_path / "index.db"), CorpusIndex(tmp_path / "index.db")
    with writer._database.writing(), pytest.raises(SearchError):
        reader.search(QUESTION, 5)
    writer.add([("film", FILM)])
    assert [hit.path for hit in reader.search(QUESTION, 5)] == ["film"]
    writer.close()
    reader.close()


@pytest.mark.parametrize(("failures", "thrown_away"), [(1, 0), (2, 1)])
def test_an_index_is_thrown_away_only_when_bringing_it_up_to_date_does_not_mend_it(
    failures: int, thrown_away: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "film.md").write_text(FILM.text, "utf-8")
    corpus = LocalCorpus(tmp_path / "docs", data_dir=tmp_path / "data")
    search, delete = CorpusIndex.search, CorpusIndex.delete
    left, deleted = [SearchError("It is being made.", damaged=True)] * failures, []

    def failing(self, *args, **kwargs):
        if left:
            raise left.pop()
        return search(self, *args, **kwargs)

    monkeypatch.setattr(CorpusIndex, "search", failing)
    monkeypatch.setattr(CorpusIndex, "delete", lambda self: deleted.append(self) or delete(self))
    found = asyncio.run(corpus.search(SearchRequest(query="Harbour", limit=3)))
    assert [result.address for result in found] == ["film.md"]
    assert len(deleted) == thrown_away
    asyncio.run(corpus.aclose())


def test_documents_that_are_named_keep_their_places_beside_known_ones(index: CorpusIndex) -> None:
    alone = [hit.path for hit in index.search(QUESTION, 4, linked=1)]
    known = frozenset(alone[:2])
    beside = index.search(QUESTION, 8, linked=1, new=4, known_paths=known)
    new = [hit.path for hit in beside if hit.path not in known]
    assert {hit.path for hit in beside} >= known
    assert (len(new), new[-1]) == (4, "person")
