"""Notices that are the same are told once, with how often and of what else. Pure.

They are the same where they have one name and differ in nothing but what is quoted, or beside figures in one word at
their beginning: in the search, hook or agent that each is of. Any other word may say the opposite.
"""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.patterns import regex
from deep_research.state.records import OF_PAGES, Limit

HOOK = "hook"  # whose ``used`` is how often it failed
GUIDANCE = "guidance"  # of guidance that came to nothing
EACH = (GUIDANCE, "option")  # are told one by one: they are what the owner of the run asked for
MAX_NAMED, MAX_NAME_CHARS = 3, 40  # of what a notice holds as well
MIN_SHARED_WORDS = 4
MAX_SUBJECT_WORDS = 3  # at the beginning, of which one may name what a notice is of: "The hook gate …"
MAX_COMPARED = 50  # notices before one that it may be the same as
_QUOTED = regex(r"'[^'\n]{1,500}'|“[^”\n]{1,500}”|\"[^\"\n]{1,500}\"")
_BLANK = "'…'"
_NO_NAMES = frozenset(
    ("all", "any", "both", "each", "every", "few", "many", "most", "neither", "never", "no", "nobody", "none", "not",
     "nothing", "one", "only", "other", "some", "that", "the", "these", "this", "those")
)  # fmt: skip
_SENTENCE_END = regex(r"[.?!]")

# Why guidance came to nothing.
NOT_FOLLOWED = "Not found, or cannot be followed"
NOT_SEARCHED = "Search limit reached; not searched"
TOO_LATE = "Arrived after the last phase; not applied"
MAX_QUOTED_CHARS = 200  # of guidance in a line


def guidance_notice(reason: str, text: str) -> Limit:
    """Says why guidance came to nothing, and quotes it."""
    return Limit(name=GUIDANCE, message=f"{reason}: “{short_guidance(text).rstrip('.')}”.")


def short_guidance(text: str) -> str:
    """Guidance in one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTED_CHARS else f"{line[:MAX_QUOTED_CHARS].rsplit(' ', 1)[0]} …"


def merge_notices(limits: Iterable[Limit]) -> tuple[Limit, ...]:
    """The limits in their order, those that are the same as one before it joined to that."""
    return tuple(_join(group) for group in group_notices(limits))


def group_notices(limits: Iterable[Limit]) -> list[list[Limit]]:
    groups: list[list[Limit]] = []
    for limit in limits:
        same = next((group for group in groups[-MAX_COMPARED:] if is_same(group[0], limit)), None)
        groups.append([limit]) if same is None else same.append(limit)
    return groups


def is_same(first: Limit, other: Limit) -> bool:
    """Whether two limits tell the same of two things. Caps and pages have rules of their own."""
    if first.name != other.name or first.message == other.message:
        return False
    if first.of_cap or first.name in (*OF_PAGES, *EACH):
        return False
    return _blanked(first.message) == _blanked(other.message) or _odd_word(first, other) is not None


def _blanked(message: str) -> str:
    return str(_QUOTED.sub(_BLANK, message))


def _odd_word(first: Limit, other: Limit) -> str | None:
    """The name at the beginning of ``other`` by which it differs, beside figures; None where it differs in anything
    else."""
    words, others = first.message.split(), other.message.split()
    if len(words) != len(others) or len(words) <= MIN_SHARED_WORDS:
        return None
    pairs = enumerate(zip(words, others, strict=True))
    odd = [(place, _bare(a), _bare(b)) for place, (a, b) in pairs if a != b and not _has_figure(a + b)]
    if (
        len(odd) != 1
        or odd[0][0] >= MAX_SUBJECT_WORDS
        or not _NO_NAMES.isdisjoint(map(str.lower, odd[0][1:]))
    ):
        return None
    return odd[0][2]


def _bare(word: str) -> str:
    return word.strip("'“”\".,:;()")


def _has_figure(word: str) -> bool:
    return any(character.isdigit() for character in word)


def _join(group: list[Limit]) -> Limit:
    often, first = count_of(group), group[0]
    if often < 2:
        return first
    others = other_names(group)
    also = ", ".join(others[:MAX_NAMED])
    if len(others) > MAX_NAMED:
        also += f" and {len(others) - MAX_NAMED} more"
    beside = f" (also {also})" if also else ""
    message = f"{often} times{beside}: {first.message}"
    return first.model_copy(update={"message": message, "used": float(often)})


def count_of(group: list[Limit]) -> int:
    return sum(int(limit.used) if limit.name == HOOK and limit.used else 1 for limit in group)


def other_names(group: list[Limit]) -> list[str]:
    """The hooks, agents or searches that limits are of which are the same as the first."""
    return list(dict.fromkeys(filter(None, (_own(group[0], limit) for limit in group[1:]))))


def _own(first: Limit, other: Limit) -> str:
    """That of which ``other`` tells what ``first`` does: a word, or the beginning of what is quoted."""
    held = {match.group() for match in _QUOTED.finditer(first.message)}
    quoted = next((m.group() for m in _QUOTED.finditer(other.message) if m.group() not in held), "")
    if not quoted or _blanked(first.message) != _blanked(other.message):
        return _odd_word(first, other) or ""
    text = _SENTENCE_END.split(quoted[1:-1], maxsplit=1)[0][:MAX_NAME_CHARS].rstrip()
    return f"{quoted[0]}{text}{'…' * (text != quoted[1:-1])}{quoted[-1]}"
