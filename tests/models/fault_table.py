"""Prints the table of all faults against all providers; exits with 1 where a cell is not as it must be.

python tests/models/fault_table.py [FAULT ...]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from servers import FAULT_KINDS
from servers.fault_table import Subject, cells, table

from deep_research.models.anthropic import AnthropicMessages
from deep_research.models.ollama import Ollama
from deep_research.models.openai import OpenAIResponses
from deep_research.models.openai_chat import OpenAIChat

KEY = "key-of-the-fault-table"


def subjects():
    """All providers of the package."""
    yield Subject("responses", lambda url: OpenAIResponses("model-1", api_key=KEY, base_url=f"{url}/v1"))
    yield Subject("chat", lambda url: OpenAIChat("model-1", api_key=KEY, base_url=f"{url}/v1"))
    yield Subject("ollama", lambda url: Ollama("model-1", base_url=url), says_refusals=False)
    yield Subject("anthropic", lambda url: AnthropicMessages("model-1", api_key=KEY, base_url=url))


def main(kinds=()):
    found = cells(subjects(), tuple(kinds) or FAULT_KINDS)
    print(table(found))
    return 1 if any(cell.wrong for cell in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
