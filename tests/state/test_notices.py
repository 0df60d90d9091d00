"""The same notice is told once, with how often, in the result and in the report, which can be verified later."""

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, SearchProvider, SupervisorHooks
from deep_research.errors import SearchError
from deep_research.sources.documents.folder import sample_corpus
from deep_research.state import Limit, Notice, notices
from deep_research.state.notices import merge_notices

QUESTION = "Who built the Bell Rock lighthouse, how tall is it and when was it lit?"
NO_WORK = "could not do its work (the service answered 500 after {} s); the extractive one did it."


def of(name, *messages, **more):
    return [Notice(name=name, message=message, **more) for message in messages]


@pytest.mark.parametrize(
    ("notices", "told"),
    [
        (
            of("sources", "x does not answer 'a b'.", "x does not answer 'c'."),
            ["2 times (also 'c'): x does not answer 'a b'."],
        ),
        (
            of("sources", "x gave no answer at all.", "y gave no answer at all."),
            ["2 times (also y): x gave no answer at all."],
        ),
        (
            of("agent", f"The planner {NO_WORK.format(3)}", f"The refiner {NO_WORK.format(9)}"),
            [f"2 times (also refiner): The planner {NO_WORK.format(3)}"],
        ),
        (
            of(
                "model",
                *(f"{name} has no effect: no model writes." for name in ("a", "b", "c", "d", "e", "f")),
            ),
            ["6 times (also b, c, d and 2 more): a has no effect: no model writes."],
        ),
        (of("hook", "The hook gate failed: oops.", count=7), ["7 times: The hook gate failed: oops."]),
        (
            of(
                "sources",
                *(f"x does not answer '{q}'." for q in ("a", "Who was it? When?", "b" * 90, "c", "d")),
            ),
            [f"5 times (also 'Who was it…', '{'b' * 40}…', 'c' and 1 more): x does not answer 'a'."],
        ),
        (
            of("guidance", "'a' came too late.", "'b' came too late."),
            ["'a' came too late.", "'b' came too late."],
        ),
        (
            of("option", "a had no effect here.", "b had no effect here."),
            ["a had no effect here.", "b had no effect here."],
        ),
        # Figures alone tell two things, and caps and pages have rules of their own.
        (
            of("reading", "Of 3 sources 2 were cut.", "Of 5 sources 4 were cut."),
            ["Of 3 sources 2 were cut.", "Of 5 sources 4 were cut."],
        ),
        (
            [Limit(name="max_usd", message=f"The cap of '{each}' was met.") for each in "ab"],
            ["The cap of 'a' was met.", "The cap of 'b' was met."],
        ),
        (of("agent", "One thing.", "Another."), ["One thing.", "Another."]),
        *(
            (of("sources", one, other), [one, other])
            for one, other in (
                ("x says that it is allowed.", "x says that it is refused."),
                ("All pages of x were read.", "No pages of x were read."),
                ("The pages were found and read.", "The pages were found and left."),
            )
        ),
        (
            [*of("hook", "The hook a failed: oops."), *of("agent", "The hook b failed: oops.")],
            ["The hook a failed: oops.", "The hook b failed: oops."],
        ),
    ],
)
def test_notices_that_differ_in_what_they_are_of_are_one(notices, told):
    assert [notice.message for notice in merge_notices(notices)] == told


def test_each_of_very_many_notices_is_compared_with_a_bounded_number_of_others(monkeypatch):
    compared = []
    monkeypatch.setattr(notices, "is_same", lambda *pair: compared.append(pair))
    many = of("sources", *(f"Page {n} is not there." for n in range(500)))
    assert merge_notices(many) == tuple(many)
    assert len(compared) <= 500 * notices.MAX_COMPARED


class Down(SearchProvider):
    name = "down"

    async def search(self, request):
        raise SearchError(f"{self.name} does not answer '{request.query}'.")


class Babbling(ReadingModel):
    def answer(self, call):
        return "No JSON, and no report."


def fail(*_):
    raise ValueError("a bug in a hook")


@pytest.mark.parametrize(
    ("parts", "name", "told"),
    [
        ({"search": [Down(), "corpus"]}, "sources", "): down does not answer '"),
        (
            {"hooks": SupervisorHooks(before_phase=fail, gate=fail)},
            "hook",
            "times (also gate): The hook before_phase failed",
        ),
        (
            {"model": Babbling("babbling"), "on_outage": "extractive"},
            "agent",
            "times (also planner): The analyzer could not do",
        ),
    ],
)
def test_a_run_tells_each_notice_once_and_its_report_is_verified_as_it_is(parts, name, told, tmp_path):
    with DeepResearch(corpus=sample_corpus(), data_dir=tmp_path, store="memory", **parts) as research:
        result = research.run(QUESTION)
        (notice,) = [
            each for each in result.notices if each.name == name and told.split(": ")[0] in each.message
        ]
        lines = [line for line in result.report.splitlines() if told in line]
        assert told in notice.message
        assert notice.count > 1
        assert len(lines) == 1
        assert not research.verify(result.research_id).failures
