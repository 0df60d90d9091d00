"""Structured logging: silent until configured, run and phase bound, secrets filtered."""

from deep_research.logs.log import FORMATS, LEVELS, Log, bind, configure, get_log
from deep_research.logs.redaction import (
    blotted,
    blotted_bytes,
    describe_error,
    holds_secret,
    masked,
    masked_value,
    placeless,
    redact,
    redact_value,
    register_secret,
    safe_name,
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
    "describe_error",
    "encodings",
    "get_log",
    "holds_secret",
    "masked",
    "masked_value",
    "placeless",
    "redact",
    "redact_value",
    "register_secret",
    "safe_name",
]
