"""Documents of the last research: what is in them, and what cannot get in."""

import io
import json
from pathlib import Path

import docx
import pytest
from lxml import html

from deep_research.calls import run_here
from deep_research.capabilities import AgentMessage, CapabilityRequest, DocumentCreator, completed
from deep_research.capabilities.document_files import document_bytes
from deep_research.errors import CapabilityError

REPORT = """# Bell *Rock*

Robert **Stevenson** built it. [1]

| Tower | Height |
|---|---|
| Bell Rock | 35 m |

- one
  - two

1. First, https://example.org/a
2. Second

```
x = <1>
```

See [the page](https://example.org/page?a=1&b=2).
"""
HOSTILE = """# <script>alert(1)</script>

<img src=x onerror=alert(1)> ![i](https://evil.example/i.png) [l](javascript:alert(1)) [d](data:text/html,x)

<div onclick="x">a</div>

[f](file:///etc/passwd) <https://ok.example/> \x00\x0b\x1b[31m end
"""
SUMMARY = {
    "topic": "Who built [Bell](http://evil.example) Rock?",
    "summary": "Robert Stevenson built it. <script>alert(1)</script>",
    "key_points": ["# It was lit in 1811.", "Stones: `2,835`."],
    "sources": ["https://example.org/bell?rock=1", "bell-rock.md"],
}


def test_html_is_one_page_that_loads_nothing():
    page = html.fromstring(document_bytes("html", "Bell <Rock>", REPORT))
    assert page.findtext(".//title") == "Bell <Rock>"
    assert page.findtext(".//h1") == "Bell "
    assert [cell.text for cell in page.iter("td")] == ["Bell Rock", "35 m"]
    assert page.find(".//pre/code").text == "x = <1>\n"
    assert [link.get("href") for link in page.iter("a")] == ["https://example.org/page?a=1&b=2"]
    policy = page.find(".//meta[@http-equiv]").get("content")
    assert policy.startswith("default-src 'none'")


def test_docx_has_headings_lists_tables_links_and_code():
    document = docx.Document(io.BytesIO(document_bytes("docx", "Bell Rock", REPORT)))
    told = [(paragraph.style.name, paragraph.text) for paragraph in document.paragraphs]
    assert ("Heading 1", "Bell Rock") in told
    assert ("Normal", "Robert Stevenson built it. [1]") in told
    assert ("List Bullet", "one") in told
    assert ("List Bullet 2", "two") in told
    assert ("List Continue", "1. First, https://example.org/a") in told
    assert ("No Spacing", "x = <1>") in told
    assert [[cell.text for cell in row.cells] for row in document.tables[0].rows] == [
        ["Tower", "Height"],
        ["Bell Rock", "35 m"],
    ]
    (link,) = [link for paragraph in document.paragraphs for link in paragraph.hyperlinks]
    assert (link.text, link.address) == ("the page", "https://example.org/page?a=1&b=2")
    assert document.core_properties.title == "Bell Rock"


def test_nothing_of_a_report_acts():
    page = html.fromstring(document_bytes("html", "x", HOSTILE))
    assert [element.tag for element in page.iter("script", "img", "iframe", "object")] == []
    assert [link.get("href") for link in page.iter("a")] == ["https://ok.example/"]
    assert [name for element in page.iter() for name in element.attrib if name.startswith("on")] == []
    document = docx.Document(io.BytesIO(document_bytes("docx", "x\x00", HOSTILE)))
    links = [link.address for paragraph in document.paragraphs for link in paragraph.hyperlinks]
    assert links == ["https://ok.example/"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x" * 300_000,
        "> " * 500 + "x",
        "- " * 500 + "x",
        "|a|\n|-|\n" + "|b|\n" * 2_000,
        "[" * 5_000,
        "#" * 50,
    ],
    ids=["empty", "long", "quotes", "lists", "table", "brackets", "heading"],
)
@pytest.mark.parametrize("kind", ["html", "docx"])
def test_every_text_becomes_a_document(kind, text):
    assert document_bytes(kind, "x", text)


def request_for(*messages, key="plan-0123456789ab-1-0"):
    return CapabilityRequest(capability="create_document", messages=messages, key=key)


def research(**summary):
    data = {"research_summary": {**SUMMARY, **summary}, "tool_used": True}
    return named(completed("research", data, message_id="run-1").messages[0])


def named(message):
    """As a supervisor keeps the message of the capability."""
    return message.model_copy(update={"name": "research"})


def asked(text):
    return AgentMessage(type="human", content=text)


def made(creator, request):
    answer = run_here(creator.invoke(request))
    return json.loads(answer.messages[-1].content)["data"]["document"]


@pytest.mark.parametrize(
    ("path", "format", "wish", "name"),
    [
        ("out", None, "Who?", "plan-0123456789ab.html"),
        ("out", None, "Who? As a Word document.", "plan-0123456789ab.docx"),
        ("out", "docx", "Who?", "plan-0123456789ab.docx"),
        ("out/report.docx", "html", "Who?", "report.docx"),
        ("out/report.htm", None, "Who? DOCX please", "report.htm"),
    ],
)
def test_the_file_is_where_and_what_its_user_wants(path, format, wish, name, tmp_path):
    document = made(DocumentCreator(tmp_path / path, format=format), request_for(asked(wish), research()))
    written = Path(document["path"])
    assert (written.parent.name, written.name) == ("out", name)
    assert written.read_bytes()[:4] == (b"PK\x03\x04" if document["format"] == "docx" else b"<!do")


def test_a_summary_of_elsewhere_is_text_and_its_sources_are_links(tmp_path):
    document = made(DocumentCreator(tmp_path / "r.html"), request_for(asked("Who?"), research()))
    page = html.fromstring(Path(document["path"]).read_bytes())
    assert page.find(".//h1").text_content() == "Who built [Bell](http://evil.example) Rock?"
    assert [link.get("href") for link in page.iter("a")] == ["https://example.org/bell?rock=1"]
    assert [item.text_content() for item in page.iter("li")] == [
        "# It was lit in 1811.",
        "Stones: 2,835.",
        "https://example.org/bell?rock=1",
        "bell-rock.md",
    ]


def test_the_whole_report_is_taken_where_the_run_is_our_own(tmp_path):
    seen = []

    async def report_of(research_id):
        seen.append(research_id)
        return REPORT

    creator = DocumentCreator(tmp_path / "r.html", report_of=report_of)
    document = made(creator, request_for(asked("Who?"), research()))
    assert seen == ["run-1"]
    assert html.fromstring(Path(document["path"]).read_bytes()).find(".//table") is not None


def test_a_file_of_somebody_else_is_not_replaced(tmp_path):
    path = tmp_path / "r.html"
    made(DocumentCreator(path), request_for(asked("Who?"), research()))
    made(DocumentCreator(path), request_for(asked("Who?"), research()))
    path.write_text("<p>mine</p>")
    with pytest.raises(CapabilityError, match="is not a document of deep-research"):
        made(DocumentCreator(path), request_for(asked("Who?"), research()))
    assert path.read_text() == "<p>mine</p>"
    (tmp_path / "r.docx").write_bytes(b"PK junk")
    with pytest.raises(CapabilityError):
        made(DocumentCreator(tmp_path / "r.docx"), request_for(asked("Who?"), research()))


def test_without_research_there_is_no_document(tmp_path):
    answer = run_here(DocumentCreator(tmp_path).invoke(request_for(asked("Who?"))))
    assert answer.messages[-1].content == "There is no completed research to make a document of."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [{}, {"research_summary": 1}, {"research_summary": {"topic": "x"}}])
def test_research_without_a_summary_is_said(data, tmp_path):
    request = request_for(asked("Who?"), named(completed("research", data).messages[0]))
    with pytest.raises(CapabilityError, match="no summary"):
        run_here(DocumentCreator(tmp_path).invoke(request))


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(CapabilityError, match="cannot be written"):
        made(DocumentCreator(tmp_path / "file" / "r.html"), request_for(asked("Who?"), research()))
