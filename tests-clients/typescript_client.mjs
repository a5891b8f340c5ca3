// Lists and calls every tool of infold, and reads its resources, with the official TypeScript SDKs of MCP.
//
//     typescript_client.mjs --run NAME --result REF --era legacy|modern --http URL
//     typescript_client.mjs --run NAME --result REF --era legacy|modern --stdio PROGRAM ARGUMENT...
//
// The older era is spoken by `@modelcontextprotocol/sdk`, which most clients are built on, the newer
// one by `@modelcontextprotocol/client`. Both are taken from the folder that INFOLD_NODE_MODULES
// names, because they are not installed beside this file.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { goThrough, readArguments } from "./scenario.mjs";

const resolver = createRequire(`${process.env.INFOLD_NODE_MODULES}/`);
const identity = { name: "infold-client-checks", version: "1.0.0" };

/** Imports a package from the folder of installed ones. */
async function installed(name) {
  return import(pathToFileURL(resolver.resolve(name)).href);
}

/** A client of the older era, connected. */
async function connectLegacy(options) {
  const { Client } = await installed("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await installed("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await installed("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client(identity);
  await client.connect(makeTransport(options, StdioClientTransport, StreamableHTTPClientTransport));
  return client;
}

/** A client of the newer era, connected. */
async function connectModern(options) {
  const { Client, StreamableHTTPClientTransport } = await installed("@modelcontextprotocol/client");
  const { StdioClientTransport } = await installed("@modelcontextprotocol/client/stdio");
  const client = new Client(identity, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(makeTransport(options, StdioClientTransport, StreamableHTTPClientTransport));
  return client;
}

function makeTransport(options, Stdio, Http) {
  if (options.http) {
    return new Http(new URL(options.http));
  }
  const [command, ...args] = options.stdio;
  return new Stdio({ command, args });
}

const options = readArguments(process.argv.slice(2));
const client = await (options.era === "modern" ? connectModern(options) : connectLegacy(options));

/** What `ask` gives. A JSON-RPC error counts as a refusal, like a result that says it is an error. */
async function orRefused(ask) {
  try {
    return await ask();
  } catch (error) {
    if (typeof error.code === "number") {
      return { text: error.message, structure: undefined, refused: true };
    }
    throw error;
  }
}

const callTool = (name, args) =>
  orRefused(async () => {
    const result = await client.callTool({ name, arguments: args });
    const text = result.content.map((block) => block.text ?? "").join("");
    return { text, structure: result.structuredContent, refused: result.isError === true };
  });

const readResource = (uri) =>
  orRefused(async () => {
    const { contents } = await client.readResource({ uri });
    return { text: contents.map((content) => content.text).join(""), refused: false };
  });

const listTools = async () => (await client.listTools()).tools;
const listResources = async () => (await client.listResources()).resources;
const listTemplates = async () => (await client.listResourceTemplates()).resourceTemplates;
const failed = await goThrough(options, { listTools, callTool, listResources, listTemplates, readResource });
await client.close();
process.exit(failed > 0 ? 1 : 0);
