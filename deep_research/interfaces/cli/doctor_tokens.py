"""What `doctor` says of tokens: how much each role's model can be sent, who shortens texts, and what is archived."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from deep_research.errors import DeepResearchError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.check import BROKEN, NOTE, OK, Check
from deep_research.settings import Settings
from deep_research.state import ModelRole
from deep_research.state.setup import NAMED

if TYPE_CHECKING:
    from deep_research.budget.metered import ModelRoles

LEAST = 0.25  # of a window, below which what is left of it for content is told
NAME = "tokens"


def tokens(settings: Settings) -> Iterator[Check]:
    """One line for each role that has a model, and one for shortening texts."""
    from deep_research.assembly import make_models
    from deep_research.assembly.run_estimate import answer_tokens

    if not settings.model and not settings.models:
        yield Check(NAME, OK, "no model is chosen, and without one nothing has to fit a window")
        return
    roles = make_models(settings)
    alike: dict[Check, list[str]] = {}
    for role, most in answer_tokens(settings.report_words).items():
        if roles.by_role.get(role) or (roles.chain and role not in NAMED):
            try:
                found = _window(roles, role, most, settings)
            except DeepResearchError as error:
                found = Check(NAME, BROKEN, str(error))
            alike.setdefault(found, []).append(role.value)
    for found, of in alike.items():
        yield Check(NAME, found.state, f"{', '.join(of)}: {found.detail}")
    # A name that is wrong there was told with the role of the summarizer.
    with suppress(DeepResearchError):
        yield _shortening(roles, settings)


def archive(settings: Settings) -> Iterator[Check]:
    """One line for the archive of what is left out, and what is wrong with it."""
    from deep_research.assembly import archive_folder, make_archive
    from deep_research.budget.recommendations import LARGE_ARCHIVE

    folder, name = archive_folder(settings), "archive"
    entries = make_archive(settings).list()
    if not entries and not settings.content_archive_enabled:
        yield Check(name, OK, "off: content_archive_enabled keeps the originals of what is left out")
        return
    size = sum(entry.size for entry in entries)
    kept = f"kept for {settings.content_archive_ttl_hours:g} hours"
    off = "" if settings.content_archive_enabled else "; content_archive_enabled is off"
    many = f"{text.count(len(entries), 'text')}, {text.in_bytes(size)}"
    yield Check(name, OK, f"{many} in {folder}, {kept}{off}")
    if size > LARGE_ARCHIVE:
        yield Check(name, NOTE, "it is large: lower content_archive_ttl_hours, then run archive clean")
    if settings.content_archive_enabled and not _can_be_written(folder):
        yield Check(name, BROKEN, f"{folder} cannot be written; set research_archive_dir to another folder")


def _window(roles: ModelRoles, role: ModelRole, most: int, settings: Settings) -> Check:
    from deep_research.phases.prompting import output_for

    model = roles.pool.language_model(roles.chain_of(role))
    window = roles.window(model.profile, output_for(model, most))
    origin = "runtime_overhead" if settings.runtime_overhead is not None else settings.runtime
    said = (
        f"{window.input:,} of the {window.context:,} tokens{_override(model.name, settings)} of {model.name} are for"
        f" content: overhead {window.overhead:,} ({origin}), answer {window.output:,}, margin {100 * window.margin:g} %"
    )
    if not window.input:
        remedy = "lower runtime_overhead, or choose a model with a larger window"
        return Check(NAME, BROKEN, f"{said}. No request can be made: {remedy}")
    if window.input >= LEAST * window.context:
        return Check(NAME, OK, said)
    return Check(NAME, NOTE, f"{said}. That is less than a quarter: lower runtime_overhead")


def _override(model: str, settings: Settings) -> str:
    given = any(map(model.startswith, settings.model_context_overrides))
    return " (model_context_overrides)" if given else ""


def _shortening(roles: ModelRoles, settings: Settings) -> Check:
    """Who chooses what is kept of texts that are too long."""
    if not settings.token_management_enabled:
        return Check(NAME, NOTE, "token_management_enabled is off: what does not fit a window fails")
    chain = roles.by_role.get(ModelRole.SUMMARIZER, ())
    who = ", then ".join(roles.pool.provider(name).name for name in chain)
    reading = f"a round reads {settings.reading_tokens:,} tokens of sources; more is shortened"
    return Check(NAME, OK, f"{reading} by {who}" if who else f"{reading} without a model")


def _can_be_written(folder: Path) -> bool:
    """Whether the folder, or the nearest above it that exists, is one that can be written."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
