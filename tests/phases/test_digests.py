"""A subject that some document is about as a whole: that is told section by section."""

from deep_research.evidence.sectioning import in_section, section_of
from deep_research.phases.analysis.digested import MOST_SECTIONS, Taken, called, digest, is_about, weighed
from deep_research.phases.synthesis.headings import under_their_headings
from deep_research.state import Span

HORNS = (
    "Mist horns: how to be heard",
    "# Mist horns: how to be heard\n\nIn mist a lamp is of no use. Harbours therefore have horns.\n\n"
    "## The main kinds\n\nKind | How it works\nBell | struck by hand\nSteam horn | steam is blown\n\n"
    "## The first one\n\nRobert Orrel heard the low notes of a piano from afar. He built a horn.\n\n"
    "## Its parts\n\nThe valve\n\n- A ring of brass that is turned by hand.\n\nThe trumpet\n\n"
    "- A cone of tin as long as a man.\n\nThe stand\n\n- Three legs of oak upon a stone.\n",
)
GHENT = ("Ghent", "Ghent has a mist horn at the gate. It was bought in a sale, and nobody blows it.")
BEES = ("Bees", "Bees make honey in the summer. A hive holds thousands of them, and some are drones.")


def contents(findings):
    return [finding.content for finding in findings]


def test_each_section_says_how_it_begins_and_tables_and_terms_come_whole(analyzed):
    found = contents(analyzed("mist horns", HORNS, GHENT, BEES))
    assert found[0] == "In mist a lamp is of no use. Harbours therefore have horns."
    assert "Kind: Bell; How it works: struck by hand" in found
    assert "Robert Orrel heard the low notes of a piano from afar. He built a horn." in found
    assert "The valve: A ring of brass that is turned by hand." in found
    assert "The trumpet: A cone of tin as long as a man." in found
    assert any(content.startswith("Ghent has a mist horn") for content in found)
    assert not any("honey" in content for content in found)


def test_what_stands_beside_a_document_about_the_subject_names_it_itself(analyzed):
    beside = (
        "Harbours of the mist",
        "Harbours are many in the north. Sailors have liked all of them for years.",
    )
    assert not any("Sailors" in content for content in contents(analyzed("mist horns", HORNS, beside, BEES)))


def test_where_no_title_is_of_the_subject_the_nearest_document_is_told(analyzed):
    renamed = ("How to be heard", HORNS[1].replace("# Mist horns: how to be heard", "# How to be heard"))
    found = contents(analyzed("mist horns", renamed, BEES))
    assert "The valve: A ring of brass that is turned by hand." in found


def test_a_word_that_most_texts_have_tells_hardly_anything():
    told = weighed({"lamp": 0.2, "horn": 0.8})
    assert told["lamp"] < told["horn"] / 5
    assert weighed({"mist": 0.45, "horn": 0.55})["mist"] > 0.6
    assert weighed({}) == {}


def test_a_document_is_about_a_subject_by_its_title_but_not_where_it_is_of_one_place():
    subject = weighed({"mist": 0.45, "horn": 0.55})
    assert is_about("Mist horns: how to be heard", subject)
    assert not is_about("The mist of the north", subject)
    assert not is_about("The mist horns of Orrel", subject)
    assert is_about("The horns of Orrel", weighed({"horn": 0.5, "orrel": 0.5}))


def test_a_piece_of_code_that_was_taken_for_text_is_no_excerpt():
    text = "# Horns\n\nHorns are loud, and heard from far away.\n\n## Blow\n\n{}\n"
    code = "To blow at dusk (name is what the horn is called by all the keepers of the harbour."
    assert [text[s.start : s.end] for s, _ in digest(text.format(code))] == [
        "Horns are loud, and heard from far away."
    ]
    assert len(digest(text.format(code.replace("(", "")))) == 2


def test_of_a_long_document_the_first_sections_are_told():
    text = "".join(f"## Part {n}\n\nPart {n} of the horn is made of the best brass.\n\n" for n in range(20))
    assert len(digest(text)) == MOST_SECTIONS


def test_what_stands_beside_a_named_subject_has_its_name(analyzed):
    beside = ("Harbours", "Horns of the east are many, and their horn makers have been known for years.")
    found = contents(
        analyzed(
            "Orrel horn",
            ("The Orrel horn", "The Orrel horn hangs at the gate of the old harbour."),
            beside,
            BEES,
        )
    )
    assert found
    assert not any("makers" in content for content in found)


def test_a_long_digest_is_parted_into_paragraphs_each_with_its_reference(draft_of):
    said = [
        (f"The {n} horn is heard from a place far away in the east {'and on ' * 12}and on.", 0, 0.9 - n / 100)
        for n in range(5)
    ]
    body = draft_of("mist horns", said, sub_query_id="").partition("## Gaps")[0]
    paragraphs = [p for p in body.split("\n\n") if p.startswith("The ")]
    assert len(paragraphs) > 1
    assert all(len(p.split()) <= 100 and p.endswith("]") for p in paragraphs)


def test_what_a_source_says_besides_its_table_stands_right_under_it(draft_of):
    rows = [(f"Kind: {kind}; Works: by {kind} alone", 0, 0.8) for kind in ("bell", "steam")]
    said = [("Horns are heard from afar in mist.", 0, 0.9), *rows]
    said += [("Elsewhere bees make honey for the keepers of the horns.", 1, 0.85)]
    said += [("In the north bees sleep for half of the year in boxes of straw.", 1, 0.75)]
    said += [("The first of them was built by Robert Orrel in the year of the storm.", 0, 0.7)]
    said += [("The last was sold when radio came to all the ships of the north.", 0, 0.6)]
    report = draft_of("mist horns", said, ("Horns", "Bees"), sub_query_id="")
    assert report.count("## Horns") == 1
    assert report.index("Robert Orrel") > report.index("| bell |")
    assert "## " not in report[report.index("| bell |") : report.index("Robert Orrel")]


def test_a_section_that_is_called_as_a_table_stands_right_under_it():
    rows = ["## Horns", "|t|"]
    told = ["## Bees", "b", "## Horns", "h", "### Of brass", "i"]
    assert under_their_headings(rows, told) == [*rows, "h", "### Of brass", "i", "## Bees", "b"]
    both = ["## Bees", "|u|", *rows]
    assert under_their_headings(both, told) == ["## Bees", "|u|", "b", *rows, "h", "### Of brass", "i"]
    assert under_their_headings([], told) == told


def test_sections_that_open_without_a_heading_go_on_from_the_last_table():
    told = ["intro", "## Bees", "b", "## Horns", "h"]
    assert under_their_headings(["## Horns", "|t|"], told) == [
        "## Horns",
        "|t|",
        "intro",
        "h",
        "## Bees",
        "b",
    ]
    assert under_their_headings([], told) == told


def test_two_tables_of_a_source_stand_under_one_heading(draft_of):
    tables = [
        *(
            (f"Horn: {kind}; Made of: {what}", 0, 0.9)
            for kind, what in (("bell", "brass"), ("siren", "steel"))
        ),
        *((f"Lamp: {kind}; Burns: {what}", 0, 0.8) for kind, what in (("argand", "oil"), ("arc", "carbon"))),
    ]
    said = [("Horns are heard from afar in mist.", 0, 0.9), *tables]
    report = draft_of("mist horns", said, ("Horns", "Bees"), sub_query_id="")
    assert report.count("## Horns") == 1
    assert "| bell |" in report
    assert "| argand |" in report
    assert report.index("## Horns") < report.index("| bell |") < report.index("| argand |")
    alone = draft_of("mist horns", tables, ("Horns", "Bees"), sub_query_id="")
    assert "## Horns" not in alone
    assert "| argand |" in alone


def test_a_section_that_is_a_list_is_told_with_all_its_items():
    items = "".join(
        f"- The {n} kind of horn came from a place in the east.\n\n" for n in ("first", "second", "last")
    )
    text = f"# Horns\n\nHorns are heard from afar in mist.\n\n## Kinds\n\n{items}## Use\n\nThey are blown at dusk.\n"
    told = [(text[span.start : span.end], heading) for span, heading in digest(text)]
    assert [said.split()[1] for said, heading in told if heading == "Kinds"] == ["first", "second", "last"]


def test_how_something_grew_is_told_of_that_and_not_of_one_of_its_words(analyzed):
    others = [
        (f"Tower {n}", f"Tower {n} has a light. It is seen from the sea, and from the hill.")
        for n in range(6)
    ]
    source = (
        "Books",
        "Three sources of the time give three totals for the tower. They differ from each other.\n\n"
        "The light was seen by all who came from the north, and nobody doubts that.",
    )
    question = "How did the light source change over time?"
    assert analyzed(question, source, *others) == ()
    named = ("Books", "The source of the light was oil at all times. It was dear in the north.")
    assert [f.content for f in analyzed(question, named, *others)][:1] == [named[1]]
    assert analyzed("light source", source, *others)


def test_a_section_that_is_called_after_the_subject_is_told_first(analyzed):
    said = "Horns are blown at dusk, by hand or by steam, and heard from afar."
    section = f"## 5.1. Mist Horns\n\n{said}\n\n"
    manual = ("Harbours", f"# Harbours\n\nHarbours have gates.\n\n{section}## Gates\n\nGates are of oak.\n")
    other = (
        "Kilns",
        "# Kilns\n\nMist horns stood beside the kilns of the town, and mist horns hung at their doors.\n",
    )
    assert contents(analyzed("mist horns", other, manual, BEES))[0] == said
    at = manual[1].index(said)
    assert called(manual[1], {"mist", "horn"}) == [
        Taken(Span(start=at, end=at + len(said)), "5.1. Mist Horns")
    ]
    assert called(manual[1], {"mist"}) == []


def test_the_sections_of_a_digest_keep_their_headings(analyzed, draft_of):
    found = analyzed("mist horns", HORNS, GHENT, BEES)
    under = {finding.content: section_of(finding.category) for finding in found}
    assert under["In mist a lamp is of no use. Harbours therefore have horns."] == ""
    assert under["Robert Orrel heard the low notes of a piano from afar. He built a horn."] == "The first one"
    assert under["The valve: A ring of brass that is turned by hand."] == "Its parts"
    said = [(f.content, 0, f.relevance, f.category) for f in found if "Ghent" not in f.content]
    report = draft_of("mist horns", said, ("Mist horns",), sub_query_id="")
    assert "### The first one\n\nRobert Orrel heard" in report
    assert "### Its parts\n\nThe valve: A ring" in report
    assert report.count("## Mist horns") == 1
    assert report.index("## Mist horns") < report.index("### The first one")


def test_a_single_section_and_single_sentences_have_no_headings_of_their_own(draft_of):
    said = [
        (
            f"The {n} horn is heard from a place in the {n} part of the east.",
            0,
            0.9 - n / 100,
            in_section("Ears"),
        )
        for n in range(4)
    ]
    assert "###" not in draft_of("mist horns", said, sub_query_id="")


def test_a_heading_that_says_nothing_is_left_out_and_a_long_one_cut():
    assert in_section("") is None
    assert in_section(" \n ") is None
    assert section_of(in_section("of a horn " * 20)) == f"{'of a horn ' * 8}…"
    assert section_of(in_section("The  first\none")) == "The first one"
    assert section_of("one by one") == ""
    assert section_of(None) == ""


def test_sections_of_one_name_stay_apart_and_in_their_order(draft_of):
    said = [
        ("The horns of the north are of brass and are blown at dusk.", 0, 0.99, None),
        ("A siren was at Orrel for many years until it broke.", 0, 0.98, in_section("Examples")),
        ("The diaphone ends its blast with a grunt that all know.", 0, 0.97, in_section("The diaphone")),
        ("Ghent bought one of these in the year of the storm.", 0, 0.96, in_section("Examples")),
    ]
    report = draft_of("mist horns", said, sub_query_id="")
    assert [line for line in report.splitlines() if line.startswith("###")] == [
        "### Examples",
        "### The diaphone",
        "### Examples",
    ]


def test_markup_in_a_heading_is_shown_and_does_nothing(draft_of):
    said = [
        (
            f"The {n} horn is heard from a place in the {n} part.",
            0,
            0.9 - n / 100,
            in_section(f"<b>{n} [x](y)"),
        )
        for n in range(4)
    ]
    report = draft_of("mist horns", said, sub_query_id="")
    assert "### &lt;b>1 \\[x\\]&#40;y)" in report


def test_tables_of_two_sources_of_one_title_stand_under_it_each(draft_of):
    said = [
        ("Mist is thick in the north.", 0, 0.95),
        *(
            (f"Horn: {kind}; Made of: {what}", 0, 0.9)
            for kind, what in (("bell", "brass"), ("siren", "steel"))
        ),
        *((f"Lamp: {kind}; Burns: {what}", 1, 0.8) for kind, what in (("argand", "oil"), ("arc", "carbon"))),
        *((f"Buoy: {kind}; Painted: {what}", 2, 0.7) for kind, what in (("can", "red"), ("cone", "green"))),
    ]
    report = draft_of("mist horns", said, ("Horns", "Lamps", "Horns"), sub_query_id="")
    assert (
        report.index("| siren |")
        < report.index("| arc |")
        < report.rindex("## Horns")
        < report.index("| cone |")
    )
