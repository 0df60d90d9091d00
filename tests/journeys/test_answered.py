"""Whether a question counts as answered: what its report says decides, and code holds the judge to names and kinds."""

import json

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch
from deep_research.sources.documents.folder import sample_corpus
from deep_research.state import AnswerCoverage

UNKNOWN = [  # a name that no document has
    "What is the GDP of Cape Verde?",
    "How tall is the Lindesnes lighthouse?",
    "Who designed the Slangkop lighthouse?",
    "When was the Tourlitis light built?",
    "Where does the Zugspitze observatory stand?",
    "How deep is Lake Tanganyika?",
    "Who wrote the Kalevala?",
    "When was the Peggys Cove lighthouse lit?",
    "What does the Otterbein museum show?",
    "How many keepers served at Rubjerg Knude?",
    "Who is the mayor of Trondheim?",
    "How long is the Øresund bridge?",
    "What happened at Slyne Head?",
    "Why was the Marjaniemi light moved?",
    "When did Wexford harbour freeze?",
]
OPEN = [  # of lighthouses of the sample, which does not say it
    "How many visitors does the Cape Hatteras lighthouse have each year?",
    "What did the Fastnet lighthouse cost to paint?",
    "Who was the wife of Robert Stevenson?",
    "How many steps does the Tower of Hercules have?",
    "What colour are the doors of Skerryvore?",
    "Who owns the La Jument lighthouse today?",
    "What is the phone number of Trinity House?",
    "What did the keepers of Flannan Isles eat?",
    "How heavy is the lens of Cordouan?",
    "Who painted the Lanterna of Genoa?",
    "When did Grace Darling learn to row?",
    "What school did Augustin Fresnel attend as a child?",
    "How many dogs lived at Boston Light?",
    "What was the salary of John Smeaton?",
    "Which song did the crew of Minots Ledge sing?",
]
ANSWERED = [
    "How tall is the Cape Hatteras lighthouse?",
    "When was Skerryvore lit?",
    "Who built the third Eddystone tower?",
    "When was the Cape Hatteras lighthouse moved?",
    "Who was Grace Darling?",
    "What happened at Flannan Isles in December 1900?",
    "Who designed the Bell Rock lighthouse?",
    "What is hydraulic lime?",
    "How does a Dalén sun valve work?",
    "What is a Fresnel lens?",
    "Where does the Tower of Hercules stand?",
]


class Judging(ReadingModel):
    """Says of every part that the report answers it, by all of its claims, or that it does not."""

    def __init__(self, *, says_yes):
        super().__init__()
        self._says_yes = says_yes

    def answer(self, call):
        text = super().answer(call)
        if self._says_yes or not call.system.startswith("You check a report"):
            return text
        checked = json.loads(text)
        for part in checked["parts"]:
            part.update(answered=False, claims=[])
        return json.dumps(checked)


def some(questions):
    """Every fifth in each run of the tests, the others in the sweep."""
    return [pytest.param(q, marks=[pytest.mark.sweep] if n % 5 else []) for n, q in enumerate(questions)]


@pytest.fixture
def researched(tmp_path):
    def run(question, *, says_yes):
        with DeepResearch(
            model=Judging(says_yes=says_yes),
            corpus=sample_corpus(),
            store="memory",
            data_dir=tmp_path,
            max_iterations=1,
        ) as research:
            return research.run(question)

    return run


@pytest.mark.parametrize("question", some(UNKNOWN))
def test_a_question_on_a_name_that_no_document_has_is_not_answered_whatever_the_judge_says(
    researched, question
):
    result = researched(question, says_yes=True)
    assert (result.answer_coverage, result.reason) == (AnswerCoverage.NO, "no_evidence")


@pytest.mark.parametrize("question", some(OPEN))
def test_a_question_that_the_documents_leave_open_is_not_answered_where_the_judge_sees_it(
    researched, question
):
    assert researched(question, says_yes=False).answer_coverage is not AnswerCoverage.YES


@pytest.mark.parametrize("question", some(ANSWERED))
def test_a_question_that_the_documents_answer_is_answered(researched, question):
    assert researched(question, says_yes=True).answer_coverage is AnswerCoverage.YES
