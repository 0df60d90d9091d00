"""What the tests of phases build: sources, findings, handoffs, states, and models that answer by what they are asked."""

import asyncio
from collections import defaultdict

from deep_research.budget.content_budget import ContentRules
from deep_research.phases.analysis import AnalyzerInput
from deep_research.phases.analysis.handoff import SourceText, SurveyInput
from deep_research.phases.planning import PlannerInput
from deep_research.phases.refinement import RefinerInput
from deep_research.phases.synthesis import SynthesizerInput
from deep_research.sources.search import SearchProvider
from deep_research.state import (
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Source,
    SubQuery,
)
from deep_research.state.journal import Content
from deep_research.testing.models import ScriptedProvider

ANALYSIS, SYNTHESIS = DeepResearchPhase.ANALYSIS, DeepResearchPhase.SYNTHESIS
WHOLE = ContentRules(read_sections=False)  # texts are read from end to end
KINDS = {
    PlannerInput: {"current_phase": DeepResearchPhase.PLANNING, "max_sub_queries": 3},
    AnalyzerInput: {"current_phase": ANALYSIS, "source_count": 0, "high_quality_sources": 0},
    SurveyInput: {"current_phase": ANALYSIS},
    SynthesizerInput: {
        "current_phase": SYNTHESIS,
        "max_iterations": 3,
        "finding_count": 0,
        "gap_count": 0,
        "has_research_brief": False,
    },
    RefinerInput: {
        "current_phase": DeepResearchPhase.REFINEMENT,
        "max_iterations": 3,
        "remaining_iterations": 2,
        "has_report_draft": True,
    },
}


def handoff(kind, **more):
    """What an agent is handed, with what every handoff has to have."""
    run = {"research_id": "deepres-000000000000", "original_query": "q", "iteration": 1}
    return kind(**{**run, **KINDS[kind], **more})


def source(n, text="", **more):
    fields = {"id": f"src-{n:012x}", "sub_query_id": "subq-a", "title": f"Page {n}", "rank": n}
    kept = {"url": f"https://example.org/{n}", "content_hash": Content.of(text).hash, "length": len(text)}
    return Source(**{**fields, **kept, **more})


def source_texts(*texts):
    """Sources as an analyzer is given them, each ``(title, text)``."""
    return tuple(
        SourceText(id=f"src-{n}", title=title, content=text) for n, (title, text) in enumerate(texts)
    )


def finding(n, content="c", **more):
    fields = {"id": f"find-{n:012x}", "confidence": ConfidenceLevel.LOW, "source_ids": (f"src-{n:012x}",)}
    return Finding(**{**fields, "content": content, **more})


def at_analysis(query, texts, **more):
    """A run that is to read these texts."""
    fields = {
        "query": query,
        "phase": ANALYSIS,
        "sub_queries": (SubQuery(id="subq-a", query="what is asked"),),
        "sources": tuple(source(n, text) for n, text in enumerate(texts)),
    }
    return DeepResearchState(**{**fields, **more})


def quoting(name, content, quote=None):
    """A finding as a model gives it."""
    quotes = [{"source_id": name, "quote": quote or content}]
    return {"content": content, "confidence": "high", "source_ids": [name], "quotes": quotes}


def prompt(call):
    return call.messages[-1].content


def in_order(text, *pieces):
    places = [text.index(piece) for piece in pieces]
    return places == sorted(places)


def fits(call, window):
    """Whether a request leaves room in a window for its answer."""
    return (len(call.system) + len(prompt(call))) / 3 + call.max_output < window


class Model(ScriptedProvider):
    """Answers each kind of question, by its form or its label, with what it is given for that: a value, a function of the
    call, or what is raised. ``asked`` are the requests by kind."""

    def __init__(self, model="model-1", **answers):
        super().__init__(self._said, model=model)
        self.asked = defaultdict(list)
        self._by_kind = answers

    def _said(self, call):
        kind = call.form.name if call.form else call.label.replace(" ", "_")
        self.asked[kind].append(call)
        answer = self._by_kind.get(kind, {})
        return answer(call) if callable(answer) else answer

    def prompts(self, kind):
        return [prompt(call) for call in self.asked[kind]]


class Found(SearchProvider):
    """Finds these results, or what it has for a query; an error is raised. ``most`` is how many searches there were at
    once."""

    name = "found"
    running = most = 0

    def __init__(self, *results, by_query=None):
        self.results, self.by_query, self.requests = results, by_query, []

    async def search(self, request):
        self.requests.append(request)
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        answer = (
            self.results[: request.limit] if self.by_query is None else self.by_query.get(request.query, ())
        )
        for each in [answer] if isinstance(answer, Exception) else answer:
            if isinstance(each, Exception):
                raise each
        return [*answer]

    @property
    def asked(self):
        return [request.query for request in self.requests]
