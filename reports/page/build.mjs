// Bundles the page's code: page.js and page.css, and both inside page_script.cpp; its tests into
// tests.mjs, which Node runs.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild-wasm";

const common = { bundle: true, target: "es2020", charset: "ascii", logLevel: "warning" };
await build({
  ...common,
  entryPoints: ["src/main.ts"],
  outfile: "page.js",
  minify: true,
  format: "iife",
});
const tests = readdirSync("test").filter((file) => file.endsWith(".test.ts"));
await build({
  ...common,
  stdin: { contents: tests.map((file) => `import "./test/${file}";`).join(""), resolveDir: "." },
  outfile: "tests.mjs",
  platform: "node",
  format: "esm",
});

const kDelimiter = "acid-page";

// A compiler need not take longer literals than this in one piece.
const kLongestLiteral = 15_000;

function literal(text, file) {
  // The page embeds both as they are; none of these may end or confuse the element around them.
  for (const forbidden of ["</script", "</style", "<!--", "<script", `)${kDelimiter}"`])
    if (text.toLowerCase().includes(forbidden)) throw new Error(`${file} contains ${forbidden}`);
  const pieces = [];
  for (let k = 0; k < text.length; k += kLongestLiteral)
    pieces.push(`R"${kDelimiter}(${text.slice(k, k + kLongestLiteral)})${kDelimiter}"`);
  return pieces.join("\n");
}

function constant(name, file) {
  return `constexpr char ${name}[] =\n${literal(readFileSync(file, "utf8"), file)};\n`;
}

writeFileSync(
  "page_script.cpp",
  `// Made from reports/page.
#include "reports/html/page_script.hpp"

namespace acid {
namespace {

${constant("kBundledScript", "page.js")}
${constant("kBundledStyle", "page.css")}
}  // namespace

PageScript page_script() {
  return {{kBundledScript, sizeof kBundledScript - 1}, {kBundledStyle, sizeof kBundledStyle - 1}};
}

}  // namespace acid
`,
);
