"""Which blocks of a page are its main part, by what another reader found of them."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from deep_research.sources.extract.plaintext import words

_LINK = "\ue000"  # stands before what is nothing but links; of private use, so no page means anything by it
_HEADLINE = "\ue001"  # the same of a heading that leads to another page
_BLOCKS = words(
    "address article blockquote body caption dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header html li main ol p pre section summary table tbody td th tr ul"
)
_FENCES = ("```", "~~~")
_MOSTLY = 0.8  # of a block's text, in links
_LEVELS = 6  # of a table of contents
_FAR_LESS = 0.5
_PARAGRAPHS = 5  # of an article, and
_ARTICLE = 1_200  # characters in them
_TEASERS = 4  # make a list of them
_NEARLY_ALL = 0.9
_ENOUGH = 400  # characters
_SURE = 60  # letters and digits, which two lines do not share by accident
_LEAD = 8  # blocks that may stand between a title and the text
_SENTENCE = 60  # characters; of letters that are not Latin a third says as much
_ENDS = re.compile(r"[.!?…。！？][\"'”’»“)\]]{0,3}\Z")
_INVITES = re.compile(r"\b(?:newsletters?|subscribe|sign up|cookies?|javascript|browser)\b", re.IGNORECASE)
_HOST = re.compile(r"(?:https?:)?//([^/?#]+)", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def mark_links(tree: HtmlElement) -> None:
    """Marks the paragraphs and items of ``tree`` that are links and little else."""
    linked: dict[HtmlElement, int] = defaultdict(int)
    for link in tree.iter("a"):
        block = link.getparent()
        while block is not None and block.tag not in _BLOCKS:
            block = block.getparent()
        if block is not None and block.tag in ("li", "p", "dd", "div"):
            linked[block] += len(_key(link.text_content()))
    for block, size in [each for each in linked.items() if each[0].tag == "li"]:
        for outer in islice(
            block.iterancestors("li"), _LEVELS
        ):  # an item of a table of contents holds those below it
            if outer in linked:
                linked[outer] += size
    for block, size in linked.items():
        text = block.text_content()
        if size >= _MOSTLY * len(_key(text)) and not text.isspace():
            _mark(block)
    linked_headings = [each for each in tree.iter("h2", "h3", "h4", "h5", "h6") if _is_linked(each)]
    own = _own_host(tree) if linked_headings else ""
    for heading in linked_headings:
        if _leads_on(heading, own):
            heading.text = f"{_HEADLINE}{(heading.text or '').lstrip()}"


def _mark(block: HtmlElement) -> None:
    """Puts the sign before its first words. Before those may stand a picture in a block of its own; then what leads to
    another part of the page is rather a choice of it than a list of others."""
    is_apart = False
    walk: Any = etree.iterwalk(block, events=("start", "end"))
    for event, element in walk:
        is_apart = is_apart or (element is not block and element.tag in _BLOCKS)
        text = element.text if event == "start" else element.tail
        if text and text.strip():
            link = element if element.tag == "a" else next(element.iterancestors("a"), None)
            if is_apart and link is not None and (link.get("href") or "").startswith("#"):
                return
            marked = f"{_LINK}{text.lstrip()}"
            if event == "start":
                element.text = marked
            else:
                element.tail = marked
            return


def _is_linked(heading: HtmlElement) -> bool:
    return (
        next(heading.iterdescendants(*_BLOCKS), None) is None
        and next(heading.iterdescendants("a"), None) is not None
    )


def _own_host(tree: HtmlElement) -> str:
    """The host that the page says it is of; nothing when it does not."""
    said = tree.xpath("//link[@rel='canonical']/@href | //meta[@property='og:url']/@content")
    host = _HOST.match(said[0][:300]) if said else None
    return host[1].lower().removeprefix("www.") if host else ""


def _leads_on(heading: HtmlElement, own: str) -> bool:
    """Whether it is the headline of another page of the site."""
    linked = 0
    for link in heading.iter("a"):
        address = link.get("href") or "#"
        host = _HOST.match(address[:300])
        if address[0] != "#" and (host is None or (own and f".{host[1].lower()}".endswith(f".{own}"))):
            linked += len(_key(link.text_content()))
    return linked > len(_key(heading.text_content())) / 2


def main_part(whole: str, found: str) -> str:
    """``whole`` is all there is, in blocks; ``found`` what the other reader took of it."""
    blocks = _blocks(whole)
    votes = _Votes(found)
    voted = [votes.take(block) for block in blocks]
    kept = _without_names_of_links(blocks, [votes.without_links(block) for block in blocks], voted)
    everything = _joined(kept)
    if True not in voted:
        return everything
    first, last = voted.index(True), len(voted) - 1 - voted[::-1].index(True)
    while (
        first
        and not _is_title(blocks[first])
        and (_is_heading(blocks[first - 1]) or _is_set(blocks[first - 1]))
    ):
        first -= 1
    while last + 1 < len(blocks) and _is_set(blocks[last + 1]):
        last += 1
    lead, run = _lead(kept, first), _without_teasers(kept[first : last + 1])
    text = _joined(_headed(lead + run))
    if len(text) < _FAR_LESS * len(everything) and len(everything) - len(text) > _ENOUGH:
        return text if _is_an_article(run) and _are_teasers(kept[:first] + kept[last + 1 :]) else everything
    return text


def _without_names_of_links(blocks: list[str], kept: list[str], voted: list[bool]) -> list[str]:
    """What is kept without the headings that nobody voted for, right above links that are not kept: the names of lists
    of other pages. Before the text begins a heading may be its standfirst."""
    texts = (at for at, is_voted in enumerate(voted) if is_voted and not _is_heading(blocks[at]))
    first = next(texts, len(blocks))
    told = list(kept)
    for at in range(first + 1, len(blocks) - 1):
        if not voted[at] and _is_heading(blocks[at]) and not kept[at + 1] and blocks[at + 1].startswith("- "):
            told[at] = ""
    return told


def _is_an_article(blocks: list[str]) -> bool:
    """Whether it is long prose by itself, with no headlines in it."""
    prose = [block for block in blocks if is_prose(block) and not block.startswith(("- ", "#"))]
    return (
        len(prose) >= _PARAGRAPHS
        and sum(map(len, prose)) >= _ARTICLE
        and not any(_HEADLINE in each for each in blocks)
    )


def _are_teasers(blocks: list[str]) -> bool:
    """Whether it is headlines of other pages with a block below each, and lines that say nothing."""
    under = teased = headlines = 0
    for block in filter(None, blocks):
        if _is_heading(block):
            under = _HEADLINE in block
            headlines += under
        elif not under and len(block) >= _SENTENCE:
            continue
        else:
            under = 0
        teased += len(block)
    return headlines >= _TEASERS and teased >= _NEARLY_ALL * sum(map(len, blocks))


def _without_teasers(blocks: list[str]) -> list[str]:
    """Without the headlines of other pages at its end, where they are some and an article stands before them."""
    end = len(blocks)
    headlines = between = 0
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if _HEADLINE in block and _is_heading(block):
            headlines += 1
            between = 0
            end = place
        elif block:
            between += 1
            if between > 1 or _is_set(block):
                break
    return blocks[:end] if headlines >= _TEASERS and _is_an_article(blocks[:end]) else blocks


def _joined(blocks: list[str]) -> str:
    """As a text. A heading that stands there twice, for narrow and for wide screens, is one."""
    plain = [block.replace(_LINK, "").replace(_HEADLINE, "") for block in blocks if block]
    again = (at and _is_heading(block) and block == plain[at - 1] for at, block in enumerate(plain))
    return "\n\n".join(block for block, is_again in zip(plain, again, strict=True) if not is_again).strip()


def _lead(blocks: list[str], first: int) -> list[str]:
    """What stands between the title and the first block that was voted for, as far as it is prose: a standfirst. A
    signature, a caption or buttons may stand there too."""
    if _is_title(blocks[first]):
        return []
    lead: list[str] = []
    for place in range(first - 1, max(first - _LEAD, 0) - 1, -1):
        block = blocks[place]
        if _is_title(block):
            return lead[::-1]
        if is_prose(block.lstrip("# ")):
            lead.append(block)
        elif _is_heading(block) or _is_set(block):
            break
    return []


def is_prose(text: str) -> bool:
    """Whether it is a sentence or more, and no invitation."""
    enough = len(text) >= _SENTENCE or (len(text) >= _SENTENCE // 3 and not text.isascii())
    return enough and _ENDS.search(text[-10:]) is not None and not _INVITES.search(text)


class _Votes:
    """What the other reader found, to compare lines with."""

    def __init__(self, found: str) -> None:
        lines = [(_is_heading(line), _key(line)) for line in found.split("\n")]
        self._lines = {key for _, key in lines} - {""}
        self._told = {key for is_heading, key in lines if not is_heading} - {
            ""
        }  # a heading votes for no link to it
        self._ends = {
            end for line in self._lines if len(line) >= _SURE for end in (line[:_SURE], line[-_SURE:])
        }

    def take(self, block: str) -> bool:
        """Whether a line of it was taken, or a long one with more before or behind it, such as a caption."""
        for line in block.split("\n"):
            key = _key(line)
            if _LINK in line:
                if key in self._told:
                    return True
            elif key in self._lines:
                return True
            if len(key) > _SURE and (key[:_SURE] in self._ends or key[-_SURE:] in self._ends):
                return True
        return False

    def without_links(self, block: str) -> str:
        """Of lines that are all links those that were taken."""
        if not _is_links(block):
            return block
        return "\n".join(line for line in block.split("\n") if _key(line) in self._told)


def _blocks(text: str) -> list[str]:
    """The blocks of a text, each listing one of them."""
    found: list[str] = []
    fence = ""
    for part in text.split("\n\n"):
        if fence:
            found[-1] += f"\n\n{part}"
        else:
            found.append(part)
            fence = part[:3] if part.startswith(_FENCES) else ""
        if fence and part.endswith(f"\n{fence}"):
            fence = ""
    return found


def _headed(blocks: list[str]) -> list[str]:
    """Without headings that head nothing any more: before one of the same kind or a greater one, or at the end."""
    kept: list[str] = []
    for block in blocks:
        while (
            len(kept) > 1 and _is_heading(block) and _is_heading(kept[-1]) and _rank(block) <= _rank(kept[-1])
        ):
            kept.pop()
        if block:
            kept.append(block)
    while len(kept) > 1 and _is_heading(kept[-1]):
        kept.pop()
    return kept


def _rank(block: str) -> int:
    return len(block) - len(block.lstrip("#"))


def _key(line: str) -> str:
    return "".join(_WORD.findall(line.lower()))


def _is_links(block: str) -> bool:
    return all(line.lstrip(" -").startswith(_LINK) or not line.strip() for line in block.split("\n"))


def _is_heading(block: str) -> bool:
    return block.startswith("#") and "\n" not in block


def _is_title(block: str) -> bool:
    return block.startswith("# ") and "\n" not in block


def _is_set(block: str) -> bool:
    """A listing or a table."""
    return block.startswith(_FENCES) or (" | " in block and _LINK not in block)
