"""The conformance suite of model providers: one item a promise.

For a provider of a service, over a server on loopback that speaks its format (see `ModelService`)::

    SUBJECT = Subject(service=MyServer, make=lambda url, key: MyProvider(MODEL, base_url=url + "/v1", api_key=key))

    @pytest.mark.parametrize("check", checks_for(SUBJECT), ids=str)
    def test_my_provider(check: Check) -> None:
        with Bench(SUBJECT) as bench:
            check(bench)

What a service cannot do for what it is, the subject names in ``lacks``. One without such a server is given what its model
says::

    SUBJECT = Subject(saying=MyProvider, lacks=frozenset(Ability))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from deep_research.testing import service_checks
from deep_research.testing.model_bench import KEY, MODEL, Ability, Bench, ModelService, Subject
from deep_research.testing.model_checks import (
    model_answers,
    model_connections,
    model_counts,
    model_deadlines,
    model_failures,
    model_objects,
    model_refusals,
    model_requests,
    model_secrets,
    model_tools,
)
from deep_research.testing.promises import Check as Promise
from deep_research.testing.promises import promises

__all__ = [
    "KEY",
    "MODEL",
    "MODEL_CHECKS",
    "Ability",
    "Bench",
    "Check",
    "ModelService",
    "Subject",
    "checks_for",
]

# The checks that apply to any provider; the others need a service.
_OF_ANY = (
    model_answers.a_text_is_given_as_it_was_said,
    model_answers.any_characters_come_through,
    model_answers.the_pieces_are_the_text,
    *service_checks.OF_ANY,
)
_NEEDS: dict[Callable[[Bench], object], frozenset[Ability]] = {
    model_answers.a_refusal_is_told: frozenset({Ability.REFUSAL}),
    **dict.fromkeys(model_tools.OF_NATIVE, frozenset({Ability.TOOLS})),
    model_tools.a_refusal_ends_a_turn: frozenset({Ability.REFUSAL}),
    model_tools.what_was_said_before_is_read_from_the_cache: frozenset({Ability.CACHE}),
    model_counts.a_stable_beginning_is_read_from_the_cache: frozenset({Ability.CACHE}),
    model_counts.a_message_that_grows_is_read_from_the_cache_up_to_where_it_grew: frozenset({Ability.CACHE}),
    model_counts.a_stream_that_breaks_says_what_the_prompt_cost: frozenset({Ability.FLOOR}),
    model_secrets.without_a_key_nothing_is_made: frozenset({Ability.KEY}),
    model_refusals.a_limit_that_no_waiting_lifts_is_fatal: frozenset({Ability.CODES}),
    model_refusals.the_code_of_a_prompt_that_is_too_long_is_known: frozenset({Ability.CODES}),
}


Check = Promise[Bench]


def _of(module: ModuleType) -> Iterator[Check]:
    for name, function in promises(module):
        over_http = frozenset() if function in _OF_ANY else frozenset({Ability.SERVICE})
        yield Check(name, function, _NEEDS.get(function, frozenset()) | over_http)


MODEL_CHECKS: tuple[Check, ...] = tuple(
    check
    for module in (
        model_answers,
        model_objects,
        model_counts,
        model_requests,
        model_refusals,
        model_failures,
        model_deadlines,
        model_connections,
        model_secrets,
        model_tools,
        service_checks,
    )
    for check in _of(module)
)


def checks_for(subject: Subject) -> list[Check]:
    """The checks that a provider has to pass."""
    return [check for check in MODEL_CHECKS if not check.needs & subject.lacks]
