"""Sub-queries are worked on side by side; the report does not tell in which order they came."""

from pathlib import Path

from deep_research import DeepResearch

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
QUESTION = "Who built Bell Rock, who built Skerryvore, and why was Smeaton's tower replaced?"

reports = []
for at_once in (1, 4):
    with DeepResearch(corpus=CORPUS, store="memory", max_concurrent=at_once, max_iterations=1) as research:
        result = research.run(QUESTION)
        reports.append(result.report)
        print(f"{at_once} at a time: {len(result.sources)} sources, {result.answer_coverage}")

print("the same report:", reports[0] == reports[1])
