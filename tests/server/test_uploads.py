"""Documents that are uploaded under a name, which runs may choose."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from deep_research import DeepResearch
from deep_research.assembly.named_corpora import UPLOADS
from deep_research.server import corpus_uploads
from deep_research.server.app import create_app

pytestmark = pytest.mark.timed

TEXT = b"# Lights\n\nThe light of Mole was built by Ann Mole in 1811."
QUESTION = "Who built the light of Mole?"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DeepResearch]:
    (tmp_path / "kept").mkdir()
    with DeepResearch(
        named_corpora={"kept": tmp_path / "kept"}, data_dir=tmp_path / "home", local_only=True
    ) as made:
        yield made


@pytest.fixture
def client(engine: DeepResearch, client_of: Any) -> TestClient:
    made: TestClient = client_of(create_app(engine))
    return made


def zipped(*files: tuple[str, bytes], link: str = "") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files:
            archive.writestr(name, body)
        if link:
            entry = zipfile.ZipInfo("link.md")
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(entry, link)
    return file.getvalue()


def put_zip(client: TestClient, body: bytes, name: str = "lights") -> Any:
    return client.put(f"/v1/corpora/{name}", content=body, headers={"content-type": "application/zip"})


def test_an_archive_is_a_corpus_that_a_run_may_choose(client: TestClient, engine: DeepResearch) -> None:
    answer = put_zip(client, zipped(("docs/mole.md", TEXT), ("docs/", b""), ("other.txt", b"Nothing of it.")))
    assert (answer.status_code, answer.json()) == (
        200,
        {"name": "lights", "files": 2, "bytes": len(TEXT) + 14},
    )
    assert client.get("/v1/corpora").json()["data"] == ["kept", "lights"]
    run = client.post("/v1/runs", json={"query": QUESTION, "corpora": ["lights"]}).json()
    engine.work(once=True)
    assert "Ann Mole" in client.get(f"/v1/runs/{run['research_id']}/report").text


def test_files_of_a_form_replace_what_was_there(
    client: TestClient, engine: DeepResearch, tmp_path: Path
) -> None:
    put_zip(client, zipped(("old.md", TEXT)))
    files = [("files", ("new.md", TEXT)), ("files", ("sub/other.md", b"# Other"))]
    answer = client.put("/v1/corpora/lights", files=files)
    assert answer.json()["files"] == 2
    folder = tmp_path / "home" / UPLOADS
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.md"))
    assert found == ["lights/new.md", "lights/sub/other.md"]
    assert os.listdir(folder) == ["lights"]
    assert stat.S_IMODE((folder / "lights").stat().st_mode) == 0o700


def test_a_corpus_is_removed(client: TestClient) -> None:
    put_zip(client, zipped(("mole.md", TEXT)))
    assert client.delete("/v1/corpora/lights").status_code == 204
    assert client.get("/v1/corpora").json()["data"] == ["kept"]
    gone = client.delete("/v1/corpora/lights")
    assert (gone.status_code, gone.json()["code"]) == (404, "corpus_not_found")


NAMES = ["../a.md", "/a.md", "a/../../b.md", "a\\..\\b.md", "C:a.md", ".hidden.md", "a/.b/c.md", "a//b.md"]
NAMES += [
    "a\x01.md",
    "x" * 300 + ".md",
    "/".join("abcdefghijkl") + ".md",
    "a.exe",
    "a",
    "..",
    "a\u202e.md",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_that_leads_elsewhere_stores_nothing(client: TestClient, tmp_path: Path, name: str) -> None:
    put_zip(client, zipped(("mole.md", TEXT)))
    before = sorted(tmp_path.rglob("*"))
    for answer in (
        put_zip(client, zipped(("fine.md", TEXT), (name, TEXT))),
        client.put("/v1/corpora/lights", files=[("files", ("fine.md", TEXT)), ("files", (name, TEXT))]),
    ):
        if (
            answer.status_code == 200
        ):  # the library of the form made a plain name of it, or took it for no file
            assert answer.json()["files"] <= 2
            put_zip(client, zipped(("mole.md", TEXT)))
            continue
        assert answer.status_code in (413, 422)
    assert sorted(tmp_path.rglob("*")) == before
    assert not (tmp_path.parent / "a.md").exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"no archive", 422),
        (zipped(), 422),
        (zipped(("a.md", TEXT))[:-30], 422),
        (zipped(("a.md", b"0" * 30_000_000)), 413),
        (zipped(*((f"{n}.md", b"x") for n in range(2_500))), 413),
        (zipped(*((f"{n}.md", b"x") for n in range(1_100))), 413),
        (zipped(("a.md", TEXT), link="/etc/passwd"), 422),
    ],
    ids=["empty", "text", "no entries", "cut", "bomb", "many entries", "many files", "link"],
)
def test_a_hostile_archive_stores_nothing(
    client: TestClient, tmp_path: Path, body: bytes, status: int
) -> None:
    answer = put_zip(client, body)
    assert answer.status_code == status
    assert answer.json()["detail"]
    assert not [path for path in (tmp_path / "home" / UPLOADS).rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", ["kept", "UPPER", "a.b", "..", "-a", "x" * 65, "%2e%2e%2fa"])
def test_a_name_that_no_corpus_may_have_is_refused(client: TestClient, tmp_path: Path, name: str) -> None:
    for answer in (put_zip(client, zipped(("a.md", TEXT)), name), client.delete(f"/v1/corpora/{name}")):
        assert answer.status_code in (404, 405, 415, 422)
    assert list((tmp_path / "kept").iterdir()) == []


def test_another_type_is_refused(client: TestClient) -> None:
    for kind in ("application/json", "text/plain", "application/gzip", ""):
        answer = client.put("/v1/corpora/lights", content=b"{}", headers={"content-type": kind})
        assert (answer.status_code, answer.json()["code"]) == (415, "content_type")


def test_a_disk_that_is_full_or_closed_says_so_and_keeps_what_was_there(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_zip(client, zipped(("mole.md", TEXT)))
    for number, status in ((28, 507), (30, 503)):

        def fail(*_: object, number: int = number) -> None:
            raise OSError(number, "no")

        with monkeypatch.context() as patched:
            patched.setattr(corpus_uploads, "_exchange", fail)
            assert put_zip(client, zipped(("new.md", TEXT))).status_code == status
    assert client.get("/v1/corpora").json()["data"] == ["kept", "lights"]
