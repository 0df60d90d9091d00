"""A model that answers as a good one would, without one: it reads what stands in the prompts of our agents and answers
from that, by simple rules. For trying runs, benchmarks and faults; not a judge of prompts."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from servers.instances import instance

from deep_research.models.base import ModelCall, ModelProvider, OnText, Reply, StopReason, TokenUsage
from deep_research.models.tool_calls import ToolCall
from deep_research.patterns import regex

_BLOCK = regex(
    r"^<<(?P<mark>[0-9a-f]{16}) (?P<label>(?!end>>)[^>\n]*)>>\n(?P<body>.*?)\n<<(?P=mark) end>>", re.S | re.M
)
_FINDING = regex(r"^(F\d+) \([^)]*\): (.*)$", re.M)
_SENTENCE = regex(r"[A-Z][^.\n|#]{30,300}\.")
_WORD = regex(r"\w{4,}")


class ReadingModel(ModelProvider):
    """``seconds`` is how long an answer takes. ``calls`` holds what was asked."""

    service = "reading"
    forms = ("schema",)
    probed = False

    def __init__(
        self, model: str = "m", *, seconds: float = 0.0, sleep: Callable[[float], Any] = asyncio.sleep
    ) -> None:
        super().__init__(model)
        self.seconds = seconds
        self.calls: list[ModelCall] = []
        self._sleep = sleep

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        self.calls.append(call)
        if self.seconds:
            await self._sleep(self.seconds)
        text = self.answer(call)
        if on_text is not None:
            for start in range(0, len(text), 80):
                on_text(text[start : start + 80])
        asked = call.system + "".join(message.content for message in call.messages)
        usage = TokenUsage(input=len(asked.encode()) // 4, output=len(text.encode()) // 4)
        return Reply(text=text, stop=StopReason.END, usage=usage, model=self.model)

    def answer(self, call: ModelCall) -> str:
        """The text of the answer, JSON where a form is asked for."""
        return reading(prompt_of(call), call.form.json_schema if call.form else None)


_CALL = regex(
    r"(?m)^(?P<number>\d+)\. (?P<tool>\S+?)(?P<failed> failed)?:\n(?P<fence><<[0-9a-f]{16} [^>\n]*>>\n)"
)


def prompt_of(call: ModelCall) -> str:
    """A prompt as one text. Of the turns of a task's agent each call stands at the head of its output, as
    ``tool(argument: value):``."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    for message in call.messages:
        if message.role == "assistant":
            calls = list(message.calls) or _calls_in(message.content)
            continue
        outputs = "\n\n".join(
            f"{n}. {c.name}{' failed' * o.failed}:\n{o.text}"
            for n, (c, o) in enumerate(zip(calls, message.outputs, strict=False), 1)
        )
        content = "\n\n".join(filter(None, (outputs, message.content)))
        texts.append(_CALL.sub(partial(_headed, calls), content))
    return "\n\n".join(texts)


def _calls_in(text: str) -> list[ToolCall]:
    if not text.startswith("{"):
        return []
    given = [dict(each) for each in json.loads(text).get("calls", ())]
    return [ToolCall(id=str(n), name=each.pop("tool"), arguments=each) for n, each in enumerate(given)]


def _headed(calls: Sequence[ToolCall], found: re.Match[str]) -> str:
    given = calls[int(found["number"]) - 1].arguments if calls else {}
    arguments = ", ".join(f"{name}: {value}" for name, value in given.items())
    return f"{found['fence']}{found['tool']}({arguments}){found['failed'] or ''}:\n"


def as_calls(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step of a task, ``{"thought", "actions": [{"tool", …}], "answer", "facts", …}``, as the object of calls that a
    model without tools of its own gives: what is said at the end are arguments of the tool ``done``."""
    calls = [dict(action) for action in step.get("actions", ())]
    for call in calls:
        if call["tool"] == "done":
            call |= {
                name: step[name]
                for name in ("answer", "facts", "worth_reading", "missing", "ask_owner")
                if name in step
            }
    return {"thought": step.get("thought") or "…", "calls": calls}


def reading(said: str, schema: Mapping[str, Any] | None) -> str:
    """The answer to a prompt: a text, or JSON for a schema, which is told by the fields it has."""
    if schema is None:
        return written(said)
    fields = schema.get("properties") or {}
    make = next((make for field, make in _OBJECTS.items() if field in fields), None)
    return json.dumps(make(said) if make else instance(dict(schema)), ensure_ascii=False)


def question_of(said: str) -> str:
    found = re.search(r"^Question: (.*)$", said, re.M)
    return found.group(1) if found else ""


def blocks(said: str) -> dict[str, str]:
    """The material of a prompt by label."""
    return {match["label"]: match["body"] for match in _BLOCK.finditer(said)}


def findings_of(said: str) -> dict[str, str]:
    """The findings in a prompt, by name."""
    listed = (body for label, body in blocks(said).items() if label.startswith("findings"))
    return dict(_FINDING.findall("\n".join(listed)))


def planned(said: str) -> dict[str, Any]:
    question = question_of(said)
    words = " ".join(dict.fromkeys(_WORD.findall(question)))
    return {
        "research_brief": f"It is asked: {question} Sources near to the matter are looked for, and figures compared.",
        "sub_queries": [
            {"query": question, "rationale": "the question itself", "priority": 1},
            {"query": f"{words} history and figures", "rationale": "background", "priority": 2},
        ],
    }


def read(said: str) -> dict[str, Any]:
    """The sentences that share most words with the question, of each source the best two."""
    asked = {word.lower() for word in _WORD.findall(question_of(said))}
    findings, opinions = [], []
    for label, body in blocks(said).items():
        if not label.startswith("source "):
            continue
        name = label.removeprefix("source ")
        text = body.partition("\n\n")[2]
        ranked = sorted(
            _SENTENCE.findall(text), key=lambda s: -len(asked & {w.lower() for w in _WORD.findall(s)})
        )
        opinions.append({"source_id": name, "quality": "high"})
        for sentence in ranked[:2]:
            if asked & {word.lower() for word in _WORD.findall(sentence)}:
                quote = {"source_id": name, "quote": sentence}
                findings.append(
                    {
                        "content": sentence,
                        "confidence": "medium",
                        "source_ids": [name],
                        "category": "What is known",
                        "quotes": [quote],
                    }
                )
    return {"findings": findings, "gaps": [], "quality_updates": opinions, "addressed_gap_ids": []}


def worked(said: str) -> dict[str, Any]:
    """A step of a task: it is searched for once, and done with the sentence of each source that shares most with it."""
    task = re.search(r"^Your task: (.*)$", said, re.M)
    question = task.group(1) if task else question_of(said)
    shown = [body for label, body in blocks(said).items() if label.startswith("step ")]
    if not shown:
        return {"thought": "Nothing is known yet.", "actions": [{"tool": "search", "query": question}]}
    asked = {word.lower() for word in _WORD.findall(question)}
    facts = []
    for name, body in re.findall(r"^(S\d+): “.*\n((?:(?![SL]\d+: “).*\n?)*)", "\n\n".join(shown), re.M):
        ranked = sorted(
            _SENTENCE.findall(body), key=lambda s: -len(asked & {w.lower() for w in _WORD.findall(s)})
        )
        facts += [{"content": s, "source": name, "quote": s, "confidence": "medium"} for s in ranked[:1]]
    answer = " ".join(fact["content"] for fact in facts)
    return {"actions": [{"tool": "done"}], "answer": answer, "facts": facts, "missing": []}


def written(said: str) -> str:
    """A report, or a section, of the findings in the prompt."""
    lines = [f"{content.rstrip('.')} [{name}]." for name, content in findings_of(said).items()]
    if "alone, in about" in said:
        return "\n\n".join(lines)
    answer = " ".join(lines[:2])
    rest = "\n\n".join(lines[2:]) or "Nothing else bears on it."
    parts = [f"# {question_of(said)}", "## Summary", answer, "## Findings", rest, "## What remains open"]
    return "\n\n".join([*parts, "Nothing of weight."])


def chosen(said: str) -> dict[str, Any]:
    """Of numbered sentences those that share most words with the question, as many as are wanted."""
    asked = {word.lower() for word in _WORD.findall(question_of(said))}
    lines = re.findall(r"^(\d+) (.*)$", blocks(said).get("text", ""), re.M)
    wanted = re.search(r"^Keep about (\d+) of", said, re.M)
    ranked = sorted(lines, key=lambda line: -len(asked & {w.lower() for w in _WORD.findall(line[1])}))
    return {"keep": [int(number) for number, _ in ranked[: int(wanted.group(1)) if wanted else 1]]}


def verdicts(said: str) -> dict[str, Any]:
    """Each claim is supported by the passages beside it, and all of them answer each part of the question."""
    found = blocks(said)
    claims = re.findall(r"^(C\d+) .* — ((?:P\d+(?:, )?)+|no passage)", found.get("claims", ""), re.M)
    names = [name for name, _ in claims]
    return {
        "verdicts": [
            {
                "claim": name,
                "verdict": "supported",
                "quotes": re.findall(r"P\d+", passages)[:1],
                "missing": "",
            }
            for name, passages in claims
        ],
        "parts": [
            {"part": part, "answered": True, "claims": names, "open": ""}
            for part in re.findall(r"^(Q\d+) ", found.get("parts", ""), re.M)
        ],
    }


def sorted_out(said: str) -> dict[str, Any]:
    """Of doubtful sources those are read of which the passage has two words of the question."""
    asked = {word.lower() for word in _WORD.findall(question_of(said))}
    sources = {k: v for k, v in blocks(said).items() if k.startswith("source ")}
    return {
        "choices": [
            {
                "source": label.removeprefix("source "),
                "read": "sections"
                if len(asked & {word.lower() for word in _WORD.findall(body.partition("Passage: ")[2])}) > 1
                else "no",
            }
            for label, body in sources.items()
        ]
    }


def judged(said: str) -> dict[str, Any]:
    names = re.findall(r"^(G\d+) ", blocks(said).get("gaps", ""), re.M)
    return {
        "gap_analysis": [
            {
                "gap_id": name,
                "severity": "moderate",
                "addressable": True,
                "follow_up_queries": [
                    {"query": f"{question_of(said)} further evidence {name}", "expected_contribution": "more"}
                ],
            }
            for name in names
        ],
        "iteration_recommendation": {"should_iterate": bool(names), "rationale": "", "priority_gaps": names},
        "report_improvements": [],
    }


def outlined(said: str) -> dict[str, Any]:
    names = list(findings_of(said))
    half = (len(names) + 1) // 2
    sections = [("What is known", names[:half]), ("What else is told", names[half:])]
    return {
        "title": question_of(said),
        "sections": [{"heading": h, "purpose": "", "findings": part} for h, part in sections if part],
    }


def framed(said: str) -> dict[str, Any]:
    found = re.search(r"\[F\d+\]", said)
    return {
        "answer": f"In short, it is as the sections say. {found.group() if found else ''}".strip(),
        "open": "Nothing of weight.",
        "answer_heading": "Summary",
        "open_heading": "What remains open",
    }


# By a field that only this object has.
_OBJECTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "sub_queries": planned,
    "quality_updates": read,
    "same": lambda _: {"same": [], "filled_gaps": [], "same_gaps": [], "completeness": 0.8},
    "keep": chosen,
    "verdicts": verdicts,
    "choices": sorted_out,
    "calls": lambda said: as_calls(worked(said)),
    "approved": lambda _: {"approved": True, "critique": ""},
    "gap_analysis": judged,
    "sections": outlined,
    "open": framed,
    "quality_assessment": lambda _: {
        "action": "proceed",
        "rationale": "It will do.",
        "quality_assessment": {"score": 7, "strengths": [], "weaknesses": []},
        "guidance": "Look at figures first.",
    },
}
