"""The users of a server, and the roles that give them their rights."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from deep_research.errors import RightError
from deep_research.research.operations import Right


class Role(StrEnum):
    """A reader looks at runs, a runner starts and steers them, an admin acts on the runs of everybody."""

    READER = "reader"
    RUNNER = "runner"
    ADMIN = "admin"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.READER: frozenset({Right.READ}),
    Role.RUNNER: frozenset(Right) - {Right.ADMIN},
    Role.ADMIN: frozenset(Right),
}


@dataclass(frozen=True, slots=True)
class User:
    """The sender of a request. ``name`` is the ``user_id`` of the runs that the user starts. ``max_open_runs`` caps the
    user's runs that have not ended, ``max_usd`` the dollars of each; None: no cap."""

    name: str | None
    role: Role
    max_open_runs: int | None = None
    max_usd: float | None = None

    def may(self, right: Right) -> bool:
        """Whether the role gives the right."""
        return right in RIGHTS[self.role]

    def check(self, right: Right) -> None:
        """Raises `RightError`."""
        if not self.may(right):
            raise RightError(
                f"The role {self.role} of this token may not {right} runs.",
                hint="Ask the server's owner for a token with another role: `deep-research token add`.",
            )

    def sees(self, user_id: str | None) -> bool:
        """Whether the runs of ``user_id`` are the user's to see."""
        return self.may(Right.ADMIN) or user_id == self.name


LOCAL_USER = User(name=None, role=Role.ADMIN)  # the sender of any request to a server without tokens
