"""Which language a text is in, and the stems of its words. Pure.

A text is in the language that it has most function words of; English when nothing speaks clearly for another.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import chain

from deep_research.evidence.stemming import stemmed
from deep_research.patterns import regex

ENGLISH = "en"

_LOOKED_AT = 2_000  # characters
_SHORT = 1_000
_CLEAR_SHARE = 0.1  # of the different words, that function words must be at least
_ALSO_OTHERS = 1.5  # times its votes another language may have and the text be English: they share some words
_WORD = regex(r"[^\W\d_]+")

_FUNCTION_WORDS = {
    ENGLISH: """a about after all also an and any are as at be been but by can could did do does for from had
        has have he her his how i if in into is it its may more most no not of on or other our out over she so
        some such than that the their them then there these they this to up was we were what when where which
        who whose why will with would you your""",
    "de": """aber als am an auch auf aus bei bis das dass dem den der des die diese dieser durch ein eine einem
        einen einer eines er es für hat haben ich ihre im in ist kann mit nach nicht noch nur oder sein sich sie
        sind über um und unter vom von vor war was welche wenn werden wer wie wird wo wurde wurden zu zum
        zur""",
    "fr": """au aux avec ce ces cette comme dans de des deux du elle en est et été était eux il ils je la le les
        leur leurs lui mais même ne nous on ont ou où par pas plus pour qu que quel quelle quels qui sa sans se
        ses son sont sur tout un une vous""",
    "es": """al como con cuál cuando de del desde donde dónde el ella ellos en entre era es esta este esto fue
        ha han hasta la las lo los más muy no o para pero por porque que qué quién se ser si sin sobre son su
        sus también un una uno y ya adónde cómo cuáles cuándo cuánta cuántas cuánto cuántos quiénes""",
    "it": """al alla alle anche che chi ci come con da dal dalla dei del della delle di dove e ed era gli ha
        hanno i il in io la le lo ma nel nella non o per perché più quale quando quello questa questo se si
        sono stata stato su sua sul sulla suo tra un una uno è cosa quali quanta quante quanti quanto""",
    "pt": """ao aos as até com como da das de do dos e ela ele em entre era essa esse esta este eu foi foram
        há isso já mais mas muito na nas no nos não o onde os ou para pela pelo por qual quando que quem se
        sem ser seu sua são também um uma é porquê quais quanta quantas quanto quantos""",
    "nl": """aan al als bij daar dan dat de deze die dit door een en er haar had heb heeft het hij hoe hun ik
        in is je kan maar meer met na naar niet nog of om onder ook op over te tot uit van veel voor waar was
        wat welke werd wie worden wordt ze zich zij zijn zo hoeveel waarom wanneer welk""",
    "sv": """alla att av blev de den denna det där detta du efter eller en ett finns från för ha hade han har
        hon hur i inte jag kan med mellan men mot mycket när och om på sig sin ska som till under upp ut vad
        var vid vilka vilken är över hurdan varför vem vilket""",
    "da": """af alle at blev blive da de den denne der det dette du efter eller en er et for fra ham han har
        havde hun hvad hvem hvilke hvilken hvor hvordan i ikke jeg kan man med meget men mod når og også om op
        over på sig sin skal som til ud under var ved være hvilket hvorfor hvornår""",
    "no": """alle at av bare ble bli da de den denne der det dette du eller en enn er et etter for fra ha
        hadde han har hun hva hvem hvilke hvilken hvor hvordan i ikke jeg kan med mellom men mot mye når og
        også om opp over på seg sin skal som til under ut var ved være å hvilket hvorfor""",
    "fi": """ei eikä en eri että hän he ja jo joka jonka jos jossa jotka kaikki kanssa kuin kun kuten mikä
        minä missä miten me mitä mukaan muun mutta myös ne niin nyt oli olivat ollut on ovat se sekä sen siitä
        sitä tai tämä tämän vain vuonna kuinka kuka ketkä miksi milloin minne mistä mitkä montako paljonko""",
    "ru": """а без более бы был была были было быть в во все вы где для до его ее если есть же за и из или им
        их к как какие какой ко когда кто который которые ли между мы на над не но о об он она они от по под
        при с со так также то только у что чтобы это этого я зачем каков какова каково каковы кем куда откуда
        почему сколько чем""",
    "hu": """a az azt be csak egy ez ezt és fel hogy hol ha ki kell le lehet meg mely mi mint minden miért mit
        már még nagy nem olyan pedig szerint től után vagy volt voltak által hány hogyan hová honnan melyik
        mennyi mikor milyen""",
    "ro": """a acest această al ale am ar are au ca care ce cea cel cu cum când de din după ei el este eu fi
        fiind fost în între la lui mai nu o ori pe pentru prin sau se sunt un una unde unei unui și şi câte
        câți cât câtă cine""",
    "tr": """ama bir bu çok da daha de değil en gibi göre hangi için ile ise kadar ki kim mi nasıl ne nedir
        nerede o olan olarak oldu olduğu olduğunu sonra tarafından ve veya ya kaç neden niçin nereden nereye""",
}
_NAMES = {  # as snowball calls them
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "sv": "swedish",
    "da": "danish",
    "no": "norwegian",
    "fi": "finnish",
    "ru": "russian",
    "hu": "hungarian",
    "ro": "romanian",
    "tr": "turkish",
}
_CALLED = {
    ENGLISH: "English",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "th": "Thai",
    "lo": "Lao",
    "my": "Burmese",
    "km": "Khmer",
    "el": "Greek",
    "he": "Hebrew",
    "ar": "Arabic",
    "ka": "Georgian",
    "hy": "Armenian",
    "ta": "Tamil",
    "te": "Telugu",
    "kn": "Kannada",
    "ml": "Malayalam",
    "gu": "Gujarati",
}
STEMMED = tuple(_NAMES)  # the languages besides English whose words can be stemmed
_WORDS = {language: frozenset(words.split()) for language, words in _FUNCTION_WORDS.items()}
_LANGUAGES: dict[str, tuple[str, ...]] = {
    word: tuple(language for language in _WORDS if word in _WORDS[language])
    for word in frozenset().union(*_WORDS.values())
}
_KNOWN = frozenset(_LANGUAGES)
_KANA = regex("[\u3041-\u3096\u30a1-\u30fa]")
_NOT_ARABIC = regex(
    "[\u0679\u067e\u0686\u0688\u0691\u0698\u06a9\u06af\u06ba\u06be\u06cc\u06d2]"
)  # Persian, Urdu
_SCRIPTS = tuple(
    (language, regex(f"[{letters}]"))
    for language, letters in (
        ("zh", "\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff"),  # kana make it Japanese
        ("ko", "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"),
        ("th", "\u0e01-\u0e3a\u0e40-\u0e4e"),
        ("lo", "\u0e81-\u0ede"),
        ("my", "\u1000-\u109f"),
        ("km", "\u1780-\u17dd"),
        ("el", "\u0370-\u03ff\u1f00-\u1fff"),
        ("he", "\u05d0-\u05f2"),
        ("ar", "\u0620-\u064a\u0671-\u06d3"),
        ("ka", "\u10a0-\u10ff\u1c90-\u1cbf"),
        ("hy", "\u0531-\u0587"),
        ("ta", "\u0b80-\u0bff"),
        ("te", "\u0c00-\u0c7f"),
        ("kn", "\u0c80-\u0cff"),
        ("ml", "\u0d00-\u0d7f"),
        ("gu", "\u0a80-\u0aff"),
    )
)


def language_of(text: str, *, default: str = ENGLISH) -> str:
    """The ISO 639-1 code of the language ``text`` begins in, English or one of `STEMMED`; ``default`` when that is
    not clear."""
    head = text[:_LOOKED_AT]
    if _is_plainly_english(head):
        return ENGLISH
    words = set(head.lower().split())  # each once: names repeat "de" and "la"
    known = words & _KNOWN
    least = max(2, len(words) * _CLEAR_SHARE)
    if len(known) < least:
        return default
    english = len(known & _WORDS[ENGLISH])
    if english * _ALSO_OTHERS < len(known):  # else no language can have more
        votes = Counter(chain.from_iterable(map(_LANGUAGES.__getitem__, known)))
        # The first of equal ones in the order of the table: a set has another order in each process.
        best = max(_WORDS, key=votes.__getitem__)
        if english * _ALSO_OTHERS < votes[best]:
            return best if votes[best] >= least else default
    return ENGLISH if english >= least else default


def _is_plainly_english(text: str) -> bool:
    """A quick look: no other language has all of these words, and counting them takes a tenth of the time of looking
    at every word."""
    if len(text) < _SHORT:
        if " the " in text:
            return " and " in text or " was " in text or " is a " in text
        if " was a " in text or " is an " in text:
            return True
        return " is a " in text and (" of " in text or " and " in text)
    if " and " not in text or not (the := text.count(" the ")):
        return False
    return the * 200 > len(text) or (the + text.count(" and ")) * 200 > len(text)


def language_by_script(text: str) -> str:
    """The ISO 639-1 code of the language ``text`` begins in where its script says it: that of no other language that is
    much written. Empty when none does."""
    head = text[:_LOOKED_AT]
    letters = sum(map(str.isalpha, head))
    for language, script in _SCRIPTS:
        if 2 * len(script.findall(head)) > letters:
            if language == "zh" and 20 * len(_KANA.findall(head)) > letters:
                return "ja"
            return "" if language == "ar" and _NOT_ARABIC.search(head) else language
    return ""


def called(language: str) -> str:
    """What a language is called in English.

    Example:
        called("pt")  # "Portuguese"
    """
    return _CALLED.get(language) or _NAMES.get(language, language).capitalize()


def stemmer_of(language: str) -> str:
    """What the stemmer of one of the `STEMMED` languages is called."""
    return _NAMES[language]


def function_words(language: str) -> frozenset[str]:
    """The words of English or a `STEMMED` language that are in most of its texts and tell nothing."""
    return _WORDS.get(language, frozenset())


def is_function_word(word: str) -> bool:
    """Whether a word in lower case is such a word of any language."""
    return word in _KNOWN


@lru_cache(maxsize=1 << 16)
def stem_in(language: str, word: str) -> str:
    """The stem of a word in lower case, in one of the `STEMMED` languages."""
    return stemmed(_NAMES[language], word)


def stems_in(language: str, text: str) -> list[str]:
    """The stems of the words of ``text`` in order, without function words, numbers and single letters."""
    left_out = _WORDS[language]
    return [
        stem_in(language, word)
        for word in _WORD.findall(text.lower())
        if len(word) > 1 and word not in left_out
    ]
