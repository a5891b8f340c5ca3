"""Watches a project of infold with the ordinary NATS client for Python.

    nats_watcher.py --server URL --user NAME --password-file PATH --subjects FILTER

Prints `ready`, then one line of JSON for each new document, with its subject, in the stream's order.
"""

import argparse
import asyncio
import json
from pathlib import Path

import nats
from nats.js.api import DeliverPolicy


async def watch(options):
    password = Path(options.password_file).read_text()
    connection = await nats.connect(options.server, user=options.user, password=password)
    consumer = await connection.jetstream().subscribe(
        options.subjects, stream="INFOLD_STATE", ordered_consumer=True, deliver_policy=DeliverPolicy.NEW
    )
    print("ready", flush=True)
    async for message in consumer.messages:
        print(json.dumps({"subject": message.subject, "document": json.loads(message.data)}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--password-file", required=True)
    parser.add_argument("--subjects", required=True)
    asyncio.run(watch(parser.parse_args()))


main()
