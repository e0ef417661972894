"""A Python process that has simeval imported, and forks for each command of the tests, which saves a second of CPU.

A fork is a process of its own, with its own folder, environment and output, and ends as any Python process does. This
is run as a file, so that no package of the tests is at hand in a command: `python fork_server.py DESCRIPTOR`.
"""

import atexit
import fcntl
import gc
import json
import os
import runpy
import signal
import socket
import sys
import termios
import threading
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import ModuleType
from typing import Any

LOADED = (  # what most commands load
    "aiohttp.web",
    "glob",
    "psutil",
    "pydantic.dataclasses",
    "scipy.special",  # a quarter of the CPU of a small run
    "simeval.analysis.many_runs",
    "simeval.cli.against",
    "simeval.cli.commands",
    "simeval.cli.doctor",
    "simeval.cli.main",
    "simeval.cli.run",
    "simeval.cli.runs",
    "simeval.cli.store",
    "simeval.core.near_misses",
    "simeval.engine.experiment_run",
    "simeval.engine.suite_run",
    "simeval.extras.viewer.label_trials",
    "simeval.results.html.page",
    "simeval.results.junit",
    "simeval.results.reading",
    "simeval.store.documents",
    "simeval.store.lifecycle",
    "simeval.store.rows",
    "simeval.store.runs",
    "wcwidth",
)
SUITE = Path(__file__).resolve().parents[2] / "scenarios" / "support.yaml"
MOST_BYTES = 2**17  # of a request: arguments and an environment


def _forked(requests: socket.socket) -> dict[str, Any]:
    """Return the request of a fork, in the fork; the server itself never returns, and ends with its client."""
    selector = DefaultSelector()
    selector.register(requests, EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is not requests:
                process, answer = key.data
                selector.unregister(key.fileobj)
                os.close(key.fd)
                with answer:
                    answer.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
                continue
            asked, descriptors, _, _ = socket.recv_fds(requests, MOST_BYTES, 3)
            if not asked:
                os._exit(0)
            process = os.fork()
            if not process:
                return {**json.loads(asked), "descriptors": descriptors}
            answer = socket.socket(fileno=descriptors[0])
            answer.sendall(b"%d\n" % process)
            for each in descriptors[1:]:
                os.close(each)
            selector.register(os.pidfd_open(process), EVENT_READ, (process, answer))


def _run(module: str) -> None:
    """Run a module and end as Python does, but leave its objects as they are: to free them takes 60 ms of CPU."""
    status: int | str | None = None
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code
    if not isinstance(status, str):
        threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads that are no daemons
        atexit._run_exitfuncs()
        with suppress(OSError, ValueError):  # of an output that nobody reads any more: Python reports it
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status or 0)
    sys.exit(status)


def main() -> None:
    """Load the package, wait for requests, and run the module or the code of a request as Python does, in a fork."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    for name in LOADED:
        import_module(name)
    path = [*sys.path]
    suite = import_module("simeval.suites.files").load_file(SUITE)  # pydantic builds its schemas at the first suite
    import_module("simeval.core.near_misses").near_misses(("The bot names 5 euros",))  # the rules are compiled
    conversation = import_module("simeval.core.conversation")
    said = [conversation.Message(role=role, content="Where is it?") for role in ("user", "assistant", "user")]
    talk = conversation.Conversation(messages=tuple(said))
    import_module("simeval.engine.users.faults").find_faults(suite.scenarios[0], talk)  # and the detectors' patterns
    sys.path[:] = path
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a person who stops the tests
    request = _forked(requests)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    requests.close()
    for stream, descriptor in enumerate(request["descriptors"]):
        if stream:
            os.dup2(descriptor, stream)
        os.close(descriptor)
    if request["is_terminal"]:  # the output, of which the process becomes the only one
        os.setsid()
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)
        os.dup2(1, 0)
        sys.stdin = os.fdopen(0, closefd=False)
    os.environ.clear()
    os.environ.update(request["environment"])
    encoding = os.environ.get("PYTHONIOENCODING")
    is_by_line = request["is_terminal"] or "PYTHONUNBUFFERED" in os.environ
    sys.stdout = os.fdopen(1, "w", 1 if is_by_line else -1, encoding, closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding, "backslashreplace", closefd=False)
    os.chdir(request["folder"])
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [str(Path.cwd()), *(each for each in given if each and each not in sys.path), *sys.path[1:]]
    sys.argv[1:] = request["arguments"]
    if request["code"] is None:
        _run(request["module"])
        return
    warnings.simplefilter("error")
    program = sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(request["code"], "<string>", "exec"), program.__dict__)


if __name__ == "__main__":
    main()
