"""Files that are linked as one manual, by next and previous pages and an index, speak with one voice."""

import asyncio

import pytest

from deep_research.provenance.independence import voices
from deep_research.provenance.near_duplicates import copied, fingerprint, versions
from deep_research.sources.documents.corpus import LocalCorpus
from deep_research.sources.documents.index_writer import manual_of
from deep_research.sources.extract.messages import document_fields, document_of
from deep_research.sources.extract.metadata import folder_of
from deep_research.sources.extract.texts import read_document
from deep_research.sources.search import SearchRequest
from deep_research.state import Source, SourceKind

PAGES = {
    "links of the head": ('<link rel="prev" href="a.html"><link rel="next" href="c.html">', "."),
    "with an index above": ("<link rel=next href=c.html><link rel='index' href='../index.html'>", ".."),
    "links in words": ('<a href="b.htm">Next</a> <a href="../../start.htm">Contents</a>', "../.."),
    "an index alone": ('<link rel="index" href="index.html">', ""),
    "pages of a site": ('<a rel="next" href="https://ok.example/b.html">Next</a>', ""),
    "a place within the page": ('<a rel="next" href="#b">Next</a>', ""),
    "a link in a text": ('The <a href="b.html">next chapter of the story</a>', ""),
    "none": ("<p>Words.</p>", ""),
}


@pytest.mark.parametrize(("page", "folder"), PAGES.values(), ids=PAGES)
def test_a_page_tells_the_folder_of_its_manual(page, folder):
    assert folder_of(page) == folder


@pytest.mark.parametrize(
    ("path", "folder", "manual"),
    [
        ("a/b.html", ".", "a"),
        ("a/c/b.html", "..", "a"),
        ("b.html", ".", "."),
        ("b.html", "..", ""),
        ("b.html", "", ""),
    ],
)
def test_a_manual_lies_among_the_documents(path, folder, manual):
    assert manual_of(path, folder) == manual


def page(said, links):
    return f"<html><head><title>{said}</title>{links}</head><body><p>{said} stands on the Orm reef.</p></body></html>"


def test_files_of_one_manual_are_one_voice_and_others_each_their_own(tmp_path):
    follows = '<link rel="next" href="x.html">'
    files = {
        "manual/one.html": page("The tower", follows),
        "manual/two.html": page("The lamp", follows),
        "other/one.html": page("The bell", follows),
        "alone.html": page("The keeper", ""),
        "apart.html": page("The boat", ""),
    }
    for name, text in files.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(text)
    corpus = LocalCorpus([tmp_path / "docs"], data_dir=tmp_path / "data")

    async def found():
        return await corpus.search(SearchRequest(query="Orm reef", limit=10))

    results = asyncio.run(found())
    sources = [
        Source(
            id=f"src-{n}",
            sub_query_id="s",
            title=each.title,
            url=each.address,
            kind=SourceKind.DOCUMENT,
            metadata=each.metadata,
        )
        for n, each in enumerate(results)
    ]
    groups = {frozenset(source.title for source in group) for group in voices(sources)}
    assert groups == {
        frozenset({"The tower", "The lamp"}),
        frozenset({"The bell"}),
        frozenset({"The keeper"}),
        frozenset({"The boat"}),
    }


def test_versions_of_a_document_are_told_from_copies_also_where_children_read_them():
    letters = "abcdefghijklmnopqrstuvwxyz"
    lines = [
        f"The {a}{b}orn tower of the {b}{a}ef had {len(letters)} keepers and a lamp."
        for a in letters
        for b in "aeiou"
    ]
    older, newer = "\n".join(lines), "\n".join(lines).replace("26 keepers", "31 keepers")
    one, other = (
        document_of(document_fields(read_document(text.encode(), "a.txt"))) for text in (older, newer)
    )
    assert one.fingerprint == fingerprint(older)
    assert versions(one.fingerprint, other.fingerprint)
    assert not copied(one.fingerprint, other.fingerprint)
