"""What follows in a case, as a question asks for it and a text tells it: "What happens if no key is set?" Pure."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from deep_research.evidence.called import doings, identifiers, parts_of
from deep_research.evidence.relations import related
from deep_research.evidence.text import content_words, coverage, denies, question_terms, stem

NEARLY_ALL = 0.8  # of the words of a case, for a sentence that is of it
_ASKS = re.compile(
    r"\s*what (?:happens|will happen|would happen|occurs)(?: \w+){0,3}? (?:if|when|unless|without)\b(?P<case>[^?]+)",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:without|unless|missing|absent|unset|omitted|forget|lacks?)\b", re.IGNORECASE)
_IF = re.compile(
    r"\b(?:if|when|whenever|once|as soon as|in case|after|every time|each time)\b", re.IGNORECASE
)
# What is told of its not being so: what follows if it is not, or, of what can be set, that it has to be.
_HAS_TO = re.compile(
    r"\b(?:must(?! not)|ha(?:s|ve) to(?! do\b)|needs? to|required?|in order to)\b", re.IGNORECASE
)
_IF_NOT = re.compile(
    r"\b(?:otherwise|missing|unset)\b"
    r"|\b(?:if|when)\b[^.;,]{0,80}?(?:\b(?:not|no|never|unset|missing|omitted|None)\b|n't\b)",
    re.IGNORECASE,
)
_UNLESS = re.compile(r"\b(?:unless|without)\b(?P<clause>[^,.;:]{1,120})", re.IGNORECASE)
_SETTING = frozenset(map(stem, ("set", "given", "configured", "provided", "specified", "defined", "passed")))


@dataclass(frozen=True, slots=True)
class Case:
    """The stems of its ``names``, each with the parts that may stand for it, and the weights of its ``words``; with
    ``denied`` it is asked for what is not so."""

    names: tuple[tuple[str, frozenset[str]], ...]
    words: dict[str, float]
    denied: bool

    def is_told(self, said: str, under: str = "") -> bool:
        """Whether a sentence, in the description of the name that it stands ``under``, is of this case and tells a
        condition."""
        if not self._is_of(doings(f"{under} {said}")):
            return False
        if not self.denied:
            return _IF.search(said) is not None
        has_to = bool(self.names) or not _SETTING.isdisjoint(self.words)
        return (
            _IF_NOT.search(said) is not None
            or (has_to and _HAS_TO.search(said) is not None)
            or any(self._is_without(match["clause"]) for match in _UNLESS.finditer(said))
        )

    def is_told_near(self, said: str, around: str) -> bool:
        """Whether a sentence tells a condition with words of this case, the rest of which stands ``around`` it."""
        return not self.words.keys().isdisjoint(_said(doings(said), self.words)) and self.is_told(
            said, around
        )

    def _is_without(self, clause: str) -> bool:
        """Whether it is the case that is lacking in a clause: "without a key", not "without telling anybody"."""
        if self.words:
            return self._says(doings(clause))
        about = set(map(stem, content_words(clause))) - _SETTING
        return any(about and about <= {name} | parts for name, parts in self.names)

    def _is_of(self, present: AbstractSet[str]) -> bool:
        return all(name in present or parts <= present for name, parts in self.names) and self._says(present)

    def _says(self, present: AbstractSet[str]) -> bool:
        return not self.words or coverage(self.words, _said(present, self.words)) >= NEARLY_ALL


def case_asked(question: str) -> Case | None:
    """The case of which a question asks what follows; None where it asks something else."""
    match = _ASKS.match(" ".join(question.split()))
    if match is None:
        return None
    told = match["case"]
    names = {stem(name): parts_of(name) for name in identifiers(told)}
    silent = names.keys() | {stem(match.group()) for match in _NOT.finditer(told)}
    words = {term: weight for term, weight in question_terms(f"if {told}").items() if term not in silent}
    opening = match.group()[: match.start("case") - match.start()]
    denied = denies(told) or _NOT.search(told) is not None or opening.endswith(("without", "unless"))
    return Case(tuple(names.items()), words, denied) if names or words else None


def denied_by(question: str) -> frozenset[str]:
    """The stems by which a question for a case says that something is not so: a text says it in other words."""
    match = _ASKS.match(" ".join(question.split()))
    return frozenset(stem(m.group()) for m in _NOT.finditer(match["case"])) if match else frozenset()


def _said(present: AbstractSet[str], wanted: dict[str, float]) -> set[str]:
    """The wanted words that are said, also by another that means the same of a setting."""
    return {
        term
        for term in wanted
        if not (related(term) | (_SETTING if term in _SETTING else frozenset())).isdisjoint(present)
    }
