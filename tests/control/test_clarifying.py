"""A run that is not sure what is asked asks once, where its caller wants that; the answer holds for all that follows."""

import json
from datetime import date

import pytest
from prompt_reading import ReadingModel

from deep_research import Budget, DeepResearch
from deep_research.errors import ModelError, UsageError
from deep_research.models.failures import Verdict
from deep_research.state import DeepResearchState, ModelRole, RunOptions
from deep_research.store import MemoryStore
from deep_research.supervisor.opening import GO_ON, by_rule
from deep_research.testing import ScriptedSearch

VAGUE = "What is it?"
DOCUMENTS = {
    "planet.md": "# Mercury (planet)\n\nMercury is the planet nearest to the Sun. It was first seen in 1631.\n",
    "metal.md": "# Mercury (element)\n\nMercury is a liquid metal. It was known 1500 years before.\n",
    "rock.md": "# Bell Rock Lighthouse\n\nThe Bell Rock Lighthouse was built by Robert Stevenson in 1811.\n",
    "orm.md": "# Orm Lighthouse\n\nThe Orm Lighthouse was built by Ada Brook in 1820.\n",
}


class Doubting(ReadingModel):
    """Says what it is told to of whether a question is clear. ``asked`` are the prompts in which it was asked that."""

    def __init__(self, doubt):
        super().__init__()
        self.doubt = doubt
        self.asked = []

    def answer(self, call):
        if call.form and "unsure" in call.form.json_schema.get("properties", {}):
            self.asked.append(call.messages[-1].content)
            if isinstance(self.doubt, Exception):
                raise self.doubt
            return json.dumps(self.doubt)
        return super().answer(call)


def what_is_wanted(call):
    """By which of its fields the answer is told apart; a text has none."""
    fields = call.form.json_schema.get("properties", {}) if call.form else {}
    return next(
        (name for name in ("sub_queries", "findings") if name in fields), "other" if fields else "text"
    )


SURE = {"unsure": False, "question": "", "why": ""}
UNSURE = {"unsure": True, "question": "Which of the two keepers is meant?", "why": "There were two."}


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def engine(tmp_path, **fields):
    given = {"store": MemoryStore(), "max_iterations": 1, "data_dir": tmp_path / "data", **fields}
    return DeepResearch(**given)


def names(made, result):
    return [event.name for event in made.events(result.research_id)]


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        (VAGUE, "What is the question about?"),
        ("When was Mercury discovered?", "Which 'Mercury' is meant: "),
        ("When was the planet Mercury discovered?", None),
        ("Who built the Bell Rock Lighthouse?", None),
        ("Who built the Orm Lighthouse, and who the Bell Rock Lighthouse?", None),
    ],
)
def test_without_a_model_a_name_that_several_documents_have_and_no_word_to_search_are_asked_about(
    tmp_path, corpus, question, asks
):
    with engine(tmp_path, corpus=corpus) as made:
        result = made.run(question, clarify="when_unsure")
        assert names(made, result).count("run.parked") == (asks is not None)
        if asks is None:
            assert result.status == "completed"
            return
        parking = result.state.parking
        assert (parking.kind, parking.default, parking.then) == ("question", GO_ON, "default")
        assert parking.waiting_for.startswith(asks)
        assert "sub_query.completed" not in names(made, result)


def options(**fields):
    return DeepResearchState(query="Who kept the light in 1990?", options=RunOptions(**fields))


@pytest.mark.parametrize(
    ("fields", "doubts"),
    [
        ({"since": date(2020, 1, 1), "until": date(2010, 1, 1)}, "published from 2020-01-01"),
        ({"since": date(2020, 1, 1), "as_of": date(2010, 1, 1)}, "published from 2020-01-01"),
        ({"until": date(1980, 1, 1)}, "of 1990"),
        ({"domains": ("www.example.org",), "not_domains": ("example.org",)}, "Every site"),
        ({"domains": ("a.org", "b.org"), "not_domains": ("a.org",)}, None),
        ({"since": date(2000, 1, 1), "until": date(2010, 1, 1)}, None),
        ({"until": date(1990, 1, 1)}, None),
        ({}, None),
    ],
)
def test_what_excludes_itself_is_asked_about(fields, doubts):
    found = by_rule(options(**fields))
    assert (found is not None) == (doubts is not None)
    if found is not None:
        assert doubts in found.why


@pytest.mark.parametrize("model", [[], [Doubting(UNSURE)]], ids=["keyless", "model"])
def test_nobody_is_asked_who_did_not_want_it(tmp_path, model):
    with engine(tmp_path, search=[ScriptedSearch()], model=model) as made:
        result = made.run(VAGUE)
        assert "run.parked" not in names(made, result)
    assert not any(each.asked for each in model)


def test_without_a_model_the_answer_is_searched(tmp_path):
    search = ScriptedSearch()
    with engine(tmp_path, search=[search], clarify="when_unsure") as made:
        result = made.run(VAGUE)
        assert (result.status, search.requests) == ("parked", [])
        done = made.answer(result.research_id, "The oil of the Skerryvore lamps.")
        assert names(made, done).count("run.parked") == 1
        assert names(made, done).count("plan.made") == 2
    assert any("Skerryvore" in request.query for request in search.requests)


@pytest.mark.parametrize("value", [GO_ON, "go on as you think"])
def test_who_wants_it_gone_on_with_gets_that_and_is_not_asked_again(tmp_path, value):
    with engine(tmp_path, search=[ScriptedSearch()], clarify="when_unsure") as made:
        result = made.run(VAGUE)
        done = made.answer(result.research_id, value)
        assert names(made, done).count("run.parked") == 1
        assert names(made, done).count("plan.made") == 1
        assert not [g for g in done.state.guidance if g.origin == "answer"]


def test_a_run_that_is_resumed_without_an_answer_goes_on(tmp_path):
    with engine(tmp_path, search=[ScriptedSearch()], clarify="when_unsure") as made:
        result = made.run(VAGUE)
        done = made.resume(result.research_id)
        assert names(made, done).count("run.parked") == 1
        assert done.status != "parked"


def test_an_answer_that_is_no_text_is_refused(tmp_path):
    with engine(tmp_path, search=[ScriptedSearch()], clarify="when_unsure") as made:
        result = made.run(VAGUE)
        with pytest.raises(UsageError, match="a text is wanted"):
            made.answer(result.research_id, {"it": "the light"})
        assert made.status(result.research_id).status == "parked"


def test_with_a_model_it_is_asked_once_and_all_agents_hear_the_answer(tmp_path):
    model = Doubting(UNSURE)
    with engine(tmp_path, search=[ScriptedSearch()], model=[model], max_iterations=2) as made:
        result = made.run("What did the keeper of the light do?", clarify="when_unsure")
        assert result.status == "parked"
        assert result.message == UNSURE["question"]
        assert result.state.parking.about["why"] == UNSURE["why"]
        assert (ModelRole.SUPERVISOR, "planning") in {(book.role, book.phase) for book in result.usage.models}
        before = len(model.calls)
        done = made.answer(result.research_id, "The one of the year 1811.")
        assert done.status == "completed"
        assert names(made, done).count("run.parked") == 1
    assert len(model.asked) == 1
    later = model.calls[before:]
    assert {"sub_queries", "findings", "text"} <= {what_is_wanted(call) for call in later}
    deaf = [what_is_wanted(c) for c in later if "The one of the year 1811." not in c.messages[-1].content]
    assert {"sub_queries", "findings", "text"}.isdisjoint(deaf)


def test_a_model_that_is_sure_is_asked_once_and_nobody_else(tmp_path):
    model = Doubting(SURE)
    with engine(tmp_path, search=[ScriptedSearch()], model=[model]) as made:
        done = made.run("What did the keeper of the light do?", clarify="when_unsure")
        assert "run.parked" not in names(made, done)
        assert [d.action for d in done.state.decisions].count("clarify") == 1
    assert len(model.asked) == 1


def test_where_the_model_does_not_answer_the_rules_tell(tmp_path):
    model = Doubting(ModelError("It is gone.", verdict=Verdict.FATAL))
    with engine(tmp_path, search=[ScriptedSearch()], model=[model]) as made:
        result = made.run(VAGUE, clarify="when_unsure")
        assert result.status == "parked"
        assert result.message.startswith("What is the question about?")


def test_the_request_is_known_to_the_estimate_and_keeps_to_the_caps(tmp_path):
    model = Doubting(UNSURE)
    with engine(tmp_path, search=[ScriptedSearch()], model=[model], reflection="never") as made:
        plain, asking = (
            made.estimate("What did the keeper do?", clarify=clarify) for clarify in ("never", "when_unsure")
        )
        assert asking.model_calls.low == plain.model_calls.low + 1
        assert asking.model_calls.high > plain.model_calls.high
        assert ModelRole.SUPERVISOR in asking.models
        assert ModelRole.SUPERVISOR not in plain.models
        none_left = made.run(
            "What did the keeper do?", clarify="when_unsure", budget=Budget(max_model_calls=1)
        )
        assert none_left.status != "parked"
    assert model.asked == []


def test_the_question_comes_before_the_plan(tmp_path):
    search = ScriptedSearch()
    with engine(tmp_path, search=[search], clarify="when_unsure", approve_plan=True) as made:
        result = made.run(VAGUE)
        assert result.state.parking.kind == "question"
        result = made.answer(result.research_id, "The oil of the Skerryvore lamps.")
        assert (result.state.parking.kind, result.state.parking.pause_id) == ("plan", "1.plan.0")
        assert search.requests == []
        shown = [each["query"] for each in result.state.parking.about["sub_queries"]]
        assert any("Skerryvore" in query for query in shown)
        assert made.answer(result.research_id, "approve").status != "parked"
