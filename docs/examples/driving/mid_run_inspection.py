"""A manager looks at the answers before the report is written, and ends a run that found too little."""

from pathlib import Path

from deep_research import DeepResearch, DeepResearchPhase, Park, SupervisorHooks

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
GOOD = ("answered", "partly")


def look_first(_state, phase):
    return Park("a look at the answers") if phase is DeepResearchPhase.SYNTHESIS else None


with DeepResearch(
    corpus=CORPUS, store="memory", hooks=SupervisorHooks(before_phase=look_first), max_iterations=1
) as research:
    for question in ("How tall is the Cape Hatteras lighthouse?", "Who won the chess olympiad of 1972?"):
        run_id = research.run(question).research_id
        status = research.status(run_id)
        print(status.status, status.waiting_for or status.message)
        for answer in status.answers:
            print(f"  {answer.state}: {answer.question}: {answer.text or answer.reason}")
        if status.status == "parked" and any(answer.state in GOOD for answer in status.answers):
            print("goes on:", research.resume(run_id, answer="Go on.").status)
        else:
            print("ends:", research.cancel(run_id).status)
