"""The process of `vidsum mcp`: calls run in the main thread, so that it ends as any command does.

The loop of the server has a thread of its own. A signal, or the end of stdin or stdout, interrupts the main
thread like Ctrl-C: the call that runs removes its unfinished files. Then the process ends, at most
`_LONGEST_S` after that, whatever its other threads wait for.
"""

import asyncio
import atexit
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread, Timer, current_thread, main_thread
from typing import Any

_LONGEST_S = 1.2  # time to end in all
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

Job = Callable[[], None]


class _Stopped(BaseException):
    """The process is to end."""


class Process:
    """Runs a server on stdin and stdout until it is stopped."""

    def __init__(self) -> None:
        self._jobs, self._is_ending = SimpleQueue[Job](), False

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run the work of a call in the main thread, and return its result."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Any] = loop.create_future()

        def settle(setter: Callable[[Any], None], value: Any) -> None:
            if not outcome.done():  # else the client no longer waits
                setter(value)

        def job() -> None:
            try:
                result = work()
            except _Stopped:
                raise
            except BaseException as error:
                loop.call_soon_threadsafe(settle, outcome.set_exception, error)
            else:
                loop.call_soon_threadsafe(settle, outcome.set_result, result)

        self._jobs.put(job)
        return await outcome

    def serve(self, server: Any) -> None:
        """Serve until a signal, or the end of stdin or stdout; then end the process, with exit code 0."""
        for name in _SIGNALS:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._stop)
        stdout = os.dup(1)  # the server puts stderr in its place
        thread = Thread(target=self._serve, args=(server,), daemon=True)
        with suppress(_Stopped):
            thread.start()
            Thread(target=self._watch, args=(stdout,), daemon=True).start()
            while True:
                self._jobs.get()()
        with suppress(BaseException):
            atexit._run_exitfuncs()  # threads that read stdin would be waited for before
            sys.stderr.flush()
        os._exit(0)

    def _serve(self, server: Any) -> None:
        with suppress(BaseException):  # a stream that broke: there is nobody to tell
            asyncio.run(server.run_stdio_async())
        self._interrupt()

    def _watch(self, stdout: int) -> None:
        """Interrupt the main thread when the client closes stdout: nothing may be written for long."""
        if not hasattr(select, "poll"):
            return
        poll = select.poll()
        poll.register(stdout, 0)  # errors alone
        poll.poll()
        self._interrupt()

    def _interrupt(self) -> None:
        assert current_thread() is not main_thread()
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main_thread().ident or 0, signal.SIGTERM)
        else:
            os.kill(os.getpid(), signal.SIGTERM)

    def _stop(self, *_: object) -> None:
        if not self._is_ending:  # the first time: what cleans up is not interrupted
            self._is_ending = True
            timer = Timer(_LONGEST_S, os._exit, (0,))
            timer.daemon = True
            timer.start()
            raise _Stopped
