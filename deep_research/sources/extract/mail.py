"""Letters as they are sent (EML): who wrote to whom, when and about what, the text, and what is attached, by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import parseaddr, parsedate_to_datetime
from itertools import islice
from typing import Any, cast

from deep_research.sources.extract import html
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.formats import ExtractionRequest
from deep_research.sources.extract.plaintext import UnreadableError, decode
from deep_research.sources.extract.tables import Blocks
from deep_research.text.plain import clean

_LETTER = "message/rfc822"
_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_MAX_HEADER_CHARS = 1_000
_MAX_LETTERS = 100


class _ShortHeaders(EmailPolicy):
    """Parses the beginning of a header: the library takes far more than linear time in its length."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        return super().header_fetch_parse(name, value[:_MAX_HEADER_CHARS])


_SHORT = cast("EmailPolicy[EmailMessage]", _ShortHeaders())


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    out = Blocks()
    try:
        letter = message_from_bytes(raw, _class=EmailMessage, policy=_SHORT)
        if not letter.keys():
            raise UnreadableError("no mail, although it is called one")
        for each in islice(_letters(letter), _MAX_LETTERS):
            _write(each, out)
    except (
        *(MessageError, ArithmeticError, AttributeError, LookupError, RecursionError),
        *(TypeError, ValueError),
    ) as error:
        raise UnreadableError("a damaged mail") from error
    name, address = parseaddr(_header(letter, "From"))
    return finished(
        raw,
        asked.name,
        title=_header(letter, "Subject"),
        text=clean(str(out)).strip(),
        published=_day(_header(letter, "Date")),
        author=name or address,
        max_text_bytes=asked.max_text_bytes,
    )


def _letters(letter: EmailMessage) -> Iterator[EmailMessage]:
    """The letter, and those that it forwards."""
    yield letter
    for part in letter.walk():
        if part.get_content_type() == _LETTER:
            yield from (each for each in part.iter_parts() if isinstance(each, EmailMessage))


def _write(letter: EmailMessage, out: Blocks) -> None:
    out.open_list()  # another letter is set apart
    for name in _HEADERS:
        value = _header(letter, name)
        out.field(f"{name}: {value}" if value else "")
    out.verbatim(_body(letter))
    attachments = ", ".join(_attachments(letter))
    out.field(f"Attached: {attachments}" if attachments else "")


def _header(letter: EmailMessage, name: str) -> str:
    """As it stands, but for its encoding: the library's own reading of a header may fail at it, or take very long."""
    header = next((value for key, value in letter.raw_items() if key.lower() == name.lower()), "")
    header = " ".join(str(header)[:_MAX_HEADER_CHARS].split())
    with suppress(HeaderParseError, LookupError, ValueError):
        header = str(make_header(decode_header(header)))
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _day(value: str) -> date | None:
    with suppress(ValueError, TypeError, OverflowError):
        return parsedate_to_datetime(value).date()
    return None


def _body(letter: EmailMessage) -> str:
    """The text, replies that it quotes included; that of a web page, where it has no other."""
    for kind in ("plain", "html"):
        part = letter.get_body(preferencelist=(kind,))
        payload = part.get_payload(decode=True) if part is not None else None
        if part is not None and isinstance(payload, bytes):
            charset = str(part.get_content_charset("") or "")
            text = decode(payload, declared=charset or None) if payload.strip() else ""
            text = html.read_chapter(text.encode())[1] if kind == "html" and text else text.strip()
            if text:
                return text
    return ""


def _attachments(letter: EmailMessage) -> Iterator[str]:
    for part in letter.walk():
        name = part.get_filename()
        if part.get_content_type() != _LETTER and (name or part.get_content_disposition() == "attachment"):
            yield " ".join((name or part.get_content_type()).split())
