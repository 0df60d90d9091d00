"""The parts of one engine for every set-up that its runs have."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deep_research.assembly.engine_arguments import EngineArguments
from deep_research.assembly.engine_parts import Parts, assemble
from deep_research.assembly.named_corpora import corpus_paths
from deep_research.errors import ConfigurationError, CorpusError, SetUpError, UnknownNameError
from deep_research.setting_fields import value_at, with_values
from deep_research.settings import ResolvedSettings, Settings, path_of
from deep_research.sources.search.service_choice import CORPUS
from deep_research.state import ModelRole, NamedChoice, Notice, Permissions, SetUp
from deep_research.state.journal import Clock, utc_now
from deep_research.state.setup import SETTINGS, Difference, corpus_differences, differences, moved

_OF_MODELS = ("model", "models", "cheap_model", "summarization.model")
_OF_WINDOWS = ("window.runtime", "window.runtime_overhead")  # what one means depends on the other
SET_UP = "setup"  # the limit of a run that went on with another set-up
CHANGED = "corpus"  # the limit of documents that are not what they were when the run began
_CHANGED = "The documents in '{}' have changed since the run began; what it had read before stays as it was."
_HINT = (
    "Pass the same values and objects as before, or continue with the new set-up: "
    '--with-new-setup (setup="new").'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePlan:
    """How a run is gone on with. ``change`` is its new set-up, where that is another; ``notices`` tell what is otherwise;
    ``places`` are where its documents are now."""

    change: SetUp | None = None
    notices: tuple[Notice, ...] = ()
    places: tuple[str, ...] = ()


class EngineVariants:
    """The parts of an engine: its ``own``, and those for runs that are set up otherwise, which are made when they are
    first needed, share the store and the processes of its own, and are let go of with it. Thread-safe.

    A part of the set-up counts as *named* by the engine's maker where an object or a name was handed over for it, or
    where one of its settings came from anywhere but the defaults: an argument, a variable, a file, a preset. What is not
    named is taken from the run. Objects are never taken from a run: no name makes them.
    """

    def __init__(
        self, resolved: ResolvedSettings, arguments: EngineArguments, clock: Clock = utc_now
    ) -> None:
        self._origins = resolved.origins
        self._folder_file = resolved.folder_file
        self._arguments = arguments
        self._clock = clock
        self._gate = threading.Lock()
        self.own = assemble(resolved.settings, arguments, clock=clock)
        self._cache: dict[tuple[object, ...], Parts] = {}

    def __iter__(self) -> Iterator[Parts]:
        with self._gate:
            return iter([self.own, *self._cache.values()])

    def of_options(
        self,
        provider_id: str | None = None,
        corpora: Sequence[str] = (),
        permissions: Permissions | None = None,
    ) -> Parts:
        """For a run that was given a model or documents of its own, or whose user may not use all there is. All its
        agents ask that model. Raises `UnknownNameError` for a corpus that has no name here, and as `assemble`."""
        settings, arguments = self.own.settings, self._arguments
        if permissions is not None and permissions != arguments.permissions:
            arguments = replace(arguments, permissions=permissions)
        if corpora:
            arguments = replace(arguments, corpora=tuple(corpora))
            settings = with_values(settings, {"corpus": corpus_paths(settings, corpora)})
        if provider_id is not None:
            of_all = ModelRole.SUMMARIZER.value  # who shortens texts is no agent, and asked for its price
            more = arguments.models
            own_models = {role: chain for role, chain in settings.models.items() if role == of_all}
            settings = with_values(settings, {"model": (provider_id,), "models": own_models})
            arguments = replace(
                arguments,
                provider_id=provider_id,
                model=None,
                models=more and {role: chain for role, chain in more.items() if role == of_all},
            )
        return self.own if arguments is self._arguments else self._parts(settings, arguments)

    def of_run(self, setup: SetUp | None, places: Sequence[str], *, new: bool = False) -> Parts:
        """To go on with a run of that set-up: what was named is the caller's, all else the run's, as far as names can
        make it. ``places`` are where the run has its documents; ``new``: it may get another set-up.

        Raises `CorpusError` where its documents are gone, and as `assemble`; `SetUpError` where that is because something
        is otherwise; `SettingsError` where the run reaches out of the folder that its database came with.
        """
        if setup is None:
            return self.own
        model = None if new and self._names(*_OF_MODELS) else setup.provider_id
        self._check_reach({"model": model})
        base = self.of_options(model, setup.named_corpora, _permissions_of(setup))
        is_corpus_known = bool(setup.named_corpora) or self._names("corpus") or not setup.corpora
        if not differences(setup, base.setup) and is_corpus_known:
            return base
        settings, arguments = self._merge(setup, base, places, new=new)
        try:
            return self._parts(settings, arguments)
        except (ConfigurationError, UnknownNameError):
            # Two parts that do not go together, of which one is the run's: that they differ says more.
            _refuse(differences(setup, _foreseen(setup, base, settings)), new=new)
            raise

    def refuse(self, parts: Parts, setup: SetUp | None, *, new: bool = False) -> None:
        """Where parts cannot be used at all: that they are not those of the run says more. Raises `SetUpError`."""
        if setup is not None:
            _refuse(differences(setup, parts.setup), parts, new=new)

    def going(
        self, parts: Parts, setup: SetUp | None, places: Sequence[str], *, new: bool = False
    ) -> ResumePlan:
        """Compares what the run had with what it is gone on with, once the documents are read. Raises `SetUpError`."""
        now, is_at = parts.set_up_now, parts.places
        if setup is None:
            notice = Notice(name=SET_UP, message="The set-up of the run before it was resumed is unknown.")
            return (
                ResumePlan(change=now, notices=(notice,), places=is_at) if new else ResumePlan(places=is_at)
            )
        corpora = corpus_differences(setup.corpora, places, now.corpora, is_at)
        changes = (*differences(setup, now), *corpora.differences)
        _refuse(changes, parts, new=new)
        elsewhere = moved(setup, now)
        notices = [
            *(Notice(name=CHANGED, message=_CHANGED.format(name)) for name in corpora.changed),
            *(
                Notice(name=SET_UP, message=f"The run continued with {name} at another address.")
                for name in elsewhere
            ),
        ]
        if changes:
            notices.append(
                Notice(name=SET_UP, message=f"The run continued with another set-up: {_lines(changes)}.")
            )
        return ResumePlan(change=now if changes or elsewhere else None, notices=tuple(notices), places=is_at)

    async def disconnect(self) -> None:
        """Lets go of the connections of the running loop."""
        for parts in self:
            await parts.disconnect()

    def _names(self, *settings: str) -> bool:
        """Whether one of the settings, or an object in its place, was named: see the class."""
        return any(
            self._origins[name] != "default" or getattr(self._arguments, name, None) is not None
            for name in settings
        )

    def _check_reach(self, values: Mapping[str, Any]) -> None:
        """What is taken from a run of a database that the folder's file names may come from anybody, as the file. Raises
        `SettingsError`."""
        if self._folder_file is not None and "data_dir" in self._folder_file.in_force:
            self._folder_file.check(values, "the set-up of this run")

    def _merge(
        self, setup: SetUp, base: Parts, places: Sequence[str], *, new: bool
    ) -> tuple[Settings, EngineArguments]:
        own_model = base.setup.provider_id
        arguments = replace(
            self._arguments,
            provider_id=own_model,
            corpora=setup.named_corpora,
            permissions=_permissions_of(setup),
        )
        values: dict[str, Any] = {}
        if (
            own_model is None
            and not self._names(*_OF_MODELS)
            and _can_be_made(setup.model, *setup.models.values())
        ):
            values |= {
                "model": _full(setup.model),
                "models": {role: _full(chain) for role, chain in setup.models.items()},
            }
        if not self._names("search") and _can_be_made(setup.services):
            values["search"] = tuple(service.name for service in setup.services) or (CORPUS,)
        if not self._names("search_urls"):
            values["search_urls"] = {each.name: each.address for each in setup.services if each.address}
        if not self._names("corpus") and setup.corpora and not setup.named_corpora:
            values |= _standing(setup, places, new=new)
        for name in SETTINGS:
            path = path_of(name)
            if not self._names(*(_OF_WINDOWS if path in _OF_WINDOWS else (path,))):
                values[path] = getattr(setup, name)
        self._check_reach(values)
        return with_values(base.settings, values), replace(
            arguments, gates=dict(setup.gates) if arguments.gates is None else arguments.gates
        )

    def _parts(self, settings: Settings, arguments: EngineArguments) -> Parts:
        objects = (
            arguments.model is None,
            arguments.models is None,
            arguments.provider_id,
            arguments.corpora,
            repr(arguments.gates),
            repr(arguments.permissions),
        )
        key = (repr(settings), *objects)
        with self._gate:
            if key not in self._cache:
                self._cache[key] = assemble(settings, arguments, clock=self._clock, beside=self.own)
            return self._cache[key]


def _permissions_of(setup: SetUp) -> Permissions:
    return setup.user.permissions if setup.user is not None else Permissions()


def _can_be_made(*chains: Sequence[NamedChoice]) -> bool:
    return all(choice.by_name for chain in chains for choice in chain)


def _full(models: Sequence[NamedChoice]) -> tuple[str, ...]:
    """With their addresses, as they are named in settings."""
    return tuple(f"{each.name}@{each.address}" if each.address else each.name for each in models)


def _standing(setup: SetUp, places: Sequence[str], *, new: bool) -> dict[str, Any]:
    """The folders where the run had them. Raises `CorpusError`."""
    if len(places) == len(setup.corpora) and all(place and Path(place).exists() for place in places):
        return {"corpus": tuple(map(Path, places))}
    if new:
        return {}
    missing = [
        f"'{corpus.name}'" + (f", which was {place}" if place else "")
        for corpus, place in zip(setup.corpora, (*places, *[""] * len(setup.corpora)), strict=False)
        if not (place and Path(place).exists())
    ]
    raise CorpusError(
        f"The documents of the run have moved: {'; '.join(missing)}.",
        hint="Name all folders of the run: --corpus PATH (corpus=…). To search other documents instead, add: "
        '--with-new-setup (setup="new").',
    )


def _foreseen(setup: SetUp, base: Parts, settings: Settings) -> SetUp:
    """The set-up that parts would have which cannot be made, as far as it is known without making them."""
    of_objects = {name: getattr(base.setup, name) for name in ("agents", "hooks", "pages", "supervisor")}
    return setup.model_copy(
        update=of_objects | {name: value_at(settings, path_of(name)) for name in SETTINGS}
    )


def _refuse(differences: Sequence[Difference], parts: Parts | None = None, *, new: bool) -> None:
    """Raises `SetUpError`."""
    if new or not differences:
        return
    missing = [str(error) for error in parts.sources.missing] if parts else []
    raise SetUpError(
        " ".join((f"The run began with another set-up: {_lines(differences)}.", *missing)),
        hint=_HINT,
        differences=[difference.model_dump() for difference in differences],
    )


def _lines(differences: Sequence[Difference]) -> str:
    return "; ".join(difference.line for difference in differences)
