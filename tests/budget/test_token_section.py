"""The spec's section on token management, row by row: each row of its tables is a row here, by its name.

What an option changes in a run is shown in tests/test_every_setting.py; here stand the names, the defaults and the rules.
"""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from deep_research.budget.allocation import (
    HALF_LIFE,
    Item,
    ItemClass,
    Weights,
    allocate_what_fits,
    priority,
    recency_score,
    with_top,
)
from deep_research.budget.archive import Archive
from deep_research.budget.condense import condense
from deep_research.budget.content_budget import Content, ContentRules, fit
from deep_research.budget.fidelity import ContentFidelity, FidelityLevel, RunFidelity, band_of
from deep_research.budget.phase_allocation import share
from deep_research.budget.recommendations import LARGE_ARCHIVE, advice
from deep_research.budget.window import Window
from deep_research.errors import WindowError
from deep_research.setting_fields import bounds, value_at
from deep_research.settings import Settings
from deep_research.settings.groups import WindowSettings
from deep_research.state import ConfidenceLevel, ContextUsage, DeepResearchPhase, Finding, Notice, SentItem

ROWS = {}


def row(name):
    def register(function):
        assert name not in ROWS
        ROWS[name] = function
        return function

    return register


SETTINGS = {
    "window.enabled": True,
    "window.safety_margin": 0.15,
    "window.runtime_overhead": None,  # DESIGN: by environment, 10,000 of an API that is called directly
    "window.allow_dropping": False,
    "summarization.model": (),
    "summarization.timeout": 60.0,
    "summarization.cache": True,
    "content_archive.enabled": False,
    "content_archive.ttl_hours": 168.0,
    "content_archive.dir": None,
}
for option, default in SETTINGS.items():

    @row(f"option {option}")
    def has_its_default(tmp_path, option=option, default=default):
        assert value_at(Settings(data_dir=tmp_path), option) == default


@row("option window.safety_margin: a fraction")
def a_fraction(tmp_path):
    assert (
        bounds(WindowSettings.model_fields["safety_margin"]) == "between 0 and 0.9"
    )  # of a window, nothing would be left at 1
    half = Window.of(100_000, 0, overhead=0, margin=0.5)
    assert half.input == 50_000


@row("option window.model_tokens (tuning tips)")
def windows_can_be_given(tmp_path):
    given = Settings(data_dir=tmp_path, window={"model_tokens": {"ollama:m": 32_768}})
    assert given.window.model_tokens == {"ollama:m": 32_768}


OVERHEADS = {
    "Claude Code": ("claude-code", 60_000),
    "Cursor Agent": ("cursor", 40_000),
    "Codex/OpenCode": ("codex", 30_000),
    "Gemini CLI": ("gemini-cli", 20_000),
    "Direct API": ("direct-api", 10_000),
}
for environment, (runtime, tokens) in OVERHEADS.items():

    @row(f"environment {environment}")
    def takes_so_many_tokens(tmp_path, runtime=runtime, tokens=tokens):
        assert Window.of(200_000, 0, runtime=runtime, margin=0.0).input == 200_000 - tokens


LEVELS = {
    "full": 1.0,
    "condensed": 0.7,
    "compressed": 0.4,
    "key_points": 0.2,
    "headline": 0.1,
    "dropped": 0.0,
}
TEXT = " ".join(f"The tower of town {n} was built in {1000 + n} for {n * 7} pounds." for n in range(300))
for level, ratio in LEVELS.items():

    @row(f"level {level}")
    def has_at_most_its_share(tmp_path, level=level, ratio=ratio):
        made = FidelityLevel(level)
        assert made.ratio == ratio
        room = int(len(TEXT) * ratio)
        shown = condense(TEXT, room, query="tower", measure=len).text
        assert len(shown) <= room
        assert bool(shown) is (ratio > 0)


@row("levels: in this order")
def in_order(tmp_path):
    assert [level.value for level in FidelityLevel] == list(LEVELS)


@row("record content_fidelity and content_allocation_metadata")
def the_names_of_the_spec(tmp_path):
    sent = [SentItem(id="src-001", original_tokens=5_000, current_tokens=3_500)]
    made = json.loads(ContentFidelity.of(sent, available=4_000).model_dump_json())
    assert made == {
        "content_fidelity": {
            "src-001": {
                "original_tokens": 5_000,
                "current_tokens": 3_500,
                "current_level": "condensed",
                "compression_ratio": 0.7,
            }
        },
        "content_allocation_metadata": {
            "fidelity": 0.7,
            "tokens_used": 3_500,
            "tokens_available": 4_000,
            "utilization": 0.875,
            "items_dropped": 0,
            "items_summarized": 1,
        },
    }


BANDS = {
    "Full": (0.90, 1.0),
    "Condensed": (0.60, 0.8999),
    "Compressed": (0.30, 0.5999),
    "Minimal": (0.0, 0.2999),
}
for band, ends in BANDS.items():

    @row(f"band {band}")
    def is_called_so(tmp_path, band=band, ends=ends):
        assert [band_of(end).value for end in ends] == [band, band]


def texts(count, tokens=400):
    made = [" ".join(f"Light {n} of {k} was {n * k} feet." for k in range(tokens // 8)) for n in range(count)]
    return [Content(f"s{n}", (text,), 0.9 - n / 100) for n, text in enumerate(made)]


def words(text):
    return len(text.split())


@row("guardrail: the five best keep three tenths at least")
def the_best_keep_most(tmp_path):
    contents = texts(20)
    total = sum(words(c.forms[0]) for c in contents)
    fitted = fit(contents, total // 4, count=words)
    best = [item.current_tokens / item.original_tokens for item in fitted.items[:5]]
    assert min(best) >= 0.3


@row("guardrail: what its owner protects keeps a tenth at least")
def what_is_protected_keeps_a_tenth(tmp_path):
    kept = Content("kept", texts(1)[0].forms, 0.0, ItemClass.PROTECTED)
    fitted = fit([*texts(20), kept], 1_600, count=words, rules=ContentRules(allow_dropping=True))
    assert fitted.items[-1].current_tokens >= 0.1 * fitted.items[-1].original_tokens


@row("guardrail: sure findings go before speculation")
def sure_findings_first(tmp_path):
    def finding(confidence):
        return Finding(id="find-1", content="It is so.", confidence=confidence, source_ids=(), iteration=1)

    sure, unsure = (
        Weights().finding(finding(c), {})[0] for c in (ConfidenceLevel.HIGH, ConfidenceLevel.SPECULATION)
    )
    assert sure > unsure


@row("guardrail: protected items, then the five best, then the others")
def promises_are_kept_in_this_order(tmp_path):
    items = [Item("kept", 1_000, 0.0, ItemClass.PROTECTED), *(Item(f"s{n}", 1_000, 0.5) for n in range(8))]
    elevated = {item.id: item.klass for item in with_top(items)}
    assert list(elevated.values()).count(ItemClass.TOP) == 5
    made, gave_way = allocate_what_fits(items, 200, allow_dropping=True)
    assert made.sizes["kept"] >= 100
    assert gave_way is ItemClass.TOP
    with pytest.raises(WindowError):
        allocate_what_fits(items, 50, allow_dropping=True)


@row("formula of the priority")
def weighs_four_things(tmp_path):
    assert priority(1, 0, 0, 0) == pytest.approx(0.4)
    assert priority(0, 1, 0, 0) == pytest.approx(0.3)
    assert priority(0, 0, 1, 0) == pytest.approx(0.2)
    assert priority(0, 0, 0, 1) == pytest.approx(0.1)
    assert priority(0.5, 0.5, 0.5, 0.5) == pytest.approx(0.5)


@row("formula of the priority: newer is higher")
def newer_is_higher(tmp_path):
    today = date(2026, 1, 1)
    assert recency_score(today, today) == 1.0
    assert recency_score(today - timedelta(days=HALF_LIFE), today) == pytest.approx(0.5, abs=0.01)


@row("record of the archive")
def has_the_fields_of_the_spec(tmp_path):
    archive = Archive(tmp_path / "archive", 168, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    record = archive.save(
        "All of it.",
        item_id="src-001",
        item_type="source",
        reason="dropped",
        original_tokens=3,
        metadata={"url": "https://example.com/article", "title": "Article Title"},
    )
    assert set(json.loads(record.model_dump_json())) == {
        "content_hash",
        "content",
        "item_id",
        "item_type",
        "archived_at",
        "archive_reason",
        "original_tokens",
        "metadata",
    }
    (file,) = Path(tmp_path / "archive").iterdir()
    assert f"sha256:{file.stem}" == record.content_hash
    assert file.suffix == ".json"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@row("archive: the state has the hashes and what was dropped")
def the_state_knows(tmp_path):
    sending = ContextUsage(
        items=(SentItem(id="src-1", original_tokens=9, current_tokens=0),),
        available=10,
        archived={"src-1": "sha256:0"},
    )
    made = RunFidelity.of({DeepResearchPhase.ANALYSIS: sending})
    assert made.dropped_content_ids == ("src-1",)
    assert made.content_archive_hashes == {"src-1": "sha256:0"}


@row("archive: kept for seven days")
def kept_for_so_long(tmp_path):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    archive = Archive(tmp_path, 168, lambda: now)
    archive.save("All.", item_id="a", item_type="source", reason="dropped", original_tokens=1)
    now += timedelta(hours=167)
    assert archive.clean() == 0
    now += timedelta(hours=2)
    assert archive.clean() == 1


FRACTIONS = {"PLANNING": 0.10, "ANALYSIS": 0.40, "SYNTHESIS": 0.35, "REFINEMENT": 0.15}
for phase, fraction in FRACTIONS.items():

    @row(f"fraction of {phase}")
    def has_its_share_of_what_is_spent(tmp_path, phase=phase, fraction=fraction):
        order = list(FRACTIONS)
        ends = [
            share(DeepResearchPhase(p.lower()), cap=2_000, began=0, report=0, iterations=2).ceiling
            for p in order
        ]
        place = order.index(phase)
        assert ends[place] - (ends[place - 1] if place else 0) == pytest.approx(1_000 * fraction)


@row("fraction of GATHERING: none of its own")
def gathering_has_none(tmp_path):
    of = {"cap": 1_000, "began": 0, "report": 0, "iterations": 1}
    gathering, analysis = (share(p, **of) for p in (DeepResearchPhase.GATHERING, DeepResearchPhase.ANALYSIS))
    assert gathering.ceiling == analysis.ceiling  # who searches with a model spends of the analysis


def told(*items, limits=(), **more):
    sent = tuple(
        SentItem(id=f"s{n}", original_tokens=100, current_tokens=size) for n, size in enumerate(items)
    )
    fidelity = RunFidelity.of({DeepResearchPhase.ANALYSIS: ContextUsage(items=sent, available=1_000)})
    return " ".join(advice(fidelity, limits, **more))


TROUBLES = {
    "content dropped unexpectedly": (told(100, 100, 0), ("window.runtime_overhead", "max_sources_per_query")),
    "context exceeded": (
        told(
            100,
            limits=[Notice(name="agent", message="A prompt of about 9 tokens does not fit the 4 there are.")],
        ),
        ("window.safety_margin", "window.runtime_overhead"),
    ),
    "summarization failures": (
        told(
            100,
            limits=[Notice(name="summarizer", message="Sources were shortened without a model: no answer")],
        ),
        ("summarization.model",),
    ),
    "archive disk usage growing": (
        told(100, archive_bytes=LARGE_ARCHIVE + 1),
        ("content_archive.ttl_hours", "archive clean"),
    ),
    "low fidelity": (told(40, 40), ("max_sources_per_query", "larger window")),
}
for trouble, (said, wanted) in TROUBLES.items():

    @row(f"trouble: {trouble}")
    def is_answered(tmp_path, said=said, wanted=wanted):
        assert all(name in said for name in wanted), said


@row("tip: content is dropped needlessly")
def less_is_kept_free(tmp_path):
    said = told(100, 100, 0)
    assert "lower window.runtime_overhead and window.safety_margin" in said
    assert "larger window" in said
    wide = Window.of(100_000, 0, overhead=0, margin=0.0)
    assert wide.input > Window.of(100_000, 0, overhead=10_000, margin=0.15).input


@row("tip: shortening is slow")
def a_faster_model(tmp_path):
    said = told(100, limits=[Notice(name="summarizer", message="no choice within 60 s")])
    assert "summarization.model" in said
    assert "summarization.timeout" in said


@row("tip: fewer sources")
def fewer_sources(tmp_path):
    assert "max_sources_per_query" in told(40, 40)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_section_on_tokens(name, tmp_path):
    ROWS[name](tmp_path)


def test_no_row_is_missing():
    kinds = [name.partition(" ")[0].rstrip(":") for name in ROWS]
    counted = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    assert counted == {
        "option": 12,
        "environment": 5,
        "level": 6,
        "levels": 1,
        "record": 2,
        "band": 4,
        "guardrail": 4,
        "formula": 2,
        "archive": 2,
        "fraction": 5,
        "trouble": 5,
        "tip": 3,
    }
