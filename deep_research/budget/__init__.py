"""Budgets: the caps of a run, the window of a model, and metered access to models."""
