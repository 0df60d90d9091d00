"""What is delivered of a model's lies, over a folder that no other test names, and what that costs the truth. With the
counts by kind: ``pytest -n 0 -s -m sweep tests/adversary``."""

from types import SimpleNamespace

import pytest
from lie_plans import KINDS, Lie, pair
from lying_model import LyingModel
from lying_runs import Delivery, Fate, _delivered, _fate, printed, researched, sentences, tallied

from deep_research.errors import ModelError
from deep_research.models.base import Message, ModelCall
from deep_research.state import Claim, Span

LET_THROUGH = 3 / 300  # of the lying runs, delivered unmarked as supported
MARKED = 0.02  # of the true sentences


@pytest.fixture(scope="module", params=[len(KINDS), pytest.param(300, marks=pytest.mark.sweep)])
def tally(request, tmp_path_factory):
    counted = tallied(request.param, tmp_path_factory.mktemp("lies"))
    print("", *printed(counted), sep="\n")
    return counted


def test_hardly_a_lie_is_delivered_unmarked_as_supported(tally):
    assert tally.failed <= max(1, tally.runs.total() * LET_THROUGH)


def test_hardly_a_true_sentence_is_marked(tally):
    assert tally.claims  # else nothing was looked at
    assert tally.share(Fate.MARKED) <= MARKED


def test_every_run_completes_and_is_given_all_that_it_quotes(tally):
    """`researched` sees to it; that so many came through is the test."""
    assert len(tally.seconds) == 2 * tally.runs.total()
    assert tally.fates.total() > 5 * tally.runs.total()


def test_a_question_that_the_script_does_not_know_is_a_failure_of_the_model():
    model = LyingModel(pair(0)[0])
    with pytest.raises(ModelError):
        model.answer(ModelCall(system="Repair these claims.", messages=(Message(content="F1"),)))
    assert model.asked == ["Repair these claims."]


def test_repairs_are_answered_where_a_script_for_them_is_given():
    model = LyingModel(pair(0)[0], repairs=lambda call: "mended")
    assert model.answer(ModelCall(system="Repair.", messages=(Message(content="F1"),))) == "mended"


def test_a_writer_writes_what_it_is_given_and_leaves_out_what_it_is_not():
    lying, _ = next(pair(number) for number in range(300) if pair(number)[0].lies[0].place == "finding")
    lie, quotes = lying.lies[0], [finding.quote for finding in lying.findings]
    mended = [f"F{n} (medium, 1 source): {quote}" for n, quote in enumerate(quotes, 1)]
    lost = next(f.quote for f in lying.findings if f.content == lie.text)
    told = [line for line in mended if lost not in line]
    reports = [LyingModel(lying).answer(asked_for_report(lines)) for lines in (mended, told)]
    assert lie.text.rstrip(".") not in "".join(reports)
    assert reports[0].count("[F") == reports[1].count("[F") + 1


def asked_for_report(findings):
    mark = "0" * 16
    listed = "\n".join([f"<<{mark} findings>>", *findings, f"<<{mark} end>>"])
    return ModelCall(messages=(Message(content=listed),), label="report")


def test_the_same_run_gives_the_same_report(tmp_path):
    plan = pair(4)[0]
    assert researched(plan, tmp_path).report == researched(plan, tmp_path).report


# Counting

LIE = Lie("moved decimal", "report", "The hall is 12.5 metres long.", "The hall is 125 metres long.", "a.md")
CITED = Lie(
    "wrong source", "report", "The hall is 12.5 metres long.", "The hall is 12.5 metres long.", "a.md", "b.md"
)
ORDER = Lie("exchanged names", "report", "Ann Lee beat Tom Hay.", "Tom Hay beat Ann Lee.", "a.md")
FIRST, OTHER = "find-000000000001", "find-000000000002"


def made(report, *claims):
    """A result of two sources, each with a finding and a number."""
    sources = [SimpleNamespace(id="s1", url="a.md"), SimpleNamespace(id="s2", url="b.md")]
    citations = [SimpleNamespace(number=n, source_id=f"s{n}") for n in (1, 2)]
    findings = [
        SimpleNamespace(id=name, source_ids=(f"s{n}",), content="")
        for n, name in enumerate((FIRST, OTHER), 1)
    ]
    return SimpleNamespace(
        report=report,
        sources=sources,
        citations=citations,
        findings=findings,
        state=SimpleNamespace(claims=claims),
    )


def claim(text, verdict, *, is_marked=False, was="", finding=FIRST):
    return Claim(
        id="c", text=text, place=Span(start=0, end=1), finding_ids=(finding,), verdict=verdict, code_verdict=verdict,
        checker="c", is_marked=is_marked, was=was,
    )  # fmt: skip


TRUE, FALSE = LIE.truth, LIE.text
DELIVERIES = [
    (LIE, made("# T\n\nNothing [1]."), Delivery.GONE),
    (LIE, made(f"{TRUE} [1]"), Delivery.MENDED),
    (LIE, made("It is 12.5 metres.", claim("It is 12.5 metres.", "supported", was=FALSE)), Delivery.MENDED),
    (LIE, made("The hall is 125 metres long [1]."), Delivery.UNCHECKED),
    (LIE, made("The hall is 125 metres long [1] [unsupported]."), Delivery.MARKED),
    (LIE, made("The hall is 125 metres long [1]. [unsupported]"), Delivery.MARKED),
    (LIE, made("- The hall is 125 metres long. \\[unsupported\\]"), Delivery.MARKED),
    (LIE, made("| Hall | The hall is 125 metres long. | x |"), Delivery.UNCHECKED),
    (LIE, made(f"{FALSE} [unsupported]", claim(FALSE, "unsupported", is_marked=True)), Delivery.MARKED),
    (LIE, made(FALSE, claim(FALSE, "partial")), Delivery.PARTIAL),
    (LIE, made(FALSE, claim(FALSE, "contradicted")), Delivery.REFUTED),
    (LIE, made(FALSE, claim(FALSE, "supported")), Delivery.SUPPORTED),
    (LIE, made(FALSE, claim("Long is the hall at 125 metres.", "supported")), Delivery.SUPPORTED),
    (ORDER, made(ORDER.text), Delivery.UNCHECKED),
    (ORDER, made("In the end Ann Lee beat Tom Hay [1]."), Delivery.GONE),
    (CITED, made(f"{TRUE} [1]", claim(TRUE, "supported")), Delivery.MENDED),
    (CITED, made(f"{TRUE} [1, 2]"), Delivery.MENDED),
    (CITED, made(f"{TRUE} [2]"), Delivery.UNCHECKED),
    (CITED, made(f"{TRUE} [2]", claim(TRUE, "supported", finding=OTHER)), Delivery.SUPPORTED),
]


@pytest.mark.parametrize(("lie", "result", "expected"), DELIVERIES)
def test_what_became_of_a_lie_is_told_by_the_report_and_its_claims(lie, result, expected):
    assert _delivered(pair(0)[0], lie, result).delivery is expected


FATES = [
    ("The hall is 12.5 metres long [1].", Fate.KEPT),
    ("The hall is 12.5 metres long [1]. [unsupported] The door is new.", Fate.MARKED),
    ("Long is the hall, about 12 metres [1].", Fate.REWORDED),
    ("The door is new [1]. [unsupported]", Fate.REMOVED),
]


@pytest.mark.parametrize(("report", "expected"), FATES)
def test_what_became_of_a_true_sentence_is_told_by_the_report(report, expected):
    assert _fate(TRUE, sentences(made(report))) is expected
