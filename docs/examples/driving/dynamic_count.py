"""The planner decides how many sub-queries a question needs."""

from pathlib import Path

from deep_research import DeepResearch

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
QUESTIONS = (
    "How tall is the Cape Hatteras lighthouse?",
    "Who built Bell Rock, who built Skerryvore, and why was Smeaton's tower replaced?",
)

with DeepResearch(corpus=CORPUS, store="memory", max_sub_queries="auto", max_iterations=1) as research:
    for question in QUESTIONS:
        state = research.run(question).state
        print(len(state.sub_queries), "sub-queries:", question)
        for sub_query in state.sub_queries:
            print("  ", sub_query.query)
