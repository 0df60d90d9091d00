"""Documents that are zip archives of XML, as office programs and makers of books write them: looked at before anything in
them is parsed; their parts, how these lead to one another, and what the file says of itself."""

from __future__ import annotations

import io
import re
from datetime import date
from posixpath import dirname, join, normpath
from typing import Any

from lxml import etree

from deep_research import archives
from deep_research.archives import ArchiveError, Bounds
from deep_research.patterns import regex
from deep_research.sources.extract.pdf_blocks import sane_author, sane_title
from deep_research.sources.extract.plaintext import UnreadableError, parse_date

_MAX_BYTES, _MAX_RATIO = 200_000_000, 100
_NESTED = regex(r"\.(?:zip|jar|7z|rar|gz|bz2|xz|tar|tgz|docx|xlsx|pptx|odt|ods|odp|epub)\Z", re.IGNORECASE)
_EMBEDDED = ("word/embeddings/", "xl/embeddings/", "ppt/embeddings/")
_FIRST_CHARS = 2_000  # characters, in which a text says of what day it is
_MAX_LINES = 30


class Package:
    """The archive ``raw``, which is called ``kind`` in what is said of it ("a slide show") and may have so many
    ``entries``. Raises `UnreadableError` for one that is made to do harm, or is encrypted or broken."""

    def __init__(self, raw: bytes, kind: str, *, entries: int = 2_000) -> None:
        self._kind = kind
        bounds = Bounds(entries=entries, unpacked=_MAX_BYTES, entry=_MAX_BYTES, ratio=_MAX_RATIO)
        try:
            self._archive = archives.opened(io.BytesIO(raw), bounds)
        except ArchiveError as error:
            raise _unreadable(error) from error
        self.names = tuple(entry.filename for entry in self._archive.infolist())
        if any(_NESTED.search(n) and not n.replace("\\", "/").startswith(_EMBEDDED) for n in self.names):
            raise UnreadableError("an archive within an archive")

    def read(self, name: str) -> bytes:
        """The bytes of a part. Raises `UnreadableError`, for one that is missing too."""
        try:
            return archives.read(self._archive, name)
        except ArchiveError as error:
            raise _unreadable(error) from error

    def markup(self, name: str) -> bytes:
        """The bytes of a part that is XML or HTML. Raises `UnreadableError` for one with entities of its own."""
        raw = self.read(name)
        if b"<!ENTITY" in raw or b"E\0N\0T\0I\0T\0Y\0" in raw:
            raise UnreadableError(f"{self._kind} with entities of its own")
        return raw

    def tree(self, name: str) -> Any:
        """The root of a part that is XML. Raises `UnreadableError`."""
        raw = self.markup(name)
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
        )
        try:
            return etree.fromstring(raw, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise UnreadableError(f"{self._kind} that is damaged, or nested too deeply") from error

    def refuse_types(self) -> None:
        """Raises `UnreadableError` for a part that declares a type of documents, as no office program writes it: for
        those who give the whole to a library."""
        for name in self.names:
            head = self.read(name)[:4096] if name.endswith((".xml", ".rels")) else b""
            if b"<!DOCTYPE" in head or b"<!ENTITY" in head or b"D\0O\0C\0T\0Y\0P\0E" in head:
                raise UnreadableError(f"{self._kind} with entities of its own")

    def related(self, part: str = "") -> dict[str, tuple[str, str]]:
        """Where a part of an office document leads to, by the names of the relations, each with its kind; ``part`` is
        empty for the archive itself."""
        name = f"{dirname(part)}/_rels/{part.rpartition('/')[2]}.rels".lstrip("/")
        if name not in self.names:
            return {}
        within = [each for each in self.tree(name) if each.get("TargetMode") != "External"]
        return {
            each.get("Id", ""): (
                each.get("Type", "").rpartition("/")[2],
                normpath(join(dirname(part), each.get("Target", ""))).lstrip("/"),
            )
            for each in within
        }

    def main(self, usual: str) -> str:
        """The part that an office document begins with."""
        return next((to for kind, to in self.related().values() if kind == "officeDocument"), usual)

    def about(self, name: str) -> tuple[str, str, set[date]]:
        """The title, the author and the days that the part with a ``name`` says; nothing where there is none."""
        if name not in self.names:
            return "", "", set()
        values: dict[str, str] = {}
        for element in self.tree(name).iter():
            values.setdefault(etree.QName(element).localname, " ".join((element.text or "").split()))
        days = (parse_date(values.get(key, "")) for key in ("created", "modified", "creation-date", "date"))
        author = values.get("initial-creator") or values.get("creator", "")
        return sane_title(values.get("title", "")), sane_author(author), set(filter(None, days))


def confirmed_day(days: set[date], text: str) -> date | None:
    """The day on which a file was made or saved, if its first lines say the same: of an old report that was made into a
    file again it says nothing, and no day is better than a wrong one."""
    lines = text[:_FIRST_CHARS].splitlines()[:_MAX_LINES]
    return next((day for day in map(parse_date, lines) if day in days), None)


def _unreadable(error: ArchiveError) -> UnreadableError:
    return UnreadableError(str(error), limit="size" if error.bound else "")
