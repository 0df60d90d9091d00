"""An embeddable deep-research engine."""
