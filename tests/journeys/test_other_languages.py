"""A question in any language over texts in it is answered without a model."""

from pathlib import Path

import pytest

from deep_research import DeepResearch

TEXTS = {
    "es": "El faro de la isla fue construido en 1871. La torre mide 30 metros. El farero vive solo.",
    "ru": "Маяк на острове был построен в 1871 году. Высота башни составляет 30 метров. Смотритель живёт один.",
    "el": "Ο φάρος του νησιού χτίστηκε το 1871. Ο πύργος έχει ύψος 30 μέτρα. Ο φύλακας ζει μόνος.",
    "ar": "بنيت المنارة في عام 1871. يبلغ ارتفاع البرج 30 مترا. يعيش الحارس وحده.",
    "zh": "岛上的灯塔建于1871年。塔高30米。守灯人独自居住。",
    "ja": "この灯台は1871年に建てられました。塔の高さは30メートルです。守人は一人で住んでいます。",
    "ko": "이 등대는 1871년에 세워졌습니다. 탑의 높이는 30미터입니다. 등대지기는 혼자 삽니다.",
    "tr": "İzmir kulesi 1871 yılında yapıldı. Kulenin boyu 30 metredir. Bekçi kulede yalnız yaşar.",
    "th": "ประภาคารสร้างขึ้นในปี 1871\n\nหอคอยมีความสูง 30 เมตร\n\nผู้ดูแลอาศัยอยู่คนเดียว",
}


@pytest.mark.parametrize(
    ("language", "question", "year"),
    [
        ("es", "¿Cuándo fue construido el faro?", True),
        ("es", "¿Cuánto mide la torre?", False),
        ("ru", "Когда был построен маяк?", True),
        ("ru", "Какова высота башни?", False),
        ("el", "Πότε χτίστηκε ο φάρος;", True),
        ("ar", "متى بنيت المنارة؟", True),
        ("zh", "灯塔建于哪一年？", True),
        ("ja", "灯台はいつ建てられましたか?", True),
        ("ja", "塔の高さはどのくらいですか？", False),
        ("ko", "등대는 언제 세워졌습니까?", True),
        ("ko", "탑의 높이는?", False),
        ("th", "ประภาคารสร้างขึ้นเมื่อใด", True),
        ("tr", "Hangi yılda İzmir kulesi yapıldı ve ne için?", True),
    ],
)
def test_a_question_is_answered_in_the_language_of_its_texts(
    tmp_path: Path, language: str, question: str, year: bool
) -> None:
    (tmp_path / "page.md").write_text(f"# I\n\n{TEXTS[language]}\n", encoding="utf-8")
    with DeepResearch(corpus=[tmp_path], store="memory", data_dir=tmp_path / "home") as research:
        result = research.run(question)
    _, _, answer = (result.report or "").partition("## Answer")
    assert ("1871" if year else "30") in answer.split("\n\n")[1]
    assert "Nothing was found" not in (result.report or "")


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("北塔建于1871年。南塔建于1902年。东塔建于1950年。", "南塔建于哪一年？", "1902"),  # short sentences
        ("Java语言于1996年由美国公司发布。Ruby语言由日本人发明。", "请问Java语言是哪一年发布的？", "1996"),
        (
            "港では1902年に埠頭が完成しました。灯台は1950年に建てられました。",
            "港では1902年に何が完成しましたか？",
            "埠頭",
        ),
        ("Ο μύλος χτίστηκε το 1902. Ο πύργος χτίστηκε το 1871.", "Πότε χτίστηκε ο μύλος;", "1902"),
        ("Ο μύλος χτίστηκε το 1902. Ο πύργος χτίστηκε το 1871.", "Πότε χτίστηκε ο πύργος;", "1871"),
    ],
)
def test_the_sentence_that_answers_comes_first(tmp_path: Path, text: str, question: str, answer: str) -> None:
    (tmp_path / "page.md").write_text(f"# I\n\n{text}\n", encoding="utf-8")
    with DeepResearch(corpus=[tmp_path], store="memory", data_dir=tmp_path / "home") as research:
        result = research.run(question)
    _, _, told = (result.report or "").partition("## Answer")
    assert answer in told.split("\n\n")[1][:40]


@pytest.mark.parametrize(
    "question",
    [
        "Wann wurde der Pier in Oban gebaut?",
        "when was teh pier at oban bilt",  # misspelt
        "When was the pier at Oban built?",
    ],
)
def test_words_that_no_source_has_keep_no_answer_back(tmp_path: Path, question: str) -> None:
    (tmp_path / "pier.md").write_text(
        "# The pier at Oban\n\nThe pier at Oban was built in 1871 by Ann Hale. It is 90 metres long.\n\n"
        "## Fees\n\nA small boat pays 4 pounds a night. The keeper of the pier has the keys of the house.\n"
    )
    with DeepResearch(corpus=[tmp_path], store="memory", data_dir=tmp_path / "home") as research:
        result = research.run(question)
    _, _, answer = (result.report or "").partition("## Answer")
    assert "1871" in answer.split("\n\n")[1]
