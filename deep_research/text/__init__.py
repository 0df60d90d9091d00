"""Text as words, sentences and passages: languages, units, names, statements. Pure."""
