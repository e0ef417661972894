"""Apps at the server of every protocol, by their names."""

import sys
from typing import Any

from simeval.suites.apps.named import app_of
from simeval.suites.apps.socket_app import SocketApp
from tests.support import mcp_program
from tests.support.protocol_server import ProtocolServer

AT = {
    "completions": "openai:{url}/completions/{manner}#support",
    "responses": "openai-responses:{url}/responses/{manner}#support",
    "a2a": "a2a:{url}/a2a/{manner}",
    "a2a 0.3": "a2a:{url}/a2a_old/{manner}",
    "agui": "agui:{url}/agui/{manner}",
    "mcp": "mcp:{url}/mcp/{manner}#ask",
    "mcp without a handshake": "mcp:{url}/mcp_modern/{manner}#ask",
    "mcp program": "mcp:{python} {program} {manner}#ask",
    "ws": "{url}/ws/{manner}",
}


def address_of(protocol: str, manner: str, server: ProtocolServer) -> str:
    """Return how an app is named that speaks this protocol in this manner."""
    url = server.url.replace("http", "ws", 1) if protocol == "ws" else server.url
    return AT[protocol].format(url=url, manner=manner, python=sys.executable, program=mcp_program.__file__)


def app_at(protocol: str, manner: str, server: ProtocolServer) -> Any:
    """Return the app of this name; that of a WebSocket is described."""
    named = address_of(protocol, manner, server)
    return SocketApp(url=named, tool_calls="$.tool_calls", until="$.done") if protocol == "ws" else app_of(named)
