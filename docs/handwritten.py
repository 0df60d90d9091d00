"""A report with a model, without one: what a person answered to the prompts of our agents, handed over by a provider.

The answers stand in examples/handwritten.toml. Sources are named there by title and findings by a key, because the names
that prompts give them (S1, F1) follow from what was found.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from prompt_reading import blocks

from deep_research import DeepResearch, ResearchResult
from deep_research.models import ModelCall, ModelProvider, Reply, StopReason, TokenUsage

HERE = Path(__file__).resolve().parent
ANSWERS = HERE / "examples" / "handwritten.toml"


_KINDS = {
    "sub_queries": "plan",
    "quality_updates": "reading",
    "gap_analysis": "judgement",
    "claims": "repair",
}  # what is asked for, by a field of the answer


class Person(ModelProvider):
    """Answers one question, whatever way it is asked."""

    service = "handwritten"
    forms = ("schema",)
    probed = False

    def __init__(self) -> None:
        super().__init__("person")
        self.asked: list[str] = []  # what for, in turn
        self.answers = tomllib.loads(ANSWERS.read_text(encoding="utf-8"))

    async def send(self, call: ModelCall, on_text: Any = None) -> Reply:
        said = call.messages[-1].content
        fields = call.form.json_schema.get("properties", {}) if call.form else {}
        kind = next((kind for field, kind in _KINDS.items() if field in fields), call.label or "report")
        self.asked.append(kind)
        if kind == "plan":
            text = json.dumps(self.answers["plan"])
        elif kind == "reading":
            text = json.dumps(self._reading(said))
        elif kind == "judgement":
            text = json.dumps(self._judgement(said))
        elif kind == "repair":
            text = json.dumps({"claims": []})
        else:
            text = self._with_names(self.answers[kind]["text"].strip(), said)
        usage = TokenUsage(input=len(call.system + said) // 4, output=len(text) // 4)
        return Reply(text=text, stop=StopReason.END, usage=usage, model=self.name)

    def _reading(self, said: str) -> dict[str, Any]:
        names = {
            body.split("\n", 1)[0].removeprefix("Title: "): label.removeprefix("source ")
            for label, body in blocks(said).items()
            if label.startswith("source ")
        }
        findings = [
            {
                "content": finding["content"],
                "confidence": "medium",
                "category": finding["category"],
                "source_ids": [names[title] for title, _ in finding["quotes"]],
                "quotes": [{"source_id": names[title], "quote": quote} for title, quote in finding["quotes"]],
            }
            for finding in self.answers["findings"]
            if all(title in names for title, _ in finding["quotes"])
        ]
        opinions = [
            {"source_id": names[title], "quality": quality}
            for title, quality in self.answers["qualities"].items()
            if title in names
        ]
        gaps = self.answers["gaps"] if "earlier gaps" not in said.lower() else []
        return {"findings": findings, "gaps": gaps, "quality_updates": opinions, "addressed_gap_ids": []}

    def _judgement(self, said: str) -> dict[str, Any]:
        judgement = self.answers["judgement"]
        names = re.findall(r"^(G\d+) ", blocks(said)["gaps"], re.MULTILINE)
        return {
            "gap_analysis": [
                {
                    "gap_id": name,
                    "severity": judgement["severity"],
                    "addressable": False,
                    "follow_up_queries": [],
                }
                for name in names
            ],
            "iteration_recommendation": {
                "should_iterate": False,
                "rationale": judgement["rationale"],
                "priority_gaps": [],
            },
            "remarks": judgement["remarks"],
            "report_improvements": [],
        }

    def _with_names(self, text: str, said: str) -> str:
        """The text with the names that the prompt gives to findings."""
        given = dict(re.findall(r"^(F\d+) \([^)]*\): (.*)$", blocks(said)["findings"], re.MULTILINE))
        names = {
            finding["key"]: next(
                (name for name, text in given.items() if text.startswith(finding["content"])), "F0"
            )
            for finding in self.answers["findings"]
        }
        return re.sub(
            r"\[([a-z]+(?:, [a-z]+)*)\]",
            lambda match: "[" + ", ".join(names[key] for key in match.group(1).split(", ")) + "]",
            text,
        )


def run(person: Person | None = None) -> ResearchResult:
    """The run, from the plan to the second version of its report."""
    person = person or Person()
    with tempfile.TemporaryDirectory() as folder:
        profiles = Path(folder) / "models.toml"
        profiles.write_text('["handwritten:person"]\ncontext = 200000\noutput = 16000\n', encoding="utf-8")
        with DeepResearch(
            model=person,
            corpus=HERE / "examples" / "corpus",
            data_dir=folder,
            model_file=profiles,
            judge="off",  # nobody sat down to check every claim
        ) as research:
            return research.run(person.answers["question"]).raise_for_status()


def report() -> str:
    """The report that the engine makes of these answers."""
    return run().report or ""


if __name__ == "__main__":
    print(report())
