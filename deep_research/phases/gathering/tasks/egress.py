"""Egress rules of a task: what sites and services can learn from its requests. Pure.

A page can order a model to follow those of its links that spell a secret, and a model may obey. So code decides: of one
site at most two links that no search found are offered to a task, the best by the words of its question, and they are
followed in their order, each once: a site reads two bits at most. A link is of the site that it leads to, and of the
one whose page named it; what is named by a page that was reached by such a link counts as named by the first one. Once
private material was shown none of them is followed; once a private source gave something, only private sources are asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from deep_research.errors import ToolError
from deep_research.phases.gathering.tasks.tool import BUILT_IN, Link, Tool
from deep_research.provenance.sites import host_of, site_of
from deep_research.sources.search.combined_search import CORPUS, WEB
from deep_research.text.term_weights import coverage
from deep_research.text.words import StemFinder, question_terms

MOST_OFFERED = 2  # links of one site that no search found, in one task
SETTING = "task_public_after_private"


@dataclass(slots=True)
class Egress:
    """``question`` is that of the run, which no page had a say in; ``public`` are the data sources that are not the
    owner's own; ``allowed`` says that tasks may ask these whatever they were shown. ``private`` are the names of what
    private material came from, the documents are the corpus; ``offered`` counts links that no search found by their
    sites, in all attempts; ``followed`` are the links whose pages were asked for in this one."""

    question: str = ""
    public: frozenset[str] = frozenset({WEB})
    allowed: bool = False
    private: dict[str, None] = field(default_factory=dict)
    offered: Counter[str] = field(default_factory=Counter)
    followed: list[Link] = field(default_factory=list)

    @property
    def private_sources(self) -> tuple[str, ...]:
        """The private sources and tools that gave something, beside the documents."""
        return tuple(name for name in self.private if name != CORPUS)

    @property
    def is_closed(self) -> bool:
        """Whether nothing public is asked any more."""
        return bool(self.private_sources) and not self.allowed

    def note(self, names: Iterable[str]) -> None:
        """Material of these was shown."""
        self.private |= dict.fromkeys(names)

    def open_to(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of some data sources that may be searched."""
        return tuple(name for name in names if not (self.is_closed and name in self.public))

    # Links

    def offered_of(self, links: Sequence[Link]) -> list[Link]:
        """Those of ``links`` that are offered, in their order: all that were found, and the best of the others by the
        words of the question. These are counted."""
        if self.private:
            return [link for link in links if not link.origin]
        offer: set[str] = set()
        question_words = question_terms(self.question)
        find = StemFinder(question_words)
        labelled_links = [link for link in links if link.origin]
        for link in sorted(labelled_links, key=lambda link: -coverage(question_words, find(link.title))):
            if all(self.offered[site] < MOST_OFFERED for site in sites_of(link)):
                self.offered.update(sites_of(link))
                offer.add(link.address)
        return [link for link in links if not link.origin or link.address in offer]

    def follow(self, name: str, link: Link, links: Sequence[Link]) -> None:
        """The page of a link, which the agent calls by ``name``, is asked for; ``links`` are all of the task. Raises
        `ToolError` where it may not be."""
        if any(link.address == other.address for other in self.followed):
            raise _refused(f"The page of {name} was asked for already.")
        if self.is_closed and not link.private:
            raise _refused(f"{name} is not followed: this task was shown private material of {self._listed}.")
        if link.origin and self.private:
            raise _refused(
                f"{name} is not followed: no search found it, and this task was shown private material.",
                hint="Search for what it promises.",
            )
        later = links[links.index(link) + 1 :]
        if link.origin and any(
            other.origin and other in later and sites_of(other) & sites_of(link) for other in self.followed
        ):
            raise _refused(f"{name} is not followed: a later link of that site was.")
        self.followed.append(link)

    @property
    def reason(self) -> str:
        """Why a link that a page named is not offered."""
        return (
            "no search found them, and this task was shown private material"
            if self.private
            else f"at most {MOST_OFFERED} of one site are, which no search found"
        )

    # Searches and tools

    def check(self, tool: Tool, data_source: str | None, named: Sequence[str]) -> None:
        """Whether a tool may be used; ``data_source`` is the one that is to be searched, None: all that are ``named``.
        Raises `ToolError`."""
        if not self.is_closed:
            return
        reason = f"this task was shown private material of {self._listed}"
        if tool.name == "search" and data_source in self.public:
            raise _refused(f"{data_source} is not searched: {reason}.")
        if tool.name == "search" and named and not self.open_to(named):
            raise _refused(f"Nothing more is searched: {reason}.", hint="End the task with what there is.")
        asks_others = not tool.private and bool(tool.searches or tool.fetches)
        if tool.name not in BUILT_IN and asks_others:
            raise _refused(f"{tool.name} is not used: {reason}.")

    def left_out(self, named: Sequence[str]) -> str:
        """What is told of a search that left public sources out; empty where it did not."""
        left = [name for name in named if name not in self.open_to(named)]
        if not left:
            return ""
        listed = ", ".join(left)
        return f"A task that was shown private material of {self._listed} did not search {listed}: see {SETTING}."

    @property
    def _listed(self) -> str:
        return ", ".join(self.private_sources)


def sites_of(link: Link) -> frozenset[str]:
    """The sites that a link counts for, where no search found it."""
    return frozenset((link.origin, site(link.address)))


def site(address: str) -> str:
    return site_of(host_of(address))


def _refused(problem: str, hint: str = "") -> ToolError:
    return ToolError(problem, hint=hint, refused=True)
