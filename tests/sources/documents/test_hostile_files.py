"""Hostile files in a folder of documents: the process neither grows nor waits, the file beside them is found, and nothing
is left when it is killed. And the large files that people have are read whole."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deep_research.sources.documents import LocalCorpus
from deep_research.sources.search.base import SearchRequest

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours

from honest_files import HONEST, LAST
from hostile_files import HOSTILE, SHAPES, SIZES, Hostile
from reading_apart import HONEST as BESIDE

pytestmark = pytest.mark.timed

GROWTH = 32.0  # MB
HELD = 0.05  # seconds of computing
TRIES = 3  # a machine that does other things spoils one or two, a fault all of them
STEP = 23  # of so many cases of a format the ordinary run takes one
WHY = 200  # characters of a reason

Case = tuple[Hostile, str]
ROOT = str(Path(__file__).parents[3])
ENVIRONMENT = {**os.environ, "PYTHONPATH": ROOT}


def cases(suffix: str) -> list[Case]:
    return [(hostile, size) for hostile in HOSTILE if hostile.suffix == suffix for size in SIZES]


SAMPLE = [case for place, suffix in enumerate(SHAPES) for case in cases(suffix)[place % len(SIZES) :: STEP]]


def opened(folders: list[Path]) -> Iterator[dict[str, Any]]:
    """What `reading_apart` tells of each folder."""
    command = [sys.executable, str(Path(__file__).with_name("reading_apart.py")), *map(str, folders)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    assert process.returncode == 0


def folder_of(home: Path, name: str, files: dict[str, bytes]) -> Path:
    folder = home / name
    folder.mkdir(parents=True)
    (folder / "honest.md").write_text(BESIDE)
    for file, raw in files.items():
        (folder / file).write_bytes(raw)
    return folder


def measured(home: Path, folders: dict[str, list[Case]]) -> dict[str, dict[str, Any]]:
    """What opening each folder of files cost, in one process that has done so before."""
    first = folder_of(home, "first", {"first.csv": b"name,level\nmole,3\n"})
    made = [
        folder_of(
            home,
            name,
            {f"hostile{at}{one.suffix}": one.make(SIZES[size]) for at, (one, size) in enumerate(within)},
        )
        for name, within in folders.items()
    ]
    _, *told = opened([first, *made])
    return {each["folder"]: each for each in told}


def complaints(told: dict[str, Any], hostile: int) -> list[str]:
    """What does not hold of a folder with so many hostile files."""
    found = []
    if told["grown"] > GROWTH:
        found.append(f"grew by {told['grown']} MB")
    if max(told["held"], told["late"]) > HELD:
        found.append(f"the loop was held for {told['held']} s, kept from it for {told['late']} s")
    if "honest.md" not in told["found"]:
        found.append("the honest one is not found")
    if told["documents"] + len(told["skipped"]) != hostile + 1:
        found.append(f"{told['documents']} documents and {len(told['skipped'])} skipped")
    found += [
        f"no reason on a line: {why!r}"
        for why in told["skipped"].values()
        if not why.strip() or "\n" in why or len(why) > WHY
    ]
    return found


def no_harm(home: Path, folders: dict[str, list[Case]]) -> None:
    """Nothing to complain of in one of a few tries. Prints the worst figures."""
    left, bad = folders, {}
    for attempt in range(TRIES):
        told = measured(home / str(attempt), left)
        assert set(told) == set(left)
        worst = {
            kind: max((each[kind], name) for name, each in told.items()) for kind in ("grown", "held", "late")
        }
        print(*(f"{kind} {figure} ({name})" for kind, (figure, name) in worst.items()), sep="; ")
        bad = {name: complaints(each, len(left[name])) for name, each in told.items()}
        left = {name: within for name, within in left.items() if bad[name]}
        if not left:
            return
    assert not bad, "\n".join(f"{name}: {', '.join(why)}" for name, why in bad.items() if why)


def each_alone(chosen: list[Case]) -> dict[str, list[Case]]:
    return {f"{one.suffix[1:]}, {one.name}, {size}": [(one, size)] for one, size in chosen}


def test_there_are_generators_of_every_format() -> None:
    assert len(HOSTILE) >= 40
    assert {one.suffix for one, _ in SAMPLE} == set(SHAPES) == set(HONEST)
    assert {size for _, size in SAMPLE} == set(SIZES)


def test_a_sample_of_hostile_files_does_no_harm(tmp_path: Path) -> None:
    no_harm(tmp_path, each_alone(SAMPLE[::3]))


@pytest.mark.sweep
def test_the_whole_sample_of_hostile_files_does_no_harm(tmp_path: Path) -> None:
    no_harm(tmp_path, each_alone(SAMPLE))


@pytest.mark.sweep
@pytest.mark.timeout(0)
@pytest.mark.parametrize("suffix", SHAPES)
def test_no_hostile_file_does_harm(tmp_path: Path, suffix: str) -> None:
    no_harm(tmp_path, each_alone(cases(suffix)))


def named(suffix: str, name: str) -> Hostile:
    return next(one for one in HOSTILE if (one.suffix, one.name) == (suffix, name))


def test_several_large_files_are_not_held_at_once(tmp_path: Path) -> None:
    large = [
        (named(suffix, name), "9 MB")
        for suffix, name in (
            (".csv", "commas"),
            (".docx", "boxes within boxes"),
            (".json", "one number"),
            (".json", "lists that do not close"),
            (".txt", "one word"),
        )
    ]
    no_harm(tmp_path, {"several": large})


KILLED = """
import asyncio, sys
from deep_research.sources.documents import LocalCorpus
from deep_research.sources.search.base import SearchRequest

async def main():
    corpus = LocalCorpus(sys.argv[1], data_dir=sys.argv[2])
    searching = asyncio.create_task(corpus.search(SearchRequest(query="lamp", limit=5)))
    while len(corpus._extractor._running) < 2:
        await asyncio.sleep(0)
    print("at work", flush=True)
    await searching

asyncio.run(main())
"""


def readers_of(parent: int) -> list[int]:
    """The processes that read documents for this one, whoever is their parent now."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"deep_research.sources.extract.worker" in words and str(parent).encode() in words:
                found.append(int(place.name))
    return found


def test_no_child_is_left_of_a_process_that_is_killed_while_it_reads(tmp_path: Path) -> None:
    slow, other = named(".docx", "paragraphs of nothing"), named(".json", "pieces of pages")
    raw = slow.make(SIZES["1 MB"])
    files = {
        "a.docx": raw,
        "b.docx": raw,
        "c.json": other.make(SIZES["9 MB"]),
        "d.docx": slow.make(SIZES["9 MB"]),
    }
    folder = folder_of(tmp_path, "large", files)
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder), str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "at work\n"
        end = time.monotonic() + 300
        while not readers_of(parent.pid):  # a child has its name once it runs its own program
            assert time.monotonic() < end
            time.sleep(0.01)
        parent.kill()
    while readers_of(parent.pid):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    "suffix",
    [
        pytest.param(each, marks=() if each in (".pdf", ".md", ".json") else pytest.mark.sweep)
        for each in HONEST
    ],
)
def test_an_honest_file_of_10_mb_is_read_whole(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "docs").mkdir()
    raw = HONEST[suffix]()
    assert 9_500_000 < len(raw) <= 10_000_000
    (tmp_path / "docs" / f"log{suffix}").write_bytes(raw)
    # What is all text may be so long; what is mostly pictures and scripts needs no more than the default.
    longer = {} if suffix in (".html", ".pdf", ".docx") else {"max_text_bytes": 11_000_000}

    async def main() -> None:
        corpus = LocalCorpus(tmp_path / "docs", data_dir=tmp_path / "data", **longer)
        try:
            found = await corpus.search(
                SearchRequest(query="At the end the keeper put out the lamp", limit=1)
            )
            assert corpus.skipped == ()
            assert LAST in " ".join((found[0].text or "").split())
        finally:
            await corpus.aclose()

    asyncio.run(main())
