"""`chat`: questions that are read after one another, and the answers."""

from __future__ import annotations

from datetime import datetime

from deep_research.errors import ConfigurationError, DeepResearchError
from deep_research.interfaces.cli.console import Exit, of_error, of_run
from deep_research.interfaces.cli.plan_editor import InputLines, at_a_terminal
from deep_research.interfaces.cli.run_command import answered_before_user
from deep_research.interfaces.cli.session import Session, command_line
from deep_research.interfaces.cli.summary import conclude
from deep_research.presentation import phrases
from deep_research.report.reference_marks import reference_marks
from deep_research.research import ResearchResult
from deep_research.research.sessions import checked_session

MAX_TURNS = 10_000  # of one call of the command
_PROMPT = "> "
_ENDS = ("quit", "exit")


async def chat(session: Session) -> int:
    """Ask what is typed until the end of the input, and give the exit code of the last question where nobody sits at a
    terminal. An error of one question does not end the chat, but for one of the set-up. Raises `ConfigurationError`."""
    args = session.args
    name = checked_session(args.session or f"chat-{datetime.now():%Y%m%d-%H%M%S}")
    lines, at_terminal = InputLines(), at_a_terminal(session)
    if at_terminal:
        session.console.note(f"Session {name}. An empty line, quit or Ctrl-D ends it.")
    code = Exit.COMPLETED
    for _ in range(MAX_TURNS):
        if at_terminal:
            session.console.draw(_PROMPT)
        line = await lines.next()
        if line is None or line.strip().casefold() in (("", *_ENDS) if at_terminal else _ENDS):
            break
        if line.strip():
            code = await _turn(session, name, line)
    if session.talks and session.settings.store != "memory":
        session.console.note(f"Continue with: {command_line(args, 'chat', f'--session={name}')}")
    return Exit.COMPLETED if at_terminal else code


async def _turn(session: Session, name: str, question: str) -> Exit:
    options = {"session_id": name, "user_id": session.args.user, "depth": session.args.depth or "auto"}
    try:
        result = await answered_before_user(session, question, options)
    except ConfigurationError:
        raise
    except DeepResearchError as error:
        session.console.error(error.code, error.problem, error.hint)
        return of_error(error)
    code = of_run(result.status, result.reason)
    if session.args.json:
        turns = await session.engine.asession_turns(name, user_id=session.args.user)
        own = [turn for turn in turns if turn.research_id == result.research_id]
        session.console.print("\n".join(turn.model_dump_json() for turn in own))
        return code
    resolution = result.state.resolution
    if resolution is not None and resolution.question != resolution.user_message and at_a_terminal(session):
        # The picture of the run, where it stood, is gone with its end.
        session.console.note(f"Question: {resolution.question}")
    if result.answer:
        session.console.print_report("\n".join([result.answer, "", *_sources(result)]))
    if result.status != "completed":
        conclude(session, result)
    return code


def _sources(result: ResearchResult) -> list[str]:
    """A line for each source that the answer cites."""
    answer = result.answer or ""
    numbers = {citation.number: citation.source_id for citation in result.citations}
    cited_numbers = {mark.number for mark in reference_marks(answer, list(numbers))}
    sources = {source.id: source for source in result.sources}
    lines = []
    for number in sorted(cited_numbers):
        source = sources[numbers[number]]
        lines.append(f"[{number}] {phrases.line(source.title)}{f', {source.url}' if source.url else ''}  ")
    return lines
