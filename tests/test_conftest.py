from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, ("192.0.2.1", 80)),
        (socket.AF_INET, ("example.org", 80)),
        (socket.AF_INET6, ("2001:db8::1", 80)),
    ],
)
def test_a_test_cannot_leave_the_machine(family: int, address: tuple[str, int]) -> None:
    with socket.socket(family) as client, pytest.raises(AssertionError, match="tried to reach"):
        client.connect(address)


def test_a_test_can_talk_to_itself(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())


def test_the_home_of_whoever_runs_the_tests_is_out_of_sight(own_home: Path) -> None:
    assert Path.home() == own_home
    assert os.environ["DEEP_RESEARCH_HOME"].startswith(str(own_home))


def test_all_that_the_second_tier_names_is_there() -> None:
    from tiers import SECOND_TIER

    assert [each for each in SECOND_TIER if not (Path(__file__).parent / each).exists()] == []
