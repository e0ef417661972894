"""Addresses to listen at, written HOST:PORT."""

from simeval.core.validation import require

LARGEST_PORT = 65_535


def host_and_port(address: str) -> tuple[str, int]:
    """Return the parts of an address that `require_listening` lets pass."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def require_listening(value: object, name: str) -> None:
    """Raise a DefinitionError unless a value is HOST:PORT."""
    host, _, port = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    usable = bool(host) and port.isascii() and port.isdigit() and 0 < int(port) <= LARGEST_PORT
    require(usable, name, found=value, do="write HOST:PORT, such as 127.0.0.1:4318")
