"""How much of a PDF is read, against texts that are known because they are typeset here.

The texts are the Markdown files of the sample corpus and tables of their words, made with a fixed seed; nothing was
collected elsewhere. Each is typeset with Typst or with WeasyPrint, by turns: articles in one column, papers in two,
reports with headings, running heads, notes and lists; and ten kinds of tables, 80 in all. Compared are the
product's reader, LiteParse's own Markdown and the plain text of PDFium.

    pip install typst weasyprint pypdfium2
    python tests/benchmarks/pdf_reading.py

Printed for each reader: F1 of words and of five words in a row, the share of table rows whose cells are read as one row
in order and no others with them, and milliseconds a page.
"""

from __future__ import annotations

import html
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
KINDS = ("article", "paper", "report")
TABLES = (
    *("ruled", "plain", "booktabs", "shaded", "wrapped", "wrapped plain", "numbers", "spanning", "gaps"),
    "columns",  # in a page of two columns of prose
)
EACH = 4  # tables of a kind and engine

Block = tuple[str, str]  # what it is, and its text


class Table(NamedTuple):
    kind: str
    head: list[str]
    rows: list[list[str]]
    above: list[str] = []  # noqa: RUF012  heads that stand over two columns each


class Case(NamedTuple):
    kind: str
    raw: bytes
    text: str
    rows: list[list[str]]


Reader = Callable[[bytes], tuple[str, int]]  # a text, and how many pages


# Texts and tables


def blocks(path: Path) -> Iterator[Block]:
    text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(), flags=re.DOTALL)
    for piece in re.split(r"\n\s*\n|\n(?=#)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        piece = plain(piece)
        if not piece or piece.startswith(("|", "<", "[")) or "|" in piece or set(piece) <= set("=-# "):
            continue
        if heading := re.match(r"(#+) (.*?)(?:\n(.*))?\Z", piece, re.DOTALL):
            yield f"h{min(3, len(heading[1]))}", heading[2]
            piece = heading[3] or ""
        if re.match(r"(?:[-*]|\d+\.) ", piece):
            for item in re.split(r"(?:\A|\n)(?:[-*]|\d+\.) ", piece)[1:]:
                yield "item", " ".join(item.split())
        elif piece:
            yield "p", " ".join(piece.split())


def plain(markdown: str) -> str:
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown.strip())
    return re.sub(r"\*\*|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`|^> ?", "", text, flags=re.MULTILINE)


def tables(words: Sequence[str], chance: random.Random) -> Iterator[Table]:
    def said(least: int, most: int) -> str:
        return " ".join(chance.choice(words) for _ in range(chance.randint(least, most))).capitalize()

    for kind in TABLES:
        for _ in range(EACH):
            columns = {"spanning": 5, "columns": 3}.get(kind, chance.randint(3, 5))
            long = kind.startswith("wrapped")
            rows = []
            for _ in range(chance.randint(4, 9)):
                cells = [said(1, 3)]
                for column in range(1, columns):
                    is_word = kind not in ("numbers", "spanning") and (column == 1 or chance.random() < 0.4)
                    figure = f"{chance.uniform(1, 9000):,.{chance.randint(0, 2)}f}"
                    cells.append(said(6, 14) if long and column < 3 else said(1, 2) if is_word else figure)
                if kind == "gaps":
                    cells[chance.randrange(1, columns)] = ""
                rows.append(cells)
            above = [said(1, 1), said(1, 1)] if kind == "spanning" else []
            yield Table(kind, [said(1, 2) for _ in range(columns)], rows, above)


def known(parts: Sequence[Block | Table]) -> str:
    texts = []
    for part in parts:
        if isinstance(part, Table):
            texts += [" ".join(row) for row in [part.above, part.head, *part.rows]]
        else:
            texts.append(part[1])
    return "\n".join(texts)


# Typst


def typst(kind: str, title: str, parts: Sequence[Block | Table]) -> bytes:
    import typst as engine

    head = {
        "article": '#set page(numbering: "1")\n#set par(justify: true)\n#set text(hyphenate: true)',
        "paper": '#set page(columns: 2, margin: 2cm, numbering: "1")\n#set text(size: 9.5pt)\n#set par(justify: true)',
        "report": f"#set page(header: [#{_quoted(title)} #h(1fr) Annual series], "
        'footer: context [Page #counter(page).display("1 of 1", both: true)])',
    }.get(kind, "")
    drawn = (
        _typst_table(part) if isinstance(part, Table) else _typst_block(part, at, kind)
        for at, part in enumerate(parts)
    )
    made = engine.compile("\n\n".join([f'#set text(lang: "en")\n{head}', *drawn]).encode(), format="pdf")
    assert isinstance(made, bytes)
    return made


def _typst_block(block: Block, at: int, kind: str) -> str:
    what, text = block
    if what.startswith("h"):
        return f"#heading(level: {what[1]}, {_quoted(text)})"
    if what == "item":
        return f"#{'enum' if kind == 'report' else 'list'}({_quoted(text)})"
    return f"#{_quoted(text)}" if what == "p" else f"#{_quoted(text)}#footnote({_quoted(text)})"


def _typst_table(table: Table) -> str:
    kind, columns = table.kind, len(table.head)
    stroke = "0.5pt" if kind in ("ruled", "wrapped", "spanning", "gaps") else "none"
    align = ", align: (x, y) => if x == 0 { left } else { right }" if kind in ("numbers", "spanning") else ""
    fill = ", fill: (x, y) => if calc.odd(y) { luma(235) }" if kind == "shaded" else ""
    widths = f"({', '.join(['1fr'] * columns)})" if kind.startswith("wrapped") else str(columns)
    line = "table.hline()" if kind == "booktabs" else ""
    cells = ['""', *(f"table.cell(colspan: 2, align: center, {_quoted(each)})" for each in table.above)]
    pieces = [
        *(cells if table.above else []),
        line,
        *(f"strong({_quoted(each)})" for each in table.head),
        line,
    ]
    pieces += [_quoted(cell) for row in table.rows for cell in row]
    told = ", ".join(filter(None, [*pieces, line]))
    return f"#table(columns: {widths}, stroke: {stroke}{align}{fill}, {told})"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# WeasyPrint


def weasyprint(kind: str, title: str, parts: Sequence[Block | Table]) -> bytes:
    import weasyprint as engine

    style = {
        "article": "@page { @bottom-center { content: counter(page) } } p { text-align: justify; hyphens: auto }",
        "paper": "body { columns: 2; font-size: 9.5pt } p { text-align: justify; hyphens: auto } "
        "@page { @bottom-center { content: counter(page) } }",
        "report": "@page { @top-left { content: 'Annual series' } "
        "@bottom-right { content: 'Page ' counter(page) ' of ' counter(pages) } }",
    }.get(kind, "")
    drawn = "\n".join(_html_table(part) if isinstance(part, Table) else _html_block(part) for part in parts)
    page = f"<html lang=en><title>{html.escape(title)}</title><style>{style} {_STYLE}</style><body>{drawn}"
    made = engine.HTML(string=page).write_pdf()
    assert isinstance(made, bytes)
    return made


_STYLE = """
body { font-family: serif; font-size: 10.5pt } table { border-collapse: collapse; margin: 1em 0 }
td, th { padding: 3pt 8pt; vertical-align: top; text-align: left }
.ruled td, .ruled th, .wrapped td, .wrapped th, .spanning td, .spanning th, .gaps td, .gaps th { border: .5pt solid }
.booktabs thead { border-top: 1pt solid; border-bottom: .5pt solid } .booktabs { border-bottom: 1pt solid }
.shaded tr:nth-child(odd) td { background: #eee }
.numbers td + td, .numbers th + th, .spanning td + td, .spanning th + th { text-align: right }
"""


def _html_block(block: Block) -> str:
    what, text = block[0], html.escape(block[1])
    return f"<ul><li>{text}</ul>" if what == "item" else f"<{what}>{text}</{what}>"


def _html_table(table: Table) -> str:
    above = "".join(f"<th colspan=2>{html.escape(each)}" for each in table.above)
    head = "".join(f"<th>{html.escape(each)}" for each in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in row) for row in table.rows)
    first = f"<tr><th>{above}" if above else ""
    return f'<table class="{table.kind}"><thead>{first}<tr>{head}<tbody>{rows}</table>'


# The cases


def cases() -> Iterator[Case]:
    files = sorted([*CORPUS.glob("*.md"), *CORPUS.glob("*.txt")])
    texts = [list(blocks(path)) for path in files]
    assert len(texts) >= 20
    for at, parts in enumerate(texts):
        rest = texts[(at + 1) % len(texts)] + texts[(at + 2) % len(texts)]
        parts = [*parts, *rest]
        for kind in KINDS:
            engine = (typst, weasyprint)[(at + KINDS.index(kind)) % 2]
            set_ = with_notes(parts) if kind == "report" and engine is typst else parts
            yield Case(
                f"{kind}, {engine.__name__}", engine(kind, parts[0][1], set_), known_with_notes(set_), []
            )
    chance = random.Random(7)
    words = sorted(set(re.findall(r"\b[a-z]{3,11}\b", known([part for text in texts for part in text]))))
    prose = [part for text in texts for part in text if part[0] == "p"]
    for engine in (typst, weasyprint):
        every = list(tables(words, chance))
        for kind in TABLES:
            mixed: list[Block | Table] = []
            for table in every:
                if table.kind == kind:
                    mixed += [*chance.sample(prose, 4 if kind == "columns" else 1), table]
            mixed += chance.sample(prose, 4)
            rows = [row for part in mixed if isinstance(part, Table) for row in [part.head, *part.rows]]
            layout = "paper" if kind == "columns" else ""
            yield Case(
                f"tables {kind}, {engine.__name__}", engine(layout, "Tables", mixed), known(mixed), rows
            )


def with_notes(parts: Sequence[Block]) -> list[Block]:
    """Every fifth paragraph with a note, which repeats it: so the words are known wherever the note stands."""
    return [("note" if what == "p" and at % 5 == 0 else what, text) for at, (what, text) in enumerate(parts)]


def known_with_notes(parts: Sequence[Block]) -> str:
    return "\n".join(f"{text}\n{text}" if what == "note" else text for what, text in parts)


# Readers


def ours(raw: bytes) -> tuple[str, int]:
    from deep_research.sources.extract.formats import ExtractionRequest, Format
    from deep_research.sources.extract.pdf import read

    document = read(raw, ExtractionRequest(Format.PDF, "", "x.pdf", 2_000_000))
    return document.text, len(document.pages)


def liteparse(raw: bytes) -> tuple[str, int]:
    from liteparse import LiteParse

    parser = LiteParse(
        ocr_enabled=False,
        num_workers=1,
        quiet=True,
        output_format="markdown",
        image_mode="off",
        extract_links=False,
    )
    pages = parser.parse(raw).pages
    return "\n\n".join(page.markdown for page in pages), len(pages)


def pdfium(raw: bytes) -> tuple[str, int]:
    import pypdfium2

    file = pypdfium2.PdfDocument(raw)
    texts = [page.get_textpage().get_text_bounded() for page in file]
    return re.sub(r"[\ufffe\xad-]\r?\n", "", "\n".join(texts)), len(texts)


# Figures


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower().replace("\xad", ""))


def f1(found: Sequence[object], wanted: Sequence[object]) -> float:
    both = (Counter(found) & Counter(wanted)).total()
    return 2 * both / (len(found) + len(wanted)) if found or wanted else 1.0


def fives(text: str) -> list[tuple[str, ...]]:
    words = tokens(text)
    return list(zip(*(words[at:] for at in range(5)), strict=False))


def rows_of(text: str) -> Counter[tuple[str, ...]]:
    return Counter(_cells(line.split("|")) for line in text.splitlines() if "|" in line)


def _cells(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(None, (" ".join(tokens(re.sub(r"<br>|\*\*", " ", cell))) for cell in cells)))


def main() -> None:
    every = list(cases())
    kinds = sorted({case.kind for case in every})
    print(f"{len(every)} PDFs, {len(TABLES) * EACH * 2} tables")
    for reader in (ours, liteparse, pdfium):
        reader(every[0].raw)
        took, pages, kept, rows = 0.0, 0, Counter[str](), Counter[str]()
        words: dict[str, list[float]] = {kind: [] for kind in kinds}
        grams: dict[str, list[float]] = {kind: [] for kind in kinds}
        for case in every:
            begun = time.process_time()
            text, count = reader(case.raw)
            took += time.process_time() - begun
            pages += count
            words[case.kind].append(f1(tokens(text), tokens(case.text)))
            grams[case.kind].append(f1(fives(text), fives(case.text)))
            kept[case.kind] += (rows_of(text) & Counter(map(_cells, case.rows))).total()
            rows[case.kind] += len(case.rows)
        told = [sum(map(sum, found.values())) / len(every) for found in (words, grams)]
        print(
            f"\n{reader.__name__}: words {told[0]:.3f}, fives {told[1]:.3f}, "
            f"rows {kept.total()}/{rows.total()} = {kept.total() / rows.total():.2f}, {took / pages * 1e3:.1f} ms a page"
        )
        for kind in kinds:
            one, five = (sum(found[kind]) / len(found[kind]) for found in (words, grams))
            share = f", rows {kept[kind]}/{rows[kind]}" if rows[kind] else ""
            print(f"  {kind:<32} words {one:.3f}, fives {five:.3f}{share}")


if __name__ == "__main__":
    main()
