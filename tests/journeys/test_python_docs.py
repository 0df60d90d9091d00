"""Real input: the documentation of Python as Debian installs it (`apt-get install python3-doc`), several hundred
pages that nobody wrote for this project."""

from pathlib import Path

import pytest

from deep_research import DeepResearch

FOUND = sorted(Path("/usr/share/doc").glob("python3.*/html/library"))
PARTS = ("library", "tutorial", "reference", "howto", "faq")
QUESTIONS = [
    ("What is the default value of the maxsize argument of functools.lru_cache?", "128"),
    ("Which exception is raised when a key is not found in a dictionary?", "KeyError"),
    ("Which module provides support for rational number arithmetic?", "fractions"),
    ("Which function sets the maximum depth of the Python interpreter stack?", "setrecursionlimit"),
    ("Which protocol version does pickle use by default in Python 3.8?", "protocol version 4"),
    ("Who designed the timsort algorithm used by the sort method?", "Timsort"),
    ("How many bits of precision does a Python float have on most machines?", "53"),
    ("What port does http.server use by default?", "8000"),
    ("Which function returns a shallow copy of an object?", "shallow copy"),
    ("What does the asyncio function gather do when return_exceptions is True?", "return_exceptions is True"),
]


@pytest.mark.slow
@pytest.mark.skipif(not FOUND, reason="needs Debian's package python3-doc")
def test_reports_over_real_documentation_hold_the_answers_with_their_citations(tmp_path):
    root = FOUND[-1].parent.resolve()
    found = []
    with DeepResearch(corpus=[root / part for part in PARTS], data_dir=tmp_path) as research:
        for question, answer in QUESTIONS:
            result = research.run(question)
            assert all(research.text(c)[c.start : c.end] == c.quote for c in result.citations)
            quotes = [" ".join(c.quote.split()) for c in result.citations]
            found.append((any(answer.lower() in quote.lower() for quote in quotes), question))
    print("\n".join(f"{'found  ' if yes else 'missing'} {question}" for yes, question in found))
    assert sum(yes for yes, _ in found) >= 8
