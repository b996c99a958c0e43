// A real browser and the pages it opens, each watched: what a report must not do fails its test.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Tells ctest that there was nothing to test: a build that got no packages has no script either.
const skipped = 77;
const folder = process.env.PAGE_MODULES ?? "";
if (existsSync(join(folder, "packages.missing"))) {
  console.log("The build could not fetch the page's packages: nothing to test in a browser.");
  process.exit(skipped);
}
const modules = createRequire(join(folder, "package.json"));
const { chromium } = modules("playwright-core");
export const axeSource = modules("axe-core").source;

/// The folder that make_reports.mjs filled.
export const reports = process.env.PAGE_REPORTS ?? "";
export const reportPath = (name) => join(reports, `${name}.html`);

/// Debian's Chromium with a profile of its own; nothing of it outlives close().
export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

// Runs in the page before anything of it; the page's policy has no say in that.
function listenForViolations() {
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) =>
    window.violations.push(`${event.violatedDirective} forbids ${event.blockedURI}`));
}

/// What the page did that it must not: console output, errors, requests, dialogs. `allowed` says of
/// an address whether it may be asked for; messages that match `expected` are none of its own.
function watch(page, allowed, expected) {
  const troubles = [];
  page.on("console", (message) => {
    if (!expected.test(message.text())) troubles.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => troubles.push(`error: ${error}`));
  page.on("request", (request) => {
    if (!allowed(request.url())) troubles.push(`request: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return troubles;
}

/// Opens `url` in a context of its own, calls `use` with the page and then asserts that it did
/// nothing that it must not. `options` are Playwright's for a context, and `allowed` and `expected`
/// (see watch).
export async function visitAddress(browser, url, options, use) {
  const {
    allowed = (asked) => asked === url || asked.startsWith("blob:null/"),
    expected = /$^/,
    ...rest
  } = options;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...rest });
  try {
    await context.addInitScript(listenForViolations);
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    const troubles = watch(page, allowed, expected);
    await page.goto(url);
    await use(page, context);
    if (options.javaScriptEnabled !== false)
      troubles.push(...(await page.evaluate(() => window.violations)));
    assert.deepEqual(troubles, []);
  } finally {
    await context.close();
  }
}

/// The same for one of the reports, opened from disk.
export const visit = (browser, name, options, use) =>
  visitAddress(browser, pathToFileURL(reportPath(name)).href, options, use);

/// Shows everything that a page folds away.
export const openDetails = (page) => page.evaluate(() =>
  document.querySelectorAll("details").forEach((details) => (details.open = true)));
