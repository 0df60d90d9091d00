"""What is packed, and how it is written."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packed_runs import PAGE, TEXT, Held, changed, members_of

from deep_research import DeepResearch, SupervisorHooks
from deep_research.errors import ContentMissingError, PackError, RunNotFoundError, UsageError
from deep_research.logs import register_secret
from deep_research.packs import Pack, pack_run, packer
from deep_research.state.identity import sha256_hex
from deep_research.testing import ScriptedSearch


def test_a_pack_holds_report_claims_texts_pages_events_set_up_and_the_hash_of_each(
    run: Any, members: dict[str, bytes]
) -> None:
    run_id, store = run
    text, page = f"texts/{sha256_hex(TEXT.encode())}", f"snapshots/{sha256_hex(PAGE)}"
    assert set(members) == {
        *["report.md", "claims.json", "setup.json", "events.jsonl", "manifest.json"],
        text,
        page,
    }
    assert members[text].decode() == TEXT
    assert members[page] == PAGE
    manifest = json.loads(members["manifest.json"])
    assert manifest["members"] == {
        name: {"size": len(body), "sha256": sha256_hex(body)}
        for name, body in members.items()
        if name != "manifest.json"
    }
    assert (manifest["research_id"], manifest["checker"]) == (run_id, "stand-in 1")
    lines = [json.loads(line) for line in members["events.jsonl"].splitlines()]
    assert [(e["seq"], e["type"], e["version"]) for e in lines] == [
        (r.seq, r.type, r.version) for r in store.rows
    ]
    assert [e["body"] for e in lines] == [json.loads(row.body) for row in store.rows]
    assert "Robert Stevenson" in members["report.md"].decode()
    assert [claim["code_verdict"] for claim in json.loads(members["claims.json"])] == [
        "supported",
        "unsupported",
    ]
    assert set(json.loads(members["setup.json"])) == {"research_id", "query", "options", "setup"}


def test_the_same_run_packs_to_the_same_bytes(run: Any, packed: Path, tmp_path: Path) -> None:
    pack_run(run[1], run[0], tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_what_packs_too_well_to_be_believed_is_stored_as_it_is(run: Any, tmp_path: Path) -> None:
    run_id, store = run
    blank = b" " * 3_000_000
    texts = {**store.texts, sha256_hex(blank): blank}

    def blank_page(body: dict[str, Any]) -> None:
        body["sources"][0]["snapshot_hash"] = sha256_hex(blank)

    pack_run(Held(changed(store.rows, "sub_query.completed", blank_page), texts), run_id, tmp_path / "a.zip")  # type: ignore[arg-type]
    with Pack(tmp_path / "a.zip") as pack:
        assert pack.member(f"snapshots/{sha256_hex(blank)}") == blank


def test_an_existing_file_is_replaced_by_force_alone_and_keeps_its_rights(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.zip"
    path.write_text("mine")
    path.chmod(0o640)
    with pytest.raises(UsageError, match="exists already"):
        pack_run(run[1], run[0], path)
    assert path.read_text() == "mine"
    pack_run(run[1], run[0], path, force=True)
    assert zipfile.is_zipfile(path)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("broken", ["a text is gone", "the disk is full", "a secret", "too large"])
def test_a_pack_that_cannot_be_finished_leaves_nothing_and_the_old_file_as_it_was(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    run_id, store = run
    path = tmp_path / "run.zip"
    path.write_text("mine")
    expected: type[Exception] = PackError
    if broken == "a text is gone":
        store, expected = Held(store.rows, {}), ContentMissingError
    elif broken == "the disk is full":
        full = OSError(28, "No space left on device")
        monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *_, **__: (_ for _ in ()).throw(full))
        expected = UsageError
    elif broken == "a secret":
        key = f"sk-{secrets.token_hex(12)}"
        store = Held(
            changed(store.rows, "run.created", lambda body: body.update(query=f"Who has {key}?")), store.texts
        )
        register_secret(key)
    else:
        monkeypatch.setattr(packer, "MAX_MEMBER_BYTES", 20)
    with pytest.raises(expected):
        pack_run(store, run_id, path, force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["run.zip"]
    assert path.read_text() == "mine"


@pytest.mark.parametrize("place", ["no/such/folder/run.zip", ".", "a\0b"])
def test_a_place_that_no_file_can_have_is_wrong_use(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        pack_run(run[1], run[0], place)
    assert list(tmp_path.iterdir()) == []


class Raising(SupervisorHooks):
    """Fails with a path of the machine in its words."""

    def __init__(self, place: Path) -> None:
        self._place = place

    async def before_phase(self, state: Any, phase: Any) -> None:
        (self._place / "missing.cfg").read_text()


def test_no_member_holds_a_secret_or_a_path_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / f"canary-{secrets.token_hex(4)}"
    corpus, data = place / "corpus", place / "data"
    corpus.mkdir(parents=True)
    (corpus / "bell-rock.md").write_text(
        "# Bell Rock\n\nRobert Stevenson built the Bell Rock lighthouse in 1810.\n"
    )
    (corpus / "empty.pdf").write_bytes(b"%PDF-1.4 nothing")
    (corpus / "broken.docx").write_bytes(b"PK nothing")
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.chdir(place)
    key = f"tvly-{secrets.token_hex(16)}"
    monkeypatch.setenv("TAVILY_API_KEY", key)
    settings = {"corpus": corpus, "data_dir": data, "config": _config(place), "reflection": "never"}
    failing = ScriptedSearch([OSError(2, "No such file", str(place / "cache"))] * 9)
    for hooks in (None, Raising(place)):
        with DeepResearch(search=["corpus", failing], hooks=hooks, **settings) as research:
            result = research.run("Who built the Bell Rock lighthouse?")
            path = tmp_path / f"{result.research_id}.zip"
            research.pack(result.research_id, path)
        for name, body in members_of(path).items():
            for canary in (key, place.name, os.uname().nodename):
                assert canary.encode() not in body, (name, _around(body, canary.encode()))


def _config(place: Path) -> Path:
    path = place / "settings.toml"
    path.write_text("[research]\nmax_sub_queries = 3\n")
    return path


def _around(body: bytes, canary: bytes) -> bytes:
    at = body.find(canary)
    return body[max(0, at - 200) : at + 100]


def test_a_run_that_is_not_there_is_not_packed(tmp_path: Path) -> None:
    with DeepResearch(search=[ScriptedSearch()], store="memory") as research, pytest.raises(RunNotFoundError):
        research.pack("deepres-0123456789ab", tmp_path / "run.zip")
    assert list(tmp_path.iterdir()) == []


def test_a_pack_is_where_a_link_leads_to(run: Any, tmp_path: Path) -> None:
    (tmp_path / "link.zip").symlink_to(tmp_path / "real.zip")
    pack_run(run[1], run[0], tmp_path / "link.zip")
    assert (tmp_path / "link.zip").is_symlink()
    assert zipfile.is_zipfile(shutil.copy(tmp_path / "real.zip", tmp_path / "copy.zip"))
