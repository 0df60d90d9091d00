"""What kind of publisher a web address belongs to: small tables of well-known ones, and rules by suffix. Data.

A row is a class, its effect on the judgement of a source (see `deep_research.evidence.quality`) and the domains that
are in it, with what stands below them. The longest domain that fits wins, and any domain wins over a suffix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from deep_research.evidence.sites import host_of, words_of


@dataclass(frozen=True, slots=True)
class Class:
    """``scholarly`` says that age matters less there than elsewhere."""

    name: str
    effect: int
    scholarly: bool = False


GOVERNMENT = Class("a government or public body", 4)
ACADEMIC = Class("a university or research institute", 3, scholarly=True)
STANDARDS = Class("a standards body", 4, scholarly=True)
PUBLISHER = Class("a scholarly publisher", 3, scholarly=True)
PREPRINTS = Class("a server of preprints", 2, scholarly=True)
REFERENCE = Class("a reference work", 2)
NEWS = Class("an established news organisation", 2)
DOCUMENTATION = Class("documentation of a project", 3)
CODE = Class("a host of code", 1)
PERSONAL = Class("a personal page", -1)
FORUM = Class("a forum", -1)
ANSWERS = Class("questions and answers by users", -1)
BLOGS = Class("a platform of blogs", -1)
SHOP = Class("a shop", -2)
SOCIAL = Class("social media", -3)
FARM = Class("a content farm", -4)

DOMAINS: tuple[tuple[Class, frozenset[str]], ...] = tuple(
    (kind, words_of(rows))
    for kind, rows in (
        (
            GOVERNMENT,
            """
            bundesbank.de ecb.europa.eu europa.eu imf.org oecd.org un.org unesco.org unicef.org
            who.int wipo.int worldbank.org wto.org destatis.de insee.fr federalreserve.gov
            bundestag.de admin.ch gc.ca canada.ca parliament.uk nhs.uk
            """,
        ),
        (
            ACADEMIC,
            """
            cern.ch cnrs.fr ethz.ch epfl.ch fraunhofer.de inria.fr mpg.de max-planck.de csiro.au
            riken.jp utoronto.ca mcgill.ca ubc.ca uni-heidelberg.de uni-muenchen.de lmu.de tum.de
            kit.edu nationalacademies.org leidenuniv.nl uu.nl uva.nl
            """,
        ),
        (
            STANDARDS,
            """
            ansi.org din.de etsi.org ecma-international.org iana.org iec.ch ieee-standards.org
            ietf.org iso.org itu.int khronos.org nist.gov oasis-open.org rfc-editor.org
            standards.ieee.org unicode.org w3.org whatwg.org
            """,
        ),
        (
            PUBLISHER,
            """
            acm.org acs.org aaas.org aip.org aps.org annualreviews.org bmj.com cambridge.org
            cell.com doi.org elifesciences.org frontiersin.org ieee.org iop.org jamanetwork.com
            jstor.org mdpi.com nature.com nejm.org ncbi.nlm.nih.gov oup.com plos.org pnas.org
            royalsocietypublishing.org rsc.org sagepub.com science.org sciencedirect.com
            springer.com tandfonline.com thelancet.com wiley.com aclanthology.org jmlr.org mlr.press
            neurips.cc openreview.net usenix.org cochranelibrary.com europepmc.org
            """,
        ),
        (
            PREPRINTS,
            """
            arxiv.org biorxiv.org medrxiv.org chemrxiv.org ssrn.com osf.io psyarxiv.com zenodo.org
            hal.science
            """,
        ),
        (
            REFERENCE,
            """
            britannica.com wikipedia.org wikidata.org wiktionary.org merriam-webster.com oed.com
            oxfordreference.com plato.stanford.edu iep.utm.edu mathworld.wolfram.com
            encyclopedia.com scholarpedia.org ourworldindata.org universalis.fr treccani.it
            larousse.fr duden.de
            """,
        ),
        (
            NEWS,
            """
            afp.com aljazeera.com apnews.com bbc.com bbc.co.uk bloomberg.com cbc.ca cnn.com dw.com
            economist.com elpais.com faz.net ft.com lemonde.fr nhk.or.jp npr.org nytimes.com nzz.ch
            pbs.org propublica.org reuters.com spiegel.de sueddeutsche.de tagesschau.de
            theatlantic.com theguardian.com washingtonpost.com wsj.com zeit.de abc.net.au
            corriere.it asahi.com straitstimes.com thehindu.com
            """,
        ),
        (
            DOCUMENTATION,
            """
            readthedocs.io readthedocs.org docs.rs developer.mozilla.org docs.python.org
            docs.oracle.com docs.djangoproject.com learn.microsoft.com docs.aws.amazon.com
            cloud.google.com developer.apple.com kubernetes.io postgresql.org sqlite.org pkg.go.dev
            go.dev doc.rust-lang.org cppreference.com man7.org numpy.org pandas.pydata.org scipy.org
            """,
        ),
        (
            CODE,
            """
            github.com gitlab.com codeberg.org bitbucket.org sourceforge.net pypi.org npmjs.com
            crates.io
            """,
        ),
        (
            FORUM,
            """
            4chan.org hackernews.com news.ycombinator.com lobste.rs resetera.com discourse.group
            groups.google.com
            """,
        ),
        (
            ANSWERS,
            """
            stackoverflow.com stackexchange.com superuser.com serverfault.com mathoverflow.net
            quora.com answers.com answers.microsoft.com gutefrage.net zhihu.com askubuntu.com
            """,
        ),
        (
            SOCIAL,
            """
            facebook.com instagram.com linkedin.com pinterest.com reddit.com snapchat.com
            threads.net tiktok.com twitter.com x.com vk.com weibo.com youtube.com youtu.be bsky.app
            mastodon.social t.me telegram.me discord.com
            """,
        ),
        (
            BLOGS,
            """
            blogger.com blogspot.com dev.to ghost.io hashnode.dev hatenablog.com livejournal.com
            medium.com substack.com tumblr.com typepad.com wordpress.com weebly.com wixsite.com
            hubpages.com note.com qiita.com
            """,
        ),
        (
            SHOP,
            """
            aliexpress.com alibaba.com amazon.com amazon.co.uk amazon.de ebay.com etsy.com temu.com
            walmart.com
            """,
        ),
        (
            FARM,
            """
            buzzle.com ehow.com ezinearticles.com articlesbase.com chegg.com coursehero.com
            studocu.com scribd.com brainly.com bartleby.com wikihow.com
            """,
        ),
    )
)
# By the last labels of a host: (pattern, class).
SUFFIXES: tuple[tuple[re.Pattern[str], Class], ...] = (
    (re.compile(r"(?:\A|\.)(?:gov|mil|int|(?:gov|gouv|gob|govt|go|gv|mil)\.[a-z]{2})\Z"), GOVERNMENT),
    (re.compile(r"(?:\A|\.)(?:edu|(?:ac|edu)\.[a-z]{2})\Z"), ACADEMIC),
)
# By the first label, of a host that has at least three.
OPENINGS: tuple[tuple[re.Pattern[str], Class], ...] = (
    (re.compile(r"(?:docs?|documentation|developer)\."), DOCUMENTATION),
    (re.compile(r"(?:forums?|community|discuss|boards?)\."), FORUM),
    (re.compile(r"(?:shop|store)\."), SHOP),
    (re.compile(r"(?:uni|univ)-[a-z-]+\.|www\.(?:uni|univ)-"), ACADEMIC),
)
_HOME = re.compile(r"/~|/(?:people|users?|home|homepages?|staff)/[^/]+/?", re.IGNORECASE)


@cache
def _by_domain() -> dict[str, Class]:
    found: dict[str, Class] = {}
    for kind, domains in DOMAINS:
        for domain in domains:
            found.setdefault(domain, kind)
    return found


def class_of(url: str) -> tuple[Class, str] | None:
    """The class of a web address, and the domain or host it was told by; None when nothing tells."""
    host = host_of(url)
    if not host:
        return None
    found = _class_of(host)
    if found and found[0] is ACADEMIC and _HOME.match(urlsplit(url.strip()).path):
        return PERSONAL, host
    return found


def _class_of(host: str) -> tuple[Class, str] | None:
    labels = host.split(".")
    known = _by_domain()
    for start in range(len(labels) - 1):
        domain = ".".join(labels[start:])
        if domain in known:
            return known[domain], domain
    for pattern, kind in SUFFIXES:
        if pattern.search(host):
            return kind, host
    if len(labels) >= 3:
        for pattern, kind in OPENINGS:
            if pattern.match(host):
                return kind, host
    return None
