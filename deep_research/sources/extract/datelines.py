"""Lines that say nothing but a day, as newspapers and offices of several languages put them below a title. Pure.

A whole line is looked at: a day within a sentence is of what the sentence tells. Of two numbers and a year the first is
the day where dots part them, as nobody writes them otherwise; where slashes do, either may be, and only what no month
can be is told from it.
"""

from __future__ import annotations

import re
from datetime import date

_LONGEST = 80  # characters
# In the order of the year. Of months of several names each is there, and what they are cut to.
_MONTHS = (
    "january jan januar jänner jaenner janvier janv enero ene gennaio gen janeiro januari stycznia styczeń",
    "february feb februar feber février févr fév febrero febbraio fevereiro fev februari lutego luty",
    "march mar märz maerz mär mrz mars marzo março maart mrt marts marca marzec",
    "april apr avril avr abril abr aprile kwietnia kwiecień",
    "may mai mayo maggio mag maio mei maj maja",
    "june jun juni juin junio giugno giu junho czerwca czerwiec",
    "july jul juli juillet juil julio luglio lug julho lipca lipiec",
    "august aug août aout agosto ago augustus augusti sierpnia sierpień",
    "september sep sept septembre septiembre setiembre settembre set setembro września wrzesień",
    "october oct oktober okt octobre octubre ottobre ott outubro out października październik",
    "november nov novembre noviembre novembro listopada listopad",
    "december dec dezember dez décembre déc diciembre dic dicembre dezembro grudnia grudzień",
)
_NUMBER_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_WEEKDAY = (
    r"(?:(?:mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|(?:mon|diens|donners|frei|sams|sonn)tag|"
    r"mittwoch|sonnabend|mo|di|mi|do|fr|sa|so|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|"
    r"miércoles|jueves|viernes|sábado|domingo|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|"
    r"(?:segunda|terça|quarta|quinta|sexta)(?:-feira)?)\.?,?"
)
_SAID = (
    r"(?:(?:first )?(?:published|posted)(?: on)?|veröffentlicht|publiziert|erschienen|datum|date|fecha|data|publi[ée]e?|"
    r"publicado|pubblicato|publicado em|gepubliceerd|geplaatst|opublikowano|publicerad|"
    r"(?:presse)?(?:mitteilung|meldung|information) vom)"
)
_BEFORE = re.compile(
    rf"(?:{_SAID}(?:\s?:|\s))?\s?(?:(?:am|le|el|il|op|den)\s)?(?:{_WEEKDAY}\s)?(?:(?:den|the|le)\s)?",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})\b")
_ISO = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b|(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})日"
)
_NAMED = re.compile(
    r"(?P<day>\d{1,2})(?:\.|º|er|st|nd|rd|th)?\s(?:de\s|of\s)?(?P<name>[^\W\d_]{3,12})\.?,?\s(?:de\s|del\s)?(?P<year>\d{4})\b"
)
_NAMED_FIRST = re.compile(
    r"(?P<name>[^\W\d_]{3,12})\.?\s(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s(?P<year>\d{4})\b"
)
_SLASHED = re.compile(r"(?P<one>\d\d?)/(?P<other>\d\d?)/(?P<year>\d{4})\b")
_FORMS = (_DOTTED, _ISO, _NAMED, _NAMED_FIRST, _SLASHED)
_HOUR = r"\d{1,2}(?:(?:[:.]\d\d){1,2}|\s?h(?:\s?\d\d)?)\s?(?:[ap]\.?\s?m\.?)?(?:\s?(?:uhr|h|hs|hrs))?"
_AFTER = re.compile(
    rf"[\s,|/•·–—-]{{0,4}}(?:(?:um|at|à|a las|kl\.?)\s)?(?:{_HOUR})?[\s,.|/•·–—-]{{0,4}}", re.IGNORECASE
)
_EDGES = " \t\n|/•·–—-"
_ANNOUNCED = re.compile(
    r"(?:(?:first )?published|veröffentlicht|publiziert|erschienen|publi[ée]e?|publicado|pubblicato|gepubliceerd|"
    r"opublikowano|publicerad|(?:presse)(?:mitteilung|meldung|information) vom)(?:\s?:|\s)",
    re.IGNORECASE,
)
_LABEL = re.compile(rf"{_SAID}(?:\s(?:am|le|el|il|op|on))?\s?:?", re.IGNORECASE)


def dateline(line: str) -> date | None:
    """The day that a line is; None when it says more, and when there is no such day."""
    if len(line) > _LONGEST:
        return None
    said = " ".join(line.split()).strip(_EDGES)
    before = _BEFORE.match(said)
    start = before.end() if before else 0
    for form in _FORMS:
        found = form.match(said, start)
        if found and _AFTER.fullmatch(said, found.end()):
            return _as_day(found.groupdict())
    return None


def says_published(line: str) -> bool:
    """Whether a line that is a day says in words that it is that of publication."""
    return _ANNOUNCED.match(" ".join(line[: 2 * _LONGEST].split()).strip(_EDGES)) is not None


def is_label(text: str) -> bool:
    """Whether it announces that what stands behind it is the day of publication."""
    return len(text) <= _LONGEST and _LABEL.fullmatch(" ".join(text.split())) is not None


def _as_day(told: dict[str, str | None]) -> date | None:
    def number(*names: str) -> int:
        return next((int(value) for name in names if (value := told.get(name))), 0)

    day, month = number("day", "d"), number("month", "m")
    if name := told.get("name"):
        month = _NUMBER_OF.get(name.lower(), 0)
    if one := number("one"):
        day, month = sorted((one, number("other")), reverse=True)
        if day <= 12 and day != month:
            return None
    try:
        return date(number("year", "y"), month, day)
    except ValueError:
        return None
