"""Names that scholarly works have for good, in the forms in which addresses carry them: DOI and arXiv. Pure."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote, urlsplit

from deep_research.evidence.sites import host_of, words_of
from deep_research.patterns import regex

_DOI = regex(r"10\.\d{4,9}/[^\s\"<>\\^`{|}]*[^\s\"<>\\^`{|}.,;:/?#]", re.ASCII)
_NAMED_DOI = regex(r"(?:doi|info:doi)[:\s/]+(10\..*)", re.IGNORECASE)
_RESOLVERS = frozenset(("doi.org", "dx.doi.org", "www.doi.org", "hdl.handle.net"))
# Where a DOI in the path is that of the page; elsewhere only after a segment that says "doi".
_PUBLISHERS = words_of(
    """
    academic.oup.com biorxiv.org crossref.org frontiersin.org journals.aps.org iopscience.iop.org
    karger.com link.springer.com medrxiv.org nejm.org springer.com thieme-connect.com wiley.com
    """
)
_DOI_PARAMETERS = {"doi": "", "id": "plos.org"}  # and where alone the parameter means that
# What stands behind a DOI in a path and shows the same work in another way.
_VIEW = regex(
    r"(?:/(?:abstract|abs|citation|epdf|epub|figures?|fulltext|full|html|meta|pdf|pdfdirect|references|summary"
    r"|tables?(?:/\d+)?|xml|book)|\.(?:pdf|full|html?|xml|epub))\Z",
    re.IGNORECASE,
)
_PREPRINT_VERSION = regex(r"v\d+(?:\.[a-z.]*)?\Z")
_PREPRINTS = ("10.1101/", "10.64898/")
_ARTICLE_NUMBER = regex(r"/\d{6,}\Z", re.ASCII)  # that one publisher puts behind the DOI
_NATURE = regex(r"/articles/((?:s\d{5}-|ncomms|nature|srep|sdata)[a-z0-9-]+)", re.IGNORECASE)

_ARXIV_NEW = r"\d{4}\.\d{4,5}"
_ARXIV_OLD = r"[a-z]+(?:-[a-z]+)?(?:\.[a-z]{2,3})?/\d{7}"
_ARXIV_ID = rf"({_ARXIV_NEW}|{_ARXIV_OLD})(?:v\d+)?"
_ARXIV_PATH = regex(
    rf"/(?:abs|pdf|html|ps|e-print|format|src)/{_ARXIV_ID}(?:\.pdf|\.ps|\.html)?/?\Z", re.I | re.A
)
_ARXIV_NAME = regex(rf"\A\s*arxiv\s*:\s*{_ARXIV_ID}\s*(?:\[[\w.-]+\])?\s*\Z", re.I | re.A)
_ARXIV_DOI = regex(rf"\A10\.48550/arxiv\.{_ARXIV_ID}\Z", re.I | re.A)
_ARXIV_HOSTS = ("arxiv.org", "ar5iv.org")


def doi_of(text: str) -> str | None:
    """The DOI, in lower case, that a web address or a name (``doi:10.…``, ``10.…``) is about; None without one.

    Of a publisher's page the DOI in its address counts, without what only says how the work is shown."""
    text = text.strip()
    host = host_of(text)
    if not host:
        named = _NAMED_DOI.match(text)
        found = _DOI.match(unquote(named[1] if named else text))
        return _work(found[0]) if found else None
    parts = urlsplit(text)
    path = unquote(parts.path)
    if host in _RESOLVERS:
        found = _DOI.match(path.lstrip("/"))
        return _work(found[0]) if found else None
    if _below(host, "nature.com") and (article := _NATURE.match(path)):
        return f"10.1038/{_work(article[1])}"
    found = _DOI.search(path)
    if found and (
        "doi" in path[: found.start()].lower().split("/") or any(_below(host, p) for p in _PUBLISHERS)
    ):
        name = found[0]
        for _ in range(3):  # as in /full.pdf
            name = _VIEW.sub("", name)
        return _work(_ARTICLE_NUMBER.sub("", name) if _below(host, "academic.oup.com") else name)
    for name, value in parse_qsl(parts.query):
        site = _DOI_PARAMETERS.get(name.lower())
        if site is None or (site and not _below(host, site)):
            continue
        if found := _DOI.fullmatch(value.removeprefix("doi:")):
            return _work(found[0])
    return None


def _work(doi: str) -> str:
    doi = doi.lower()
    if doi.startswith(_PREPRINTS):
        doi = _PREPRINT_VERSION.sub("", doi)
    # A bracket that was opened outside of the name closes outside of it.
    open_ones = max(0, doi.count(")") - doi.count("("))
    closing = min(open_ones, len(doi) - len(doi.rstrip(")")))
    return doi[: len(doi) - closing]


def arxiv_of(text: str) -> str | None:
    """The arXiv id, without version and subject class, that an address, a name (``arXiv:…``) or a DOI is about."""
    text = text.strip()
    host = host_of(text)
    if host and any(_below(host, known) for known in _ARXIV_HOSTS):
        found = _ARXIV_PATH.search(unquote(urlsplit(text).path))
    elif named := _ARXIV_NAME.match(text):
        found = named
    else:
        doi = doi_of(text)
        found = _ARXIV_DOI.match(doi) if doi else None
    if not found:
        return None
    archive, slash, number = found[1].lower().rpartition("/")
    return f"{archive.partition('.')[0]}{slash}{number}"


def _below(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")
