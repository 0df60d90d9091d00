"""Measured values in texts, and whether two of them agree whatever their units. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from deep_research.patterns import regex

_QUANTITY = regex(
    r"(?<![\w.,-])(?:(?P<currency>[$€£])\s?)?"
    r"(?P<number>\d{1,3}(?:[,\u00a0 ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s(?P<scale>thousand|million|billion|trillion)\b)?"
    # Neither "km2" nor "km/h" is a length.
    r"(?:[\s\u00a0-]?(?P<unit>%|[A-Za-z°]++(?!\w|[/·][^\W\d_])))?"
)
_NUMBER = r"\d{1,3}(?:[,\u00a0 ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_SIGNED = regex(
    rf"(?<![\w.,/–−-])(?P<sign>[+−–-](?=[\d$€£]))?(?:[$€£]\s?)?(?P<low>{_NUMBER})"
    rf"(?:\s?(?:[–−-]|to|bis|à)\s?(?=\d)(?P<high>{_NUMBER}))?"
)
_MINUS = ("-", "−", "–")
_MAX_VALUE_CHARS = 80  # characters of a value with its unit
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SHORT_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "tn": 1e12}  # of money: "£262m"
_CURRENCIES = {"$": "dollars", "€": "euros", "£": "pounds of money"}
# Each row: kind, size in the kind's first unit, a unit in all its spellings; the first names it.
_ROWS = """
    length 1 metres metre meter meters m
    length 0.3048 feet foot ft
    length 1000 kilometres kilometers kilometre kilometer km
    length 1609.344 miles mile mi
    length 0.01 centimetres centimeters centimetre centimeter cm
    length 0.001 millimetres millimeters millimetre millimeter mm
    length 0.0254 inches inch
    length 0.9144 yards yard yd
    mass 1 kilograms kilogram kg
    mass 0.001 grams gram
    mass 1000 tonnes tonne t
    mass 0.45359237 pounds pound lb lbs
    ton 1 tons ton
    volume 1 litres liters litre liter
    gallon 1 gallons gallon
    area 1 hectares hectare ha
    area 0.40468564 acres acre
    share 1 percent %
    candela 1 candelas candela candlepower
    power 1 watts watt
    power 1000 kilowatts kilowatt kw
    power 1000000 megawatts megawatt mw
    volt 1 volts volt
    angle 1 degrees degree
    knot 1 knots knot
    dollar 1 dollars dollar
    euro 1 euros euro
    sterling 1 pounds_of_money
    people 1 people inhabitants
    age 1 years year
    age 0.0833333 months month
    time 1 seconds second
    time 60 minutes minute
    time 3600 hours hour
    time 86400 days day
"""
_UNITS: dict[str, tuple[str, float, str]] = {}
for _row in _ROWS.strip().splitlines():
    _kind, _size, *_names = _row.split()
    for _name in _names:
        _UNITS[_name.replace("_", " ")] = (_kind, float(_size), _names[0].replace("_", " "))
UNIT_WORDS = frozenset(_UNITS)
# "15 metres by 7" is how large a floor is, and no height or distance; "by 1902" and "by 12 workers" are no sides of it.
_UNIT = r"(?:m|metres?|meters?|ft|foot|feet|yards?|miles?|km|cm|mm|inch(?:es)?)"
_BY_MORE = regex(
    rf"\s?(?:by|x|×)\s?\d{{1,3}}(?:\.\d+)?(?:\s?{_UNIT}\b|\s*(?:[.,;:)]|\Z)|\s(?:at|in|on|and|or|with|when)\b)"
)
_BY = regex(rf"(?<![\d.,])\d{{1,3}}(?:\.\d+)?(?:\s?{_UNIT})?\s?(?:by|x|×)\s?\Z")
_BEFORE_CHARS = 24  # characters, in which the other side stands
CLOSE_RATIO = 0.003  # two conversions of one value differ by so much, as a share


def unit_name(word: str) -> str:
    """The name of a unit in any of its spellings, in lower case; any other word as it is."""
    return _UNITS[word][2] if word in _UNITS else word


def kind_of(unit: str) -> str:
    """What a unit measures, by its name; empty for what is none."""
    return _UNITS[unit][0] if unit in _UNITS else ""


@dataclass(frozen=True, slots=True)
class Quantity:
    """``value`` of ``unit`` as written in ``text[start:end]``; ``base`` is it in the first unit of its kind, and
    ``slack`` how far rounding may have moved that."""

    kind: str
    unit: str
    value: float
    base: float
    slack: float
    start: int
    end: int

    def agrees(self, other: Quantity) -> bool:
        """Whether both can be roundings of one value; a whole number of the same unit is taken at its word."""
        if self.kind != other.kind:
            return False
        apart = abs(self.base - other.base)
        if self.unit == other.unit:
            finer = max(self.slack, other.slack) if self.slack != other.slack else 0.0
            return apart <= finer + 1e-9
        return apart <= max(self.slack, other.slack) + CLOSE_RATIO * abs(self.base)


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value as it is stated in ``text[start:end]``, with its sign: from ``low`` to ``high``, which are one but for a
    range (``15-20 %``)."""

    low: Quantity
    high: Quantity
    start: int
    end: int

    @property
    def kind(self) -> str:
        return self.low.kind

    @property
    def unit(self) -> str:
        return self.low.unit

    def agrees(self, other: StatedValue) -> bool:
        """Whether both can be roundings of one value, or have values in common."""
        if self.low == self.high and other.low == other.high:
            return self.low.agrees(other.low)
        slack = max(self.low.slack, other.low.slack)
        return (
            self.kind == other.kind
            and self.low.base <= other.high.base + slack
            and other.low.base <= self.high.base + slack
        )


def stated_values(text: str) -> Iterator[StatedValue]:
    """The measured values of a text with their signs, a range as one, in order."""
    taken = 0
    values = {q.start: q for q in measured(text)}
    for match in _SIGNED.finditer(text):
        if match.start() < taken:
            continue
        last = match.start("high") if match["high"] else max(match.start(), match.end("sign"))
        high = values.get(last) or _at(text, last)
        if high is None:
            continue
        low = high
        if match["high"]:
            value = float(_digits(match["low"]))
            low = replace(high, value=value, base=value * (high.base / high.value if high.value else 1.0))
        if match["sign"] in _MINUS:
            low, high = _negative(high), _negative(low)
        taken = high.end
        if low.base <= high.base:
            yield StatedValue(low, high, match.start(), taken)


def _at(text: str, start: int) -> Quantity | None:
    """The value that begins there, whatever stands before it."""
    found = next(measured(text[start : start + _MAX_VALUE_CHARS]), None)
    if found is None or found.start:
        return None
    return replace(found, start=start, end=start + found.end)


def _negative(quantity: Quantity) -> Quantity:
    return replace(quantity, value=-quantity.value, base=-quantity.base)


def _digits(number: str) -> str:
    return re.sub(r"[,\u00a0 ]", "", number)


def measured(text: str) -> Iterator[Quantity]:
    """The measured values of a text, in order; of an area told by two sides, neither."""
    for match in _QUANTITY.finditer(text):
        currency, unit = match["currency"], (match["unit"] or "").casefold()
        row = _UNITS[_CURRENCIES[currency]] if currency else _UNITS.get(unit)
        if row is None:
            continue
        kind, size, name = row
        if kind == "length" and _is_side(text, match):
            continue
        digits = _digits(match["number"])
        short = _SHORT_SCALES.get(unit) if currency else None
        scale = size * (short or _SCALES.get(match["scale"] or "", 1.0))
        places = len(digits.partition(".")[2])
        last = "unit" if short or not currency else "scale" if match["scale"] else "number"
        end = match.end(last)
        yield Quantity(
            kind,
            name,
            float(digits) * scale / size,
            float(digits) * scale,
            0.5 * scale * 10.0**-places,
            match.start(),
            end,
        )


def _is_side(text: str, value: re.Match[str]) -> bool:
    """Whether a length is one of two that tell an area."""
    before = max(0, value.start() - _BEFORE_CHARS)
    return bool(_BY_MORE.match(text, value.end()) or _BY.search(text, before, value.start()))
