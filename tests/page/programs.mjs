// The program from outside.
import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

const acid = process.env.ACID;
const patienceMs = 100_000;

/// Runs `acid` to its end in `folder`; throws what it said when it failed.
export function call(folder, ...words) {
  const done = spawnSync(acid, words, { cwd: folder, encoding: "utf8", timeout: 300_000 });
  if (done.status === 0) return;
  throw new Error(`acid ${words.join(" ")}: exit ${done.status}\n${done.stderr}`);
}

/// Waits until what `acid list` says of a store matches.
export async function listed(store, pattern) {
  for (let waited = 0; waited < patienceMs; waited += 100) {
    const { stdout } = spawnSync(acid, ["list", "--store", store], { encoding: "utf8" });
    if (pattern.test(stdout ?? "")) return;
    await sleep(100);
  }
  throw new Error(`${store} never came to ${pattern}`);
}
