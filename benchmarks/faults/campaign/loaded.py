"""What a process of the campaign has loaded when it starts."""

import aiohttp  # noqa: F401

import simeval.cli.run
import simeval.store.runs  # noqa: F401
