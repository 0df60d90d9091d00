"""What could be done about a run: a case for each row of the spec's troubleshooting table, and for its tuning tips."""

import re

import pytest
from spending import sent

from deep_research.budget.accounting import LARGE_ARCHIVE, advice
from deep_research.budget.fidelity import RunFidelity
from deep_research.errors import ModelError, WindowError
from deep_research.models.failures import from_status
from deep_research.setting_fields import fields_by_path
from deep_research.settings import Settings
from deep_research.state import ContextUsage, DeepResearchPhase, Limit, Notice


def fidelity(*sizes, archived=()):
    """Of sources with 100 tokens, of which so many were sent."""
    items = tuple(sent(n, 100, size) for n, size in enumerate(sizes))
    sending = ContextUsage(items=items, available=1_000, archived=dict.fromkeys(archived, "sha256:0"))
    return RunFidelity.of({DeepResearchPhase.ANALYSIS: sending})


WHOLE = fidelity(100, 100)


def fell_back(error):
    told = f"The analyzer could not do its work ({error.problem}); the extractive one did it."
    return Notice(name="agent", message=told)


def reached(*caps):
    return tuple(Limit(name=cap, message="m") for cap in caps)


TOO_LONG = from_status(400, "This model's maximum context length is 8192 tokens.", model="m")
WINDOW = WindowError("A prompt of about 9000 tokens does not fit the 4000 that 'm' has for it.", hint="x")
SLOW = Notice(name="summarizer", message="no choice within 60 s")
UNWRITTEN = Notice(name="archive", message="Originals are not kept")
ROWS = {
    "content dropped": (
        (fidelity(100, 100, 100, 0), ()), {},
        ["1 text was left out", "larger window", "reading.tokens", "window.runtime_overhead", "window.safety_margin"],
    ),
    "its original is lost": ((fidelity(100, 100, 0), ()), {}, ["content_archive.enabled"]),
    "low fidelity": (
        (fidelity(40, 40), ()), {},
        ["Less than half", "max_sources_per_query", "reading.tokens", "window.model_tokens"],
    ),
    "a service said that the prompt is too long": (
        (WHOLE, (fell_back(TOO_LONG),)), {},
        ["too long for its model", "window.safety_margin", "window.runtime_overhead", "max_sources_per_query"],
    ),
    "we said so": ((WHOLE, (fell_back(WINDOW),)), {}, ["window.safety_margin"]),
    "the run was aborted by it": ((WHOLE, ()), {"aborted": str(WINDOW)}, ["window.safety_margin"]),
    "summarization failed": (
        (WHOLE, (SLOW,)), {}, ["summarization.model", "summarization.timeout"],
    ),
    "the archive is large": (
        (WHOLE, ()), {"archive_bytes": 2 * LARGE_ARCHIVE},
        ["2.0 GB", "content_archive.ttl_hours", "deep-research archive clean"],
    ),
    "the archive cannot be written": ((WHOLE, (UNWRITTEN,)), {}, ["content_archive.dir"]),
    "a cap was reached": (
        (WHOLE, reached("max_usd", "max_tokens:analysis")), {}, ["Raise max_usd and max_tokens: "],
    ),
    "a cap of a shared budget was reached": (
        (WHOLE, reached("shared:max_usd", "shared:max_searches")), {},
        ["Raise max_usd and max_searches of the shared budget: "],
    ),
}  # fmt: skip
BESIDE = {"content dropped", "its original is lost"}  # of which two things are said


@pytest.mark.parametrize("row", ROWS)
def test_what_went_wrong_comes_with_what_to_do_in_sentences(row):
    (reading, limits), more, said = ROWS[row]
    lines = advice(reading, limits, **more)
    assert any(all(word in line for word in said) for line in lines), lines
    assert all(line.endswith(".") and len(line) < 300 for line in lines)
    assert len(lines) == 1 or row in BESIDE


def test_where_nothing_is_wrong_nothing_is_advised():
    harmless = (
        Notice(name="window", message="For want of room the refiner was given only a part of the report."),
        Notice(name="analysis", message="No finding is of high confidence."),
        fell_back(ModelError("m: the answer did not fit its limit", hint="")),
    )
    assert advice(WHOLE, harmless) == []
    assert advice(fidelity(60, 100), ()) == []
    assert advice(RunFidelity(), (), archive_bytes=LARGE_ARCHIVE) == []


def test_an_original_that_was_kept_is_not_asked_for():
    assert len(advice(fidelity(100, 100, 0, archived=["s2"]), ())) == 1


def test_every_name_that_is_advised_is_a_setting():
    words = {
        word
        for (reading, limits), more, _ in ROWS.values()
        for line in advice(reading, limits, **more)
        for word in re.findall(r"[a-z]+(?:[._][a-z]+)+", line)
    }
    assert words <= fields_by_path(Settings).keys()
    assert len(words) > 10


def test_where_a_cap_was_the_reason_it_is_what_is_to_be_raised():
    told = "To keep within max_tokens 2 sources were not read at all."
    limit = Limit(name="max_tokens:analysis", message=told)
    said = " ".join(advice(fidelity(100, 0, 0), (limit,)))
    assert "to keep within max_tokens: raise it" in said
    assert "window" not in said


def test_too_much_that_is_protected_is_not_taken_for_a_prompt_that_is_too_long():
    floors = "The floors of the 10 protected items do not fit: they take 5170 tokens of 2430."
    said = " ".join(advice(WHOLE, (fell_back(WindowError(floors, hint="x")),)))
    assert "protect less" in said
    assert "too long for its model" not in said
