"""`assist`: a request that takes more than research, carried out by the capabilities that are found."""

from __future__ import annotations

import asyncio
import json
import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from deep_research.capabilities import (
    Capability,
    CapabilityPlan,
    CapabilitySupervisor,
    Discovery,
    DocumentCreator,
    LocalResearch,
    PlanFolder,
    PlanStatus,
    adiscover,
    read_services,
)
from deep_research.capabilities.document_creator import check_replaceable
from deep_research.capabilities.document_files import FORMATS
from deep_research.capabilities.research_contract import RESEARCH, ResearchData
from deep_research.errors import CapabilityError, StoreError, UnknownNameError, UsageError
from deep_research.interfaces.cli.console import Exit
from deep_research.interfaces.cli.session import InputLines, Session, command_line
from deep_research.models.language_model import LanguageModel
from deep_research.presentation import phrases
from deep_research.state import ModelRole

MAX_DESCRIPTION_CHARS = 200
DOCUMENTS = "documents"  # the folder of the data directory
_EXITS = {
    PlanStatus.COMPLETED: Exit.COMPLETED,
    PlanStatus.WAITING: Exit.PARKED,
    PlanStatus.FAILED: Exit.FAILED,
}


def check(args: Namespace) -> None:
    """Raises `UsageError`."""
    if args.format is not None and args.format not in FORMATS:
        raise UnknownNameError.of("format", args.format, FORMATS)
    if args.out is not None:
        _check_out(args)
    actions = [name for name in ("request", "resume", "list", "delete") if getattr(args, name)]
    if len(actions) != 1:
        raise UsageError(
            "assist needs a request, --resume PLAN, --delete PLAN or --list.", hint="Give one of these."
        )
    if args.plan is not None and args.resume:
        raise UsageError("A resumed plan keeps its steps.", hint="Remove --plan.")
    if args.plan is not None and not args.plan.replace(",", " ").split():
        raise UsageError("--plan names no capability.", hint="For example: --plan research,create_document")


def _check_out(args: Namespace) -> None:
    path = Path(args.out)
    ending = {"htm": "html"}.get(path.suffix.lstrip(".").lower(), path.suffix.lstrip(".").lower())
    if ending not in FORMATS:
        raise UsageError(
            f"--out {args.out} does not end with .html or .docx.", hint="Change the ending of the file name."
        )
    if args.format is not None and args.format != ending:
        raise UsageError(f"--out {args.out} is no {args.format}.", hint="Remove --format.")
    try:
        check_replaceable(path)
    except CapabilityError as error:
        raise UsageError(error.problem, hint=error.hint) from None


async def assist(session: Session) -> int:
    """Carry out a plan, or go on with one. Raises `UsageError`, `ConfigurationError`, `StoreError`."""
    args = session.args
    plans = PlanFolder(session.settings.data_dir)
    if args.list or args.delete:
        await (_list(session, plans) if args.list else asyncio.to_thread(plans.delete, args.delete))
        return Exit.COMPLETED
    discovery = await _discovered(session)
    progress = _Progress(session, discovery)
    supervisor = CapabilitySupervisor(
        discovery.capabilities,
        plans,
        planner=None if args.resume or args.plan is not None else _planner(session),
        approve=_Approval(session) if session.is_at_terminal else None,
        on_change=progress,
    )
    try:
        if args.resume:
            plan = await supervisor.aresume(args.resume, approve=args.approve)
        else:
            steps = args.plan.replace(",", " ").split() if args.plan is not None else None
            plan = await supervisor.arun(args.request, steps=steps, approve=args.approve)
    except asyncio.CancelledError:
        if progress.plan_id:
            session.console.note(f"Continue with: {_again(args, progress.plan_id)}")
        raise
    return _conclude(session, plan)


async def _discovered(session: Session) -> Discovery:
    args = session.args
    engine = session.engine
    target = _target(session)
    services = read_services(Path(args.agents)) if args.agents else []
    research = LocalResearch(engine)
    discovery = await adiscover(services, local=[research], local_only=session.settings.local_only)
    # The id of a message is that of a run of this engine only where this engine made it.
    own = discovery.capabilities.get(RESEARCH) is research
    creator = DocumentCreator(target, format=args.format, report_of=engine.areport if own else None)
    own_documents = {creator.name: creator} if args.out or args.format else {}
    capabilities: dict[str, Capability] = {creator.name: creator, **discovery.capabilities, **own_documents}
    for line in discovery.notes if session.talks else ():
        session.console.note(line)
    return Discovery(capabilities, discovery.notes)


def _target(session: Session) -> Path:
    """Where documents are written: the file that is named, else a folder."""
    if session.args.out:
        return Path(session.args.out).absolute()
    return session.settings.data_dir / DOCUMENTS


def _planner(session: Session) -> LanguageModel | None:
    from deep_research.assembly import make_models

    roles = make_models(session.settings)
    chain = roles.chain_of(ModelRole.PLANNER)
    return roles.pool.language_model(chain) if chain else None


class _Approval:
    """Asks at the terminal before a capability is called that changes or sends something."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def __call__(self, plan: CapabilityPlan, capability: Capability) -> bool:
        where = "" if capability.place == "here" else f" at {capability.place}"
        again = " An earlier call was interrupted and may have had its effect." if plan.calling else ""
        about = phrases.line(capability.description)[:MAX_DESCRIPTION_CHARS]
        self._session.console.note(f"{capability.name}{where} describes itself as: “{about}”{again}")
        self._session.console.note(f"It gets the request and the {len(plan.messages)} messages of the plan.")
        self._session.console.draw("Go ahead? [y/N] ")
        answer = await InputLines().next()
        return (answer or "").strip().casefold() in ("y", "yes")


class _Progress:
    """A line for each step of a plan."""

    def __init__(self, session: Session, discovery: Discovery) -> None:
        self._session = session
        self._discovery = discovery
        self._printed_keys: set[str] = set()
        self.plan_id = ""

    def __call__(self, plan: CapabilityPlan) -> None:
        self.plan_id = plan.id
        if not self._session.talks:
            return
        self._note("plan", f"{plan.id}: {', '.join(plan.steps) or 'nothing to do'}")
        capability = self._discovery.capabilities.get(plan.next)
        if plan.calling and capability is not None and plan.status is PlanStatus.RUNNING:
            where = "" if capability.place == "here" else f" at {capability.place}"
            again = f", again ({plan.retries[plan.next]})" if plan.retries.get(plan.next) else ""
            self._note(f"call {plan.index} {again}", f"{plan.next}{where}{again} …")
        elif plan.completed:
            self._note(f"done {len(plan.completed)}", f"{plan.completed[-1]}: completed")

    def _note(self, key: str, line: str) -> None:
        if key not in self._printed_keys:
            self._printed_keys.add(key)
            self._session.console.note(line)


async def _list(session: Session, plans: PlanFolder) -> None:
    entries: list[CapabilityPlan] = []
    for plan_id in await asyncio.to_thread(plans.ids):
        try:
            entries.append(await asyncio.to_thread(plans.read, plan_id))
        except StoreError as error:
            session.console.error(error.code, error.problem, error.hint)
    fields = {"id", "request", "steps", "index", "status", "message"}
    records = [plan.model_dump(mode="json", include=fields) for plan in entries]
    rows = [("PLAN", "STATUS", "REQUEST")]
    rows += [(plan.id, plan.status.value, phrases.line(plan.request)) for plan in entries]
    session.console.print_rows(session.args, records, rows, "No plans yet.")


def _conclude(session: Session, plan: CapabilityPlan) -> int:
    console, args = session.console, session.args
    if args.json:
        console.print(plan.model_dump_json())
    else:
        for capability in dict.fromkeys(plan.completed):
            console.print(_outcome(capability, plan.data(capability)))
        if not plan.completed and plan.reply:
            console.print(plan.reply)
    if plan.status in (PlanStatus.WAITING, PlanStatus.FAILED):
        flag = f" --approve {plan.next}" if plan.status is PlanStatus.WAITING else ""
        console.note(plan.message)
        console.note(f"Continue with: {_again(args, plan.id)}{flag}")
    return _EXITS.get(plan.status, Exit.FAILED)


def _again(args: Namespace, plan_id: str) -> str:
    """The command that goes on with a plan, with what the plan does not keep."""
    options = [(flag, getattr(args, flag)) for flag in ("agents", "out", "format")]
    more = [word for flag, value in options if value for word in (f"--{flag}", value)]
    return shlex.join([*shlex.split(command_line(args, "assist", f"--resume={plan_id}")), *more])


def _outcome(capability: str, data: dict[str, Any]) -> str:
    """What a capability made, as text; of one that is not known here its data."""
    if capability == RESEARCH:
        try:
            summary = ResearchData.model_validate(data).research_summary
        except ValidationError:
            pass
        else:
            points = [f"- {point}" for point in summary.key_points if point not in summary.summary]
            sources = [f"[{number}] {source}" for number, source in enumerate(summary.sources, 1)]
            parts = (summary.summary, "\n".join(points), "\n".join(sources))
            return "\n\n".join(part for part in parts if part) + "\n"
    if capability == DocumentCreator.name and isinstance(document := data.get("document"), dict):
        return f"Document: {document.get('path')}"
    return f"{capability}: {json.dumps(data, ensure_ascii=False)}"
