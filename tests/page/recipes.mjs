// The recipes of the reports that the tests open.

const arSgd = 'kind = "ar-sgd"';
const adPsgd = 'kind = "ad-psgd"\ncommunication_rate = 1.0';
const a2cid2 = 'kind = "a2cid2"\ncommunication_rate = 1.0';

const recipe = (name, { seeds, dimension, workers = 4, gradients, every, algorithms, more = "" }) =>
  `name = ${JSON.stringify(name)}
seeds = [${seeds}]
[task]
dataset = { kind = "quadratic", dimension = ${dimension}, condition_number = 10.0, noise = 0.5, \
heterogeneity = 1.0, initial_spread = 1.0 }
[optimizer]
learning_rate = 0.05
[topology]
kind = "ring"
[workers]
count = ${workers}
[budget]
gradients = ${gradients}
${algorithms.map((entry) => `[[algorithms]]\n${entry}\n`).join("")}[evaluation]
every_gradients = ${every}
${more}`;

/// Three algorithms, three seeds, and a worker that takes four times as long as the others.
export const threeRecipe = recipe("three", { seeds: [1, 2, 3], dimension: 32, workers: 16,
  gradients: 4800, every: 80, algorithms: [arSgd, adPsgd, a2cid2], more: `[execution.virtual]
compute = { kind = "lognormal", sigma = 0.2 }
slow_workers = { 0 = 4.0 }
` });

/// Four sweep points, two of them with 64 workers.
export const sweepRecipe = recipe("sweep", { seeds: [1, 2], dimension: 8, gradients: 1600,
  every: 160, algorithms: [arSgd, a2cid2], more: `[sweep]
"workers.count" = [4, 64]
"topology.kind" = ["ring", "complete"]
` });

/// One worker, one seed, one algorithm: nothing to compare and no spread to show.
export const loneRecipe = recipe("lone", { seeds: [7], dimension: 8, workers: 1, gradients: 1600,
  every: 160, algorithms: [arSgd] });

/// Over a hundred charts' worth of sweep points.
export const bigRecipe = recipe("big", { seeds: [1, 2], dimension: 8, gradients: 4000, every: 20,
  algorithms: [arSgd, adPsgd], more: `[sweep]
"optimizer.learning_rate" = [${Array.from({ length: 30 }, (_, k) => (0.001 * (k + 1)).toFixed(3))}]
` });

/// One algorithm finishes, one diverges, one goes on until it is stopped.
export const endedRecipe = recipe("ended", { seeds: [1, 2], dimension: 4, gradients: 80, every: 8,
  algorithms: [arSgd, `${adPsgd}\nset = { "optimizer.learning_rate" = 1e6 }`, `${a2cid2}
set = { "budget.gradients" = 1000000000, "evaluation.every_gradients" = 8000 }`] });

/// Goes on for as long as the test of the live page wants.
export const liveRecipe = recipe("live", { seeds: [1], dimension: 8, gradients: 400, every: 8,
  algorithms: [arSgd, `${a2cid2}
set = { "budget.gradients" = 100000000, "evaluation.every_gradients" = 5000 }`] });

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

export const hostileRecipe = recipe(hostileName, { seeds: [1], dimension: 4, gradients: 80,
  every: 8, algorithms: hostileLabels.map((label, k) =>
    `kind = "ad-psgd"\ncommunication_rate = ${1 + k / 8}\nlabel = ${JSON.stringify(label)}`) });
