"""A model that works on the made manual as a careful reader would. It knows nothing of how the manual is made: it follows
section numbers that its prompt shows, from a sentence that names the part which is asked for, and takes a fact from the
section alone to which they lead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prompt_reading import ReadingModel, as_calls, blocks, prompt_of, question_of

from deep_research.models.base import ModelCall, OnText, Reply

WINDOW, OUTPUT = 200_000, 16_000  # tokens of the model
MAX_GAPS = 3  # of one reading, as its prompt says
_ASKED = re.compile(r"how many (\w+) the ([\w ]+?) has by default")
_NUMBER = re.compile(r"\bSection (\d+(?:\.\d+)+)")
_HEADING = re.compile(r"^#* ?(\d+(?:\.\d+)+)\. .*$", re.M)
_SENTENCE = re.compile(r"[^.\n]+(?:\.\d[^.\n]*)*\.")
_PIECE = re.compile(r"^(S\d+)(?:: “.*|, from character .*)$", re.M)
_USE = re.compile(r"^(\w+)\((.*)\)(?: failed)?:$", re.M)
_NAMED = re.compile(r"^(S\d+): “(\d+(?:\.\d+)*)\. ", re.M)


@dataclass(frozen=True)
class Item:
    """What is asked of one part of the engine."""

    unit: str
    part: str

    @property
    def question(self) -> str:
        return f"how many {self.unit} the {self.part} has by default"

    def said_by(self, sentence: str) -> bool:
        return bool(re.search(rf"\d {self.unit}\b", sentence))


@dataclass(frozen=True)
class Trail:
    """How far an item was followed: the sentences with their sources, the last of which is the ``fact`` where it was
    found; else ``next`` is the section that is to be opened."""

    steps: tuple[tuple[str, str], ...] = ()
    fact: str = ""
    next: str = ""


def items_of(text: str) -> list[Item]:
    return [Item(*each) for each in dict.fromkeys(_ASKED.findall(text))]


def sentences(text: str) -> list[str]:
    return [match.strip() for match in _SENTENCE.findall(text)]


def section_of(number: str, text: str) -> str | None:
    """What stands under the heading of a section, up to the next one; None where it is not there."""
    headings = list(_HEADING.finditer(text))
    for place, match in enumerate(headings):
        if match[1] == number:
            end = headings[place + 1].start() if place + 1 < len(headings) else len(text)
            return text[match.end() : end]
    return None


def followed(item: Item, texts: Iterable[tuple[str, str]]) -> Trail:
    """The trail of an item through texts with the names of their sources: from the sentence that names its part and leads
    furthest. What has no name was written down before, of texts that are not at hand."""
    texts = list(texts)
    best = Trail()
    for name, text in texts:
        for line in sentences(text):
            if item.part in line or item.question in line:
                if not name and item.part in line and item.said_by(line):
                    return Trail(((name, line),), fact=line)
                for number in _NUMBER.findall(line):
                    trail = _from(number, item, texts, (name, line))
                    if (bool(trail.fact), len(trail.steps)) >= (bool(best.fact), len(best.steps)):
                        best = trail
    return best


def _from(number: str, item: Item, texts: list[tuple[str, str]], lead: tuple[str, str]) -> Trail:
    steps = [lead]
    been = set[str]()
    while number not in been:
        been.add(number)
        lines = [
            (name, line)
            for name, text in texts
            if (body := section_of(number, text)) is not None
            for line in sentences(body)
        ]
        fact = next((each for each in lines if item.said_by(each[1])), None)
        if fact is not None:
            return Trail((*steps, fact), fact=fact[1])
        further = next(((each, found[1]) for each in lines if (found := _NUMBER.search(each[1]))), None)
        if further is None:
            return Trail(tuple(steps), next=number)
        steps.append(further[0])
        number = further[1]
    return Trail(tuple(steps))


def pieces(said: str) -> Iterator[tuple[str, str]]:
    """What the steps of a task have shown, by the names of sources."""
    for label, body in blocks(said).items():
        if label.startswith("step "):
            marks = list(_PIECE.finditer(body))
            for place, match in enumerate(marks):
                end = marks[place + 1].start() if place + 1 < len(marks) else len(body)
                yield match[1], body[match.end() : end]


class ManualReader(ReadingModel):
    """``role`` is that of the model; ``calls`` and ``replies`` hold what was asked and answered."""

    window = (WINDOW, OUTPUT)

    def __init__(self, role: str) -> None:
        super().__init__(role)
        self.role = role
        self.replies: list[Reply] = []

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        reply = await super().send(call, on_text)
        self.replies.append(reply)
        return reply

    def answer(self, call: ModelCall) -> str:
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        said = prompt_of(call)
        for field, make in (
            ("sub_queries", planned),
            ("calls", lambda said: as_calls(worked(said))),
            ("quality_updates", read),
            ("same", merged),
            ("approved", reviewed),
            ("gap_analysis", judged),
        ):
            if field in fields:
                return json.dumps(make(said), ensure_ascii=False)
        if "verdicts" in fields:
            return json.dumps(checked(said, json.loads(super().answer(call))), ensure_ascii=False)
        return super().answer(call)


def planned(said: str) -> dict[str, Any]:
    """A part and a search for each thing that is asked."""
    items = items_of(question_of(said))
    return {
        "research_brief": "The manual is asked for the default of each part of the engine.",
        "parts": [{"text": item.question, "expects": "number"} for item in items],
        "sub_queries": [
            {"query": item.question, "rationale": "It is asked.", "priority": 1, "part": place}
            for place, item in enumerate(items, 1)
        ],
    }


def worked(said: str) -> dict[str, Any]:
    """A step of a task: search, then open the section that the trail leads to, in one way after the other."""
    task = re.search(r"^Your task: (.*)$", said, re.M)
    known = blocks(said).get("known", "")
    items = items_of(task[1] if task else "") or items_of(known)
    if not items:
        return _done(missing="It is not clear what is asked.")
    item = items[0]
    trail = followed(item, [("", known), *pieces(said)])
    if trail.fact:
        return _done(_told(item, trail.fact), _facts(item, trail))
    steps = (body for label, body in blocks(said).items() if label.startswith("step "))
    used = {f"{tool}({given})" for body in steps for tool, given in _USE.findall(body)}
    action = next((each for each in _ways(item, trail, said) if _shown(each) not in used), None)
    if action is None or "This is the last step" in said:
        return _done("", _facts(item, trail), _missing(item, trail))
    thought = f"Section {trail.next} is next." if trail.next else "Nothing is known yet."
    return {"thought": thought, "actions": [action]}


def _done(answer: str = "", facts: Sequence[dict[str, Any]] = (), missing: str = "") -> dict[str, Any]:
    gone = [missing] if missing else []
    return {"actions": [{"tool": "done"}], "answer": answer, "facts": list(facts), "missing": gone}


def _ways(item: Item, trail: Trail, said: str) -> Iterator[dict[str, Any]]:
    """What may be done next, the best first."""
    if not trail.next:
        yield {"tool": "search", "query": item.question}
        yield {"tool": "search", "query": item.part}
        return
    number, page = trail.next, trail.next.rpartition(".")[0]
    yield {"tool": "look_up", "section": number}
    for name, of_page in _NAMED.findall(blocks(said).get("names", "")):
        if number.startswith(f"{of_page}."):  # a page whose own number begins it
            yield {"tool": "look_up", "section": number, "source": name}
            yield {"tool": "read_more", "source": name}
    yield {"tool": "look_up", "section": page}
    for _, text in pieces(said):
        if title := re.search(rf"^\W*{re.escape(page)}\. (.+)$", text, re.M):  # in a table of contents
            yield {"tool": "search", "query": title[1]}
    yield {"tool": "search", "query": f"Section {number}"}
    yield {"tool": "search", "query": page}


def _shown(action: dict[str, Any]) -> str:
    """A use as a later prompt shows it."""
    given = {name: value for name, value in action.items() if name != "tool"}
    return f"{action['tool']}({', '.join(f'{name}: {value}' for name, value in given.items())})"


def _told(item: Item, line: str) -> str:
    """A sentence of a section to which the part led, as a statement that is understandable by itself."""
    return line if item.part in line else f"The {item.part}: {line}"


def _missing(item: Item, trail: Trail) -> str:
    return f"{item.question}: Section {trail.next}." if trail.next else item.question


def _facts(item: Item, trail: Trail) -> list[dict[str, Any]]:
    return [
        {
            "content": _told(item, line),
            "source": name,
            "quote": line,
            "confidence": "high" if line == trail.fact else "medium",
        }
        for name, line in trail.steps
        if name
    ]


def reviewed(said: str) -> dict[str, Any]:
    """Approved where the figure that is asked for is among the facts."""
    task = re.search(r"^The task: (.*)$", said, re.M)
    facts = blocks(said).get("facts", "")
    open_items = [item for item in items_of(task[1] if task else "") if not item.said_by(facts)]
    if not open_items:
        return {"approved": True, "critique": ""}
    return {
        "approved": False,
        "critique": f"The number of {open_items[0].unit} is missing: follow the sections.",
    }


def read(said: str) -> dict[str, Any]:
    """Facts to which sections lead, as far as the sources at hand have them, and sections that are still to be opened."""
    found = blocks(said)
    sources = [
        (label.removeprefix("source "), body.partition("\n\n")[2])
        for label, body in found.items()
        if label.startswith("source ")
    ]
    notes = [("", found.get(label, "")) for label in ("gaps", "known")]
    findings, gaps = [], []
    for item in items_of(question_of(said)):
        trail = followed(item, [*notes, *sources])
        findings += [
            _finding(_told(item, line), name, line, trail) for name, line in trail.steps[-1:] if name
        ]
        if trail.next and item.question not in found.get("gaps", ""):
            gaps.append(_gap(item, trail))
    return {
        "findings": findings,
        "gaps": [] if "Name no gaps" in said else gaps[:MAX_GAPS],
        "quality_updates": [{"source_id": name, "quality": "high"} for name, _ in sources],
        "addressed_gap_ids": [],
    }


def _finding(content: str, name: str, line: str, trail: Trail) -> dict[str, Any]:
    return {
        "content": content,
        "confidence": "high" if line == trail.fact else "medium",
        "source_ids": [name],
        "category": "Defaults",
        "quotes": [{"source_id": name, "quote": line}],
    }


def _gap(item: Item, trail: Trail) -> dict[str, Any]:
    query = f"Section {trail.next}"
    return {"description": _missing(item, trail), "suggested_queries": [query], "priority": 1}


def merged(said: str) -> dict[str, Any]:
    """Of the findings of several readers: which gaps they fill, and what is open still."""
    found = blocks(said)
    findings = [("", found.get("findings", ""))]
    named = re.findall(r"^(G\d+)\b(.*)$", found.get("gaps", ""), re.M)
    trails = {item: followed(item, findings) for item in items_of(question_of(said))}
    filled = [
        name for name, line in named if any(item.question in line and t.fact for item, t in trails.items())
    ]
    open_items = [
        item
        for item, trail in trails.items()
        if trail.next and not any(item.question in line for _, line in named)
    ]
    return {
        "same": [],
        "filled_gaps": filled,
        "same_gaps": [],
        "gaps": [_gap(item, trails[item]) for item in open_items][:MAX_GAPS],
        "completeness": sum(bool(trail.fact) for trail in trails.values()) / max(1, len(trails)),
        "suggested_queries": [f"Section {trail.next}" for trail in trails.values() if trail.next],
    }


def judged(said: str) -> dict[str, Any]:
    """What is open is looked for in the section that its gap names, else in the one that a finding names for its part."""
    found = blocks(said)
    known = [body for label, body in found.items() if label.startswith("findings")]
    notes = [("", body) for body in (found.get("gaps", ""), *known)]
    analysis = []
    for name, line in re.findall(r"^(G\d+)\b(.*)$", found.get("gaps", ""), re.M):
        trail = next((followed(item, notes) for item in items_of(line)), Trail())
        judgement = {"gap_id": name, "severity": "critical", "addressable": bool(trail.next)}
        analysis.append({**judgement, "follow_up_queries": [_search(trail.next)] if trail.next else []})
    named = {part for _, part in _ASKED.findall(found.get("gaps", ""))}
    report = sentences(found.get("report", ""))
    new = []
    for item in items_of(question_of(said)):
        is_told = any(item.part in line and item.said_by(line) for line in report)
        trail = followed(item, notes)
        if not is_told and item.part not in named and trail.next:
            gap = {"description": _missing(item, trail), "severity": "critical"}
            new.append({**gap, "follow_up_queries": [_search(trail.next)]})
    return {
        "gap_analysis": analysis,
        "new_gaps": new[:MAX_GAPS],
        "iteration_recommendation": {
            "should_iterate": any(each["follow_up_queries"] for each in analysis) or bool(new),
            "rationale": "Sections are still to be opened.",
            "priority_gaps": [each["gap_id"] for each in analysis if each["addressable"]],
        },
        "report_improvements": [],
    }


def _search(number: str) -> dict[str, str]:
    return {"query": f"Section {number}", "expected_contribution": "the default, or where it stands"}


def checked(said: str, verdicts: dict[str, Any]) -> dict[str, Any]:
    """The verdicts; a part of the question is answered by the claims that have its figure."""
    found = blocks(said)
    claims = dict(re.findall(r"^(C\d+) (.*)$", found.get("claims", ""), re.M))
    parts = []
    for name, text in re.findall(r"^(Q\d+) (.*)$", found.get("parts", ""), re.M):
        items = items_of(text)
        by = [claim for claim, line in claims.items() if any(item.said_by(line) for item in items)]
        answered = bool(by) and len(items) <= len(by)
        parts.append(
            {"part": name, "answered": answered, "claims": by, "open": "" if answered else "the default"}
        )
    return {**verdicts, "parts": parts}
