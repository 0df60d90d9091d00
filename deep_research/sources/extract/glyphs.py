"""The words of a page of a PDF, from the characters that PDFium finds on it.

PDFium tells words and lines apart. It is asked where each word begins and ends, and once for the type of each text that
is drawn at one go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from ctypes import byref, c_char, c_double, c_float, c_ushort
from itertools import chain, groupby, pairwise
from math import hypot, isfinite
from statistics import median_low
from typing import Any

from deep_research.sources.extract.line_numbers import without_line_numbers
from deep_research.sources.extract.lines import RIGHT_TO_LEFT, Type, Word, lines_of, once
from deep_research.sources.extract.pdfium import library
from deep_research.sources.extract.pictures import Box
from deep_research.sources.extract.typeset import GAP, Line

_MONO_NAME = re.compile(
    r"mono(?!type)|nimbusmon|courier|consol|menlo|typewriter|inconsolata|[a-z]tt\d|txtt|(?<!uni)(?<!bar)code",
    re.IGNORECASE,
)
_FIXED_PITCH = 1  # of a font's flags
_NARROW, _WIDE, _LETTERS = "iljtf.,", "mwMWAHNO", 8  # letters that tell, and how many others do besides
# What stands for no letter is seen on the page, so it is marked. Some programs draw bullets with the sign for "deleted".
_UNREADABLE = {code: "\ufffd" for code in range(32) if code not in b"\t\r\n"} | {0x7F: "•"}
_SIGNS = _UNREADABLE | dict.fromkeys((0xF0B7, 0xF0A7), "•")  # of fonts of signs
# In other fonts these are letters: they are signs where a line begins with them.
_FIRST_SIGN = re.compile("(?m)^[\uf0a8\uf0d8\uf076\uf06e\uf071](?= )")
_LAM_ALEF = ("\u0644\u0627", "\u0644\u0623", "\u0644\u0625", "\u0644\u0622")
_HYPHEN = "\ufffe"  # PDFium's sign for one at the end of a line
_HYPHEN_OR_NONE = re.compile(f"[{_HYPHEN}\2]")  # one of the two says either, by how it is asked
_FAR = 1.5  # of the size: no letters of a word are spread so far, nor figures of a number by ``GAP``
_OPEN, _SPREAD = 0.45, 3.0  # of the size, and times the usual room between its letters: what parts a word
_TIGHT = 0.55  # of the size for each letter: most words have less
_TELLING_SIGNS = re.compile(rf"\d|[.,:;!?]\w|{RIGHT_TO_LEFT.pattern}")
_TELLING = 4  # letters, from which on the room between them is known
_MIDDLE = 0.3  # of the size, above the line on which the letters stand
_SLACK = 1.0  # points
_ENDS = "\r\n"
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(rf"[^\s{_HYPHEN}]+{_HYPHEN}?|{_HYPHEN}")


class Glyphs:
    """The characters of a page; ``handle`` is PDFium's text of it, ``shown`` the part of the page that is shown."""

    def __init__(self, handle: Any, shown: Box) -> None:
        self._handle = handle
        self._shown = shown
        self._pdfium = library()
        self._count = max(0, self._pdfium.FPDFText_CountChars(handle)) if handle else 0
        self._types: dict[bytes, Type] = {}
        self._fonts: dict[bytes, Any] = {}
        self._box = self._pdfium.FS_RECTF()
        self.unreadable = 0  # characters that stand for no letter, once the lines are known

    def __len__(self) -> int:
        return self._count

    def lines(self) -> list[Line]:
        """The lines in the order of the file, without what printers leave beside the page."""
        text = self._text() + "\n"
        self.unreadable = text.count("\ufffd")
        found = chain.from_iterable(self._words(found, text[found.end()]) for found in _WORD.finditer(text))
        words = without_line_numbers(list(once(filter(self._is_shown, found))))
        return lines_of(words, self._mono_fonts(words))

    def _text(self) -> str:
        """All characters, one place each."""
        units = (c_ushort * (self._count + 1))()
        told = self._pdfium.FPDFText_GetText(self._handle, 0, self._count, units)
        text = bytes(units)[: 2 * self._count].decode("utf-16-le", "replace")
        if told != self._count + 1 or len(text) != self._count:
            ask, handle = self._pdfium.FPDFText_GetUnicode, self._handle
            codes = [ask(handle, at) for at in range(self._count)]
            text = "".join(chr(code) if code < 0x110000 else _HYPHEN for code in codes)
        return _FIRST_SIGN.sub("•", _HYPHEN_OR_NONE.sub(self._hyphen, text).translate(_SIGNS))

    def _hyphen(self, found: re.Match[str]) -> str:
        return _HYPHEN if self._pdfium.FPDFText_IsHyphen(self._handle, found.start()) == 1 else "\ufffd"

    def _words(self, found: re.Match[str], after: str) -> Iterator[Word]:
        """What PDFium takes for one word, in pieces where room is left within it: of two numbers that are drawn at one
        go it takes the room between them for that of spread letters."""
        text, first = found[0], found.start()
        letter = _LETTER.search(text)  # signs may come from a font of signs, and marks be smaller
        type_ = self._type(first + letter.start() if letter else first)
        goes_on = text.isupper() and self._pdfium.FPDFText_IsGenerated(self._handle, first - 1) == 1
        ends_line = after in _ENDS or text[-1] == _HYPHEN
        places = self._places(text, first, type_)
        openings = _openings(text, places, type_.size)
        if not openings:
            yield _word(text, places, type_, ends_line, goes_on)
            return
        for begin, end in pairwise([0, *openings, len(text)]):
            is_last = end == len(text)
            yield _word(
                text[begin:end], places[begin:end], type_, ends_line and is_last, goes_on and not begin
            )

    def _places(self, text: str, first: int, type_: Type) -> list[tuple[float, float]]:
        """Where the letters of a word stand; where no room is likely between them, of the first and the last alone."""
        last = first + len(text) - 1
        begin, end = self._place(first, type_), self._place(last, type_)
        is_plain = max(begin[1], end[1]) - min(begin[0], end[0]) < _TIGHT * type_.size * len(text)
        if len(text) < 3 or (is_plain and not _TELLING_SIGNS.search(text)):
            return [begin, end][: len(text)]
        return [begin, *(self._place(at, type_) for at in range(first + 1, last)), end]

    def _is_shown(self, word: Word) -> bool:
        """Whether the middle of a word is within what is shown of the page."""
        type_, box = word.type_, self._shown
        along, above = (word.start + word.end) / 2, type_.base + _MIDDLE * type_.size
        x, y = along * type_.across - above * type_.up, along * type_.up + above * type_.across
        return box.left - _SLACK <= x <= box.right + _SLACK and box.bottom - _SLACK <= y <= box.top + _SLACK

    def _place(self, at: int, type_: Type) -> tuple[float, float]:
        """From where to where along its line a character stands."""
        box = self._box
        self._pdfium.FPDFText_GetLooseCharBox(self._handle, at, box)
        if not type_.up and type_.across > 0.0:
            return _sane(box.left), _sane(box.right)
        ends = [x * type_.across + y * type_.up for x in (box.left, box.right) for y in (box.bottom, box.top)]
        return _sane(min(ends)), _sane(max(ends))

    def _type(self, at: int) -> Type:
        text_object = self._pdfium.FPDFText_GetTextObject(self._handle, at)
        key = bytes(text_object)
        known = self._types.get(key)
        if known is None:
            known = self._types[key] = self._new_type(text_object, at)
        return known

    def _new_type(self, text_object: Any, at: int) -> Type:
        matrix, x, y = self._pdfium.FS_MATRIX(), c_double(), c_double()
        self._pdfium.FPDFText_GetMatrix(self._handle, at, matrix)
        self._pdfium.FPDFText_GetCharOrigin(self._handle, at, byref(x), byref(y))
        scale = hypot(matrix.a, matrix.b) or 1.0
        across, up = round(matrix.a / scale, 3), round(matrix.b / scale, 3)
        size = self._pdfium.FPDFText_GetFontSize(self._handle, at) * hypot(matrix.c, matrix.d)
        font = self._pdfium.FPDFTextObj_GetFont(text_object)
        key = bytes(font)
        self._fonts[key] = font
        base = y.value * across - x.value * up
        return Type(round(_sane(size), 1), across, up, round(_sane(base), 1), key)

    def _mono_fonts(self, words: Iterable[Word]) -> set[bytes]:
        letters: dict[bytes, set[str]] = {key: set() for key in self._fonts}
        for word in words:
            letters[word.type_.font].update(word.text)
        return {key for key, font in self._fonts.items() if font and _is_mono(font, letters[key])}


def _word(
    text: str, places: Sequence[tuple[float, float]], type_: Type, ends_line: bool, goes_on: bool
) -> Word:
    (start, end), (begins, ends) = places[0], places[-1]
    if RIGHT_TO_LEFT.search(text):
        text = _turned(text, places)
    return Word(
        text.replace(_HYPHEN, "-"),
        round(min(start, begins), 1),
        round(max(end, ends), 1),
        type_,
        ends_line,
        goes_on,
    )


def _openings(text: str, places: Sequence[tuple[float, float]], size: float) -> list[int]:
    """Where in a word there is clearly more room before a letter than its letters have between them."""
    if len(text) < 2 or len(places) < len(text) or (RIGHT_TO_LEFT.search(text) and not text.isdecimal()):
        return []  # what is turned around does not stand in the order in which it is read
    gaps = [max(b[0] - a[1], a[0] - b[1]) for a, b in pairwise(places)]
    most = (_FAR if _LETTER.search(text) else GAP) * size
    if len(text) >= _TELLING:
        most = min(most, max(_OPEN * size, _SPREAD * median_low(gaps)))
    return [at for at, gap in enumerate(gaps, 1) if gap > most]


def _turned(text: str, places: Sequence[tuple[float, float]]) -> str:
    """A word from right to left with the letters of what is drawn as one sign in the order in which they are read:
    PDFium turns such words around letter by letter, but for the lam-alef that is a sign of Unicode too."""
    signs = groupby(zip(places, text, strict=True), key=lambda pair: pair[0])
    told = ("".join(letter for _, letter in sign) for _, sign in signs)
    return "".join(sign if sign in _LAM_ALEF else sign[::-1] for sign in told)


def _is_mono(font: Any, letters: set[str]) -> bool:
    """By its name, by what it says of itself, or by its ``letters`` on the page. Code is written in Latin ones."""
    if 2 * sum(map(str.isascii, letters)) < len(letters):
        return False
    name = (c_char * 256)()
    library().FPDFFont_GetBaseFontName(font, name, len(name))
    if _MONO_NAME.search(name.value.decode("latin-1")) or library().FPDFFont_GetFlags(font) & _FIXED_PITCH:
        return True
    if len(letters) < _LETTERS or letters.isdisjoint(_NARROW) or letters.isdisjoint(_WIDE):
        return False
    usual = _width(font, min(letters))
    return all(_width(font, letter) == usual for letter in letters)


def _width(font: Any, letter: str) -> float:
    width = c_float()
    library().FPDFFont_GetGlyphWidth(font, ord(letter), 1000.0, byref(width))
    return width.value


def _sane(value: float) -> float:
    return value if isfinite(value) and abs(value) < 1e6 else 0.0
