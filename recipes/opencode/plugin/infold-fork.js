// Forks of an OpenCode session that start from what matters of it. Copy this file to
// .opencode/plugin/ in a project, or to ~/.config/opencode/plugin/ for all of them.
//
// It gives the agent one tool, `infold_fork`. A call hands the session so far to infold, which cuts it to
// a size that a new session can start with, opens a child session on that, and returns what the child
// answers. The parent's own context grows by the answer and by nothing else.
//
// infold must be running (`infold serve`). INFOLD_LISTEN names its address if it is not the usual one.

const address = process.env.INFOLD_LISTEN ?? "127.0.0.1:9090";

// How long infold may take to make the child's context out of the parent's session.
const forkTimeoutMs = 60_000;

/** What the SDK answered, or its error as one that can be thrown. */
function unwrap(answer, what) {
  if (answer.error || answer.data === undefined) {
    throw new Error(`OpenCode could not ${what}: ${JSON.stringify(answer.error ?? "no answer")}`);
  }
  return answer.data;
}

/** Has infold make a child's context out of a session's messages. */
async function fork(sessionID, messages, prompt) {
  let answer;
  try {
    answer = await fetch(`http://${address}/api/v1/forks`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ format: "opencode", transcript: messages, prompt, parent_session_id: sessionID }),
      signal: AbortSignal.timeout(forkTimeoutMs),
    });
  } catch (error) {
    throw new Error(`infold does not answer on ${address} (${error.message}): start it with \`infold serve\``);
  }
  const body = await answer.text();
  if (!answer.ok) {
    throw new Error(`infold refused to fork (${answer.status}): ${body}`);
  }
  return JSON.parse(body);
}

/** The messages without the call that is being answered just now: it has no result yet. */
function finished(messages) {
  const running = (part) => part.type === "tool" && ["pending", "running"].includes(part.state?.status);
  return messages.map(({ info, parts }) => ({ info, parts: parts.filter((part) => !running(part)) }));
}

export const InfoldFork = async ({ client }) => {
  // A child could fork again, and its child too; nobody would see where that ends.
  const children = new Set();

  return {
    tool: {
      infold_fork: {
        description:
          "Start a child session that knows this conversation, have it do one piece of work, and get its answer. " +
          "Use it for work that needs what was said and read so far but whose own steps need not be remembered.",
        args: {
          prompt: { type: "string", description: "What the child is to do, and what it is to answer with." },
        },
        async execute({ prompt }, { sessionID, agent, abort, metadata }) {
          if (children.has(sessionID)) {
            throw new Error("this session is a fork itself: do the work here");
          }
          const messages = unwrap(await client.session.messages({ path: { id: sessionID } }), "read this session");
          const forked = await fork(sessionID, finished(messages), prompt);

          const title = `Fork: ${prompt.slice(0, 60)}`;
          const child = unwrap(await client.session.create({ body: { parentID: sessionID, title } }), "open a session");
          children.add(child.id);
          metadata({ title, metadata: { sessionId: child.id, infold: forked.session_id } });
          const stop = () => client.session.abort({ path: { id: child.id } });
          abort.addEventListener("abort", stop, { once: true });
          try {
            const model = messages.findLast(({ info }) => info.role === "user")?.info.model;
            const texts = [`${forked.preamble}\n\n${forked.context}`, prompt];
            const body = { agent, model, parts: texts.map((text) => ({ type: "text", text })) };
            const answer = unwrap(await client.session.prompt({ path: { id: child.id }, body }), "run the child");
            const said = answer.parts.filter((part) => part.type === "text").map((part) => part.text);
            return said.join("\n") || "The child ended without a word.";
          } finally {
            abort.removeEventListener("abort", stop);
          }
        },
      },
    },
  };
};
