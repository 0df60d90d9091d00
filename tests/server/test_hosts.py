"""No page of another site reaches a server through the browser of somebody on the same machine: hosts and origins."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from fastapi.testclient import TestClient
from test_access import EXPECTED

HOSTS = {
    "127.0.0.1": True,
    "127.0.0.1:8000": True,
    "localhost": True,
    "LocalHost:80": True,
    "[::1]": True,
    "[::1]:8000": True,
    **dict.fromkeys(
        (
            "",
            "evil.example",
            "evil.example:8000",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.localhost",
            "localhost:evil",
            "127.0.0.1:80@evil.example",
            "evil@127.0.0.1",
            "[::1].evil.example",
            "[::1]evil",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "127.1",
            "2130706433",
            "localhost ",
        ),
        False,
    ),
}
ORIGINS = {
    None: True,
    "same": True,
    "http://evil.example": False,
    "http://localhost:3000": False,
    "null": False,
    "http://[": False,
}


def code_of(body: Any) -> str:
    """The code of an error, in our shape or OpenAI's."""
    code: str = (body.get("error") or body)["code"]
    return code


@pytest.mark.parametrize(("method", "path"), EXPECTED, ids=[" ".join(each) for each in EXPECTED])
def test_no_route_answers_another_host_or_a_page_of_another_origin(
    guarded: TestClient, tokens: dict[str, str], method: str, path: str
) -> None:
    url = path.format(
        research_id="deepres-0123456789ab",
        source_id="src-1",
        entry_id="mem-0",
        response_id="resp_0",
        model="deep-research",
        name="lights",
        thread_id="lights",
        run_id="deepres-0123456789ab",
    )
    for (host, known), (origin, own), token in product(
        HOSTS.items(), ORIGINS.items(), (None, "dr_unknown", tokens["admin"])
    ):
        headers = {"host": host} | ({"x-api-key": token} if token else {})
        if origin is not None:
            headers["origin"] = f"http://{host}".lower() if origin == "same" else origin
        answer = guarded.request(
            method, url, headers=headers, json={"query": ""} if method == "POST" else None
        )
        refused = answer.status_code in (400, 403) and code_of(answer.json()) in ("host", "origin")
        assert refused is not (known and own), headers
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
    ],
)
def test_what_a_browser_says_of_its_page_counts_without_an_origin(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    assert client.get("/v1/runs", headers=headers).status_code == status


def test_a_form_of_another_page_is_no_request(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        answer = client.post("/v1/runs", content='{"query": "Who?"}', headers={"content-type": kind})
        assert (answer.status_code, answer.json()["code"]) == (415, "content_type"), kind
