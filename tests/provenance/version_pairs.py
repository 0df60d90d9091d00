"""Pairs of texts: copies, of which only what a site puts around them is another; and versions of a document, of which
figures, dates, versions or denials are others. The texts are those of the sample corpus and generated manuals."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

from deep_research.sources.documents.folder import sample_corpus

SUBJECTS = (
    "server", "parser", "cache", "scheduler", "loader", "client", "index", "worker", "logger", "planner",
)  # fmt: skip
PARTS = (
    "buffer", "timeout", "queue", "window", "batch", "pool", "limit", "retry count", "interval", "threshold",
)  # fmt: skip
SENTENCES = (
    "The default {part} of the {subject} is {n} and may be raised to {m} in the settings of the project.",
    "Since version {v} the {subject} reads its {part} from the environment before it opens any connection.",
    "The {subject} was introduced on {d} and has replaced the older one in all supported installations.",
    "Measurements of the {subject} show that a {part} of {n} takes {m} milliseconds on the usual hardware.",
    "The {part} is written to disk before the {subject} answers, so that nothing is lost when it is killed.",
    "A {subject} that has no {part} waits until one of its neighbours has given up its own for a while.",
    "Every {subject} can be given a {part} of its own, which takes the place of that of the whole system.",
    "It is recommended to keep the {part} of each {subject} below {n} where memory is short or shared.",
)
_BOILERPLATE = (
    "Home | News | Sport | Contact", "Accept all cookies", "Share: {n} shares", "Last updated {d}", "{m} min read",
    "Subscribe to our newsletter", "© {y} All rights reserved", "Related articles", "Posted by admin on {d}",
    "Advertisement", "Follow us", "Comments ({n})",
)  # fmt: skip
PAGE = "\n\n".join(
    f"The {thing} of the server is {n} and may be raised in the settings of the project. It is read when the {thing} is"
    f" asked for, and kept until the {thing} is given back to whoever it was taken from before."
    for n, thing in enumerate(
        ["buffer", "timeout", "queue", "window", "batch", "pool", "limit", "interval"], 20
    )
)
_NUMBER = re.compile(r"\b\d+(?:\.\d+)*\b")


def _filled(line: str, chance: random.Random) -> str:
    return line.format(
        part=chance.choice(PARTS),
        subject=chance.choice(SUBJECTS),
        n=chance.randint(2, 900),
        m=chance.randint(2, 90),
        v=f"{chance.randint(1, 9)}.{chance.randint(0, 20)}",
        d=f"{chance.randint(1, 28)} {chance.choice(('March', 'May', 'June', 'October'))} {chance.randint(2012, 2025)}",
        y=chance.randint(2015, 2026),
    )


def _page(chance: random.Random) -> str:
    lines = [_filled(chance.choice(SENTENCES), chance) for _ in range(chance.randint(14, 60))]
    return "\n\n".join(" ".join(lines[at : at + 4]) for at in range(0, len(lines), 4))


def _texts(chance: random.Random) -> str:
    files = [path.read_text(encoding="utf-8") for path in sorted(Path(sample_corpus()).rglob("*.md"))]
    long = [text for text in files if len(text.split()) > 150 and len(_NUMBER.findall(text)) > 3]
    return chance.choice(long) if long and chance.random() < 0.4 else _page(chance)


def _around(text: str, chance: random.Random) -> str:
    """With another title and other words of a site around it, and a paragraph left out where there are many."""
    top, below = ([_filled(line, chance) for line in chance.sample(_BOILERPLATE, 4)] for _ in range(2))
    paragraphs = text.split("\n\n")
    if len(paragraphs) > 6:
        del paragraphs[chance.randrange(1, len(paragraphs))]
    return "\n\n".join([f"# {_filled('Of the {subject} and its {part}', chance)}", *top, *paragraphs, *below])


def _denied(sentence: str) -> str:
    for word in (" is ", " was ", " are ", " can ", " has "):
        if word in sentence:
            return sentence.replace(word, f"{word}not ", 1)
    return sentence


def _newer(text: str, chance: random.Random) -> str:
    """With some of its figures, dates and versions changed, or things denied, here and there."""
    sentences = re.split(r"(?<=[.!?])(\s+)", text)
    places = [
        at for at, s in enumerate(sentences) if len(s.split()) > 7 and not s.startswith(("|", "#", "-"))
    ]
    chance.shuffle(places)
    left = chance.randint(2, 6)
    for at in places:
        was = sentences[at]
        if _NUMBER.search(was) and chance.random() < 0.8:
            sentences[at] = _NUMBER.sub(lambda m: _other(m.group(), chance), was, count=1)
        elif chance.random() < 0.5:
            sentences[at] = _denied(was)
        left -= sentences[at] != was
        if not left:
            break
    return "".join(sentences)


def _other(number: str, chance: random.Random) -> str:
    whole, _, rest = number.rpartition(".")
    other = str(int(rest) + chance.randint(1, 9))
    return f"{whole}.{other}" if whole else other


def pairs(count: int, seed: int = 0) -> Iterator[tuple[str, str, bool]]:
    """Two texts, and whether they are versions; half of them are copies."""
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        text = _texts(chance)
        is_version = bool(number % 2)
        other = _newer(text, chance) if is_version else text
        yield _around(text, chance), _around(other, chance), is_version
