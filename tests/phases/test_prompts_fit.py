"""Prompts of random content for random rooms: never too large, hardly ever too small, promises kept, and what is told of
them is what was sent."""

import re
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phases.builders import finding, handoff
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
from deep_research.state import ConfidenceLevel, Gap

LEVELS = [*ConfidenceLevel]
NOUNS = [
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
]


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


def handed(kind, chance, **more):
    """A handoff with instructions of some length."""
    return handoff(
        kind,
        original_query="What did the towers on the reef cost, and who kept them?",
        system_prompt=chance.choice([None, "Write for keepers. " * chance.randint(1, 60)]),
        guidance=tuple(f"Look at figures {n}." for n in range(chance.randint(0, 5))),
        protected_sources=("kept.example",),
        **more,
    )


def room_of(chance, least, most):
    return Room(chance.randint(least, most), COUNTER, ContentRules(allow_dropping=chance.random() < 0.5))


def is_used(sent, available):
    """What is sent is all there is, or hardly less than there is room for."""
    whole, used = (sum(getattr(item, f"{name}_tokens") for item in sent) for name in ("original", "current"))
    return used >= 0.9 * available if whole > available else used == whole


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
    room = room_of(chance, 2_000, 9_000)
    message = analyzer_message(handed(AnalyzerInput, chance, sources=sources), room)
    assert message.size <= room.tokens
    assert is_used(message.sent, message.available)
    shown = blocks(str(message))
    for n, (source, item) in enumerate(zip(sources, message.sent, strict=True), 1):
        assert (item.id, item.original_tokens) == (source.id, COUNT(source.content))
        text = shown.get(f"source S{n}", "").partition("\n\n")[2]
        assert abs(COUNT(text) - item.current_tokens) <= max(1, 0.01 * item.current_tokens)
    kept = {s.id for s in sources if s.url.startswith("https://kept")}
    floors = sum(-(-i.original_tokens // 9) for i in message.sent if i.id in kept)
    for i in message.sent if floors <= message.available else ():
        assert i.id not in kept or 10 * i.current_tokens >= i.original_tokens or i.current_tokens >= 20


def gaps_of(chance):
    count = chance.randint(0, 30)
    return tuple(
        Gap(id=f"gap-{n:012x}", description=prose(chance, 1), priority=chance.randint(1, 5))
        for n in range(count)
    )


def check_the_synthesizer(chance):
    findings = tuple(
        finding(
            n,
            prose(chance, chance.randint(1, 4)),
            confidence=chance.choice(LEVELS),
            relevance=chance.random(),
        )
        for n in range(chance.randint(1, 80))
    )
    given_ = handed(SynthesizerInput, chance, max_iterations=1, findings=findings, gaps=gaps_of(chance))
    room = room_of(chance, 2_500, 12_000)
    material = findings_given(given_, room)
    assert with_material(given_, material).size <= room.tokens
    assert is_used(material.items, material.available)
    assert all(COUNT(material.texts[item.id]) == item.current_tokens for item in material.items)
    confirmed = {f.id for f in findings if f.confidence is ConfidenceLevel.CONFIRMED}
    assert all(item.current_tokens for item in material.items if item.id in confirmed)


def check_the_refiner(chance):
    report = f"# Report\n\n{prose(chance, chance.randint(5, 200))}"
    asked = tuple(f"search number {n}" for n in range(chance.randint(0, 40)))
    room = room_of(chance, 2_500, 9_000)
    message = refiner_message(
        handed(RefinerInput, chance, gaps=gaps_of(chance), report=report, earlier_queries=asked), room
    )
    assert message.size <= room.tokens
    (sent,) = [item.current_tokens for item in message.sent if item.id == REPORT]
    assert COUNT(blocks(str(message))["report"]) == pytest.approx(sent, rel=0.01, abs=2)


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


def test_of_more_findings_than_there_is_room_to_name_those_that_matter_most_are_given():
    chance = Random(1)
    findings = tuple(finding(n, prose(chance, 1), relevance=n / 1_000) for n in range(1_000))
    material = findings_given(
        handed(SynthesizerInput, chance, max_iterations=1, findings=findings), room_of(chance, 12_000, 12_000)
    )
    given_ids = {each.id for each in material.findings}
    assert 20 < len(given_ids) < 1_000
    assert findings[-1].id in given_ids
    assert findings[0].id not in given_ids
    assert len(material.items) == 1_000
