"""Names: what a document is called, what a text names, and what a question does. Pure.

A name is compared by its *key*: its words in lower case without accents, marks and possessive endings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile

from deep_research.patterns import regex
from deep_research.state import FirstLook, Mention
from deep_research.text.language import function_words, is_function_word, language_of
from deep_research.text.words import ASKING_WORDS, NO_CAPITALS, STOP_WORDS, WORD, each_word, folded

MAX_WORDS = 7  # of a name
MAX_CHARS = 90
MAX_NAMES = 4  # of a question
KNOWN_NAME_WEIGHT = 0.2  # what a document of that name adds to the weight of a name, when names are ordered
UNKNOWN_WORD_WEIGHT = 0.5  # how telling a word is of which no corpus knows
OPENING_CHARS = 400  # characters of a text in which it says what it is called

_WORD = regex(r"[^\W_]+")
_POSSESSIVE = regex(r"['’]s\b")
_ARTICLES = frozenset(("the", "a", "an"))
BRACKETED = regex(r"(?<!\s)\s*+\([^()]*+\)\s*+$")
_SMALL = r"(?:of|the|in|de|la|le|van|von|del|di|da|al|el|bin|ibn|and|for|on)"
_LARGE = rf"[^\W\d_{NO_CAPITALS}]"
_CAPITAL = rf"(?:{_LARGE}[\w'’&-]*|[A-Z]\.)"
_GAP = r"(?:[^\S\n]+(?:\n[^\S\n]*)?|\n[^\S\n]*)"  # a name may be wrapped, but does not run from paragraph to paragraph
# What stands beside English words or initials. To compile the set of all capitals takes a millisecond at each place.
_LATIN = r"[^\W\d_a-zà-ÿ]"
# Initials that open a name: "J. R. Hare", and one alone only before two names, for "plan D. Hare" ends a sentence.
_NAME = rf"{_LATIN}[\w'’-]+"
_INITIALS = rf"(?:(?:[A-Z]\.{_GAP}){{2,4}}|[A-HJ-UWYZ]\.{_GAP}(?={_NAME}{_GAP}{_NAME}))"
_RUN = regex(
    rf"(?<!\w)(?:{_INITIALS})?{_CAPITAL}(?:{_GAP}(?:{_SMALL}{_GAP}){{0,2}}(?:[^\W_{NO_CAPITALS}][\w'’&-]*|[A-Z]\.))*"
)
_OPENS = regex(r"(?:\A|[.!?:;|*#>\n-][\s\"'“‘(*_-]*)\Z")
_INSIDE = regex(rf"(?<!\s)\s++{_SMALL}\s++(?:{_SMALL}\s++)?")
QUOTED = regex(r"[\"“”«»„`「『]([^\"“”«»„`「」『』\n]{2,80})[\"“”«»„`」』]")
# What follows the name in an article's first sentence: "(", "," or one of is, was, are, were, refers, denotes, means.
# Written so that each branch begins with a plain character, which is searched for several times as fast.
_DEFINED = regex(
    r"\(|,|i(?<!\wi)s\b|w(?<!\ww)(?:as|ere)\b|a(?<!\wa)re\b|r(?<!\wr)efers\b|d(?<!\wd)enotes\b|m(?<!\wm)eans\b"
)
_WRITTEN = rf"(?:{_LATIN}[\w'’&-]*|[A-Z]\.)"
_CALLED = regex(rf"[\"“]?((?:[Tt]he )?{_WRITTEN}(?:\s+(?:{_SMALL}\s+)?{_WRITTEN})*)")
_CALLING = ("known as", "called", "nicknamed", "born")
_DAYS_AND_MONTHS = each_word(
    """january february march april may june july august september october november december
        monday tuesday wednesday thursday friday saturday sunday"""
)
# What a sentence may open with before a name that is not part of it.
_LINKING = each_word(
    """therefore thus hence moreover furthermore nevertheless nonetheless meanwhile otherwise besides indeed finally
        likewise similarly although unless whereas whenever"""
)
# These stand among the small words for "I'd", "I'm", "it's" and "don't", and open a name as its initial.
_OPENING_ONES = (STOP_WORDS | _DAYS_AND_MONTHS | _LINKING) - frozenset("dmst")
_SMALL_WORDS = STOP_WORDS | ASKING_WORDS | _DAYS_AND_MONTHS


def key(name: str) -> str:
    """What a name is compared by; empty when it has no letter or digit."""
    return " ".join(_words(name))


def telling(name: str) -> bool:
    """Whether a key says which thing is meant: no date, no number, not only small words."""
    return _tell(name.split())


def _words(name: str) -> list[str]:
    if "'" in name or "’" in name:
        name = _POSSESSIVE.sub("", name)
    if name.isascii():
        words = name.lower().split()
        # Most have nothing else, and need no pattern.
        return words if "".join(words).isalnum() else _WORD.findall(" ".join(words))
    return _WORD.findall(folded(name))


def _tell(words: list[str]) -> bool:
    if len(words) > MAX_WORDS:
        return False
    for word in words:  # asked of every document, and any() takes twice the time
        if word not in _SMALL_WORDS and not word.isdigit():
            return len(word) > 1 or len(words) > 1
    return False


def names_of_document(title: str, text: str) -> dict[str, float]:
    """The keys of the names a document bears, with how surely (0 to 1): its title, parts of it, what its first
    sentence defines, what it is said to be known as."""
    found: dict[str, float] = {}
    if title:
        _add(found, title, 1.0)
        if title[-1] == ")":
            _add(found, BRACKETED.sub("", title), 0.9)
        if "," in title:
            _add(found, title.partition(",")[0], 0.8)
    opening = _DEFINED.search(text, 0, 160)
    if opening:
        before = text[: opening.start()].rstrip()
        subject = before.strip(" \"'“”#*")
        if subject != title and 1 < len(before) <= MAX_CHARS and _names_something(subject):
            _add(found, subject, 0.7)
    head = text[:OPENING_CHARS]
    for words in _CALLING:
        # Looked for without its space at first, which is in most places and makes the search slower.
        if words not in head or (at := head.find(f"{words} ")) < 0:
            continue
        if otherwise := _CALLED.match(head, at + len(words) + 1):
            _add(found, otherwise.group(1), 0.6)
    return found


def _add(found: dict[str, float], name: str, strength: float) -> None:
    """Adds the key of a name, and the same without its article."""
    if len(name) > MAX_CHARS or not _tell(words := _words(name)):
        return
    found.setdefault(" ".join(words), strength)
    if words[0] in _ARTICLES and _tell(words[1:]):
        found.setdefault(" ".join(words[1:]), strength - 0.1)


def _names_something(opening: str) -> bool:
    """Whether a sentence opens with a name, and not with "The film" or "He"."""
    first, _, rest = opening.partition(" ")
    start = (rest if first.casefold() in STOP_WORDS else first)[:1]
    return start.isupper() or start.isdigit()


def runs(text: str) -> Iterator[tuple[int, str]]:
    """(offset, key) of each run of capitalised words, small words inside it allowed. A small word or a date that
    opens it is left out, and so is a single word that begins a sentence, a line or a cell: its capital is a rule."""
    for match in _RUN.finditer(text):
        for start, run in _in_one_row(text, match.start(), match.group()):
            name = _named_by(run) if len(run) <= MAX_CHARS else _without_opening(key(run))
            if telling(name) and (" " in name or not _OPENS.search(text, max(0, start - 4), start)):
                yield start, name


@lru_cache(maxsize=1 << 13)
def _named_by(run: str) -> str:
    """What is asked of each run of a text, which has mostly been asked of it before."""
    return _without_opening(key(run))


def _in_one_row(text: str, start: int, run: str) -> Iterator[tuple[int, str]]:
    """A run of capitalised words; its lines apart where one is a row of a table, for no name goes on in the next."""
    end = text.find("\n", start + len(run))
    if "\n" not in run or " | " not in text[text.rfind("\n", 0, start) + 1 : end if end >= 0 else len(text)]:
        yield start, run
        return
    for line in run.split("\n"):
        if line.strip():
            yield start, line.strip()
        start += len(line) + 1


def asked_names(question: str) -> list[str]:
    """Keys of what a question names by its spelling: quotations, capitalised runs and their parts around small
    words; each once, in order."""
    question = " ".join(question.split()).lstrip("¿¡")
    found = [key(match.group(1)) for match in QUOTED.finditer(question)]
    opening = question.split(maxsplit=1)[0] if question.strip() else ""
    for match in _RUN.finditer(question):
        run = match.group()
        if run == opening:
            continue  # a capital by rule
        if match.start() == 0 or not question[: match.start()].strip():
            small = key(opening) in STOP_WORDS or _only_opens(opening.casefold(), question)
            run = run.removeprefix(opening) if small else run
        if " and " not in run:  # two names, more often than one: a corpus knows better
            found.append(_without_opening(key(run)))
        found += [key(part) for part in _INSIDE.split(run) if part[:1].isupper()]
    return [name for name in dict.fromkeys(found) if telling(name)]


def _only_opens(word: str, question: str) -> bool:
    """Whether a word is none that begins a name: a function word of the question's language, or of any where it is
    written with letters that few names here have."""
    return word in function_words(language_of(question)) or (not word.isascii() and is_function_word(word))


def question_names(question: str, look: FirstLook) -> tuple[Mention, ...]:
    """The most telling names of a question, best first: those that documents bear, and those that its spelling shows."""
    found = {mention.name: mention for mention in look.names}
    for name in asked_names(question):
        if name not in found:
            weight = max(
                (look.words[w] for w in name.split() if w in look.words), default=UNKNOWN_WORD_WEIGHT
            )
            found[name] = Mention(name=name, weight=weight)
    ranked = sorted(found.values(), key=lambda m: (-m.weight - KNOWN_NAME_WEIGHT * (m.bearers > 0), m.name))
    return tuple(ranked[:MAX_NAMES])


def spelled(text: str, *names: str) -> list[str]:
    """Names as a text writes them; a name itself where it does not stand there."""
    tokens = WORD.findall(text)
    keys = [key(token) for token in tokens]
    places: dict[str, list[int]] = {}
    for place, word in enumerate(keys):
        places.setdefault(word.partition(" ")[0], []).append(place)
    return [_spelling(name, tokens, keys, places.get(name.partition(" ")[0], ())) for name in names]


def _spelling(name: str, tokens: Sequence[str], keys: Sequence[str], places: Iterable[int]) -> str:
    length = name.count(" ") + 1
    for start in places:
        for end in range(start + 1, min(start + length, len(tokens)) + 1):
            if " ".join(filter(None, keys[start:end])) == name:
                return _POSSESSIVE.sub("", " ".join(tokens[start:end]))
    return name


def _without_opening(name: str) -> str:
    """A key without the small words, dates and numbers that open it."""
    telling_ones = dropwhile(
        lambda word: word in _OPENING_ONES or word.isdigit(),
        name.split(),
    )
    return " ".join(telling_ones)
