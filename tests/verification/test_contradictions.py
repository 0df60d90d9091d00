"""What findings say differently, with all that say it; and of true sentences, that nothing is made of them."""

import os
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from evals.baselines import PlainSearch
from evals.corruptions import Names, corrupted, is_drawn
from hash_seeds import printed
from tables import cases, listed
from witnesses import finding, source

from deep_research.state import SourceQuality
from deep_research.state.identity import sha256_hex
from deep_research.text.passages import sentences
from deep_research.text.plain import clean
from deep_research.text.statements import MAX_VALUES, sides
from deep_research.verification import comparison
from deep_research.verification import contradictions as contradictions_module
from deep_research.verification.comparison import compared
from deep_research.verification.contradictions import MAX_COMPARED, contradictions

CORPUS = Path(__file__).parents[2] / "docs" / "examples" / "corpus"


def told(contradiction):
    return {side.wording for side in contradiction.sides}


@pytest.mark.parametrize(
    ("one", "other", "words"),
    cases(
        """
        The tower is 900 feet (274 m) tall. | The tower is 901 feet (275 m) tall. | 900 feet / 901 feet
        The station of Mole has 84 MW. | Mole's station has a capacity of 90 MW. | 84 MW / 90 MW
        Packing changes memory by +15-20 %. | Packing changes memory by -15-20 %. | +15-20 % / -15-20 %
        Memory savings of Mole are 35 %. | Mole has memory savings of 10-20 %. | 35 % / 10-20 %
        The Hare company opened the plant in 1950. | The plant was opened by Hare in 1951. | 1950 / 1951
        Mole is made up of 13 counties. | Mole is made up of 10 counties. | 13 counties / 10 counties
        Mole went out on 31 March 1998. | Mole went out on 31 May 1998. | 31 March 1998 / 31 May 1998
        The trip to Mole takes 20 seconds. | The trip to Mole takes 20 minutes. | 20 seconds / 20 minutes
        At least 60 % of the people of Mole perished. | At least 50 % of the people of Mole perished. | 60 % / 50 %
        Die Kugel von Mole wiegt 12 Tonnen. | Die Kugel von Mole wiegt 13 Tonnen. | 12 Tonnen / 13 Tonnen
        The lighthouse tower is 198 feet tall. | The tower is 208 feet tall. | 198 feet / 208 feet
        The tower of Mole is 57 m tall. | The Mole tower is 61 metres tall. | 57 m / 61 metres
        The tower of Mole is 57 m tall. | The Mole tower is 220 ft tall. | 57 m / 220 ft
        The tower of Mole cost $2,000. | The Mole tower cost $3,000. | $2,000 / $3,000
        The lamp of Mole was lit in 1811. | In 1812 the lamp of Mole was first lit. | 1811 / 1812
        """,
        str,
        str,
        listed,
    ),
)
def test_figures_in_which_findings_differ_are_told_as_they_are_written(one, other, words):
    findings = [finding(one), finding(other, sources=("b",))]
    (conflict,) = contradictions(findings)
    assert told(conflict) == set(words)
    assert " against ".join(words) in conflict.description
    assert conflict.finding_ids == tuple(each.id for each in findings)


def test_a_yes_and_a_no_are_a_conflict():
    paid = (
        finding("The keeper of Mole was paid."),
        finding("The keeper of Mole was not paid.", sources=("b",)),
    )
    (conflict,) = contradictions(paid)
    assert "answers" in conflict.description


ROW = "Tower: Mole Rock; Height: 48 m; Note: granite"


def test_a_conflict_says_of_what_and_compares_what_stands_under_like_headers():
    conflict = compared(ROW, "Tower: Mole Rock; Height: 40 m; Year: 1844")
    assert (conflict.of, conflict.one, conflict.other) == ("Mole Rock", "48 m", "40 m")
    assert compared(ROW, "Tower: Mole Rock; Height of masonry: 40 m; Contents: much") is None
    assert compared(ROW, "The tower stands on granite, 30 m above the sea.") is None  # of whichever tower


PRINTED = "``` $ station --list test result: ok. 1 passed; 0 failed; {} filtered out ```"


@pytest.mark.parametrize(
    ("one", "other"),
    cases(f"""
        {PRINTED.format(2)} => {PRINTED.format(0)}
        The tower of Mole is 900 feet tall. => The tower of Mole is 274 m tall.
        Mole uses 10-20 % less. => Mole uses 15 % less.
        Version 14 of Mole is fast and small. => Version 15 of Mole is fast and small.
        It was screened at the 2000 Mole Film Festival. => It was screened at the 2018 Mole Film Festival.
        Hare lies 10 km south of the city of Mole. => Otter lies 30 km south of the city of Mole.
        Of the people of Mole 39.9% voted. => Of the people of Mole 232,055 voted.
        All who played between 1 and 24 matches. => All who played between 25 and 99 matches.
        The light was first shown on 1 May 1811. => The light was first shown on 15 July 1860.
        In 1900 the station of Mole had 84 MW. => In 1950 the station of Mole had 90 MW.
        The tower is 198 feet tall. => The tower is 198 feet tall and old.
        The tower is 198 feet tall. => A ship sailed 208 feet away.
        The tower of Mole is 57 m tall. => The tower of Mole is 30 m wide.
        The tower of Mole is 57 m tall. => The tower of Hare is 61 m tall.
        The lamp of Mole was lit in 1811. => The lamp of Mole was automated in 1912.
        The lamp of Mole was lit in 1811. => The lamp of Hare was lit in 1812.
        The tower of Mole is 57.2 m tall. => The tower of Mole is 57 m tall.
        The tower of Mole is over 50 m tall. => The tower of Mole is 57 m tall.
        The tower of Mole is 57–61 m tall. => The tower of Mole is 57 m tall.
        The lamp of Mole was lit in the 1810s. => The lamp of Mole was lit in 1811.
    """, bar=" => "),
)  # fmt: skip
def test_what_is_said_of_other_things_and_times_or_may_both_be_right_is_no_conflict(one, other):
    assert contradictions([finding(one), finding(other, sources=("b",))]) == ()


def test_what_one_source_says_is_no_conflict():
    assert (
        contradictions([finding("The tower is 198 feet tall."), finding("The tower is 208 feet tall.")]) == ()
    )


def test_all_that_tell_of_one_thing_are_one_contradiction():
    texts = [f"The station of Mole has {n} MW of power." for n in (84, 90, 84, 95)]
    findings = [
        finding(text.replace("has", f"has, says {name}," if name == "c" else "has"), sources=(name,))
        for text, name in zip(texts, "abcd", strict=True)
    ]
    (conflict,) = contradictions(findings, [source(name) for name in "abcd"])
    assert "".join(s.source_id for s in conflict.sides) == "abcd"
    assert [s.wording for s in conflict.sides] == ["84 MW", "90 MW", "84 MW", "95 MW"]
    assert (conflict.about, conflict.of) == ("values in megawatts", "Mole")
    assert "84 MW against 90 MW against 95 MW" in conflict.description
    assert {(s.value, s.unit) for s in conflict.sides} == {(n, "megawatts") for n in (84, 90, 95)}


def test_a_side_has_the_sentence_of_its_quote_that_says_so():
    passage = "Mole is a lake. The station there has 84 MW of power. It is old."
    one = finding("The station of Mole has 84 MW of power.", ("a", passage))
    (conflict,) = contradictions([one, finding("The station of Mole has 90 MW of power.", sources=("b",))])
    quote = conflict.sides[0].quote
    assert quote.quote == "The station there has 84 MW of power."
    assert passage[quote.start - 100 : quote.end - 100] == quote.quote


def test_merging_hides_no_figure_that_differs():
    merge_findings = finding(
        "The station of Mole has 84 MW of power.",
        ("a", "The station of Mole has 84 MW of power."),
        ("b", "The station of Mole has 90 MW of power."),
    )
    (conflict,) = contradictions([merge_findings])
    assert [(s.source_id, s.wording) for s in conflict.sides] == [("a", "84 MW"), ("b", "90 MW")]
    assert conflict.finding_ids == (merge_findings.id,)


def test_a_quote_that_says_otherwise_than_its_finding_speaks_for_itself():
    one = finding("The station of Mole has much power.", ("a", "The station of Mole has 84 MW of power."))
    (conflict,) = contradictions([one, finding("The station of Mole has 90 MW of power.", sources=("b",))])
    assert told(conflict) == {"84 MW", "90 MW"}


def test_sentences_that_name_nothing_are_of_what_their_titles_name():
    lines = [
        finding(f"The population was {n} at the census.", sources=(s,)) for n, s in ((522, "a"), (871, "b"))
    ]
    two = [source("a", title="Hare, a village"), source("b", title="Otter, a town")]
    assert contradictions(lines, two) == ()
    assert len(contradictions(lines, [source("a", title="Hare"), source("b", title="Hare")])) == 1


A, B = "The station of Mole has 84 MW of power.", "The station of Mole has 90 MW of power."
HEIGHTS = ("The tower of Mole is 84 m tall.", "The tower of Mole is 90 m tall.")
HIGH, RETRACTED = {"quality": SourceQuality.HIGH}, {"metadata": {"retracted": "yes"}}
OLD, LATER, NEW = ({"published": day} for day in (date(2015, 5, 1), date(2015, 9, 1), date(2024, 5, 1)))
PREFERRED = {
    "voices": ((A, B, A), ({}, {}, {}), "84 MW", "2 independent sources against 1"),
    "a copy": ((A, B, A), ({}, {}, {"content_hash": "a"}), None, ""),
    "quality": ((A, B), ({}, HIGH), "90 MW", "a source of high quality against medium"),
    "newer": ((A, B), (OLD, NEW), "90 MW", "it is the newer figure of what can change"),
    "nearly as new": ((A, B), (OLD, LATER), None, ""),
    "undated": ((A, B), (OLD, {}), None, ""),
    "cannot change": (HEIGHTS, (OLD, NEW), None, ""),
    "retracted": ((A, B), (HIGH, RETRACTED), "84 MW", "a work that says otherwise was retracted"),
    "one is not": ((A, B, B), ({}, RETRACTED, {}), None, ""),
    "none": ((A, B), ({}, {}), None, ""),
}


@pytest.mark.parametrize(("texts", "fields", "preferred", "because"), PREFERRED.values(), ids=PREFERRED)
def test_what_is_better_borne_out_is_preferred_where_something_known_decides(
    texts, fields, preferred, because
):
    names = "abc"[: len(texts)]
    sources = [source(name, **more) for name, more in zip(names, fields, strict=True)]
    findings = [
        finding(text.replace("Mole", "Mole, as told,") if name == "c" else text, sources=(name,))
        for text, name in zip(texts, names, strict=True)
    ]
    (conflict,) = contradictions(findings, sources)
    assert (None if conflict.preferred is None else conflict.sides[conflict.preferred].wording) == preferred
    assert conflict.because == because
    if "content_hash" in fields[-1]:
        assert [side.voice for side in conflict.sides] == [0, 1, 0]


KINDS = {"number": 0.8, "unit": 0.6, "date": 0.9, "negation": 0.97}  # least shares that are found


def drawn(texts):
    """Sentences that can be claims, each with its text."""
    pieces = [
        (n, text[s.start : s.end].replace("\n", " ")) for n, text in enumerate(texts) for s in sentences(text)
    ]
    return sorted(
        ((n, s) for n, s in dict.fromkeys(pieces) if is_drawn(s)), key=lambda p: sha256_hex(p[1].encode())
    )


def measured(texts, most):
    """The shares of corrupted twins that contradict their sentence, and of near sentences that contradict none."""
    every = drawn(texts)
    total, found = Counter(), Counter()
    for _, sentence in every[:most]:
        for variant in corrupted(sentence, Names((), ())):
            total[variant.kind] += 1
            found[variant.kind] += compared(sentence, variant.text) is not None
    search = PlainSearch((str(n), "", sentence) for n, (_, sentence) in enumerate(every))
    near = [(s, other) for _, s in every[:most] for other in search.best(s, 4) if other != s]
    false = [pair for pair in near if compared(*pair) is not None]
    return {kind: found[kind] / total[kind] for kind in KINDS if total[kind]}, len(false) / len(near)


ARTICLES = pytest.mark.skipif("BENCHMARK_DATA" not in os.environ, reason="no evaluation data is named")


@pytest.mark.parametrize(
    ("folder", "most", "mistaken"),
    [
        (CORPUS, 100, 0.0),
        pytest.param(f"{os.environ.get('BENCHMARK_DATA')}/answers/articles", 600, 0.002, marks=ARTICLES),
    ],
    ids=["sample corpus", "articles"],
)
def test_of_sentences_of_texts_twins_contradict_and_others_do_not(folder, most, mistaken):
    files = sorted(path for path in Path(folder).iterdir() if path.suffix in (".md", ".txt", ".rst"))
    found, false = measured([clean(path.read_text(encoding="utf-8")) for path in files], most)
    assert all(found[kind] >= least for kind, least in KINDS.items()), found
    assert false <= mistaken


def counted(monkeypatch, texts):
    """How often sentences are compared, and how often they are aligned, of as many findings."""
    count = Counter()

    def counting(module, name):
        work = getattr(module, name)

        def run(*args, **kwargs):
            count[name] += 1
            return work(*args, **kwargs)

        monkeypatch.setattr(module, name, run)

    counting(contradictions_module, "conflict_between")
    counting(comparison, "discrepancies")
    contradictions([finding(text, sources=(f"s{n}",)) for n, text in enumerate(texts)])
    monkeypatch.undo()
    return count


FEW_WORDS = ["alpha", "beta", "gamma", "delta", "eps", "zeta", "eta", "theta"]


@pytest.mark.parametrize(
    ("text", "is_aligned"),
    [
        (lambda n: " ".join(FEW_WORDS[(n * k + k * k) % 8] for k in range(250)) + f" {n} feet.", False),
        (lambda n: " ".join(FEW_WORDS[(n * k + k * k) % 8] for k in range(70)) + f" {n} feet.", False),
        (lambda n: f"The {' '.join(FEW_WORDS)} of Mole is {n} feet tall.", True),
        (lambda n: " ".join(f"The alpha of Mole has {n}{k} feet." for k in range(10)), True),
    ],
    ids=["very long", "repeating a few words", "nearly the same", "of many sentences"],
)
def test_the_work_of_comparing_is_linear_in_the_number_of_findings(monkeypatch, text, is_aligned):
    for size in (60, 120):
        count = counted(monkeypatch, [text(n) for n in range(size)])
        assert 0 < count["conflict_between"] <= size * MAX_COMPARED
        assert is_aligned or not count["discrepancies"]


def test_a_finding_is_compared_with_those_nearest_to_it():
    others = [f"The fence {n} of Mole is 7 feet tall." for n in range(MAX_COMPARED)]
    texts = [*others, "The tower of Mole is 84 feet tall.", "The tower of Mole is 90 feet tall."]
    found = contradictions([finding(text, sources=(f"s{n}",)) for n, text in enumerate(texts)])
    assert [told(conflict) for conflict in found] == [{"84 feet", "90 feet"}]


def test_all_of_many_findings_that_tell_of_one_thing_are_one_contradiction():
    texts = [f"The tower of Mole is {n} feet tall." for n in range(100, 200)]
    (conflict,) = contradictions([finding(text, sources=(f"s{n}",)) for n, text in enumerate(texts)])
    assert len(conflict.sides) == len(texts)


def test_many_values_of_a_sentence_are_not_all_set_against_those_of_another():
    (side,) = sides("The towers of Mole are " + ", ".join(f"{n} feet" for n in range(100)) + " tall.")
    assert len(side.values) == MAX_VALUES


def test_conflicts_come_in_the_same_order_in_every_process():
    (order,) = printed(PROGRAM, range(4))
    assert "57 metres" in order
    assert "1759" in order


PROGRAM = """
from deep_research.verification.contradictions import contradictions
from deep_research.state import ConfidenceLevel, Finding
said = (
    "The tower of Mole is 57 metres tall and was built in 1759.",
    "The tower of Mole is 61 metres tall.",
    "The tower of Mole was built in 1756.",
)
findings = [
    Finding(id=f"find-{n}", content=text, confidence=ConfidenceLevel.LOW, source_ids=(f"src-{n}",), iteration=1)
    for n, text in enumerate(said)
]
print([conflict.description for conflict in contradictions(findings)])
"""
