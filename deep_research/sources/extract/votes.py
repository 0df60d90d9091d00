"""Which blocks of a page are its main part, by what another reader found of them."""

from __future__ import annotations

import re
from collections import defaultdict

from lxml.html import HtmlElement

from deep_research.sources.extract.plaintext import words

_LINK = "\ue000"  # stands before what is nothing but links; of private use, so no page means anything by it
_BLOCKS = words(
    "address article blockquote body caption dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 "
    "header html li main ol p pre section summary table tbody td th tr ul"
)
_FENCES = ("```", "~~~")
_MOSTLY = 0.8  # of a block's text, in links
_FAR_LESS = 0.5
_ENOUGH = 400  # characters
_SURE = 60  # letters and digits, which two lines do not share by accident
_WORD = re.compile(r"\w+")


def mark_links(tree: HtmlElement) -> None:
    """Marks the paragraphs and items of ``tree`` that are links and little else."""
    linked: dict[HtmlElement, int] = defaultdict(int)
    for link in tree.iter("a"):
        block = link.getparent()
        while block is not None and block.tag not in _BLOCKS:
            block = block.getparent()
        if block is not None and block.tag in ("li", "p", "dd", "div"):
            linked[block] += len(link.text_content().strip())
    for block, size in linked.items():
        if size >= _MOSTLY * len(block.text_content().strip()):
            block.text = f"{_LINK}{block.text or ''}"


def main_part(whole: str, found: str) -> str:
    """``whole`` is all there is, in blocks; ``found`` what the other reader took of it."""
    blocks = _blocks(whole)
    lines = {_key(line) for line in found.split("\n")} - {""}
    ends = {end for line in lines if len(line) >= _SURE for end in (line[:_SURE], line[-_SURE:])}
    voted = [_is_voted(block, lines, ends) for block in blocks]
    kept = [
        _without_links(block, lines)
        for place, block in enumerate(blocks)
        if voted[place] or not _is_links(block)
    ]
    everything = "\n\n".join(filter(None, kept)).replace(_LINK, "").strip()
    if True not in voted:
        return everything
    first, last = voted.index(True), len(voted) - 1 - voted[::-1].index(True)
    while first and (_is_heading(blocks[first - 1]) or _is_set(blocks[first - 1])):
        first -= 1
    while last + 1 < len(blocks) and _is_set(blocks[last + 1]):
        last += 1
    chosen = [
        _without_links(block, lines)
        for place, block in enumerate(blocks[first : last + 1], first)
        if voted[place] or not _is_links(block)
    ]
    text = "\n\n".join(filter(None, _headed(chosen))).replace(_LINK, "").strip()
    if len(text) < _FAR_LESS * len(everything) and len(everything) - len(text) > _ENOUGH:
        return everything
    return text


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


def _is_voted(block: str, lines: set[str], ends: set[str]) -> bool:
    """Whether the other reader took a line of it, or a long one with more before or behind it, such as a caption."""
    for line in block.split("\n"):
        key = _key(line)
        if key in lines or (len(key) > _SURE and (key[:_SURE] in ends or key[-_SURE:] in ends)):
            return True
    return False


def _is_links(block: str) -> bool:
    return all(line.lstrip(" -").startswith(_LINK) or not line.strip() for line in block.split("\n"))


def _without_links(block: str, lines: set[str]) -> str:
    """Of items that are all links those that the other reader kept."""
    if _LINK not in block or not _is_links(block):
        return block
    return "\n".join(line for line in block.split("\n") if _key(line) in lines)


def _is_heading(block: str) -> bool:
    return block.startswith("#") and "\n" not in block


def _is_set(block: str) -> bool:
    """A listing or a table."""
    return block.startswith(_FENCES) or (" | " in block and _LINK not in block)
