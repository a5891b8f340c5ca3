"""A server with the official Python SDK of MCP, for infold to use on behalf of its clients.

    python_server.py stdio
    python_server.py http PORT
"""

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("python")
cancelled = 0


@server.tool(annotations={"readOnlyHint": True})
def add(first: int, second: int) -> int:
    """Adds two numbers."""
    return first + second


@server.tool()
async def wait(steps: int, ctx: Context) -> str:
    """Waits for as many tenths of a second, and reports each of them."""
    global cancelled
    try:
        for step in range(steps):
            await ctx.report_progress(step + 1, steps, f"step {step + 1}")
            await anyio.sleep(0.1)
    except anyio.get_cancelled_exc_class():
        cancelled += 1
        raise
    return "waited"


@server.tool(annotations={"readOnlyHint": True})
def cancelled_calls() -> int:
    """How many calls were cancelled."""
    return cancelled


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", port=int(sys.argv[2]))
