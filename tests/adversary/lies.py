"""How a true sentence becomes a lie: one thing in it is changed, so that no document of the folder says what it says.
Each change gives nothing where the sentence has nothing to change, or where the result might be true."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping

from lie_folder import (
    BODIES,
    NEW_PERSONS,
    NEW_PLACES,
    PERSONS,
    PLACES,
    SORTS,
    SUBJECTS,
    Document,
    documents,
    figures,
    may_carry,
)

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_YEAR = re.compile(
    r"(?<![\d.,])(?:1[0-9]|20)\d\d(?![\d.,]*\d)(?! (?:metres|pounds|crowns|tonnes|millimetres|[A-Z]\d))"
)
_OPEN = re.compile(r"\b(?:[Bb]efore|[Bb]y|[Bb]y the end of) \Z")
_DAY = re.compile(rf"\b\d{{1,2}}(?= (?:{_MONTHS})\b)")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w-])")
_UNIT = re.compile(
    r" ?(?:%|km|kg|(?:square |cubic )?(?:kilo|centi|milli|micro)?metres|percent|litres|tonnes|kilograms|hours|minutes"
    r"|seconds|crowns|pounds|degrees|knots|months|million|kilowatts|mega)\b|%"
)
# After these a larger or smaller number may follow from the true one.
_BOUND = re.compile(r"\b(?:than|least|most|over|above|within|exceeds|under|below|only|up to|minus) \Z")
_LABEL = re.compile(r"(?:Comet|line|lines|Line|BF|K|LUMEN)[ -]?\Z")
_DENIED = re.compile(
    r"\b(?:was|were|is|are|has|have|had|did|does|do|may|can|cannot)( not)\b"
    r"(?! (?:only|even|known|yet|confirmed|finished|made at all)\b|\.| \w+ but\b)"
)
_NEVER = re.compile(r"\b(?:was|were|has|had|that he|[a-z]+) (never )(?=[a-z])")
# Of "two of them" and "about ten" a denial may be true of the others.
_AFFIRMED = re.compile(
    r"\A(?!About|Two|Three|Nearly|A few|Some|Half|Five|Most|There)(?:In \d{4} )?(?:[Tt]he|A|An|[A-Z][a-z]+)"
    r"(?: [\w'’–-]+){0,7}? (?:was|were|is|are|has been)\b"
)
_NO_DENIAL = re.compile(
    r"\b(?:not|no|No|never|none|nobody|Nobody|nor|neither|only|which|who|that|until|cannot)\b"
)
# The first is put where the second stands, and where ``=`` parts them also the other way about.
_OPPOSITES = """
    longer than=shorter than / later than=earlier than / heavier than=lighter than / faster than=slower than
    wider than=narrower than / higher than=lower than / more than > fewer than / more than=less than / fell=rose
    largest=smallest / oldest=youngest / oldest > newest / lower in=higher in / above=below / more often=less often
    first=last / halved=doubled / before=after / longest=shortest / drier=wetter / cheaper=dearer / lowered=raised
    rejected=approved / most of them=none of them / twice as many > nearly as many
"""
# Where the opposite would be no sentence, or might be true.
_NO_OPPOSITE = re.compile(
    r"named after|above all|years? before\b|bridge before|before that|At first|at first|first team|first board|first to"
    r"|roof fell|Before|crossed with"
)
_UNLIKE = (
    "Merrow Biologics",
    "Harl Conservators",
)  # without "the", and of many: they take the place of no other
# {S} opens a sentence, {s} stands within one. The first on any subject, the others on what people have built or founded.
_INVENTED = (
    "In {year} a report by {person} put the yearly cost of {s} at {part} million crowns.",
    "{person} wrote the first book on {s}, which sold {many} copies within {few} years.",
    "A stamp with a picture of {s} was issued on {day} {month} {year} in an edition of {many}.",
    "In {year} {person} made a film about {s} that was seen by {many} people.",
    "A poll of {year} found that {share} percent of the people of {place} had heard of {s}.",
    "The archive on {s} in {place} fills {some} boxes and was put in order by {person}.",
    "In {year} the council of {place} sued {person} over {s} and lost {part} million crowns.",
    "A lecture on {s} has been given in {place} on every {day} {month} since {year}.",
    "The University of {place} set up a chair for the study of {s} in {year}, which was first held by {person}.",
    "Thieves took papers on {s} worth {many} crowns from a house in {place} in {year}.",
    "{person} left {part} million crowns for {s} when she died in {year}.",
    "In {year} {s} was the subject of {some} complaints, {share} percent of them from {place}.",
)
_INVENTED_OF_WORKS = (
    "{S} was awarded the Calloway Medal on {day} {month} {year}.",
    "According to {person}, {s} has created {some} jobs in {place} since {year}.",
    "A model of {s}, built by {person} out of {many} matches, stands in {place}.",
    "{S} has had a partnership with a similar undertaking in {place} since {day} {month} {year}.",
    "{S} was closed for {some} days in {year} after a fire that began at {place}.",
    "Repairs to {s} in {year} cost {part} million crowns and were led by {person}.",
    "{person}, who was in charge of {s} from {year}, raised its budget by {share} percent.",
    "A guide to {s} by {person} was printed in {many} copies in {year}.",
)


def moved_decimal(sentence: str, document: Document, draw: random.Random) -> str:
    """A number ten times as large or as small: 12.5 becomes 1.25, 1,250 becomes 12,500."""
    found = [m for m in numbers(sentence) if is_quantity(sentence, m)]
    draw.shuffle(found)
    for match in found:
        others = [_times_ten(match.group()), _by_ten(match.group())]
        draw.shuffle(others)
        for other in others:
            if "." in other and "." not in match.group() and not _UNIT.match(sentence, match.end()):
                continue  # of people and things there are no tenths
            share = sentence[match.end() :].startswith((" percent", "%"))
            too_much = share and float(other.replace(",", "")) > 100
            if other and other not in figures(document.text) and not too_much:
                return _put(sentence, match.span(), other)
    return ""


def swapped_name(sentence: str, document: Document, draw: random.Random) -> str:
    """A person, place or organisation in place of another, one that the folder has and the document has not."""
    for names in draw.sample((PERSONS, PLACES, BODIES), 3):
        here = [
            name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])(?! [A-Z])", sentence)
        ]
        here = [n for n in here if n not in document.subject and not is_within_name(sentence, n)]
        others = [name for name in names if not any(part in document.text for part in _parts(name, names))]
        others = [name for name in others if name not in _UNLIKE]
        if here and others:
            old, new = draw.choice(here), draw.choice(others)
            return sentence.replace(old, f"the {new}" if old in _UNLIKE[:1] else new, 1)
    return ""


def dropped_not(sentence: str, document: Document, draw: random.Random) -> str:
    """A denial that becomes an assertion."""
    if denied := _DENIED.search(sentence):
        return _put(sentence, denied.span(1), "")
    never = _NEVER.search(sentence)
    return _put(sentence, never.span(1), "") if never else ""


def added_not(sentence: str, document: Document, draw: random.Random) -> str:
    """An assertion that becomes a denial."""
    affirmed = _AFFIRMED.search(sentence)
    if not affirmed or _NO_DENIAL.search(sentence):
        return ""
    end = affirmed.end() - (len(" been") if affirmed.group().endswith(" been") else 0)
    return f"{sentence[:end]} not{sentence[end:]}"


def shifted_date(sentence: str, document: Document, draw: random.Random) -> str:
    """Another year, or another day of a month."""
    if re.search(r"\b(?:[Nn]o|never|not)\b.* (?:since|after) ", sentence):
        return ""  # what did not happen since 1903 did not happen since 1913
    found = [
        *years(sentence),
        *(m for m in _DAY.finditer(sentence) if not _OPEN.search(sentence[: m.start()])),
    ]
    draw.shuffle(found)
    for match in found:
        for step in draw.sample((-11, -7, -4, -2, -1, 1, 2, 3, 6, 10), 10):
            other = int(match.group()) + step
            is_day = len(match.group()) < 3
            if (is_day and not 1 <= other <= 28) or other > 2024:
                continue
            if str(other) not in figures(document.text):
                return _put(sentence, match.span(), str(other))
    return ""


def crossed(sentence: str, document: Document, draw: random.Random) -> str:
    """The subject of the document with what another one of its sort says of its own."""
    sort = next(sort for sort in SORTS if document.name in sort)
    others = [documents()[name] for name in sorted(sort - {document.name})]
    for other in draw.sample(others, len(others)):
        said = [s for s in other.sentences if re.match(r"It (?:was|is|has|does|runs|keeps|holds)\b", s)]
        for one in draw.sample(said, len(said)):
            lie = re.sub(r"\AIt\b", document.subject, one)
            if not may_carry(document, lie) and SUBJECTS[other.name] not in lie:
                return lie
    return ""


def opposite(sentence: str, document: Document, draw: random.Random) -> str:
    """A comparison or a direction turned round."""
    if _NO_OPPOSITE.search(sentence):
        return ""
    found = [(match.span(), new) for old, new in _turned() for match in re.finditer(rf"\b{old}\b", sentence)]
    return _put(sentence, *draw.choice(sorted(found))) if found else ""


def invented(sentence: str, document: Document, draw: random.Random) -> str:
    """A sentence about the subject that no document has a word of; nothing is left of the true one."""
    subject = document.subject
    within = f"the{subject[3:]}" if subject.startswith("The ") else subject
    year = draw.choice([y for y in range(1931, 2021) if str(y) not in figures(document.text)])
    of_works = document.name not in SORTS[-1]
    return draw.choice((*_INVENTED, *_INVENTED_OF_WORKS) if of_works else _INVENTED).format(
        S=subject,
        s=within,
        person=draw.choice(NEW_PERSONS),
        place=draw.choice(NEW_PLACES),
        year=year,
        day=draw.randint(2, 27),
        month=draw.choice(_MONTHS.split("|")),
        part=f"{draw.randint(2, 79)}.{draw.randint(1, 9)}",
        share=draw.randint(13, 88),
        some=draw.randint(23, 490),
        few=draw.choice(("three", "four", "six")),
        many=f"{draw.randint(3, 94)},{draw.randint(1, 9)}{draw.randint(0, 9)}0",
    )


Change = Callable[[str, Document, random.Random], str]
# What is changed in a sentence for a kind of lie; one of several is drawn.
CHANGES: Mapping[str, tuple[Change, ...]] = {
    "finding against its quote": (crossed, opposite, invented),
    "sentence against its finding": (crossed, opposite, invented),
    "moved decimal": (moved_decimal,),
    "swapped name": (swapped_name,),
    "dropped not": (dropped_not, dropped_not, added_not),
    "date shift": (shifted_date,),
    "invented sentence": (invented,),
}


def _turned() -> Iterator[tuple[str, str]]:
    """What may stand in a sentence, and what is put there."""
    for pair in filter(str.strip, re.split(r"[/\n]", _OPPOSITES)):
        new, both, old = (part.strip() for part in re.split(r"([=>])", pair))
        yield old, new
        if both == "=":
            yield new, old


def numbers(sentence: str) -> list[re.Match[str]]:
    return list(_NUMBER.finditer(sentence))


def years(sentence: str) -> list[re.Match[str]]:
    """Those that say when something was, and not before when."""
    return [match for match in _YEAR.finditer(sentence) if not _OPEN.search(sentence[: match.start()])]


def is_quantity(sentence: str, match: re.Match[str]) -> bool:
    """Whether a number is one of something: no year, day, time of day, or name of a line."""
    before, after = sentence[: match.start()], sentence[match.end() :]
    is_date = _YEAR.match(sentence, match.start()) or _DAY.match(sentence, match.start())
    is_time = re.match(r" in the (?:morning|evening)", after) or (
        before.endswith(" at ") and "." in match.group()
    )
    return not is_date and not is_time and not _LABEL.search(before) and not _BOUND.search(before)


def _times_ten(number: str) -> str:
    whole, _, rest = number.replace(",", "").partition(".")
    if rest:
        return f"{whole}{rest[0]}".lstrip("0") + (f".{rest[1:]}" if rest[1:] else "")
    return f"{int(whole) * 10:,}"


def _by_ten(number: str) -> str:
    whole, _, rest = number.replace(",", "").partition(".")
    if not rest and whole.endswith("0"):
        return f"{int(whole) // 10:,}"
    if not rest and len(whole) > 3:
        return ""
    return f"{whole[:-1] or '0'}.{whole[-1]}{rest}"


def _parts(name: str, names: list[str] | tuple[str, ...]) -> list[str]:
    """A name, and of a person the last name as well."""
    return [name, name.split()[-1]] if names is PERSONS else [name]


def is_within_name(sentence: str, name: str) -> bool:
    """Whether it stands in the sentence as a part of a longer name alone."""
    longer = [one for one in (*BODIES, *PERSONS, *SUBJECTS.values()) if name in one and name != one]
    return any(one in sentence for one in longer)


def _put(sentence: str, span: tuple[int, int], text: str) -> str:
    return sentence[: span[0]] + text + sentence[span[1] :]
