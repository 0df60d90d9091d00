"""What a scripted model does in one run: the findings that it reads out of the documents, the report that it writes of
them, and in a lying run the one place where it lies. The same number, kind and seed give the same run; its true twin
is the run without the lie."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from distortions import DISTORTIONS
from honest_wordings import PARAPHRASES, merged, named, stands_alone, worded, written_by_hand
from lie_folder import LOOKALIKES, Document, documents, may_carry
from lies import CHANGES, invented

SEED = 28
KINDS = (
    "finding against its quote",
    "sentence against its finding",
    "wrong source",
    "shifted labels",
    "moved decimal",
    "swapped name",
    "dropped not",
    "date shift",
    "invented sentence",
    *DISTORTIONS,
)
# Where a lie may be told: in the finding, which the report repeats as it is given; in the report's sentence; in both.
PLACES = {"finding against its quote": ("finding",), "sentence against its finding": ("report",)}
ANYWHERE = ("finding", "report", "both")
FEWEST, MOST = 6, 10  # findings of a run
MOST_ATTEMPTS = 1_000  # draws of a run in which a kind has its place
_CHANGES = {**CHANGES, **DISTORTIONS}


@dataclass(frozen=True)
class PlannedFinding:
    """``quote`` stands in the document letter by letter; ``content`` is in the wording that is named."""

    document: str
    quote: str
    content: str
    wording: str


@dataclass(frozen=True)
class PlannedSentence:
    """``cites`` are places among the findings. One that ``follows`` is written as its finding is given to the writer, one
    that is ``stubborn`` also where its finding was not given."""

    text: str
    document: str
    wording: str
    cites: tuple[int, ...] = ()
    follows: bool = False
    stubborn: bool = False


@dataclass(frozen=True)
class Section:
    """``style``: prose, list or table."""

    heading: str
    style: str
    sentences: tuple[PlannedSentence, ...]


@dataclass(frozen=True)
class Lie:
    """``text`` stands where ``truth`` would; for a false reference the two are one, and ``wrong`` is the document that is
    cited in place of ``document``."""

    kind: str
    place: str
    truth: str
    text: str
    document: str
    wrong: str = ""


@dataclass(frozen=True)
class Plan:
    name: str
    question: str
    documents: tuple[str, ...]
    findings: tuple[PlannedFinding, ...]
    sections: tuple[Section, ...]
    lies: tuple[Lie, ...] = field(default=())

    @property
    def sentences(self) -> tuple[PlannedSentence, ...]:
        return tuple(sentence for section in self.sections for sentence in section.sentences)


def lying_runs(count: int, seed: int = SEED) -> Iterator[tuple[Plan, Plan]]:
    """So many pairs of a lying run and its true twin, of all kinds in turn."""
    return (pair(number, seed) for number in range(count))


def pair(number: int, seed: int = SEED) -> tuple[Plan, Plan]:
    """The lying run of that number, and its twin. Where the kind is one of words that may be as true elsewhere, both have
    such a sentence."""
    kind = KINDS[number % len(KINDS)]
    for attempt in range(MOST_ATTEMPTS):
        draw = random.Random(f"{seed} {number} {attempt}")
        twin: Plan | None = true_plan(f"{number} {kind}", draw, written_by_hand(kind))
        if twin is not None and kind in PARAPHRASES:
            twin = with_paraphrase(twin, kind, draw)
        if twin is not None and (lying := with_lie(twin, kind, draw)):
            return lying, twin
    raise AssertionError(f"No lie of the kind '{kind}' can be told in run {number}.")


def true_plan(name: str, draw: random.Random, first: frozenset[str] = frozenset()) -> Plan:
    """A run in which everything is true, and which quotes before others the sentences that come ``first``."""
    chosen = _chosen(draw)
    findings = _findings(chosen, draw, first)
    about = [
        f"{d.subject[0].lower()}{d.subject[1:]}" if d.subject.startswith("The ") else d.subject
        for d in chosen
    ]
    asked = " and of ".join(about)
    question = draw.choice(
        (
            f"What is known of {asked}?",
            f"What do the documents tell of {asked}?",
            f"What are the main facts of {asked}?",
        )
    )
    sections = [_section(d, findings, draw) for d in chosen]
    summary = _summary(findings, draw)
    return Plan(name, question, tuple(d.name for d in chosen), tuple(findings), (summary, *sections))


def _chosen(draw: random.Random) -> list[Document]:
    """Two or three documents, more often than not with the one that is most like the first."""
    known = documents()
    first = draw.choice(sorted(known))
    near = LOOKALIKES[first] if draw.random() < 0.6 else draw.choice(sorted(known.keys() - {first}))
    names = [first, near]
    if draw.random() < 0.3:
        names.append(draw.choice(sorted(known.keys() - set(names))))
    return [known[name] for name in names]


def _findings(chosen: Sequence[Document], draw: random.Random, first: frozenset[str]) -> list[PlannedFinding]:
    """Six to ten, spread over the documents: half of them in the words of their quotes."""
    wanted = draw.randint(FEWEST, MOST)
    findings = []
    for at, document in enumerate(chosen):
        share = wanted // len(chosen) + (at < wanted % len(chosen))
        passages = _passages(document, draw)
        drawn = draw.sample(passages, len(passages))
        told = sorted(drawn, key=first.isdisjoint)[:share]
        findings += [_finding(quote, document, draw) for quote in told]
    return findings


def _passages(document: Document, draw: random.Random) -> list[tuple[str, ...]]:
    """Sentences to quote, some together with the next one; none of them twice."""
    passages: list[tuple[str, ...]] = []
    for paragraph in document.paragraphs:
        at = 0
        while at < len(paragraph):
            two = paragraph[at : at + 2]
            joined = len(two) == 2 and all(map(stands_alone, two)) and draw.random() < 0.3
            if joined and merged(named(two[0], document), named(two[1], document), document):
                passages.append(two)
                at += 2
                continue
            if stands_alone(paragraph[at]):
                passages.append((paragraph[at],))
            at += 1
    return passages


def _finding(quote: tuple[str, ...], document: Document, draw: random.Random) -> PlannedFinding:
    plain = [named(sentence, document) for sentence in quote]
    if len(quote) == 2:
        wording, content = "merged", merged(plain[0], plain[1], document)
    elif draw.random() < 0.5:
        wording, content = ("verbatim" if plain[0] == quote[0] else "subject"), plain[0]
    else:
        wording, content = worded(quote[0], document, draw)
    return PlannedFinding(document.name, " ".join(quote), content, wording)


def _section(document: Document, findings: Sequence[PlannedFinding], draw: random.Random) -> Section:
    """What is told of one document: each finding once."""
    style = draw.choices(("prose", "list", "table"), (7, 2, 1))[0]
    own = [at for at, finding in enumerate(findings) if finding.document == document.name]
    sentences, at = [], 0
    while at < len(own):
        first = _sentence(own[at], findings, document, draw)
        joined = ""
        if at + 1 < len(own) and draw.random() < 0.15:
            joined = merged(findings[own[at]].content, findings[own[at + 1]].content, document)
        if joined:
            sentences.append(PlannedSentence(joined, document.name, "two findings", (own[at], own[at + 1])))
        else:
            sentences.append(first)
        at += 2 if joined else 1
    return Section(document.subject, style, tuple(sentences))


def _sentence(
    at: int, findings: Sequence[PlannedFinding], document: Document, draw: random.Random
) -> PlannedSentence:
    """As the finding is told to the writer, or in honest words of its own."""
    finding = findings[at]
    if finding.wording == "merged" or draw.random() < 0.5:
        return PlannedSentence(finding.content, document.name, finding.wording, (at,), follows=True)
    wording, text = worded(finding.quote, document, draw)
    return PlannedSentence(text, document.name, wording, (at,))


def _summary(findings: Sequence[PlannedFinding], draw: random.Random) -> Section:
    """Two findings over again, in some runs without a reference."""
    told = draw.sample(range(len(findings)), 2)
    cited = draw.random() < 0.5
    return Section(
        "Summary",
        "prose",
        tuple(
            PlannedSentence(
                findings[at].content,
                findings[at].document,
                "summary" if cited else "summary without reference",
                (at,) if cited else (),
            )
            for at in sorted(told)
        ),
    )


def with_paraphrase(plan: Plan, kind: str, draw: random.Random) -> Plan | None:
    """The run with one true sentence in the construction of a kind of lie, None where it has no room for one."""
    place = draw.choice(ANYWHERE)
    plain = [s for s in _alone(plan) if s.wording in ("verbatim", "subject")]
    slots = [s for s in plain if s.follows or place == "report"]
    wordings = draw.sample(PARAPHRASES[kind], len(PARAPHRASES[kind]))
    for slot in draw.sample(slots, len(slots)):
        told = (paraphrase(slot.text, documents()[slot.document]) for paraphrase in wordings)
        if text := next(filter(None, told), ""):
            said = replace(slot, text=text, wording=true_wording(kind), follows=place == "finding")
            return _changed(plan, slot, said, place)
    return None


def true_wording(kind: str) -> str:
    return f"{kind}, true"


# Lies


def with_lie(twin: Plan, kind: str, draw: random.Random) -> Plan | None:
    """The run with one lie of a kind, None where it has no room for one."""
    if kind == "wrong source":
        return _with_wrong_source(twin, draw)
    if kind == "shifted labels":
        return _with_shifted_labels(twin, draw)
    if kind == "invented sentence":
        return _with_invented(twin, draw)
    place = draw.choice(PLACES.get(kind, ANYWHERE))
    slots = [s for s in _alone(twin) if s.follows or place == "report"]
    change = draw.choice(_CHANGES[kind])
    for slot in draw.sample(slots, len(slots)):
        if slot.wording == true_wording(kind):
            continue
        document = documents()[slot.document]
        text = change(slot.text, document, draw)
        if text and text != slot.text and text not in document.text:
            told = replace(slot, text=text, follows=place == "finding", stubborn=place != "finding")
            lie = Lie(kind, place, slot.text, text, slot.document)
            return replace(_changed(twin, slot, told, place), lies=(lie,))
    return None


def _changed(plan: Plan, slot: PlannedSentence, said: PlannedSentence, place: str) -> Plan:
    """The plan with a sentence in place of another one, and of its finding where the ``place`` has it."""
    findings = list(plan.findings)
    if place != "report":
        wording = said.wording if said.wording != slot.wording else findings[slot.cites[0]].wording
        findings[slot.cites[0]] = replace(findings[slot.cites[0]], content=said.text, wording=wording)
    return replace(_with(plan, {slot: (said,)}), findings=tuple(findings))


def _alone(plan: Plan) -> list[PlannedSentence]:
    """Sentences that rest on one finding, which no other sentence tells."""
    summary = {sentence.text for sentence in plan.sections[0].sentences}
    return [
        sentence
        for section in plan.sections[1:]
        for sentence in section.sentences
        if len(sentence.cites) == 1 and plan.findings[sentence.cites[0]].content not in summary
    ]


def _with_wrong_source(twin: Plan, draw: random.Random) -> Plan | None:
    """A true sentence that cites a finding of another document, which has no word of it."""
    slots = _alone(twin)
    for slot in draw.sample(slots, len(slots)):
        others = [at for at, f in enumerate(twin.findings) if _is_wrong(slot, f.document)]
        if others:
            at = draw.choice(others)
            told = replace(slot, cites=(at,), follows=False, stubborn=True)
            lie = Lie(
                "wrong source", "report", slot.text, slot.text, slot.document, twin.findings[at].document
            )
            return replace(_with(twin, {slot: (told,)}), lies=(lie,))
    return None


def _with_shifted_labels(twin: Plan, draw: random.Random) -> Plan | None:
    """Each reference is that of the next sentence, or of any other. Those that stay within their document are no lies."""
    cited = [sentence for section in twin.sections[1:] for sentence in section.sentences]
    order = [at for sentence in cited for at in sentence.cites]
    moved = [*order[1:], order[0]] if draw.random() < 0.5 else draw.sample(order, len(order))
    other = dict(zip(order, moved, strict=True))
    change, lies = {}, []
    for sentence in twin.sentences:
        cites = tuple(other[at] for at in sentence.cites)
        change[sentence] = (replace(sentence, cites=cites, follows=False, stubborn=True),)
        wrong = [twin.findings[at].document for at in cites]
        if wrong and all(_is_wrong(sentence, document) for document in wrong):
            lies.append(
                Lie("shifted labels", "report", sentence.text, sentence.text, sentence.document, wrong[0])
            )
    return replace(_with(twin, change), lies=tuple(lies)) if lies else None


def _with_invented(twin: Plan, draw: random.Random) -> Plan | None:
    """One sentence more, without a reference."""
    prose = [section for section in twin.sections[1:] if section.style == "prose" and section.sentences]
    if not prose:
        return None
    after = draw.choice(draw.choice(prose).sentences)
    text = invented("", documents()[after.document], draw)
    more = PlannedSentence(text, after.document, "invented", stubborn=True)
    lie = Lie("invented sentence", "report", "", text, after.document)
    return replace(_with(twin, {after: (after, more)}), lies=(lie,))


def _is_wrong(sentence: PlannedSentence, document: str) -> bool:
    return document != sentence.document and not may_carry(documents()[document], sentence.text)


def _with(plan: Plan, change: dict[PlannedSentence, tuple[PlannedSentence, ...]]) -> Plan:
    """The plan with other sentences in place of some."""
    sections = tuple(
        replace(section, sentences=tuple(new for one in section.sentences for new in change.get(one, (one,))))
        for section in plan.sections
    )
    return replace(plan, sections=sections)
