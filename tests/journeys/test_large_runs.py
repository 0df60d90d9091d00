"""Runs that are too large for a window: a thousand sources, a question of three pages, models with small windows."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, RunStatus, SearchResult
from deep_research.testing import ScriptedSearch
from deep_research.testing.doubles import page

pytestmark = pytest.mark.timed

QUESTION = "What is known of the keepers and their lights?"
PAGES = (
    "Say of every tower that is named who kept its light, and when, and what was seen at night from it. "
    * 150
)


class Planning(ReadingModel):
    """Plans as many searches as it may."""

    def __init__(self, searches):
        super().__init__()
        self.searches = searches

    def answer(self, call):
        text = super().answer(call)
        if "sub_queries" not in text[:200] and '"research_brief"' not in text[:40]:
            return text
        plan = json.loads(text)
        plan["sub_queries"] = [
            {"query": f"keepers of light number {n}", "rationale": "", "priority": 1}
            for n in range(self.searches)
        ]
        return json.dumps(plan)


def tokens(call):
    form = json.dumps(call.form.json_schema) if call.form else ""
    texts = [call.system, form, *(message.content for message in call.messages)]
    return sum(len(text.encode()) for text in texts) / 4  # as the model counts


def researched(tmp_path, model, *, window, sources, question=QUESTION, size=20_000, **more):
    profiles = tmp_path / f"models-{window}.toml"
    profiles.write_text(f'["reading:m"]\ncontext = {window}\noutput = {window // 4}\n')
    each = 50

    def found(request):
        texts = [page(request.query, n, size=size) for n in range(each)]
        return [
            SearchResult(address=f"{request.query}/{n}", title=f"Page {n}", text=text)
            for n, text in enumerate(texts)
        ]

    with DeepResearch(
        model=model,
        search=[ScriptedSearch(found)],
        data_dir=tmp_path / f"{window}-{sources}",
        model_file=profiles,
        max_sub_queries=max(2, sources // each),
        max_sources_per_query=min(each, sources),
        max_iterations=1,
        **more,
    ) as research:
        clock = time.process_time()
        result = asyncio.run(research.arun(question))
    return result, time.process_time() - clock


@pytest.mark.parametrize(
    ("window", "sources"),
    [
        (32_768, 150),
        pytest.param(32_768, 1_000, marks=pytest.mark.slow),
        pytest.param(200_000, 1_000, marks=pytest.mark.sweep),
    ],
)
def test_many_sources_are_read_and_every_prompt_fits_the_window(tmp_path, window, sources):
    model = Planning(sources // 50)
    result, _ = researched(tmp_path, model, window=window, sources=sources)
    assert result.status is RunStatus.COMPLETED
    assert len(result.sources) == sources
    assert result.report_metadata.writer == "synthesizer"
    for call in model.calls:
        assert tokens(call) + call.max_output <= window
    said = " ".join(notice.message for notice in result.notices)
    assert f"of {sources} sources were read in part" in said
    told = result.report.split("## Limits")[1]
    of_report = [
        notice for notice in result.notices if notice.name == "window" and "refiner" not in notice.message
    ]
    assert all(limit.message in told for limit in of_report)  # what its critic did not see is no limit of it


def test_the_time_of_a_run_grows_with_its_sources_and_no_faster(tmp_path, least):
    def times():
        took = {}
        for sources in (50, 200):
            result, took[sources] = researched(
                Path(mkdtemp(dir=tmp_path)),
                Planning(sources // 50),
                window=32_768,
                sources=sources,
                size=6_000,
            )
            assert len(result.sources) == sources
        return took[200] / took[50]

    assert least(8, times) < 8  # four times as much, with room for a busy machine


@pytest.mark.parametrize("window", [8_192, 16_384, 32_768, 200_000])
def test_a_question_of_three_pages_fits_every_prompt_or_is_shortened_visibly(tmp_path, window):
    model = Planning(3)
    result, _ = researched(
        tmp_path, model, window=window, sources=30, question=PAGES, size=3_000, reflection="always"
    )
    assert result.status is RunStatus.COMPLETED
    assert result.report_metadata.writer == "synthesizer"
    for call in model.calls:
        assert tokens(call) + call.max_output <= window
        asked = call.messages[-1].content
        assert PAGES.strip() in asked or "characters are left out here" in asked
    given_in_part = {
        notice.message for notice in result.notices if "a part of the question" in notice.message
    }
    assert bool(given_in_part) is (window < 30_000)
    planned, *_, read = [
        call.messages[0].content.split("Question: ")[1].split("\n\n")[0]
        for call in model.calls
        if call.messages[0].content.count("Plan at least") or "Read these" in call.messages[0].content
    ]
    assert len(planned) >= len(read)


def test_findings_without_room_are_shortened_or_left_out_by_weight_and_the_report_says_so(tmp_path):
    model = Planning(4)
    result, _ = researched(tmp_path, model, window=8_192, sources=150, size=1_500)
    assert result.status is RunStatus.COMPLETED
    assert "Findings of less weight were left out of the report for want of room." in result.report
    for call in model.calls:
        assert tokens(call) + call.max_output <= 8_192


LARGEST = 1_000  # sources: 20 searches of 50


@pytest.mark.parametrize(
    "largest",
    [pytest.param(LARGEST * 2 // 5, marks=pytest.mark.slow), pytest.param(LARGEST, marks=pytest.mark.sweep)],
)
@pytest.mark.timeout(3_600)
def test_the_largest_run_there_is_completes_in_little_memory_and_in_time_by_its_sources(tmp_path, largest):
    """20 searches, 50 sources each, 100 KB a source, or two fifths of them: each in a process of its own, for its peak of
    memory."""
    program = Path(__file__).with_name("largest_run.py")
    figures = {}
    for sources in (largest // 4, largest):
        done = subprocess.run(
            [sys.executable, program, str(sources), str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        figures[sources] = json.loads(done.stdout)
        assert figures[sources]["status"] == "completed"
        assert figures[sources]["sources"] == sources
        assert figures[sources]["peak_mb"] < 500
    print(figures)
    assert (
        figures[largest]["cpu"] < 6 * figures[largest // 4]["cpu"]
    )  # four times, and room for a busy machine
