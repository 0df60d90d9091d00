"""Structured logging: silent until configured, run and phase bound, secrets filtered."""

from deep_research.logs.log import FORMATS, LEVELS, Log, bind, configure, get_log
from deep_research.logs.redaction import (
    blotted,
    blotted_bytes,
    holds_secret,
    kept,
    masked,
    masked_value,
    placeless,
    redact,
    redact_value,
    register_secret,
    told,
)
from deep_research.secret_values import MASK, cut, encodings

__all__ = [
    "FORMATS",
    "LEVELS",
    "MASK",
    "Log",
    "bind",
    "blotted",
    "blotted_bytes",
    "configure",
    "cut",
    "encodings",
    "get_log",
    "holds_secret",
    "kept",
    "masked",
    "masked_value",
    "placeless",
    "redact",
    "redact_value",
    "register_secret",
    "told",
]
