"""Texts that do not say in which encoding they are: those of other scripts become what they say, those of Latin letters
are taken for Western, and what is no text is refused as ever."""

from __future__ import annotations

import random
import time

import pytest

from deep_research.sources.extract.plaintext import UnreadableError, decode, guessed
from deep_research.sources.extract.readers import read

RUSSIAN = (
    "Рыбаки подтверждают её слова: в прошлом году уловы сократились почти вдвое. «Мы не ожидали, что изменения "
    "пойдут так быстро», — говорит руководитель работы Анна Сергеева.\n"
)
GREEK = (
    "Οι ερευνητές του πανεπιστημίου ανακοίνωσαν χθες ότι η στάθμη της λίμνης έχει πέσει κατά δύο μέτρα μέσα σε δέκα "
    "χρόνια. Οι κάτοικοι ζητούν μέτρα από το υπουργείο.\n"
)
JAPANESE = (
    "研究所の発表によると、昨年の夏の平均気温は過去百年で最も高かった。農家の人々は水不足に悩み、収穫量は半分ほどに減った"
    "という。データはWebサイトで公開されている。\n"
)
CHINESE = (
    "研究人员昨天在北京发表报告说，过去三十年里，这条河的水量减少了将近四成。政府计划在未来五年投入二十亿元，用于改善灌溉"
    "系统和保护森林。\n"
)
TAIWANESE = (
    "研究人員昨天在臺北發表報告說，過去三十年裡，這條河的水量減少了將近四成。政府計劃在未來五年投入二十億元，用於改善灌溉"
    "系統和保護森林。\n"
)
KOREAN = (
    "연구진은 어제 서울에서 열린 회의에서 지난 삼십 년 동안 강의 수량이 사십 퍼센트 가까이 줄었다고 발표했다. "
    "농민들은 물이 덜 필요한 작물로 바꿀 수밖에 없다고 말한다.\n"
)
WESTERN = (
    "The bridge would cost £4.2 million – “far more than we had hoped.” It’s the third time. A café closed at 30°.\n",
    "Die neue Brücke wird „deutlich mehr kosten, als wir hofften“. Größere Schäden gab es früher auch, heißt es.\n",
    "L’été dernier, « bien plus que ce que nous espérions », a déclaré une élue. Où ça ? À la forêt, déjà, même.\n",
    "¿Quién lo pagará? El próximo año empezarán las obras, «según señaló» también una concejala de Málaga.\n",
    "As obras começarão no próximo verão e não deverão acabar antes da eleição. Também a educação terá de esperar.\n",
    "Borgarstjórnin tilkynnti á mánudag að nýja brúin myndi kosta meira en þetta, og íbúarnir eru ekki ánægðir.\n",
    "Även skolan måste flytta, både från öster och väster. Caféen ved åen er allerede lukket, og børnene græder.\n",
    "ÉTÉ À L’ÉCOLE ÉLÉMENTAIRE : ÉGALITÉ, LIBERTÉ, FRATERNITÉ. DÉJÀ ÂGÉ, L’ÉLÈVE PRÉFÉRAIT ÊTRE ÉCOUTÉ.\n",
    "José Núñez;Málaga\nBjörn Åström;Göteborg\nFrançois Lefèvre;Nîmes\nJürgen Groß;Köln\nSøren Kjær;Århus\n",
    "© 2019 ACME® Ltd. Model X™ – 20 °C ± 2 °C, 5 µm, ½ inch × ¼ inch, § 12, • first • second • third … “end”\n",
    "Tea,£2.50 ± £1\nCoffee,£3.10 ± £2\nCake,£4 ± £1\nSoup,£5.75 ± £2\nBread,£1.20 ± £1\nJuice,£2 ± £1\nWater,£1\n",
)


@pytest.mark.parametrize("times", [1, 12, 300])
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((RUSSIAN, encoding) for encoding in ("cp1251", "koi8-r", "iso8859-5", "cp866")),
        *((GREEK, encoding) for encoding in ("cp1253", "iso8859-7")),
        *((JAPANESE, encoding) for encoding in ("shift_jis", "euc-jp")),
        (CHINESE, "gb18030"),
        (TAIWANESE, "big5"),
        (KOREAN, "euc-kr"),
    ],
)
def test_a_text_is_read_in_the_encoding_it_is_in(text: str, encoding: str, times: int) -> None:
    raw = text.encode(encoding, "ignore") * times
    assert decode(raw) == raw.decode(encoding)


@pytest.mark.parametrize("text", WESTERN)
@pytest.mark.parametrize("times", [1, 30])
def test_a_western_text_stays_what_it_was(text: str, times: int) -> None:
    assert decode(text.encode("cp1252") * times) == text * times


def test_a_word_of_another_script_tells_nothing_and_a_text_cut_within_a_sign_is_read() -> None:
    raw = ("Name;City\nAnna;" + "Москва\n").encode("cp1251")
    assert decode(raw) == raw.decode("cp1252")
    raw = (CHINESE.strip() * 400).encode("gb18030")
    for cut in range(4):
        assert decode(raw[: len(raw) - cut]).startswith(CHINESE.strip() * 390)


@pytest.mark.parametrize("name", ["undefined", "idna", "hex", "no-such-thing"])
def test_what_is_declared_and_is_no_encoding_is_passed_over(name: str) -> None:
    assert decode("Café on the pier".encode("cp1252"), declared=name) == "Café on the pier"


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a.txt", RUSSIAN * 3),
        ("a.md", f"# Отчёт\n\n{RUSSIAN * 3}"),
        ("a.csv", "Имя,Город\nАнна Сергеева,Москва\nПётр Иванов,Казань\nОльга Смирнова,Новосибирск\n"),
        ("a.html", f"<html><body><h1>Отчёт</h1>{f'<p class=text>{RUSSIAN}</p>' * 8}</body></html>"),
    ],
)
def test_each_kind_of_text_is_read_so(name: str, document: str) -> None:
    found = read(document.encode("cp1251"), name=name)
    assert "Анна Сергеева" in found.text
    assert found.language == "ru" or name == "a.csv"


def test_signs_by_chance_are_refused_as_ever() -> None:
    chance = random.Random(7)
    for size in (30, 60, 200, 2_000, 40_000):
        for first in (1, 128):
            raw = bytes(chance.choices(range(first, 256), k=size))
            assert guessed(raw) is None or size == 30
            if b"\x81" in raw and b"\x9d" in raw:
                with pytest.raises(UnreadableError):
                    decode(raw)
    with pytest.raises(UnreadableError):
        read(bytes(chance.choices(range(1, 256), k=4_000)), name="a.txt")


@pytest.mark.timed
@pytest.mark.parametrize(
    "raw",
    [b"x" * 2_000_000 + b"\xe9", b"<" * 2_000_000 + b"\xe9", b"\xe9" * 2_000_000, b"<a \xe9\n" * 400_000],
)
def test_telling_costs_little_whatever_the_text(raw: bytes) -> None:
    guessed(b"\xe9" * 30)  # what is loaded when first used
    begun = time.process_time()
    guessed(raw)
    assert time.process_time() - begun < 1
