"""Asides of a page: notes in its main part, and folded parts that one of its buttons opens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from lxml.html import Element, HtmlElement

from deep_research.sources.extract.hiding import is_folded, is_hidden, show
from deep_research.sources.extract.plaintext import words

_MOSTLY_SHARE = 0.5  # of a text that is links: a menu, or a list of other pages
_MAX_ANSWER = 1_200  # characters of a folded part that is one block with what its button says
_MAX_LABEL = 300  # characters of a button
_MAX_OPENERS = 2_000
_MAIN = ("main", "article")
_NO_NOTE = ("nav", "form", "input")
_WINDOWS = words("dialog alertdialog menu menubar listbox navigation search tooltip")  # roles
_NO_PANELS = words("html body main nav header footer form aside dialog")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_PARTED = (*_HEADINGS, "table", "pre", "details", "dl")
_TOGGLES = ("data-toggle", "data-bs-toggle", "aria-expanded")
_TARGETS = ("aria-controls", "data-bs-target", "data-target")


def keep_notes(tree: HtmlElement) -> None:
    """Makes a quotation of each ``aside`` in the main part that is a note, and no list of links and no form: what else is
    called so is no part of the text."""
    for aside in list(tree.iter("aside")):
        is_main = any(each.tag in _MAIN or each.get("role") == "main" for each in aside.iterancestors())
        if is_main and next(aside.iter(*_NO_NOTE), None) is None and not _is_of_links(aside):
            aside.tag = "blockquote"


def unfold(tree: HtmlElement) -> None:
    """Shows what a visitor opens with a button or a tab that he sees, each part behind what its button says. What nothing
    opens stays hidden: there orders to programs are put."""
    elements = [each for each in tree.iter() if isinstance(each.tag, str)]
    by_id = {name: each for each in reversed(elements) if (name := each.get("id"))}
    by_label = {name: each for each in reversed(elements) if (name := each.get("aria-labelledby"))}
    panels: set[HtmlElement] = set()
    for opener in islice(filter(_is_opener, elements), _MAX_OPENERS):
        targets = [by_id[name] for name in _targets(opener) if name in by_id]
        panel = targets[0] if targets else by_label.get(opener.get("id") or "")
        if panel is None and opener.get("aria-expanded") is not None:
            panel = _below(opener)
        if panel is not None and panel not in panels and _opens(opener, panel):
            panels.add(panel)
            if not _is_of_links(panel):  # looked at once, however many open it
                show(panel)
                _label(panel, opener)
    for details in tree.iter("details"):
        summary = details.find("summary")
        if summary is not None and _is_short(details):
            answer = Element("dd")
            answer.text, summary.tail, summary.tag = summary.tail, None, "dt"
            answer.extend(summary.itersiblings())
            details.append(answer)


def _is_opener(element: HtmlElement) -> bool:
    return element.tag in ("button", "a", "summary") or element.get("role") in ("button", "tab")


def _targets(opener: HtmlElement) -> Iterator[str]:
    """The names of the elements that it opens."""
    for name in _TARGETS:
        yield from (opener.get(name) or "").replace("#", " ").split()
    href = opener.get("href") or ""
    if href.startswith("#") and any(opener.get(name) is not None for name in _TOGGLES):
        yield href[1:]


def _below(opener: HtmlElement) -> HtmlElement | None:
    """The part behind an opener, or behind the heading that it is in, where that is folded."""
    for element in (opener, *islice(opener.iterancestors(*_HEADINGS), 1)):
        behind = element.getnext()
        if behind is not None and isinstance(behind.tag, str) and is_folded(behind):
            return behind
    return None


def _opens(opener: HtmlElement, panel: HtmlElement) -> bool:
    """Whether a visitor sees the opener, and what it opens is by its marks no menu and no window above the page."""
    is_toggle = opener.get("role") == "tab" or any(opener.get(name) is not None for name in _TOGGLES)
    around = list(opener.iterancestors())
    label = opener.text_content()
    return (
        (is_folded(panel) if is_hidden(panel) else is_toggle)
        and panel.get("role") not in _WINDOWS
        and panel.get("aria-modal") is None
        and panel.tag not in _NO_PANELS
        and panel not in (opener, *around)
        and opener not in panel.iterancestors()
        and not any(map(is_hidden, (opener, *around)))
        and len(label) <= _MAX_LABEL
        and any(map(str.isalnum, label))
    )


def _label(panel: HtmlElement, opener: HtmlElement) -> None:
    """Puts what the opener says before what it opens, as a term before its definition; a heading stands there already."""
    if any(each.tag in _PARTED for each in opener.iterancestors()):
        return
    term = Element("dt")
    term.text = " ".join(opener.text_content().split())
    opener.drop_tree()
    panel.addprevious(term)
    if _is_short(panel):
        panel.tag = "dd"


def _is_short(panel: HtmlElement) -> bool:
    return len(panel.text_content()) <= _MAX_ANSWER and next(panel.iterdescendants(*_PARTED), None) is None


def _is_of_links(element: HtmlElement) -> bool:
    links = sum(len("".join(link.itertext()).strip()) for link in element.iter("a"))
    return links > _MOSTLY_SHARE * len("".join(element.itertext()).strip())
