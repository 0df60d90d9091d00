"""A search service is down: the status says which sub-query failed and why, and the run is gone on with elsewhere."""

from pathlib import Path

from deep_research import DeepResearch
from deep_research.errors import SearchError
from deep_research.store import MemoryStore
from deep_research.testing import ScriptedSearch

CORPUS = Path(__file__).resolve().parents[1] / "corpus"

store = MemoryStore()
down = ScriptedSearch([SearchError("The service is down.")])
with DeepResearch(search=[down], store=store, max_iterations=1) as research:
    run_id = research.run("How tall is the Cape Hatteras lighthouse?").research_id
    status = research.status(run_id)
    print(status.status, status.reason, status.message)
    for answer in status.answers:
        print(f"  {answer.state}: {answer.question}: {answer.reason}")

with DeepResearch(corpus=CORPUS, store=store, max_iterations=1) as research:
    research.resume(run_id, setup="new")
    status = research.status(run_id)
    print(status.status, status.answer_coverage)
    for answer in status.answers:
        print(f"  {answer.state}: {answer.question}: {answer.text or answer.reason}")
