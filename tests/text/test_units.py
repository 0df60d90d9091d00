"""Values with their units, as texts write them."""

import pytest
from tables import cases, listed

from deep_research.text.units import measured


@pytest.mark.parametrize(
    ("text", "told", "bases"),
    cases(
        """
        a bid of £262m | £262m | 262e6
        It paid £4.2bn for the games. | £4.2bn | 4.2e9
        The expense was £61,331 9s 2d. | £61,331 | 61331
        It cost $5 million. | $5 million | 5e6
        It is 5 m high. | 5 m | 5
        64 m and 210 ft | 64 m / 210 ft | 64 / 64.008
        22,392 km2 of forest, or 3,000 km² | "" | ""
        at 60 km/h | "" | ""
        about 15 metres by 7 at low tide | "" | ""
        15 m × 7 m | "" | ""
        raised by 15 metres, and moved 3 feet by rail | 15 metres / 3 feet | 15 / 0.9144
        a height of 40 metres by 1902 | 40 metres | 40
        """,
        str,
        listed,
        lambda cell: [float(each) for each in listed(cell)],
    ),
)
def test_a_value_is_told_with_its_whole_unit_and_scale_and_an_area_is_none(text, told, bases):
    found = list(measured(text))
    assert [text[each.start : each.end] for each in found] == told
    assert [each.base for each in found] == pytest.approx(bases)


def test_one_length_over_another_is_two():
    assert [each.base for each in measured("64 m/210 ft")] == pytest.approx([64.0, 64.008])


@pytest.mark.parametrize("text", ["500 pounds by 1840", "2 x 500 grams"])
def test_a_year_or_a_count_is_no_second_side_of_an_area(text):
    assert len(list(measured(text))) == 1


def test_quantities_are_read_with_separators_and_spelled_units():
    read = [(q.unit, q.value) for q in measured("13,343 cubic feet, 1.5 km and 20% of 9 m, $2 million")]
    assert read == [("kilometres", 1.5), ("percent", 20.0), ("metres", 9.0), ("dollars", 2e6)]
