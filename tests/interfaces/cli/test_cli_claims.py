"""What the prompt tells of claims: `show ID --claims`, the closing line, the lines of `events`, and `--strict`."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cli_double import QUESTION, Done, Double

from deep_research.interfaces.cli.session import Look
from deep_research.interfaces.cli.show import show_claims
from deep_research.phases.synthesis import SynthesizerOutput
from deep_research.presentation.event_text import gist
from deep_research.presentation.report_text import claims_line, coverage_line
from deep_research.research import DeepResearch
from deep_research.settings import Settings
from deep_research.state import (
    Aspect,
    Claim,
    ClaimBasis,
    ClaimCounts,
    ClaimVerdict,
    Discrepancy,
    Draft,
    Judgement,
    Quote,
    Repair,
    RepairKind,
    ReportMetadata,
    Span,
)
from deep_research.state.events import ClaimsJudged, PieceWritten, ReportDrafted, ReportWritten
from deep_research.state.spending import Usage

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]
FALSE = "The keeper sold a blue parrot to a baker in Lisbon"
WRONG = "The Bell Rock lies 99 km from Arbroath"


class Writer:
    """Writes what no source says, and what one says otherwise, beside what one says."""

    name, deterministic = "by hand", True

    async def __call__(self, handoff: Any) -> SynthesizerOutput:
        found = {finding.content: finding.id for finding in handoff.findings}
        built = next(i for text, i in found.items() if "Robert Stevenson" in text)
        said = f"Robert Stevenson built the Bell Rock lighthouse [{built}]. {FALSE} [{built}]."
        return SynthesizerOutput(report=f"# Bell Rock\n\n## Who built it\n\n{said} It had a cat.\n")


@pytest.fixture
def liar() -> Callable[..., DeepResearch]:
    return partial(DeepResearch, search=[Double()], agents={"synthesizer": Writer()}, max_iterations=1)


@pytest.fixture
def run_id(cli: Cli, liar: Callable[..., DeepResearch]) -> str:
    return str(cli("run", QUESTION, "--json", engine=liar).json["research_id"])


def test_claims_are_shown_under_their_headings_with_what_carries_them(cli: Cli, run_id: str) -> None:
    done = cli("show", run_id, "--claims")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert all(len(line) <= 80 for line in lines)
    told = " ".join(done.out.split())
    assert lines[0].startswith(f"{run_id}: Who built the Bell Rock lighthouse?")
    assert "1 of 2 claims supported, 1 marked. Of the others: 1 unsupported, 1 removed." in told
    assert "\nWho built it\n- supported: Robert Stevenson built the Bell Rock lighthouse. [1]\n" in done.out
    assert re.search(
        r'"Robert Stevenson built the Bell Rock lighthouse\." \(.*About bell-rock, 灯台, 0 to 48\)', told
    )
    assert f"- unsupported (marked): {FALSE}. [1]" in told
    assert "Repaired: - removed: It had a cat." in told
    assert "\x1b" not in done.out


def test_claims_are_printed_as_json_for_programs(cli: Cli, run_id: str) -> None:
    said = cli("show", run_id, "--claims", "--json").json
    assert sorted(said) == ["claims", "repairs"]
    assert [claim["verdict"] for claim in said["claims"]] == ["supported", "unsupported"]
    assert said["claims"] == cli("show", run_id, "--json").json["claims"]
    assert [repair["kind"] for repair in said["repairs"]] == ["removed"]
    assert Claim.model_validate(said["claims"][0]).evidence[0].quote.startswith("Robert Stevenson")


def test_a_run_without_a_report_says_so(cli: Cli) -> None:
    run_id = cli("run", QUESTION, "--json", search=[Double(empty=True)]).json["research_id"]
    assert cli("show", run_id, "--claims").out.splitlines()[1:] == ["", "There is no report."]
    assert cli("show", run_id, "--claims", "--json").json == {"claims": [], "repairs": []}


def test_the_closing_line_says_how_many_claims_are_supported(
    cli: Cli, liar: Callable[..., DeepResearch]
) -> None:
    err = " ".join(cli("run", QUESTION, engine=liar).err.split())
    assert "1 of 2 claims supported, 1 marked." in err
    assert re.search(
        r"Answered: .*, \d+ sentences?, all quoted from sources\.", " ".join(cli("run", QUESTION).err.split())
    )


def test_the_lines_of_events_say_it_too(cli: Cli, run_id: str) -> None:
    lines = [line for line in cli("events", run_id).out.splitlines() if "report.written" in line]
    assert [line.partition("report.written")[2].strip() for line in lines] == [
        "27 words, 1 citation, 1 of 2 claims supported…"
    ]


GISTS = [
    (PieceWritten(piece="section 1 of 2 of 0123456789ab", content_hash="a" * 64), "section 1 of 2"),
    (ReportDrafted(draft=Draft(text="one two three")), "a report of 3 words"),
    (ClaimsJudged(judgements={"a": Judgement(key="a"), "b": Judgement(key="b")}), "2 claims"),
    (ClaimsJudged(judgements={"a": Judgement(key="a")}), "1 claim"),
    (ReportWritten(report="r", metadata=ReportMetadata(word_count=1)), "1 word, 0 citations"),
]


@pytest.mark.parametrize(("event", "said"), GISTS)
def test_each_step_of_a_draft_has_a_line(event: Any, said: str) -> None:
    assert gist(event) == said


LINES = [
    (None, ""),
    (ClaimCounts(), ""),
    (ClaimCounts(supported=1), "1 of 1 claim supported"),
    (ClaimCounts(supported=1, partial=2, marks=1), "1 of 3 claims supported, 1 marked"),
]


@pytest.mark.parametrize(("counts", "said"), LINES)
def test_how_many_claims_are_supported_is_told_in_a_few_words(counts: ClaimCounts | None, said: str) -> None:
    assert claims_line(counts) == said


# Under a bound


def test_too_few_supported_claims_end_a_run_with_exit_code_three(
    cli: Cli, liar: Callable[..., DeepResearch]
) -> None:
    done = cli("run", QUESTION, "--strict", "0.9", engine=liar)
    assert (done.code, done.out) == (3, "")
    told = " ".join(done.err.split())
    assert "Aborted (no_evidence): 1 of the report's 2 claims are supported (50%); 90% are asked for." in told
    assert "Lower --strict" in told
    said = cli("run", QUESTION, "--strict", "0.9", "--json", engine=liar)
    assert (said.code, said.json["report"], said.json["reason"]) == (3, None, "no_evidence")
    assert "(50%)" in said.json["message"]
    assert cli("run", QUESTION, "--strict", "0.5", "--quiet", engine=liar).code == 0
    assert cli("run", QUESTION, "--strict", "1.0", "--quiet").code == 0


@pytest.mark.parametrize("share", ["0", "1.5", "most"])
def test_a_share_that_is_none_is_wrong_use(cli: Cli, share: str) -> None:
    done = cli("run", QUESTION, "--strict", share)
    assert done.code == 2
    assert len(done.err.splitlines()) <= 3


# All that a claim can have

HOSTILE = "A \x1b[2J\u202e name\nof " + "many words " * 20


def shown(claim: Claim, **counts: int) -> list[str]:
    lines: list[str] = []
    repairs = (Repair(kind=RepairKind.REWORDED, before=f"Old {HOSTILE}", after=f"New {HOSTILE}"),)
    result = SimpleNamespace(
        research_id="deepres-000000000000",
        query=HOSTILE,
        report="r",
        report_metadata=ReportMetadata(word_count=1, claims=ClaimCounts(**counts)),
        claims=(claim,),
        repairs=repairs,
        sources=(SimpleNamespace(id="src-1", title=HOSTILE),),
        usage=Usage(),
    )
    console: Any = SimpleNamespace(columns=200, print=lambda text: lines.extend(text.split("\n")))
    args, settings, runs = Namespace(json=False), Settings(), cast("Any", None)
    show_claims(Look(args=args, console=console, settings=settings, runs=runs), cast("Any", result))
    return lines


def test_whatever_a_claim_holds_stays_within_eighty_columns_and_does_not_act() -> None:
    claim = Claim(
        id="claim-1",
        text=HOSTILE,
        heading=HOSTILE,
        place=Span(start=0, end=1),
        numbers=(1, 2),
        basis=ClaimBasis.RUN,
        verdict=ClaimVerdict.PARTIAL,
        code_verdict=ClaimVerdict.PARTIAL,
        checker="c",
        reasons=(
            Discrepancy(aspect=Aspect.NUMBER, claimed=HOSTILE, in_source=HOSTILE),
            Discrepancy(aspect=Aspect.WORDS),
            Discrepancy(aspect=Aspect.LANGUAGE),
        ),
        evidence=(Quote(source_id="src-1", quote=HOSTILE * 3, start=3, end=9, content_hash="h"),),
        judgement=Judgement(key="a", reason=HOSTILE),
    )
    lines = shown(claim, partial=1, repairs=1, judged=1, unasked=2, contradicted=3)
    assert all(len(line) <= 80 for line in lines)
    assert not re.search("[\x1b\u202e\r]", "\n".join(lines))
    told = " ".join(" ".join(lines).split())
    for said in (
        "0 of 4 claims supported. Of the others: 1 in part, 3 contradicted, 1 repaired, 1 judged by a model,"
        " 2 that the judge did not see.",
        "by the log of the run",
        "number: it says “",
        "its source is in another language",
        "judge: not asked. ",
        "- reworded: Old A",
        "now: New A",
    ):
        assert said in told


def test_a_report_that_leaves_out_a_part_of_the_question_says_so_in_a_line(
    cli: Cli, liar: Callable[..., DeepResearch]
) -> None:
    said = "The report answers 1 of the 2 parts of the question."
    done = cli("run", QUESTION, engine=liar)
    assert done.err.splitlines()[-2] == said
    (listed,) = cli("list", "--json").json
    assert cli("show", listed["research_id"]).err == f"{said}\n"
    assert cli("show", listed["research_id"], "--json").json["report_metadata"]["coverage"] == 0.5
    for quiet in ("--json", "--quiet"):
        assert said not in cli("run", QUESTION, quiet, engine=liar).err


COVERAGE = {
    "all": ([("a",), ("b", "c")], 1.0, ""),
    "some": ([("a",), (), ()], 0.3333, "The report answers 1 of the 3 parts of the question."),
    "none": ([(), ()], 0.0, "The report answers none of the 2 parts of the question."),
    "nothing of one": ([()], 0.0, "The report answers no part of the question."),
    "nobody knows": ([None, None], None, ""),
    "before there were claims": ([(), ()], None, ""),
}


@pytest.mark.parametrize(("told", "share", "said"), COVERAGE.values(), ids=COVERAGE)
def test_how_much_of_the_question_is_told_is_said_where_it_is_not_all(
    told: list[Any], share: float | None, said: str
) -> None:
    verdicts = [SimpleNamespace(claim_ids=ids) for ids in told]
    result: Any = SimpleNamespace(verdicts=verdicts, report_metadata=ReportMetadata(coverage=share))
    assert coverage_line(result) == said
    assert coverage_line(SimpleNamespace(verdicts=verdicts, report_metadata=None)) == ""  # type: ignore[arg-type]
