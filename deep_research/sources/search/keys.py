"""Environment variables that search providers want."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

CONTACT = "DEEP_RESEARCH_FETCH_CONTACT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Names of variables. Nothing can be searched without the ``required`` ones; the ``optional`` ones raise limits or
    say who asks."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def missing(self, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The required ones that are not set, or empty, in ``environment`` (the process's own)."""
        variables = os.environ if environment is None else environment
        return tuple(name for name in self.required if not variables.get(name, "").strip())


# What our own providers want, told apart from them so that nobody has to load them to know.
TAVILY = Needs(required=("TAVILY_API_KEY",))
GOOGLE = Needs(required=("GOOGLE_API_KEY", "GOOGLE_CSE_ID"))
SEMANTIC_SCHOLAR = Needs(optional=("SEMANTIC_SCHOLAR_API_KEY",))
SEARXNG = Needs(required=("SEARXNG_URL",))
WIKIPEDIA = Needs(optional=(CONTACT,))
OPENALEX = Needs(optional=("OPENALEX_API_KEY", CONTACT))
OURS = {
    "tavily": TAVILY,
    "google": GOOGLE,
    "semantic_scholar": SEMANTIC_SCHOLAR,
    "searxng": SEARXNG,
    "wikipedia": WIKIPEDIA,
    "openalex": OPENALEX,
}
