// Lists and calls every tool of infold, and reads its resources, with the command line of the MCP Inspector.
//
//     inspector_client.mjs --run NAME --result REF --era legacy|modern --http URL
//     inspector_client.mjs --run NAME --result REF --era legacy|modern --stdio PROGRAM ARGUMENT...
//
// Each call starts the Inspector anew, and over stdio the server as well, so this also checks that
// nothing hangs on a connection. The Inspector is taken from the folder that INFOLD_NODE_MODULES names.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { goThrough, readArguments } from "./scenario.mjs";

const launcher = join(
  process.env.INFOLD_NODE_MODULES,
  "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);
const options = readArguments(process.argv.slice(2));

/** Runs the Inspector once, and gives back what it said and whether it calls that an error. */
function inspect(words) {
  const flags = ["--protocol-era", options.era, "--format", "json", "--quiet", "--stored-auth-only"];
  // A server's own command line is after the separator, so that its flags are not taken for ours.
  const target = options.http ? ["--server-url", options.http] : ["--", ...options.stdio];
  const all = [launcher, "--cli", ...words, ...flags, ...target];
  return new Promise((resolve) => {
    execFile(process.execPath, all, { maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, stdout: stdout.trim(), stderr: stderr.trim() });
    });
  });
}

/** The result of a method that is not refused. */
async function ask(method) {
  const { stdout, stderr, failed } = await inspect(["--method", method]);
  if (failed) {
    throw new Error(`the Inspector failed: ${stderr}`);
  }
  return JSON.parse(stdout).result;
}

/** Reads a resource. The Inspector fails for a refusal and prints the server's words. */
async function readResource(uri) {
  const { stdout, stderr, failed } = await inspect(["--method", "resources/read", "--uri", uri]);
  if (failed) {
    if (!stderr.includes("Resource not found")) {
      throw new Error(`the Inspector failed: ${stderr}`);
    }
    return { text: stderr, refused: true };
  }
  const { contents } = JSON.parse(stdout).result;
  return { text: contents.map((content) => content.text).join(""), refused: false };
}

/** Calls a tool. Only a result that says it is an error is a refusal; all else is a failure to ask. */
async function callTool(name, args) {
  const words = ["--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args)];
  const { stdout, stderr, failed } = await inspect(words);
  if (failed && !stderr.includes('"tool_is_error"')) {
    throw new Error(`the Inspector failed: ${stderr}`);
  }
  const { result } = JSON.parse(stdout);
  const text = result.content.map((block) => block.text ?? "").join("");
  return { text, structure: result.structuredContent, refused: failed };
}

const client = {
  listTools: async () => (await ask("tools/list")).tools,
  callTool,
  listResources: async () => (await ask("resources/list")).resources,
  listTemplates: async () => (await ask("resources/templates/list")).resourceTemplates,
  readResource,
};
process.exit((await goThrough(options, client)) > 0 ? 1 : 0);
