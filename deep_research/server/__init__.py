"""The engine behind a port: HTTP with live events, an OpenAI-compatible door, tokens."""

from __future__ import annotations
