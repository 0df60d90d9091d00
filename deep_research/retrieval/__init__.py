"""Passages for a question: its terms, candidates, ranking and selection. Pure."""
