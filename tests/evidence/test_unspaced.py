"""Scripts that part no words are read by pairs of characters."""

import pytest

from deep_research.phases.gathering.queries import wordings
from deep_research.provenance.quotes import readable, with_end_mark
from deep_research.retrieval.ranking import matching
from deep_research.text.language import WORD, vocabulary
from deep_research.text.names import asked_names
from deep_research.text.sentences import sentence_spans
from deep_research.text.unspaced import found_words, size


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The tower (1871) is tall.", 5),
        ("灯台です", 2),
        ("高さは30メートルです。", 6),  # nine characters, and the number
        ("이 등대는 1871년에 세워졌습니다.", 7),
        ("", 0),
    ],
)
def test_two_characters_count_as_a_word(text: str, words: int) -> None:
    assert size(text) == words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the old tower", ["the", "old", "tower"]),
        ("JR東日本の2号車", ["JR", "東日", "日本", "本の", "2", "号車"]),
        ("灯台は古いです", ["灯台", "台は", "は古", "古い"]),  # "いで" and "です" only join
        ("いつですか", ["いつ", "つで", "です", "すか"]),  # there is nothing else
        ("หอสูง", ["หอ", "อสู", "สูง"]),  # a letter goes with its marks
        ("塔", ["塔"]),
    ],
)
def test_words_are_pairs_of_neighbours(text: str, found: list[str]) -> None:
    assert found_words(text, WORD) == found


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("when was the tower of Oban built?", ["oban"]),
        ("Los Angeles was founded by whom?", ["los angeles"]),  # begins with a small word of another language
        ("когда был построен маяк?", []),
        ("Когда Иванов построил маяк?", ["иванов"]),
        ("πότε χτίστηκε ο φάρος;", []),
        ("¿Cuándo se construyó el faro?", []),
        ("kdy byl šikmý maják postaven?", []),
        ("등대는 언제 세워졌습니까?", []),
        ("灯台はいつ建てられましたか?", []),
        ("「白い塔」はいつ建てられましたか?", ["白い塔"]),
        ("متى بنيت المنارة؟", []),
    ],
)
def test_only_a_capital_or_quotation_marks_make_a_name(question: str, names: list[str]) -> None:
    assert asked_names(question) == names


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("es", "¿Cuándo fue construido el faro?", ["constru", "far"]),
        ("ru", "Какова высота башни?", ["высот", "башн"]),
        ("cs", "kdy byla věž", ["kdi", "byla", "vez"]),  # no stems are known: as English
    ],
)
def test_a_language_without_a_table_has_its_stems_and_function_words(
    language: str, text: str, terms: list[str]
) -> None:
    assert vocabulary(language).terms(text) == terms


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


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("Posted by Ann Hale\n\nThe ferry runs.", "Posted by Ann Hale. The ferry runs."),
        ("Item (a)\n\nNext to it.", "Item (a). Next to it."),
        ("The length of the\n\npier.", "The length of the pier."),  # a page ended in between
        ("It runs.\n\nThen it stops.", "It runs. Then it stops."),
    ],
)
def test_a_paragraph_that_no_mark_ends_is_ended(text: str, reads: str) -> None:
    assert readable(text) == reads
