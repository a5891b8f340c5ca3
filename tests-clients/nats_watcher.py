"""Watches a project of infold with the ordinary NATS client for Python.

    nats_watcher.py --server URL --user NAME --password-file PATH --subjects FILTER --until END --count N

Prints `ready`, then one line of JSON for each document, with its subject, in the stream's order, and ends after N documents
whose subject ends with END.
"""

import argparse
import asyncio
import json
from pathlib import Path

import nats


async def watch(options):
    password = Path(options.password_file).read_text()
    connection = await nats.connect(options.server, user=options.user, password=password)
    consumer = await connection.jetstream().subscribe(options.subjects, stream="INFOLD_STATE", ordered_consumer=True)
    print("ready", flush=True)
    left = options.count
    while left > 0:
        message = await consumer.next_msg(timeout=options.seconds)
        print(json.dumps({"subject": message.subject, "document": json.loads(message.data)}), flush=True)
        left -= message.subject.endswith(options.until)
    await connection.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--password-file", required=True)
    parser.add_argument("--subjects", required=True)
    parser.add_argument("--until", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=20)
    asyncio.run(watch(parser.parse_args()))


main()
