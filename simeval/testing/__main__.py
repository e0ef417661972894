"""A fake endpoint as a program: python -m simeval.testing --latency-seconds 0.05.

It prints its base URL, and ends on SIGTERM, SIGINT, or when its standard input does.
"""

import argparse
import asyncio
import os
import signal
import sys
from dataclasses import fields
from threading import Thread

from simeval.testing.replies import Behaviour
from simeval.testing.server import EndpointServer

_NO_NUMBERS = ("first_faults", "faulty_roles", "prompts")


async def _serve_until_told(behaviour: Behaviour, port: int) -> None:
    """Print the base URL, and serve until a signal comes or standard input ends."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

    def wait_for_end_of_input() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        loop.call_soon_threadsafe(stop.set)

    Thread(target=wait_for_end_of_input, name="standard input", daemon=True).start()
    async with EndpointServer(behaviour).serving(port) as base_url:
        sys.stdout.write(f"{base_url}\n")
        sys.stdout.flush()
        await stop.wait()


def _read_arguments() -> tuple[Behaviour, int]:
    """Read the port and an option for each number of Behaviour: --latency-seconds, --error-500, --max-rps and so on."""
    parser = argparse.ArgumentParser(
        description="An OpenAI-compatible server for tests and benchmarks.", prog="python -m simeval.testing"
    )
    for setting in fields(Behaviour):
        if setting.name in _NO_NUMBERS:
            continue
        option = f"--{setting.name.replace('_', '-')}"
        if isinstance(setting.default, bool):
            parser.add_argument(option, action="store_true")
        else:
            kind = float if setting.default is None else type(setting.default)
            parser.add_argument(option, type=kind, default=setting.default, metavar="X")
    known = "a system prompt of another program, and the role it asks for"
    parser.add_argument("--prompt", nargs=2, action="append", default=[], metavar=("BEGINNING", "ROLE"), help=known)
    parser.add_argument("--port", type=int, default=0, metavar="N")
    options = vars(parser.parse_args())
    port: int = options.pop("port")
    prompts = dict(options.pop("prompt"))
    return Behaviour(**options, prompts=prompts), port


def main() -> None:
    """Serve with the behaviour given on the command line."""
    asyncio.run(_serve_until_told(*_read_arguments()))


if __name__ == "__main__":
    main()
