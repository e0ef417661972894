"""Why an address was not reached, in the system's words."""

import os


def cause_of(error: Exception) -> str:
    """Return the reason why a connection failed: "Connection refused", not how it was tried."""
    cause = getattr(error, "os_error", error)  # aiohttp's errors wrap the system's
    if isinstance(cause, ConnectionError) and cause.errno:
        return os.strerror(cause.errno)
    return getattr(cause, "strerror", None) or str(error) or type(error).__name__
