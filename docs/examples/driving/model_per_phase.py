"""A cheap model plans, a dear one writes, and the sources are read without a model. The models here are doubles."""

import re
from pathlib import Path

from deep_research import DeepResearch
from deep_research.testing.models import ScriptedProvider

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
PLAN = {
    "research_brief": "Who built the tower on Bell Rock, and when it was lit.",
    "parts": [{"text": "Who built the lighthouse on Bell Rock?", "expects": "person"}],
    "sub_queries": [
        {"query": "Bell Rock lighthouse builder", "rationale": "Names him.", "part": 1},
        {"query": "Robert Stevenson Bell Rock first lit", "rationale": "Dates it.", "part": 1},
    ],
}


def written(call):
    """A report of the findings of one source, each with its name in the prompt as the reference."""
    prompt = call.messages[-1].content
    source = re.search(r"^(S\d+): “The Bell Rock lighthouse”", prompt, re.MULTILINE)[1]
    findings = re.findall(rf"^(F\d+) \({source}\): (.+)$", prompt, re.MULTILINE)
    return "\n\n".join(
        ["# Who built Bell Rock?", "## Answer", *(f"{text} [{name}]" for name, text in findings)]
    )


cheap = ScriptedProvider([PLAN], model="cheap-1")
dear = ScriptedProvider(written, model="dear-1")
cheap.probed = dear.probed = False  # what these can do need not be found out

with DeepResearch(
    corpus=CORPUS,
    store="memory",
    models={"planner": cheap, "synthesizer": dear},
    max_iterations=1,
) as research:
    result = research.run("Who built Bell Rock?")

for spend in result.usage.models:
    print(spend.phase, spend.role, spend.model, spend.calls, "requests")
print(result.report)
