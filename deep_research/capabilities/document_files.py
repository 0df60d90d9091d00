"""Markdown as a document file: an HTML page that loads nothing, or DOCX."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal, get_args

from deep_research.patterns import regex
from deep_research.report.markup import plain

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DocumentFormat = Literal["html", "docx"]
FORMATS: tuple[DocumentFormat, ...] = get_args(DocumentFormat)
AUTHOR = "deep-research"
_UNPRINTABLE = regex("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML does not have
MAX_LIST_DEPTH = 3  # levels that a list of a DOCX shows

_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="deep-research">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a;
  background: #fff; overflow-wrap: break-word }}
h1, h2, h3 {{ line-height: 1.25 }}
pre {{ background: #f4f4f4; padding: .75rem; overflow-x: auto }}
table {{ border-collapse: collapse; display: block; overflow-x: auto }}
th, td {{ border: 1px solid #999; padding: .25rem .5rem; text-align: left }}
</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
"""


def document_bytes(format: DocumentFormat, title: str, markdown: str, *, language: str = "en") -> bytes:
    """The file. Of the Markdown nothing acts: HTML in it is text, of an image its words stay, links go to http and
    https.

    Example:
        Path("report.html").write_bytes(document_bytes("html", "Bell Rock", report))
    """
    text = _UNPRINTABLE.sub("", plain(markdown))
    return _html(title, text, language) if format == "html" else _docx(title, text)


def is_document(body: bytes) -> bool:
    """Whether a file is one that `document_bytes` made."""
    if body.startswith(b"PK"):
        import docx

        try:
            author: str = docx.Document(io.BytesIO(body)).core_properties.author
        except Exception:  # whatever the file is
            return False
        return author == AUTHOR
    return b'<meta name="generator" content="deep-research">' in body[:1_000]


def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.validateLink = lambda url: url.startswith(("https://", "http://"))  # type: ignore[method-assign]
    reader.add_render_rule("image", _words_of_image)
    return reader


def _words_of_image(_renderer: object, tokens: Sequence[Token], place: int, *_: object) -> str:
    return escape(tokens[place].content)


def _html(title: str, markdown: str, language: str) -> bytes:
    body = _reader().render(markdown)
    return _PAGE.format(title=escape(title), language=escape(language), body=body).encode()


def _docx(title: str, markdown: str) -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.title = _UNPRINTABLE.sub("", plain(title))[:250]
    document.core_properties.author = AUTHOR
    _Writer(document).write(_reader().parse(markdown))
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


class _Writer:
    """Puts the tokens of a Markdown text into a DOCX."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lists: list[
            int | None
        ] = []  # of each open list the number of its next item, None where it has none
        self._mark = ""

    def write(self, tokens: Sequence[Token]) -> None:
        place = 0
        while place < len(tokens):
            token = tokens[place]
            if token.type == "table_open":
                end = next(i for i in range(place, len(tokens)) if tokens[i].type == "table_close")
                self._table(tokens[place:end])
                place = end
            elif token.type == "heading_open":
                paragraph = self._document.add_heading(level=min(int(token.tag[1]), 9))
                self._inline(paragraph, tokens[place + 1])
                place += 1
            elif token.type == "inline":
                self._inline(self._paragraph(), token)
            elif token.type in ("fence", "code_block"):
                self._code(token.content)
            else:
                self._list(token)
            place += 1

    def _list(self, token: Token) -> None:
        if token.type == "bullet_list_open":
            self._lists.append(None)
        elif token.type == "ordered_list_open":
            self._lists.append(int(token.attrs.get("start", 1)))
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
        elif token.type == "list_item_open" and self._lists:
            number = self._lists[-1]
            self._mark = "bullet" if number is None else f"{number}."
            if number is not None:
                self._lists[-1] = number + 1

    def _paragraph(self) -> Paragraph:
        """The paragraph of a text: in a list an item, or more of one."""
        mark, self._mark = self._mark, ""
        depth = min(len(self._lists), MAX_LIST_DEPTH)
        if not depth:
            return self._document.add_paragraph()
        if mark == "bullet":
            return self._document.add_paragraph(style=f"List Bullet{f' {depth}' if depth > 1 else ''}")
        # A number is text: a reference names it, and Word would go on counting in the next list.
        paragraph = self._document.add_paragraph(style=f"List Continue{f' {depth}' if depth > 1 else ''}")
        if mark:
            paragraph.add_run(f"{mark} ")
        return paragraph

    def _inline(self, paragraph: Paragraph, token: Token) -> None:
        bold = italic = False
        link: str | None = None
        for child in token.children or ():
            match child.type:
                case "strong_open" | "strong_close":
                    bold = child.type == "strong_open"
                case "em_open" | "em_close":
                    italic = child.type == "em_open"
                case "link_open":
                    link = str(child.attrs.get("href", ""))
                case "link_close":
                    link = None
                case "softbreak":
                    paragraph.add_run(" ")
                case "hardbreak":
                    paragraph.add_run().add_break()
                case _ if child.content:
                    run = paragraph.add_run(child.content)
                    run.bold, run.italic = bold or None, italic or None
                    if child.type == "code_inline":
                        run.font.name = "Courier New"
                    if link:
                        _link(paragraph, run, link)

    def _code(self, content: str) -> None:
        run = self._document.add_paragraph(style="No Spacing").add_run(content.rstrip("\n"))
        run.font.name = "Courier New"

    def _table(self, tokens: Sequence[Token]) -> None:
        rows = list(_rows(tokens))
        table = self._document.add_table(rows=0, cols=max(map(len, rows)), style="Table Grid")
        for row in rows:
            for cell, token in zip(table.add_row().cells, row, strict=False):
                self._inline(cell.paragraphs[0], token)


def _rows(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    row: list[Token] = []
    for token in tokens:
        if token.type == "inline":
            row.append(token)
        elif token.type == "tr_close":
            yield row
            row = []


def _link(paragraph: Paragraph, run: Any, url: str) -> None:
    """Make a piece of text a link, for which python-docx has no call."""
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    make: Callable[[str], Any] = OxmlElement
    link = make("w:hyperlink")
    link.set(qn("r:id"), paragraph.part.relate_to(url, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run.font.underline = True
    run._r.addprevious(link)
    link.append(run._r)
