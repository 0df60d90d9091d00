"""Title of a page, chosen among its head and headings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from lxml import etree
from lxml.html import HtmlElement

_MAX_HEADINGS = 40  # headings that are looked at
_MAX_TITLE_CHARS = 500  # characters of a title
_APART = " —–|·»:-"  # what stands between a title and the name of the site


def title_of_head(tree: HtmlElement) -> str:
    """The document's title. A parser lets go of a head that stands behind text, and leaves its elements there."""
    for title in tree.iter("title"):
        if next(title.iterancestors("svg"), None) is None:
            return " ".join(title.text_content().split())
    return ""


def heading(tree: HtmlElement, head_titles: list[str]) -> HtmlElement | None:
    """The heading of the page: one with which one of the ``head_titles`` begins, else the first, rather in the main part
    than in what stands above it."""
    main_headings = list(islice(_within(tree, ("main", "article"), "h1"), _MAX_HEADINGS))
    every = list(islice(tree.iter("h1"), _MAX_HEADINGS))
    titles = [title[:_MAX_TITLE_CHARS].lower() for title in head_titles if title]
    for each in (*main_headings, *every):
        text = text_of(each)[:_MAX_TITLE_CHARS].lower()
        if text and any(title.startswith(text) for title in titles):
            return each
    return next(iter((*main_headings, *every)), None)


def _within(tree: HtmlElement, outer: tuple[str, ...], tag: str) -> Iterator[HtmlElement]:
    """The elements with a tag in the main part and in those with tags of ``outer``, each of which is gone through once:
    articles stand in articles, and from each of them down it would take quadratic time."""
    walk = etree.iterwalk(tree, events=("start",))
    for _, element in walk:
        if element.tag in outer or element.get("role") == "main":
            yield from element.iterdescendants(tag)
            walk.skip_subtree()


def text_of(element: HtmlElement | None) -> str:
    return "" if element is None else " ".join(element.text_content().split()).rstrip(" ¶#")


def title(head: str, shared: str, site: str, heading: str) -> str:
    """``head`` is the document's title, ``shared`` the one for those who link to it, ``site`` the name of the site.
    A heading that one of them begins with is the title, without the name of the site that many put behind it."""
    if not head or head == site:
        return heading or shared
    shared = "" if shared == site else shared
    if heading and heading != site and (shared.startswith(heading) or head.startswith(heading)):
        return heading
    page_title = shared or head
    if site and page_title.endswith(site):
        page_title = page_title.removesuffix(site).rstrip(_APART)
    return page_title or heading
