// Makes the stores and reports that the tests open: make_reports.mjs FOLDER, with ACID naming the
// program. Every recipe is a fraction of a second of an analytic task.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, listed } from "./programs.mjs";
import { bigRecipe, endedRecipe, hostileFile, hostileRecipe, liveRecipe, loneRecipe, sweepRecipe,
  threeRecipe } from "./recipes.mjs";

const [folder] = process.argv.slice(2);

function write(recipe, file) {
  writeFileSync(join(folder, file), recipe);
  return file;
}

function report(name) {
  call(folder, "report", "--html", "--store", `store-${name}`, "-o", `${name}.html`);
}

function runAndReport(name, recipe, file = `${name}.toml`) {
  call(folder, "run", write(recipe, file), "--store", `store-${name}`, "--jobs", "2");
  report(name);
}

/// Runs that finished, diverged, were interrupted and never began: the program and its worker are
/// killed together while the third algorithm's first run goes on.
async function makeEnded() {
  const words = ["run", write(endedRecipe, "ended.toml"), "--store", "store-ended"];
  const options = { cwd: folder, detached: true, stdio: "ignore" };
  const running = spawn(process.env.ACID, words, options);
  try {
    await listed(join(folder, "store-ended"), /running +a2cid2 .*eval_loss/);
  } finally {
    process.kill(-running.pid, "SIGKILL");
  }
  await listed(join(folder, "store-ended"), /interrupted +a2cid2/);
  report("ended");
}

/// 64 settings × 4 algorithms × 5 seeds, written without training; in memory where that is a folder.
function makeStudy() {
  const memory = existsSync("/dev/shm") ? "/dev/shm" : folder;
  const place = mkdtempSync(join(memory, "acid-study-"));
  try {
    execFileSync(process.env.BIG_STORE, [join(place, "store"), "sweep", "40"]);
    call(folder, "report", "--html", "--store", join(place, "store"), "-o", "study.html");
  } finally {
    rmSync(place, { recursive: true });
  }
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
runAndReport("three", threeRecipe);
runAndReport("sweep", sweepRecipe);
runAndReport("lone", loneRecipe);
runAndReport("big", bigRecipe);
runAndReport("hostile", hostileRecipe, hostileFile);
makeStudy();
await makeEnded();
write(liveRecipe, "live.toml");
