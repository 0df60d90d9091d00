"""Statements set against texts and each other: support, discrepancies, contradictions. Pure."""
