"""Print the report of a run, its closing line and the next command."""

from __future__ import annotations

import json
import sys

from deep_research.interfaces.cli.console import terminal_size, write_whole
from deep_research.interfaces.cli.options import BY_NAME
from deep_research.interfaces.cli.session import Look
from deep_research.presentation import phrases
from deep_research.presentation.report_text import claims_line, coverage_line, fidelity_line
from deep_research.research.plan_edits import plan_lines
from deep_research.research.result import ResearchResult
from deep_research.state import AnswerCoverage, Budget, DeepResearchPhase, ParkedKind, SubQueryStatus

# What to do about an aborted run, and whether the command that takes it up again follows.
_ADVICE = {
    "cancelled": ("Continue with:", True),
    "timeout": ("Give it more time with --set task_timeout=SECONDS, then continue with:", True),
    "no_evidence": (
        "Reword the question, add documents with --corpus, or search the web with --search web.",
        False,
    ),
    "config": ("Correct the setting, then:", True),
    "error": ("Try again with:", True),
}
_CAP_FLAGS = {
    option.dest: option.flag for option in BY_NAME["resume"].options if option.dest in Budget.model_fields
}
_ANSWERED = {
    None: "Completed",
    AnswerCoverage.YES: "Answered",
    AnswerCoverage.PARTLY: "Answered in part",
    AnswerCoverage.NO: "Not answered",
}
_MAX_GAPS = 10
_FAILURE_NOTICES = ("agent", "hook", "model", "sources")  # kinds of notices; a report has them itself


def deliver(session: Look, result: ResearchResult) -> None:
    """Write the report to ``--out``, and print it or the JSON."""
    args, console = session.args, session.console
    if args.out and result.report:
        write_whole(args.out, result.report)
    if args.json:
        console.print(result.model_dump_json())
    elif result.report and not args.out:
        console.print_report(result.report)


def conclude(session: Look, result: ResearchResult) -> None:
    """Print the closing lines. A completed run prints none with ``--quiet``, or with ``--json`` alone."""
    if session.talks or not (session.args.json or result.status == "completed"):
        session.console.note(*_closing(session, result))


def _closing(session: Look, result: ResearchResult) -> list[str]:
    """Return the closing lines. Above the message: notes on the report, and a plan that waits for approval. Below it:
    failure notices of an aborted run without a report, and gaps if the reason is ``no_evidence``. On a terminal, lines
    are folded and the command has its own line."""
    message, command = (_in_pack(result), "") if session.packed else _words(session, result)
    above = [*report_notes(result), *_plan_awaiting_approval(result)]
    gaps = (
        [gap.description for gap in result.gaps if not gap.addressed]
        if result.reason == "no_evidence"
        else []
    )
    notice_names = () if result.report or result.status != "aborted" else _FAILURE_NOTICES
    notices = [notice.message for notice in result.notices if notice.name in notice_names]
    listed = [f"  - {phrases.line(each)}" for each in (*notices, *gaps[:_MAX_GAPS])]
    if len(gaps) > _MAX_GAPS:
        listed.append(f"  - and {len(gaps) - _MAX_GAPS} more")
    if sys.stderr is None or not sys.stderr.isatty():
        return [*above, f"{message} {command}".rstrip(), *listed]
    columns = terminal_size(sys.stderr).columns - 1
    folded = [part for line in listed for part in phrases.fold(line, columns, "    ")]
    return [
        *(part for line in above for part in phrases.fold(line, columns)),
        *phrases.fold(phrases.line(message), columns),
        *([command] if command else []),
        *folded,
    ]


def _plan_awaiting_approval(result: ResearchResult) -> list[str]:
    """The plan that waits for approval."""
    parking = result.state.parking
    if result.status != "parked" or parking is None or parking.kind is not ParkedKind.PLAN:
        return []
    return [phrases.line(line) for line in plan_lines(parking.about)]


def report_notes(result: ResearchResult) -> list[str]:
    """Return how much of the material reached the models, and which parts of the question the report answers."""
    return [line for line in (fidelity_line(result.fidelity), coverage_line(result)) if line]


def _in_pack(result: ResearchResult) -> str:
    """Describe the run in a pack; nobody can continue it there."""
    why = f" ({result.reason})" if result.reason else ""
    return f"The run in this pack is {result.status}{why}: {result.message or _counts(result)}"


def _words(session: Look, result: ResearchResult) -> tuple[str, str]:
    """Return the message and the command to run next."""
    resume = session.again("resume", result.research_id)
    match result.status:
        case "completed":
            return _completed_words(session, result)
        case "aborted":
            return _aborted_words(result, resume)
        case "parked":
            return _parked_words(result, resume, session.again("answer", result.research_id))
        case "interrupted":
            return f"Interrupted, with {_counts(result)} so far. Continue with:", resume
        case _:
            return f"{result.status.capitalize()}, with {_counts(result)} so far.", ""


def _parked_words(result: ResearchResult, resume: str, answer: str) -> tuple[str, str]:
    """A hook, a plan or a cap waits for the user's answer; after an outage or a pause a later `resume` is enough."""
    parking = result.state.parking
    sentence = f"Parked: the run waits for {result.message or 'an answer'}"
    sentence = sentence if sentence.endswith(".") else f"{sentence}."
    if not resume:
        return sentence, ""
    if parking is not None and parking.kind is ParkedKind.PLAN:
        return (
            f"{sentence} Answer with approve, no, an edited list as JSON, or a sentence to plan again:",
            f"{answer} approve",
        )
    if parking is not None and parking.kind is ParkedKind.BUDGET:
        name, enough = parking.about["name"], parking.about["estimate"]
        value = json.dumps({name: enough if enough is not None else "N"}).replace('"N"', "N")
        return f"{sentence} Answer with a higher cap, or with report, such as:", f"{answer} '{value}'"
    if parking is not None and result.state.question is None:
        when = f" from {parking.until.astimezone():%H:%M} on" if parking.until else " later"
        return f"{sentence} Continue{when} with:", resume
    return f"{sentence} Answer with:", f"{resume} --answer TEXT"


def _completed_words(session: Look, result: ResearchResult) -> tuple[str, str]:
    counts = result.report_metadata.claims if result.report_metadata else None
    claims = claims_line(counts, verbatim=not result.state.own_words)
    figures = ", ".join(filter(None, (_counts(result), claims)))
    sentence = f"{_ANSWERED[result.answer_coverage]}: {figures}.{_model_usage(result)}"
    sentence += f" {result.message}" if result.message else ""
    sentence += f" Report in {session.args.out}." if session.args.out else ""
    show = session.again("show", result.research_id)
    return (f"{sentence} Show it again with:", show) if show else (sentence, "")


def _aborted_words(result: ResearchResult, resume: str) -> tuple[str, str]:
    partial = f"A partial report was written from {_counts(result)}." if result.report else ""
    sentence = " ".join(filter(None, (f"Aborted ({result.reason}):", result.message, partial)))
    if result.state.question and resume:
        return f"{sentence} Answer and continue with:", f"{resume} --answer TEXT"
    advice, resumable = _ADVICE.get(result.reason or "", ("", False))
    if result.reason == "no_evidence" and result.state.phase is DeepResearchPhase.SYNTHESIS:
        advice = "Lower --strict, or add documents. The log has the draft."
    if result.reason == "no_evidence" and _all_searches_failed(result):
        advice, resumable = "Fix this, then continue with:", True
    if result.reason == "budget":
        advice, flags = _caps_to_raise(result)
        if flags and resume:
            return f"{sentence} {advice}", f"{resume} {' '.join(f'{flag} N' for flag in flags)}"
    if resumable and not resume:
        return sentence, ""
    run_id = "" if resumable else f"(run {result.research_id})"
    return " ".join(filter(None, (sentence, advice, run_id))), resume if resumable else ""


def _all_searches_failed(result: ResearchResult) -> bool:
    """Whether every search failed, so that rewording the question does not help."""
    searches = result.state.sub_queries
    return bool(searches) and all(s.status is SubQueryStatus.FAILED for s in searches)


def _caps_to_raise(result: ResearchResult) -> tuple[str, list[str]]:
    """Return the advice, and the flags of the caps to raise."""
    reached = dict.fromkeys(limit.of_cap for limit in result.limits if not limit.is_shared)
    shared = dict.fromkeys(limit.of_cap for limit in result.limits if limit.is_shared)
    if shared and not reached:
        return f"Raise {' and '.join(shared)} of the shared budget, then run again.", []
    caps = [name for name, cap in result.state.options.budget if cap is not None]
    flags = [_CAP_FLAGS.get(name, f"--set {name}=N") for name in reached or caps]
    also = f", and raise {' and '.join(shared)} of the shared budget" if shared else ""
    higher = f"a higher {' and '.join(flags) or 'cap'}{also}"
    if reached and all(name in _CAP_FLAGS for name in reached):
        return f"Continue under {higher}{',' * bool(also)} with:", flags
    return f"Run again with {higher}.", []


def _model_usage(result: ResearchResult) -> str:
    """Requests, tokens and cost of the models; empty if none was asked."""
    usage = result.usage
    if not usage.model_calls:
        return ""
    tokens = usage.input_tokens + usage.output_tokens
    cost = "price unknown" if usage.cost_usd is None else phrases.dollars(usage.cost_usd)
    at_most = "" if usage.tokens_known else "at most "
    return f" {phrases.count(usage.model_calls, 'request')} to models, {at_most}{tokens:,} tokens, {cost}."


def _counts(result: ResearchResult) -> str:
    return ", ".join(
        (
            phrases.count(len(result.sources), "source"),
            phrases.count(len(result.findings), "finding"),
            phrases.count(len(result.citations), "citation"),
        )
    )
