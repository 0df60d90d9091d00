"""Words of one relation: a question asks for the *director*, the text says *directed by*. Pure.

Each row is a relation between things or people in the forms that questions and texts use for it. Words of a row
are not the same word, so this widens what counts as an answer and never what counts as said.
"""

from __future__ import annotations

from functools import cache

from deep_research.evidence.text import stem

IN_OTHER_WORDS = "in other words"  # the category of a finding that says by such a word what is asked
_ROWS = """
    father mother parent parents son sons daughter daughters child children \
    paternal maternal grandfather grandmother grandson
    wife husband spouse married marry marries marriage widow widower
    sibling brother sister
    direct director directed directs directing
    perform performer performed singer sung song recorded album single band
    write author wrote written writer novel book
    compose composer composed score
    produce producer produced production
    play plays played actor actress starring stars cast character role
    born birth birthplace birthdate
    die died death deceased dead
    buried burial grave cemetery
    nation nationality citizen citizenship national country
    city town located location situated capital
    found founded founder founding established establish formed form formation
    own owner owned owns subsidiary acquired
    study studied educated education university school college attended attend graduated doctorate
    win won winner award awarded prize
    rule ruled ruler king queen emperor monarch reign
    border borders bordering bordered adjacent neighbouring
    employ employer employed works worked work
    publish publisher published publication released release
    invent inventor invented invention patent
    design designer designed engineer engineered architect built build builder
    cause causes caused because reason led
    use used uses using
    lead leader led head chief president governor mayor chairman minister
    bought buy purchased sold sell
    language languages speak speaks spoken
    return returns returned
    raise raises raised
    remove removes removed removal
    destroy destroyed destroys destruction ruin ruined ruins collapse collapsed demolished
    maximum max limit limits limited unlimited
    size sizes amount length
    create creates created creation creator
    replace replaced replaces successor succeeded predecessor preceded
    measure measured measures tall height high
"""


@cache
def _groups() -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for row in _ROWS.strip().splitlines():
        stems = {stem(word) for word in row.split()}
        for one in stems:
            groups.setdefault(one, set()).update(stems)
    return {one: frozenset(group) for one, group in groups.items()}


def related(term: str) -> frozenset[str]:
    """The stems that speak of the same relation as the stem ``term``, itself among them."""
    return _groups().get(term) or frozenset((term,))


def related_words(term: str) -> list[str]:
    """The first word of each of these stems, in the order of their rows."""
    others = related(term)
    words = (word for row in _ROWS.strip().splitlines() for word in row.split())
    found: dict[str, str] = {}
    for word in words:
        if stem(word) in others:
            found.setdefault(stem(word), word)
    return list(found.values())
