"""What of a web page belongs to its site, taken out: menus, notices, buttons, what else one might read."""

from __future__ import annotations

import re
from itertools import islice

from lxml.html import HtmlElement

from deep_research.sources.extract.counts import drop_counts
from deep_research.sources.extract.hiding import hides
from deep_research.sources.extract.votes import is_prose
from deep_research.sources.extract.widgets import (
    HEADINGS,
    drop_calls,
    drop_empty_folds,
    drop_sign_ups,
    drop_widgets,
)
from deep_research.sources.extract.writers import drop_standing

_TAGS = ("script", "style", "noscript", "template", "iframe", "object", "embed", "svg", "canvas", "audio", "video",
         "nav", "dialog", "button", "select", "textarea", "input", "datalist")  # fmt: skip
_ROLES = frozenset(
    (
        "navigation",
        "banner",
        "contentinfo",
        "search",
        "dialog",
        "alertdialog",
        "complementary",
        "menu",
        "menubar",
    )
)
# Words in a class or an id, between hyphens and the like.
_NAMED = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|ccpa|share|sharing|social|related|newsletter|subscribe|subscription|signup|"
    r"breadcrumbs?|sidebar|advert|advertisement|ads?|sponsored|promo|promoted|comments?|disqus|navbar|navbox|navigation|"
    r"nav|menu|masthead|catlinks|toc|editsection|headerlink|anchorjs|skip|pagination|pager|controls|suggested|"
    r"recommended|recommendations|trending|popular|feedback|toolbar|footer|copyright|siteSub|jump|hatnote|backlink|"
    r"beta-banner|phase-banner|more-stories|also-read|popup|modal|noprint|printfooter|sr-only|visible-sr|"
    r"visually-hidden|screen-reader-text|metadata-bar|post-meta|article-meta|entry-meta|tags|taglist|metadata|"
    r"infobox-image|infobox-caption)"
    r"(?=$|[\s_-])",
    re.IGNORECASE,
)
# Among them what tells of an article whose it is: read first, then dropped.
_TELLING = re.compile(
    r"(?:^|[\s_-])(?:post-meta|article-meta|entry-meta|metadata)(?=$|[\s_-])", re.IGNORECASE
)
# The same of what may hold the rest of the text: an invitation is short.
_NAMED_SHORT = re.compile(r"(?:^|[\s_-])(?:read-more|paywall)(?=$|[\s_-])", re.IGNORECASE)
_INVITATION = 400  # characters
_NOTE = re.compile(r"\[(?:\d{1,3}|[a-z]|note \d+|citation n.*)\]?")
_INLINE = re.compile(r"display\s*:\s*inline(?:-block)?\s*(?:;|!|\Z)", re.IGNORECASE)
_PAGES = re.compile(r":\s?(?:pp?\.\s?)?[\divxlc][\divxlc\s,–-]*\Z")
_TOLD = re.compile(
    r"(?:^|[\s_-])(?:byline|dateline|pubdate|timestamp|date-published|published-date)(?=$|[\s_-])",
    re.IGNORECASE,
)
# Of what stands in a heading only this is none of its words, and only beside others.
_HEADING_MARKS = re.compile(
    r"(?:^|[\s_-])(?:headerlink|anchorjs|editsection|noprint|skip|jump|share|sharing|social|sr-only|visually-hidden|"
    r"screen-reader-text)(?=$|[\s_-])",
    re.IGNORECASE,
)
# Said to those who hear a page, and shown to nobody.
_HEARD = re.compile(
    r"(?:^|[\s_-])(?:sr-only|aural|visually-hidden|screen-reader-text)(?=$|[\s_-])", re.IGNORECASE
)
_ELEMENTS = 40  # one that holds so many is no heading, and no frame around a day
_NO_WORD = re.compile(r"[\W_]+")
_BYLINE = 200  # characters
_STEPS = frozenset(("next", "prev", "previous", "up", "contents", "index", "start", "first", "last"))
_STEP_TO = re.compile(r"\b(?:next|prev(?:ious)?|up):\s*\Z", re.IGNORECASE)
_DIRECTION = re.compile(r"\b(?:next|prev(?:ious)?|up|contents|index|home|top|back|forward)\b", re.IGNORECASE)
_MOST_STEPS = 10
_STRAY = 8  # letters beside the links of such a line
_KEPT = frozenset(
    ("html", "body", "main", "article", "table", "tbody", "pre", "code", "h1", "h2", "h3", "title")
)
_MOST = 0.4  # of a page's text that something which is only named like debris may have
_HOLDS_LINKS = frozenset(("header", "footer", "aside"))


def _drop_steps(body: HtmlElement) -> None:
    """Takes out the lines with links that say of themselves that they lead on to the next page of a manual, or up."""
    for link in list(body.iter("a")):
        line = next(link.iterancestors("p", "div", "td", "li", "body"), None)
        if not _leads_to_another(link) or line is None or line.tag == "body" or line.getparent() is None:
            continue
        links = list(islice(line.iter("a"), _MOST_STEPS + 1))
        if len(links) > _MOST_STEPS or 2 * sum(map(_leads_to_another, links)) <= len(links):
            continue
        if len(line.text_content()) <= _BYLINE and _is_of_links(line, links):
            _drop(line)


def _leads_to_another(link: HtmlElement) -> bool:
    """By what it says of itself, or what is said right before it."""
    before, above = link.getprevious(), link.getparent()
    said = before.tail if before is not None else above.text if above is not None else ""
    is_step = not _STEPS.isdisjoint((link.get("rel") or "").lower().split())
    return is_step or _STEP_TO.search((said or "")[-20:]) is not None


def _is_of_links(line: HtmlElement, links: list[HtmlElement]) -> bool:
    """Whether there is little in it but links and the names of their directions."""
    words = _DIRECTION.sub("", "".join(line.itertext()))
    for link in links:
        words = words.replace(link.text_content(), "", 1)
    return len(_NO_WORD.sub("", words)) <= _STRAY


def prune(tree: HtmlElement) -> list[HtmlElement]:
    """Takes out of the tree what belongs to the site. Metadata in its head stay, scripts too when they hold some, and
    what tells of the article: that is returned, for `drop_told` when it has been read."""
    body = tree.find("body")
    if body is None:
        return []
    whole = len(body.text_content())
    drop_sign_ups(body)
    drop_calls(body)
    drop_counts(body)
    drop_standing(tree)
    drop_widgets(body)
    _drop_steps(body)
    _drop_unseen_title(tree)
    titled = {each for title in body.iter("h1") for each in title.iterancestors("article", "header", "main")}
    telling: list[HtmlElement] = []
    for element in list(body.iter("*")):
        if element.getparent() is None or not isinstance(element.tag, str) or element is body:
            continue
        if element.tag == "div" and _is_in_the_line(element):
            element.tag = "span"
            _drop(element)
        elif _is_of_the_site(element, whole) and not _is_in_a_listing(element) and not _is_headline(element):
            if _tells_of_the_article(element, titled):
                telling.append(element)
            else:
                _drop(element)
    drop_empty_folds(body)
    for mark in list(body.iter("sup", "a", "span")):
        if _is_mark(mark):
            _drop(mark)
    for caption in list(body.iter("caption")):
        _before_its_table(caption)
    return telling


def _drop_unseen_title(tree: HtmlElement) -> None:
    """Takes out the headings that only name the site to those who hear the page: those of the first rank that are not
    shown, where another is, and are no words of the page's title."""
    titles = list(islice(tree.iter("h1"), _ELEMENTS))
    heard = [each for each in titles if _HEARD.search((each.get("class") or "")[:300])]
    if not heard or not any(each not in heard and each.text_content().strip() for each in titles):
        return
    title = tree.find(".//title")
    named = "" if title is None else _slug(title.text_content()[:1_000])
    for each in heard:
        if _slug(each.text_content()[:_BYLINE]) not in named:
            _drop(each)


def _is_in_the_line(element: HtmlElement) -> bool:
    """Whether it is a sign without words that its style puts into the line: no end of a paragraph."""
    if not _INLINE.search((element.get("style") or "")[:300]) or element.text_content().strip():
        return False
    return next(element.iterdescendants("meta"), None) is None  # which tells something


def _tells_of_the_article(element: HtmlElement, titled: set[HtmlElement]) -> bool:
    """Whether it is the line with author and day of the article that has the title; not that of a teaser."""
    if not _TELLING.search((element.get("class") or "")[:300]) or not _is_shown(element):
        return False
    return next(element.iterancestors("article", "header", "main"), None) in titled


def unfold_headers(tree: HtmlElement, heading: HtmlElement | None) -> None:
    """Of the headers of articles leaves the headings and what is prose: else a standfirst would go with the buttons."""
    of_heading = heading.iterancestors("header") if heading is not None else ()
    every = (
        each for each in tree.iter("header") if next(each.iterancestors("article", "main"), None) is not None
    )
    headers = [*every, *of_heading]
    outer = [each for each in headers if next(each.iterancestors("header"), None) is None]
    for header in outer:
        kept = [each for each in header.iter("p", "div", *HEADINGS) if _is_of_a_header(each)]
        if not kept and _is_of_a_header(header):
            header.tag = "p"
            continue
        header.tag = "div"
        header.text = None
        for child in list(header):
            header.remove(child)
        for each in kept:
            each.tail = None
            header.append(each)


def _is_of_a_header(element: HtmlElement) -> bool:
    if next(element.iterdescendants("p", "div", *HEADINGS), None) is not None:
        return False
    return element.tag in HEADINGS or is_prose(" ".join(element.text_content().split()))


def drop_told(tree: HtmlElement, telling: list[HtmlElement]) -> None:
    """Takes out what the metadata tell already: who wrote it, on which day."""
    for element in telling:
        _drop(element)
    for element in list(tree.iter("script", "time", "div", "p", "span", "address")):
        if element.getparent() is not None and _is_told(element):
            _drop(element)


def _is_told(element: HtmlElement) -> bool:
    if element.tag == "script":
        return True
    if element.tag == "time":  # not one in a sentence
        parent = element.getparent()
        if parent.tag in ("article", "section", "main", "header"):
            return True
        # Else each of many would be compared with all of them.
        few = next(islice(parent.iterchildren(), _ELEMENTS, None), None) is None
        return few and len(element.text_content().strip()) == len(parent.text_content().strip())
    return bool(_TOLD.search((element.get("class") or "")[:300])) and len(element.text_content()) < _BYLINE


def _is_of_the_site(element: HtmlElement, whole: int) -> bool:
    tag = element.tag
    if tag in _TAGS:
        return "ld+json" not in (element.get("type") or "")
    if not _is_shown(element):
        return _is_small(element, whole)
    if tag in _KEPT:
        return tag == "table" and _is_named_so(element) and _is_small(element, whole)
    if tag == "header" and next(element.iterancestors("article", "main"), None) is not None:
        return False  # see `unfold_headers`
    if tag in _HOLDS_LINKS:
        # In an article they may hold its title, its notes or a box that belongs to it.
        return not any(True for _ in element.iter("h1")) and _is_small(element, whole)
    if (element.get("role") or "").lower() in _ROLES or _is_named_so(element):
        return not any(True for _ in element.iter("h1", "article", "main")) and _is_small(element, whole)
    return False


def _is_in_a_listing(element: HtmlElement) -> bool:
    """Whether it is a piece of code: what is called a comment there is part of it."""
    return element.tag not in _TAGS and any(True for _ in element.iterancestors("pre", "code"))


def _is_headline(element: HtmlElement) -> bool:
    """Whether it is words of a heading: the link to the table of contents that many manuals make of the whole of it,
    the button that unfolds a section. A button is no such thing any more then, for those who read on."""
    if element.tag in HEADINGS or (element.tag in _TAGS and element.tag != "button"):
        return False
    heading = next(element.iterancestors(*HEADINGS), None)
    if heading is None or not _is_shown(element) or len(list(islice(heading.iter(), _ELEMENTS))) == _ELEMENTS:
        return False
    words = _NO_WORD.sub("", element.text_content())
    alone = bool(words) and words == _NO_WORD.sub("", heading.text_content())
    if element.tag == "button" and alone:
        element.tag = "span"
        return True
    return element.tag not in _TAGS and (
        alone or not _HEADING_MARKS.search((element.get("class") or "")[:300])
    )


def _is_shown(element: HtmlElement) -> bool:
    hidden = element.get("hidden") is not None or element.get("aria-hidden", "").lower() == "true"
    return not hidden and not hides(element.get("style") or "")


def _is_named_so(element: HtmlElement) -> bool:
    if any(_NAMED_SHORT.search((element.get(name) or "")[:300]) for name in ("class", "id")):
        return len(element.text_content()) <= _INVITATION
    if _NAMED.search((element.get("class") or "")[:300]):
        return True
    name = (element.get("id") or "")[:300]
    return _NAMED.search(name) is not None and not _is_section(element, name)


def _is_section(element: HtmlElement, name: str) -> bool:
    """Whether it is named by its heading, as generators of manuals name sections: a text on sharing, say."""
    heading = next(element.iter(*HEADINGS), None)
    if heading is None or _slug(heading.text_content()[:400]) != _slug(name):
        return False
    return _slug(name).count("-") > 1 or any(link.get("href") == f"#{name}" for link in heading.iter("a"))


def _slug(text: str) -> str:
    return _NO_WORD.sub("-", text.lower()).strip("-")


def _is_small(element: HtmlElement, whole: int) -> bool:
    return len(element.text_content()) <= max(whole * _MOST, 600)


def _is_mark(element: HtmlElement) -> bool:
    """A number that refers to a note, a sign that links to a heading."""
    if element.getparent() is None:
        return False
    text = element.text_content()[:12].strip()
    if element.tag == "sup":
        if text[:1] == ":":  # the page of the source to which the mark before it refers
            return _PAGES.match(element.text_content().strip()[:60]) is not None
        return _NOTE.match(text) is not None and element.find(".//a") is not None
    return element.tag == "a" and text in ("¶", "#", "§", "🔗", "↑", "^")


def _before_its_table(caption: HtmlElement) -> None:
    table = caption.getparent()
    if table is None or table.tag != "table" or table.getparent() is None:
        return
    _drop(caption)
    caption.tag = "p"
    caption.tail = None
    table.addprevious(caption)


def _drop(element: HtmlElement) -> None:
    """As `drop_tree`, which joins what stood before and after it without a space between."""
    parent = element.getparent()
    if parent is not None:
        if element.tail and element.tag not in ("sup", "a", "span"):
            element.tail = f" {element.tail}"
        element.drop_tree()
