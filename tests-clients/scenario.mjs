// The scenario that every JavaScript client is made to go through, and how its answers are checked.
//
// A client script hands over five functions: `listTools()`, `callTool(name, args)` with
// `{ text, structure, refused }` as its answer, `listResources()`, `listTemplates()`, and `readResource(uri)` with
// `{ text, refused }`. Everything else is the same for all of them.

import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

const scenario = JSON.parse(readFileSync(new URL("scenario.json", import.meta.url), "utf8"));

/** The command line, as an object: pairs of name and value, and everything after `--stdio`. */
export function readArguments(words) {
  const found = {};
  for (let at = 0; at < words.length; at += 2) {
    const name = words[at].replace(/^--/, "");
    if (name === "stdio") {
      return { ...found, stdio: words.slice(at + 1) };
    }
    found[name] = words[at + 1];
  }
  return found;
}

/** `value` with every ${name} replaced by what was saved under it. */
function filled(value, names) {
  if (typeof value === "string") {
    return value.replace(/\$\{(\w+)\}/g, (whole, name) => names[name] ?? whole);
  }
  if (Array.isArray(value)) {
    return value.map((inner) => filled(inner, names));
  }
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filled(inner, names)]));
  }
  return value;
}

/** The value at a path such as `summary.tokens`. */
function lookUp(structure, path) {
  let found = structure;
  for (const key of path.split(".")) {
    if (found === null || typeof found !== "object" || !(key in found)) {
      throw new Error(`there is no ${path} in ${JSON.stringify(structure)}`);
    }
    found = found[key];
  }
  return found;
}

/** Every tool is listed, and says enough of itself. */
function checkList(tools) {
  const listed = new Map(tools.map((tool) => [tool.name, tool]));
  for (const name of scenario.tools) {
    const tool = listed.get(name);
    if (!tool) {
      throw new Error(`${name} is not listed`);
    }
    const fields = ["title", "description", "annotations", "inputSchema", "outputSchema"];
    const lacks = fields.filter((field) => !tool[field]);
    if (lacks.length > 0) {
      throw new Error(`${name} is listed without ${lacks.join(", ")}`);
    }
  }
}

/** Every resource and every template is listed. */
function checkResources(resources, templates) {
  const listed = [resources.map((one) => one.uri), templates.map((one) => one.uriTemplate)];
  if (!isDeepStrictEqual(listed, [scenario.resources, scenario.templates])) {
    throw new Error(`listed are ${JSON.stringify(listed)}`);
  }
}

/** The resource has the texts that the step says. */
function checkReading(step, names, { text, refused }) {
  if (refused !== (step.refused ?? false)) {
    throw new Error(`${refused ? "refused" : "not refused"}: ${text}`);
  }
  for (const wanted of filled(step.contains ?? [], names)) {
    if (!text.includes(wanted)) {
      throw new Error(`${wanted} is not in ${text}`);
    }
  }
}

/** The answer is what the step says, in structure and in text alike. */
function checkAnswer(step, names, { text, structure, refused }) {
  if (refused !== (step.refused ?? false)) {
    throw new Error(`${refused ? "refused" : "not refused"}: ${text}`);
  }
  if (refused) {
    return;
  }
  if (!isDeepStrictEqual(JSON.parse(text), structure)) {
    throw new Error(`the text ${text} differs from the structure ${JSON.stringify(structure)}`);
  }
  for (const [path, wanted] of Object.entries(filled(step.expect, names))) {
    const found = lookUp(structure, path);
    if (!isDeepStrictEqual(found, wanted)) {
      throw new Error(`${path} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
    }
  }
  for (const [name, path] of Object.entries(step.save ?? {})) {
    names[name] = lookUp(structure, path);
  }
}

/** Makes every check, prints `ok NAME` or `not ok NAME: why` for each, and returns how many failed. */
export async function goThrough({ run, result }, client) {
  const names = { run, result };
  const checks = [
    ["lists every tool", async () => checkList(await client.listTools())],
    ["lists every resource", async () => checkResources(await client.listResources(), await client.listTemplates())],
  ];
  for (const step of scenario.steps) {
    const call = async () =>
      checkAnswer(step, names, await client.callTool(step.tool, filled(step.arguments, names)));
    const read = async () => checkReading(step, names, await client.readResource(filled(step.resource, names)));
    checks.push([`${step.name} (${step.tool ?? "resources/read"})`, step.tool ? call : read]);
  }

  let failed = 0;
  for (const [name, check] of checks) {
    try {
      await check();
      console.log(`ok ${run}: ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`not ok ${run}: ${name}: ${error.message}`);
    }
  }
  return failed;
}
