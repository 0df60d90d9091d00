from __future__ import annotations

from typing import Any

import pytest

from deep_research.state import DeepResearchState, Limit
from deep_research.state.notices import reported_notices

A, B, C = "who", "when", "where"


def of_searches(cap: int, *skipped: str, name: str = "max_searches") -> Limit:
    return Limit(name=name, message=f"{cap}: {len(skipped)}", cap=cap, usage=cap, skipped=skipped)


@pytest.mark.parametrize(
    ("told", "holds"),
    [
        ([of_searches(2, A)], [of_searches(2, A)]),
        ([of_searches(2, A, B, C), of_searches(2, A, B), of_searches(2, A)], [of_searches(2, A, B, C)]),
        ([of_searches(2, A, B), of_searches(2, C)], [of_searches(2, C), of_searches(2, A, B)]),
        ([of_searches(2, A, B), of_searches(3, B)], [of_searches(3, B)]),
        (
            [of_searches(2, A), of_searches(9, A, name="shared:max_searches")],
            [of_searches(2, A), of_searches(9, A, name="shared:max_searches")],
        ),
    ],
    ids=["one round", "every round", "another search", "a cap that was raised", "two caps"],
)
def test_of_a_cap_on_searches_the_limit_that_was_told_last_holds(
    told: list[Limit], holds: list[Limit]
) -> None:
    state: Any = DeepResearchState.model_construct(
        limits=tuple(told), notices=(), sources=(), sub_queries=(), unfounded=0, unlocated=0
    )
    assert list(reported_notices(state)) == holds
