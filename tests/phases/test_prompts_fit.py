"""Prompts of random content for random rooms: never too large, hardly ever too small, promises kept, and what is told of
them is what was sent."""

import re
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prompt_reading import blocks

from deep_research.budget.content_budget import ContentRules
from deep_research.budget.tokens import Counter
from deep_research.phases.analysis.handoff import AnalyzerInput, SourceText
from deep_research.phases.analysis.llm import _message as analyzer_message
from deep_research.phases.prompting import Room
from deep_research.phases.refinement.handoff import REPORT, RefinerInput
from deep_research.phases.refinement.llm import _message as refiner_message
from deep_research.phases.synthesis.handoff import SynthesizerInput
from deep_research.phases.synthesis.writer_material import with_material
from deep_research.phases.synthesis.writer_material import writer_material as findings_given
from deep_research.state import ConfidenceLevel, DeepResearchPhase, Finding, Gap

QUESTION = "What did the towers on the reef cost, and who kept them?"
NOUNS = (
    "harbour",
    "light",
    "keeper",
    "stone",
    "tower",
    "sea",
    "reef",
    "bell",
    "cost",
    "lamp",
    "oil",
    "storm",
)


class Words:
    """An encoding as real ones are: a token for each short word, figure and mark, more for long ones."""

    def encode_ordinary(self, text):
        return re.findall(r"\w{1,6}|[^\w\s]", text)


COUNTER = Counter(Words(), "words")
COUNT = COUNTER.expected


def prose(chance, sentences):
    """Sentences no two of which are alike."""
    made = []
    for n in range(sentences):
        words = [chance.choice(NOUNS) for _ in range(chance.randint(5, 20))]
        made.append(f"The {' '.join(words)} of {1000 + n} was {chance.randrange(10_000)} and {n}.")
    return " ".join(made)


def fields(phase, chance):
    return {
        "research_id": "r",
        "original_query": QUESTION,
        "current_phase": phase,
        "iteration": 1,
        "system_prompt": chance.choice([None, "Write for keepers. " * chance.randint(1, 60)]),
        "guidance": tuple(f"Look at figures {n}." for n in range(chance.randint(0, 5))),
        "protected": ("kept.example",),
    }


def room_of(chance, least, most):
    return Room(chance.randint(least, most), COUNTER, ContentRules(allow_dropping=chance.random() < 0.5))


def check_the_analyzer(chance):
    sources = tuple(
        SourceText(
            id=f"src-{n:012x}",
            title=f"Page {n}",
            url=f"https://{chance.choice(['kept', 'other'])}.example/{n}",
            content=prose(chance, chance.randint(1, 60)),
            relevance=chance.random(),
        )
        for n in range(chance.randint(1, 10))
    )
    handoff = AnalyzerInput(
        **fields(DeepResearchPhase.ANALYSIS, chance),
        source_count=len(sources),
        high_quality_sources=0,
        sources=sources,
    )
    room = room_of(chance, 2_000, 9_000)
    message = analyzer_message(handoff, room)
    assert message.size <= room.tokens
    shown = {label: body for label, body in blocks(str(message)).items() if label.startswith("source ")}
    for n, (source, item) in enumerate(zip(sources, message.sent, strict=True), 1):
        assert item.id == source.id
        assert item.original_tokens == COUNT(source.content)
        text = shown.get(f"source S{n}", "").partition("\n\n")[2]
        assert abs(COUNT(text) - item.current_tokens) <= max(1, 0.01 * item.current_tokens)
    whole = sum(item.original_tokens for item in message.sent)
    used = sum(item.current_tokens for item in message.sent)
    if whole > message.available:
        assert used >= 0.9 * message.available
    else:
        assert used == whole
    kept = {s.id for s in sources if s.url.startswith("https://kept")}
    floors = sum(-(-i.original_tokens // 9) for i in message.sent if i.id in kept)
    if floors <= message.available:
        assert all(
            10 * i.current_tokens >= i.original_tokens or i.current_tokens >= 20
            for i in message.sent
            if i.id in kept
        )


def finding(n, chance):
    return Finding(
        id=f"find-{n:012x}",
        content=prose(chance, chance.randint(1, 4)),
        confidence=chance.choice(list(ConfidenceLevel)),
        source_ids=("src-a",),
        relevance=chance.random(),
        iteration=1,
    )


def gaps_of(chance):
    return tuple(
        Gap(id=f"gap-{n:012x}", description=prose(chance, 1), priority=chance.randint(1, 5), iteration=1)
        for n in range(chance.randint(0, 30))
    )


def check_the_synthesizer(chance):
    findings = tuple(finding(n, chance) for n in range(chance.randint(1, 80)))
    handoff = SynthesizerInput(
        **fields(DeepResearchPhase.SYNTHESIS, chance),
        max_iterations=1,
        finding_count=len(findings),
        gap_count=0,
        has_research_brief=False,
        findings=findings,
        gaps=gaps_of(chance),
    )
    room = room_of(chance, 2_500, 12_000)
    material = findings_given(handoff, room)
    message = with_material(handoff, material)
    assert message.size <= room.tokens
    whole = sum(item.original_tokens for item in material.items)
    used = sum(item.current_tokens for item in material.items)
    if whole > material.available:
        assert used >= 0.9 * material.available
    else:
        assert used == whole
    for item in material.items:
        assert COUNT(material.texts[item.id]) == item.current_tokens
    confirmed = {f.id for f in findings if f.confidence is ConfidenceLevel.CONFIRMED}
    assert all(item.current_tokens for item in material.items if item.id in confirmed)


def check_the_refiner(chance):
    report = f"# Report\n\n{prose(chance, chance.randint(5, 200))}"
    handoff = RefinerInput(
        **fields(DeepResearchPhase.REFINEMENT, chance),
        gaps=gaps_of(chance),
        max_iterations=3,
        remaining_iterations=2,
        has_report_draft=True,
        report=report,
        earlier_queries=tuple(f"search number {n}" for n in range(chance.randint(0, 40))),
    )
    room = room_of(chance, 2_500, 9_000)
    message = refiner_message(handoff, room)
    assert message.size <= room.tokens
    sent = {item.id: item for item in message.sent}
    assert COUNT(blocks(str(message))["report"]) == pytest.approx(
        sent[REPORT].current_tokens, rel=0.01, abs=2
    )


CHECKS = (check_the_analyzer, check_the_synthesizer, check_the_refiner)
LENIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


@pytest.mark.parametrize("check", CHECKS)
@given(st.integers(0, 2**32))
@settings(max_examples=100, **LENIENT)
def test_a_prompt_fits_its_room_and_uses_it(check, seed):
    check(Random(seed))


@pytest.mark.sweep
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("check", CHECKS)
@given(st.integers(0, 2**32))
@settings(max_examples=2_000, **LENIENT)
def test_two_thousand_prompts_fit_their_rooms(check, seed):
    check(Random(seed))
