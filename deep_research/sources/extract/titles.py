"""What a page is called, of what its head and its headings call it: mostly the same, with the site's name beside."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from lxml import etree
from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.html_text import without_site

_WORD = regex(r"\w+")
_PARTS = regex(r"(?:\s[—–|·»-]{1,2}|\s?:{1,2})\s")
_PARTS_BEHIND = regex(_PARTS.pattern + r"\Z")
_MUCH = 0.4  # of a title that a heading must be, to be one and not the name of the site
_MOST = 40  # headings that are looked at
_LONGEST = 500  # characters of a title
_LONG = 20  # characters; what is longer is no name of a site
_SHORT = 8  # characters; a lower heading with fewer is no title by being in that of the page


def title_of_head(tree: HtmlElement) -> str:
    """The document's title. A parser lets go of a head that stands behind text, and leaves its elements there."""
    for title in tree.iter("title"):
        if next(title.iterancestors("svg"), None) is None:
            return " ".join(title.text_content().split())
    return ""


def heading(tree: HtmlElement, said: list[str]) -> HtmlElement | None:
    """The heading of the page: one of the titles ``said`` in its head, else the first, rather in the main part than in
    what stands above it."""
    found = list(islice(_within(tree, ("main", "article"), "h1"), _MOST))
    every = list(islice(tree.iter("h1"), _MOST))
    titles = [title[:_LONGEST] for title in said if title]
    for among in (found, every):
        best = max(among, key=lambda each: _likeness(text_of(each)[:_LONGEST], titles), default=None)
        if best is not None and _likeness(text_of(best), titles):
            return best
    if found:
        return found[0]
    under = next(_within(tree, ("main",), "h2"), None)
    return every[0] if every and under is None else None


def is_title(heading: HtmlElement, head: str) -> bool:
    """Whether a lower heading is the title of the page, as its ``head`` has it."""
    text = " ".join(heading.text_content().split())
    return len(text) >= _SHORT and without_site(head, text) == text


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
    """``head`` is the document's title, ``shared`` the one for those who link to it, ``site`` the name of the site. What
    two of them agree on goes before what one says."""
    agreed = bool(heading and shared) and _key(without_site(shared, heading)) == _key(heading)
    if agreed and not _is_of_site(heading, head, site):
        return heading
    if not head or _key(head) == _key(site):
        return heading or shared
    if without_site(head, heading) == heading:
        return heading
    if site and head.endswith(site):
        head = _parted_behind(head.removesuffix(site)) or head
    rest = head.removeprefix(shared) if head.startswith(shared) else head.removesuffix(shared)
    if shared and rest != head and _key(shared) != _key(site) and len(shared) >= min(_LONG, len(rest)):
        return shared if _PARTS.match(rest) or _parted_behind(rest) else head
    return head


def _parted_behind(text: str) -> str:
    """``text`` without the sign at its end that parts two names; nothing when there is none."""
    sign = _PARTS_BEHIND.search(text[-6:])
    return text[: len(text) - len(sign[0])] if sign else ""


def _is_of_site(heading: str, head: str, site: str) -> bool:
    """Whether a heading is but the name of the site, by which its pages end."""
    if _key(heading) == _key(site):
        return True
    return len(heading) < _MUCH * len(head) and head.endswith(heading)


def _likeness(heading: str, titles: list[str]) -> float:
    """How much of a title a heading is; more of one that begins with it, and nothing of one that ends with it as the
    name of the site."""
    return max((_share(heading, title) for title in titles), default=0.0)


def _share(heading: str, title: str) -> float:
    key, whole = _key(heading), _key(title)
    if not key or key not in whole:
        return _share_of_part(heading, title)
    if key == whole:
        return 2.0
    if without_site(title, heading) == heading:
        return 1.5
    if title.endswith(heading) and _PARTS_BEHIND.search(title.removesuffix(heading)[-6:]):
        return 0.0
    share = len(key) / len(whole)
    return share if share >= _MUCH else 0.0


def _share_of_part(heading: str, title: str) -> float:
    """How much of a heading is a long part of the title, at its end: before it may stand what it is filed under."""
    key = _key(heading)
    parts = (_key(part) for part in _PARTS.split(title))
    share = max(
        (len(part) / len(key) for part in parts if len(part) >= _LONG and key.endswith(part)), default=0.0
    )
    return share if share >= _MUCH else 0.0


def _key(text: str) -> str:
    return "".join(_WORD.findall(text.lower()))
