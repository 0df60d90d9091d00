"""Telling languages apart, and the stems of their words."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import cases, listed

from deep_research.retrieval.parsed_question import parse_question
from deep_research.text.language import (
    ENGLISH,
    STEMMED,
    language_by_script,
    language_of,
    stem_in,
    stemmed,
    stems_in,
    vocabularies,
    vocabulary,
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


def test_each_language_has_a_sample_and_an_algorithm_for_stems() -> None:
    assert set(SAMPLES) == {ENGLISH, *STEMMED}
    assert all(stem_in(language, "harbour1") for language in STEMMED)


@pytest.mark.parametrize(
    "text", ["", "walrus", "1, 2, 3", "量子计算的优势是速度。", "Die Hard", "La Paz", "x = f(y)"]
)
def test_what_is_not_clear_is_the_default(text: str) -> None:
    assert language_of(text) == ENGLISH
    assert language_of(text, default="") == ""


@pytest.mark.parametrize(
    ("language", "text"),
    cases(f"""
        en | El Festín de Satanás is a 1958 Argentine film.
        en | De Voortrekkers is a film of 1916.
        en | La colpa di una madre is a 1952 Italian melodrama film.
        en | What is the meaning of das Haus?
        de | Er las The Lord of the Rings. {SAMPLES["de"]} {SAMPLES["de"]}
        da | jeg har ikke en som kan
    """),  # Norwegian has all of the last words too
)
def test_names_of_another_language_do_not_make_a_text_foreign(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("language", "one", "other"),
    cases("""
        de | häuser | haus
        fr | maisons | maison
        es | casas | casa
        it | giornali | giornale
        ru | книги | книга
        sv | husen | hus
        fi | taloja | talo
    """),
)
def test_forms_of_a_word_of_a_language_have_one_stem(language: str, one: str, other: str) -> None:
    assert stem_in(language, one) == stem_in(language, other)


def test_stems_leave_out_function_words_numbers_and_single_letters() -> None:
    assert stems_in("de", "Die 3 Häuser, und ein Haus: X.") == ["haus", "haus"]


@given(st.text(max_size=300))
def test_any_text_has_a_known_language_and_stems_in_each(text: str) -> None:
    language = language_of(text)
    assert language in (ENGLISH, *STEMMED)
    if language != ENGLISH:
        assert all(stems_in(language, text))


@pytest.mark.parametrize(
    ("language", "text"),
    cases("""
        zh | 灯塔建于1841年，塔高五十六米。See RFC 2616.
        ja | 灯台は1841年に建てられ、高さは五十六メートルである。
        ko | 등대는 1841년에 세워졌으며 높이는 56미터이다.
        th | ประภาคารสร้างขึ้นใน พ.ศ. 2384 และสูง 56 เมตร
        el | Ο φάρος χτίστηκε το 1841 και έχει ύψος 56 μέτρα.
        he | המגדלור נבנה בשנת 1841 וגובהו 56 מטרים.
        ar | بنيت المنارة سنة 1841 ويبلغ ارتفاعها 56 مترا.
        ka | შუქურა აშენდა 1841 წელს.
        "" | ""
        "" | 1841, 56 m
        "" | The word 灯塔 is Chinese for a lighthouse.
        "" | The angle α is smaller than β.
        "" | این فانوس دریایی در سال ۱۸۴۱ ساخته شد و گچ دارد.
        "" | यह प्रकाशस्तंभ 1841 में बना था।
    """),
)
def test_a_script_that_only_one_language_is_written_in_says_which_it_is(language: str, text: str) -> None:
    assert language_by_script(text) == language
    assert language_by_script(text * 100) == language


@pytest.mark.parametrize(
    ("question", "language", "expects"),
    cases("""
        Warum brennt es? | de | reason
        Wo steht er? | de | place
        Wann wurde der Verein gegründet? | de | date
        Pourquoi est-il rouge ? | fr | reason
        Combien coûte le billet ? | fr | number
        Quand ferme-t-il ? | fr | date
        Where does de Gaulle lie? | en | place
        What is Die Hard? | en | definition
    """),
)
def test_a_short_question_is_read_by_the_words_that_open_it(
    question: str, language: str, expects: str
) -> None:
    read = parse_question(question)
    assert (read.language, read.expects) == (language, expects)
    assert not {"warum", "wann", "wo", "pourquoi", "combien", "quand", "where", "what"} & set(read.terms)


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    cases(
        """
        es | ¿Cuándo fue construido el faro? | constru / far
        ru | Какова высота башни? | высот / башн
        cs | kdy byla věž | kdi / byla / vez
        """,  # no stems of Czech are known: as English
        str,
        str,
        listed,
    ),
)
def test_a_language_without_a_table_has_its_stems_and_function_words(
    language: str, text: str, terms: list[str]
) -> None:
    assert vocabulary(language).terms(text) == terms


@pytest.mark.parametrize("language", sorted(vocabularies()))
def test_every_language_has_a_whole_table(language: str) -> None:
    words = vocabulary(language)
    assert {"number", "date", "person", "place", "reason", "manner", "definition", "list"} <= set(words.opens)
    assert {"reason", "definition", "date"} <= set(words.cues)
    assert not any(opening != opening.casefold() for every in words.opens.values() for opening in every)
    assert words.function
    assert words.leaning
    assert words.numerals
    assert words.function.isdisjoint(words.short), "no abbreviation is a function word"
    assert words.short.keys().isdisjoint(words.short.values())


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
