"""Old files of text programs (RTF, DOC), by a library that an extra brings."""

from __future__ import annotations

from collections.abc import Iterator

from deep_research.patterns import regex
from deep_research.sources.extract import markdown
from deep_research.sources.extract.document import Document, finished
from deep_research.sources.extract.formats import ExtractionRequest, Format
from deep_research.sources.extract.plaintext import native_code
from deep_research.sources.extract.tables import table_lines
from deep_research.sources.extract.texts import first_heading
from deep_research.text.plain import clean

_FIELD = regex(r"\b(?:HYPERLINK|PAGEREF)\s+(?:\\[a-z]\s+)?(?:\"[^\"\n]{0,2000}\"|_\w{1,60}\s+\\h)")
_ROW_END, _CELL_END = "\t\t", "\t"
_MEDIA_TYPES = {Format.RTF: "application/rtf", Format.DOC: "application/msword"}


def read(raw: bytes, asked: ExtractionRequest) -> Document:
    """Raises `UnreadableError`."""
    from kreuzberg import ExtractionConfig, extract_bytes_sync

    is_doc = asked.format == Format.DOC  # whose paragraphs run together in Markdown
    settings = ExtractionConfig(  # type: ignore[call-arg, unused-ignore] # its stubs lack what it takes
        use_cache=False, disable_ocr=True, output_format="plain" if is_doc else "markdown"
    )
    with native_code("file"):
        extracted = extract_bytes_sync(raw, _MEDIA_TYPES[Format(asked.format)], settings)
    content = "\n\n".join(_blocks(extracted.content)) if is_doc else markdown.readable(extracted.content)
    text = clean(content).strip()
    about = extracted.metadata
    return finished(
        raw,
        asked.name,
        title=str(about.get("title") or "") or first_heading(text),
        text=text,
        author=", ".join(map(str, about.get("authors") or ())),
        max_text_bytes=asked.max_text_bytes,
    )


def _blocks(text: str) -> Iterator[str]:
    """The paragraphs and tables of a text in which a line is a paragraph, or the rows of a table with what follows it."""
    for line in _FIELD.sub("", text).split("\n"):
        pieces = line.split(_ROW_END)
        rows = [piece.split(_CELL_END) for piece in pieces if _CELL_END in piece]
        if len(rows) > 1:
            yield "\n".join(table_lines(rows))
            pieces = [piece for piece in pieces if _CELL_END not in piece]
        yield from filter(str.strip, pieces)
