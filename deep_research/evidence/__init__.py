"""Working on text as evidence: words, passages, quotes, agreement, conflict. Pure functions only."""
