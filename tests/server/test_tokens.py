"""Tokens: made once, kept as hashes in a file of their owner, and revoked while a server runs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from deep_research.errors import SettingsError, TokenError, UnknownNameError, UsageError
from deep_research.interfaces.cli.main import main
from deep_research.server.problems import RequestRefused
from deep_research.server.token_file import TokenFile, add_token, revoke_token
from deep_research.server.users import Role, User


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.jsonl"


def test_a_token_is_its_users_and_only_its_hash_is_kept(path: Path) -> None:
    token = add_token(path, "alice-laptop", role="runner", user="alice", max_open_runs=2, max_usd=1.5)
    assert TokenFile(path).user(token) == User("alice", Role.RUNNER, 2, 1.5)
    assert len(token) >= 40
    assert token not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("given", [None, "", "x", "dr_", "é", "\ud800", "dr_" + "x" * 43])
def test_what_is_no_token_lets_nobody_in(path: Path, given: str | None) -> None:
    token = add_token(path, "alice")
    file = TokenFile(path)
    for wrong in (given, token[:-1], token + "x", token.upper(), json.loads(path.read_text())["sha256"]):
        with pytest.raises(TokenError):
            file.user(wrong)


def test_a_server_sees_at_once_that_a_token_was_made_or_revoked(path: Path) -> None:
    alice = add_token(path, "alice")
    file = TokenFile(path)
    assert file.user(alice).name == "alice"
    bob = add_token(path, "bob", role="admin")
    assert file.user(bob).role is Role.ADMIN
    revoke_token(path, "alice")
    with pytest.raises(TokenError):
        file.user(alice)
    assert file.user(bob).name == "bob"
    assert file.user(add_token(path, "alice")).name == "alice"
    with pytest.raises(TokenError):
        file.user(alice)


def test_a_file_that_others_may_read_or_that_is_broken_lets_nobody_in(path: Path) -> None:
    token = add_token(path, "alice")
    file = TokenFile(path)
    good = path.read_text()
    for mode in (0o640, 0o604, 0o660):
        path.chmod(mode)
        with pytest.raises(SettingsError, match="can be read or written by other users"):
            TokenFile(path)
        with pytest.raises(RequestRefused) as refused:
            file.user(token)
        assert refused.value.status_code == 503
    path.chmod(0o600)
    for broken in ("{", '{"name": "x"}', good.replace("runner", "king"), good.replace('"name"', '"nam"')):
        path.write_text(good + broken)
        with pytest.raises(SettingsError, match="Line 2"):
            TokenFile(path)
        with pytest.raises(RequestRefused):
            file.user(token)
    path.write_text(good)
    assert file.user(token).name == "alice"
    path.unlink()
    with pytest.raises(RequestRefused):
        file.user(token)
    with pytest.raises(SettingsError, match="cannot be read"):
        TokenFile(path)


def test_names_that_cannot_be_are_wrong_use(path: Path) -> None:
    add_token(path, "alice")
    for name in ("alice", "", "a b", "../x", "a" * 65, "ä"):
        with pytest.raises(UsageError):
            add_token(path, name)
    with pytest.raises(UnknownNameError):
        add_token(path, "bob", role="king")
    for fields in ({"max_usd": -1.0}, {"max_usd": float("nan")}, {"max_open_runs": -1}, {"user": "a b"}):
        with pytest.raises(UsageError):
            add_token(path, "bob", **fields)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError):
        revoke_token(path, "carol")
    assert [entry.name for entry in TokenFile(path).entries()] == ["alice"]


def test_no_token_is_lost_when_many_are_made_at_once(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: add_token(path, f"user-{n}"), range(24)))
    file = TokenFile(path)
    assert {file.user(token).name for token in made} == {f"user-{n}" for n in range(24)}


def test_a_file_that_becomes_unreadable_closes_a_server(
    guarded: TestClient, tokens: dict[str, str], tmp_path: Path
) -> None:
    headers = {"x-api-key": tokens["admin"]}
    assert guarded.get("/v1/runs", headers=headers).status_code == 200
    (tmp_path / "tokens.jsonl").chmod(0o644)
    refused = guarded.get("/v1/runs", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (503, "tokens")
    assert "tokens.jsonl" not in refused.text


def test_the_command_prints_a_token_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def command(*argv: str) -> tuple[int, str, str]:
        code = main(["token", *argv, "--data-dir", str(tmp_path)])
        return int(code), *capsys.readouterr()

    code, out, err = command("add", "alice", "--role", "runner", "--max-usd", "2.5", "--max-open-runs", "3")
    token = out.strip()
    assert (code, "shown only once" in err) == (0, True)
    file = TokenFile(tmp_path / "tokens.jsonl")
    assert file.user(token) == User("alice", Role.RUNNER, 3, 2.5)
    code, out, _ = command("list")
    assert (code, out.split()[7:12]) == (0, ["alice", "alice", "runner", "3", "2.5"])
    assert token not in out
    (listed,) = json.loads(command("list", "--json")[1])
    assert (listed["name"], "sha256" in listed) == ("alice", False)
    assert command("revoke", "alice")[:2] == (0, "Revoked alice.\n")
    with pytest.raises(TokenError):
        file.user(token)


@pytest.mark.parametrize(
    "argv",
    [
        ("add",),
        ("revoke",),
        ("list", "alice"),
        ("show", "alice"),
        ("add", "alice", "--role", "king"),
        ("add", "alice", "--max-usd", "much"),
        ("add", "alice", "--max-open-runs", "-1"),
        ("list", "--role", "admin"),
        ("revoke", "alice"),
        ("list", "--tokens", "none.jsonl"),
    ],
    ids=" ".join,
)
def test_a_command_that_does_not_fit_is_wrong_use(
    argv: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["token", *argv, "--data-dir", str(tmp_path)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("argv", [("serve",), ("researcher",), ("token", "list")], ids=" ".join)
def test_without_the_extra_one_line_names_it(
    argv: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("deep_research.interfaces.cli.server_command.find_spec", lambda name: None)
    code = main([*argv, "--data-dir", str(tmp_path)])
    _, err = capsys.readouterr()
    assert code == 2
    assert err == "deep-research: The server needs more packages. pip install 'deep-research[server]'\n"


@pytest.mark.parametrize(
    "argv",
    [
        ("--host", "0.0.0.0"),
        ("--port", "x"),
        ("--port", "99999"),
        ("--tokens", "none"),
        ("--concurrency", "0"),
    ],
    ids=" ".join,
)
def test_a_server_that_cannot_be_is_wrong_use(
    argv: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("serve", "researcher"):
        code = main([command, "--sample", "--quiet", "--data-dir", str(tmp_path), *argv])
        out, err = capsys.readouterr()
        assert (code, out, err.count("\n")) == (2, "", 1), err
