"""Filter for searches and reports: keeps the confidential words of the owner's instructions inside. Pure.

A page can order a model to hand on what its prompt says, and some model obeys. So words of the instructions that look
like a code are withheld wherever a model wrote them, and so are their sentences in a search. A word looks like a code if
it has digits, capitals in its midst or more than 20 letters; years, and words of fewer than 4 characters, do not. It is
found with other signs between its letters, in any case, backwards, and in the usual encodings (base64, hex, percent,
entities, rot13).

What cannot be held is a paraphrase: an ordinary word, a sentence in other words or another language, a code that is
described, cut over several searches or encoded in a way of its own.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from deep_research.logs import encodings
from deep_research.patterns import regex
from deep_research.text.plain import clean

MAX_QUERY_CHARS = 400  # characters; no service searches for more
LOOKED_AT_CHARS = 4_000  # characters of a query that are looked through for as many
ROW_WORDS = 6  # words of the instructions that are told one after the other
_MIN_CODE_CHARS = 4  # characters of a code
MAX_CODE_CHARS = 200
PROMPT_UNIT_CHARS = 50  # characters of instructions that are looked through in the time of one small item
_LONG_WORD_CHARS = 20  # letters of a word
_SURE_CODE_CHARS = 8  # characters from which on a code is meant also in the midst of a word
_MAX_DEPTH = 4  # times that characters are encoded, or hidden within what is taken out
_PART = regex(r"[^\W_]+")
_WORD = regex(r"\w+")
_YEAR = regex(r"(?:1[5-9]|20)\d\d")
_MIXED = regex(r"[A-Z]{2,}[a-z]{2,}")
# A character that is spelled by its number: of an address, of HTML, of a program.
_SPELLED = regex(
    r"%([0-9a-f]{2})|&#x([0-9a-f]{1,6});?|\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|&#([0-9]{1,7});?", re.IGNORECASE
)
_ADDRESS = regex(
    r"\[…\]"  # stands where something was cut out of what the model said
    r"|[a-z][a-z0-9+.-]{0,20}://\S*"
    r"|(?:javascript|data|mailto|file):\S+"
    r"|(?<![\w:/])//\w\S*"
    r"|\bwww\.\S+"
    r"|(?<![^\s@<>()\"'])[^\s@<>()\"']++@[\w-]+\.[\w.-]+"
    r"|(?<![\w.-])[\w-]++(?:\.[\w-]++)++(?::\d+|(?=[/?])(?:/\S*|\?\S+))",
    re.IGNORECASE,
)
_AROUND = " \t\"'“”„«»()[]{}<>.,;:!?-–—=&#*_`|/\\"


def askable(query: str, question: str, instructions: str | None) -> str:
    """What of a model's search may be asked: on one line, without addresses and without what is confidential of the
    ``instructions``, unless the ``question`` says it too; at most 400 characters. Empty where nothing is left."""
    text = " ".join(clean(query[:LOOKED_AT_CHARS]).split())
    if text and text.casefold() in " ".join(question.split()).casefold():
        return text  # the owner's own words
    text = _ADDRESS.sub(lambda found: found[0] if found[0].strip(_AROUND) in question else " ", text)
    text = confidential(instructions or "", question).without(text, " ")
    text = " ".join(text.split())
    if len(text) > MAX_QUERY_CHARS:
        text = text[: MAX_QUERY_CHARS + 1].rpartition(" ")[0] or text[:MAX_QUERY_CHARS]
    return text if any(map(str.isalnum, text)) else ""


@lru_cache(maxsize=64)
def confidential(instructions: str, known: str) -> SecretFilter:
    """What is confidential of the instructions, where ``known`` is no secret. Kept: a run asks for it again and again."""
    return SecretFilter(instructions, known)


class SecretFilter:
    """Codes of the ``instructions``, and their rows of six words, that ``known`` has not."""

    def __init__(self, instructions: str, known: str = "") -> None:
        said = _squeezed(known)
        codes = [code for code in _codes(instructions) if _squeezed(code) not in said]
        self._forms = tuple(dict.fromkeys(form for code in codes for form in _forms(code)))
        self._rows = frozenset(_rows(_folded(instructions))) - frozenset(_rows(_folded(known)))

    def without(self, text: str, mark: str, *, rows: bool = True) -> str:
        """The text with ``mark`` for each code, and if ``rows`` for each row of six words. What is left may make a code
        anew, so it is looked through again; a text made of nothing but such is empty."""
        for _ in range(_MAX_DEPTH):
            spans = self.spans(text, rows=rows)
            if not spans:
                return text
            for start, end in reversed(spans):
                text = f"{text[:start]}{mark}{text[end:]}"
        return "" if self.spans(text, rows=rows) else text

    def spans(self, text: str, *, rows: bool = True) -> list[tuple[int, int]]:
        """Where the text tells something confidential, in order and apart."""
        found: list[tuple[int, int]] = []
        squeezed = _squeezed(text) if self._forms else ""
        forms = [form for form in self._forms if form in squeezed]
        if not forms and not (rows and self._rows):
            return found
        characters = _Characters(text)
        for form in forms:
            found += characters.places(form)
        if rows and self._rows:
            places = characters.words()
            words = [word for word, _, _ in places]
            for at, row in enumerate(_in_rows(words)):
                if row in self._rows:
                    found.append((places[at][1], places[at + ROW_WORDS - 1][2]))
        return _merge_spans(found)


class _Characters:
    """The characters of a text as they are compared, each with where it stands in the text."""

    def __init__(self, text: str) -> None:
        self._all = [(sign, at, at + 1) for at, sign in enumerate(text)]
        for _ in range(_MAX_DEPTH):
            joined = "".join(sign for sign, _, _ in self._all)
            spelled = list(_SPELLED.finditer(joined))
            if not spelled:
                break
            self._decode(spelled)
        self._all = [(each, start, end) for sign, start, end in self._all for each in _folded(sign)]
        self._letters = [
            (sign, start, end, border)
            for (before, _, _), (sign, start, end) in pairwise([(" ", 0, 0), *self._all])
            for border in [not before.isalnum()]
            if sign.isalnum()
        ]
        self._squeezed = "".join(sign for sign, *_ in self._letters)

    def _decode(self, spelled: list[re.Match[str]]) -> None:
        made, at = [], 0
        for match in spelled:
            made += self._all[at : match.start()]
            inner = self._all[match.start() : match.end()]
            made.append((_sign(match), inner[0][1], inner[-1][2]))
            at = match.end()
        self._all = [*made, *self._all[at:]]

    def places(self, form: str) -> Iterator[tuple[int, int]]:
        at = self._squeezed.find(form)
        while at >= 0:
            end = at + len(form)
            if _is_sure(form) or (self._begins(at) and (end == len(self._letters) or self._begins(end))):
                yield self._letters[at][1], self._letters[end - 1][2]
            at = self._squeezed.find(form, at + 1)

    def _begins(self, at: int) -> bool:
        return self._letters[at][3]

    def words(self) -> list[tuple[str, int, int]]:
        joined = "".join(sign for sign, _, _ in self._all)
        return [
            (match[0], self._all[match.start()][1], self._all[match.end() - 1][2])
            for match in _WORD.finditer(joined)
        ]


def _codes(instructions: str) -> Iterator[str]:
    """The words of the instructions that look like codes, whole and in their parts."""
    for word in _words(instructions):
        parts = _PART.findall(word)
        telling = [part for part in parts if _is_code(part)]
        yield from telling
        if len(parts) > 1 and (telling or _is_code("".join(parts), whole=True)):
            yield word


def _words(instructions: str) -> Iterator[str]:
    """A word of more than 200 characters is looked at in pieces: each has dozens of forms."""
    for chunk in instructions.split():
        word = chunk.strip(_AROUND)
        for at in range(0, len(word), MAX_CODE_CHARS):
            yield word[at : at + MAX_CODE_CHARS]


def _is_code(word: str, *, whole: bool = False) -> bool:
    """``whole``: of several parts, the capitals of which say nothing, nor do figures that only follow one another."""
    if len(word) < _MIN_CODE_CHARS or _YEAR.fullmatch(word):
        return False
    if any(map(str.isdigit, word)) and not (whole and word.isdigit()):
        return True
    if sum(map(str.isalpha, word)) > _LONG_WORD_CHARS:
        return True
    if whole:
        return False
    return bool(_MIXED.match(word)) or any(one.islower() and two.isupper() for one, two in pairwise(word))


def _is_sure(form: str) -> bool:
    """Whether a form is found in the midst of a word, too."""
    if len(form) >= _SURE_CODE_CHARS:
        return True
    return len(form) > _MIN_CODE_CHARS and not form.isalpha() and not form.isdigit()


def _forms(code: str) -> Iterator[str]:
    """How a code may stand in a text that is squeezed."""
    plain = _squeezed(code)
    yield plain
    yield plain[::-1]
    yield codecs.encode(plain, "rot13")
    bare = "".join(_PART.findall(code))
    for written in {code, code.lower(), code.upper(), bare, bare.lower(), bare.upper(), code[::-1]}:
        for form in map(_squeezed, encodings(written)):
            if len(form) >= _SURE_CODE_CHARS:
                yield form


def _sign(match: re.Match[str]) -> str:
    """The character that is spelled."""
    *hexadecimal, decimal = match.groups()
    number = int(decimal) if decimal else int(next(filter(None, hexadecimal)), 16)
    return chr(number) if number < 0xD800 else " "


def _folded(text: str) -> str:
    """Without case, marks on letters, forms of letters, and signs that nobody sees."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if c.isprintable() or c.isspace() if not unicodedata.combining(c))


def _squeezed(text: str) -> str:
    """The letters and digits alone, folded."""
    for _ in range(_MAX_DEPTH):
        decoded = _SPELLED.sub(_sign, text)
        if decoded == text:
            break
        text = decoded
    return "".join(filter(str.isalnum, _folded(text)))


def _rows(text: str) -> Iterator[tuple[str, ...]]:
    return _in_rows(_WORD.findall(text))


def _in_rows(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[at:] for at in range(ROW_WORDS)), strict=False)


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made
