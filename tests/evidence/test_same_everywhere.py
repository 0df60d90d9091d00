"""What is found does not depend on the order of sets, which is another in each process."""

import os
import subprocess
import sys

LANGUAGES = """
from deep_research.text.language import language_of
print([language_of(text) for text in ("und aber och att", "il gli wie nur", "het een und aber och att")])
"""
CONFLICTS = """
from deep_research.verification.contradictions import contradictions
from deep_research.state import ConfidenceLevel, Finding
said = (
    "The tower of Mole is 57 metres tall and was built in 1759.",
    "The tower of Mole is 61 metres tall.",
    "The tower of Mole was built in 1756.",
)
findings = [
    Finding(id=f"find-{n}", content=text, confidence=ConfidenceLevel.LOW, source_ids=(f"src-{n}",), iteration=1)
    for n, text in enumerate(said)
]
print([conflict.description for conflict in contradictions(findings)])
"""


def told(program: str) -> set[str]:
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in range(4)
    }


def test_a_text_with_as_many_words_of_two_languages_is_in_the_same_one_in_every_process():
    assert told(LANGUAGES) == {"['de', 'de', 'de']\n"}


def test_conflicts_come_in_the_same_order_in_every_process():
    (order,) = told(CONFLICTS)
    assert "57 metres" in order
    assert "1759" in order
