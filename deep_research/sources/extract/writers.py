"""What a discussion tells of those who write in it, beside each of their posts: since when they do, how many they wrote,
where they live. Only their names stay. A page that is no discussion by what it says of itself may be about the persons
it describes."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.html import HtmlElement

_DISCUSSIONS = ("DiscussionForumPosting", "QAPage")
_LONGEST = 400  # characters of such a box
_MOST = 2_000  # persons of a page
_MOST_WITHIN = 200  # elements of such a box


def drop_standing(tree: HtmlElement) -> None:
    if not any(map(_is_discussion, tree.iter())):
        return
    persons = [each for each in tree.iter() if _kind(each).endswith("/Person")]
    for person in persons[:_MOST]:
        within = list(_elements(person))
        names = [each for each in within if (each.get("itemprop") or "").lower() == "name"]
        if not names or len(within) > _MOST_WITHIN or len(_words(person)) > _LONGEST or not _words(names[0]):
            continue
        kept = {*names[0].iter(), *names[0].iterancestors()}
        for each in within:
            parent = each.getparent()
            if each not in kept and parent is not None and parent in kept:
                parent.remove(each)  # with the words behind it
            elif each in kept and each is not names[0] and not _is_in(each, names[0]):
                each.text = None


def _elements(person: HtmlElement) -> Iterator[HtmlElement]:
    for at, each in enumerate(person.iterdescendants()):
        if at > _MOST_WITHIN:
            return
        yield each


def _is_in(element: HtmlElement, outer: HtmlElement) -> bool:
    return any(each is outer for each in element.iterancestors())


def _is_discussion(element: HtmlElement) -> bool:
    if element.tag == "script":
        is_told = "ld+json" in (element.get("type") or "")
        return is_told and any(f'"{name}"' in (element.text or "") for name in _DISCUSSIONS)
    return _kind(element).endswith(tuple(f"/{name}" for name in _DISCUSSIONS))


def _kind(element: HtmlElement) -> str:
    return (element.get("itemtype") or "")[:200] if isinstance(element.tag, str) else ""


def _words(element: HtmlElement) -> str:
    return " ".join(element.text_content().split())
