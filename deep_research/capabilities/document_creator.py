"""The last research as a document: HTML or DOCX."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from deep_research.capabilities.capability import (
    AgentMessage,
    Capability,
    CapabilityAnswer,
    CapabilityRequest,
    completed,
)
from deep_research.capabilities.completion_contract import completed_capability
from deep_research.capabilities.document_files import FORMATS, DocumentFormat, document_bytes, is_document
from deep_research.capabilities.research_contract import RESEARCH, ResearchContract, ResearchSummary
from deep_research.errors import CapabilityError
from deep_research.files import whole
from deep_research.report.markup import address, escaped, linkable

ReportOf = Callable[[str], Awaitable[str | None]]


class DocumentCreator(Capability):
    """Writes a document from the last message that says that research is completed.

    ``path`` is the file, whose ending says which format it has, or a folder, for a file that is named after the plan;
    ``format`` is that of a file in a folder, where the request names none. ``report_of`` gives the whole report of a run
    of this engine, by its id; without it the document has what the message has: summary, key points and sources.
    """

    name = "create_document"
    description = "Writes the last research report to a document on this machine, as HTML or DOCX."
    read_only = True  # it writes where its user said, and replaces only what it wrote itself
    keywords = ("docx", "word document", "word file", "as html", "html file", "html page", "as a document")

    def __init__(
        self, path: Path, *, format: DocumentFormat | None = None, report_of: ReportOf | None = None
    ) -> None:
        self._path = path
        self._format = format
        self._report_of = report_of

    async def invoke(self, request: CapabilityRequest) -> CapabilityAnswer:
        """Raises `CapabilityError`."""
        message = next(
            (
                each
                for each in reversed(request.messages)
                if each.name == RESEARCH and completed_capability(each.content) == RESEARCH
            ),
            None,
        )
        if message is None:
            text = "There is no completed research to make a document of."
            return CapabilityAnswer(messages=(AgentMessage(type="ai", content=text),))
        try:
            summary = ResearchContract.model_validate_json(message.content).data.research_summary
        except ValueError:
            raise CapabilityError(
                "The research has no summary for a document.",
                hint="See docs/capabilities.md.",
                refused=True,
            ) from None
        path, kind = self._target(request)
        check_replaceable(path)
        report = await self._report_of(message.id) if self._report_of and message.id else None
        body = await asyncio.to_thread(document_bytes, kind, summary.topic, report or _markdown(summary))
        await asyncio.to_thread(_write, path, body)
        document = {"title": summary.topic, "format": kind, "path": str(path)}
        return completed(self.name, {"document": document})

    def _target(self, request: CapabilityRequest) -> tuple[Path, DocumentFormat]:
        ending = self._path.suffix.lstrip(".").lower()
        for kind in FORMATS:
            if ending in (kind, "htm" if kind == "html" else kind):
                return self._path, kind
        file_format = self._format or _format_of(request)
        return self._path / f"{request.key.rsplit('-', 2)[0]}.{file_format}", file_format


def check_replaceable(path: Path) -> None:
    """Raises `CapabilityError` for a folder, and for a file that is none of our documents."""
    if not path.exists() and not path.is_symlink():
        return
    try:
        is_own = path.is_file() and is_document(path.read_bytes())
    except OSError:
        is_own = False
    if not is_own:
        raise CapabilityError(
            f"{path} exists and is not a document of deep-research.",
            hint="Name another file with --out, or move it.",
            refused=True,
        )


def _format_of(request: CapabilityRequest) -> DocumentFormat:
    """That which the user's last message names; HTML where it names none."""
    words = next((each.content for each in reversed(request.messages) if each.type == "human"), "").casefold()
    return "docx" if any(word in words for word in ("docx", "word document", "word file")) else "html"


def _markdown(summary: ResearchSummary) -> str:
    """A summary as a report. Its texts come from elsewhere: nothing in them is markup."""
    points = "\n".join(f"- {escaped(point)}" for point in summary.key_points)
    sources = "\n".join(f"{number}. {_source(source)}" for number, source in enumerate(summary.sources, 1))
    return (
        f"# {escaped(summary.topic)}\n\n{escaped(summary.summary)}\n\n## Key points\n\n{points}\n\n"
        f"## Sources\n\n{sources}\n"
    )


def _source(source: str) -> str:
    return f"<{address(source, inside='<>')}>" if linkable(source) else escaped(source)


def _write(path: Path, body: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as file:
            file.write(body)
    except OSError as error:
        raise CapabilityError(
            f"{path} cannot be written: {error.strerror or error}.", hint="Name another file with --out."
        ) from error
