"""What settings change in runs without a model and in runs with one."""

import pytest
from prompt_reading import ReadingModel
from setting_runs import DOCUMENT, QUESTION, asked, hanging, in_both_modes, with_documents

from deep_research import (
    Budget,
    DeepResearch,
    SearchProvider,
    SearchResult,
    SharedBudget,
    SupervisorAction,
    SupervisorHooks,
    Verdict,
)
from deep_research.assembly.option_effects import OPTION
from deep_research.sources.search.base import Trouble, search_failure
from deep_research.testing import ScriptedSearch


class FailingFirst(SearchProvider):
    """Answers each search when it is made again."""

    def __init__(self):
        self.known = set()

    async def search(self, request):
        if request.query in self.known:
            return [SearchResult(address="towers.md", title="Towers", text=DOCUMENT)]
        self.known.add(request.query)
        raise search_failure(Trouble.REFUSED, "It cannot be said.", status=400)


class HangingSearch(SearchProvider):
    async def search(self, request):
        await hanging()


class HangingModel(ReadingModel):
    async def send(self, call, on_text=None):
        await hanging()


def how_far_a_run_goes(tmp_path):
    for model in in_both_modes():
        for rounds, searches in ((1, 2), (2, 4)):
            result = asked(tmp_path, model=model, max_iterations=rounds, max_sub_queries=searches)
            assert result.iterations == rounds
            assert sum(search.iteration == 1 for search in result.state.sub_queries) == searches


def attempts_at_a_blocked_gate(tmp_path):
    for model in in_both_modes():
        for retries, status in ((0, "aborted"), (1, "completed")):
            given = {"model": model, "search": [FailingFirst()], "max_iterations": 1}
            assert asked(tmp_path, **given, gate_retries=retries).status == status


def retries_that_a_hook_may_ask_for(tmp_path):
    for model in in_both_modes():
        for allowed in (0, 2):
            attempts = []

            def again(state, phase, validation, attempts=attempts):
                attempts.extend([phase] * (phase == "synthesis"))
                return Verdict(action=SupervisorAction.RETRY) if phase == "synthesis" else None

            given = {"hooks": SupervisorHooks(gate=again), "max_iterations": 1}
            asked(tmp_path, model=model, max_supervisor_retries=allowed, **given)
            assert len(attempts) == allowed + 1


def seconds_of_a_hook(tmp_path):
    for model in in_both_modes():
        hooks = SupervisorHooks(think_pause=hanging)
        result = asked(tmp_path, model=model, hooks=hooks, hook_timeout=0.02, max_iterations=1)
        assert result.status == "completed"
        assert any("no answer within 0.02 s" in notice.message for notice in result.notices)


def hooks_that_may_not_fail(tmp_path):
    def fail(state, phase):
        raise LookupError("a bug in a hook")

    for model in in_both_modes():
        hooks = SupervisorHooks(after_phase=fail)
        assert asked(tmp_path, model=model, hooks=hooks, max_iterations=1).status == "completed"
        with pytest.raises(LookupError, match="a bug in a hook"):
            asked(tmp_path, model=model, hooks=hooks, max_iterations=1, strict_hooks=True)


def seconds_of_a_run(tmp_path):
    for given in ({"model": [], "search": [HangingSearch()]}, {"model": [HangingModel()]}):
        assert asked(tmp_path, **given, task_timeout=0.05).reason == "timeout"


def seconds_of_one_search(tmp_path, stretch):
    def given_up(seconds):
        result = asked(tmp_path, model=[], search=[HangingSearch()], operation_timeout=seconds)
        assert result.status == "aborted"
        assert f"did not answer within {0.4 * seconds:g} s" in result.message

    stretch(0.2, given_up)


def caps_of_one_run(tmp_path):
    for model in in_both_modes():
        search = ScriptedSearch()
        with DeepResearch(model=model, search=[search], data_dir=tmp_path) as research:
            result = research.run(QUESTION, budget=Budget(max_searches=1, max_model_calls=2))
        assert len(search.requests) == 1
        assert 0 < result.usage.model_calls <= 2 if model else result.usage.model_calls == 0


def what_is_done_at_a_cap(tmp_path):
    for model in in_both_modes():
        for choice, status in (("report", "completed"), ("ask", "parked")):
            result = asked(tmp_path, model=model, max_searches=1, on_budget_exhausted=choice)
            assert result.status == status


def length_of_the_summary_of_a_conversation(tmp_path):
    history = [{"question": f"What is tower {n}?", "answer": "A tower. " * 20} for n in range(20)]
    for model in in_both_modes():
        sizes = []
        for tokens in (200, 2_000):
            made = {"model": model, "search": [ScriptedSearch()], "data_dir": tmp_path, "store": "memory"}
            with DeepResearch(**made, session_tokens=tokens) as research:
                summary = research.run(QUESTION, history=history).state.resolution.summary
            assert len(summary) < tokens * 6
            sizes.append(len(summary))
        assert sizes[0] < sizes[1]


def caps_of_all_runs(tmp_path):
    for model in in_both_modes():
        search, shared = ScriptedSearch(), SharedBudget(max_searches=1, max_model_calls=2)
        made = {"model": model, "search": [search], "data_dir": tmp_path}
        with DeepResearch(**made, shared_budget=shared) as research:
            results = [research.run(QUESTION) for _ in range(2)]
        assert len(search.requests) == 1
        calls = sum(result.usage.model_calls for result in results)
        assert 0 < calls <= 2 if model else calls == 0


def length_of_the_report(tmp_path):
    def found(request):
        return [
            SearchResult(
                address=f"{n}.md",
                title=f"Towers {n}",
                text="\n\n".join(
                    f"On reef {n}{m} the known towers number {n * m}, {'as the keepers wrote ' * 8}down."
                    for m in range(40)
                ),
            )
            for n in range(5)
        ]

    search = ScriptedSearch(found)
    with DeepResearch(search=[search], data_dir=tmp_path) as research:
        short = research.run("What is known of towers on reefs?", report_words=100)
        full = research.run("What is known of towers on reefs?", report_words=5000)
    assert short.report_metadata.word_count < full.report_metadata.word_count


def options_without_effect(tmp_path):
    given = {"system_prompt": "Be brief.", "language": "German", "audience": "children"}
    given |= {"source_language": "de", "protected_sources": ["towers.md"]}
    with DeepResearch(corpus=with_documents(tmp_path), data_dir=tmp_path / "data") as research:
        result = research.run(QUESTION, **given)
    told = [
        notice.message.partition(" has no effect: ")[0] for notice in result.notices if notice.name == OPTION
    ]
    assert sorted(told) == sorted(given)


def whether_the_plan_waits_for_its_owner(tmp_path):
    for model in in_both_modes():
        for wanted, status in ((False, "completed"), (True, "parked")):
            result = asked(tmp_path, model=model, max_iterations=1, approve_plan=wanted)
            assert result.status == status


def whether_an_unclear_question_is_asked_back(tmp_path):
    for model in in_both_modes():
        for when, parks in (("never", False), ("when_unsure", True)):
            days = {"since": "2020-01-01", "until": "2010-01-01"}
            result = asked(tmp_path, model=model, max_iterations=1, clarify=when, **days)
            clarified = any(d.action == "clarify" for d in result.state.decisions)
            assert clarified == parks
            if not model:
                assert (result.status == "parked") == parks
