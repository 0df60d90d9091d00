"""A run that waits for the word on its plan searches what its owner agreed to, in his order, and nothing before."""

import asyncio

import pytest
from plan_runs import PLANS, QUESTION, Edits, engine
from prompt_reading import ReadingModel

from deep_research import DeepResearch, SupervisorHooks, Verdict
from deep_research.errors import RunStateError, UsageError
from deep_research.state.identity import sub_query_id
from deep_research.store import MemoryStore
from deep_research.testing import ScriptedSearch

PLAN = PLANS[3]


def parked(search, plan=PLAN, **fields):
    """An engine, and its run that waits for the word on the plan."""
    made = engine(plan, search, **fields)
    result = made.run(QUESTION, approve_plan=True)
    assert result.status == "parked"
    return made, result


def queries(search):
    return [request.query for request in search.requests]


def ids(result):
    return [each["id"] for each in result.state.parking.about["sub_queries"]]


def events_of(made, result, name):
    return [event for event in made.events(result.research_id) if event.name == name]


def test_a_run_parks_with_its_plan_and_has_searched_nothing():
    search = ScriptedSearch()
    made, result = parked(search)
    with made:
        parking = result.state.parking
        assert search.requests == []
        assert (parking.kind, parking.pause_id, parking.until, parking.then) == (
            "plan",
            "1.plan.0",
            None,
            "stay",
        )
        assert parking.about["brief"] == "What the keepers did."
        assert [each["query"] for each in parking.about["sub_queries"]] == list(PLAN)
        assert ids(result) == [sub_query_id(query) for query in PLAN]
        assert parking.about["sub_queries"][0]["rationale"] == f"Why {PLAN[0]}."
        estimate = parking.about["estimate"]
        assert estimate["searches"]["low"] == 1
        assert estimate["searches"]["high"] >= len(PLAN)
        assert estimate["usd"] == {"low": 0.0, "high": 0.0}
        (waiting,) = made.waiting()
        assert (waiting.kind, waiting.asks, waiting.default) == ("plan", True, None)
        assert made.wake() == []
        assert made.status(result.research_id).status == "parked"


def test_a_run_that_nobody_wants_to_agree_to_does_not_wait():
    search = ScriptedSearch()
    with engine(PLAN, search) as made:
        assert made.run(QUESTION).status == "completed"
    assert queries(search) == list(PLAN)


@pytest.mark.parametrize("word", ["approve", " Approve ", "Yes.", "go ahead"])
def test_an_approved_plan_is_searched_as_it_stands(word):
    search = ScriptedSearch()
    made, result = parked(search)
    with made:
        done = made.answer(result.research_id, word)
        assert done.status == "completed"
        assert queries(search) == list(PLAN)
        (approved,) = events_of(made, done, "plan.approved")
        assert (approved.sub_queries, approved.terms, approved.by) == (None, None, "owner")
        assert made.resume(result.research_id).status == "completed"
        assert queries(search) == list(PLAN)


def test_an_edited_plan_is_searched_in_its_order_and_recorded_with_its_editor():
    search = ScriptedSearch()
    made, result = parked(search)
    first, _, third, *_ = ids(result)
    edit = {
        "sub_queries": [
            {"id": third},
            {"query": "wages of keepers", "rationale": "They were paid.", "priority": 2},
            {"id": first, "query": "keepers by name"},
        ],
        "limits": {"max_searches": 2, "max_sources_per_query": 1},
        "sources": {"since": "2001-01-31"},
        "by": "Ann",
    }
    with made:
        done = made.answer(result.research_id, edit)
        assert queries(search) == [PLAN[2], "wages of keepers"]
        (approved,) = events_of(made, done, "plan.approved")
        assert approved.by == "Ann"
        assert [s.index for s in approved.sub_queries] == [0, 2, len(PLAN)]
        state = done.state
        assert [s.query for s in state.current_sub_queries()] == [
            PLAN[2],
            "wages of keepers",
            "keepers by name",
        ]
        assert state.current_sub_queries()[1].rationale == "They were paid."
        assert (state.options.budget.max_searches, state.options.max_sources_per_query) == (2, 1)
        assert state.options.since.isoformat() == "2001-01-31"
        assert max(len(s.source_ids) for s in state.sub_queries) == 1


def test_a_reworded_search_is_another_one_in_the_place_of_the_old():
    search = ScriptedSearch()
    made, result = parked(search)
    lines = [{"id": key} for key in ids(result)]
    lines[1]["query"] = "harbour boats by name"
    with made:
        state = made.answer(result.research_id, {"sub_queries": lines}).state
    old = next(s for s in state.sub_queries if s.query == PLAN[1])
    new = next(s for s in state.sub_queries if s.query == "harbour boats by name")
    assert (new.id, new.index, old.status) == (sub_query_id(new.query), old.index, "superseded")


BAD = {
    "an id that the plan has not": ({"sub_queries": [{"id": "subq-000000000000"}]}, "is not one of"),
    "nothing left": ({"sub_queries": []}, "sub_queries"),
    "an empty search": ({"sub_queries": [{"query": "  "}]}, "does not match"),
    "one twice by its words": (
        {"sub_queries": [{"query": "oil"}, {"query": " OIL "}]},
        "is in the plan twice",
    ),
    "one twice by its id": ({"sub_queries": ["first", "first"]}, "is in the plan twice"),
    "an address": ({"sub_queries": [{"query": "see https://evil.example/x?k=1"}]}, "cannot be searched"),
    "a confidential word": ({"sub_queries": [{"query": "who made XK-4411-B"}]}, "cannot be searched"),
    "too many": ({"sub_queries": [{"query": f"oil {n}"} for n in range(9)]}, "is too long"),
    "an unknown key": ({"queries": []}, "'queries' was unexpected"),
    "an unknown limit": ({"limits": {"max_moons": 1}}, "'max_moons' was unexpected"),
    "a day that is none": ({"sources": {"since": "2001-02-31"}}, "sources.since"),
    "days in the wrong order": (
        {"sources": {"since": "2002-01-01", "until": "2001-01-01"}},
        "is after until",
    ),
    "a number": (7, "is not valid"),
    "a number as text": ("7", "no words to plan with"),
    "signs alone": ("?! 3.5 ->", "no words to plan with"),
    "no word": ("   ", "does not match|is not valid"),
    "a text with NUL": ("look\0there", "characters that are not text"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_edit_is_refused_in_one_line_and_the_run_stays_parked(case):
    value, problem = BAD[case]
    search = ScriptedSearch()
    made, result = parked(search, system_prompt="The part XK-4411-B is confidential.")
    if isinstance(value, dict) and value.get("sub_queries") == ["first", "first"]:
        value = {"sub_queries": [{"id": ids(result)[0]}, {"id": ids(result)[0], "query": "another oil"}]}
    with made:
        seq = result.state.seq
        with pytest.raises(UsageError, match=problem) as refused:
            made.answer(result.research_id, value)
        assert "\n" not in str(refused.value)
        with pytest.raises(UsageError):
            made.resume(result.research_id, value)
        assert made.status(result.research_id).status == "parked"
        assert made.result(result.research_id).state.seq == seq
        assert made.answer(result.research_id, "approve").status == "completed"
        with pytest.raises(RunStateError):
            made.answer(result.research_id, "approve")
    assert queries(search) == list(PLAN)


def test_a_sentence_has_it_planned_again_as_often_as_the_supervisor_may():
    search, told = ScriptedSearch(), []
    made = engine(PLAN, search, max_supervisor_retries=2)
    with made:
        result = made.run(QUESTION, approve_plan=True)
        for number, sentence in enumerate(("Leave out the boats.", "Look at the wages, too."), 1):
            result = made.answer(result.research_id, sentence)
            told.append(sentence)
            assert (result.status, result.state.parking.pause_id) == ("parked", f"1.plan.{number}")
            assert [g.text for g in result.state.guidance if g.origin == "answer"] == told
            assert all(g.lasting for g in result.state.guidance if g.origin == "answer")
            retried = events_of(made, result, "phase.retried")[-1]
            assert (retried.phase, retried.asked_by) == ("planning", "answer")
        with pytest.raises(UsageError):
            made.answer(result.research_id, "Once more, please.")
        assert search.requests == []
        done = made.answer(result.research_id, "approve")
    assert done.status == "completed"
    assert len(events_of(made, done, "plan.made")) == 3


def test_without_a_model_a_sentence_becomes_a_search_of_the_next_plan():
    search = ScriptedSearch()
    with DeepResearch(search=[search], store=MemoryStore(), max_iterations=1) as made:
        result = made.run("Who built the Bell Rock lighthouse?", approve_plan=True)
        result = made.answer(result.research_id, "Also consider the keepers of Skerryvore.")
        result = made.answer(result.research_id, "And the oil of Arbroath, please.")
        planned = [each["query"] for each in result.state.parking.about["sub_queries"]]
        assert [any(word in query for query in planned) for word in ("Skerryvore", "Arbroath")] == [
            True,
            True,
        ]
        last = result.state.parking.about["sub_queries"][-1]["id"]
        kept = [{"id": key} for key in ids(result) if key != last]
        made.answer(result.research_id, {"sub_queries": kept})
    assert not any("Arbroath" in query for query in queries(search))
    assert any("Skerryvore" in query for query in queries(search))


def test_with_a_model_the_planner_reads_the_sentence_and_the_estimate_has_money():
    model, search = ReadingModel(), ScriptedSearch()
    with DeepResearch(model=[model], search=[search], store=MemoryStore(), max_iterations=1) as made:
        result = made.run(QUESTION, approve_plan=True)
        estimate = result.state.parking.about["estimate"]
        assert estimate["tokens"]["high"] > estimate["tokens"]["low"] > 0
        assert estimate["spent"]["model_calls"] == len(model.calls) == 1
        result = made.answer(result.research_id, "Mind the winters of 1811.")
        assert result.status == "parked"
        assert "Mind the winters of 1811." in model.calls[1].messages[-1].content
        done = made.answer(result.research_id, {"sub_queries": [{"query": "winters of the keepers"}]})
        assert done.status == "completed"
    assert queries(search)[:2] == [
        QUESTION,
        "winters of the keepers",
    ]  # the first look, that plans are made with
    later = [call.messages[-1].content for call in model.calls[2:]]
    assert later
    assert all("Mind the winters of 1811." in said for said in later if "Question:" in said)


@pytest.mark.parametrize("model", [[], [ReadingModel()]], ids=["keyless", "model"])
def test_tasks_work_on_the_edited_plan(model):
    search = ScriptedSearch()
    fields = {"gathering": "agents", "max_concurrent": 1, "max_iterations": 1, "store": MemoryStore()}
    with DeepResearch(model=model, search=[search], **fields) as made:
        result = made.run(QUESTION, approve_plan=True)
        assert queries(search) == ([QUESTION] if model else [])
        wanted = ["oil of the lamps", "bells of the fog stations"]
        edit = {"sub_queries": [{"query": query, "data_sources": []} for query in wanted]}
        done = made.answer(result.research_id, edit)
        assert [task.task.question for task in done.state.tasks] == wanted
        assert not [s for s in done.state.current_sub_queries() if s.status == "pending"]


def test_an_unknown_data_source_of_a_task_is_refused():
    fields = {"store": MemoryStore(), "data_sources": {"ledgers": ScriptedSearch(name="ledgers")}}
    with DeepResearch(search=[ScriptedSearch()], gathering="agents", **fields) as made:
        result = made.run(QUESTION, approve_plan=True)
        with pytest.raises(UsageError, match="'moons' is not one of"):
            made.answer(result.research_id, {"sub_queries": [{"query": "oil", "data_sources": ["moons"]}]})
        done = made.answer(
            result.research_id, {"sub_queries": [{"query": "oil of it", "data_sources": ["ledgers"]}]}
        )
    assert done.state.current_sub_queries()[0].data_sources == ("ledgers",)


def test_an_answer_that_was_left_is_taken_by_who_wakes_the_run():
    search = ScriptedSearch()
    made, result = parked(search)
    with made:
        made.answer(result.research_id, {"sub_queries": [{"id": ids(result)[1]}]}, run=False)
        (done,) = made.wake()
    assert done.status == "completed"
    assert queries(search) == [PLAN[1]]


def test_a_hook_may_still_have_it_planned_again_and_the_gate_keeps_its_attempts():
    search, asked = ScriptedSearch(), []

    def gate(state, phase, validation):
        if phase == "gathering" and not asked:
            asked.append(phase)
            return Verdict(action="retry", phase="planning")
        return None

    made = engine(PLAN, search, hooks=SupervisorHooks(gate=gate))
    with made:
        result = made.run(QUESTION, approve_plan=True)
        result = made.answer(result.research_id, "Plan it in another way.")
        done = made.answer(result.research_id, "approve")
    assert asked == ["gathering"]
    assert done.status == "completed"
    assert len(events_of(made, done, "plan.made")) == 3


def test_the_plan_of_a_later_iteration_is_not_asked_about():
    search = ScriptedSearch()
    with DeepResearch(search=[search], store=MemoryStore(), max_iterations=3) as made:
        result = made.run("Who built the Bell Rock lighthouse and what did it cost?", approve_plan=True)
        done = made.answer(result.research_id, "approve")
        assert done.status == "completed"
        assert len(events_of(made, done, "run.parked")) == 1


CASES = [(plan, seed) for plan in range(len(PLANS)) for seed in range(20)]


@pytest.mark.parametrize(
    "cases", [CASES[::20], pytest.param(CASES, marks=pytest.mark.sweep)], ids=["few", "all"]
)
def test_what_is_searched_is_the_edited_list_in_its_order(cases):
    wrong = {}

    async def one(number, seed):
        search = ScriptedSearch()
        store = MemoryStore()
        async with engine(PLANS[number], search, store=store, max_sub_queries=7) as made:
            result = await made.arun(QUESTION, approve_plan=True)
            plan = result.state.parking.about["sub_queries"]
            edits = Edits(1000 * number + seed, plan, 7)
            done = await made.aanswer(result.research_id, {"sub_queries": edits.lines})
            await made.aresume(result.research_id)
        stand = [(s.query, s.id) for s in done.state.current_sub_queries()]
        # Where what stays keeps its order and what is new comes last, all that stays keeps its place.
        steady = edits.of == sorted(edits.of, key=lambda place: (place is None, place))
        places = [s.index for s in done.state.current_sub_queries()]
        if queries(search) != edits.queries:
            wrong[number, seed] = (queries(search), edits.queries)
        elif stand != [(query, sub_query_id(query)) for query in edits.queries]:
            wrong[number, seed] = stand
        elif steady and [p for p in places if p < len(plan)] != [p for p in edits.of if p is not None]:
            wrong[number, seed] = places

    for number, seed in cases:
        asyncio.run(one(number, seed))
    assert wrong == {}


@pytest.mark.parametrize("word", ["no", "No.", " CANCEL ", "stop!", "reject"])
@pytest.mark.parametrize("replans", [0, 2])
def test_who_does_not_want_the_plan_ends_the_run(word, replans):
    search = ScriptedSearch()
    made, result = parked(search, max_supervisor_retries=replans)
    with made:
        ended = made.answer(result.research_id, word)
        assert (ended.status, ended.reason) == ("aborted", "cancelled")
        assert ended.message == "The owner of the run does not want its plan."
        again = made.resume(result.research_id)  # and asks again where it is gone on with all the same
        assert (again.status, again.state.parking.kind) == ("parked", "plan")
        assert made.answer(result.research_id, word).reason == "cancelled"
        assert made.resume(result.research_id).status == "parked"
        assert search.requests == []
        assert made.answer(result.research_id, "yes").status == "completed"


def test_a_sentence_that_begins_with_no_is_a_sentence():
    made, result = parked(ScriptedSearch())
    with made:
        again = made.answer(result.research_id, "No, look at the wages alone.")
        assert again.status == "parked"
        assert events_of(made, again, "phase.retried")
