"""The text of an answer without what is no part of it, also while it comes in pieces: a model's thoughts, the control
tokens of its format, and what it may not repeat: its instructions, the owner's secrets, the mark of the fences.

Servers without a parser for a model hand on what the model wrote: thoughts between tokens of their own, the headers of
channels and turns, the token that ends an answer. Thoughts stand before an answer or on lines of their own; the same
words within a sentence, in quotes or in code are what the answer is about, and stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from deep_research.models.characters import in_all_texts
from deep_research.patterns import regex

MAX_HELD_CHARS = 400  # of a text, that may turn out to be control tokens
MAX_CONTEXT_CHARS = 3  # before a token, that tell a quoted one
CHUNK_CHARS = 2_000
MAX_TOKENS = 200  # within a text, that are looked for

_NAMES = "(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)"
_CHANNEL = r"(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*"
_MESSAGE = r"[^<]{0,100}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
_FINAL = rf"{_CHANNEL}final{_MESSAGE}"
# How thoughts begin and end, by format.
_PAIRS = (
    (rf"<(?:seed:)?{_NAMES}\b[^<>]{{0,200}}>", rf"</(?:seed:)?{_NAMES}\b[^<>]{{0,200}}>"),
    (r"\[(?-i:THINK)\]", r"\[/(?-i:THINK)\]"),
    (
        rf"<\|(?:(?:begin|start)_(?:of_)?{_NAMES}|{_NAMES}(?:_(?:begin|start))?|inner_prefix)\|>",
        rf"<\|(?:end_(?:of_)?{_NAMES}|{_NAMES}_end|/{_NAMES}|inner_suffix)\|>",
    ),
    (r"<\|channel>[ \t]*(?:thought|thinking|analysis)\b", r"<channel\|>"),
    (r"<unused94>(?:thought\b)?", r"<unused95>"),
    (r"◁think▷", r"◁/think▷"),
    (r"\A(?:assistant)?(?-i:analysis(?=[A-Z\"'(]))", r"assistantfinal"),  # the same without its tokens
)
# Channels of Harmony: what ends one ends an answer as well, so only where another follows does it end thoughts that the
# prompt began.
_OTHER_CHANNEL = rf"{_CHANNEL}(?:analysis|commentary(?![^<]{{0,99}}\bto=)){_MESSAGE}"
_OPENING = "|".join((*(opening for opening, _ in _PAIRS), _OTHER_CHANNEL))
_CLOSING = "|".join((*(closing for _, closing in _PAIRS), rf"<\|end\|>(?=\s*<\|start\|>)|{_FINAL}"))
TAG = regex(rf"(?P<close>{_CLOSING})|(?P<open>{_OPENING})", re.IGNORECASE)
_PAIR = tuple(
    (regex(opening, re.IGNORECASE), regex(closing, re.IGNORECASE))
    for opening, closing in (*_PAIRS, (_OTHER_CHANNEL, rf"<\|end\|>|{_FINAL}"))
)

_CONTROL = (
    r"<\|(?!start\||channel\||message\||constrain\|)[/\w ]{1,40}\|>|<｜[^<>｜]{1,40}｜>|</?s>|<(?:start|end)_of_turn>"
    r"|<\|turn>|<turn\|>|<(?:eos|bos|pad)>|\[/?INST\]"
)
_ROLE = r"(?:\s*(?:assistant|model)(?=\s*\n|\s*<))"
# Before an answer: the header of its channel or turn, and what always begins one.
_HEAD = regex(
    rf"(?:<\|end\|>\s*)?{_CHANNEL}(?:final|commentary){_MESSAGE}"
    rf"|(?:<s>|<bos>|<\|(?:begin_of_text|(?:begin_of|start)_(?:solution|response|answer))\|>)\s*"
    rf"|(?:{_CONTROL})(?:{_ROLE}\s*(?:{_CONTROL})?\s*|\s*\n\s*|(?=\S))",
    re.IGNORECASE,
)
_HEAD_UNSURE = regex(
    rf"(?:{_CONTROL})\s*\w{{0,12}}\Z|<\|(?:start|channel)\|>(?![\s\S]{{0,300}}<\|message\|>)|<\|channel>\s*\w{{0,10}}\Z"
    r"|<[^<>\n]{0,200}\Z|\[/?[A-Z]{0,8}\Z|◁[^▷]{0,10}\Z",
    re.IGNORECASE,
)
_LEAKED = "assistantanalysis"  # how an answer may begin whose tokens were taken out
_END = rf"(?:{_CONTROL}|<\|message\|>|<\|start\|>)"
_TAIL = regex(rf"(?<![\"'`“«])(?:{_END}\s*)+\Z", re.IGNORECASE)
_TURN = regex(
    r"(?:<\|(?:im_end|eot_id|end|endoftext|return)\|>|<end_of_turn>|<turn\|>|</s>)\s{0,20}"
    r"(?:<\|(?:im_start|start_header_id|start)\|>|<start_of_turn>|<\|turn>|(?=<\|(?:user|assistant|system)\|>)|\[INST\])"
    r"\s{0,20}(?P<role>\w{0,20})",
    re.IGNORECASE,
)
# What may become a token with what follows, at the end of what has come so far.
_MARKS = regex(r"[<\[◁`]")
_UNSURE = regex(
    rf"(?:(?:{_END}|{_CLOSING}|{_OPENING}|<\|(?:channel|constrain)\|>)\s*\w{{0,20}}\s*)*"
    r"(?:<[^<>\n]{0,80}|\[/?[A-Z]{0,8}|◁[^▷]{0,10}|`+)?\Z",
    re.IGNORECASE,
)
_QUOTES = frozenset("\"'`“«")
_STOPS = frozenset(".!?)]:;\n")
_GOES_ON = regex(r"[.,;:!?)]| [a-z]")
_T = TypeVar("_T")
OURS = 8  # words in a row that are an echo of our instructions
OWNERS = 12  # the same for the owner's words, which may have been meant to be used
MIN_INSTRUCTION_WORDS = 6  # words of an owner's instructions, below which it is no text to be told
LEFT_OUT = "[…]"
_WORD = regex(r"\w+")
_QUOTED = regex(r"“[^”]*”|„[^“”]*[“”]|«[^»]*»|\"[^\"]*\"")  # in instructions: words that are to be used
_TOKEN = regex(r"[A-Za-z0-9_+/=.~-]{16,}")
_CHANGE = regex(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]")
_CHANGES = 5  # between letters and digits, from which on a token is no name of a thing
_NAMED = regex(
    r"\b(?:password|passphrase|secret|api[ _-]?key|access[ _-]?(?:key|code|token)|token)\b(?:\s+is)?\s*[:=]?\s*"
    r"[\"'“]?([^\s\"'”,;]{6,})",
    re.IGNORECASE,
)


class AnswerStream:
    """Hands on the pieces of an answer that are its text. ``void`` says that what was handed on is none of it."""

    def __init__(self, tell: Callable[[str], None], void: Callable[[], None]) -> None:
        self._tell = tell
        self._void = void
        self._held = ""
        self._before = ""  # the end of what was handed on
        self._fences = 0
        self._left = MAX_TOKENS
        self._closing: re.Pattern[str] | None = None  # what ends the thoughts that are read
        self._is_head = True
        self._is_cleared = False  # something before the text was left out
        self._is_over = False

    def take(self, piece: str) -> None:
        self._held += piece
        while self._step(final=False):
            pass

    def end(self) -> None:
        while self._step(final=True):
            pass

    def _step(self, *, final: bool) -> bool:
        """Reads on. Returns True while there is more to be read of what has come."""
        if not self._held or self._is_over:
            self._held = ""
            return False
        if self._closing is not None:
            return self._thoughts(final)
        return self._head(final) if self._is_head else self._body(final)

    def _thoughts(self, final: bool) -> bool:
        assert self._closing is not None
        if (end := self._closing.search(self._held)) is None:
            # An answer that is nothing but thoughts is empty.
            self._held = "" if final else self._held[-MAX_HELD_CHARS:]
            return False
        self._closing, self._is_cleared = None, self._is_cleared or self._is_head
        self._held = self._held[end.end() :]
        return True

    def _head(self, final: bool) -> bool:
        text = self._held.lstrip()
        for opening, closing in _PAIR:
            if (begins := opening.match(text)) is not None:
                self._held, self._closing = text[begins.end() :], closing
                return True
        may_wait = not final and len(self._held) <= MAX_HELD_CHARS
        if may_wait and (
            not text or _HEAD_UNSURE.match(text) or _LEAKED[9:].startswith(text) or _LEAKED.startswith(text)
        ):
            return False
        if (header := _HEAD.match(text)) is not None:
            if may_wait and header.end() == len(text):
                return False
            self._held, self._is_cleared = text[header.end() :], True
            return True
        self._held = text if self._is_cleared else self._held
        self._is_head = False
        if text[:1] in ("{", "[", "`"):
            self._left = 0  # data, in which tokens are texts
        return True

    def _body(self, final: bool) -> bool:
        if self._left > 0 and (
            self._begins_thoughts() or self._ends_thoughts(final) or self._ends_turn(final)
        ):
            self._left -= 1
            return True
        if final:
            self._held = _TAIL.sub("", self._held)
            self._out(len(self._held))
        elif _MARKS.search(self._held):
            unsure = _UNSURE.search(self._held, max(0, len(self._held) - MAX_HELD_CHARS))
            self._out(unsure.start() if unsure else len(self._held))
        else:
            self._out(len(self._held))
        return False

    def _begins_thoughts(self) -> bool:
        """Goes into thoughts that begin on a line of their own, and returns True, if there are any."""
        for opening, closing in _PAIR:
            for begins in opening.finditer(self._held):
                if self._before_of(begins.start()).endswith("\n") and not self._is_quoted(begins.start()):
                    self._drop(begins)
                    self._closing = closing
                    return True
        return False

    def _ends_thoughts(self, final: bool) -> bool:
        """Takes back all that came so far, and returns True, where it turns out to be thoughts whose beginning was in the
        prompt: nothing began them, a sentence ends there, and an answer follows."""
        tag = TAG.search(self._held)
        if tag is None or tag["open"] is not None or self._is_quoted(tag.start()):
            return False
        after = self._held[tag.end() : tag.end() + 2]
        if not (after or final) or _GOES_ON.match(after) or self._before_of(tag.start())[-1:] not in _STOPS:
            return False
        self._void()
        self._before, self._fences = "", 0
        self._held, self._is_head, self._is_cleared = self._held[tag.end() :], True, True
        return True

    def _ends_turn(self, final: bool) -> bool:
        """Leaves out the turns that a model wrote for others, and returns True, if it goes on with another turn."""
        turn = next((turn for turn in _TURN.finditer(self._held) if not self._is_quoted(turn.start())), None)
        if turn is None or (turn.end() == len(self._held) and not final):
            return False
        self._drop(turn)
        self._is_over = turn["role"].lower() not in ("assistant", "model")
        return True

    def _drop(self, token: re.Match[str]) -> None:
        """Hands on what is before a token, and goes on behind it."""
        self._out(token.start())
        self._held = self._held[token.end() - token.start() :]

    def _out(self, size: int) -> None:
        text, self._held = self._held[:size], self._held[size:]
        if text:
            self._fences += text.count("```")
            self._before = (self._before + text)[-MAX_CONTEXT_CHARS:]
            self._tell(text)

    def _before_of(self, place: int) -> str:
        return self._before + self._held[max(0, place - MAX_CONTEXT_CHARS) : place]

    def _is_quoted(self, place: int) -> bool:
        """Returns True for a token that the text is about: in a block of code, or in quotes."""
        fences = self._fences + self._held.count("```", 0, place)
        return fences % 2 == 1 or self._before_of(place)[-1:] in _QUOTES


def answer_text(text: str) -> str:
    """The text of a whole answer."""
    told: list[str] = []
    stream = AnswerStream(told.append, told.clear)
    for start in range(0, len(text), CHUNK_CHARS):  # what is looked through for a token is short
        stream.take(text[start : start + CHUNK_CHARS])
    stream.end()
    return "".join(told)


@dataclass(frozen=True, slots=True)
class Echoes:
    """``ours`` are instructions, ``owners`` those of the run's owner, ``mark`` that of the fences. What stands in
    ``prompt`` as well, the rest of the prompt, was there to be used."""

    ours: str = ""
    owners: str = ""
    mark: str = ""
    prompt: str = ""
    _rows: Mapping[int, frozenset[tuple[str, ...]]] = field(init=False, compare=False)
    _secrets: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        instructions = _QUOTED.sub(" . ", self.owners)
        length = min(OWNERS, len(_WORD.findall(instructions)))
        rows: dict[int, frozenset[tuple[str, ...]]] = {OURS: _rows(self.ours, OURS)}
        if length >= MIN_INSTRUCTION_WORDS:
            rows[length] = rows.get(length, frozenset()) | _rows(instructions, length)
        secrets = [self.mark] if self.mark else []
        secrets += [s for s in _secrets(self.owners) if s not in self.prompt]
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_secrets", tuple(secrets))

    def cleared(self, value: _T) -> _T:
        """The value with all texts in it, however deep, `without` echoes."""
        return in_all_texts(value, self.without)

    def without(self, text: str) -> str:
        """The text with ``[…]`` in place of what it repeats."""
        spans = self.spans(text)
        for start, end in reversed(spans):
            text = f"{text[:start]}{LEFT_OUT}{text[end:]}"
        return text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the text repeats something, in order and apart."""
        found = [
            (at.start(), at.end())
            for secret in self._secrets
            for at in re.finditer(re.escape(secret), text, re.IGNORECASE)
        ]
        words = [word.casefold() for word in _WORD.findall(text)]
        for length, rows in self._rows.items():
            if len(words) < length or rows.isdisjoint(_in_rows(words, length)):
                continue  # as nearly all texts, so only for the others is it found out where their words are
            places = list(_WORD.finditer(text))
            for at, row in enumerate(_in_rows(words, length)):
                if row in rows and not self._was_shown(row):
                    found.append((places[at].start(), places[at + length - 1].end()))
        return _merge_spans(found)

    def _was_shown(self, row: tuple[str, ...]) -> bool:
        return row in _rows(self.prompt, len(row))


class Stream:
    """Pieces of a text handed on without echoes: so many words are held back as it takes to know."""

    def __init__(self, echoes: Echoes, tell: Callable[[str | None], None]) -> None:
        self._echoes = echoes
        self._tell = tell
        self._held = ""
        self.told: list[str] = []

    def take(self, piece: str | None) -> None:
        if piece is None:
            self.told.clear()
            self._held = ""
            self._tell(None)
            return
        self._held += piece
        words = list(_WORD.finditer(self._held))
        if len(words) <= OWNERS:
            return
        cut = words[-OWNERS].start()
        cut = next((start for start, end in self._echoes.spans(self._held) if start <= cut < end), cut)
        self._out(self._held[:cut])
        self._held = self._held[cut:]

    def end(self, text: str) -> None:
        """``text`` is the answer without echoes: what was told must be it."""
        self._out(self._held)
        self._held = ""
        if "".join(self.told) != text:
            self.take(None)
            self.told.append(text)
            self._tell(text)

    def _out(self, text: str) -> None:
        if text:
            self.told.append(self._echoes.without(text))
            self._tell(self.told[-1])


@lru_cache(maxsize=64)
def _rows(text: str, length: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_in_rows([word.casefold() for word in _WORD.findall(text)], length))


def _in_rows(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    """Each run of so many words."""
    return zip(*(words[at:] for at in range(length)), strict=False)


def _secrets(text: str) -> list[str]:
    """What stands under a telling name, and what looks as if no one could have thought of it."""
    named = [match.group(1).rstrip(".") for match in _NAMED.finditer(text)]
    looks = [t.strip(".") for t in _TOKEN.findall(text) if len(_CHANGE.findall(t)) >= _CHANGES]
    return list(dict.fromkeys((*looks, *(word for word in named if any(c.isdigit() for c in word)))))


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made
