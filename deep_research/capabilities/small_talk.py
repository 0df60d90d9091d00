"""Messages that ask for no research: greetings, thanks, farewells and empty ones. Pure."""

from __future__ import annotations

from deep_research.patterns import regex

MAX_WORDS = 8  # of a message that can be small talk
_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)?")
_NOTHING = "There is no question to research. Send one as the last message of a user."
_GREETING = "Hello. Send me a question, and I research it."
_THANKS = "You are welcome. Send me the next question when there is one."
_FAREWELL = "Goodbye."
_ASSENT = "Good. Send me a question when there is one."
_KINDS = (  # a message is of the first kind that has one of its words
    (_THANKS, "thank thanks thx ty cheers danke merci gracias grazie obrigado obrigada"),
    (_FAREWELL, "bye goodbye farewell ciao tschüss adieu adios"),
    (_GREETING, "hello hi hey hiya howdy greetings hallo bonjour hola servus salut welcome"),
    (_GREETING, "morning afternoon evening"),
    (_ASSENT, "ok okay yes no great perfect nice cool fine super"),
)
_WORDS = tuple((reply, frozenset(words.split())) for reply, words in _KINDS)
_KIND_WORDS = frozenset[str]().union(*(words for _, words in _WORDS))
# They say nothing of their own beside such words.
_FILLERS = (
    "a again all and at day dear everybody everyone folks for friend good guys help have lot many much my of so that the"
    " there this to today very well you your"
)
_BESIDE = frozenset(_FILLERS.split())
_COURTESIES = frozenset(
    ("", "how are you", "how are you doing", "how do you do", "how is it going", "what's up")
)


def small_talk(message: str) -> str | None:
    """What to reply to a message that asks for nothing; None for one that may ask for research.

    Example:
        small_talk("Thanks a lot!")  # "You are welcome. ..."
        small_talk("Thanks. Who built Bell Rock?")  # None
    """
    words: list[str] = []
    for match in _WORD.finditer(message):
        words.append(match.group().casefold().replace("’", "'"))
        if len(words) > MAX_WORDS:
            return None
    if not words:
        return _NOTHING
    rest = [word for word in words if word not in _KIND_WORDS]
    if " ".join(rest) not in _COURTESIES and ("?" in message or not _BESIDE.issuperset(rest)):
        return None
    reply = next((reply for reply, kind in _WORDS if not kind.isdisjoint(words)), None)
    return reply or (_GREETING if " ".join(rest) in _COURTESIES else None)
