"""A report is blocks, which joined are its Markdown; what changes in it is a change of blocks."""

import random

import pytest

from deep_research import DeepResearch
from deep_research.report.draft_claims import draft_claims
from deep_research.report.report_document import Block, BlockKind, Document
from deep_research.state import ClaimBasis, Span

ONE, TWO = "find-000000000001", "find-000000000002"
PARTS = (
    "# T\n", "\n", "\n\n", "## A\n", "Words are here. ", f"It is so [{ONE}].", f"[{TWO}]\n", "### B\n",
    "  - y\n", "```\n", "## no heading\n", "## C ##\n", "- x\r\n", "~~~~\n", "| a | b |\n", "|---|---|\n",
    " \t", "> q\n", "1. z\n",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_the_blocks_of_a_draft_joined_are_the_draft_and_so_are_its_sections(seed):
    chance = random.Random(seed)
    for _ in range(60):
        draft = "".join(chance.choices(PARTS, k=chance.randint(0, 30)))
        document = Document.read(draft)
        assert document.markdown == draft
        assert document.before + "".join(section.markdown for section in document.sections) == draft
        for claim in draft_claims(draft):
            block = document.blocks[document.block_at(claim.place.start)]
            assert draft[claim.place.start : claim.place.end] in block.markdown


def test_a_draft_is_cut_into_blocks_of_each_kind():
    draft = f"# T\n\nIt is.\n[{ONE}]\n\n## S\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```py\nx\n```\n"
    assert [(block.kind.value, block.level, block.markdown) for block in Document.read(draft).blocks] == [
        ("heading", 1, "# T"),
        ("paragraph", 0, f"It is.\n[{ONE}]"),
        ("heading", 2, "## S"),
        ("item", 0, "- a"),
        ("item", 0, "- b"),
        ("table", 0, "| x | y |\n|---|---|\n| 1 | 2 |"),
        ("code", 0, "```py\nx\n```"),
    ]


def test_blocks_are_made_without_marks_and_written_as_markdown():
    table = Block.table(["x", "y"], [["1", "2"]])
    notice = Block.notice("So far.")
    made = Document.of(
        [
            Block.heading(1, "T"),
            Block.paragraph("It is.", [ONE, TWO]),
            table,
            *Block.items(["a", "b"]),
            notice,
        ]
    )
    assert made.markdown == (
        f"# T\n\nIt is. [{ONE}, {TWO}]\n\n| x | y |\n| --- | --- |\n| 1 | 2 |\n\n- a\n- b\n\n*So far.*"
    )
    assert Document.read(made.markdown).headings == []


TEXT = "# T\n\n## S\n\nIt is. It was.\n"
NESTED = "# T\n\n## S\n\n### A\n\nX\n\n### B\n\nY"
REWRITTEN = {
    "other words": (TEXT, {"It is.": "It is not."}, "# T\n\n## S\n\nIt is not. It was.\n"),
    "a sentence goes": (TEXT, {"It is.": ""}, "# T\n\n## S\n\nIt was.\n"),
    "an item goes": ("## S\n\n- a\n- b\n- c\n\nX", {"b": ""}, "## S\n\n- a\n- c\n\nX"),
    "the last item goes": ("## S\n\n- a\n- b\n\nX", {"b": ""}, "## S\n\n- a\n\nX"),
    "a heading with nothing under it goes": ("# T\n\n## S\n\nX\n\n## Z\n\nY", {"X": ""}, "# T\n\n## Z\n\nY"),
    "a heading over others stays": (NESTED, {"X": ""}, "# T\n\n## S\n\n### B\n\nY"),
    "the last section goes": ("# T\n\n## S\n\nX\n\n## Z\n\nY\n", {"Y": ""}, "# T\n\n## S\n\nX"),
}


@pytest.mark.parametrize(("draft", "changes", "after"), REWRITTEN.values(), ids=REWRITTEN)
def test_a_block_of_which_nothing_is_left_goes(draft, changes, after):
    at = {old: draft.index(old) for old in changes}
    places = {Span(start=at[old], end=at[old] + len(old)): new for old, new in changes.items()}
    assert Document.read(draft).rewritten(places).markdown == after


def test_the_claims_of_a_report_hang_on_its_blocks(tmp_path):
    with DeepResearch(corpus="docs/examples/corpus", data_dir=tmp_path) as research:
        result = research.run("How tall is the Cape Hatteras lighthouse?")
    blocks = result.blocks
    assert "".join(block.markdown + block.gap for block in blocks) == result.report
    assert sorted(i for b in blocks for i in b.claim_ids) == sorted(claim.id for claim in result.claims)
    for claim in result.claims:
        block = blocks[claim.block]
        assert claim.id in block.claim_ids
        assert claim.text.split()[0].strip("“") in block.markdown
        is_of_the_run = claim.basis is ClaimBasis.RUN and len(block.claim_ids) == 1
        assert (block.kind is BlockKind.NOTICE) >= is_of_the_run
    assert {"heading", "paragraph", "notice", "item"} <= {block.kind.value for block in blocks}
