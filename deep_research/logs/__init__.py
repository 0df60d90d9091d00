"""Structured logging: silent until configured, run and phase bound, secrets filtered."""

from deep_research.logs.log import FORMATS, LEVELS, Log, bind, configure, get_log
from deep_research.logs.redaction import (
    MASK,
    blotted,
    blotted_bytes,
    encodings,
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

__all__ = [
    "FORMATS",
    "LEVELS",
    "MASK",
    "Log",
    "bind",
    "blotted",
    "blotted_bytes",
    "configure",
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
