"""Telling languages apart, and the stems of their words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.retrieval.parsed_question import parse_question
from deep_research.text.language import (
    ENGLISH,
    STEMMED,
    language_by_script,
    language_of,
    stem_in,
    stemmed,
    stems_in,
)

SAMPLES = {
    "en": "The keeper of the lighthouse wrote down the weather every day, and his daughter helped him with it.",
    "de": "Der Wärter des Leuchtturms schrieb jeden Tag das Wetter auf, und seine Tochter half ihm dabei.",
    "fr": "Le gardien du phare notait le temps chaque jour, et sa fille était là pour l'aider dans ce travail.",
    "es": "El guarda del faro apuntaba el tiempo todos los días, y su hija le ayudaba con el trabajo.",
    "it": "Il guardiano del faro annotava il tempo ogni giorno, e sua figlia lo aiutava con il lavoro.",
    "pt": "O guarda do farol anotava o tempo todos os dias, e a sua filha ajudava-o no trabalho com os livros.",
    "nl": "De wachter van de vuurtoren schreef elke dag het weer op, en zijn dochter hielp hem met het werk.",
    "sv": "Vaktaren på fyren skrev upp vädret varje dag, och hans dotter hjälpte till med det som var kvar.",
    "da": "Fyrpasseren skrev vejret op hver dag, og hans datter hjalp ham med det, når der var meget at lave.",
    "no": "Fyrvokteren skrev opp været hver dag, og datteren hans hjalp til når det var mye å gjøre.",
    "fi": "Majakanvartija kirjoitti sään muistiin joka päivä, ja hän sai apua, kun työtä oli paljon.",
    "ru": "Смотритель маяка каждый день записывал погоду, и его дочь помогала ему, когда было много работы.",
    "hu": "A világítótorony őre minden nap leírta az időjárást, és a lánya is segített, ha sok volt a munka.",
    "ro": "Paznicul farului nota vremea în fiecare zi, iar fiica lui îl ajuta când era mult de lucru cu cărțile.",
    "tr": "Deniz feneri bekçisi her gün havayı not etti ve kızı ona çok iş olduğu için yardım etti, bu da iyi oldu.",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_a_text_is_in_the_language_whose_function_words_it_has(language: str) -> None:
    assert language_of(SAMPLES[language]) == language
    assert language_of(SAMPLES[language] * 100) == language


def test_there_is_a_sample_of_each_language() -> None:
    assert set(SAMPLES) == {ENGLISH, *STEMMED}


@pytest.mark.parametrize(
    "text", ["", "walrus", "1, 2, 3", "量子计算的优势是速度。", "Die Hard", "La Paz", "x = f(y)"]
)
def test_what_is_not_clear_is_the_default(text: str) -> None:
    assert language_of(text) == ENGLISH
    assert language_of(text, default="") == ""


@pytest.mark.parametrize(
    "text",
    [
        "El Festín de Satanás is a 1958 Argentine film.",
        "De Voortrekkers is a film of 1916.",
        "La colpa di una madre is a 1952 Italian melodrama film.",
        "What is the meaning of das Haus?",
    ],
)
def test_foreign_names_do_not_make_a_text_foreign(text: str) -> None:
    assert language_of(text) == ENGLISH


def test_an_english_title_does_not_make_a_german_text_english() -> None:
    text = f"Er las The Lord of the Rings. {SAMPLES['de']} {SAMPLES['de']}"
    assert language_of(text) == "de"


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        *(("de", "häuser", "haus"), ("fr", "maisons", "maison"), ("es", "casas", "casa")),
        *(
            ("it", "giornali", "giornale"),
            ("ru", "книги", "книга"),
            ("sv", "husen", "hus"),
            ("fi", "taloja", "talo"),
        ),
    ],
)
def test_forms_of_a_word_have_one_stem(language: str, one: str, other: str) -> None:
    assert stem_in(language, one) == stem_in(language, other)


def test_stems_leave_out_function_words_numbers_and_single_letters() -> None:
    assert stems_in("de", "Die 3 Häuser, und ein Haus: X.") == ["haus", "haus"]


@given(st.text(max_size=300))
def test_any_text_has_a_known_language_and_stems_in_each(text: str) -> None:
    language = language_of(text)
    assert language in (ENGLISH, *STEMMED)
    if language != ENGLISH:
        assert all(stems_in(language, text))


def test_of_languages_with_equally_many_words_it_is_always_the_same() -> None:
    assert language_of("jeg har ikke en som kan") == "da"  # Norwegian has all of these words too


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "灯塔建于1841年，塔高五十六米。See RFC 2616."),
        ("ja", "灯台は1841年に建てられ、高さは五十六メートルである。"),
        ("ko", "등대는 1841년에 세워졌으며 높이는 56미터이다."),
        ("th", "ประภาคารสร้างขึ้นใน พ.ศ. 2384 และสูง 56 เมตร"),
        ("el", "Ο φάρος χτίστηκε το 1841 και έχει ύψος 56 μέτρα."),
        ("he", "המגדלור נבנה בשנת 1841 וגובהו 56 מטרים."),
        ("ar", "بنيت المنارة سنة 1841 ويبلغ ارتفاعها 56 مترا."),
        ("ka", "შუქურა აშენდა 1841 წელს."),
    ],
)
def test_a_script_that_one_language_is_written_in_says_which_it_is(language: str, text: str) -> None:
    assert language_by_script(text) == language
    assert language_by_script(text * 100) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1841, 56 m",
        "The word 灯塔 is Chinese for a lighthouse.",
        "The angle α is smaller than β.",
        "این فانوس دریایی در سال ۱۸۴۱ ساخته شد و گچ دارد.",
        "यह प्रकाशस्तंभ 1841 में बना था।",
    ],
    ids=["nothing", "figures", "a word of it", "letters of formulas", "Persian", "Hindi or Marathi"],
)
def test_a_script_of_several_languages_says_nothing(text: str) -> None:
    assert language_by_script(text) == ""


@pytest.mark.parametrize(
    ("question", "language", "expects"),
    [
        ("Warum brennt es?", "de", "reason"),
        ("Wo steht er?", "de", "place"),
        ("Wann wurde der Verein gegründet?", "de", "date"),
        ("Pourquoi est-il rouge ?", "fr", "reason"),
        ("Combien coûte le billet ?", "fr", "number"),
        ("Quand ferme-t-il ?", "fr", "date"),
        ("Where does de Gaulle lie?", "en", "place"),
        ("What is Die Hard?", "en", "definition"),
    ],
)
def test_a_short_question_is_read_by_the_words_that_open_it(
    question: str, language: str, expects: str
) -> None:
    read = parse_question(question)
    assert (read.language, read.expects) == (language, expects)
    assert not {"warum", "wann", "wo", "pourquoi", "combien", "quand", "where", "what"} & set(read.terms)


@pytest.mark.parametrize("language", STEMMED)
def test_every_language_that_is_said_to_be_stemmed_has_an_algorithm(language: str) -> None:
    assert stem_in(language, "harbour1")


@pytest.mark.parametrize(
    ("word", "stem"), [("lighthouses", "lighthous"), ("", ""), ("\ud800lamps", "\ud800lamps")]
)
def test_any_word_has_a_stem(word: str, stem: str) -> None:
    assert stemmed("english", word) == stem


def test_threads_do_not_get_each_others_stems() -> None:
    words = [f"{'b' * n}uilding" for n in range(1, 200)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda word: stemmed("english", word), words * 20))
    assert found == [word.removesuffix("ing") for word in words] * 20
