"""`doctor`: what is installed, what works, and every setting with where it came from. Never raises, shows no
secret, and writes only the index of a corpus and, with ``--probe``, the models' probe results."""

from __future__ import annotations

import asyncio
import json
import platform
import re
import sqlite3
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING

from deep_research import __version__
from deep_research.errors import CorpusError, DeepResearchError, StoreError
from deep_research.interfaces.cli.console import Console, Exit
from deep_research.interfaces.cli.doctor_checks import (
    BROKEN,
    NOTE,
    OK,
    Check,
    archive,
    can_be_written,
    destination_checks,
    mcp_servers,
    models,
    nearest,
    search,
    windows,
)
from deep_research.interfaces.cli.session import folder_file_line, setting_arguments
from deep_research.logs import describe_error, get_log, redact, redact_value
from deep_research.presentation import phrases
from deep_research.setting_fields import value_at
from deep_research.settings import ResolvedSettings, Settings, load_settings

if TYPE_CHECKING:
    from deep_research.sources.documents import Skipped

_MAX_SKIPPED = 20
log = get_log("doctor")


def doctor(args: Namespace, console: Console) -> int:
    """Exit code 0 when nothing is broken."""
    resolved: list[ResolvedSettings] = []
    checks = _run_check("program", _program) + _run_check("sqlite", _sqlite)
    checks += _run_check("settings", partial(_settings, args, resolved))
    for effective in resolved:
        settings, probe = effective.settings, args.probe
        looks = {
            "data directory": _data_dir(settings),
            "database": _database(settings),
            "corpus": _corpus(settings, all_files=args.skipped),
            "search": search(settings, probe=probe),
            "mcp": mcp_servers(settings, probe=probe),
            "models": models(settings, probe=probe),
            "requests": destination_checks(settings),
            "tokens": windows(settings),
            "archive": archive(settings),
        }
        for name, look in looks.items():
            checks += _run_check(name, look.__iter__)
    checks += _run_check("packages", _packages) + _run_check("readers", _readers)
    lines = [line for effective in resolved for line in _setting_lines(effective)]
    broken = any(check.state == BROKEN for check in checks)
    if args.json:
        record = {"ok": not broken, "checks": list(map(asdict, checks)), "settings": lines}
        console.print(json.dumps(record, ensure_ascii=False))
    else:
        console.print("\n".join(_as_text(checks, lines, min(phrases.COLUMNS, console.columns))))
    return Exit.FAILED if broken else Exit.COMPLETED


def _run_check(name: str, look: Callable[[], Iterator[Check]]) -> list[Check]:
    """What a look finds; one that fails is itself a finding."""
    checks: list[Check] = []
    try:
        checks.extend(look())
    except DeepResearchError as error:
        checks.append(Check(name, BROKEN, str(error)))
    except Exception as error:
        log.debug("check_failed", check=name, exc_info=error)
        checks.append(Check(name, BROKEN, describe_error(error)))
    return [Check(check.name, check.state, phrases.line(redact(check.detail))) for check in checks]


def _program() -> Iterator[Check]:
    yield Check("deep-research", OK, __version__)
    yield Check("python", OK, f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _sqlite() -> Iterator[Check]:
    from deep_research.store.writer import wal_needs_lock

    if wal_needs_lock():
        yield Check(
            "sqlite",
            NOTE,
            f"{sqlite3.sqlite_version}: before 3.51.3 several processes at once may damage a database; "
            "deep-research takes a lock file for every write, so its own are safe.",
        )
    else:
        yield Check("sqlite", OK, sqlite3.sqlite_version)


def _settings(args: Namespace, resolved: list[ResolvedSettings]) -> Iterator[Check]:
    effective = load_settings(overrides=setting_arguments(args), config=args.config)
    resolved.append(effective)
    changed = sum(origin != "default" for origin in effective.origins.values())
    yield Check(
        "settings",
        OK,
        f"{phrases.count(len(effective.origins), 'setting')}, {changed} differ from their default",
    )
    if line := folder_file_line(effective):
        yield Check("settings", NOTE, line)


def _data_dir(settings: Settings) -> Iterator[Check]:
    folder = settings.data_dir
    there = nearest(folder)
    if not there.is_dir():
        yield Check("data directory", BROKEN, f"{folder}: {there} is not a folder")
    elif not can_be_written(folder):
        yield Check("data directory", BROKEN, f"{folder} cannot be written")
    else:
        yield Check("data directory", OK, f"{folder}" if there == folder else f"{folder}, does not exist yet")


def _database(settings: Settings) -> Iterator[Check]:
    from deep_research.store.factory import DATABASE
    from deep_research.store.migrations import refuse_foreign

    if settings.store == "memory":
        yield Check("database", OK, "none: this process keeps runs in memory")
        return
    path = settings.data_dir / DATABASE
    if not path.exists():
        yield Check("database", OK, "does not exist yet")
        return
    with _read_only(path) as db:
        try:
            number = refuse_foreign(db)
        except StoreError as error:
            yield Check("database", BROKEN, f"{path}: {error}")
            return
        (health,) = db.execute("PRAGMA quick_check(1)").fetchone()
        (runs,) = db.execute("SELECT count(*) FROM runs").fetchone()
        detail = f"version {number}, {phrases.count(runs, 'run')}, {path.stat().st_size / 1e6:,.1f} MB"
        yield Check("database", OK if health == "ok" else BROKEN, f"{detail}, integrity: {health}")


@contextmanager
def _read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Looks without writing; closing the last connection may, so there the lock rule of the store holds too."""
    from deep_research.locks import FileLock
    from deep_research.store.writer import wal_needs_lock

    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=5.0)
    try:
        connection.execute("PRAGMA query_only = 1")
        yield connection
    finally:
        lock = FileLock(path.with_name(path.name + ".lock"), timeout=5.0) if wal_needs_lock() else None
        with closing(lock) if lock else nullcontext(), lock.hold() if lock else nullcontext():
            connection.close()


def _corpus(settings: Settings, *, all_files: bool) -> Iterator[Check]:
    """What the documents are, and which of them could not be read: the first, or ``all_files``."""
    from deep_research.assembly.source_choice import make_corpus, make_extractor

    corpus = make_corpus(settings, make_extractor(settings))
    if corpus is None:
        yield Check("corpus", OK, "none; name documents with --corpus PATH")
        return
    try:
        report = corpus.prepare()
    except CorpusError as error:
        yield Check("corpus", BROKEN, str(error))
        yield from _file_checks(error.data.get("skipped", ()), "skipped", all_files=all_files)
        return
    finally:
        asyncio.run(corpus.aclose())
    contents = f"{phrases.count(report.documents, 'document')}, {phrases.count(report.passages, 'passage')}"
    yield Check("corpus", OK, f"{contents} in {', '.join(map(str, settings.corpus))}")
    if report.skipped:
        count = sum(entry.count for entry in report.skipped)
        many = phrases.count(count, "file or folder", "files or folders")
        yield Check("corpus", NOTE, f"{many} {'was' if count == 1 else 'were'} not read")
    yield from _file_checks(report.skipped, "skipped", all_files=all_files)
    yield from _file_checks(report.partly, "not read whole:", all_files=all_files)


def _file_checks(files: Sequence[Skipped], how: str, *, all_files: bool) -> Iterator[Check]:
    visible_files = files if all_files else files[:_MAX_SKIPPED]
    for file in visible_files:
        yield Check("corpus", NOTE, f"{how} {file.path}: {file.why}")
    if len(files) > len(visible_files):
        more = f"and {len(files) - len(visible_files)} more {how.rstrip(':')}; --skipped names all of them"
        yield Check("corpus", NOTE, more)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _packages() -> Iterator[Check]:
    """The packages that this one needs; those with a marker are not made for every machine (the readers tell of them)."""
    needed = [need.partition(";") for need in requires("deep-research") or () if "extra ==" not in need]
    optional = {re.split(r"[<>=!~ ]", name)[0]: bool(marker) for name, _, marker in needed}
    versions = {name: number for name in sorted(optional) if (number := _version(name))}
    yield Check("packages", OK, ", ".join(f"{name} {number}" for name, number in versions.items()))
    if missing := [name for name in optional if name not in versions and not optional[name]]:
        yield Check("packages", BROKEN, f"not installed: {', '.join(missing)}; reinstall deep-research")


def _readers() -> Iterator[Check]:
    from deep_research.sources.extract.pdf import NO_READER
    from deep_research.sources.extract.readers import unloadable, why_unread

    try:
        import liteparse.parser  # noqa: F401
    except (ImportError, OSError):
        yield Check("readers", NOTE, NO_READER)
    if why := why_unread(".xlsx"):
        yield Check("readers", NOTE, f"spreadsheets (.xlsx): {why}")
    for line in unloadable():
        yield Check("readers", BROKEN, line)


def _setting_lines(effective: ResolvedSettings) -> Iterator[dict[str, str]]:
    for path, origin in effective.origins.items():
        text = redact_value({path: _plain(value_at(effective.settings, path))})[path]
        yield {"name": path, "value": phrases.line(str(text)), "origin": phrases.line(redact(origin))}


def _plain(value: object) -> str:
    if value is None or value in ((), {}):
        return "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_plain(item)}" for key, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _as_text(checks: list[Check], lines: list[dict[str, str]], columns: int) -> Iterator[str]:
    widest = max((len(check.name) for check in checks), default=0)
    for check in checks:
        lead = f"{check.state:<6}  {check.name:<{widest}}  "
        yield from phrases.beside(lead, phrases.fold(check.detail, columns - len(lead)))
    if lines:
        rows = [(each["name"], phrases.clip(each["value"], 30), each["origin"]) for each in lines]
        yield from ("", *phrases.table([("SETTING", "VALUE", "FROM"), *rows], columns))
