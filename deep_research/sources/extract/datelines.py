"""Days that stand at the head of a web page's text, for its readers: marked as times and said to be of the page, or a
line of their own right below its title, or right above it, or the only one that says in words that it is the day of
publication. The day of a site's head, of another story or of what the text tells is none. Lines that say nothing but a
day are told in several languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from itertools import islice

from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.hiding import is_hidden
from deep_research.sources.extract.texts import parse_date
from deep_research.sources.extract.titles import is_title, title_of_head

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
_BEFORE = regex(
    rf"(?:{_SAID}(?:\s?:|\s))?\s?(?:(?:am|le|el|il|op|den)\s)?(?:{_WEEKDAY}\s)?(?:(?:den|the|le)\s)?",
    re.IGNORECASE,
)
_DOTTED = regex(r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})\b")
_ISO = regex(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b|(?P<y>\d{4})年(?P<m>\d{1,2})月(?P<d>\d{1,2})日"
)
_NAMED = regex(
    r"(?P<day>\d{1,2})(?:\.|º|er|st|nd|rd|th)?\s(?:de\s|of\s)?(?P<name>[^\W\d_]{3,12})\.?,?\s(?:de\s|del\s)?(?P<year>\d{4})\b"
)
_NAMED_FIRST = regex(r"(?P<name>[^\W\d_]{3,12})\.?\s(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s(?P<year>\d{4})\b")
_SLASHED = regex(r"(?P<one>\d\d?)/(?P<other>\d\d?)/(?P<year>\d{4})\b")
_FORMS = (_DOTTED, _ISO, _NAMED, _NAMED_FIRST, _SLASHED)
_HOUR = r"\d{1,2}(?:(?:[:.]\d\d){1,2}|\s?h(?:\s?\d\d)?)\s?(?:[ap]\.?\s?m\.?)?(?:\s?(?:uhr|h|hs|hrs))?"
_AFTER = regex(
    rf"[\s,|/•·–—-]{{0,4}}(?:(?:um|at|à|a las|kl\.?)\s)?(?:{_HOUR})?[\s,.|/•·–—-]{{0,4}}", re.IGNORECASE
)
_EDGES = " \t\n|/•·–—-"
_ANNOUNCED = regex(
    r"(?:(?:first )?published|veröffentlicht|publiziert|erschienen|publi[ée]e?|publicado|pubblicato|gepubliceerd|"
    r"opublikowano|publicerad|(?:presse)(?:mitteilung|meldung|information) vom)(?:\s?:|\s)",
    re.IGNORECASE,
)
_LABEL = regex(rf"{_SAID}(?:\s(?:am|le|el|il|op|on))?\s?:?", re.IGNORECASE)


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


_MOST = 40  # elements that are looked at
_LONGEST_DATELINE = 80  # characters of a dateline
_BELOW = 3  # blocks below the title, in which a day may stand by itself
_ABOVE = 3  # the same above it
_NEAR = 4  # levels from a title up to what holds the day above it too
_WEB = 1993  # before it nothing was published as a page
_PROSE = 120  # characters; behind a paragraph of so many stands no dateline
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_CELLS = ("li", "dd")  # which tell of many things: a day in them has to say what it is
_ICONS = ("i", "span", "img", "br")
_MOST_ICONS = 3
_SAYS_SO = regex(
    r"(?:^|[\s_-])(?:author\w{0,20}|byline|dateline|date|meta|posted|published|publication|pub|pubdate|timestamp)(?=$|[\s_-])",
    re.IGNORECASE,
)
_CHANGE = regex(r"updat|modif|edit|changed", re.IGNORECASE)
_OF_OTHERS = ("a", "li", "figcaption", "aside", "nav")  # teasers, mostly


def shown_days(tree: HtmlElement) -> Iterator[str]:
    titles = _titles(tree)
    headers = {each for title in titles for each in title.iterancestors("header")}
    below = times = blocks = passed = 0
    above: tuple[HtmlElement, str] | None = None
    over: list[str] = []
    spoken: set[str] = set()
    for element in tree.iter(*_HEADINGS, *_CELLS, "p", "div", "span", "em", "time"):
        if element in titles:
            if above is not None and passed <= _ABOVE and _are_near(above[0], element):
                over.append(above[1])
            below, blocks = _MOST, 0
            continue
        if element.tag == "time":
            in_header = not headers.isdisjoint(element.iterancestors("header"))
            if (below or in_header) and _is_of_the_page(element, in_header, below > 0 and blocks < _BELOW):
                yield from values_of(element)
            times += 1
            if times == _MOST:
                break
        line = _line(element)
        day = dateline(line)
        is_day = day is not None and day.year >= _WEB and _is_of_no_other(element, line)
        if day is not None and is_day:
            above, passed = (element, day.isoformat()), 0
            if says_published(line):
                spoken.add(day.isoformat())
        elif line:
            passed += 1
        if element.tag in ("h1", "h2", "h3"):
            below = below if is_day else 0
        elif below and element.tag not in (*_CELLS, "time"):
            said = element.text_content() if element.tag == "p" else element.text or ""
            text = " ".join(said[:1000].split())
            below = 0 if len(text) > _PROSE else below - 1
            blocks += bool(text) and not _is_in_a_paragraph(element)
        is_near = blocks <= _BELOW or _is_labelled(element.getprevious())
        if below and is_near and is_day and day is not None and element.tag != "time":
            yield day.isoformat()
    yield from over
    if len(spoken) == 1:
        yield from spoken


def _titles(tree: HtmlElement) -> set[HtmlElement]:
    """The headings of the first rank, and lower ones that are the page's title."""
    head = title_of_head(tree)[: 4 * _PROSE]
    lower = (each for each in islice(tree.iter("h2", "h3"), _MOST) if is_title(each, head))
    first = (each for each in islice(tree.iter("h1"), _MOST) if each.text_content().strip())
    return {*first, *lower}


def _line(element: HtmlElement) -> str:
    """Its words, where all of them are its own: beside them may stand icons. A cell may begin with another's words."""
    few = list(islice(element, _MOST_ICONS + 1))
    if len(few) > _MOST_ICONS:
        return ""
    told = element.text or ""
    for inner in few:
        is_label_of_cell = element.tag in _CELLS and is_label(_words(inner))
        if inner.tag not in _ICONS or len(inner) or ((inner.text or "").strip() and not is_label_of_cell):
            return ""
        told += f" {inner.text or ''} {inner.tail or ''}"
        if len(told) > 4 * _LONGEST_DATELINE:
            break
    return " ".join(told[: 4 * _LONGEST_DATELINE].split())[: _LONGEST_DATELINE + 1]


def _words(element: HtmlElement) -> str:
    return " ".join(" ".join(islice(element.itertext(), _MOST)).split())


def _is_in_a_paragraph(element: HtmlElement) -> bool:
    parent = element.getparent()
    return parent is not None and parent.tag == "p"


def _is_of_no_other(element: HtmlElement, line: str) -> bool:
    """Whether a day stands by itself, or is said to be that of the page: by its class, or by the word before it."""
    parent, before, kind = element.getparent(), element.getprevious(), (element.get("class") or "")[:300]
    if parent is None or is_hidden(element):
        return False
    if element.tag in _CELLS:
        return is_label(line.partition(":")[0]) or _is_labelled(before)
    alone = element.tag in ("p", "div", *_HEADINGS) or (len(parent) == 1 and not (parent.text or "").strip())
    alone = alone or (_SAYS_SO.search(kind) is not None and not _CHANGE.search(kind))
    alone = alone or _is_labelled(before)
    return alone and next(element.iterancestors(*_OF_OTHERS), None) is None


def _is_labelled(before: HtmlElement | None) -> bool:
    return before is not None and not (before.tail or "").strip() and is_label(_words(before))


def _is_of_the_page(time: HtmlElement, in_header: bool, is_near: bool) -> bool:
    """Whether a time is that of the page: by what it is called, by its place, or as a line of its own."""
    around = [time, *list(time.iterancestors())[:3]]
    names = " ".join(f"{each.get('class') or ''} {each.get('id') or ''}"[:300] for each in around)
    if _CHANGE.search(f"{names} {time.get('itemprop') or ''} {time.text_content()[:50]}"):
        return False
    if in_header:
        return True
    is_line = is_near and dateline(time.text_content()[: 2 * _LONGEST_DATELINE]) is not None
    says_so = _SAYS_SO.search(names) is not None or (is_line and _stands_alone(time))
    return says_so and next(time.iterancestors(*_OF_OTHERS), None) is None


def _stands_alone(time: HtmlElement) -> bool:
    parent, before = time.getparent(), time.getprevious()
    said = parent.text if before is None else before.tail
    return not ((said or "") + (time.tail or "")).strip()


def _are_near(day: HtmlElement, title: HtmlElement) -> bool:
    """Whether the same part of the page holds both, and little else."""
    around = set(islice(title.iterancestors(), _NEAR))
    return (
        any(each in around for each in islice(day.iterancestors(), _NEAR)) and title.getparent() is not None
    )


_AS_UNIX = regex(r"\b([A-Z][a-z]{2}) +(\d{1,2}) \d\d:\d\d:\d\d [A-Z]{2,5} (\d{4})\b")


_SLASHED_DAY = regex(r"\A\s*(\d\d?)/(\d\d?)/(\d{4})\b")


def day_of(value: str) -> date | None:
    if found := _AS_UNIX.search(value[:100]):
        value = f"{found[1]} {found[2]}, {found[3]}"
    elif found := _SLASHED_DAY.match(value):
        value = _ordered(int(found[1]), int(found[2]), found[3])
    day = parse_date(value)
    return day if day and 1000 < day.year < 2100 else None


def _ordered(one: int, other: int, year: str) -> str:
    """A day with its month first or second, where only one can be meant."""
    if one > 12 or one == other:
        return f"{year}-{other}-{one}"
    return f"{year}-{one}-{other}" if other > 12 else ""


def values_of(element: HtmlElement) -> Iterator[str]:
    """The day as it is shown goes first, as that of the place; unless it is quite another."""
    exact = element.get("content") or element.get("datetime") or element.get("title") or ""
    text = " ".join(element.text_content()[:200].split())
    seen, meant = parse_date(text) or dateline(text), day_of(exact)
    if seen and (meant is None or abs((seen - meant).days) <= 1):
        yield seen.isoformat()
    yield exact
