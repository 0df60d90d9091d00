"""Allocation: never over the budget, floors before all, and as much weighted fidelity as there is to be had."""

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deep_research.budget.allocation import (
    SENTENCE,
    Item,
    ItemClass,
    Kept,
    allocate,
    allocate_what_fits,
    with_top,
)
from deep_research.budget.fidelity import FidelityLevel
from deep_research.errors import WindowError

PROTECTED, TOP, REGULAR = ItemClass


CLASSES = st.sampled_from([REGULAR, REGULAR, TOP, PROTECTED])


@st.composite
def some_items(draw, most=16, largest=4_000):
    fields = st.tuples(st.integers(0, largest), st.floats(0, 1), CLASSES)
    return [Item(f"src-{n:03}", *made) for n, made in enumerate(draw(st.lists(fields, max_size=most)))]


def floors(items, regular):
    return sum(item.floor(regular) for item in items)


def possible(items, budget, regular):
    """The allocation, of a case whose floors fit."""
    assume(floors(items, regular) <= budget)
    return allocate(items, budget, regular=regular)


CASES = {"items": some_items(), "budget": st.integers(0, 30_000), "regular": st.sampled_from(Kept)}


def test_it_is_never_over_budget_and_floors_are_kept(examples):
    @given(**CASES)
    @settings(max_examples=examples(700))
    def check(items, budget, regular):
        if floors(items, regular) > budget:
            with pytest.raises(WindowError) as refused:
                allocate(items, budget, regular=regular)
            assert refused.value.data["tokens"] > refused.value.data["limit"] == budget
            return
        made = allocate(items, budget, regular=regular)
        assert sum(made.sizes.values()) == made.tokens <= budget
        for item in items:
            size, floor = made.sizes[item.id], item.floor(regular)
            assert floor <= size <= item.tokens
            assert size == floor or size >= min(SENTENCE, item.tokens)

    check()


def test_room_is_used_more_keeps_no_less_and_the_order_makes_no_difference(examples):
    @given(**CASES, more=st.integers(0, 4_000), seed=st.integers(0, 1_000))
    @settings(max_examples=examples(500))
    def check(items, budget, regular, more, seed):
        made = possible(items, budget, regular)
        total = sum(item.tokens for item in items)
        if total <= budget:
            assert made.tokens == total
        elif budget >= 20 * SENTENCE:
            assert made.utilization >= 0.9
        assert allocate(items, budget + more, regular=regular).weight >= made.weight - 1e-9
        mixed = Random(seed).sample(items, len(items))
        again = allocate(mixed, budget, regular=regular)
        assert (again.sizes, again.levels, again.weight) == (made.sizes, made.levels, made.weight)
        assert list(again.sizes) == [item.id for item in mixed]

    check()


def bound(items, budget, regular):
    """What would be kept if the smallest pieces were of use: no allocation keeps more."""
    kept, left = 0.0, budget - floors(items, regular)
    for item in sorted(items, key=lambda item: -item.priority / max(1, item.tokens)):
        floor = item.floor(regular)
        more = min(left, item.tokens - floor)
        left -= more
        kept += item.priority * ((floor + more) / item.tokens if item.tokens else 1.0)
    return kept


@pytest.mark.parametrize("regular", Kept)
@pytest.mark.parametrize("count", [11, 40, 65, 300])
def test_many_items_are_allocated_nearly_as_well_as_can_be(count, regular):
    random = Random(count)
    for _ in range(10):
        items = [Item(str(n), random.randint(1, 8_000), random.random()) for n in range(count)]
        budget = int(sum(item.tokens for item in items) * random.uniform(0.15, 0.95))
        made = allocate(items, budget, regular=regular)
        assert made.weight >= 0.98 * bound(items, budget, regular)


def test_of_equal_items_that_of_higher_priority_is_kept_and_ties_go_by_id():
    items = [Item("b", 500, 0.5), Item("a", 500, 0.5), Item("c", 500, 0.9)]
    made = allocate(items, 1_000, regular=Kept.NOTHING)
    assert dict(made.sizes) == {"b": 0, "a": 500, "c": 500}
    assert (made.dropped, made.levels["b"], made.utilization) == (("b",), FidelityLevel.DROPPED, 1.0)


TEN = [Item(f"s{n}", 1_000, n / 10) for n in range(10)]


def test_where_nothing_may_be_dropped_all_keep_a_headline():
    made = allocate(TEN, 1_500, regular=Kept.HEADLINE)
    assert min(made.sizes.values()) == 112
    assert made.dropped == ()
    with pytest.raises(WindowError, match="10 regular items") as refused:
        allocate(TEN, 1_119, regular=Kept.HEADLINE)
    assert refused.value.data == {"tokens": 1_120, "limit": 1_119, "items": "regular"}
    assert "window.allow_dropping" in str(refused.value)


@pytest.mark.parametrize(
    ("budget", "which"), [(111, "protected"), (112, "top"), (445, "top"), (446, None), (0, "protected")]
)
def test_the_error_names_the_first_class_whose_floors_are_too_much(budget, which):
    items = [Item("a", 1_000, 0.1, TOP), Item("b", 1_000, 0.1, PROTECTED), Item("c", 10, 1.0)]
    if which is None:
        assert allocate(items, budget, regular=Kept.NOTHING).tokens == 446
        return
    with pytest.raises(WindowError) as refused:
        allocate(items, budget, regular=Kept.NOTHING)
    assert refused.value.data["items"] == which


def test_the_five_best_become_top_ones_and_a_protected_one_is_promised_more():
    items = [Item(f"s{n}", 10, n / 10, PROTECTED if n == 9 else REGULAR) for n in range(10)]
    made = with_top(items)
    assert [item.id for item in made] == [item.id for item in items]
    assert {item.id for item in made if item.klass is TOP} == {"s5", "s6", "s7", "s8", "s9"}
    assert [item.klass for item in with_top(items[:2])] == [TOP, TOP]


def test_nothing_is_allocated_to_nothing():
    made = allocate([], 0, regular=Kept.HEADLINE)
    assert (dict(made.sizes), made.tokens, made.weight, made.utilization) == ({}, 0, 0.0, 0.0)
    empty = allocate([Item("a", 0, 0.5)], 0, regular=Kept.NOTHING)
    assert (empty.levels["a"], empty.weight) == ("full", 0.5)


def test_ids_given_twice_and_sizes_below_0_are_refused():
    for items in ([Item("a", 1, 1.0)] * 2, [Item("a", -1, 1.0)]):
        with pytest.raises(ValueError):
            allocate(items, 10, regular=Kept.NOTHING)


@pytest.mark.parametrize(
    ("budget", "smallest", "gave_way"),
    [
        (10_000, 1_000, None),
        (2_500, 112, None),
        (1_800, 25, None),
        (1_590, 112, ItemClass.TOP),
        (1_000, 25, ItemClass.TOP),
        (200, 0, ItemClass.REGULAR),
    ],
)
def test_promises_give_way_one_by_one_to_what_there_is(budget, smallest, gave_way):
    made, broken = allocate_what_fits(TEN, budget, allow_dropping=False)
    assert (min(made.sizes.values()), broken) == (smallest, gave_way)
    assert made.tokens <= budget
    assert made.utilization >= 0.9


def test_what_is_protected_never_gives_way():
    with pytest.raises(WindowError, match="protected"):
        allocate_what_fits([Item("a", 1_000, 1.0, PROTECTED)], 105, allow_dropping=True)


def test_where_dropping_is_allowed_it_breaks_no_promise():
    made, broken = allocate_what_fits(TEN, 2_500, allow_dropping=True)
    assert made.dropped
    assert broken is None
    assert allocate_what_fits(TEN, 1_000, allow_dropping=True)[1] is ItemClass.TOP
