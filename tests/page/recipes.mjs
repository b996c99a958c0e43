// The recipes of the reports that the tests open.

const task = (dimension, more = "") => `[task]
dataset = { kind = "quadratic", dimension = ${dimension}, condition_number = 10.0, noise = 0.5, \
heterogeneity = 1.0, initial_spread = 1.0 }
[optimizer]
learning_rate = 0.05
[topology]
kind = "ring"
${more}`;

const algorithms = (...entries) => entries.map((entry) => `[[algorithms]]\n${entry}\n`).join("");
const arSgd = 'kind = "ar-sgd"';
const adPsgd = 'kind = "ad-psgd"\ncommunication_rate = 1.0';
const a2cid2 = 'kind = "a2cid2"\ncommunication_rate = 1.0';

/// Three algorithms, three seeds, and a worker that takes four times as long as the others.
export const threeRecipe = `name = "three"
seeds = [1, 2, 3]
${task(32)}[workers]
count = 16
[budget]
gradients = 4800
${algorithms(arSgd, adPsgd, a2cid2)}[execution.virtual]
compute = { kind = "lognormal", sigma = 0.2 }
slow_workers = { 0 = 4.0 }
[evaluation]
every_gradients = 80
`;

/// Four sweep points, two of them with 64 workers.
export const sweepRecipe = `name = "sweep"
seeds = [1, 2]
${task(8)}[workers]
count = 4
[budget]
gradients = 1600
${algorithms(arSgd, a2cid2)}[sweep]
"workers.count" = [4, 64]
"topology.kind" = ["ring", "complete"]
[evaluation]
every_gradients = 160
`;

/// One worker, one seed, one algorithm: nothing to compare and no spread to show.
export const loneRecipe = `name = "lone"
seeds = [7]
${task(8)}[workers]
count = 1
[budget]
gradients = 1600
${algorithms(arSgd)}[evaluation]
every_gradients = 160
`;

/// Over a hundred charts' worth of sweep points.
export const bigRecipe = `name = "big"
seeds = [1, 2]
${task(8)}[workers]
count = 4
[budget]
gradients = 4000
${algorithms(arSgd, adPsgd)}[sweep]
"optimizer.learning_rate" = [${Array.from({ length: 30 }, (_, k) => (0.001 * (k + 1)).toFixed(3))}]
[evaluation]
every_gradients = 20
`;

/// One algorithm finishes, one diverges, one goes on until it is stopped.
export const endedRecipe = `name = "ended"
seeds = [1, 2]
${task(4)}[workers]
count = 4
[budget]
gradients = 80
${algorithms(arSgd, `${adPsgd}\nset = { "optimizer.learning_rate" = 1e6 }`,
    `${a2cid2}\nset = { "budget.gradients" = 1000000000, "evaluation.every_gradients" = 8000 }`)}[evaluation]
every_gradients = 8
`;

/// Goes on for as long as the test of the live page wants.
export const liveRecipe = `name = "live"
seeds = [1]
${task(8)}[workers]
count = 4
[budget]
gradients = 400
${algorithms(arSgd, `${a2cid2}
set = { "budget.gradients" = 100000000, "evaluation.every_gradients" = 5000 }`)}[evaluation]
every_gradients = 8
`;

/// What a person may write, and must see again as they wrote it.
export const hostileLabels = [
  "<script>alert(1)</script>",
  "\"'><img src=x onerror=alert(2)>",
  "</script></style></title><!--<script>alert(3)//",
  `w${"ide ".repeat(1249)}end`,
  "שלום evil عالم",
  "👩‍👩‍👧‍👦 e\u0301\u0323 Z\u0351\u036B\u0343",
  "two lines  and a gap",
  "${alert(4)}{{7*7}}&lt;b&gt;&amp;",
];
export const hostileName = "<script>alert(0)</script> \"quoted\" </script> <!-- שלום";
export const hostileFile = "<img src=x onerror=alert(5)> & 'x' שלום.toml";

export const hostileRecipe = `name = ${JSON.stringify(hostileName)}
seeds = [1]
${task(4)}[workers]
count = 4
[budget]
gradients = 80
${algorithms(...hostileLabels.map((label, k) =>
    `kind = "ad-psgd"\ncommunication_rate = ${1 + k / 8}\nlabel = ${JSON.stringify(label)}`))}\
[evaluation]
every_gradients = 8
`;
