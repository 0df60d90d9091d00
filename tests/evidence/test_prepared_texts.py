"""Prepared texts: few are held at a time, whatever is looked up in them."""

import pytest

from deep_research.phases.analysis import recorded_findings
from deep_research.phases.analysis.recorded_findings import WholeTexts
from deep_research.provenance.alignment import View
from deep_research.provenance.quotes import Prepared, QuoteFinder, T
from deep_research.state import Source


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
    monkeypatch.setattr(recorded_findings, "SourceText", lambda text, title: made.append(title) or object())
    texts = long_texts(8)
    sources = {name: Source(id=name, sub_query_id="q", title=name) for name in texts}
    wholes = WholeTexts(sources, texts)
    for name in texts:
        assert wholes.of(name) is wholes.of(name)
    assert made == list(texts)
    assert len(wholes._prepared) <= 5
