"""A run of two rounds over one long manual: the second round reads the section that it asks for, and nothing twice."""

import json

import pytest
from prompt_reading import ReadingModel, blocks

from deep_research import DeepResearch, SearchResult
from deep_research.sources.search import SearchProvider
from deep_research.state.events import ReadingPlanned

QUESTION = "How long does the server wait on a lock before it checks for a deadlock?"
LOCK = "The server waits one second on a lock before it checks for a deadlock."
VACUUM = "Two billion transactions may pass between two vacuums of a table before the server stops."
SEARCH = "How many transactions may pass between two vacuums of a table?"
SHIPS = "In the year {} many ships came into the harbour, and their crews went ashore. "


def _chapter(n):
    return "\n\n".join(f"## Harbour {n}.{k}\n\n" + SHIPS.format(1500 + 20 * n + k) * 20 for k in range(5))


MANUAL = f"# Manual\n\n{_chapter(1)}\n\n## Locks\n\n{LOCK}\n\n{_chapter(2)}\n\n## Vacuum\n\n{VACUUM}\n\n{_chapter(3)}"


class Shelf(SearchProvider):
    name = "shelf"

    async def search(self, request):
        return [SearchResult(address="manual.md", title="Manual", text=MANUAL)]


class Researcher(ReadingModel):
    """Reads what is quoted of the two answers, and asks in the second round for the other one."""

    def __init__(self, read=None):
        super().__init__()
        self.read = []
        self._reading = read or _reading

    def answer(self, call):
        said = call.messages[-1].content
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        if "quality_updates" in fields:
            self.read.append("".join(body for label, body in blocks(said).items() if "source" in label))
            return json.dumps(self._reading(said))
        if "gap_analysis" in fields and len(self.read) == 1:
            follow = [{"query": SEARCH, "expected_contribution": "the number"}]
            gap = {"gap_id": "G1", "severity": "critical", "addressable": True, "follow_up_queries": follow}
            going_on = {"should_iterate": True, "rationale": "", "priority_gaps": ["G1"]}
            return json.dumps({"gap_analysis": [gap], "iteration_recommendation": going_on})
        return super().answer(call)


def _reading(said):
    findings = [
        {
            "content": sentence,
            "confidence": "medium",
            "source_ids": [label.removeprefix("source ")],
            "quotes": [{"source_id": label.removeprefix("source "), "quote": sentence}],
        }
        for label, body in blocks(said).items()
        if label.startswith("source ")
        for sentence in (LOCK, VACUUM)
        if sentence in body
    ]
    gaps = [{"description": "How often a table has to be vacuumed", "priority": 1}]
    return {"findings": findings, "gaps": gaps, "quality_updates": [], "addressed_gap_ids": []}


def test_the_second_round_reads_the_section_that_it_asks_for_and_no_section_is_read_twice(tmp_path):
    model = Researcher()
    with DeepResearch(search=[Shelf()], model=model, max_iterations=2, data_dir=tmp_path) as research:
        result = research.run(QUESTION)
        plans = [e.plan for e in research.events(result.research_id) if isinstance(e, ReadingPlanned)]
    assert [[text in said for text in (LOCK, VACUUM)] for said in model.read] == [
        [True, False],
        [False, True],
    ]
    assert [[item.further for item in plan.triage] for plan in plans] == [[False], [True]]
    (first,), (second,) = (plan.triage for plan in plans)
    body = [MANUAL[span.start : span.end] for item in (first, second) for span in item.spans]
    assert sum(LOCK in text for text in body) == sum(VACUUM in text for text in body) == 1
    assert {f.content for f in result.findings} == {LOCK, VACUUM}
    assert any("further sections in round 2" in notice.message for notice in result.notices)


DOORS = "A server waits on a lock of the door before it checks the deadlock bolts. "
BOOK = f"# Book\n\n{_chapter(4)}\n\n## Locks\n\n{DOORS * 9}\n\n{_chapter(5)}\n\n## Vacuum\n\n{VACUUM}\n\n{_chapter(6)}"


class TwoBooks(Shelf):
    async def search(self, request):
        book = SearchResult(address="book.md", title="A server and its lock: deadlock and wait", text=BOOK)
        return [*await super().search(request), book]


@pytest.mark.parametrize("quality", ["irrelevant", "low"])
def test_of_a_source_of_another_matter_no_more_is_read(quality, tmp_path):
    def read(said):
        opinions = [
            {"source_id": label.removeprefix("source "), "quality": quality}
            for label, body in blocks(said).items()
            if label.startswith("source ") and "book.md" in body
        ]
        return {**_reading(said), "quality_updates": opinions}

    model = Researcher(read)
    with DeepResearch(search=[TwoBooks()], model=model, max_iterations=2, data_dir=tmp_path) as research:
        result = research.run(QUESTION)
    (book,) = [source for source in result.sources if source.url == "book.md"]
    assert result.iterations == 2
    assert sum("book.md" in text for text in model.read) == (1 if quality == "irrelevant" else 2)
    assert (book.id in result.state.irrelevant) is (quality == "irrelevant")
