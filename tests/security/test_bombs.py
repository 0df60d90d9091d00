"""A bomb in an answer of a model's service, a search service or a site costs little memory and is one clear error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import bombs
import pytest
from servers.http import Reply, Request
from servers.loopback import LoopbackServer

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by /proc"),
    pytest.mark.timed,
]
COUNT = 1_000
# Answers of no bomb's size in themselves that may be read: a reader may stop before the rest came.
_HARMLESS = frozenset(("robots",))


def outcomes(cases: list[bombs.Bomb]) -> list[dict[str, Any]]:
    """What became of each case in one fresh process. ``growth`` is the peak of its resident memory over what it was
    before the case."""
    known = {bomb.number: bomb for bomb in cases}

    async def handle(request: Request) -> Reply:
        bomb = known.get(bombs.case_of(request))
        return bombs.reply_to(bomb) if bomb else Reply(200, (b"{}",))

    with LoopbackServer(handle) as server:
        port = server.base_url.rpartition(":")[2]
        program = [sys.executable, str(Path(bombs.__file__)), port, *(str(bomb.number) for bomb in cases)]
        done = subprocess.run(program, capture_output=True, text=True, timeout=3_000, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def judged(cases: list[bombs.Bomb]) -> list[str]:
    wrong = []
    found = outcomes(cases)
    assert len(found) == len(cases)
    for bomb, outcome in zip(cases, found, strict=True):
        if outcome["growth"] > bombs.MOST_GROWTH:
            wrong.append(f"{bomb.name}: {outcome['growth'] / 2**20:.0f} MiB")
        if bomb.target.partition(" ")[0] in _HARMLESS:
            continue
        if outcome["raised"] is None:
            if bomb.size == bombs.SIZES[0] and not _is_none_at_all(bomb):
                wrong.append(f"{bomb.name}: no error, but {outcome['given']}")
        elif not outcome["ours"] or "\n" in outcome["error"] or len(outcome["error"]) > 600:
            wrong.append(f"{bomb.name}: {outcome['raised']} {outcome['error'][:300]}")
        elif not outcome["hint"] and bomb.size == bombs.SIZES[0] and bomb.status == 200:
            wrong.append(f"{bomb.name}: nothing to do: {outcome['error'][:300]}")
    print(
        f"{len(cases)} cases, at most {max(o['growth'] for o in found) / 2**20:.1f} MiB, {len(wrong)} wrong"
    )
    return wrong


def _is_none_at_all(bomb: bombs.Bomb) -> bool:
    """A service that has nothing to count with says so by 404, whatever stands in it."""
    return bomb.target.endswith("count") and bomb.status == 404


def test_a_bomb_takes_little_memory_and_is_one_clear_error() -> None:
    assert judged(bombs.cases(COUNT)[::67]) == []


@pytest.mark.sweep
@pytest.mark.timeout(3_000)
def test_no_bomb_of_all_takes_much_memory() -> None:
    assert judged(bombs.cases(COUNT)) == []
