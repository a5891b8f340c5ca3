"""Calls other people's servers through infold, with the official Python SDK of MCP.

    servers_client.py --run NAME --era legacy|modern --folder FOLDER --servers a,b,c --http URL
    servers_client.py --run NAME --era legacy|modern --folder FOLDER --servers a,b,c --stdio PROGRAM ARGUMENT...

FOLDER is the one that the server `filesystem` may read. The SDK checks every structured result against the schema that
was listed; that of an offloaded one is checked here once more. Prints one line for each check, `ok NAME` or `not ok NAME: why`, and fails if any check does.
"""

import argparse
import json
import sys
from pathlib import Path

import anyio
import jsonschema
from mcp import Client, MCPError, StdioServerParameters

# How the SDK calls the eras: the handshake of the older one, and a revision of the newer one.
MODES = {"legacy": "legacy", "modern": "2026-07-28"}

# Tools that each server must have, whatever else it lists.
TOOLS = {
    "everything": ["echo", "get-sum", "get-structured-content", "trigger-long-running-operation"],
    "filesystem": ["read_text_file", "write_file", "list_directory"],
    "memory": ["create_entities", "read_graph"],
    "python": ["add", "wait", "cancelled_calls"],
}

LONG_LINES = 6_000


class Mismatch(Exception):
    """Something is not as it should be."""


def expect(condition, what):
    if not condition:
        raise Mismatch(what)


class Session:
    """One client, and the server that it calls."""

    def __init__(self, client, run, folder, server):
        self.client, self.run, self.folder, self.server = client, run, folder, server

    async def call(self, tool, arguments, **options):
        result = await self.client.call_tool(f"{self.server}__{tool}", arguments, **options)
        text = "".join(block.text for block in result.content if block.type == "text")
        expect(not result.is_error, f"{tool} failed: {text[:500]}")
        return text, result

    async def lists(self):
        listed = {tool.name: tool for tool in (await self.client.list_tools()).tools}
        for tool in TOOLS[self.server.split("_")[0]]:
            expect(f"{self.server}__{tool}" in listed, f"{tool} is not in {sorted(listed)}")
        return listed

    async def makes_progress(self, tool, arguments, steps):
        seen = []

        async def note(progress, total, message):
            seen.append(progress)

        await self.call(tool, arguments, progress_callback=note)
        expect(len(seen) >= steps - 1, f"{len(seen)} notifications of {steps} came: {seen}")
        expect(seen == sorted(set(seen)), f"progress goes back: {seen}")

    async def abandons(self, tool, arguments):
        """Leaves a call that takes long before it ends."""
        with anyio.move_on_after(0.5) as scope:
            await self.call(tool, arguments)
        expect(scope.cancelled_caught, "the call ended before it was abandoned")

    # Everything

    async def everything_calls(self):
        text, _ = await self.call("get-sum", {"a": 20, "b": 22})
        expect("42" in text, text)
        _, result = await self.call("get-structured-content", {"location": "Chicago"})
        expect("temperature" in (result.structured_content or {}), f"{result.structured_content}")

    async def everything_progress(self):
        await self.makes_progress("trigger-long-running-operation", {"duration": 0.6, "steps": 4}, 4)

    async def everything_cancel(self):
        await self.abandons("trigger-long-running-operation", {"duration": 20, "steps": 2})
        text, _ = await self.call("echo", {"message": "still there"})
        expect("still there" in text, text)

    # Filesystem

    async def filesystem_calls(self):
        name = str(self.folder / f"{self.run}.txt")
        await self.call("write_file", {"path": name, "content": "a short text"})
        text, result = await self.call("read_text_file", {"path": name})
        expect(text == "a short text" == result.structured_content["content"], f"{result.structured_content}")

    async def filesystem_long(self):
        lines = [f"line {number} of a file that is too long for a context" for number in range(LONG_LINES)]
        path = self.folder / f"{self.run}-long.txt"
        path.write_text("\n".join(lines))
        session = f"session-{self.run}"
        opened = await self.client.call_tool("branch_create", {"session_id": session, "description": "be a session"})
        branch = opened.structured_content["branch_id"]
        await self.client.call_tool("branch_return", {"branch_id": branch, "message": "It is one."})
        text, result = await self.call("read_text_file", {"path": str(path)}, meta={"infold/sessionId": session})
        expect(len(text) < 50_000, f"{len(text)} characters were not offloaded")
        schema = (await self.lists())[f"{self.server}__read_text_file"].output_schema
        jsonschema.validate(result.structured_content, schema)
        reference = result.structured_content["ref_id"]
        expect(reference in text, f"{reference} is not in {text}")
        part = await self.client.call_tool("read_result", {"ref_id": reference, "pattern": "line 4321 "})
        expect(lines[4321] in json.dumps(part.structured_content), f"{part.structured_content}")

    # Memory

    async def memory_calls(self):
        entity = {"name": self.run, "entityType": "run", "observations": ["it was made"]}
        # The server writes its whole file each time: of two clients that write at once one is lost, and who reads meanwhile
        # may find half of it. Creating again is no harm.
        for tries_left in reversed(range(20)):
            try:
                await self.call("create_entities", {"entities": [entity]})
                _, result = await self.call("read_graph", {})
                names = [entity["name"] for entity in result.structured_content["entities"]]
                expect(self.run in names, f"{names}")
                return
            except Mismatch:
                if tries_left == 0:
                    raise

    # Python

    async def python_calls(self):
        _, result = await self.call("add", {"first": 20, "second": 22})
        expect(result.structured_content == {"result": 42}, f"{result.structured_content}")

    async def python_progress(self):
        await self.makes_progress("wait", {"steps": 5}, 5)

    async def python_cancel(self):
        _, before = await self.call("cancelled_calls", {})
        await self.abandons("wait", {"steps": 200})
        # The server learns of it a moment later.
        for _ in range(50):
            _, after = await self.call("cancelled_calls", {})
            if after.structured_content["result"] > before.structured_content["result"]:
                return
            await anyio.sleep(0.1)
        raise Mismatch("the server does not know that the call was cancelled")

    def checks(self):
        kind = self.server.split("_")[0]
        yield "lists its tools", self.lists
        for name in ("calls", "long", "progress", "cancel"):
            if check := getattr(self, f"{kind}_{name}", None):
                yield name, check


async def run(arguments):
    """Makes every check, and returns how many failed."""
    server = arguments.http
    if arguments.stdio:
        server = StdioServerParameters(command=arguments.stdio[0], args=arguments.stdio[1:])
    failed = 0
    async with Client(server, mode=MODES[arguments.era], read_timeout_seconds=30) as client:
        for called in arguments.servers.split(","):
            session = Session(client, arguments.run, arguments.folder, called)
            for name, check in session.checks():
                try:
                    await check()
                    print(f"ok {arguments.run}: {called}: {name}", flush=True)
                except (Mismatch, MCPError, ValueError, KeyError, RuntimeError, jsonschema.ValidationError) as error:
                    failed += 1
                    print(f"not ok {arguments.run}: {called}: {name}: {error}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--era", choices=MODES, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--http")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER)
    sys.exit(1 if anyio.run(run, parser.parse_args()) else 0)


if __name__ == "__main__":
    main()
