"""The figures of a server."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from deep_research import DeepResearch


def test_figures_count_runs_by_status_and_answers(client: TestClient, engine: DeepResearch) -> None:
    engine.submit("Who built Bell Rock?")
    for _ in range(3):
        client.get("/v1/runs/deepres-000000000000")
    client.request("BREW", "/v1/runs")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'deep_research_runs{status="queued"} 1' in lines
    assert 'deep_research_runs{status="running"} 0' in lines
    assert "deep_research_streams 0" in lines
    assert 'deep_research_requests_total{method="GET",status="404"} 3' in lines
    assert 'deep_research_requests_total{method="OTHER",status="405"} 1' in lines
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[A-Za-z0-9]+"(,[a-z]+="[A-Za-z0-9]+")*\})? [0-9]+')
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)
