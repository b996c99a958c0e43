// `acid figure`: files for a paper, the same bytes each time, with their font.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { reports, startBrowser, visitAddress } from "./browser.mjs";
import { call } from "./programs.mjs";
import { pathToFileURL } from "node:url";

let folder;
const figure = (store, name, ...words) => {
  call(folder, "figure", "--store", join(reports, `store-${store}`), "-o", name, ...words);
  return readFileSync(join(folder, name), "utf8");
};
const tool = (program, ...words) => execFileSync(program, words, { cwd: folder, encoding: "utf8" });
const points = (millimetres) => millimetres * 72 / 25.4;

describe("figures", () => {
  before(() => (folder = mkdtempSync(join(tmpdir(), "acid-figure-"))));
  after(() => rmSync(folder, { recursive: true }));

  test("a PDF is as wide as a column, has its font and its words", () => {
    for (const chart of ["curve", "difference", "ratio", "runtime"]) {
      figure("three", `${chart}.pdf`, "--chart", chart);
      const fonts = tool("pdffonts", `${chart}.pdf`).trim().split("\n").slice(2);
      assert.equal(fonts.length, 1);
      assert.match(fonts[0], /DejaVuSansCondensed +CID TrueType +Identity-H +yes yes yes/);
      const [, width] = /Page size: +([\d.]+) x/.exec(tool("pdfinfo", `${chart}.pdf`));
      assert.ok(Math.abs(Number(width) - points(84)) < 0.1, width);
      const text = tool("pdftotext", "-layout", `${chart}.pdf`, "-");
      assert.ok(text.includes("A²CiD²") && text.includes("AD-PSGD"), text);
    }
  });

  test("equal calls write equal bytes", () => {
    for (const kind of ["svg", "pdf"])
      assert.equal(figure("three", `one.${kind}`), figure("three", `two.${kind}`));
  });

  test("an SVG draws in its own font, with every curve", async () => {
    const svg = figure("three", "c.svg", "--metric", "consensus_distance", "--against", "seconds");
    assert.match(svg, /width="84mm"/);
    const browser = await startBrowser();
    try {
      const allowed = (asked) => asked.startsWith("file:") || asked.startsWith("data:");
      await visitAddress(browser, pathToFileURL(join(folder, "c.svg")).href, { allowed },
        async (page) => {
          await page.evaluate(() => document.fonts.ready);
          assert.equal(await page.evaluate(() => document.fonts.check("10px acid")), true);
          for (const colour of ["#1a1a1a", "#d55e00", "#009e73"])
            assert.ok((await page.locator(`path[stroke="${colour}"]`).count()) > 0, colour);
        });
    } finally {
      await browser.close();
    }
  });

  test("the data is beside it", () => {
    figure("three", "d.svg", "--metric", "eval_loss");
    const rows = readFileSync(join(folder, "d.csv"), "utf8").split("\n");
    assert.equal(rows[0], "label,gradients,mean,ci_low,ci_high");
    assert.ok(rows.some((row) => row.startsWith("AD-PSGD,")));
  });

  test("of a sweep a curve names its setting, an overview all", () => {
    assert.throws(() => figure("sweep", "s.svg"), /a curve is of one setting.*--where KEY=VALUE/s);
    figure("sweep", "s.pdf", "--where", "workers.count=4", "--where", "topology.kind=ring");
    figure("sweep", "o.pdf", "--chart", "overview");
    assert.match(tool("pdfinfo", "o.pdf"), /Page size: +493\.2/);
    const text = tool("pdftotext", "-layout", "o.pdf", "-");
    assert.match(text, /complete/);
    assert.match(text, /AR-SGD.*A²CiD²/);
  });

  test("charts of one algorithm name it, and the graph of all is drawn once", () => {
    const heads = { timeline: "worker,kind,begin,end", staleness: "staleness,share",
      pairing: "i,j,nominal,realised", gradients: "worker,value" };
    for (const [chart, head] of Object.entries(heads)) {
      figure("three", `${chart}.pdf`, "--chart", chart, "--algorithm", "AD-PSGD");
      assert.match(tool("pdftotext", "-layout", `${chart}.pdf`, "-"), /AD-PSGD/);
      assert.equal(readFileSync(join(folder, `${chart}.csv`), "utf8").split("\n")[0], head);
      assert.throws(() => figure("three", "x.svg", "--chart", chart),
        new RegExp(`the chart ${chart} is of one algorithm.*AD-PSGD, A²CiD²`, "s"));
    }
    figure("three", "graph.pdf", "--chart", "topology");
    assert.match(tool("pdftotext", "-layout", "graph.pdf", "-"), /ring, 16 workers/);
    assert.equal(readFileSync(join(folder, "graph.csv"), "utf8").trim().split("\n").length, 17);
    figure("three", "idle.svg", "--chart", "idle", "--algorithm", "AR-SGD");
  });

  test("a difference is read where --at says", () => {
    const svg = figure("three", "at.svg", "--chart", "difference", "--at", "gradients=2400");
    assert.match(svg, /Difference in [^<]+, at 2400 gradients/);
    assert.notEqual(readFileSync(join(folder, "at.csv"), "utf8"),
      (figure("three", "end.svg", "--chart", "difference"),
      readFileSync(join(folder, "end.csv"), "utf8")));
    assert.throws(() => figure("three", "x.svg", "--at", "gradients=2400"), /overview and difference/);
  });

  test("seeds that diverged are named above the curves", () =>
    assert.match(figure("ended", "e.svg", "--metric", "eval_loss"),
      />AD-PSGD: 2 of 2 diverged and are not drawn</));

  test("mistakes name what there is", () => {
    assert.throws(() => figure("three", "x.png"), /must end in \.svg or \.pdf/);
    assert.throws(() => figure("three", "x.svg", "--chart", "pie"), /curve/);
    assert.throws(() => figure("three", "x.svg", "--metric", "speed"), /eval_loss/);
    assert.throws(() => figure("three", "x.svg", "--against", "miles"), /gradients/);
    assert.throws(() => figure("three", "x.svg", "--chart", "difference", "--metric", "bytes"),
      /no chart 'difference' of bytes: differences in outcomes are drawn, and it is none/);
    assert.throws(() => figure("three", "x.svg", "--width", "wide"), /millimetres/);
    assert.throws(() => figure("three", "x.svg", "--chart", "overview", "--metric", "eval_loss"), /curve and difference/);
    assert.throws(() => figure("three", "x.svg", "--algorithm", "a2cid2"), /--where algorithm=NAME/);
    assert.throws(() => figure("three", "x.svg", "--where", "workers.count=5"), /none of the \d+ runs has workers\.count=5: /);
  });
});
