from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest
from cli_double import QUESTION, Done, Double

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]


@pytest.fixture
def run_id(cli: Cli) -> str:
    return str(cli("run", QUESTION, "--json").json["research_id"])


def test_a_run_is_packed_verified_and_replayed(cli: Cli, plain: Cli, run_id: str, home: Path) -> None:
    packed = cli("pack", run_id, "--out", "run.zip")
    assert (packed.code, packed.out) == (0, "")
    assert packed.err.startswith(f"Packed {run_id} in run.zip: ")
    events = cli("events", run_id).out
    cli("delete", run_id)
    for command in (cli, plain):
        verified = command("verify", "run.zip")
        assert (verified.code, verified.err) == (0, "")
        assert verified.out.startswith(f"{run_id} is unchanged: ")
        assert verified.out.count("\n") == 1
        replayed = command("replay", "run.zip")
        assert (replayed.code, replayed.out, replayed.err) == (0, events, "")


def test_a_run_is_verified_by_its_id(cli: Cli, run_id: str) -> None:
    assert cli("verify", run_id).out.startswith(f"{run_id} is unchanged: ")
    assert cli("verify", run_id, "--json").json["holds"] is True
    missing = cli("verify", "deepres-00000000beef")
    assert (missing.code, missing.out) == (2, "")


def test_what_fails_is_named_up_to_ten(cli: Cli, run_id: str, tmp_path: Path) -> None:
    cli("pack", run_id, "-o", "run.zip", "--quiet")
    with ZipFile("run.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    extra = {f"texts/{number:064x}": b"x" for number in range(12)}
    with ZipFile("spoiled.zip", "w") as archive:
        for name, body in {**members, **extra, "report.md": b"# Another\n"}.items():
            archive.writestr(name, body)
    spoiled = cli("verify", "spoiled.zip")
    lines = spoiled.out.splitlines()
    assert (spoiled.code, spoiled.err) == (1, "")
    assert lines[0] == f"{run_id} differs from its record: 13 failures."
    assert lines[1] == "- report.md: is not as manifest.json has it"
    assert len(lines) == 12
    assert lines[-1] == "- and 3 more"
    assert len(cli("verify", "spoiled.zip", "--json").json["failures"]) == 13


def test_json_is_the_manifest_the_verification_and_an_event_a_line(cli: Cli, run_id: str) -> None:
    manifest = cli("pack", run_id, "--out", "run.zip", "--json").json
    assert manifest["research_id"] == run_id
    assert "report.md" in manifest["members"]
    verified = cli("verify", "run.zip", "--json").json
    assert (verified["holds"], verified["failures"]) == (True, [])
    events = [json.loads(line) for line in cli("replay", "run.zip", "--json").out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["pack", "ID"], "pack needs --out. Add --out FILE."),
        (["pack", "ID", "--out", "there.zip"], "exists already"),
        (["pack", "ID", "--out", "no/folder/run.zip"], "cannot be written"),
        (["pack", "deepres-00000000beef", "--out", "run.zip"], "No run 'deepres-00000000beef'"),
        (["pack", "nonsense", "--out", "run.zip"], "is not a run id"),
        (["verify", "missing.zip"], "There is no file 'missing.zip'"),
        (["verify", ""], "There is no file ''"),
        (["replay", ""], "'' is no file"),
        (["show", "missing.zip"], "There is no file 'missing.zip'"),
        (["show", "there.zip"], "no zip archive"),
        (["show", "."], "is no file"),
        (["show", ""], "is not a run id"),
        (["show", "nonsense"], "is not a run id"),
        (["show", "deepres-00000000beef"], "No run 'deepres-00000000beef'"),
        (["replay", "deepres-0123456789ab"], "`deep-research pack ID --out FILE` makes one of a run"),
        (["verify", "."], "is no file"),
        (["verify", "x" * 5_000], "There is no file"),
        (["replay", "x" * 5_000], "cannot be read"),
        (["show", "x" * 5_000], "is not a run id"),
        (["show", "x" * 5_000 + ".zip"], "There is no file"),
        (["verify", "there.zip"], "no zip archive"),
        (["replay", "there.zip"], "no zip archive"),
        (["replay", "missing.zip"], "cannot be read"),
    ],
)
def test_wrong_use_ends_in_one_line_and_writes_nothing(
    cli: Cli, run_id: str, tmp_path: Path, argv: list[str], words: str
) -> None:
    Path("there.zip").write_text("mine")
    done = cli(*(run_id if word == "ID" else word for word in argv))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["there.zip"]
    assert Path("there.zip").read_text() == "mine"


def test_force_replaces_a_file(cli: Cli, run_id: str) -> None:
    Path("run.zip").write_text("mine")
    assert cli("pack", run_id, "--out", "run.zip", "--force").code == 0
    assert cli("verify", "run.zip").code == 0


@pytest.mark.parametrize("options", [(), ("--json",), ("--claims",), ("--budget",), ("--claims", "--json")])
def test_the_run_of_a_pack_is_shown_as_where_it_was_made(
    cli: Cli, plain: Cli, run_id: str, home: Path, options: tuple[str, ...]
) -> None:
    cli("pack", run_id, "--out", "run.zip")
    there = cli("show", run_id, *options)
    cli("delete", run_id)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    for command in (cli, plain):
        shown = command("show", "run.zip", *options)
        assert (shown.code, shown.out, shown.err) == (0, there.out, there.err)
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert after.keys() == before.keys()
    assert after[Path("run.zip")] == before[Path("run.zip")]


def test_the_report_of_a_pack_is_written_where_it_is_asked_for(cli: Cli, plain: Cli, run_id: str) -> None:
    cli("pack", run_id, "--out", "run.zip")
    shown = plain("show", "./run.zip", "--out", "report.md")
    assert (shown.code, shown.out) == (0, "")
    assert Path("report.md").read_text("utf-8") == plain("show", "run.zip").out


def test_nothing_is_offered_to_go_on_with_the_run_of_a_pack(cli: Cli) -> None:
    run_id = cli("run", QUESTION, "--json", search=[Double(empty=True)]).json["research_id"]
    cli("pack", run_id, "--out", "run.zip")
    shown = cli("show", "run.zip")
    assert (shown.code, shown.out) == (0, "")
    assert shown.err.startswith("The run in this pack is aborted (no_evidence): ")
    assert "deep-research" not in shown.err


@pytest.mark.parametrize("member", ["events.jsonl", "report.md", "texts/", "manifest.json"])
def test_a_damaged_pack_is_not_shown(cli: Cli, run_id: str, member: str) -> None:
    cli("pack", run_id, "--out", "run.zip")
    with ZipFile("run.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.startswith(member))
    spoiled = members[name].replace(b"Bell Rock" if member != "manifest.json" else b"size", b"Well Rock", 1)
    assert spoiled != members[name]
    with ZipFile("flipped.zip", "w") as archive:
        for each, body in {**members, name: spoiled}.items():
            archive.writestr(each, body)
    done = cli("show", "flipped.zip")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert name in done.err
