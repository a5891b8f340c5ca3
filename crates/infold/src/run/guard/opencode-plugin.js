// Made by infold, anew at every start. Before a tool runs whose arguments hold what stands for a secret, infold is
// asked whether it would be written over the secret; if so, the tool does not run, and the model is told why.
import { spawnSync } from "node:child_process"

const ask = (question) => {
  const asked = spawnSync(PROGRAM, ["hook", "--data", DATA], { input: question, encoding: "utf8", timeout: 30000 })
  try {
    return JSON.parse(asked.stdout).hookSpecificOutput.permissionDecisionReason
  } catch {
    // Nothing was said against it.
  }
}

export const InfoldGuard = async () => ({
  "tool.execute.before": async (input, output) => {
    const question = JSON.stringify({ tool_name: input.tool, tool_input: output.args })
    if (!question.includes("[SECRET:")) return
    const reason = ask(question)
    if (reason) throw new Error(reason)
  },
})
