"""A pack that verifies is as it was recorded: whatever is otherwise is found and named."""

from __future__ import annotations

import gzip
import random
import shutil
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from packed_runs import (
    CHECKER,
    TEXT,
    Held,
    changed,
    forged,
    members_of,
    stand_in,
    with_claims,
    with_log,
    zipped,
)

from deep_research import DeepResearch, open_pack
from deep_research.errors import DeepResearchError, PackError
from deep_research.packs import Failure, Pack, Verification, pack_run, stored_evidence, verified
from deep_research.packs.recheck import recomputed
from deep_research.packs.verification import SavedTexts
from deep_research.state import ClaimVerdict
from deep_research.state.identity import sha256_hex

Members = dict[str, bytes]
DATABASES = Path(__file__).parents[1] / "data" / "golden"


def verify(path: Path, check: Any = stand_in) -> Verification:
    with Pack(path) as pack:
        return verified(pack, check)


def lines(found: Verification) -> list[str]:
    return [failure.line for failure in found.failures]


def test_a_pack_verifies_with_the_network_blocked(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("nothing is asked for")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
    found = verify(packed)
    assert (found.failures, found.differing, found.holds) == ((), (), True)
    assert (found.texts, found.claims, found.members) == (1, 2, 7)
    assert found.quotes > 0
    assert found.checker == found.own_checker == CHECKER


def test_a_run_of_a_store_verifies_as_its_pack_does(run: Any) -> None:
    run_id, store = run
    assert verified(stored_evidence(store, run_id), stand_in).holds
    text = sha256_hex(TEXT.encode())
    for spoiled in ({}, {**store.texts, text: TEXT.replace("35", "53").encode()}):
        found = verified(stored_evidence(Held(store.rows, spoiled), run_id), stand_in)  # type: ignore[arg-type]
        assert found.failures[0].place == f"texts/{text}"


# One byte


def failures_of(path: Path) -> tuple[Failure, ...]:
    """What fails; the manifest, where nothing of it can be read."""
    try:
        return verify(path).failures
    except PackError as error:
        return (
            (Failure(place="manifest.json", what=error.problem),) if "manifest.json" in error.problem else ()
        )


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.sweep)])
def test_one_byte_of_a_member_that_is_otherwise_is_found(
    members: Members, tmp_path: Path, count: int
) -> None:
    """The archive's own checksums are right, so that only our hashes can tell."""
    chance = random.Random(28)
    for number in range(count):
        name = sorted(members)[number % len(members)]
        place = chance.randrange(len(members[name]))
        body = bytearray(members[name])
        body[place] ^= chance.randrange(1, 256)
        path = zipped(tmp_path / "flipped.zip", {**members, name: bytes(body)})
        named = {failure.place for failure in failures_of(path)}
        assert name in named, (name, place)


@pytest.mark.parametrize("count", [10, pytest.param(400, marks=pytest.mark.sweep)])
def test_one_byte_of_the_file_that_is_otherwise_is_found_or_changes_no_member(
    packed: Path, members: Members, tmp_path: Path, count: int
) -> None:
    chance = random.Random(82)
    for _ in range(count):
        raw = bytearray(packed.read_bytes())
        raw[chance.randrange(len(raw))] ^= chance.randrange(1, 256)
        path = tmp_path / "flipped.zip"
        path.write_bytes(raw)
        with suppress(PackError):
            assert not verify(path).holds or members_of(path) == members


def test_a_text_is_read_once_for_all_claims(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Pack(packed) as pack:
        texts, read = SavedTexts(pack), Counter[str]()
        member = pack.member
        monkeypatch.setattr(pack, "member", lambda name: read.update([name]) or member(name))
        (content_hash,) = texts
        assert {texts[content_hash] for _ in range(100)} == {TEXT}
        assert [*read.values()] == [1]


def test_progress_counts_the_claims(packed: Path) -> None:
    told: list[tuple[int, int]] = []
    with open_pack(packed) as run:
        run.verify(progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


def test_what_reads_a_damaged_pack_is_told(members: Members, tmp_path: Path) -> None:
    name = f"texts/{sha256_hex(TEXT.encode())}"
    with open_pack(zipped(tmp_path / "a.zip", {**members, name: b"another"})) as run:
        assert run.result.report
        with pytest.raises(DeepResearchError, match=r"differs from its manifest\.json"):
            run.text(name.removeprefix("texts/"))


# Packs whose manifest was made anew


def _without(name: str) -> Callable[[Members], Members]:
    return lambda members: {other: body for other, body in members.items() if not other.startswith(name)}


def _text(change: Callable[[bytes], bytes]) -> Callable[[Members], Members]:
    name = f"texts/{sha256_hex(TEXT.encode())}"
    return lambda members: {**members, name: change(members[name])}


def _log(kind: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Members], Members]:
    return lambda members: with_log(members, kind, change)


def _moved_quote(body: dict[str, Any]) -> None:
    body["citations"][0]["start"] += 1


def _other_words(body: dict[str, Any]) -> None:
    body["citations"][0]["quote"] = "Nobody built the Bell Rock lighthouse."


def _longer(body: dict[str, Any]) -> None:
    body["sources"][0]["length"] += 1


def _verdict(body: dict[str, Any]) -> None:
    body["claims"][1]["code_verdict"] = "supported"


def _score(body: dict[str, Any]) -> None:
    body["claims"][0]["score"] -= 1e-5


def _more_claims(body: dict[str, Any]) -> None:
    body["claims"].append({**body["claims"][0], "id": "claim-ffffffffffff"})


def _no_claim(body: dict[str, Any]) -> None:
    del body["claims"][0]


def _counted(body: dict[str, Any]) -> None:
    body["claims"][1]["verdict"] = "supported"


def _by_a_judge(body: dict[str, Any]) -> None:
    body["claims"][1].update(
        verdict="supported", judgement={"key": "claim-1", "verdict": "supported", "model": "m"}
    )


def _red(body: dict[str, Any]) -> None:
    body["report"] = body["report"].replace("blue", "red")


def _other_count(body: dict[str, Any]) -> None:
    body["metadata"]["claims"].update(supported=2, unsupported=0)


def _cleared(body: dict[str, Any]) -> None:
    body.update(draft="", claims=[], citations=[], repairs=[])


def _other_title(body: dict[str, Any]) -> None:
    body["sources"][0]["title"] = "Another title"


def _repaired(body: dict[str, Any]) -> None:
    body["claims"][0].update(was="Somebody built it.")


FORGED: dict[str, tuple[Callable[[Members], Members], str]] = {
    "another text": (_text(lambda text: text.replace(b"35", b"53")), "has another hash than its name"),
    "no text": (_text(lambda text: b"\xff\xfe"), "is no text"),
    "a text is gone": (_without("texts/"), "is missing, with"),
    "another report": (
        lambda members: {**members, "report.md": b"# Nothing\n"},
        "report.md: is not what events.jsonl tells",
    ),
    "no report": (_without("report.md"), "report.md: is missing"),
    "other claims": (lambda members: {**members, "claims.json": b"[]\n"}, "claims.json: is not what"),
    "another set-up": (lambda members: {**members, "setup.json": b"{}\n"}, "setup.json: is not what"),
    "no log": (_without("events.jsonl"), "events.jsonl"),
    "a quote that was moved": (_log("report.written", _moved_quote), "does not stand at"),
    "a quote in other words": (_log("report.written", _other_words), "quote 'Nobody built"),
    "a text of another length": (_log("sub_query.completed", _longer), "characters, not"),
    "another verdict": (_log("report.written", _verdict), "was found supported, and is unsupported"),
    "another score": (_log("report.written", _score), "has another score than 0.999990"),
    "a claim too many": (
        _log("report.written", _more_claims),
        "claim claim-ffffffffffff: is not in the draft",
    ),
    "a verdict that counts otherwise": (_log("report.written", _counted), "counts as supported"),
    "a judge that nobody asked": (
        _log("report.written", _by_a_judge),
        "counts as supported, and is unsupported",
    ),
    "a report in other words": (
        _log("report.written", _red),
        "report.md: is not what its draft makes: line 4 has 'It was painted red.'",
    ),
    "other counts of verdicts": (_log("report.written", _other_count), "report.md: has claims"),
    "no draft": (_log("report.written", _cleared), "report.md: is not what its draft makes"),
    "another title of a source": (
        _log("sub_query.completed", _other_title),
        "report.md: is not what its draft makes",
    ),
    "words before a repair that was none": (_log("report.written", _repaired), "has another was"),
    "a claim too few": (_log("report.written", _no_claim), "is not among those of the report"),
}


@pytest.mark.parametrize("case", FORGED)
def test_what_does_not_fit_together_is_found_under_a_manifest_that_was_made_anew(
    case: str, members: Members, tmp_path: Path
) -> None:
    change, words = FORGED[case]
    found = verify(forged(tmp_path / "forged.zip", change(members)))
    assert not found.holds
    assert any(words in line for line in lines(found)), lines(found)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"research_id": "deepres-0123456789ab"}, "is of run"),
        ({"checker": "other 3"}, "has no verdicts of 'other 3'"),
    ],
)
def test_a_manifest_that_says_otherwise_than_the_log_is_found(
    members: Members, tmp_path: Path, said: dict[str, str], words: str
) -> None:
    assert any(words in line for line in lines(verify(forged(tmp_path / "forged.zip", members, **said))))


def test_members_that_are_missing_or_too_many_are_named(members: Members, tmp_path: Path) -> None:
    extra = f"snapshots/{sha256_hex(b'x')}"
    spoiled = {**_without("texts/")(members), extra: b"x"}
    found = lines(verify(zipped(tmp_path / "spoiled.zip", spoiled)))
    assert f"{extra}: is not in manifest.json" in found
    assert any(line.startswith("texts/") and line.endswith("is missing") for line in found)


# Verdicts


def _stricter(draft: str, state: Any, texts: Any, *, partial: bool) -> Any:
    return tuple(
        claim.model_copy(update={"code_verdict": ClaimVerdict.UNSUPPORTED, "checker": "stand-in 2"})
        for claim in stand_in(draft, state, texts)
    )


def test_verdicts_of_another_version_of_the_checker_are_told_and_are_no_damage(packed: Path) -> None:
    found = verify(packed, _stricter)
    assert found.holds
    assert (found.checker, found.own_checker) == ("stand-in 1", "stand-in 2")
    assert [one.what for one in found.differing] == ["was found supported, and is unsupported"]


def test_verdicts_are_made_from_the_state_before_the_phase_of_the_report_ended(packed: Path) -> None:
    seen: list[Any] = []

    def check(draft: str, state: Any, texts: Any, *, partial: bool) -> Any:
        seen.append(state)
        return stand_in(draft, state, texts)

    assert verify(packed, check).holds
    (state,) = seen
    assert state.report
    assert state.phase == "synthesis"
    assert state.completed_at is None
    assert state.decisions[-1].action == "execute_synthesis"


@pytest.mark.parametrize("whole", [True, False], ids=["a whole one", "one that is put together"])
def test_a_report_that_a_stop_makes_partial_is_checked_as_it_was_then(
    whole: bool, run: Any, tmp_path: Path
) -> None:
    """A whole one was checked against its texts before; one that is put together at the stop, against its quotes."""
    run_id, store = run
    last = max(n for n, row in enumerate(store.rows) if row.type == "report.written")
    *before, written = with_claims(store.rows[: last + 1], store.texts if whole else {})

    def stop(body: dict[str, Any]) -> None:
        body["seq"] += whole
        body["metadata"].update(partial=True)

    (stopped,) = changed([written], written.type, stop)
    stopped = type(stopped)(stopped.seq + whole, stopped.type, stopped.version, stopped.body)
    rows = [*before, *([written] if whole else []), stopped]
    pack_run(Held(rows, store.texts), run_id, tmp_path / "stopped.zip")  # type: ignore[arg-type]
    seen: list[bool] = []

    def check(draft: str, state: Any, texts: Any, *, partial: bool) -> Any:
        seen.append(partial)
        assert bool(texts) is whole
        return stand_in(draft, state, texts)

    assert lines(verify(tmp_path / "stopped.zip", check)) == []
    assert seen == [not whole]


@pytest.mark.parametrize(
    "name", sorted(path.name.removesuffix(".db.gz") for path in DATABASES.glob("*.db.gz"))
)
def test_every_run_of_an_old_database_packs_and_verifies(name: str, tmp_path: Path) -> None:
    with gzip.open(DATABASES / f"{name}.db.gz") as packed, (tmp_path / "runs.db").open("wb") as raw:
        shutil.copyfileobj(packed, raw)
    with DeepResearch(data_dir=tmp_path) as research:
        for run in research.list():
            research.pack(run.research_id, tmp_path / "run.zip", force=True)
            assert lines(verify(tmp_path / "run.zip", recomputed)) == []
            assert research.verify(run.research_id).holds
