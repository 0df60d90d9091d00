"""A supervisor in a process of its own: ``python plan_process.py HOME SERVICE_URL``. It goes on with the plan of HOME, or
begins one, and prints it at its end."""

from __future__ import annotations

import sys
from pathlib import Path

from deep_research.capabilities import AgentService, CapabilitySupervisor, PlanFolder, discover

QUESTION = "Who built Bell Rock?"
STEPS = ("research", "count_words")

if __name__ == "__main__":
    home, url = Path(sys.argv[1]), sys.argv[2]
    services = [AgentService(url=url, capabilities=("count_words",), read_only=("count_words",))]
    plans = PlanFolder(home)
    supervisor = CapabilitySupervisor(discover(services).capabilities, plans)
    ids = plans.ids()
    plan = supervisor.resume(ids[0]) if ids else supervisor.run(QUESTION, steps=STEPS)
    print(plan.model_dump_json(), flush=True)
