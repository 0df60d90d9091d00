"""Language models: one contract over every service, and nothing they answer can hurt."""

from deep_research.models.base import (
    Effort,
    Form,
    Message,
    ModelCall,
    ModelProvider,
    OnText,
    Reply,
    StopReason,
    TokenUsage,
)
from deep_research.models.failures import Verdict

__all__ = [
    "Effort",
    "Form",
    "Message",
    "ModelCall",
    "ModelProvider",
    "OnText",
    "Reply",
    "StopReason",
    "TokenUsage",
    "Verdict",
]
