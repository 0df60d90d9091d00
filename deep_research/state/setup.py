"""Set-up of a run, as names and resolved values: enough to resume it, and to notice changes. It holds no secret, no
object and no path of the machine that it was made on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field

from deep_research.state.admission import UserContext
from deep_research.state.phases import ModelRole
from deep_research.state.records import Record

# The roles whose agents ask the model of all roles where they have none of their own.
ROLES = (
    ModelRole.PLANNER,
    ModelRole.ANALYZER,
    ModelRole.SYNTHESIZER,
    ModelRole.REFINER,
    ModelRole.SUPERVISOR,
    ModelRole.TASK_AGENT,
    ModelRole.REVIEWER,
)
# These roles ask a model only if one is named for them.
ROLES_WITH_OWN_MODEL_ONLY = (ModelRole.SUMMARIZER,)
_SHOWN_PRINT_CHARS = 8  # characters of a fingerprint
_PARTS = (
    "provider_id",
    "named_corpora",
    "user",
    "model",
    "models",
    "services",
    "corpora",
    "agents",
    "hooks",
    "supervisor",
    "pages",
    "gates",
    "tools",
    "data_sources",
)


class NamedChoice(Record):
    """A model or a search service by name. ``address`` is where it was asked, if not at its usual place; one with a login
    or a query in it is left out. Not ``by_name``: an object that somebody handed over, or a name of which a part is
    secret or a place on one machine and was left out, so that nothing can be made of it."""

    name: str
    address: str = ""
    by_name: bool = True


class CorpusChoice(Record):
    """A folder or file of documents: its name, and as ``fingerprint`` a hash of the relative paths and contents of all
    readable files. It is the same on every machine that has the same files."""

    name: str
    fingerprint: str = ""

    @property
    def line(self) -> str:
        return f"{self.name} ({self.fingerprint[:_SHOWN_PRINT_CHARS] or 'not read'})"


class SetUp(Record):
    """The set-up of a run. ``model`` is the chain for all roles, ``models`` those of roles that have their own;
    ``services`` are those that are searched, the preferred first. ``agents`` (by role), ``hooks``, ``supervisor`` and
    ``pages`` are the classes of what was handed over, and so are ``tools`` and ``data_sources`` by their names. ``gates``
    are policies by phase. ``provider_id`` is the model that this run alone was given, ``named_corpora`` the
    documents, and ``user`` the one it works for, where a directory knows the users. All other fields are
    settings, where group and member are joined with an underscore."""

    provider_id: str | None = None
    named_corpora: tuple[str, ...] = ()
    user: UserContext | None = None
    model: tuple[NamedChoice, ...] = ()
    models: dict[str, tuple[NamedChoice, ...]] = Field(default_factory=dict)
    services: tuple[NamedChoice, ...] = ()
    corpora: tuple[CorpusChoice, ...] = ()
    agents: dict[str, str] = Field(default_factory=dict)
    hooks: str | None = None
    supervisor: str | None = None
    pages: str | None = None
    gates: dict[str, str] = Field(default_factory=dict)
    tools: dict[str, str] = Field(default_factory=dict)
    data_sources: dict[str, str] = Field(default_factory=dict)

    local_only: bool = False
    fetch_enabled: bool = True
    max_rewordings: int = 1
    reflection: str = "on_failure"
    on_outage: str = "park"
    judge: str = "all"
    effort: dict[str, str] = Field(default_factory=dict)
    thinking_tokens: dict[str, int] = Field(default_factory=dict)
    revise_with_critic: bool = True
    reading_sections: bool = True
    reading_triage: bool = False
    reading_tokens: int = 100_000
    window_enabled: bool = True
    window_allow_dropping: bool = False
    window_safety_margin: float = 0.15
    window_runtime: str = "direct-api"
    window_runtime_overhead: int | None = None
    window_model_tokens: dict[str, int] = Field(default_factory=dict)
    summarization_timeout: float = 60.0
    summarization_cache: bool = True
    content_archive_enabled: bool = False

    def chains(self) -> dict[str, tuple[NamedChoice, ...]]:
        """Who is asked for each role that may ask a model. Texts are shortened by a model only where one is named for it;
        the analyzer's model judges unless one is named."""
        chains = {role.value: self.models.get(role.value) or self.model for role in ROLES}
        judge = ModelRole.JUDGE.value
        chains[judge] = (
            self.models.get(judge) or chains[ModelRole.ANALYZER.value] if self.judge != "off" else ()
        )
        return chains | {role.value: self.models.get(role.value, ()) for role in ROLES_WITH_OWN_MODEL_ONLY}

    def addresses(self) -> dict[str, str]:
        """Where each model and service is asked that has an address, by name."""
        chains = (self.model, *self.models.values(), self.services)
        return {choice.name: choice.address for chain in chains for choice in chain if choice.address}


SETTINGS = tuple(name for name in SetUp.model_fields if name not in _PARTS)


class Difference(Record):
    """``old`` is what the run has, ``new`` what the engine has that would go on with it."""

    what: str
    old: str
    new: str

    @property
    def line(self) -> str:
        return f"{self.what} was {self.old} and is {self.new}"


def differences(old: SetUp, new: SetUp) -> tuple[Difference, ...]:
    """What is otherwise, but for the documents: see `corpus_differences`."""
    found = [
        *_of_models(old.chains(), new.chains()),
        *_one("search services", _names(old.services), _names(new.services)),
        *_by_key("agent of the {}", old.agents, new.agents),
        *_one("hooks", _text(old.hooks), _text(new.hooks)),
        *_one("supervisor", _text(old.supervisor), _text(new.supervisor)),
        *_one("reader of pages", _text(old.pages), _text(new.pages)),
        *_by_key("gate of {}", old.gates, new.gates),
        *_by_key("tool {}", old.tools, new.tools),
        *_by_key("data source {}", old.data_sources, new.data_sources),
    ]
    for name in SETTINGS:
        found += _one(name, _text(getattr(old, name)), _text(getattr(new, name)))
    return tuple(found)


def moved(old: SetUp, new: SetUp) -> tuple[str, ...]:
    """The models and services that are asked at another address than they were: a server may have moved, and still be the
    same."""
    was_at, is_at = old.addresses(), new.addresses()
    return tuple(sorted(name for name in was_at.keys() & is_at.keys() if was_at[name] != is_at[name]))


class CorpusComparison(Record):
    """``changed`` are the names of those whose files are others than they were, in the same folder."""

    differences: tuple[Difference, ...] = ()
    changed: tuple[str, ...] = ()


def corpus_differences(
    old: Sequence[CorpusChoice],
    old_places: Sequence[str],
    new: Sequence[CorpusChoice],
    new_places: Sequence[str],
) -> CorpusComparison:
    """Documents are the same where their contents are, wherever they stand, and where they stand in the same folder,
    whatever has become of its files. Names tell several folders apart: addresses begin with them."""
    alone = len(old) == len(new) == 1
    before = {"" if alone else corpus.name: corpus for corpus in old}
    after = {"" if alone else corpus.name: corpus for corpus in new}
    other = Difference(what="documents", old=_lines(old), new=_lines(new))
    if before.keys() != after.keys():
        return CorpusComparison(differences=(other,))
    was_at = dict(zip(before, old_places, strict=False))
    is_at = dict(zip(after, new_places, strict=False))
    changed = [key for key in before if before[key].fingerprint != after[key].fingerprint]
    if any(not was_at.get(key) or was_at[key] != is_at.get(key) for key in changed):
        return CorpusComparison(differences=(other,))
    return CorpusComparison(changed=tuple(after[key].name for key in changed))


def _of_models(
    old: Mapping[str, Sequence[NamedChoice]], new: Mapping[str, Sequence[NamedChoice]]
) -> Iterable[Difference]:
    """One for each pair of chains, with all its roles: that of most runs is one for all roles."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for role in old:
        pair = _names(old[role]), _names(new[role])
        if pair[0] != pair[1]:
            pairs.setdefault(pair, []).append(role)
    for (was, now), roles in pairs.items():
        every = set(roles) >= set(ROLES)
        yield Difference(what="model" if every else f"model of the {_listed(roles)}", old=was, new=now)


def _by_key(what: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterable[Difference]:
    for key in sorted(old.keys() | new.keys()):
        yield from _one(what.format(key), _text(old.get(key)), _text(new.get(key)))


def _one(what: str, old: str, new: str) -> Iterable[Difference]:
    return [Difference(what=what, old=old, new=new)] if old != new else []


def _names(choices: Sequence[NamedChoice]) -> str:
    return ", then ".join(choice.name for choice in choices) or "none"


def _lines(corpora: Sequence[CorpusChoice]) -> str:
    return _listed([corpus.line for corpus in corpora]) or "none"


def _listed(names: Sequence[str]) -> str:
    *most, last = names or ("",)
    return f"{', '.join(most)} and {last}" if most else last


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return _listed([f"{name} {number}" for name, number in sorted(value.items())]) or "none"
    return "none" if value is None else str(value)
