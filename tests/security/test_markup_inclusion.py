"""A text in reStructuredText or Markdown names other files and addresses in many ways: none of them is ever opened."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.sources.extract.texts import read_document

SECRET = "the-keeper-of-the-secret"
ADDRESS = "http://127.0.0.1:9/keeper"

FORMS = [
    *(f".. include:: {{path}}\n{options}" for options in (
        "", "   :literal:\n", "   :code: python\n", "   :parser: rst\n", "   :encoding: latin-1\n   :start-line: 0\n")),
    ".. INCLUDE:: {path}\n", ".. include:: <isonum.txt>\n", ".. rst:include:: {path}\n", ".. include::\n   {path}\n",
    *(f".. {name}:: {{path}}\n" for name in (
        "literalinclude", "image", "graphviz", "plot", "uml", "program-output", "mdinclude", "unknown", "toctree")),
    ".. literalinclude:: {path}\n   :language: text\n   :lines: 1-9\n",
    *(f".. raw:: html\n   :{option}\n" for option in ("file: {path}", "url: {address}", "url: file://{path}")),
    *(f".. csv-table:: t\n   :{option}\n" for option in ("file: {path}", "url: {address}", "url: file://{path}")),
    *(f".. csv-table:: t\n   :header: a\n   :{option}\n\n   b\n" for option in ("file: {path}", "url: {address}")),
    ".. list-table:: t\n   :file: {path}\n\n   * - b\n", ".. table:: t\n   :file: {path}\n",
    *(f".. figure:: {each}\n   :figwidth: image\n   :loading: embed\n   :alt: x\n\n   Caption\n" for each in (
        "{path}", "file://{path}", "{address}")),
    *(f".. image:: {each}\n   :loading: embed\n   :scale: 50\n   :target: {each}\n" for each in (
        "{path}", "file://{path}", "{address}", "data:text/plain,x")),
    *(f".. |s| {name}:: {{path}}\n   :file: {{path}}\n\n|s|\n" for name in (
        "include", "image", "raw", "csv-table", "literalinclude", "replace", "date")),
    ".. role:: r(raw)\n   :format: html\n   :file: {path}\n\n:r:`{path}` :include:`{path}` :download:`{path}`\n",
    ".. code:: python\n   :file: {path}\n", ".. math::\n   :file: {path}\n", ".. meta::\n   :file: {path}\n",
    ".. default-role:: include\n\n`{path}`\n", ".. date:: {path}\n", ".. title:: {path}\n",
    ":include: {path}\n", ".. _x: {path}\n\nx_\n", "`{path} <file://{path}>`_\n",
]  # fmt: skip
PLACES = {
    "alone": "{form}",
    "note": ".. note::\n\n   {form}",
    "item": "- {form}",
    "definition": "Term\n   {form}",
    "cell": ".. list-table::\n\n   * - {form}",
    "csv": '.. csv-table::\n\n   "{form}"',
    "figure": ".. figure:: x.png\n\n   {form}",
    "footnote": ".. [1] {form}",
    "unknown": ".. a:b:: c\n\n   {form}",
}
MARKDOWN = [
    "<!-- include {path} -->", "![x]({path})", "[x](file://{path})", "<img src={address}>", "{{% include {path} %}}",
    "```{{include}} {path}\n```", '--8<-- "{path}"', "!include {path}", "<iframe src='file://{path}'></iframe>",
    "<object data='{path}'></object>", "[x]: {path}\n\n[x]", "![[{path}]]", ":::{{include}} {path}\n:::",
]  # fmt: skip

_seen: list[tuple[str, str]] = []
_watches = False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watches and event.startswith(("open", "socket.", "urllib.", "subprocess.", "os.system")):
        _seen.append((event, str(arguments[:1])))


sys.addaudithook(_watch)  # it cannot be taken off again, and does nothing but in `watched`


@pytest.fixture
def watched() -> Iterator[list[tuple[str, str]]]:
    global _watches
    read_document(b"words", "a.rst")  # what is loaded with it
    read_document(b"words", "a.md")
    _seen.clear()
    _watches = True
    try:
        yield _seen
    finally:
        _watches = False


def attempt(source: str, name: str, path: Path, watched: list[tuple[str, str]]) -> None:
    path.read_bytes()
    assert watched, "the watch sees what is opened"
    watched.clear()
    try:
        text = read_document(source.encode(), name).text
    except UnreadableError:
        text = ""
    touched = [
        each for each in watched if each[0] != "open" or str(path.parent) in each[1] or "isonum" in each[1]
    ]
    assert not touched
    assert SECRET not in text


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_no_directive_or_role_opens_anything(
    place: str, tmp_path: Path, watched: list[tuple[str, str]]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(f"{SECRET}\n")
    margin = " " * (len(place.partition("{form}")[0].rpartition("\n")[2]))
    for form in FORMS:
        written = form.format(path=secret, address=ADDRESS)
        attempt(place.format(form=written.replace("\n", f"\n{margin}")), "a.rst", secret, watched)
    everything = "\n".join(form.format(path=secret, address=ADDRESS) for form in FORMS)
    attempt(everything, "a.rst", secret, watched)


def test_no_markdown_opens_anything(tmp_path: Path, watched: list[tuple[str, str]]) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(f"{SECRET}\n")
    for form in MARKDOWN:
        attempt(form.format(path=secret, address=ADDRESS), "a.md", secret, watched)


def test_configuration_of_docutils_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: list[tuple[str, str]]
) -> None:
    config = tmp_path / "docutils.conf"
    config.write_text("[general]\nfile_insertion_enabled: yes\nraw_enabled: yes\n")
    monkeypatch.setenv("DOCUTILSCONFIG", str(config))
    monkeypatch.chdir(tmp_path)
    attempt("words\n\n.. include:: docutils.conf\n", "a.rst", config, watched)


def test_docutils_finds_its_own_directives_again_afterwards() -> None:
    from docutils.parsers.rst import directives, roles

    before = directives.directive, roles.role
    read_document(
        b".. role:: mine(raw)\n\n.. default-role:: mine\n\n.. unknown:: x\n\n:mine:`words` words", "a.rst"
    )
    assert (directives.directive, roles.role) == before
    assert "mine" not in roles._roles
    assert "unknown" not in directives._directives


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    read_document(b"Title\n==\n\n*a `b |c| :x:`\n\n.. unicode::\n.. table::\n\n   x\n", "a.rst")
    assert capfd.readouterr() == ("", "")
