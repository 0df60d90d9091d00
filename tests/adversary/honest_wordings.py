"""What a true sentence may become in an honest report: the same said in other words, or less of it. Each wording is a
function of the sentence and of what its document is about, and gives nothing where it would not be right."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lie_folder import Document, documents
from lies import dropped_not

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_OPENERS = frozenset(
    [
        "The",
        "A",
        "An",
        "In",
        "On",
        "About",
        "Two",
        "Three",
        "Each",
        "Half",
        "Most",
        "Nearly",
        "More",
        "All",
        "For",
        "During",
        "Before",
        "Some",
        "Children",
        "Visitors",
        "Women",
    ]
)
# What joins a second clause, or ties a time to one of several things: such sentences keep their order.
JOINED = re.compile(r"\b(?:and|but|when|while|after|before|since|because|who|which|that|until|than|or|if)\b")
_PARTS = re.compile(rf"[,;:]|{JOINED.pattern}")
_ACTIVE = "designed|founded|opened|built|directed|established|started|edited|developed|isolated|led"
_NOT_A_MAKER = re.compile(r"\b(?:between|after|from|to|with|for|because)\b")
# Openings that lean on what was said before, so that the sentence does not stand by itself.
_LEANS = re.compile(
    r"(?:She|He|They|His|Her|Its|Their|Both|Before that|Since then|Of these|Each of them|Most of them|All \d+ people"
    r"|In that|In its|On her|Since \d{4} it"
    r"|At first|The other half|Half of|Neither|The change|The count|The inquiry|The second|The car did|The older|"
    r"The boy|The whole|The reversal|The discovery|The library had|The jury|The wing|The heron|The inspector)\b"
    r"|[^.]*\b(?:that|this|these|those) (?:year|day|time|outbreak|trial|coast|purpose)\b"
)
TABLES: dict[str, Any] = tomllib.loads((Path(__file__).parent / "by_hand.toml").read_text(encoding="utf-8"))
_BY_HAND: dict[str, str] = TABLES["sentences"]  # by the sentence, as its document has it


def stands_alone(sentence: str) -> bool:
    """Whether it can be understood without the sentences before it."""
    return not _LEANS.match(sentence) and 6 <= len(sentence.split()) <= 34


def named(sentence: str, document: Document) -> str:
    """With the subject of the document in place of "It"."""
    return re.sub(r"\AIt\b", document.subject, sentence)


def lowered(sentence: str) -> str:
    """As it stands within another sentence; nothing where its first word may be a name."""
    return f"{sentence[0].lower()}{sentence[1:]}" if sentence.split()[0] in _OPENERS else ""


def clause(sentence: str, document: Document) -> str:
    """As it stands after "that"; nothing where its first word may be another name than that of its subject."""
    return sentence and (lowered(sentence) or (sentence if sentence.startswith(document.subject) else ""))


def by_hand(part: str, kind: str) -> dict[str, str]:
    """What was written by hand for sentences of the folder, by the sentence, also with its subject for "It"."""
    table: dict[str, str] = TABLES[part][kind]
    return {
        form: table[sentence]
        for document in documents().values()
        for sentence in document.sentences
        if sentence in table
        for form in (sentence, named(sentence, document))
    }


def written_by_hand(kind: str) -> frozenset[str]:
    """The sentences for which there are lies or paraphrases of a kind."""
    return frozenset(key for part in ("lies", "paraphrases") for key in TABLES[part].get(kind, ()))


def according(sentence: str, document: Document) -> str:
    inner = lowered(sentence)
    about = (
        f"{document.subject[0].lower()}{document.subject[1:]}" if _has_article(document) else document.subject
    )
    leads_in = sentence.startswith(("In ", "On ", "During ", "For ", document.subject))
    return f"According to the text on {about}, {inner}" if inner and not leads_in else ""


def reported(sentence: str, document: Document) -> str:
    inner = lowered(sentence)
    leads_in = sentence.startswith("According")
    return f"The documents say that {inner}" if inner and not leads_in else ""


def added(sentence: str, document: Document) -> str:
    inner = lowered(sentence)
    return f"In addition, {inner}" if inner and not sentence.startswith(("In ", "On ")) else ""


def time_last(sentence: str, document: Document) -> str:
    """ "In 1903 the horses were sold." becomes "The horses were sold in 1903."""
    match = re.fullmatch(r"In (\d{4}) ([^,;:()]+)\.", sentence)
    if not match or JOINED.search(match[2]) or re.search(r"\bto [a-z]", match[2]):
        return ""
    return f"{match[2][0].upper()}{match[2][1:]} in {match[1]}."


def time_first(sentence: str, document: Document) -> str:
    """ "The line was opened in 1920." becomes "In 1920 the line was opened."""
    match = re.fullmatch(
        rf"((?:The|A|An) [^,;:()]+) (in \d{{4}}|on \d{{1,2}} (?:{_MONTHS}) \d{{4}})\.", sentence
    )
    if not match or JOINED.search(match[1]) or re.search(r"\b(?:in|on) \d", match[1]):
        return ""
    return f"{match[2][0].upper()}{match[2][1:]} {match[1][0].lower()}{match[1][1:]}."


def active(sentence: str, document: Document) -> str:
    """ "The bridge was designed by Ann Lee in 1920." becomes "Ann Lee designed the bridge in 1920."""
    match = re.fullmatch(
        rf"((?:The|A|An) [^,;:()]{{3,60}}?) was ({_ACTIVE}) by ([^,;:()]+?)((?: in| on) [^,;:()]*\d{{4}})?\.",
        sentence,
    )
    if not match or JOINED.search(f"{match[1]} {match[3]}") or _NOT_A_MAKER.search(match[3]):
        return ""
    done = f"{match[1][0].lower()}{match[1][1:]}"
    return f"{match[3][0].upper()}{match[3][1:]} {match[2]} {done}{match[4] or ''}."


def passive(sentence: str, document: Document) -> str:
    """ "The city bought the line in 1920." becomes "The line was bought by the city in 1920."; for a few verbs alone."""
    match = re.fullmatch(
        r"(In \d{4} )?([Tt]he [\w ]{3,40}?) (bought|lent|held|cut|added) ((?:an?|the) [a-z]+)( [^,;:()]+)?\.",
        sentence,
    )
    if (
        not match
        or JOINED.search(sentence)
        or not re.match(r"(?: (?:for|in|by|with|from) .*)?\Z", match[5] or "")
    ):
        return ""
    when, done = match[1] or "", match[4] if match[1] else f"{match[4][0].upper()}{match[4][1:]}"
    return f"{when}{done} was {match[3]} by {match[2][0].lower()}{match[2][1:]}{match[5] or ''}."


def unbracketed(sentence: str, document: Document) -> str:
    shorter = re.sub(r" \([^()]*\)", "", sentence)
    return shorter if shorter != sentence else ""


def shortened(sentence: str, document: Document) -> str:
    """Without a last clause that only adds to it."""
    match = re.fullmatch(
        r"([^;:]+), (?:which|who|whose|where|of which|of whom|because|although|since|so|but|against|while|when)"
        r" [^,;:]+\.",
        sentence,
    )
    return f"{match[1]}." if match and len(match[1].split()) >= 6 else ""


def abbreviated(sentence: str, document: Document) -> str:
    """Units as signs."""
    shorter = re.sub(r"(?<=\d) percent\b", "%", sentence)
    shorter = re.sub(r"(?<=\d) kilometres\b", " km", shorter)
    shorter = re.sub(r"(?<=\d) kilograms\b", " kg", shorter)
    return shorter if shorter != sentence else ""


WORDINGS: dict[str, Callable[[str, Document], str]] = {
    wording.__name__.replace("_", " "): wording
    for wording in (
        according,
        reported,
        added,
        time_last,
        time_first,
        active,
        passive,
        unbracketed,
        shortened,
        abbreviated,
    )
}
# What changes more than the opening is tried first, so that it is not drowned by what suits every sentence.
_RAREST = ("active", "passive")
_RARE = (*_RAREST, "time last", "time first", "unbracketed", "shortened", "abbreviated")


def worded(sentence: str, document: Document, draw: random.Random) -> tuple[str, str]:
    """The name of an honest wording, and the sentence in it; "verbatim" where none fits. "It" is the subject in all."""
    if sentence in _BY_HAND and draw.random() < 0.6:
        return "by hand", _BY_HAND[sentence]
    plain = named(sentence, document)
    rare = [name for name in _RARE if WORDINGS[name](plain, document)]
    common = [name for name in WORDINGS if name not in _RARE and WORDINGS[name](plain, document)]
    if rare and draw.random() < 0.7:
        name = next((one for one in rare if one in _RAREST), draw.choice(rare))
    elif common:
        name = draw.choice(common)
    else:
        return ("subject" if plain != sentence else "verbatim"), plain
    return name, WORDINGS[name](plain, document)


def merged(first: str, second: str, document: Document) -> str:
    """Two sentences in one; nothing where they do not go together."""
    about = first.startswith(document.subject) and second.startswith(f"{document.subject} ")
    inner = f"it{second.removeprefix(document.subject)}" if about else lowered(second)
    short = len(first.split()) + len(second.split()) <= 36
    leads_in = second.startswith(("In ", "On ", "According"))
    if (
        not inner
        or not short
        or leads_in
        or first.startswith("According")
        or JOINED.search(f"{first} {second}")
    ):
        return ""
    return f"{first.rstrip('.')}, and {inner}"


def _has_article(document: Document) -> bool:
    return document.subject.startswith("The ")


# The constructions of the lies in `distortions`, where they are true


def affirmed(sentence: str, document: Document) -> str:
    inner = clause(sentence, document)
    return f"It is true that {inner}" if inner else ""


def denied_twice(sentence: str, document: Document) -> str:
    """ "The canal was not filled in." becomes "It is not true that the canal was filled in."""
    inner = clause(dropped_not(sentence, document, random.Random(0)), document)
    return f"It is not true that {inner}" if inner and not _PARTS.search(sentence) else ""


def _of_hand(kind: str) -> Callable[[str, Document], str]:
    table = by_hand("paraphrases", kind)
    return lambda sentence, document: table.get(sentence, "")


PARAPHRASES: dict[str, tuple[Callable[[str, Document], str], ...]] = {
    kind: (_of_hand(kind),) for kind in TABLES["paraphrases"]
}
PARAPHRASES["frame"] += (affirmed, denied_twice)
