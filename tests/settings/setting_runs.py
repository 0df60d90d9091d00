"""The runs by which settings are shown."""

import asyncio
import json
from contextlib import contextmanager

from prompt_reading import ReadingModel
from servers import ModelServer

from deep_research import DeepResearch
from deep_research.models import Message, ModelCall
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = "What is known of towers?"
WIDE = (
    "When was the old tower of the town built, who built it, how high is it, and what does its keeper earn?"
)
DOCUMENT = """# Towers

The old tower of the town was built of grey stone in the year 1312. Ann Mole built the old tower.

The keeper of the old tower lived in Storhamn. Storhamn has a harbour of 1400.
"""


class ThoroughModel(ReadingModel):
    """Plans more searches than it may, and leaves a gap."""

    def answer(self, call):
        text = super().answer(call)
        made = json.loads(text) if call.form else {}
        if "sub_queries" in made:
            further = [{"query": f"old tower of the town, floor {n}", "rationale": "."} for n in range(9)]
            return json.dumps(made | {"sub_queries": further})
        if "quality_updates" in made:
            gap = {"description": "Who keeps the tower is not said.", "suggested_queries": ["keeper of it"]}
            return json.dumps(made | {"gaps": [gap]})
        return text


def in_both_modes():
    """The model of a run of the extractive agents, none, and that of one whose agents think with a model."""
    return [], [ThoroughModel()]


def run(tmp_path, agents=None, question=QUESTION, **fields):
    made = {"search": [ScriptedSearch()], "data_dir": tmp_path, **fields}
    cast = agents or scripted_agents(without=["gatherer"])
    with DeepResearch(agents=cast, **made) as research:
        return research.run(question)


async def hanging(*_):
    await asyncio.Event().wait()


class ModelPlanner:
    """Asks its model once for each of the ``calls`` and plans as it always does."""

    uses_model = True
    deterministic = False

    def __init__(self, calls=1):
        self.calls = calls
        self.plan = scripted_agents()["planner"]

    async def __call__(self, handoff, model):
        self.model = model
        for _ in range(self.calls):
            await model.text(ModelCall(messages=(Message(content="What is a tower?"),), max_output=100))
        return await self.plan(handoff)


@contextmanager
def model_server():
    with ModelServer(lambda served: f"An answer of {served.model}.") as server:
        yield server, f"openai-compatible:{{}}@{server.base_url}/v1"


def with_model(tmp_path, planner=None, **fields):
    return run(
        tmp_path, scripted_agents(without=["gatherer"]) | {"planner": planner or ModelPlanner()}, **fields
    )


def asked(tmp_path, question=WIDE, *, model, **fields):
    """A run of our agents over one document, or over what ``search`` finds."""
    where = fields if "search" in fields else {"corpus": with_documents(tmp_path), **fields}
    with DeepResearch(model=model, data_dir=tmp_path / "data", store="memory", **where) as research:
        return research.run(question)


def with_documents(tmp_path):
    (tmp_path / "corpus").mkdir(exist_ok=True)
    (tmp_path / "corpus" / "towers.md").write_text(DOCUMENT)
    return tmp_path / "corpus"


def researched(tmp_path, **fields):
    """A run of the agents that think with a model, over one document; and what the model was asked."""
    model = fields.pop("model", None) or ReadingModel()
    return asked(tmp_path, "When was the old tower of the town built?", model=[model], **fields), model


def long_documents(tmp_path, count=4):
    """A corpus of documents that tell of towers at length, no two sentences alike."""
    folder = tmp_path / "corpus"
    folder.mkdir(exist_ok=True)
    for n in range(count):
        lines = [f"The old tower of town {n} had {k} windows on floor {k * 7 % 31}." for k in range(120)]
        lines.insert(60, f"The old tower of town {n} was built of grey stone in the year {1300 + n}.")
        (folder / f"towers{n}.md").write_text(f"# Towers of town {n}\n\n" + " ".join(lines))


def read_of_long_documents(tmp_path, **fields):
    """The result of a run whose model has room for all there is, and the model."""
    long_documents(tmp_path)
    for path in (tmp_path / "corpus").glob("*.md"):
        path.write_text(path.read_text() + "\n\n## The harbour\n\n" + "Ships came every morning. " * 300)
    return researched(tmp_path, **_merged({"window": {"model_tokens": {"reading:m": 100_000}}}, fields))


def read_in_part(tmp_path, **fields):
    """The result of a run whose model reads less than there is, and the model."""
    long_documents(tmp_path, fields.pop("documents", 4))
    wide = {
        "reading": {"tokens": 2_000, "sections": False},
        "window": {"model_tokens": {"reading:m": 100_000}},
    }
    return researched(tmp_path, **_merged(wide, fields))


def _merged(wide, fields):
    """Settings, of groups those members that ``fields`` name."""
    groups = {name: wide[name] | fields[name] for name in wide.keys() & fields.keys()}
    return wide | fields | groups
