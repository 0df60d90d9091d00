"""One page, one name: the address by which a page is known, however it was found, or the DOI or arXiv id of its work.
Pure.

`canonical_url` names a page; it is no promise that the name can be fetched. To fetch it, take the address that was
found. What becomes one:

- http and https: a site that serves different things over them is broken; the name says https.
- ``www.``, ``m.``, ``mobile.`` and ``amp.`` before a site's name, ``.m.`` within it, and the page behind AMP's caches.
- a path with and without a slash at its end (the root keeps it), ``.`` and ``..`` in it, spellings of an escape.
- parameters of a query that only tell where a reader came from, sessions, keys and signatures; the others stay in their
  order, since sites may read them in it.
- fragments, but those that begin with ``!``, which name a page of their own.
- DOI and arXiv addresses: see `doi_of`, `arxiv_of`. An arXiv DOI is the arXiv page.

What stays apart: ports, index pages, letter case in paths.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from deep_research.patterns import regex
from deep_research.provenance.sites import ascii_host, host_of, is_suffix, site_of, words_of

MAX_URL_CHARS = 2_048  # characters of an address that are looked at
_JUNK = regex(r"[\x00-\x1f\x7f]")
_MOBILE = ("www.", "m.", "mobile.", "amp.")
_PORTS = {"http": 80, "https": 443}
_UNRESERVED = regex(r"[A-Za-z0-9._~-]")
# What may stand unescaped in a path, and in a query or fragment.
_PATH_SAFE = "/:@!$&'()*+,;=-._~"
_QUERY_SAFE = _PATH_SAFE + "?"
_ESCAPES = regex(r"%([0-9A-Fa-f]{2})|([^%]+)|%")
_PATH_SESSION = regex(r";(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)

# Parameters that say how a reader came, never what is shown.
_TRACKING = words_of(
    """
    _ga _gl _hsenc _hsmi _ke action_object_map action_ref_map action_type_map amp cmpid cmp dclid dicbo
    fb_action_ids fb_action_types fb_source fbclid ga_campaign gad_source gbraid gclid gclsrc guccounter
    hsctatracking icid igsh igshid li_fat_id mkt_tok msclkid ncid oly_anon_id oly_enc_id ref ref_
    ref_src ref_url referrer s_cid s_kwcid sc_cid share_id smid spm srsltid trk trkcampaign ttclid
    twclid vero_conv vero_id wbraid wickedid wt.mc_id xtor yclid ysclid zanpid __s __twitter_impression
    """
)
_TRACKING_OPENINGS = (
    "utm_",
    "mc_",
    "at_campaign",
    "at_medium",
    "at_custom",
    "at_link",
    "hsa_",
    "pk_",
    "mtm_",
    "ns_",
    "itm_",
)
_SESSIONS = words_of(
    """
    jsessionid phpsessid sessionid session_id cfid cftoken sessid zenid oscsid
    """
)
# Parameters that say who may read, never what is shown.
_CREDENTIALS = words_of(
    """
    access_key access_token accesskey api-key api_key apikey auth_token authtoken client_secret id_token passwd password
    refresh_token secret_key x-api-key
    """
)
_CREDENTIAL_OPENINGS = ("x-amz-", "x-goog-")
_PERHAPS_CREDENTIAL = frozenset(("auth", "key", "sig", "signature", "token"))
_CREDENTIAL_VALUE = regex(r"(?=[^0-9]*\d)[\w.~%+/=-]{20,}\Z", re.ASCII)
_PERHAPS_SESSION = frozenset(("sid", "s"))
_SESSION_VALUE = regex(r"(?=[0-9a-f]*\d)[0-9a-f]{20,}\Z", re.IGNORECASE)
# Where a name of the tables says what is shown. Keys are domains, with what stands below them.
_TELLING = {
    "github.com": {"ref"},
    "githubusercontent.com": {"ref"},
    "gitlab.com": {"ref"},
    "bitbucket.org": {"ref"},
    "biblegateway.com": {"ref"},
    "esv.org": {"ref"},
}
# And names that only there say nothing.
_IDLE = {
    "youtube.com": {"feature", "si", "pp", "app"},
    "youtu.be": {"feature", "si"},
    "open.spotify.com": {"si"},
    "twitter.com": {"s", "t"},
    "x.com": {"s", "t"},
    "amazon.com": {"tag", "linkcode", "qid", "sr", "keywords", "pd_rd_r", "pd_rd_w", "pd_rd_wg"},
    "medium.com": {"source", "sk"},
    "linkedin.com": {"trackingid", "refid", "lipi"},
    "reddit.com": {"share_id", "rdt"},
    "nytimes.com": {"partner", "emc"},
}

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


@lru_cache(maxsize=8_192)  # a page is met in a search, in the state, and in the searches after it
def canonical_url(url: str) -> str:
    """The name of the page at ``url``; of a work with a DOI or arXiv id its lasting address. What is no web address,
    such as a path of a corpus, is given back as it is. Applied twice it changes nothing more."""
    if len(url) > MAX_URL_CHARS or _JUNK.search(url):
        return url
    try:
        return _work(url) or _page(url) or url
    except ValueError:  # what the standard library cannot take apart
        return url


def without_credentials(url: str) -> str:
    """A web address without user, password, keys and signatures, fit to be stored and shown; else as it was given."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.scheme.lower() not in _PORTS or not parts.hostname:
        return url
    parameters = parts.query.split("&")
    kept = [p for p in parameters if not _admits(unquote(p.partition("=")[0]).lower(), p.partition("=")[2])]
    if len(kept) == len(parameters) and "@" not in parts.netloc:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="&".join(kept)).geturl()


def _work(url: str) -> str | None:
    # A bare "10.1234/x" may be a path of a corpus.
    if not host_of(url) and not url.strip().lower().startswith(("doi:", "arxiv:", "info:doi/")):
        return None
    if arxiv := arxiv_of(url):
        return f"https://arxiv.org/abs/{arxiv}"
    if doi := doi_of(url):
        return f"https://doi.org/{quote(doi, safe=_PATH_SAFE)}"
    return None


def _page(url: str) -> str | None:
    parts = urlsplit(url.strip())
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or "@" in parts.netloc or not (host := ascii_host(parts.hostname or "")):
        return None
    path = _path(parts.path)
    if inner := _behind_amp(host, path, parts.query):
        return canonical_url(inner)
    host = _desktop(host)
    port = "" if parts.port in (None, *_PORTS.values()) else f":{parts.port}"
    query = "&".join(p for p in _spelt(parts.query, _QUERY_SAFE).split("&") if p and _tells(p, host))
    fragment = _spelt(parts.fragment, _QUERY_SAFE) if parts.fragment.startswith("!") else ""
    return "".join(
        (
            f"https://{f'[{host}]' if ':' in host else host}{port}{path}",
            f"?{query}" if query else "",
            f"#{fragment}" if fragment else "",
        )
    )


def _desktop(host: str) -> str:
    """The host without what only says for which device it is."""
    while True:
        for opening in _MOBILE:
            if host.startswith(opening) and not is_suffix(host.split(".")[1:]):
                host = host[len(opening) :]
                break
        else:
            break
    labels = host.split(".")
    if len(labels) >= 4 and labels[1] == "m":  # as in en.m.wikipedia.org
        return _desktop(".".join((labels[0], *labels[2:])))
    return host


def _behind_amp(host: str, path: str, query: str) -> str | None:
    """The address that a cache of AMP pages shows."""
    tail = f"?{query}" if query else ""
    if host.endswith(".cdn.ampproject.org") and (shown := re.match(r"/[civ]/(s/)?(.+)", path)):
        return f"{'https' if shown[1] else 'http'}://{shown[2]}{tail}"
    if site_of(host).startswith("google.") and (shown := re.match(r"/amp/(s/)?([^/]+\.[^/]+.*)", path)):
        return f"{'https' if shown[1] else 'http'}://{shown[2]}{tail}"
    return None


def _path(path: str) -> str:
    kept: list[str] = []
    for segment in _PATH_SESSION.sub("", _spelt(path, _PATH_SAFE)).split("/")[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join(kept).rstrip("/") if any(kept) else "/"


def _spelt(text: str, safe: str) -> str:
    """Escapes in one spelling: none where none is needed, capitals elsewhere."""

    def one(match: re.Match[str]) -> str:
        if match[1]:
            character = chr(int(match[1], 16))
            return character if _UNRESERVED.match(character) else f"%{match[1].upper()}"
        return quote(match[2], safe=safe, errors="replace") if match[2] else "%25"

    return _ESCAPES.sub(one, text)


def _tells(parameter: str, host: str) -> bool:
    """Whether a parameter of a query has to do with what is shown."""
    key, _, value = parameter.partition("=")
    name = unquote(key).lower().removeprefix("amp;")  # of a link taken from markup as it stood
    if _is_listed(_TELLING, host, name):
        return True
    if name in _TRACKING or name in _SESSIONS or name.startswith((*_TRACKING_OPENINGS, "aspsessionid")):
        return False
    if _admits(name, value):
        return False
    if name in _PERHAPS_SESSION and _SESSION_VALUE.match(value):
        return False
    return not _is_listed(_IDLE, host, name)


def _admits(name: str, value: str) -> bool:
    """Whether a parameter is a key, or part of one."""
    if name in _CREDENTIALS or name.startswith(_CREDENTIAL_OPENINGS):
        return True
    return name in _PERHAPS_CREDENTIAL and _CREDENTIAL_VALUE.match(value) is not None


def _is_listed(table: dict[str, set[str]], host: str, name: str) -> bool:
    return any(
        name in names and (host == domain or host.endswith(f".{domain}")) for domain, names in table.items()
    )


def doi_of(text: str) -> str | None:
    """The DOI, in lower case, that a web address or a name (``doi:10.…``, ``10.…``) is about; None without one.

    Of a publisher's page the DOI in its address counts, without what only says how the work is shown."""
    text = text.strip()
    host = host_of(text)
    if not host:
        named = _NAMED_DOI.match(text)
        found = _DOI.match(unquote(named[1] if named else text))
        return _lasting(found[0]) if found else None
    parts = urlsplit(text)
    path = unquote(parts.path)
    if host in _RESOLVERS:
        found = _DOI.match(path.lstrip("/"))
        return _lasting(found[0]) if found else None
    if _below(host, "nature.com") and (article := _NATURE.match(path)):
        return f"10.1038/{_lasting(article[1])}"
    found = _DOI.search(path)
    if found and (
        "doi" in path[: found.start()].lower().split("/") or any(_below(host, p) for p in _PUBLISHERS)
    ):
        name = found[0]
        for _ in range(3):  # as in /full.pdf
            name = _VIEW.sub("", name)
        return _lasting(_ARTICLE_NUMBER.sub("", name) if _below(host, "academic.oup.com") else name)
    for name, value in parse_qsl(parts.query):
        site = _DOI_PARAMETERS.get(name.lower())
        if site is None or (site and not _below(host, site)):
            continue
        if found := _DOI.fullmatch(value.removeprefix("doi:")):
            return _lasting(found[0])
    return None


def _lasting(doi: str) -> str:
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
