"""Stems of words by Snowball's algorithms. Pure."""

from __future__ import annotations


def stemmed(algorithm: str, word: str) -> str:
    """The stem of a word in lower case; a word with half a character is its own."""
    import Stemmer  # loaded when first used: importing the package must stay cheap

    # A stemmer keeps the word it works on, so threads must not share one; making one is cheap, and its cache is not.
    try:
        found: str = Stemmer.Stemmer(algorithm, 0).stemWord(word)
    except UnicodeEncodeError:
        return word
    return found
