"""Deterministic ids: a prefix and 12 hex digits of the sha256 of what the record is about.

Only the id of a run without an idempotency key is random. Everything else is a function of the text or address, so
the same work done twice (after a crash, in another process) meets itself under the same id.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import unicodedata

from deep_research.patterns import regex

_JOINERS = dict.fromkeys((0x200C, 0x200D))
_SPACE = regex(r"\s+")
RUN_ID = regex(r"\Adeepres-(?:[0-9a-f]{12}|[0-9a-f]{24})\Z")


def new_run_id() -> str:
    return f"deepres-{secrets.token_hex(6)}"


def keyed_run_id(user_id: str | None, key: str) -> str:
    """The id of the run that a user submits under an idempotency key: the same wherever and whenever it is submitted. It
    is longer, so that no two keys meet."""
    return f"deepres-{sha256_hex(json.dumps([user_id, key]).encode())[:24]}"


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def normalised(text: str) -> str:
    """NFKC, case-folded, white space collapsed, without joiners: two spellings of one text become one."""
    plain = unicodedata.normalize("NFKC", text.translate(_JOINERS))
    return _SPACE.sub(" ", plain).strip().casefold()


def _digest(text: str) -> str:
    return sha256_hex(text.encode("utf-8", "surrogatepass"))[:12]


def sub_query_id(query: str) -> str:
    return f"subq-{_digest(normalised(query))}"


def recall_id(question: str) -> str:
    """Of the sub-query that reads what a conversation saved; a search of the same words has another."""
    return f"subq-{_digest(f'saved: {normalised(question)}')}"


def task_id(sub_query: str, iteration: int, attempt: int) -> str:
    """``sub_query`` is the id of what it works on, ``attempt`` that of the phase."""
    return f"task-{_digest(f'{sub_query} {iteration} {attempt}')}"


def part_id(text: str) -> str:
    return f"part-{_digest(normalised(text))}"


def source_id(address: str) -> str:
    """``address`` is the canonical URL or the corpus-relative path."""
    return f"src-{_digest(address)}"


def finding_id(content: str) -> str:
    return f"find-{_digest(normalised(content))}"


def gap_id(description: str) -> str:
    return f"gap-{_digest(normalised(description))}"


def claim_id(text: str, number: int) -> str:
    """``text`` are its words and its references: what was judged of it with others holds no more. ``number`` counts the
    claims of a report that have the same, from 0."""
    return f"claim-{_digest(f'{number} {normalised(text)}')}"


def contradiction_id(finding_ids: tuple[str, ...]) -> str:
    return f"contra-{_digest(' '.join(sorted(finding_ids)))}"
