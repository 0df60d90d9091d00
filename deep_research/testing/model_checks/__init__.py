"""Checks of every model provider, one function a promise. `model_suite` gathers them."""
