"""Lists and calls every tool of infold, and reads its resources, with the official Python SDK of MCP.

    python_client.py --run NAME --result REF --era legacy|modern --http URL
    python_client.py --run NAME --result REF --era legacy|modern --stdio PROGRAM ARGUMENT...

Prints one line for each check, `ok NAME` or `not ok NAME: why`, and fails if any check does.
"""

import argparse
import json
import sys
from pathlib import Path

import anyio
from mcp import Client, MCPError, StdioServerParameters

SCENARIO = json.loads((Path(__file__).parent / "scenario.json").read_text())

# How the SDK calls the eras: the handshake of the older one, and a revision of the newer one.
MODES = {"legacy": "legacy", "modern": "2026-07-28"}


class Mismatch(Exception):
    """Something is not as it should be."""


def filled(value, names):
    """`value` with every ${name} replaced by what was saved under it."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace("${" + name + "}", text)
        return value
    if isinstance(value, dict):
        return {key: filled(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, names) for inner in value]
    return value


def look_up(structure, path):
    """The value at a path such as `summary.tokens`."""
    for key in path.split("."):
        if isinstance(structure, list) and key.isdigit() and int(key) < len(structure):
            structure = structure[int(key)]
        elif isinstance(structure, dict) and key in structure:
            structure = structure[key]
        else:
            raise Mismatch(f"there is no {path} in {json.dumps(structure)}")
    return structure


async def check_list(client):
    """Every tool is listed, and says enough of itself."""
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name in SCENARIO["tools"]:
        if name not in listed:
            raise Mismatch(f"{name} is not listed")
        tool = listed[name]
        lacks = [
            field
            for field in ("title", "description", "annotations", "input_schema", "output_schema")
            if not getattr(tool, field)
        ]
        if lacks:
            raise Mismatch(f"{name} is listed without {', '.join(lacks)}")


async def check_resources(client):
    """Every resource and every template is listed."""
    resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
    templates = [template.uri_template for template in (await client.list_resource_templates()).resource_templates]
    if resources != SCENARIO["resources"] or templates != SCENARIO["templates"]:
        raise Mismatch(f"listed are {resources} and {templates}")


async def check_reading(client, step, names):
    """The resource has the texts that the step says."""
    try:
        result = await client.read_resource(filled(step["resource"], names))
    except MCPError as error:
        if step.get("refused"):
            return
        raise Mismatch(f"refused: {error}") from error
    text = "".join(content.text for content in result.contents)
    if step.get("refused"):
        raise Mismatch(f"not refused: {text}")
    for wanted in filled(step["contains"], names):
        if wanted not in text:
            raise Mismatch(f"{wanted} is not in {text}")


async def check_step(client, step, names):
    """The tool answers as the step says, in structure and in text alike."""
    arguments = filled(step["arguments"], names)
    try:
        result = await client.call_tool(step["tool"], arguments)
    except MCPError as error:
        if step.get("refused"):
            return
        raise Mismatch(f"refused: {error}") from error
    text = "".join(block.text for block in result.content if block.type == "text")
    if step.get("refused"):
        if not result.is_error:
            raise Mismatch(f"not refused: {text}")
        return
    if result.is_error:
        raise Mismatch(f"refused: {text}")

    structure = result.structured_content
    if json.loads(text) != structure:
        raise Mismatch(f"the text {text} differs from the structure {json.dumps(structure)}")
    for path, wanted in filled(step["expect"], names).items():
        found = look_up(structure, path)
        if found != wanted:
            raise Mismatch(f"{path} is {json.dumps(found)}, not {json.dumps(wanted)}")
    for name, path in step.get("save", {}).items():
        names[name] = look_up(structure, path)


async def run(arguments):
    """Makes every check, and returns how many failed."""
    server = arguments.http
    if arguments.stdio:
        server = StdioServerParameters(command=arguments.stdio[0], args=arguments.stdio[1:])
    names = {"run": arguments.run, "result": arguments.result}
    failed = 0
    async with Client(server, mode=MODES[arguments.era], read_timeout_seconds=30) as client:
        checks = [
            ("lists every tool", lambda: check_list(client)),
            ("lists every resource", lambda: check_resources(client)),
        ]
        for step in SCENARIO["steps"]:
            check = check_step if "tool" in step else check_reading
            what = step.get("tool", "resources/read")
            checks.append((f"{step['name']} ({what})", lambda step=step, check=check: check(client, step, names)))
        for name, check in checks:
            try:
                await check()
                print(f"ok {arguments.run}: {name}", flush=True)
            except (Mismatch, MCPError, ValueError, RuntimeError) as error:
                failed += 1
                print(f"not ok {arguments.run}: {name}: {error}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--result", required=True)
    parser.add_argument("--era", choices=MODES, required=True)
    parser.add_argument("--http")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER)
    sys.exit(1 if anyio.run(run, parser.parse_args()) else 0)


if __name__ == "__main__":
    main()
