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
from deep_research.models.tool_calls import NativeTurn, ToolCall, ToolOutput, ToolSpec

__all__ = [
    "Effort",
    "Form",
    "Message",
    "ModelCall",
    "ModelProvider",
    "NativeTurn",
    "OnText",
    "Reply",
    "StopReason",
    "TokenUsage",
    "ToolCall",
    "ToolOutput",
    "ToolSpec",
    "Verdict",
]
