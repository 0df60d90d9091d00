"""What of a document was not read, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_MOST = 6  # pieces of a text that are named


def unread_pages(numbers: Sequence[int], count: int) -> str:
    """The pages with these ``numbers``, counted from 1 and in order, of ``count``: ``page 3``, ``pages 3 to 5 and 9``."""
    pieces = list(_pieces(numbers))
    if len(pieces) > _MOST:
        return f"{len(numbers)} of {count} pages"
    told = ", ".join(pieces[:-1]) + f" and {pieces[-1]}" if len(pieces) > 1 else "".join(pieces)
    return f"{'page' if len(numbers) == 1 else 'pages'} {told}"


def _pieces(numbers: Sequence[int]) -> Iterator[str]:
    run: list[int] = []
    for number in [*numbers, None]:
        if run and number != run[-1] + 1:
            yield str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}"
            run = []
        if number is not None:
            run.append(number)
