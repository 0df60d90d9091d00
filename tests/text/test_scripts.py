"""Scripts that part no words are read by pairs of characters; those that need joiners (U+200C, U+200D) keep them, and
what is written with and without them is found and verified as one."""

import asyncio
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import cases, listed

from deep_research.phases.gathering.queries import wordings
from deep_research.provenance.near_duplicates import copied, fingerprint
from deep_research.provenance.quotes import locate, with_end_mark
from deep_research.retrieval.ranking import TermScanner, matching
from deep_research.sources.documents import LocalCorpus
from deep_research.sources.documents.terms import Cover, query_terms
from deep_research.sources.search.base import SearchRequest
from deep_research.state.identity import finding_id
from deep_research.text.language import WORD as WORD_PATTERN
from deep_research.text.names import asked_names, key
from deep_research.text.plain import clean, unjoined
from deep_research.text.sentences import sentence_spans
from deep_research.text.unspaced import found_words, size
from deep_research.text.words import StemFinder, distinct_words, folded, stem, words

APART, JOIN = "\u200c", "\u200d"
PERSIAN = f"کشتی{APART}ها در بندر می{APART}مانند"  # the ships stay in the harbour
WORD, PLAIN_WORD = f"کشتی{APART}ها", "کشتیها"
BENGALI = f"র{JOIN}\u09cdযাব"  # with a joiner before the mark that takes the vowel
SINHALA = f"ශ\u0dca{JOIN}රී"
KANNADA = f"ಸಾಫ್ಟ್{APART}ವೇರ್"
MALAYALAM = f"അവന\u0d4d{JOIN} വന്നു"  # at the end of a word


@pytest.mark.parametrize("text", [PERSIAN, BENGALI, SINHALA, KANNADA, MALAYALAM])
def test_joiners_stay_where_letters_take_another_form_for_them(text: str) -> None:
    assert clean(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"har{APART}bour{JOIN}s", "harbours"),  # no script that has use for them
        (f"1{APART}2 و{APART} {APART}ب", "12 و ب"),  # no letter on one side
        (f"کشتی{APART * 9}ها", WORD),  # one does what nine do
        (f"کشتی\u200b{APART}\u2060ها", WORD),
        (f"ک{JOIN}ش", "کش"),
        (f"क{APART}ख क{JOIN}ख", "कख कख"),  # where no vowel is taken
        (f"क\u094d{APART} ख", "क\u094d ख"),
        (f"👩{JOIN}🚀 {APART}{JOIN * 40}", "👩🚀 "),
    ],
)
def test_joiners_that_nobody_sees_are_removed(text: str, kept: str) -> None:
    assert clean(text) == kept


@given(st.text(st.sampled_from(f"aک1\u064e\u094dक {APART}{JOIN}\u200b"), max_size=30))
def test_a_clean_text_is_clean_and_has_at_most_one_joiner_for_each_letter_or_mark(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert 2 * (len(once) - len(unjoined(once))) <= len(once)
    assert not any(pair in once for pair in (APART * 2, APART + JOIN, JOIN + APART, JOIN * 2))


def test_a_word_with_a_joiner_is_one_word_and_the_same_without() -> None:
    assert words(PERSIAN) == [WORD, "در", "بندر", f"می{APART}مانند"]
    assert folded(WORD) == PLAIN_WORD
    assert stem(WORD) == stem(PLAIN_WORD)
    assert distinct_words(PERSIAN) == distinct_words(unjoined(PERSIAN))
    assert key(WORD) == key(PLAIN_WORD)
    assert finding_id(PERSIAN) == finding_id(unjoined(PERSIAN))


@pytest.mark.parametrize("asked", [WORD, PLAIN_WORD])
@pytest.mark.parametrize("text", [PERSIAN, unjoined(PERSIAN)])
def test_what_is_asked_is_found_in_a_text_with_and_without_joiners(asked: str, text: str) -> None:
    text = f"بندر. {text}"
    assert StemFinder([stem(asked)])(text) == {stem(asked)}
    assert list(TermScanner([asked]).hits(text)) == [(6, stem(asked))]
    assert matching(asked, text)[1] == 1.0
    assert Cover(dict.fromkeys(query_terms(asked), 1.0)).share(text) == 1.0


@pytest.mark.parametrize("quote", [PERSIAN, unjoined(PERSIAN), f"کشتی{APART}ها  در بندر میمانند"])
@pytest.mark.parametrize("source", [PERSIAN, unjoined(PERSIAN)])
def test_a_quote_is_verified_with_and_without_joiners(quote: str, source: str) -> None:
    text = f"بندر. {source}."
    found = locate(quote, text, source_id="s", content_hash="h")
    assert found is not None
    assert found.quote == source == text[found.start : found.end]

    assert locate(APART, text, source_id="s", content_hash="h") is None


def test_a_copy_without_joiners_is_a_copy() -> None:
    text = " ".join(
        f"{PERSIAN} {unicodedata.normalize('NFC', chr(0x628 + n % 20) * 3)}{n}" for n in range(60)
    )
    assert copied(fingerprint(text), fingerprint(unjoined(text)))


@pytest.mark.parametrize("asked", [WORD, PLAIN_WORD])
def test_a_corpus_finds_documents_with_and_without_joiners_and_forgets_them(
    tmp_path: Path, asked: str
) -> None:
    texts = {"with.txt": PERSIAN, "without.txt": unjoined(PERSIAN), "other.txt": "The wall is of granite."}
    root = tmp_path / "docs"
    root.mkdir()
    for name, text in texts.items():
        (root / name).write_text(f"{text}\n")
    corpus = LocalCorpus(root, data_dir=tmp_path / "data")

    async def found() -> dict[str, str | None]:
        results = await corpus.search(SearchRequest(query=asked, limit=5))
        return {result.address: result.text for result in results}

    try:
        del texts["other.txt"]
        assert asyncio.run(found()) == texts
        (root / "with.txt").write_text("Of something else.\n")
        corpus.prepare(max_age=-1)
        assert set(asyncio.run(found())) == {"without.txt"}
    finally:
        asyncio.run(corpus.aclose())


@pytest.mark.parametrize(
    ("text", "words"),
    cases("""
        The tower (1871) is tall. | 5
        灯台です | 2
        高さは30メートルです。 | 6
        이 등대는 1871년에 세워졌습니다. | 7
        "" | 0
    """),
)
def test_two_characters_count_as_a_word(text: str, words: str) -> None:
    assert size(text) == int(words)


@pytest.mark.parametrize(
    ("text", "found"),
    cases(
        """
        the old tower | the / old / tower
        JR東日本の2号車 | JR / 東日 / 日本 / 本の / 2 / 号車
        灯台は古いです | 灯台 / 台は / は古 / 古い
        いつですか | いつ / つで / です / すか
        หอสูง | หอ / อสู / สูง
        塔 | 塔
        """,
        str,
        listed,
    ),
)
def test_words_are_pairs_of_neighbours_but_for_what_only_joins(text: str, found: list[str]) -> None:
    assert found_words(text, WORD_PATTERN) == found


@pytest.mark.parametrize(
    ("question", "names"),
    cases(
        """
        when was the tower of Oban built? | oban
        Los Angeles was founded by whom? | los angeles
        когда был построен маяк? | ""
        Когда Иванов построил маяк? | иванов
        ¿Cuándo se construyó el faro? | ""
        등대는 언제 세워졌습니까? | ""
        灯台はいつ建てられましたか? | ""
        「白い塔」はいつ建てられましたか? | 白い塔
        """,
        str,
        listed,
    ),
)
def test_only_a_capital_or_quotation_marks_make_a_name(question: str, names: list[str]) -> None:
    assert asked_names(question) == names


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Python インストール", "Pythonインストールは簡単です。"),
        ("ruby 고양이", "Ruby는 고양이입니다."),
        ("สูง", "า" * 65_535 + "สูงมาก"),  # across the places where long texts are cut
    ],
)
def test_words_are_found_where_they_are_written_against_others(query: str, text: str) -> None:
    found, share = matching(query, text)
    assert found
    assert share == 1.0


@pytest.mark.parametrize("mark", ["。", "។", "။", "։", "।", "｡"])
def test_every_script_ends_its_sentences(mark: str) -> None:
    text = f"塔高{mark}灯亮{mark}"
    assert len(list(sentence_spans(text, 0, len(text)))) == 2
    assert with_end_mark(text) == text


def test_a_query_with_a_foreign_word_is_put_in_fewer_words_all_the_same() -> None:
    assert wordings("When was the Great Wall of China (長城) built by the Ming emperors?")
