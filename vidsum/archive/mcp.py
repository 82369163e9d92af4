"""The server of `vidsum mcp`: `vidsum.archive.tools` by the Model Context Protocol, on stdin and stdout."""

import asyncio
import inspect
from collections.abc import Callable
from threading import Lock
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from vidsum.archive.tools import Tools
from vidsum.errors import Problem, VidsumError
from vidsum.version import __version__

_INSTRUCTIONS = (
    "Finds moments in videos on this machine, and makes short versions. Begin with `videos` or `search`."
)
_DECIMALS, _LEAST_SHARE = 2, 0.01  # of a step: progress is reported where it differs
_READING = ("videos", "search", "ground", "summarize", "transcript")
_WRITING = ("index", "clip")


def build_server(tools: Tools, *, can_write: bool) -> Any:
    """Return a server that offers the tools, one call at a time; those that write only if they may."""
    server = MCPServer("vidsum", instructions=_INSTRUCTIONS, version=__version__, log_level="ERROR")
    lock = Lock()
    for name in (*_READING, *(_WRITING if can_write else ())):
        hints = ToolAnnotations(
            read_only_hint=name in _READING,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        )
        server.add_tool(_as_tool(getattr(tools, name), lock), annotations=hints)
    return server


class _Cancelled(BaseException):
    """The client no longer waits: the thread ends as after Ctrl-C, without files that are not finished."""


class _Reporter:
    """Progress of a call, in steps: 2.5 is the middle of the third. Any thread may call it."""

    def __init__(self, context: Any) -> None:
        self._context, self._loop = context, asyncio.get_running_loop()
        self._step, self._steps, self._reported = "", -1, -1.0
        self.is_over = False

    def __call__(self, step: str, done: float, total: float) -> None:
        if self.is_over:
            raise _Cancelled
        self._steps += step != self._step
        self._step = step
        progress = round(self._steps + (min(done / total, 1 - _LEAST_SHARE) if total else 0.0), _DECIMALS)
        if progress > self._reported:
            self._reported = progress
            send = self._context.report_progress(progress, message=step)
            asyncio.run_coroutine_threadsafe(send, self._loop)


def _as_tool(method: Callable[..., Any], lock: Lock) -> Callable[..., Any]:
    """Return a tool whose parameters are those of a method, with the context in place of `progress`."""
    signature = inspect.signature(method)

    async def call(context: Any, **arguments: Any) -> Any:
        report = _Reporter(context)
        if "progress" in signature.parameters:
            arguments["progress"] = report
        try:
            return await asyncio.to_thread(work, report, arguments)
        except (VidsumError, OSError) as error:
            problem = Problem.of(error)
            hint = f"; try: {problem.hint}" if problem.hint else ""
            raise ToolError(f"{problem.message}{hint}") from error
        finally:
            report.is_over = True

    def work(report: _Reporter, arguments: dict[str, Any]) -> Any:
        with lock:
            if report.is_over:
                raise _Cancelled
            return method(**arguments)

    parameters = [value for name, value in signature.parameters.items() if name != "progress"]
    first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Context)
    call.__signature__ = signature.replace(parameters=[first, *parameters])  # type: ignore[attr-defined]
    call.__annotations__ = {"context": Context}
    call.__name__, call.__doc__ = method.__name__, inspect.getdoc(method)
    return call
