"""Slips of weak models, over the types that our agents ask for: each costs at most one small repair, and none the whole
call again. What cannot be made out safely is refused."""

import asyncio
import json

import pytest

from deep_research.errors import BudgetError
from deep_research.models.base import Message, ModelCall, Reply, StopReason, TokenUsage
from deep_research.models.coercion import coerced
from deep_research.models.failures import Verdict, failure
from deep_research.models.language_model import SingleModel
from deep_research.models.object_parser import Unreadable, validated
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities
from deep_research.phases.analysis.findings_merge import Merge
from deep_research.phases.analysis.llm import Reading
from deep_research.phases.planning.llm import Plan
from deep_research.phases.refinement.llm import Judgement
from deep_research.phases.synthesis.sections import Outline
from deep_research.testing.models import ScriptedProvider

SOURCE = "The tower of Gold Reef is 47 metres high. "
CALL = ModelCall(
    system="You read sources. " * 40,
    messages=(Message(content=f"Question: How high?\n<<0123456789abcdef source S1>>\n{SOURCE * 60}"),),
    max_output=4_000,
)
FINDING = {
    "content": "The tower is 47 metres high.",
    "confidence": "high",
    "source_ids": ["S1"],
    "quotes": [{"source_id": "S1", "quote": "The tower of Gold Reef is 47 metres high."}],
}
OTHER = {**FINDING, "content": "It was lit in 1904."}
GOOD = {
    Plan: {
        "research_brief": "How high it is.",
        "parts": [{"text": "How high is it?", "expects": "number"}],
        "sub_queries": [{"query": "height of Gold Reef", "rationale": "r", "priority": 1, "part": 1}],
    },
    Reading: {
        "findings": [FINDING, OTHER],
        "gaps": [{"description": "Its cost", "suggested_queries": ["cost of Gold Reef"], "priority": 1}],
        "quality_updates": [{"source_id": "S1", "quality": "high"}],
        "addressed_gap_ids": ["G1"],
    },
    Merge: {"same": [["F1", "F2"]], "filled_gaps": ["G1"], "same_gaps": [], "completeness": 0.9},
    Judgement: {
        "gap_analysis": [{"gap_id": "G1", "severity": "minor", "addressable": True, "follow_up_queries": [{"query": "cost"}]}],
        "iteration_recommendation": {"should_iterate": True, "rationale": "r", "priority_gaps": ["G1"]},
        "report_improvements": ["Say it once."],
    },
    Outline: {
        "title": "Gold Reef",
        "sections": [{"heading": name, "purpose": "p", "findings": [f]} for name, f in (("Height", "F1"), ("Light", "F2"))],
    },
}  # fmt: skip


def put(kind, *changes):
    """The good answer with values changed, each as a dotted place and a value."""
    made = json.loads(json.dumps(GOOD[kind]))
    for place, value in changes:
        *above, last = [int(step) if step.isdigit() else step for step in place.split(".")]
        held = made
        for step in above:
            held = held[step]
        if value is DROP:
            del held[last]
        else:
            held[last] = value
    return made


DROP = object()


def text(kind):
    return json.dumps(GOOD[kind])


# ruff: noqa: E501 - a row for each
# Name, type, what is written, what comes of it: changes to the good answer. Slips of JSON itself are those of its parser.
FREE = [
    ("a word for a priority", Plan, put(Plan, ("sub_queries.0.priority", "high")), ()),
    ("a number in words for a priority", Plan, put(Plan, ("sub_queries.0.priority", "Priority 1")), ()),
    ("the name of a part for its number", Plan, put(Plan, ("sub_queries.0.part", "Part 1")), ()),
    ("none for an optional number", Plan, put(Plan, ("sub_queries.0.part", "none")), (("sub_queries.0.part", None),)),
    ("capitals in a choice", Plan, put(Plan, ("parts.0.expects", "Number.")), ()),
    ("n/a for an empty choice", Plan, put(Plan, ("parts.0.expects", "n/a")), (("parts.0.expects", ""),)),
    ("one search for a list", Plan, put(Plan, ("sub_queries", GOOD[Plan]["sub_queries"][0])), ()),
    ("a literal of Python", Judgement, repr(GOOD[Judgement]), ()),
    ("typographic quote marks", Outline, text(Outline).replace('"title": "Gold Reef"', "“title”: “Gold Reef”"), ()),
    ("names of fields without quote marks", Outline, text(Outline).replace('"title"', "title"), ()),
    ("one name for a list of names", Reading, put(Reading, ("findings.0.source_ids", "S1")), ()),
    ("several names in one text", Merge, put(Merge, ("same", ["F1, F2"])), ()),
    ("one group of names for a list of groups", Merge, put(Merge, ("same", ["F1", "F2"])), ()),
    ("none for an empty list", Reading, put(Reading, ("gaps", "none")), (("gaps", []),)),
    ("n/a in a list", Reading, put(Reading, ("gaps", ["N/A"])), (("gaps", []),)),
    ("null for a list", Reading, put(Reading, ("quality_updates", None)), (("quality_updates", []),)),
    ("one quote for a list of quotes", Reading, put(Reading, ("findings.0.quotes", FINDING["quotes"][0])), ()),
    ("a list of one text for a text", Reading, put(Reading, ("gaps.0.description", ["Its cost"])), ()),
    ("percent", Merge, put(Merge, ("completeness", "90%")), ()),
    ("a number of a hundred", Merge, put(Merge, ("completeness", 90)), ()),
    ("a number in a text", Merge, put(Merge, ("completeness", "0,9")), ()),
    ("yes for true", Judgement, put(Judgement, ("gap_analysis.0.addressable", "Yes.")), ()),
    ("JSON in a text", Judgement, put(Judgement, ("iteration_recommendation", json.dumps(GOOD[Judgement]["iteration_recommendation"]))), ()),
    ("an object in a list of one", Judgement, put(Judgement, ("iteration_recommendation", [GOOD[Judgement]["iteration_recommendation"]])), ()),
    ("a text for a list of texts", Judgement, put(Judgement, ("report_improvements", "Say it once.")), ()),
]  # fmt: skip

# Name, type, what is written, the answer to the repair, what comes of it.
REPAIRED = [
    ("a share for a choice", Reading, put(Reading, ("findings.0.confidence", 0.9)), {"findings.0.confidence": "high"}, ()),
    ("so much of ten", Merge, put(Merge, ("completeness", "9/10")), {"completeness": 0.9}, ()),
    ("a choice that is none", Reading, put(Reading, ("findings.0.confidence", "certain")), {"findings.0.confidence": "high"}, ()),
    ("a field that is missing", Plan, put(Plan, ("research_brief", DROP)), {"research_brief": "How high it is."}, ()),
    ("a field of an item that is missing", Reading, put(Reading, ("findings.1.content", DROP)), {"findings.1.content": "It was lit in 1904."}, ()),
    ("a number that may be of ten or of a hundred", Merge, put(Merge, ("completeness", 9)), {"completeness": 0.9}, ()),
    ("a severity of another scale", Judgement, put(Judgement, ("gap_analysis.0.severity", "high")), {"gap_analysis.0.severity": "minor"}, ()),
    ("maybe for true", Judgement, put(Judgement, ("iteration_recommendation.should_iterate", "maybe")), {"iteration_recommendation.should_iterate": True}, ()),
    ("an object for a text", Outline, put(Outline, ("title", {"text": "x"})), {"title": "Gold Reef"}, ()),
    ("texts for searches", Judgement, put(Judgement, ("gap_analysis.0.follow_up_queries", ["cost"])), {"gap_analysis.0.follow_up_queries.0": {"query": "cost"}}, ()),
    ("several slips at once", Plan, put(Plan, ("research_brief", 5.5), ("parts.0.text", {}), ("sub_queries.0.query", [])), {"parts.0.text": "How high is it?", "sub_queries.0.query": "height of Gold Reef"}, (("research_brief", "5.5"),)),
    ("no brackets at the end", Outline, text(Outline)[:-2], {"sections": []}, ()),
    ("an end in the midst of an item", Outline, text(Outline)[:-30], {"sections": [GOOD[Outline]["sections"][1]]}, ()),
    ("fields in lines", Outline, "**Title**: Gold Reef\n**Sections**:\n1. Height (F1)\n2. Light (F2)", GOOD[Outline], ()),
    ("the whole answer for a repair", Reading, put(Reading, ("findings.0.confidence", "certain")), GOOD[Reading], ()),
    ("an item that stays wrong", Reading, put(Reading, ("findings.0.confidence", "certain")), "I do not know.", (("findings", [OTHER]),)),
]  # fmt: skip


def asked(kind, *answers):
    """What a model gives that answers so, and what it was asked."""
    provider = ScriptedProvider(answers)
    provider.probed = False
    model = SingleModel(provider, Profile(), abilities=Abilities(), persistence=Persistence())
    return asyncio.run(model.object(CALL, kind)), provider.calls


def size(call):
    return len(call.system) + sum(len(message.content) for message in call.messages)


@pytest.mark.parametrize(("name", "kind", "written", "changes"), FREE, ids=[row[0] for row in FREE])
def test_a_slip_that_is_plain_costs_nothing(name, kind, written, changes):
    answer, calls = asked(kind, written)
    assert answer.value == kind.model_validate(put(kind, *changes))
    assert answer.requests == len(calls) == 1


@pytest.mark.parametrize(
    ("name", "kind", "written", "repair", "changes"), REPAIRED, ids=[row[0] for row in REPAIRED]
)
def test_a_slip_that_is_not_plain_costs_one_small_repair(name, kind, written, repair, changes):
    answer, calls = asked(kind, written, repair)
    assert answer.value == kind.model_validate(put(kind, *changes))
    assert answer.requests == len(calls) == 2
    assert size(calls[1]) < size(calls[0])
    assert SOURCE not in "".join(message.content for message in calls[1].messages).replace(
        FINDING["quotes"][0]["quote"], ""
    )
    assert calls[1].messages[0].role == "user"


def test_a_repair_names_the_place_and_what_belongs_there_and_shows_what_is_wrong_alone():
    _, (_, repair) = asked(
        Reading, put(Reading, ("findings.0.confidence", "certain")), {"findings.0.confidence": "high"}
    )
    _, shown, instruction = repair.messages
    assert "findings.0.confidence: Input should be 'low', 'medium' or 'high'" in instruction.content
    assert "'low', 'medium' or 'high'" in instruction.content
    assert '"certain"' in shown.content
    assert OTHER["content"] not in shown.content
    assert repair.form is None


def cut_at(place):
    whole = text(Reading)
    return Reply(
        text=whole[: whole.index(place)], stop=StopReason.LENGTH, usage=TokenUsage(output=4_000), model="m"
    )


def test_the_rest_of_an_answer_that_its_cap_cut_is_asked_for_and_not_the_whole():
    rest = {"findings": [OTHER], **{k: v for k, v in GOOD[Reading].items() if k != "findings"}}
    answer, calls = asked(Reading, cut_at("was lit in"), rest)
    assert answer.value == Reading.model_validate(GOOD[Reading])
    assert answer.requests == 2
    *first, _, instruction = calls[1].messages
    assert tuple(first) == calls[0].messages
    assert "The first 1 items of findings are kept." in instruction.content
    fields = "findings, gaps, contradictions, quality_updates, addressed_gap_ids"
    assert f"with these fields: {fields}" in instruction.content
    assert calls[1].max_output == calls[0].max_output
    answer, calls = asked(Reading, cut_at("lit in"), "I have nothing to add.")  # what was whole stays
    assert answer.value.findings == [Reading.model_validate(GOOD[Reading]).findings[0]]
    assert len(calls) == 2


@pytest.mark.parametrize(
    "problem",
    [
        failure(Verdict.PARK, "not there", model="m"),
        failure(Verdict.MALFORMED, "no", model="m"),
        BudgetError("The cap is reached.", hint="Raise it."),
    ],
)
def test_what_was_right_stands_where_the_repair_cannot_be_asked_for(problem):
    answer, _ = asked(Reading, {"findings": [FINDING, OTHER, {**FINDING, "confidence": "certain"}]}, problem)
    assert len(answer.value.findings) == 2


REFUSED = [
    (Plan, "sub_queries.0.priority", ("soon", "1 or 2")),
    (Plan, "sub_queries.0.part", ("1-3",)),
    (Plan, "parts.0.expects", ("numbers",)),
    (Plan, "research_brief", (None, ["one", "two"])),
    (Merge, "completeness", ("5", 1.5, 150, "most", -1)),
    (Reading, "findings.0.confidence", ("very high", "not high", 3)),
    (Reading, "findings.0.quotes", ("The tower of Gold Reef is 47 metres high.",)),
    (Reading, "findings", ("The tower is high.",)),
    (Judgement, "iteration_recommendation.should_iterate", ("if possible",)),
    (Judgement, "gap_analysis.0.gap_id", ({"id": "G1"},)),
]


@pytest.mark.parametrize(("kind", "place", "values"), REFUSED, ids=[place for _, place, _ in REFUSED])
def test_a_value_of_which_it_is_not_plain_what_it_means_is_refused(kind, place, values):
    for value in values:
        with pytest.raises(Unreadable):
            validated(put(kind, (place, value)), kind)


def test_no_name_of_a_field_is_guessed_and_prose_that_gives_nothing_is_no_answer():
    for name in ("Findings", "finding", "results"):
        assert coerced({name: [FINDING]}, Reading) == {name: [FINDING]}
        with pytest.raises(Unreadable):
            validated({name: [FINDING]}, Reading)
    answer, calls = asked(Reading, "I have read the findings, and cannot tell.", GOOD[Reading])
    assert answer.value == Reading.model_validate(GOOD[Reading])
    assert SOURCE * 2 in calls[1].messages[0].content  # without its sources it would find nothing


def test_the_whole_list_is_not_given_up_for_few_items_and_not_kept_for_the_rest_of_them():
    bad = {**FINDING, "confidence": "certain"}
    answer, calls = asked(Reading, {"findings": [FINDING, OTHER, bad]}, "no")
    assert len(answer.value.findings) == 2
    assert len(calls) == 2
    answer, calls = asked(Reading, {"findings": [FINDING, bad, bad]}, "no", "no", GOOD[Reading])
    assert answer.value == Reading.model_validate(GOOD[Reading])
