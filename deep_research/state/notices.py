"""The limits and notices of a run, as they hold when it is reported. Pure.

The state keeps them as they were recorded; some of what they tell was made good since. Notices that are the same are
told once, with how often and of what else: they have one name and differ in nothing but what is quoted, or beside figures
in one word at their beginning, the search, hook or agent that each is of. Any other word may say the opposite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deep_research.patterns import regex
from deep_research.state.phases import SubQueryStatus
from deep_research.state.records import NO_HIGH_QUALITY, OF_PAGES, Limit, Notice
from deep_research.state.run import DeepResearchState

OF_SEARCHES = ("max_searches", "max_seconds")  # ``skipped`` are the searches that were not made
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


def guidance_notice(reason: str, text: str) -> Notice:
    """Says why guidance came to nothing, and quotes it."""
    return Notice(name=GUIDANCE, message=f"{reason}: “{short_guidance(text).rstrip('.')}”.")


def short_guidance(text: str) -> str:
    """Guidance in one line that is not too long."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUOTED_CHARS else f"{line[:MAX_QUOTED_CHARS].rsplit(' ', 1)[0]} …"


def reported_notices(state: DeepResearchState) -> tuple[Notice, ...]:
    """The limits and notices that hold now, as a report lists them: those that are the same are one."""
    return merge_notices(current_notices(state))


def current_notices(state: DeepResearchState) -> tuple[Notice, ...]:
    """The limits and notices that hold now, by name: without pages that another search could read, caps whose searches
    were made after all or are told of again by a later round, and advice on gathering that reading made void, and with
    the findings and quotes that were thrown away."""
    return (*_standing(state), *_unfounded(state))


def _standing(state: DeepResearchState) -> Iterator[Notice]:
    read_urls = {source.url for source in state.sources if source.metadata.get("read") != "extract"}
    searched = {s.query for s in state.sub_queries if s.status is SubQueryStatus.COMPLETED}
    for notice in sorted((*state.limits, *state.notices), key=lambda each: (each.name, each.message)):
        if notice.message == NO_HIGH_QUALITY and state.high_quality_sources():
            continue
        if isinstance(notice, Limit) and notice.of_cap in OF_SEARCHES and notice.skipped:
            is_repeated = any(_tells_more(other, notice) for other in state.limits)
            if is_repeated or searched.issuperset(notice.skipped):
                continue
        if notice.name not in OF_PAGES:
            yield notice
        elif left := tuple(url for url in notice.skipped if url not in read_urls):
            yield notice.model_copy(update={"skipped": left})


def _tells_more(other: Limit, limit: Limit) -> bool:
    """Whether another limit on searches holds in place of one: that of a cap that was raised, or what a later round
    could not make, earlier ones among it."""
    if other.name != limit.name:
        return False
    is_raised = (other.cap or 0) > (limit.cap or 0)
    return is_raised or (other.cap == limit.cap and set(other.skipped) > set(limit.skipped))


def _unfounded(state: DeepResearchState) -> Iterator[Notice]:
    """Findings and quotes that were thrown away are no secret."""
    sentences = []
    if state.unfounded:
        findings = "finding was" if state.unfounded == 1 else "findings were"
        why = "since what they quoted stands in none of their sources, or says something else"
        sentences.append(f"{state.unfounded} {findings} left out, {why}.")
    if state.unlocated:
        quotes = "quote was" if state.unlocated == 1 else "quotes were"
        sentences.append(f"{state.unlocated} {quotes} left out, since no source has the words.")
    if sentences:
        yield Notice(name="evidence", message=" ".join(sentences))


def merge_notices(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """The notices in their order, those that are the same as one before it joined to that."""
    return tuple(_join(group) for group in group_notices(notices))


def group_notices(notices: Iterable[Notice]) -> list[list[Notice]]:
    """The notices in their order, each with those after it that are the same."""
    groups: list[list[Notice]] = []
    for notice in notices:
        same = next((group for group in groups[-MAX_COMPARED:] if is_same(group[0], notice)), None)
        groups.append([notice]) if same is None else same.append(notice)
    return groups


def is_same(first: Notice, other: Notice) -> bool:
    """Whether two notices tell the same of two things. Caps and pages have rules of their own."""
    if first.name != other.name or first.message == other.message:
        return False
    if isinstance(first, Limit) or first.name in (*OF_PAGES, *EACH):
        return False
    return _blanked(first.message) == _blanked(other.message) or _odd_word(first, other) is not None


def _blanked(message: str) -> str:
    return str(_QUOTED.sub(_BLANK, message))


def _odd_word(first: Notice, other: Notice) -> str | None:
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


def _join(group: list[Notice]) -> Notice:
    often, first = count_of(group), group[0]
    if often < 2:
        return first
    others = other_names(group)
    also = ", ".join(others[:MAX_NAMED])
    if len(others) > MAX_NAMED:
        also += f" and {len(others) - MAX_NAMED} more"
    beside = f" (also {also})" if also else ""
    return first.model_copy(update={"message": f"{often} times{beside}: {first.message}", "count": often})


def count_of(group: list[Notice]) -> int:
    return sum(notice.count for notice in group)


def other_names(group: list[Notice]) -> list[str]:
    """The hooks, agents or searches of the notices that are the same as the first."""
    return list(dict.fromkeys(filter(None, (_own(group[0], notice) for notice in group[1:]))))


def _own(first: Notice, other: Notice) -> str:
    """That of which ``other`` tells what ``first`` does: a word, or the beginning of what is quoted."""
    first_quotes = {match.group() for match in _QUOTED.finditer(first.message)}
    quote = next((m.group() for m in _QUOTED.finditer(other.message) if m.group() not in first_quotes), "")
    if not quote or _blanked(first.message) != _blanked(other.message):
        return _odd_word(first, other) or ""
    text = _SENTENCE_END.split(quote[1:-1], maxsplit=1)[0][:MAX_NAME_CHARS].rstrip()
    return f"{quote[0]}{text}{'…' * (text != quote[1:-1])}{quote[-1]}"
