"""Walking a folder: everything inside is found, nothing outside is opened."""

from __future__ import annotations

import os
import socket
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deep_research import DeepResearch
from deep_research.errors import CorpusError
from deep_research.sources.documents import LocalCorpus
from deep_research.sources.documents.folder import (
    LOCK_FILE,
    MAX_DEPTH,
    PACKAGES,
    Candidate,
    CorpusFolder,
    Skipped,
)
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.readers import NO_READER

if TYPE_CHECKING:
    from tests.sources.documents.conftest import OpenedFiles

STEPS = [
    "../",
    "..\\",
    "..%2f",
    "%2e%2e/",
    "....//",
    "..;/",
    "..%c0%af",
    "..%252f",
    "/..//",
    "..\u2215",
    "./../",
]
TARGETS = [
    "etc/passwd",
    "etc/shadow",
    "outside/secret.md",
    "secret.md",
    "proc/self/environ",
    "win.ini%00.md",
    "~/.ssh",
]
TRAVERSALS = [step * depth + target for step, depth, target in product(STEPS, range(1, 9), TARGETS)]


def entries(folder: CorpusFolder) -> tuple[list[str], dict[str, str]]:
    found = list(folder.walk())
    return (
        [entry.path for entry in found if isinstance(entry, Candidate)],
        {entry.path: entry.why for entry in found if isinstance(entry, Skipped)},
    )


def look(root: Path | str, **options: Any) -> tuple[list[str], dict[str, str]]:
    with CorpusFolder(root, **options) as folder:
        return entries(folder)


def read_all(root: Path) -> dict[str, bytes]:
    """What a refresh does: read every candidate that can be read."""
    contents = {}
    with CorpusFolder(root) as folder:
        for entry in folder.walk():
            if isinstance(entry, Candidate):
                try:
                    contents[entry.path], _ = folder.read(entry.names)
                except UnreadableError:
                    continue
    return contents


def test_documents_of_all_kinds_are_found_in_order_whatever_the_case_of_their_suffix(root: Path) -> None:
    names = ["b.MD", "a.txt", "c.markdown", "d.rst", "e.HTML", "f.htm", "g.pdf", "h.DOCX"]
    for name in names:
        (root / name).write_text("x")
    (root / "inner" / "deep").mkdir(parents=True)
    (root / "inner" / "deep" / "z.md").write_text("x")
    found, skipped = look(root)
    assert found == [
        "a.txt",
        "b.MD",
        "c.markdown",
        "d.rst",
        "e.HTML",
        "f.htm",
        "g.pdf",
        "h.DOCX",
        "inner/deep/z.md",
    ]
    assert not skipped


def test_files_of_other_formats_are_counted_by_format_and_named(root: Path) -> None:
    (root / "inner").mkdir()
    for name in (
        "a.md",
        "LICENSE",
        "scan.PNG",
        "inner/map.png",
        *(f"inner/{n}.py" for n in range(5)),
        "yarn.lock",
    ):
        (root / name).write_text("x")
    with CorpusFolder(root) as folder:
        entries = [entry for entry in folder.walk() if isinstance(entry, Skipped)]
    assert entries == [
        Skipped("LICENSE", NO_READER),
        Skipped("2 .png files (inner/map.png, scan.PNG)", NO_READER, 2),
        Skipped("5 .py files (inner/0.py, inner/1.py, inner/2.py, …)", NO_READER, 5),
    ]


def test_what_was_not_read_is_told_by_format_in_a_run_and_in_its_report(root: Path) -> None:
    (root / "a.md").write_text("# Mole\n\nThe mole of Brenn was built in 1931 by the county.")
    for name in ("plan.dwg", "old.dwg", "notes.xyz"):
        (root / name).write_bytes(b"\0")
    told = (
        f"3 files were not read: notes.xyz ({NO_READER}) and 2 .dwg files (old.dwg, plan.dwg) ({NO_READER})."
    )
    with DeepResearch(corpus=root, data_dir=root.parent / "data") as engine:
        result = engine.run("When was the mole of Brenn built?")
        assert [entry.count for entry in engine.skipped()] == [2, 1]
    assert told in [notice.message for notice in result.notices]
    assert told in (result.report or "").replace("\\", "")


def test_a_corpus_of_unread_formats_names_them(root: Path) -> None:
    (root / "plan.dwg").write_bytes(b"\0")
    corpus = LocalCorpus(root, data_dir=root.parent / "data")
    with pytest.raises(CorpusError, match=r"plan\.dwg: no reader for this format"):
        corpus.prepare()


def test_hidden_files_and_folders_are_passed_over_in_silence(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "a.md").write_text("x")
    (root / ".hidden.md").write_text("x")
    assert look(root) == ([], {})


def test_what_package_managers_write_is_passed_over_unless_it_is_named_itself(root: Path) -> None:
    packages = [root / "web" / "node_modules", root / "venv" / "site-packages"]
    for folder in packages:
        folder.mkdir(parents=True)
        (folder / "README.md").write_text("x")
    for name in ("package-lock.json", "Packages.lock.json", "package.json", "yarn.lock", "lock.json"):
        (root / name).write_text("{}")
    found, skipped = look(root)
    assert found == ["lock.json", "package.json"]
    assert skipped == {
        "package-lock.json": LOCK_FILE,
        "Packages.lock.json": LOCK_FILE,
        "venv/site-packages": PACKAGES,
        "web/node_modules": PACKAGES,
    }
    assert look(root / "package-lock.json")[0] == ["package-lock.json"]
    assert look(packages[0])[0] == ["README.md"]


def test_a_single_file_is_a_corpus_of_one(root: Path) -> None:
    (root / "a.md").write_text("alone")
    (root / "b.md").write_text("other")
    assert read_all(root / "a.md") == {"a.md": b"alone"}


def test_a_candidate_tells_size_and_time(root: Path) -> None:
    (root / "a.md").write_text("12345")
    os.utime(root / "a.md", ns=(1, 1_700_000_000_000_000_123))
    with CorpusFolder(root) as folder:
        (entry,) = folder.walk()
        assert isinstance(entry, Candidate)
        assert (entry.size, entry.mtime_ns) == (5, 1_700_000_000_000_000_123)


@pytest.mark.parametrize("missing", ["nowhere", "a.md/b", "x\0y"])
def test_a_missing_root_is_a_corpus_error_of_one_line_that_says_what_to_do(root: Path, missing: str) -> None:
    (root / "a.md").write_text("x")
    with pytest.raises(CorpusError, match=r"There is no corpus at .* Name an existing folder") as caught:
        look(f"{root}/{missing}")
    assert "\n" not in str(caught.value)


def test_a_single_file_that_is_no_document_is_refused_unopened(root: Path, opened: OpenedFiles) -> None:
    (root / "a.bin").write_text("x")
    opened.asked.clear()
    with pytest.raises(CorpusError, match="neither a folder nor a document"):
        look(root / "a.bin")
    assert opened.asked == []


def test_a_symlink_out_of_the_root_is_never_opened(root: Path, secret: Path, opened: OpenedFiles) -> None:
    (root / "real.md").write_text("x")
    (root / "passwd.md").symlink_to("/etc/passwd")
    (root / "relative.md").symlink_to("../outside/secret.md")
    (root / "folder").symlink_to(secret.parent)
    (root / "etc").symlink_to("/etc")
    (root / "zero.txt").symlink_to("/dev/zero")
    (root / "environ.txt").symlink_to("/proc/self/environ")
    (root / "dangling.md").symlink_to("nowhere.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "up").symlink_to("..")
    (root / "self").symlink_to(".")
    (root / "inside.md").symlink_to("real.md")
    (root / "inner").mkdir()
    (root / "inner" / "nested.md").symlink_to("../../outside/secret.md")
    assert read_all(root) == {"real.md": b"x"}
    assert opened.outside(root) == []
    _, skipped = look(root)
    assert len(skipped) == 12
    assert set(skipped.values()) == {"a symbolic link; links are not followed"}


def test_a_root_that_is_a_link_itself_is_the_users_choice(root: Path, tmp_path: Path) -> None:
    (root / "a.md").write_text("x")
    (tmp_path / "link").symlink_to(root)
    assert read_all(tmp_path / "link") == {"a.md": b"x"}


def test_a_hard_link_is_a_regular_file_and_is_read(root: Path, secret: Path) -> None:
    os.link(secret, root / "linked.md")
    assert "canary" in read_all(root)["linked.md"].decode()


def test_pipes_and_sockets_are_reported_and_never_opened(
    root: Path, opened: OpenedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe.md")
    monkeypatch.chdir(root)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.txt")
        found, skipped = look(root)
    assert found == []
    assert skipped == {"pipe.md": "not a regular file", "s.txt": "not a regular file"}
    with CorpusFolder(root) as folder, pytest.raises(UnreadableError, match="not a regular file"):
        folder.read(("pipe.md",))
    assert not {"pipe.md", "s.txt"} & set(opened.asked)


def test_a_traversal_string_reads_nothing_outside(root: Path, secret: Path, opened: OpenedFiles) -> None:
    with CorpusFolder(root) as folder:
        for name in TRAVERSALS:
            for names in ((name,), tuple(name.split("/")), tuple(part for part in name.split("/") if part)):
                with pytest.raises(UnreadableError):
                    folder.read(names)
    assert opened.outside(root) == []


def test_there_are_enough_traversal_strings() -> None:
    assert len(set(TRAVERSALS)) >= 500


def test_traversal_strings_as_file_names_are_only_names(
    root: Path, secret: Path, opened: OpenedFiles
) -> None:
    names = {f"x{pattern.replace('/', '∕')[:80]}.md" for pattern in TRAVERSALS}
    for name in names:
        (root / name).write_text("harmless")
    opened.asked.clear()
    opened.real.clear()
    contents = read_all(root)
    assert len(contents) == len(names) >= 500
    assert set(contents.values()) == {b"harmless"}
    assert opened.outside(root) == []


def test_traversal_strings_as_roots_open_nothing_outside(root: Path, opened: OpenedFiles) -> None:
    refused = 0
    for pattern in TRAVERSALS:
        try:
            read_all(Path(f"{root}/{pattern}"))
        except CorpusError:
            refused += 1
    assert refused == len(TRAVERSALS)
    assert opened.outside(root) == []


@pytest.mark.parametrize("swap", ["file", "folder", "pipe"])
def test_what_is_swapped_after_the_check_is_not_read(
    root: Path, secret: Path, opened: OpenedFiles, monkeypatch: pytest.MonkeyPatch, swap: str
) -> None:
    inner = root / "inner"
    inner.mkdir()
    (inner / "secret.md").write_text("harmless")
    with CorpusFolder(root) as folder:
        (entry,) = folder.walk()
        assert isinstance(entry, Candidate)
        if swap == "folder":
            inner.rename(root / "old")
            inner.symlink_to(secret.parent)
        else:
            checked = os.stat

            def stat_then_swap(path: str, **options: Any) -> os.stat_result:
                status = checked(path, **options)
                if path == "secret.md":
                    (inner / "secret.md").unlink()
                    if swap == "file":
                        (inner / "secret.md").symlink_to(secret)
                    else:
                        os.mkfifo(inner / "secret.md")
                return status

            monkeypatch.setattr(os, "stat", stat_then_swap)
        with pytest.raises(UnreadableError):
            folder.read(entry.names)
    assert opened.outside(root) == []


def test_an_oversize_file_is_reported_and_not_opened(root: Path, opened: OpenedFiles) -> None:
    (root / "big.md").write_bytes(b"x" * 1001)
    (root / "fits.md").write_bytes(b"x" * 1000)
    opened.asked.clear()
    found, skipped = look(root, max_file_bytes=1000)
    assert found == ["fits.md"]
    assert skipped == {"big.md": "larger than max_file_bytes (1,000); raise it"}
    assert "big.md" not in opened.asked


def test_a_file_that_grows_after_the_look_is_not_read_beyond_the_limit(root: Path) -> None:
    (root / "a.md").write_bytes(b"x")
    with CorpusFolder(root, max_file_bytes=10) as folder:
        (entry,) = folder.walk()
        assert isinstance(entry, Candidate)
        (root / "a.md").write_bytes(b"x" * 100_000)
        with pytest.raises(UnreadableError, match=r"larger than max_file_bytes \(10\)"):
            folder.read(entry.names)


def test_a_file_that_disappears_is_unreadable_and_nothing_more(root: Path) -> None:
    (root / "a.md").write_bytes(b"x")
    with CorpusFolder(root) as folder:
        (entry,) = folder.walk()
        assert isinstance(entry, Candidate)
        (root / "a.md").unlink()
        with pytest.raises(UnreadableError, match="no such file"):
            folder.read(entry.names)


def test_a_file_without_permission_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a.md").write_bytes(b"x")
    opening = os.open

    def refuse(path: str, flags: int, **options: Any) -> int:
        if path == "a.md":
            raise PermissionError(13, "Permission denied")
        return opening(path, flags, **options)

    monkeypatch.setattr(os, "open", refuse)
    with CorpusFolder(root) as folder, pytest.raises(UnreadableError, match="permission denied"):
        folder.read(("a.md",))


def test_a_folder_that_cannot_be_entered_is_reported_and_the_rest_is_found(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "closed").mkdir()
    (root / "z.md").write_bytes(b"x")
    opening = os.open

    def refuse(path: str, flags: int, **options: Any) -> int:
        if path == "closed":
            raise PermissionError(13, "Permission denied")
        return opening(path, flags, **options)

    monkeypatch.setattr(os, "open", refuse)
    assert look(root) == (["z.md"], {"closed": "permission denied"})


def test_names_that_are_not_utf8_or_not_printable_are_read_under_an_escaped_path(root: Path) -> None:
    with open(os.fsencode(root) + b"/caf\xe9.md", "wb") as file:
        file.write(b"latin name")
    (root / "two\nlines\u202e.md").write_text("control name")
    assert read_all(root) == {r"caf\udce9.md": b"latin name", r"two\nlines\u202e.md": b"control name"}


def test_folders_nested_too_deep_are_reported(root: Path) -> None:
    inner = root
    for _ in range(MAX_DEPTH + 2):
        inner = inner / "d"
    inner.mkdir(parents=True)
    (inner / "a.md").write_text("x")
    found, skipped = look(root)
    assert found == []
    assert list(skipped.values()) == [f"more than {MAX_DEPTH} folders deep"]


def test_no_descriptor_is_left_open(root: Path, secret: Path) -> None:
    (root / "inner").mkdir()
    (root / "inner" / "a.md").write_text("x")
    (root / "link.md").symlink_to(secret)
    before = len(os.listdir("/dev/fd"))
    read_all(root)
    with CorpusFolder(root) as folder:
        for names in (("link.md",), ("nowhere", "a.md"), ("inner",), ("inner", "..", "a.md")):
            with pytest.raises(UnreadableError):
                folder.read(names)
        next(folder.walk())
    assert len(os.listdir("/dev/fd")) == before
