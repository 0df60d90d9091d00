"""Quotes are found as models give them, and stored as their source has them; where the text around them points to for
more. The figures by kind: ``pytest -n 0 -s -m sweep tests/provenance/test_quotes.py``."""

import re
from collections import Counter

import pytest
import quote_slips
from tables import cases

from deep_research.phases.analysis import recorded_findings
from deep_research.phases.analysis.recorded_findings import WholeTexts
from deep_research.provenance.alignment import MAX_PLACES, View, small_words
from deep_research.provenance.quotes import (
    AROUND_CHARS,
    NEAR_CHARS,
    Prepared,
    QuoteFinder,
    T,
    locate,
    references,
)
from deep_research.state import Span
from deep_research.text.language import vocabularies
from deep_research.text.words import NEGATIONS

PLAIN = re.compile(r"\w+")
SAMPLE_AND_ALL = [3, pytest.param(quote_slips.A_KIND, marks=pytest.mark.sweep)]


def is_stored_as_its_source_has_it(slip):
    found = QuoteFinder(slip.texts).find(slip.quote, slip.source)
    if found is None or found[0] != slip.holder:
        return False
    text = slip.texts[slip.holder]
    spans = [text[span.start : span.end] for span in found[1]]
    return (
        all(any(_is_in(words, span) for span in spans) for words in slip.words)
        and len(" ".join(spans)) <= 1.2 * len(slip.quote) + 600
    )


def _is_in(words, span):
    """Whether the words stand in the span, small ones at their ends aside."""
    wanted, held = PLAIN.findall(words.lower()), PLAIN.findall(span.lower())
    return any(held[n : n + len(wanted) - 2] == wanted[1:-1] for n in range(len(held))) or held == wanted


@pytest.mark.parametrize("each", SAMPLE_AND_ALL)
def test_quotes_that_deviate_in_a_usual_way_are_found_and_stored_as_the_sources_own_words(each):
    slips = list(quote_slips.deviating(each))
    missed = [slip for slip in slips if not is_stored_as_its_source_has_it(slip)]
    told = Counter(slip.kind for slip in missed)
    print(f"{len(slips) - len(missed)} of {len(slips)} found; missed: {dict(told)}")
    assert len(missed) <= 0.03 * len(slips), [(s.kind, s.quote, s.words) for s in missed]


@pytest.mark.parametrize("count", [25, pytest.param(quote_slips.INVENTED, marks=pytest.mark.sweep)])
def test_quotes_that_are_invented_are_found_in_no_source(count):
    slips = list(quote_slips.invented(count))
    finder = QuoteFinder({name: text for slip in slips for name, text in slip.texts.items()})
    found = [slip for slip in slips if finder.find(slip.quote, slip.source)]
    print(f"{len(found)} of {len(slips)} found: {dict(Counter(slip.kind for slip in found))}")
    assert not found, [(s.kind, s.quote) for s in found]


def located(quote, text, **more):
    found = locate(quote, text, source_id="a", content_hash="h", **more)
    assert found is None or text[found.start : found.end] == found.quote
    return found.quote if found else None


@pytest.mark.parametrize(
    ("quote", "stored", "text"),
    cases("""
        the tower is 47 m high => **the tower** is | 47 m high => Here **the tower** is | 47 m high.
        The Tower is high. => the tower is high => It is told that the tower is high, and white.
        It costs 1000 dollars a day => It costs 1,000 dollars a day => It costs 1,000 dollars a day.
        the light was seen => The light[3] was seen => The light[3] was seen by all.
        see the manual now => see the [manual](https://a.org/b) now => Do see the [manual](https://a.org/b) now.
        read the manual => read the [manual](https://example.org) => To read the [manual](https://example.org).
        灯塔建于1843年高36米 => 灯塔建于1843年，高36米 => 这座灯塔建于1843年，高36米。
        दीपस्तंभ बहुत ऊँचा है। => **दीपस्तंभ** बहुत ऊँचा है। => यह **दीपस्तंभ** बहुत ऊँचा है।
        call `open()` before reading it => call open() before reading it => First call open() before reading it.
        built in 1811 => built in 1811 => It was built in 1811, on a reef.
        It   stands on a  reef => It stands on a reef => It stands on a reef there.
        the keeper's 'log' => the keeper’s ‘log’ => So says the keeper’s ‘log’ of 1798.
        from 1798-1811 => from 1798–1811 => They came from 1798–1811.
    """, bar=" => "),
)  # fmt: skip
def test_what_is_stored_is_the_span_of_the_source(quote, stored, text):
    assert located(quote, text) == stored
    broken = text.replace(" on a", "\non a")
    assert located(quote, broken) == stored.replace(" on a", "\non a")


def test_the_place_after_the_hint_is_preferred():
    found = locate("tower", "tower and tower", source_id="a", content_hash="h", hint=3)
    assert found.start == 10


@pytest.mark.parametrize(
    ("quote", "text"),
    cases("""
        The lamp was lit. | The lamp was not lit.
        La lampe est allumée. | La lampe n'est pas allumée.
        Der Turm ist im Jahr 1900 gebaut. | Der Turm ist nicht im Jahr 1900 gebaut.
        It fell to -5 degrees | It fell to 5 degrees today.
        It fell by 5 % in May | It fell by 5 in May.
        It costs $5 a day | It costs €5 a day.
        It grew by .5 points | It grew by 5 points.
        Version 3.14 has it | Version 3.13 has it.
        The library is written in C++ | The library is written in C.
        Rates rose to 5 points | Rates rose by 5 points.
        where x != y holds | where x == y holds
        A law of the US forbids it | A law of the forbids it
        The tower was closed before the war | The tower was closed after the war.
        It is closed only in winter | It is closed in winter.
        Keepers lived there … and died | Keepers lived there for long. They left and died.
        ताला खुला है | ताली खुला है
        *** | There is nothing here.
        "" | Anything
    """),
)
def test_what_says_something_else_is_not_found(quote, text):
    assert located(quote, text) is None


def test_parts_that_are_near_are_one_span_and_those_that_are_far_are_two():
    first, second = "The keepers lived in the tower.", "A storm broke the lamp in 1890."
    quote = f"{first} [...] {second}"
    for between, pieces in (("They were three. ", 1), ("The sea was heavy. " * (NEAR_CHARS // 18), 2)):
        text = f"{first} {between}{second} All was dark."
        source, spans = QuoteFinder({"a": text}).find(quote, "a")
        assert source == "a"
        assert len(spans) == pieces
        said = [text[span.start : span.end] for span in spans]
        assert said == ([text[: text.index(" All")]] if pieces == 1 else [first, second])


def test_two_parts_of_two_sources_or_in_another_order_are_no_quote():
    first, second = "The keepers lived in the tower.", "A storm broke the lamp in 1890."
    for texts in ({"a": first, "b": second}, {"a": f"{second} {first}"}):
        assert QuoteFinder(texts).find(f"{first} … {second}", "a") is None


def test_the_source_that_was_named_is_preferred_even_where_another_has_the_very_words():
    texts = {"a": "It is said: the tower, is white.", "b": "The tower is white."}
    assert QuoteFinder(texts).find("The tower is white.", "a")[0] == "a"
    assert QuoteFinder(texts).find("The tower is white.", "b")[0] == "b"
    assert QuoteFinder(texts).find("It is said: the tower", "b")[0] == "a"


def test_no_small_word_denies_limits_or_compares():
    for language, words in small_words().items():
        marks = vocabularies()[language].marks if language in vocabularies() else None
        assert not words & NEGATIONS
        if marks is not None:
            assert not words & (marks.denying | marks.hedging | marks.poles.keys())


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("the keeper saw the keeper", "the keeper saw of the keeper " * 3_000),
        ("a b " * 2_000 + "z", "a b " * 50_000),
        ("](" * 5_000, "](" * 100_000),
        ("[…] one two three " * 3, "one two three " * 50_000),
        ("the of " * 5_000 + "lamp burned", "the of " * 50_000 + "lamp burned"),
        ("<b" * 5_000 + " lamp", "<b" * 100_000),
        ("1.1" * 5_000, "1.1" * 100_000),
    ],
)
def test_hostile_quotes_and_texts_are_read_once_and_tried_a_bounded_number_of_times(quote, text, monkeypatch):
    tried = []
    aligned = View._aligned
    monkeypatch.setattr(View, "_aligned", lambda *args: tried.append(1) or aligned(*args))
    located(quote, text)
    assert len(tried) <= 12 * MAX_PLACES


@pytest.mark.parametrize(
    ("text", "target"),
    cases("""
        It is off by default (see Section 20.4.4). | Section 20.4.4
        This is described in Chapter 25 at length. | Chapter 25
        See also CREATE INDEX and the rest. | CREATE INDEX
        For details see [Vacuuming](routine-vacuuming.html). | routine-vacuuming.html
        See the “Large Objects” page. | Large Objects
        Näheres siehe Abschnitt 3.2. | Abschnitt 3.2
        I see Paris, and we see it every day. | ""
        The section has 12 pages. | ""
    """),
)
def test_what_a_text_points_to_is_named(text, target):
    found = references("src-1", text, [Span(start=0, end=5)])
    assert [r.target for r in found] == ([target] if target else [])
    assert all(r.source_id == "src-1" and r.text for r in found)


def test_only_what_stands_near_a_passage_counts_and_each_target_once():
    text = "See Section 1.1. " + "x " * AROUND_CHARS + "The lock. See Section 2.2. And see Section 2.2."
    at = text.index("The lock")
    found = references("src-1", text, [Span(start=at, end=at + 8), Span(start=at, end=at + 4)])
    assert [r.target for r in found] == ["Section 2.2"]


# Few texts are prepared at a time


def test_a_text_is_prepared_once_while_it_is_kept_and_the_one_that_was_used_longest_ago_goes_first():
    made = []
    prepared = Prepared(10)

    def use(key, size=4):
        return prepared.of(key, key * size, lambda text: made.append(text) or text)

    assert [use(key) for key in "abab"] == ["aaaa", "bbbb"] * 2
    assert made == ["aaaa", "bbbb"]
    use("a")
    use("c")  # no room for three: b was used before a
    assert len(prepared) == 2
    use("a")
    assert made == ["aaaa", "bbbb", "cccc"]
    use("b")
    assert made == ["aaaa", "bbbb", "cccc", "bbbb"]


def test_a_text_longer_than_all_that_may_be_kept_is_kept_alone():
    prepared = Prepared(10)
    for key, size in (("a", 4), ("b", 30), ("c", 4)):
        assert prepared.of(key, key * size, len) == size
        assert len(prepared) == 1


class Few(Prepared[T]):
    """Five of the texts below."""

    def __init__(self):
        super().__init__(200_000)


@pytest.fixture
def held(monkeypatch):
    """How many views of long texts were made, and the most that were alive at a time."""
    counts = {"made": 0, "alive": 0, "most": 0}

    class Counted(View):
        def __init__(self, text, language=""):
            super().__init__(text, language)
            self.counted = len(text) > 1_000
            if self.counted:
                counts["made"] += 1
                counts["alive"] += 1
                counts["most"] = max(counts["most"], counts["alive"])

        def __del__(self):
            counts["alive"] -= getattr(self, "counted", False)

    monkeypatch.setattr("deep_research.provenance.quotes.View", Counted)
    monkeypatch.setattr("deep_research.provenance.quotes.Prepared", Few)
    return counts


def long_texts(count):
    """Texts of 36,000 characters, each with a sentence of its own."""
    filler = "The tower stands by the harbour and its keeper writes of it. " * 590
    return {
        f"S{n}": f"{filler}Keeper number {n} lit lamp {n + 1_000} of *granite*. {filler[:100]}"
        for n in range(count)
    }


def test_many_quotes_are_found_in_many_texts_while_few_of_them_are_prepared(held):
    texts = long_texts(12)
    quotes = [
        (f"keeper number {n} lit lamp {n + 1_000} of granite", f"S{(n + shift) % 12}", 0)
        for shift in (0, 1, 0)
        for n in range(12)
    ]
    quotes.append(("nobody ever said these words of any tower", "S0", 0))
    apart = [QuoteFinder(texts).find(*quote) for quote in quotes[::6]]
    held |= {"made": 0, "most": held["alive"]}
    finder = QuoteFinder(texts)
    finder.together(quotes)
    found = [finder.find(*quote) for quote in quotes]
    assert [name for name, _ in found[:-1]] == [f"S{n}" for n in range(12)] * 3
    assert found[-1] is None
    assert finder.missed == 1
    assert found[::6] == apart
    assert held["made"] <= 2 * len(texts)
    assert held["most"] <= 5


def test_whole_texts_of_a_batch_are_prepared_a_few_at_a_time(monkeypatch):
    made = []
    monkeypatch.setattr(recorded_findings, "Prepared", Few)
    monkeypatch.setattr(recorded_findings, "EvidenceText", lambda text, title: made.append(title) or object())
    texts = long_texts(8)
    wholes = WholeTexts({name: name for name in texts}, texts)
    for name in texts:
        assert wholes.of(name) is wholes.of(name)
    assert made == list(texts)
    assert len(wholes._prepared) <= 5
