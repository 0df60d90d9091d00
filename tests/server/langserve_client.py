"""What LangServe's client gets from a server, as JSON: ``python langserve_client.py ADDRESS``. It runs in an environment
of its own, which has the client and nothing of ours."""

from __future__ import annotations

import json
import sys
from typing import Any

from langserve import RemoteRunnable

QUESTIONS = ("How tall is the Cape Hatteras lighthouse?", "Who built the Bell Rock lighthouse?")


def state(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def shown(output: Any) -> list[list[str]]:
    """The class and the content of each message of a state."""
    return [[type(message).__name__, message.content] for message in output["messages"]]


def main(address: str) -> None:
    researcher = RemoteRunnable(f"{address}/graph")
    added = None
    for chunk in researcher.stream(state(QUESTIONS[0])):
        added = chunk if added is None else added + chunk
    got = {
        "invoke": shown(researcher.invoke(state(QUESTIONS[0]))),
        "stream": shown(added),
        "batch": [shown(each) for each in researcher.batch([state(question) for question in QUESTIONS])],
        "greeting": shown(researcher.invoke(state("Hello!"))),
    }
    try:
        researcher.invoke({"messages": "Who?"})
    except Exception as error:
        got["refused"] = str(error)
    print(json.dumps(got))


if __name__ == "__main__":
    main(sys.argv[1])
