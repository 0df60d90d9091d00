"""Files that are no packs, or are made to do harm: one line each, wrong use, and nothing is written anywhere."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packed_runs import forged, with_log, zipped

from deep_research import open_pack
from deep_research.archives import Bounds
from deep_research.errors import PackError, PackVersionError, UsageError
from deep_research.interfaces.cli.main import main
from deep_research.packs import pack as packs
from deep_research.state.events import RunCreated

Members = dict[str, bytes]
MANIFEST = "manifest.json"


def _raw(members: Members, name: str = "run.zip") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, body in members.items():
            archive.writestr(each, body)
    return file.getvalue()


def _with(pack: Members, **said: object) -> bytes:
    manifest = json.loads(pack[MANIFEST]) | said
    return _raw({**pack, MANIFEST: json.dumps(manifest).encode()})


def _entry(members: Members, info: zipfile.ZipInfo, body: bytes = b"x") -> bytes:
    file = io.BytesIO(_raw(members))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(info, body)
    return file.getvalue()


def _link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(f"texts/{'0' * 64}")
    info.external_attr = 0o120777 << 16
    return info


def _encrypted(members: Members) -> bytes:
    raw = bytearray(_raw(members))
    place = raw.find(b"PK\x01\x02")
    raw[place + 8] |= 1
    return bytes(raw)


def _packed_as(members: Members, packing: int) -> bytes:
    raw = bytearray(_raw(members))
    place = raw.find(b"PK\x01\x02")
    raw[place + 10 : place + 12] = struct.pack("<H", packing)
    return bytes(raw)


def _twice(members: Members) -> bytes:
    with pytest.warns(UserWarning, match="Duplicate"):
        return _entry(members, zipfile.ZipInfo("report.md"))


def _bomb(members: Members) -> bytes:
    return _raw({**members, f"texts/{'0' * 64}": bytes(3_000_000)})


def _lying(members: Members) -> bytes:
    """Says of a large member that it is small."""
    raw = bytearray(_raw({MANIFEST: bytes(2_000_000)}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = raw.find(mark)
        raw[place + offset : place + offset + 4] = struct.pack("<L", 100)
    return bytes(raw)


def _large_directory(members: Members) -> bytes:
    """Says that its directory has gigabytes."""
    raw = bytearray(_raw(members))
    place = raw.rfind(b"PK\x05\x06")
    raw[place + 12 : place + 16] = struct.pack("<L", 2**31)
    return bytes(raw)


def _overlapping(members: Members) -> bytes:
    """Two entries of one place."""
    raw = bytearray(_raw(members))
    first = raw.find(b"PK\x01\x02")
    second = raw.find(b"PK\x01\x02", first + 1)
    raw[second + 42 : second + 46] = raw[first + 42 : first + 46]
    return bytes(raw)


HOSTILE: dict[str, tuple[Callable[[Members], bytes], str]] = {
    "empty": (lambda members: b"", "no zip archive"),
    "a text": (lambda members: b"Robert Stevenson built it.", "no zip archive"),
    "cut off": (lambda members: _raw(members)[:-400], "damaged zip archive"),
    "its beginning alone": (lambda members: b"PK\x03\x04", "damaged zip archive"),
    "no manifest": (lambda members: _raw({"report.md": b"x"}), "without our manifest"),
    "an archive of something else": (
        lambda members: _raw({"word/document.xml": b"<x/>"}),
        "which a pack cannot have",
    ),
    "a manifest of something else": (lambda members: _raw({MANIFEST: b'{"name": "x"}'}), "something else"),
    "a manifest that is no JSON": (lambda members: _raw({MANIFEST: b"{"}), "is no JSON"),
    "a manifest that nests": (lambda members: _raw({MANIFEST: b"[" * 90_000}), "is no JSON"),
    "a manifest with more": (lambda members: _with(members, more=1), "says what no manifest says"),
    "a manifest of no kind": (lambda members: _with(members, members=[1]), "says what no manifest says"),
    "a manifest of bad hashes": (
        lambda members: _with(members, members={"report.md": {"size": 1, "sha256": "../x"}}),
        "says what no manifest says",
    ),
    "format 0": (lambda members: _with(members, format_version=0), "says what no manifest says"),
    "a newer format": (lambda members: _with(members, format_version=2), "Upgrade deep-research"),
    "other shapes": (lambda members: _with(members, shapes="0" * 64), "was written by deep-research"),
    "traversal": (lambda members: _raw({**members, "../../evil.txt": b"x"}), "names that lead outside"),
    "traversal with backslashes": (lambda members: _raw({**members, "..\\evil.txt": b"x"}), "lead outside"),
    "an absolute name": (lambda members: _raw({**members, "/etc/evil": b"x"}), "names that lead outside"),
    "a drive": (lambda members: _raw({**members, "C:/evil": b"x"}), "names that lead outside"),
    "a folder": (lambda members: _raw({**members, "texts/": b""}), "which a pack cannot have"),
    "a name with an escape": (
        lambda members: _raw({**members, "\x1b[2Jx": b"x"}),
        "which a pack cannot have",
    ),
    "a symbolic link": (lambda members: _entry(members, _link(), b"/etc/passwd"), "names that lead outside"),
    "a name twice": (_twice, "two entries of one name"),
    "encrypted": (_encrypted, "encrypted"),
    "an unknown packing": (lambda members: _packed_as(members, 99), "an archive with an unknown compression"),
    "lzma": (lambda members: _packed_as(members, zipfile.ZIP_LZMA), "an archive with an unknown compression"),
    "a bomb": (_bomb, "packed more than 100 to 1"),
    "a bomb that lies": (_lying, "archive"),
    "a directory of gigabytes": (_large_directory, "more than 50,000 entries"),
    "entries that overlap": (_overlapping, "overlap"),
}


@pytest.mark.parametrize("command", ["verify", "replay", "show"])
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_pack_ends_in_one_line_and_writes_nothing(
    case: str,
    command: str,
    members: Members,
    tmp_path: Path,
    own_home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make, words = HOSTILE[case]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = tmp_path / "hostile.zip"
    path.write_bytes(make(members))
    code = main([command, str(path)])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "\x1b" not in err
    assert words in err
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["here", "hostile.zip"]
    assert [*own_home.rglob("*")] == []


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"entries": 3}, "more than 3 entries"),
        ({"unpacked": 900}, "unpacks to more than 900 bytes"),
        ({"entry": 500}, "an entry of more than 500 bytes"),
    ],
)
def test_a_pack_beyond_a_bound_is_refused_by_it(
    packed: Path, monkeypatch: pytest.MonkeyPatch, bounds: dict[str, int], words: str
) -> None:
    ours = packs.BOUNDS
    fields = {name: getattr(ours, name) for name in ("entries", "unpacked", "entry", "ratio")}
    monkeypatch.setattr(packs, "BOUNDS", Bounds(**{**fields, **bounds}))
    with pytest.raises(PackError, match=words):
        open_pack(packed)


def test_a_file_or_manifest_beyond_its_bound_is_refused(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packs, "MAX_MANIFEST_BYTES", 100)
    with pytest.raises(PackError, match=r"manifest\.json has more than 100 bytes"):
        open_pack(packed)
    monkeypatch.setattr(packs, "MAX_BYTES", 100)
    with pytest.raises(PackError, match="has more than 100 bytes"):
        open_pack(packed)


@pytest.mark.parametrize("place", ["missing.zip", ".", "/dev/null", "a\0b"])
def test_what_is_no_file_is_wrong_use(place: str) -> None:
    with pytest.raises(PackError) as error:
        open_pack(place)
    assert isinstance(error.value, UsageError)
    assert error.value.hint


def test_a_log_of_a_newer_version_says_to_upgrade(members: Members, tmp_path: Path) -> None:
    newer = members["events.jsonl"].replace(
        b'"type":"run.created","version":%d' % RunCreated.CURRENT, b'"type":"run.created","version":99', 1
    )
    path = forged(tmp_path / "newer.zip", {**members, "events.jsonl": newer})
    for read in (lambda run: run.verify(), lambda run: run.events, lambda run: run.result):
        with open_pack(path) as run, pytest.raises(PackVersionError, match="Upgrade deep-research"):
            read(run)


OPENING = b'"body":{"version":%d,"seq":1,' % RunCreated.CURRENT
LOGS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda log: b"",
    "no lines of ours": lambda log: b"{}\n",
    "an event is missing": lambda log: b"".join(log.splitlines(keepends=True)[1:]),
    "an event stands twice": lambda log: log.splitlines(keepends=True)[0] + log,
    "a body that is no JSON": lambda log: log.replace(b'"body":{', b'"body":{{', 1),
    "a body that nests": lambda log: log.replace(b'"body":{', b'"body":' + b"[" * 100_000, 1),
    "another number within": lambda log: log.replace(OPENING, OPENING.replace(b'"seq":1', b'"seq":2')),
    "binary": lambda log: bytes(range(256)) * 10,
}


@pytest.mark.parametrize("case", LOGS)
def test_a_log_that_cannot_be_read_is_a_damaged_pack_and_a_failure_of_verification(
    case: str, members: Members, tmp_path: Path
) -> None:
    log = LOGS[case](members["events.jsonl"])
    assert log != members["events.jsonl"]
    path = forged(tmp_path / "forged.zip", {**members, "events.jsonl": log})
    with open_pack(path) as run:
        assert [failure.place for failure in run.verify().failures] == ["events.jsonl"]
        with pytest.raises(PackError, match="is damaged"):
            _ = run.result


def test_an_archive_written_by_another_program_is_read_all_the_same(members: Members, tmp_path: Path) -> None:
    with open_pack(zipped(tmp_path / "again.zip", dict(reversed(members.items())))) as run:
        assert run.result.report == members["report.md"].decode()


@pytest.mark.parametrize("command", ["verify", "replay", "show"])
def test_no_control_character_of_a_pack_reaches_a_pipe(
    command: str, members: Members, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def spoil(body: dict[str, Any]) -> None:
        body["report"] = f"\x1b]0;owned\x07\x9b31m{body['report']}\u202e"

    path = forged(tmp_path / "spoiled.zip", with_log(members, "report.written", spoil))
    main([command, str(path)])
    out, err = capsys.readouterr()
    assert out
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", out + err)
