"""What a question names. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.names import asked_names, key
from deep_research.evidence.text import words
from deep_research.state import FirstLook, Mention

_POSSESSIVE = re.compile(r"['’]s$")
MAX_NAMES = 4
KNOWN = 0.2  # what being borne by a document adds to a name's weight, when the names are ordered
UNKNOWN_WORD = 0.5


def question_names(question: str, look: FirstLook) -> tuple[Mention, ...]:
    """The most telling names of a question, best first: those that documents bear, and those that its spelling shows."""
    found = {mention.name: mention for mention in look.names}
    for name in asked_names(question):
        if name not in found:
            weight = max((look.words[w] for w in name.split() if w in look.words), default=UNKNOWN_WORD)
            found[name] = Mention(name=name, weight=weight)
    ranked = sorted(found.values(), key=lambda m: (-m.weight - KNOWN * (m.bearers > 0), m.name))
    return tuple(ranked[:MAX_NAMES])


def spelled(question: str, name: str) -> str:
    """A name as the question writes it; the name itself where it does not stand there."""
    tokens = words(question)
    keys = [key(token) for token in tokens]
    wanted = name.split()
    length = len(wanted)
    for start in range(len(tokens)):
        for end in range(start + 1, min(start + length, len(tokens)) + 1):
            if " ".join(filter(None, keys[start:end])) == name:
                return _POSSESSIVE.sub("", " ".join(tokens[start:end]))
    return name
