// `acid watch --html`: the page follows runs that go on, for one browser, and outlives them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { reports, startBrowser, visitAddress } from "./browser.mjs";
import { listed } from "./programs.mjs";

const acid = process.env.ACID;
const store = join(reports, "store-live");
let browser, running, watching, address;

const kill = (child, signal) => {
  if (child?.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
};

const dataBlock = (page) => page.locator("#acid-data").textContent();

async function assertFollows(page) {
  const before = await dataBlock(page);
  await page.waitForFunction((text) =>
    document.getElementById("acid-data").textContent !== text, before, { timeout: 300_000 });
}

describe("the live page", () => {
  before(async () => {
    rmSync(store, { recursive: true, force: true });
    browser = await startBrowser();
    running = spawn(acid, ["run", join(reports, "live.toml"), "--store", store],
      { detached: true, stdio: "ignore" });
    await listed(store, /running +a2cid2 .*eval_loss/);
    watching = spawn(acid, ["watch", "--html", "@latest", "--store", store],
      { detached: true, stdio: ["ignore", "pipe", "ignore"] });
    const [line] = await once(createInterface(watching.stdout), "line");
    address = line;
  });
  after(async () => {
    kill(running, "SIGKILL");
    kill(watching, "SIGKILL");
    await browser.close();
    rmSync(store, { recursive: true, force: true });
  });

  test("updates itself, keeps what one chose, and says how it ended", async () => {
    const origin = new URL(address).origin;
    assert.equal((await fetch(`${origin}/`)).status, 403);
    assert.equal((await fetch(`${origin}/?token=${"0".repeat(32)}`)).status, 403);
    const options = {
      allowed: (url) => [`${origin}/`, `${origin}/version`, address].includes(url),
      // What Chromium says when the server has gone; the page says it better.
      expected: /net::ERR_CONNECTION_REFUSED/,
    };
    await visitAddress(browser, address, options, async (page) => {
      assert.equal(page.url(), `${origin}/`);
      assert.equal((await fetch(address)).status, 403, "the token worked a second time");
      await page.evaluate(() => (window.neverReloaded = true));
      await page.locator(".curves .tabs label").nth(1).click();
      await page.locator("details summary").first().click();
      await page.getByRole("button", { name: "seeds" }).first().click();
      const chosen = () => page.evaluate(() => [
        [...document.querySelectorAll(".pick")].map((radio) => radio.checked),
        [...document.querySelectorAll("details")].map((details) => details.open),
        [...document.querySelectorAll(".curves .tools button")].map((button) => button.ariaPressed),
      ]);
      const before = await chosen();
      await assertFollows(page);
      await assertFollows(page);
      assert.deepEqual(await chosen(), before);
      assert.ok(await page.evaluate(() => window.neverReloaded));

      kill(running, "SIGTERM");
      const status = page.locator("#live-status");
      await status.filter({ hasText: /No run is going on/ }).waitFor({ timeout: 300_000 });
      kill(watching, "SIGINT");
      const [code] = await once(watching, "exit");
      assert.equal(code, 0);
      await page.waitForTimeout(3000);
      assert.ok((await page.locator(".plots .surface > svg").count()) > 0, "the page is still there");
      assert.ok(await page.evaluate(() => window.neverReloaded));
    });
  });
});
