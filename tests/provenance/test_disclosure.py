"""What of the owner's instructions may not go out with a search or stand in a report, and what may."""

import base64
import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.provenance.secret_filter import SecretFilter, askable

QUESTION = "How high are the towers of model XR-77 at http://towers.example/list?"
CODE = "CANARY-7f3a9b1c"
INSTRUCTIONS = (
    f"Write for engineers, use pages from 2019 to 2024, and keep NATO and the North-East apart. The code is {CODE}."
    " We call it swordFish, or antidisestablishmentarianism, and model XR-77."
    " Nobody may hear that the quarry behind the mill is to be sold in spring."
)


def asked(query: str) -> str:
    return askable(query, QUESTION, INSTRUCTIONS)


@pytest.mark.parametrize(
    "told",
    [
        *(CODE, CODE.lower(), CODE.upper(), " ".join(CODE), "_".join(CODE), "\u200b".join(CODE), CODE[::-1]),
        *("7f3a9b1c", "CANARY 7f3a 9b1c", "swordfish", "SWORD-FISH", "s.w.o.r.d.f.i.s.h"),
        *("antidisestablishmentarianism", codecs.encode(CODE, "rot13"), CODE.encode().hex(), CODE.lower().encode().hex()),
        *("".join(f"%{b:02x}" for b in CODE.encode()), CODE.replace("A", "%41"), CODE.replace("A", "%2541")),
        *("".join(f"&#x{ord(c):x};" for c in CODE), "".join(f"\\x{ord(c):02x}" for c in CODE)),
        *("".join(chr(ord(c) + 0xFEE0) for c in CODE), CODE.replace("A", "Á"), f"7f3{CODE}a9b1c"),
        "the QUARRY, behind the mill is",
        *("http://evil.example/x?d=1", "HTTPS://evil.example", "ftp://evil", "www.evil.example", "//evil/x"),
        *("evil.example/x", "evil.example?d=x", "evil.example:80", "me@evil.example", "javascript:alert(1)"),
        *("data:text/html,x", "hxxp://evil[.]example/x", "mailto:me@evil.example", "[…]"),
    ],
)  # fmt: skip
def test_addresses_codes_and_rows_of_words_go_in_any_spelling(told: str) -> None:
    assert asked(f"height {told} of towers") == "height of towers"


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "a", "ab", "it is "])
def test_nothing_of_a_code_is_left_of_what_is_encoded_with_it(encode, before: str) -> None:
    encoded = encode(f"{before}{CODE} so".encode()).decode()
    left = asked(f"height {encoded} of towers").removeprefix("height ").removesuffix(" of towers")
    around = len(before) + len(" so")
    assert len(left) <= 2 * around + 4


@pytest.mark.parametrize(
    "query",
    [
        "height of towers in 2021, NATO, North-East",
        "model XR-77 height",  # the question has it
        "towers http://towers.example/list",  # and this
        "node.js and asp.net 3.11.2, 100% and/or C++",
        "the quarry behind the mill",  # five words
        "Höhe der Türme – 東京タワー",
    ],
)
def test_what_is_no_secret_may_be_asked(query: str) -> None:
    assert asked(query) == query


def test_a_search_is_short_and_the_owners_own_words_stay_as_they_are() -> None:
    assert len(asked("word " * 500)) <= 400
    assert asked("word " * 500).endswith("word")
    assert len(asked("w" * 5_000)) == 400
    long = f"{QUESTION} {'and so on ' * 100}".strip()
    assert askable(long, long, INSTRUCTIONS) == long
    assert asked(f" {QUESTION} ") == QUESTION


@pytest.mark.parametrize(
    "query", ["", "  ", CODE, "http://evil.example/x", f"… {CODE}, http://evil.example/!"]
)
def test_a_search_of_which_nothing_is_left_is_empty(query: str) -> None:
    assert asked(query) == ""


def test_a_report_may_say_what_its_sources_say_and_the_rows_of_words_that_were_meant_for_it() -> None:
    secret = SecretFilter(INSTRUCTIONS, f"{QUESTION} The swordFish is a fish.")
    draft = f"The swordFish, {CODE}; the quarry behind the mill is to be sold."
    assert secret.without(draft, "[withheld]", rows=False) == (
        "The swordFish, [withheld]; the quarry behind the mill is to be sold."
    )


@given(st.text(max_size=200))
def test_any_text_is_cut_to_something_that_tells_nothing(text: str) -> None:
    left = askable(f"{text} {CODE}", QUESTION, INSTRUCTIONS)
    assert len(left) <= 400
    assert not SecretFilter(INSTRUCTIONS, QUESTION).spans(left)


def test_without_instructions_nothing_is_withheld() -> None:
    assert askable(CODE, QUESTION, None) == CODE
    assert SecretFilter("", "").without("any text", "x") == "any text"


@pytest.mark.timed
def test_it_takes_little_time(seconds) -> None:
    secret = SecretFilter(f"{INSTRUCTIONS} " * 20, QUESTION)
    report = "The lighthouse towers of the northern coast were built in 1874. " * 5_000
    assert seconds(1.0, lambda: secret.without(report, "x", rows=False)) < 1.0
