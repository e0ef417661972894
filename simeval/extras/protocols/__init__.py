"""Apps behind the protocols and SDKs of agents: A2A, AG-UI, MCP, OpenAI's Responses, and agents in Python."""
