"""What could be done about a run: a case for each row of the spec's troubleshooting table, and for its tuning tips."""

import re

import pytest

from deep_research.budget.fidelity import RunFidelity
from deep_research.budget.recommendations import LARGE_ARCHIVE, advice
from deep_research.errors import ModelError, WindowError
from deep_research.models.failures import from_status
from deep_research.setting_fields import fields_by_path
from deep_research.settings import Settings
from deep_research.state import ContextUsage, DeepResearchPhase, Limit, Notice, SentItem


def fidelity(*sizes, archived=()):
    """Of sources with 100 tokens, of which so many were sent."""
    items = tuple(
        SentItem(id=f"s{n}", original_tokens=100, current_tokens=size) for n, size in enumerate(sizes)
    )
    sending = ContextUsage(items=items, available=1_000, archived=dict.fromkeys(archived, "sha256:0"))
    return RunFidelity.of({DeepResearchPhase.ANALYSIS: sending})


WHOLE = fidelity(100, 100)


def fell_back(error):
    return Notice(
        name="agent",
        message=f"The analyzer could not do its work ({error.problem}); the extractive one did it.",
    )


TOO_LONG = from_status(400, "This model's maximum context length is 8192 tokens.", model="m")
WINDOW = WindowError("A prompt of about 9000 tokens does not fit the 4000 that 'm' has for it.", hint="x")

ROWS = {
    "content dropped": (
        (fidelity(100, 100, 100, 0), ()),
        {},
        [
            "1 text was left out",
            "larger window",
            "reading.tokens",
            "window.runtime_overhead",
            "window.safety_margin",
        ],
    ),
    "its original is lost": ((fidelity(100, 100, 0), ()), {}, ["content_archive.enabled"]),
    "low fidelity": (
        (fidelity(40, 40), ()),
        {},
        ["Less than half", "max_sources_per_query", "reading.tokens", "window.model_tokens"],
    ),
    "a service said that the prompt is too long": (
        (WHOLE, (fell_back(TOO_LONG),)),
        {},
        [
            "too long for its model",
            "window.safety_margin",
            "window.runtime_overhead",
            "max_sources_per_query",
        ],
    ),
    "we said so": ((WHOLE, (fell_back(WINDOW),)), {}, ["window.safety_margin"]),
    "the run was aborted by it": ((WHOLE, ()), {"aborted": str(WINDOW)}, ["window.safety_margin"]),
    "summarization failed": (
        (WHOLE, (Notice(name="summarizer", message="no choice within 60 s"),)),
        {},
        ["summarization.model", "summarization.timeout"],
    ),
    "the archive is large": (
        (WHOLE, ()),
        {"archive_bytes": 2 * LARGE_ARCHIVE},
        ["2.0 GB", "content_archive.ttl_hours", "deep-research archive clean"],
    ),
    "the archive cannot be written": (
        (WHOLE, (Notice(name="archive", message="Originals are not kept"),)),
        {},
        ["content_archive.dir"],
    ),
    "a cap was reached": (
        (WHOLE, (Limit(name="max_usd", message="m"), Limit(name="max_tokens:analysis", message="m"))),
        {},
        ["Raise max_usd and max_tokens: "],
    ),
    "a cap of a shared budget was reached": (
        (WHOLE, (Limit(name="shared:max_usd", message="m"), Limit(name="shared:max_searches", message="m"))),
        {},
        ["Raise max_usd and max_searches of the shared budget: "],
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_what_went_wrong_comes_with_what_to_do(row):
    (sent, limits), more, said = ROWS[row]
    lines = advice(sent, limits, **more)
    assert any(all(word in line for word in said) for line in lines), lines


@pytest.mark.parametrize(
    "row", [name for name in ROWS if name not in ("content dropped", "its original is lost")]
)
def test_nothing_else_is_advised(row):
    (sent, limits), more, _ = ROWS[row]
    assert len(advice(sent, limits, **more)) == 1


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
        for (sent, limits), more, _ in ROWS.values()
        for line in advice(sent, limits, **more)
        for word in re.findall(r"[a-z]+(?:[._][a-z]+)+", line)
    }
    assert words <= fields_by_path(Settings).keys()
    assert len(words) > 10


def test_each_line_is_a_sentence():
    for (sent, limits), more, _ in ROWS.values():
        assert all(line.endswith(".") and len(line) < 300 for line in advice(sent, limits, **more))


def test_where_a_cap_was_the_reason_it_is_what_is_to_be_raised():
    limit = Limit(
        name="max_tokens:analysis", message="To keep within max_tokens 2 sources were not read at all."
    )
    said = " ".join(advice(fidelity(100, 0, 0), (limit,)))
    assert "to keep within max_tokens: raise it" in said
    assert "window" not in said


def test_too_much_that_is_protected_is_not_taken_for_a_prompt_that_is_too_long():
    error = WindowError(
        "The floors of the 10 protected items do not fit: they take 5170 tokens of 2430.", hint="x"
    )
    said = " ".join(advice(WHOLE, (fell_back(error),)))
    assert "protect less" in said
    assert "too long for its model" not in said
