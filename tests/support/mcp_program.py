"""An MCP server over standard input and output, well or badly: `python mcp_program.py MANNER`."""

import json
import sys
from typing import Any

CALL = {"name": "menu", "arguments": {"day": "today"}}
TOOL = {"name": "ask", "inputSchema": {"properties": {"message": {"type": "string"}}, "required": ["message"]}}


def say(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main(manner: str) -> None:
    turns, may_ask = 0, False
    for line in sys.stdin:
        asked = json.loads(line)
        match asked.get("method"):
            case "initialize" if manner == "error":
                sys.exit("the database is away")
            case "initialize" if manner == "page":
                write("<html><title>Log in</title></html>\n")
            case "initialize" if manner != "hanging":
                may_ask = True
                say({"id": "p1", "method": "ping"})
                say({"id": asked["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
            case "tools/list" if may_ask:
                say({"id": asked["id"], "result": {"tools": [TOOL]}})
            case "tools/call" if manner == "broken":
                write('{"jsonrpc": "2.0", "resu')
                return
            case "tools/call" if may_ask:
                turns += 1
                said = {"reply": f"{turns}: {asked['params']['arguments']['message']}", "tool_calls": [CALL]}
                say({"id": asked["id"], "result": {"content": [{"type": "text", "text": json.dumps(said)}]}})
            case "server/discover":
                say({"id": asked["id"], "error": {"code": -32601, "message": "Method not found"}})


def main_late() -> None:
    """Want no handshake, and answer the first message by nothing, as a program that is not up yet."""
    discovered = turns = 0
    refusal = "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted"
    for line in sys.stdin:
        asked = json.loads(line)
        match asked.get("method"):
            case "initialize":
                say({"id": asked["id"], "error": {"code": -32022, "message": refusal}})
            case "server/discover":
                discovered += 1
                if discovered > 1:
                    say({"id": asked["id"], "result": {"supportedVersions": ["2026-07-28"]}})
            case "tools/list":
                say({"id": asked["id"], "result": {"tools": [TOOL]}})
            case "tools/call":
                turns += 1
                said = [{"type": "text", "text": f"{turns}: {asked['params']['arguments']['message']}"}]
                say({"id": asked["id"], "result": {"content": said}})


if __name__ == "__main__":
    main_late() if sys.argv[1] == "late" else main(sys.argv[1])
