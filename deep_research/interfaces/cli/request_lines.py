"""Where requests go, and which settings the folder brings, as `doctor` lists it and as a run says it at its start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from deep_research.errors import DeepResearchError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.check import NOTE, OK, Check
from deep_research.settings import ResolvedSettings, Settings

if TYPE_CHECKING:
    from deep_research.assembly import Destination

NAME = "requests"


def requests(settings: Settings) -> Iterator[Check]:
    """One line for each server that a run asks; a note where a key goes to another server than its service's own."""
    from deep_research.assembly import destinations, make_models
    from deep_research.interfaces.cli.doctor_search import chosen_services

    with suppress(
        DeepResearchError
    ):  # a name or a key that is wrong was told with the models and the services
        services = () if settings.local_only else chosen_services(settings).services
        for each in destinations(settings, make_models(settings), services):
            is_note = each.is_stranger and each.key
            yield Check(NAME, NOTE if is_note else OK, _detail(each))


def requests_note(found: Sequence[Destination], *, every: bool) -> list[str]:
    """A line, folded, that says which servers a run asks: ``every`` one, or those alone that are not their service's own.
    None where there is none to name, or all of them are this machine and get no key."""
    named = [each for each in found if every or each.is_stranger]
    if all(each.is_here and not each.key for each in named):
        return []
    keys_by_server = dict.fromkeys((each.server, f" with {each.key}" if each.key else "") for each in named)
    places = ", ".join(f"{server}{key}" for server, key in keys_by_server)
    return text.fold(f"Requests go to {places}.", text.COLUMNS, indent="  ")


def folder_file_line(found: ResolvedSettings) -> str:
    """Which settings are those of a file that nobody named; "" where none is."""
    if (file := found.folder_file) is None:
        return ""
    names = [name for name in Settings.model_fields if name in file.in_force]
    return f"Settings from {file.where} of this folder: {', '.join(names)}."


def _detail(destination: Destination) -> str:
    key = f", with {destination.key}" if destination.key else ""
    return f"{destination.server} for {', '.join(destination.uses)}{key}"
