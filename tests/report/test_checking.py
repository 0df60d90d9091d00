"""What carries each claim of a draft: saved texts, findings that it repeats, or the log of the run."""

import json
import random
from pathlib import Path

import pytest
from hash_seeds import printed
from orm_light import BUILT, COST, F1, F2, F3, FINDINGS, HARE, ORM, TALL, TEXTS, WHITE, finding, source, state

from deep_research.phases.synthesis.repair import with_marks
from deep_research.report import checking, citation_resolver
from deep_research.report.checking import CHECKER, Checker, checked_claims
from deep_research.report.citation_resolver import CitationResolver
from deep_research.report.judging import key_of
from deep_research.report.report_notices import IN_THEIR_WORDS
from deep_research.state import ClaimBasis, ClaimVerdict, Judgement, Notice
from deep_research.verification.evidence_text import EvidenceText

SUPPORTED, PARTIAL = ClaimVerdict.SUPPORTED, ClaimVerdict.PARTIAL
CONTRADICTED, UNSUPPORTED = ClaimVerdict.CONTRADICTED, ClaimVerdict.UNSUPPORTED
FIRST, SECOND, THIRD = (finding.id for finding in FINDINGS)


def claims(draft, *, texts=TEXTS, **more):
    return checked_claims(draft, state(**more), texts)


def claim(draft, **more):
    """The last one."""
    return claims(draft, **more)[-1]


# What a claim cites

CITING = {
    "a quote word for word": (f"{BUILT[:-1]} {F1}.", SUPPORTED, set()),
    "a quote in other marks": (f"**the Orm** lighthouse was built in 1811 by Ada Brook! {F1}", SUPPORTED, set()),
    "the words of a finding that its quote carries": (f"{TALL[:-1]} {F2}.", SUPPORTED, set()),
    "another sentence of the source": (f"The lamp burned whale oil until 1843 {F1}.", SUPPORTED, set()),
    "two sentences of it": (f"The Orm lighthouse by Ada Brook has a tower of 90 feet {F1}.", PARTIAL, set()),
    "another source": (f"{BUILT[:-1]} {F3}.", UNSUPPORTED, {"date", "entity"}),
    "another date": (f"The Orm lighthouse was built in 1812 by Ada Brook {F1}.", CONTRADICTED, {"date"}),
    "another number": (f"The tower of the Orm lighthouse is 91 feet tall {F2}.", CONTRADICTED, {"number"}),
    "another unit": (f"The tower of the Orm lighthouse is 90 metres tall {F2}.", CONTRADICTED, {"unit"}),
    "another name": (f"The Orm lighthouse was built in 1811 by Carl Moor {F1}.", UNSUPPORTED, {"entity"}),
    "a denial": (f"The Orm lighthouse was not built in 1811 by Ada Brook {F1}.", PARTIAL, {"polarity"}),
    "a denial that is dropped": (f"The keepers were paid in gold {F1}.", PARTIAL, {"polarity"}),
    "what no source says": (f"The baker sold bread to travellers {F1}.", UNSUPPORTED, set()),
    "a finding that there is not": ("The lamp burned whale oil until 1843 [find-00000000000f].", UNSUPPORTED, set()),
    "a source by its own id": (f"{WHITE[:-1]} [{HARE.id}].", SUPPORTED, set()),
}  # fmt: skip


@pytest.mark.parametrize(("draft", "verdict", "aspects"), CITING.values(), ids=CITING)
def test_a_claim_is_set_against_the_sources_that_it_cites(draft, verdict, aspects):
    checker = Checker(state(), TEXTS)
    (found,) = checker.claims(draft, {})
    assert found.verdict is found.code_verdict is verdict
    assert checker.fails(found) is (verdict in (CONTRADICTED, UNSUPPORTED) or bool(aspects))
    assert {reason.aspect.value for reason in found.reasons} - {"words", "order"} == aspects
    assert (found.checker, found.basis, found.inherited) == (CHECKER, ClaimBasis.SOURCES, False)
    for quote in found.evidence:
        text = TEXTS[quote.content_hash]
        assert text[quote.start : quote.end] == quote.quote
    assert bool(found.evidence) or verdict is not SUPPORTED


# What cites nothing

UNCITED = {
    "repeats a finding": ("The Orm lighthouse was built by Ada Brook in 1811.", SUPPORTED, (FIRST,)),
    "repeats one with another year": ("The Orm lighthouse was built by Ada Brook in 1911.", UNSUPPORTED, (FIRST,)),
    "stands beside a citation": (f"{BUILT[:-1]} {F1}. Its tower stands on granite.", PARTIAL, (FIRST,)),
    "stands beside one of another source": (f"{WHITE[:-1]} {F3}. {BUILT}", SUPPORTED, (FIRST,)),
    "nothing says it": ("The tower was sold to a baker from Lisbon.", UNSUPPORTED, ()),
}  # fmt: skip


@pytest.mark.parametrize(("draft", "verdict", "finding_ids"), UNCITED.values(), ids=UNCITED)
def test_a_claim_without_a_reference_inherits_those_of_what_it_repeats(draft, verdict, finding_ids):
    checker = Checker(state(), TEXTS)
    found = checker.claims(draft, {})[-1]
    assert checker.fails(found) is (verdict is UNSUPPORTED)  # in part, but for a date that nothing has
    assert (found.verdict, found.finding_ids, found.inherited) == (verdict, finding_ids, bool(finding_ids))


LACKS = {
    "that a gap tells of": (f"{COST} is unknown.", SUPPORTED),
    "in other words": (f"{COST} is not known.", SUPPORTED),
    "under its heading": (f"## Open questions\n\n- {COST}", SUPPORTED),
    "that no gap tells of": ("What the lamp weighs is unknown.", PARTIAL),
    "that no gap tells of, by its sources": ("No source says who painted the door.", PARTIAL),
    "under a heading, that no gap tells of": ("## Open questions\n\n- Who painted the door", PARTIAL),
    "with a figure that nothing has": ("No source says that the lamp weighed 40 tons.", UNSUPPORTED),
}


@pytest.mark.parametrize(("draft", "verdict"), LACKS.values(), ids=LACKS)
def test_a_lack_is_told_by_the_log_of_the_run(draft, verdict):
    found = claim(draft)
    assert (found.verdict, found.basis) == (verdict, ClaimBasis.RUN)
    assert found.finding_ids == found.evidence == ()


def test_a_lack_that_cites_a_source_is_set_against_that_source():
    assert claim(f"What the lamp weighs is unknown {F1}.").basis is ClaimBasis.SOURCES


UNREAD = "3 pages could not be read."


@pytest.mark.parametrize(
    "draft", [IN_THEIR_WORDS, f"- {UNREAD}", "2 further findings are left out to keep the wanted length."]
)
def test_the_lines_of_the_engine_are_borne_out_by_the_log(draft):
    for found in claims(draft, notices=(Notice(name="evidence", message=UNREAD),)):
        assert (found.verdict, found.basis) == (SUPPORTED, ClaimBasis.RUN)


def test_a_line_of_the_engine_that_does_not_hold_of_this_run_is_a_claim_like_others():
    assert claim(UNREAD).verdict is UNSUPPORTED
    left_out = claim(f"{BUILT[:-1]} {F1}. 9 further findings are left out to keep it short.")
    assert left_out.basis is not ClaimBasis.RUN


# Cells


def test_a_figure_is_its_sources_whatever_else_the_sentence_names():
    """The title in the first column says who gives the figure, and not whose it is."""
    quote = "Stone's Ledger puts the expense at £612 9s 2d."
    text = f"# The Bell Rock\n\nThe Bell Rock is a reef. The Bell Rock has a lighthouse.\n\n{quote}\n"
    book = source(9, "The Bell Rock", text)
    bought = finding(9, quote, book, text)
    known = {"sources": (book,), "findings": (bought,), "texts": {book.content_hash: text}}
    for figure, verdict in (("£612", SUPPORTED), ("£613", CONTRADICTED)):
        table = f"| Source | Figure |\n|---|---|\n| The Bell Rock | {figure} [{bought.id}] |\n"
        found = claim(table, **known)
        assert (found.text, found.verdict) == (figure, verdict)


CELLS = {
    "the title of the source": ("Source", "The Orm Light", SUPPORTED),
    "its date": ("Date", "2019-03-01", SUPPORTED),
    "another date": ("Date", "2018-03-01", None),
    "a value with its unit": ("Tower", "90 feet", SUPPORTED),
    "another value": ("Tower", "91 feet", CONTRADICTED),
    "a sentence of its own": ("Keepers", "they were never paid in gold", SUPPORTED),
    "a sentence against it": ("Keepers", "they were paid in gold", PARTIAL),
    "a name that no text has": ("Builder", "Carl Moor", None),
    "a value of the source that the row is named after": ("The Orm Light", "90 feet", SUPPORTED),
    "another value under its title": ("The Orm Light", "91 feet", None),
}


@pytest.mark.parametrize(("row", "cell", "verdict"), CELLS.values(), ids=CELLS)
def test_a_cell_is_set_against_the_source_with_what_it_is_said_of(row, cell, verdict):
    checker = Checker(state(), TEXTS)
    (found,) = checker.claims(f"| What | Said |\n|---|---|\n| {row} | {cell} {F1} |\n", {})
    assert found.text == cell
    assert found.heading == f"{row} > Said"
    if verdict is None:
        assert found.verdict is not SUPPORTED
        assert checker.fails(found)
    else:
        assert found.verdict is verdict


# Another language

GERMAN = f"""\
Der Leuchtturm Orm wurde 1811 von Ada Brook gebaut {F1}. \
Der Turm ist 90 Fuß hoch und steht auf einem Riff aus Granit {F2}. \
Er wurde im Jahr 1955 für die Besucher der Insel geöffnet {F1}.
"""


def test_words_of_another_language_carry_nothing_and_are_doubted_for_figures_alone():
    checker = Checker(state(), TEXTS)
    made = checker.claims(GERMAN, {})
    assert [claim.verdict for claim in made] == [PARTIAL, PARTIAL, UNSUPPORTED]
    assert [checker.fails(claim) for claim in made] == [False, False, True]
    aspects = [{reason.aspect.value for reason in claim.reasons} for claim in made]
    assert aspects == [{"language"}, {"language"}, {"language", "date"}]


# Texts that are not there


def test_of_a_text_that_is_not_there_the_quotes_are_looked_at_alone():
    draft = f"Its tower is 90 feet tall {F2}. The lamp burned whale oil until 1843 {F1}."
    assert [found.verdict for found in claims(draft)] == [SUPPORTED, SUPPORTED]
    assert [found.verdict for found in claims(draft, texts={})] == [SUPPORTED, UNSUPPORTED]
    (quote,) = claims(draft, texts={})[0].evidence
    assert TEXTS[quote.content_hash][quote.start : quote.end] == quote.quote


def test_only_texts_are_needed_of_which_more_is_said_than_their_quotes():
    checker = Checker(state(), {})
    assert checker.needed(f"{BUILT[:-1]} {F1}. {WHITE[:-1]} {F3}.") == ()
    assert checker.needed(f"{BUILT[:-1]} {F1}. The lamp was lit {F3}.") == (HARE.content_hash,)
    assert Checker(state(), TEXTS).needed(f"The lamp was lit {F3}.") == ()
    assert checker.needed("The tower of the Orm lighthouse has 90 feet.") == (ORM.content_hash,)


# Ids

LONG = f"""\
# The Orm

## Summary

The tower is 90 feet tall [{SECOND}]. It is grey. It is grey. The tower was built in 1812 [{FIRST}].

## More

It is grey. {WHITE[:-1]} [{THIRD}].

| What | Said |
|---|---|
| Tower | 91 feet {F2} |
"""


def test_equal_sentences_have_ids_of_their_own():
    made = claims(LONG)
    assert len({each.id for each in made}) == len(made) == 7
    assert [each.id for each in made] == [each.id for each in claims(LONG)]


def test_a_claim_is_the_same_after_marks_were_put_in():
    before = claims(LONG)
    failing = [each for each in before if Checker(state(), TEXTS).fails(each)]
    draft = with_marks(LONG, failing)
    after = claims(draft)
    unmarked, placeless = {"is_marked": False, "place": None}, {"place": None}
    assert [c.model_copy(update=unmarked) for c in after] == [c.model_copy(update=placeless) for c in before]
    assert {each.id for each in after if each.is_marked} == {each.id for each in failing}
    assert len(failing) == 5
    assert with_marks(draft, after) == with_marks(draft, [each for each in after if not each.is_marked])


MEASURED = "Its tower is 90 feet tall"
JUDGED = {  # what the judge says, its quotes, and what counts
    "supported, by a sentence that has its figures": (SUPPORTED, MEASURED, SUPPORTED),
    "supported, by one that has another figure": (SUPPORTED, BUILT, PARTIAL),
    "supported, by words that no source has": (SUPPORTED, "The tower measures 90 feet.", PARTIAL),
    "supported, by nothing": (SUPPORTED, "", PARTIAL),
    "contradicted": (CONTRADICTED, MEASURED, CONTRADICTED),
    "unsupported": (UNSUPPORTED, "", UNSUPPORTED),
    "nothing": (None, "", ClaimVerdict.UNCHECKED),
}


@pytest.mark.parametrize(("said", "words", "counts"), JUDGED.values(), ids=JUDGED)
def test_the_word_of_the_judge_counts_where_quotes_back_it(said, words, counts):
    draft = f"The height of the Orm tower comes to 90 feet {F2}."
    (before,) = claims(draft)
    assert before.verdict is PARTIAL
    quote = CitationResolver(state(), TEXTS).locate(words, (SECOND,)) if words else None
    quotes, reason = (quote,) if quote else (), "" if said else "A cap."
    judgement = Judgement(key=key_of(before), verdict=said, quotes=quotes, model="m", reason=reason)
    (after,) = checked_claims(draft, state(), TEXTS, {key_of(before): judgement})
    assert (after.verdict, after.code_verdict, after.judgement) == (counts, PARTIAL, judgement)
    assert after.evidence == (judgement.quotes if said and quote and counts is said else before.evidence)


@pytest.mark.parametrize("said", [PARTIAL, CONTRADICTED, UNSUPPORTED, None])
def test_a_claim_that_is_its_sources_own_sentence_stays_supported_whatever_the_judge_says(said):
    draft = f"{TALL[:-1]} {F2}."
    (before,) = claims(draft)
    judgement = Judgement(key=key_of(before), verdict=said, model="m")
    (after,) = checked_claims(draft, state(), TEXTS, {key_of(before): judgement})
    assert after.verdict is SUPPORTED


# Order

DRAFTS = "\n\n".join(
    [*(draft for draft, *_ in (*CITING.values(), *UNCITED.values(), *LACKS.values())), GERMAN, LONG]
)


def told(findings=FINDINGS, sources=(ORM, HARE), texts=TEXTS):
    made = checked_claims(DRAFTS, state(findings=findings, sources=sources), texts)
    return json.dumps([each.model_dump(mode="json") for each in made])


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_findings_sources_and_texts_changes_nothing(seed):
    chance = random.Random(seed)
    findings, sources, texts = list(FINDINGS), [ORM, HARE], list(TEXTS.items())
    for each in (findings, sources, texts):
        chance.shuffle(each)
    assert told(tuple(findings), tuple(sources), dict(texts)) == told()


def test_the_seed_of_hashes_changes_nothing():
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})"
    assert printed(f"{program}; import test_checking; print(test_checking.told())") == {f"{told()}\n"}


# How much work


def work(count, monkeypatch):
    """How many statements are checked for so many claims of one run, and against how many texts, and how many texts are
    prepared."""
    seen = {"checks": 0, "texts": 0, "prepared": 0}
    check, prepare = citation_resolver.check, citation_resolver.EvidenceText

    def counted(statement, sources, **more):
        seen["checks"] += 1
        seen["texts"] += len(sources)
        return check(statement, sources, **more)

    def prepared(*given, **more):
        seen["prepared"] += 1
        return prepare(*given, **more)

    for module in (checking, citation_resolver):
        monkeypatch.setattr(module, "check", counted)
        monkeypatch.setattr(module, "EvidenceText", prepared)
    lines = (
        f"The keepers of year {n} were never paid in gold {F1}. What lamp {n} weighs is unknown. {TALL[:-1]} {F2}."
        for n in range(-(-count // 3))
    )
    draft = "\n\n".join(lines)
    made = checked_claims(draft, state(), TEXTS)
    monkeypatch.undo()
    return len(made), seen


@pytest.mark.parametrize("count", [100, 1_000, pytest.param(10_000, marks=pytest.mark.sweep)])
def test_the_work_for_a_claim_does_not_grow_with_their_number(count, monkeypatch):
    made, seen = work(count, monkeypatch)
    assert made >= count
    assert seen["checks"] <= 4 * made
    assert seen["texts"] <= 4 * made * len(FINDINGS)
    assert seen["prepared"] <= len(FINDINGS) + len(TEXTS) + 1  # of what is not known


def test_what_a_draft_repeats_is_not_looked_for_again(monkeypatch):
    monkeypatch.setattr(citation_resolver, "_VERDICTS", {})
    made = []
    monkeypatch.setattr(
        citation_resolver,
        "EvidenceText",
        lambda text, **more: made.append(text) or EvidenceText(text, **more),
    )
    draft = f"{BUILT[:-1]} {F1}. The lamp burned seal oil until 1843 {F1}."
    first = claims(draft)
    assert made
    made.clear()
    assert claims(f"{draft} {BUILT[:-1]} {F1}.")[: len(first)] == first
    assert made == []
    other = {each: text.replace("whale oil", "seal oil") for each, text in TEXTS.items()}
    assert claim(draft, texts=other).verdict is SUPPORTED  # under the same hash and id
    assert made
