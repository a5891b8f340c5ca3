// infold writes this file again at every start. Before a tool runs whose arguments hold a secret's placeholder, infold
// is asked whether the placeholder would be written over the secret. If so, the tool does not run, and the model gets
// the reason.
import { spawnSync } from "node:child_process"

const ask = (question) => {
  const asked = spawnSync(PROGRAM, ["hook", "--data", DATA], { input: question, encoding: "utf8", timeout: 30000 })
  try {
    return JSON.parse(asked.stdout).hookSpecificOutput.permissionDecisionReason
  } catch {
    // infold printed nothing, so the tool may run.
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
