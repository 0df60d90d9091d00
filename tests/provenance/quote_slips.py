"""Quotes as models give them: true ones that deviate from their source in one known way, and invented ones.

Everything is drawn with a fixed seed from the sample corpus and from short texts in other languages. The words that are
left out or put in are named here, apart from those of the product.
"""

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, cycle, islice
from pathlib import Path

from evals.corruptions import CORRUPTIONS, Names, corrupted, is_drawn, names_in

from deep_research.text.passages import sentences

CORPUS = Path(__file__).parents[2] / "docs" / "examples" / "corpus"
FOREIGN = Path(__file__).parents[1] / "data" / "foreign_texts.toml"
A_KIND = 50  # quotes
INVENTED = 500
SMALL = {
    "en": "the a of in and was is to that by for with it also",
    "de": "der die das ein eine und ist war in zu des dem den auch",
    "fr": "le la les un une de et est dans du des que",
    "es": "el la los un una de y es en que del",
    "it": "il la i un una di e è in che del",
}
DENIALS = {"en": "not", "de": "nicht", "fr": "jamais", "es": "no", "it": "non"}
_WORD = re.compile(r"\w+")
_MARKED = re.compile(r"[*`\[\]|<>_#]")


@dataclass(frozen=True)
class Slip:
    """A ``quote`` given as one of ``source``, one of ``texts``; it is in that of ``holder`` (None: in none), and
    ``words`` are the source's own, in one part or more."""

    kind: str
    quote: str
    source: str
    texts: Mapping[str, str]
    holder: str | None
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """A sentence of a text, and the one after it."""

    name: str
    language: str
    text: str
    sentence: str
    following: str

    def changed(self, to: str) -> str:
        """The text with the sentence written otherwise."""
        return self.text.replace(self.sentence, to, 1)


@cache
def texts() -> Mapping[str, tuple[str, str]]:
    """Language and text by name."""
    files = [path for path in sorted(CORPUS.iterdir()) if path.suffix in (".md", ".rst", ".txt")]
    foreign = tomllib.loads(FOREIGN.read_text(encoding="utf-8"))
    found = {path.name: ("en", path.read_text(encoding="utf-8")) for path in files}
    return found | {f"{language}.md": (language, table["text"]) for language, table in foreign.items()}


def drawn(draw: random.Random, most: int = 3 * A_KIND) -> list[Drawn]:
    """Sentences of all texts in the order of the draw, those of other languages at every third place."""
    english, foreign = [], []
    for name, (language, text) in texts().items():
        spans = [text[s.start : s.end] for s in sentences(text)]
        for one, following in zip(spans, [*spans[1:], ""], strict=True):
            if _is_plain(one, language) and text.count(one) == 1:
                (english if language == "en" else foreign).append(Drawn(name, language, text, one, following))
    draw.shuffle(english)
    draw.shuffle(foreign)
    thirds = zip(english[::2], english[1::2], cycle(foreign), strict=False)
    return list(chain.from_iterable(islice(thirds, -(-most // 3))))


def _is_plain(sentence: str, language: str) -> bool:
    fitting = is_drawn(sentence) if language == "en" else 8 <= len(sentence.split()) <= 60
    return fitting and not _MARKED.search(sentence) and "\n" not in sentence.strip()


def deviating(each: int = A_KIND) -> Iterator[Slip]:
    """So many true quotes of each kind."""
    for kind, make in KINDS.items():
        draw = random.Random(kind)
        made = 0
        for one in drawn(draw):
            slip = make(one, draw, made)
            if slip is not None and made < each:
                made += 1
                yield Slip(kind, *slip)
        assert made == each, (kind, made)


_Made = tuple[str, str, Mapping[str, str], str, tuple[str, ...]]
_Make = Callable[[Drawn, random.Random, int], _Made | None]
KINDS: dict[str, _Make] = {}


def _kind(*names: str) -> Callable[[_Make], _Make]:
    def register(make: _Make) -> _Make:
        KINDS.update(dict.fromkeys(names, make))
        return make

    return register


def _made(one: Drawn, quote: str, text: str | None = None, *words: str) -> _Made:
    return quote, one.name, {one.name: text or one.text}, one.name, words or (one.sentence,)


def _place(draw: random.Random, pattern: str, sentence: str) -> int | None:
    """Where the pattern begins, one of the places that there are."""
    places = [match.start() for match in re.finditer(pattern, sentence)]
    return draw.choice(places) if places else None


@_kind("first letter lowered")
def _lowered(one: Drawn, draw: random.Random, turn: int) -> _Made:
    return _made(one, one.sentence[0].lower() + one.sentence[1:])


@_kind("full stop where the source goes on")
def _stopped(one: Drawn, draw: random.Random, turn: int) -> _Made | None:
    parts = one.sentence.split()
    part = " ".join(parts[: len(parts) * 2 // 3]).rstrip(",;:–—- ")
    return _made(one, f"{part}.", None, part) if part in one.sentence else None


@_kind("comma")
def _comma(one: Drawn, draw: random.Random, turn: int) -> _Made | None:
    """One more, or one less."""
    place = _place(draw, r"(?<=\w),(?= )" if turn % 2 else r"(?<=\w) (?=\w)", one.sentence)
    if place is None:
        return None
    return _made(one, one.sentence[:place] + ("" if turn % 2 else ", ") + one.sentence[place + 1 :])


@_kind("list marker")
def _list_marker(one: Drawn, draw: random.Random, turn: int) -> _Made:
    mark = draw.choice(("- ", "* ", "1. ", "• ", "2) "))
    if turn % 3 < 2:
        return _made(one, f"- {one.sentence} {one.following}" if turn % 3 else f"{mark}{one.sentence}")
    place = _place(draw, r"(?<=[\w,]) (?=\w)", one.sentence)
    items = one.sentence[:place], one.sentence[place + 1 :]
    return _made(one, one.sentence, one.changed(f"\n\n{mark}{items[0]}\n{mark}{items[1]}\n\n"), *items)


@_kind("table pipe")
def _pipes(one: Drawn, draw: random.Random, turn: int) -> _Made:
    parts = re.split(r"(?<=[\w,]) (?=\w)", one.sentence)
    cells = " ".join(parts[: len(parts) // 2]), " ".join(parts[len(parts) // 2 :])
    row = f"| {cells[0]} | {cells[1]} |"
    return _made(one, row) if turn % 2 else _made(one, one.sentence, one.changed(f"\n\n{row}\n\n"), *cells)


def _wrapped(before: str, after: str) -> _Make:
    def make(one: Drawn, draw: random.Random, turn: int) -> _Made:
        match = draw.choice(list(re.finditer(r"\w{4,}", one.sentence)))
        marked = f"{one.sentence[: match.start()]}{before}{match.group()}{after}{one.sentence[match.end() :]}"
        if turn % 2:
            return _made(one, marked)
        return _made(one, one.sentence, one.changed(marked), marked.rstrip(".,;:"))

    return make


for _name, _marks in {
    "bold": ("**", "**"),
    "backticks": ("`", "`"),
    "link markup": ("[", "](https://example.org/a_(page)?x=1#y)"),
}.items():
    _kind(_name)(_wrapped(*_marks))


def _parts(mark: str) -> _Make:
    def make(one: Drawn, draw: random.Random, turn: int) -> _Made | None:
        words, following = one.sentence.split(), one.following.split()
        if turn % 2 and len(following) >= 8 and not _MARKED.search(one.following):
            first, second = one.sentence, " ".join(following[-6:])
        elif len(words) >= 14:
            first, second = " ".join(words[:6]), " ".join(words[-6:])
        else:
            return None
        return _made(one, f"{first} {mark} {second}", None, first, second) if second in one.text else None

    return make


for _mark in ("…", "[...]"):
    _kind(_mark)(_parts(_mark))


@_kind("quote marks")
def _quoted(one: Drawn, draw: random.Random, turn: int) -> _Made:
    before, after = draw.choice(('""', "“”", "''", "«»", "„“"))
    return _made(one, f"{before}{one.sentence}{after}")


@_kind("small word left out")
def _small_out(one: Drawn, draw: random.Random, turn: int) -> _Made | None:
    small = "|".join(SMALL.get(one.language, "-").split())
    found = list(re.finditer(rf"(?<= )(?:{small}) ", one.sentence))
    if not found:
        return None
    match = draw.choice(found)
    return _made(one, one.sentence[: match.start()] + one.sentence[match.end() :])


@_kind("small word put in")
def _small_in(one: Drawn, draw: random.Random, turn: int) -> _Made | None:
    if one.language not in SMALL:
        return None
    place = _place(draw, r"(?<=\w{3}) (?=\w{3})", one.sentence)
    word = draw.choice(SMALL[one.language].split())
    return _made(one, f"{one.sentence[:place]} {word}{one.sentence[place:]}")


@_kind("another source's name")
def _other_source(one: Drawn, draw: random.Random, turn: int) -> _Made:
    other = draw.choice([name for name in texts() if name != one.name])
    return one.sentence, other, {other: texts()[other][1], one.name: one.text}, one.name, (one.sentence,)


def invented(count: int = INVENTED) -> Iterator[Slip]:
    """So many quotes that are in no text."""
    draw = random.Random("invented")
    pool = drawn(draw, 12 * A_KIND)
    left = dict.fromkeys(FALSE, count // len(FALSE) + 15)
    every = {name: text for name, (_, text) in texts().items()}
    flat = " ".join(_plain(text) for text in every.values())
    made = 0
    for turn in range(10):
        for number, one in enumerate(pool):
            for kind, quote in _false(one, pool[(number * 7 + turn + 1) % len(pool)], draw):
                if not left[kind] or _plain(quote) in flat:
                    continue
                left[kind] -= 1
                yield Slip(kind, quote, one.name, {one.name: one.text, **every}, None)
                made += 1
                if made == count:
                    return


FALSE = (
    *CORRUPTIONS, "denial left out", "denial put in", "content word", "word left out", "recombined",
    "recombined with …", "order", "two words changed about",
)  # fmt: skip


def _false(one: Drawn, other: Drawn, draw: random.Random) -> Iterator[tuple[str, str]]:
    """The sentence made false in one way of each kind that it allows."""
    if one.language == "en":
        far = tuple(names_in(other.sentence)) or ("Ada Lovelace", "Lisbon")
        yield from ((v.kind, v.text) for v in corrupted(one.sentence, Names(far, far)))
    elif digits := list(re.finditer(r"\d", one.sentence)):
        place = draw.choice(digits).start()
        digit = str((int(one.sentence[place]) + draw.randint(1, 8)) % 10)
        yield "number", one.sentence[:place] + digit + one.sentence[place + 1 :]
    denial = DENIALS.get(one.language, "")
    if denial and f" {denial} " in one.sentence:
        yield "denial left out", one.sentence.replace(f" {denial} ", " ", 1)
    elif denial:
        place = draw.choice([m.start() for m in re.finditer(r" (?=\w)", one.sentence)])
        yield "denial put in", f"{one.sentence[:place]} {denial}{one.sentence[place:]}"
    mine, theirs = _contentful(one), _contentful(other)
    mine_words = {m.group() for m in mine}
    strange = [m.group() for m in theirs if m.group() not in mine_words]
    if mine and strange:
        match, gone = draw.choice(mine), draw.choice(mine)
        other_word = draw.choice(strange)
        yield "content word", one.sentence[: match.start()] + other_word + one.sentence[match.end() :]
        yield "word left out", one.sentence[: gone.start()] + one.sentence[gone.end() :].lstrip()
    words, others = one.sentence.split(), other.sentence.split()
    yield "recombined", " ".join([*words[: len(words) // 2], *others[len(others) // 2 :]])
    half = len(words) // 2
    if other.name != one.name:  # of one source they would be two parts of it
        yield "recombined with …", " ".join([*words[:half], "…", *others[len(others) // 2 :]])
    yield "order", " ".join([*words[half:], *words[:half]])
    if len(mine) > 3:
        a, b = sorted(draw.sample(mine, 2), key=lambda m: m.start())
        text = one.sentence
        about = text[: a.start()] + b.group() + text[a.end() : b.start()] + a.group() + text[b.end() :]
        yield "two words changed about", about


def _contentful(one: Drawn) -> list[re.Match[str]]:
    small = SMALL.get(one.language, "").split()
    return [m for m in re.finditer(r"\w{5,}", one.sentence) if m.group().lower() not in small]


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
