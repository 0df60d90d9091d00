"""Plans on disk: one file each, written whole, and one process at a time that works on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from deep_research.capabilities.plan import PLAN_ID, CapabilityPlan
from deep_research.errors import PlanNotFoundError, RunBusyError, StoreDamagedError, StoreError
from deep_research.files import read_regular, whole
from deep_research.locks import lock_within

FOLDER = "plans"
MAX_PLAN_BYTES = 64 << 20
LOCK_SECONDS = 0.2


class PlanFolder:
    """The plans of a data directory. Every call blocks for a short time; all raise `StoreError`."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    def write(self, plan: CapabilityPlan) -> None:
        """Keep the plan as it is now. When this returns, it survives a crash."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with whole(self._path(plan.id)) as file:
                file.write(plan.model_dump_json().encode())
            _sync(self._folder)
        except OSError as error:
            raise self._unwritable(plan.id, error) from error

    def read(self, plan_id: str) -> CapabilityPlan:
        """Raises `PlanNotFoundError`, `StoreDamagedError`."""
        if not PLAN_ID.fullmatch(plan_id) or not self._path(plan_id).exists():
            raise PlanNotFoundError.of(plan_id)
        try:
            return CapabilityPlan.model_validate_json(read_regular(self._path(plan_id), MAX_PLAN_BYTES))
        except (OSError, ValidationError) as error:
            raise StoreDamagedError(
                f"Plan '{plan_id}' cannot be read.",
                hint=f"Start a new plan, and delete this one: `deep-research assist --delete {plan_id}`.",
            ) from error

    def ids(self) -> list[str]:
        """The ids of all plans, the latest first."""
        try:
            files = [path for path in self._folder.iterdir() if PLAN_ID.fullmatch(path.stem)]
            files = [path for path in files if path.suffix == ".json"]
            return [path.stem for path in sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)]
        except OSError:
            return []

    def delete(self, plan_id: str) -> None:
        """Raises `PlanNotFoundError`, `RunBusyError`."""
        if not PLAN_ID.fullmatch(plan_id) or not self._path(plan_id).exists():
            raise PlanNotFoundError.of(plan_id)
        with self.work_on(plan_id):
            self._path(plan_id).unlink(missing_ok=True)
            (self._folder / f"{plan_id}.lock").unlink(missing_ok=True)

    @contextmanager
    def work_on(self, plan_id: str) -> Iterator[None]:
        """Be the only one that works on a plan; the system lets go of it where the process dies.

        Raises `RunBusyError`, `StoreError`.
        """
        if not PLAN_ID.fullmatch(plan_id):
            raise PlanNotFoundError.of(plan_id)
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self._folder / f"{plan_id}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(plan_id, error) from error
        try:
            if not lock_within(handle, LOCK_SECONDS):
                raise RunBusyError(
                    f"Another process works on plan '{plan_id}'.", hint="Wait for that process, or end it."
                )
            yield
        finally:
            os.close(handle)

    def _unwritable(self, plan_id: str, error: OSError) -> StoreError:
        return StoreError(
            f"Plan '{plan_id}' cannot be written: {error.strerror or error}.",
            hint=f"Free space in {self._folder}, or name another folder with --data-dir.",
        )

    def _path(self, plan_id: str) -> Path:
        return self._folder / f"{plan_id}.json"


def _sync(folder: Path) -> None:
    """Make the new name of a file survive a crash of the machine."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
