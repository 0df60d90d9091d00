"""`mcp`: the engine as a server of the Model Context Protocol, over stdin and stdout."""

from __future__ import annotations

import asyncio
import os
import threading
from argparse import Namespace
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from deep_research.interfaces.cli.console import CommandError, Console, Exit
from deep_research.interfaces.cli.session import engine_arguments, folder_file_line

if TYPE_CHECKING:
    from deep_research.mcp_server.standard_streams import Wire
    from deep_research.research import DeepResearch

EXIT_SECONDS = 5.0  # for threads to end, once the runs are parked
_PACKAGE = "mcp"  # of the extra


def mcp_command(args: Namespace, console: Console, make: Callable[..., DeepResearch] | None) -> int:
    """Serve until the client goes. Raises `CommandError` where the package of the extra is missing, `UsageError`,
    `ConfigurationError`."""
    if find_spec(_PACKAGE) is None:
        raise CommandError(
            "missing_extra",
            "The MCP server needs another package.",
            hint="pip install 'deep-research[mcp]'",
            exit=Exit.WRONG_USE,
        )
    from deep_research.mcp_server.standard_streams import claim_standard_streams

    wire = claim_standard_streams()  # before anything is imported that may print
    asyncio.run(_serve(args, console, make, wire))
    return Exit.COMPLETED


async def _serve(
    args: Namespace, console: Console, make: Callable[..., DeepResearch] | None, wire: Wire
) -> None:
    from deep_research.logs import configure
    from deep_research.mcp_server.stdio_serving import serve
    from deep_research.research import DeepResearch

    async with (make or DeepResearch)(**engine_arguments(args)) as engine:
        if not (args.log_level or engine.settings.settings.log_level):
            configure(
                "warning"
            )  # a client keeps what stands on stderr, and shows it to who looks for a fault
        if (line := folder_file_line(engine.settings)) and not args.quiet:
            console.note(line)  # a file that nobody named is in force without a word otherwise
        if os.isatty(wire.input) and not args.quiet:
            console.note(
                "Waiting for an MCP client on stdin. MCP clients start this command themselves. Ctrl-C ends it."
            )
        try:
            await serve(engine, wire)
        finally:
            _end_at_the_latest(EXIT_SECONDS)


def _end_at_the_latest(seconds: float) -> None:
    """End the process then, whatever its threads still do, such as indexing a large folder: its client is gone, and what
    its runs recorded is in the store."""
    timer = threading.Timer(seconds, os._exit, (Exit.FAILED,))
    timer.daemon = True
    timer.start()
