"""The last words on a run: how it stands, what it has, and what can be done next."""

from __future__ import annotations

import sys

from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.session import Session
from deep_research.research import ResearchResult

# What to do about an aborted run. {resume} is the command that takes it up again.
_ADVICE = {
    "cancelled": "Go on with: {resume}",
    "timeout": "Go on with: {resume}",
    "budget": "Ask again with a higher --max-searches or --max-seconds.",
    "no_evidence": "Ask in other words, or give more documents with --corpus.",
    "config": "Correct the setting, then: {resume}",
    "error": "Try again with: {resume}",
}
_MOST_GAPS = 10


def closing(session: Session, result: ResearchResult) -> list[str]:
    """One line, and the gaps below it when there was no evidence. A terminal gets it folded, commands whole."""
    lines = [_line(session, result)]
    if result.reason == "no_evidence":
        gaps = [gap.description for gap in result.gaps if not gap.addressed]
        lines += [f"  - {gap}" for gap in gaps[:_MOST_GAPS]]
        if len(gaps) > _MOST_GAPS:
            lines.append(
                f"  … and {len(gaps) - _MOST_GAPS} more: {session.again('show', result.research_id)}"
            )
    if sys.stderr is None or not sys.stderr.isatty():
        return lines
    columns = text.size(sys.stderr).columns - 1
    return [part for line in lines for part in text.fold(text.line(line), columns, "  ")]


def _line(session: Session, result: ResearchResult) -> str:
    resume = session.again("resume", result.research_id)
    match result.status:
        case "completed":
            return f"Completed: {_counts(result)}. {_where(session, result)}"
        case "aborted":
            advice = _ADVICE.get(result.reason or "", "{resume}").format(resume=resume)
            partial = f" A partial report was written from {_counts(result)}." if result.report else ""
            return f"Aborted ({result.reason}): {result.message or ''}{partial} {advice} (run {result.research_id})"
        case "parked":
            answer = f"Answer with: {resume} --answer TEXT" if resume else ""
            return f"Parked: the run waits for {result.message or 'an answer'}. {answer}"
        case "interrupted":
            return f"Interrupted, with {_counts(result)} so far. Go on with: {resume}"
        case _:
            return f"{result.status.capitalize()}, with {_counts(result)} so far (run {result.research_id})."


def _where(session: Session, result: ResearchResult) -> str:
    written = f"Report in {session.args.out}. " if session.args.out else ""
    show = session.again("show", result.research_id)
    return f"{written}Show it again with: {show}" if show else f"{written}(run {result.research_id})"


def _counts(result: ResearchResult) -> str:
    return ", ".join(
        (
            text.count(len(result.sources), "source"),
            text.count(len(result.findings), "finding"),
            text.count(len(result.citations), "citation"),
        )
    )
