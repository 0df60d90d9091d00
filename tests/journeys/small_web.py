"""A small web on two topics: news and its copies, an encyclopedia, an office with a table, a report as PDF, a forum,
works of a catalogue of which one is retracted, and pages that cannot or may not be read. And what finds them."""

import io
import re

from servers import Hit, web_reply

COOKIES = '<div class="cookie-banner" role="dialog"><p>We and our 214 partners use cookies.</p></div>'
NAVIGATION = '<nav><ul><li><a href="/">Home</a></li><li><a href="/sport">Sport</a></li></ul></nav>'
FOOT = '<aside class="related"><a href="/x">Ten bridges to see</a></aside><footer>© 2020. Terms · Privacy</footer>'
STORY = (
    "The Harlow Bridge over the river Tarn collapsed at 7:42 on Tuesday, killing 14 people, the county police said.",
    "The central span of the bridge, which was opened in 1961, fell 38 metres into the river in heavy traffic.",
    "“There was a sound like a train, and then the road was simply gone,” said Peter Vance, who had stopped his lorry.",
    "Divers were still searching the river on Tuesday evening. The bridge carried 23,000 vehicles a day.",
    "Engineers had warned of corrosion in 2017, according to a report that the county council did not publish.",
)


def article(title, *paragraphs, day=None, lang="en"):
    told = f'<meta property="article:published_time" content="{day}T08:00:00Z">' if day else ""
    body = "".join(p if p.startswith("<") else f"<p>{p}</p>" for p in paragraphs)
    return web_reply(
        f'<!doctype html><html lang="{lang}"><head><title>{title}</title>{told}</head><body>{COOKIES}{NAVIGATION}'
        f"<main><article><h1>{title}</h1>{body}</article></main>{FOOT}</body></html>".encode()
    )


def pdf(*pages):
    """A PDF of pages of lines."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    leaves = []
    for lines in pages:
        shown = "".join(f"({line}) Tj T*\n" for line in lines)
        content = f"BT /F1 11 Tf 60 740 Td 15 TL\n{shown}ET".encode("ascii")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        leaves.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(leaves), len(leaves))
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.7\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()


INQUIRY = pdf(
    ("Inquiry into the collapse of Harlow Bridge", "Report of the Commission, June 2021."),
    (
        "The Harlow Bridge collapsed because eleven hangers of its central span had",
        "lost more than half of their section to corrosion.",
    ),
)
PAGES = {
    "herald.example.com/bridge": article("Harlow Bridge collapses, killing 14", *STORY, day="2020-03-17"),
    "wire.example.net/88213": article("14 dead as Harlow Bridge collapses", *STORY, day="2020-03-17"),
    "estwick.example.org/harlow": article(
        "Harlow Bridge disaster: 14 dead", "(Herald)", *STORY, day="2020-03-18"
    ),
    "encyclo.example.org/Harlow_Bridge": article(
        "Harlow Bridge",
        '<table class="infobox"><tr><th>Crosses</th><td>River Tarn</td></tr><tr><th>Opened</th><td>1961</td></tr>'
        "</table>",
        "The Harlow Bridge was a suspension bridge over the River Tarn, designed by Edmund Sayle.",
        "It collapsed in March 2020 because of corroded hangers.",
    ),
    "www.transport.gov.uk/harlow": article(
        "Harlow Bridge: official figures",
        "This page gives official figures on the Harlow Bridge and its collapse of 17 March 2020.",
        "The cost of the new Harlow Bridge was 412 million pounds.",
        "Figures are published each October, when the accounts of the year before are closed, and are not changed after."
        " Requests for older figures should be sent to the office of statistics in writing, with the name of the road.",
        "<table><tr><th>Year</th><th>Vehicles a day</th></tr><tr><td>2019</td><td>23,100</td></tr></table>",
        day="2024-10-02",
    ),
    "www.transport.gov.uk/inquiry.pdf": web_reply(INQUIRY, Content_Type="application/pdf"),
    "forum.example.com/cost": article(
        "What did the new Harlow Bridge cost?",
        "I read that the new Harlow Bridge cost 380 million pounds in the end.",
        "You must log in to reply.",
    ),
    "premium.example.com/harlow": article(
        "The cost of the Harlow Bridge", "Log in to read on. Subscribe to read the story."
    ),
    "closed.example.com/robots.txt": web_reply(b"User-agent: *\nDisallow: /\n", Content_Type="text/plain"),
    "closed.example.com/cost": article("Harlow Bridge cost", "SECRET"),
}
FOUND = [
    Hit(url="http://herald.example.com/bridge", title="Harlow Bridge collapses, killing 14", text=STORY[0]),
    Hit(url="http://wire.example.net/88213", title="14 dead as Harlow Bridge collapses", text=STORY[0]),
    Hit(url="http://estwick.example.org/harlow", title="Harlow Bridge disaster: 14 dead", text=STORY[0]),
    Hit(url="http://encyclo.example.org/Harlow_Bridge", title="Harlow Bridge", text="A suspension bridge."),
    Hit(
        url="http://www.transport.gov.uk/harlow",
        title="Harlow Bridge: official figures",
        text="Figures of the bridge.",
    ),
    Hit(
        url="http://www.transport.gov.uk/inquiry.pdf",
        title="Inquiry into the collapse of Harlow Bridge",
        text="A report.",
    ),
    Hit(
        url="http://forum.example.com/cost",
        title="What did the new Harlow Bridge cost?",
        text="380 million pounds",
    ),
    Hit(url="http://premium.example.com/harlow", title="The cost of the Harlow Bridge", text="Who knew?"),
    Hit(url="http://gone.example.com/harlow", title="Harlow Bridge cost and facts", text="All facts."),
    Hit(url="http://closed.example.com/cost", title="Harlow Bridge cost", text="The cost."),
]
WORKS = [
    Hit(
        url="https://openalex.example/W1",
        title="Magnesium for insomnia in adults: a trial",
        text="We randomised 246 adults. We conclude that magnesium does not improve insomnia in adults.",
        doi="10.1000/mag.1",
        venue="Journal of Sleep Trials",
        citations=88,
        published="2022-02-03",
        authors=("L. Ahn", "R. Boe"),
    ),
    Hit(
        url="https://openalex.example/W2",
        title="Magnesium raises sleep time in the elderly",
        text="In a trial of 46 elderly people, sleep was longer. Magnesium improves insomnia in the elderly.",
        doi="10.1000/mag.2",
        venue="Annals of Sleep",
        citations=301,
        published="2012-12-01",
        authors=("B. Azad",),
        retracted=True,
    ),
]


def _stems(text):
    return {word.lower()[:6] for word in re.findall(r"\w{4,}", text)}


def found(asked):
    """The hits that share most words with what was asked, works from a catalogue of them."""
    wanted = _stems(" ".join(map(str, asked.params.values())))
    hits = WORKS if "works" in asked.path else FOUND
    shares = [(2 * len(wanted & _stems(hit.title)) + len(wanted & _stems(hit.text)), hit) for hit in hits]
    return [hit for share, hit in sorted(shares, key=lambda each: -each[0]) if share > 1]
