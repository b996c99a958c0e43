#include "tests/reports/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/base/digest.hpp"
#include "engine/base/rng.hpp"
#include "engine/topology/spectral.hpp"
#include "engine/topology/topology.hpp"
#include "reports/html/sections.hpp"
#include "reports/known_metrics.hpp"
#include "reports/text_table.hpp"
#include "reports/verdict.hpp"
#include "store/writer.hpp"

namespace acid::synthetic {
namespace {

/// A setting of a sweep.
struct Swept {
  int workers = 0;
  double learning_rate = 0, alpha = 0;
};

nlohmann::json settings_of(const Shape& shape, const std::string& algorithm, const Swept& swept) {
  nlohmann::json settings{
      {"algorithm", {{"kind", algorithm}}},
      {"budget", {{"normalised_time", shape.time}}},
      {"execution", {{"driver", "virtual"}, {"device", "cpu"}}},
      {"optimizer", {{"kind", "sgd"}, {"learning_rate", swept.learning_rate}, {"momentum", 0.9}}},
      {"task", {{"dataset", {{"kind", "glyphs"}}}, {"model", {{"kind", "cnn"}}}}},
      {"topology", {{"kind", shape.topology}}},
      {"workers", {{"count", swept.workers}}}};
  if (swept.alpha > 0)
    settings["task"]["partition"] = {{"kind", "dirichlet"}, {"alpha", swept.alpha}};
  if (shape.topology == "torus") settings["topology"]["rows"] = 0;
  if (algorithm != "ar-sgd") settings["algorithm"]["communication_rate"] = 1.0;
  if (const auto target = shape.targets.find(algorithm); target != shape.targets.end())
    settings["budget"]["target"] = {{"metric", target->second.metric},
                                    {"value", target->second.value}};
  return settings;
}

std::string label_of(const std::string& algorithm) {
  if (algorithm == "ar-sgd") return "AR-SGD";
  if (algorithm == "ad-psgd") return "AD-PSGD";
  return algorithm == "a2cid2" ? "A²CiD²" : algorithm;
}

RunRecord record_of(const Shape& shape, const std::string& algorithm, const Swept& swept,
                    std::uint64_t seed) {
  const int workers = swept.workers;
  RunRecord record;
  record.settings = settings_of(shape, algorithm, swept);
  record.group = sha256_hex(record.settings.dump());
  record.settings["seed"] = seed;
  record.digest = sha256_hex(record.settings.dump());
  record.id = record.digest.substr(0, 12);
  record.algorithm = algorithm;
  record.label = label_of(algorithm);
  record.seed = seed;
  record.driver = "virtual";
  record.topology = shape.topology;
  record.workers = workers;
  record.budget_gradients = static_cast<std::int64_t>(shape.time) * workers;
  if (shape.gradients_per_epoch > 0) record.plan["gradients_per_epoch"] = shape.gradients_per_epoch;
  if (algorithm == "ar-sgd") return record;
  const Spectral s = spectral(make_topology(workers, record.settings["topology"]), 1.0);
  record.plan.update({{"chi1", s.chi1}, {"chi2", s.chi2}});
  if (algorithm == "a2cid2")
    record.plan.update({{"eta", s.eta}, {"alpha", 0.5}, {"alpha_tilde", s.alpha_tilde}});
  return record;
}

bool stops(const std::vector<Value>& values, const Shape& shape, const RunRecord& run) {
  const auto target = shape.targets.find(run.algorithm);
  if (target == shape.targets.end()) return false;
  const auto found = std::ranges::find(values, target->second.metric, &Value::metric);
  const double ahead = found->value - target->second.value;
  return ahead * better_direction(target->second.metric) >= 0;
}

/// Where the run ended.
Position write_samples(RunWriter& writer, const RunRecord& run, const Shape& shape,
                       double slowness) {
  const bool synchronous = run.algorithm == "ar-sgd";
  const double gap = run.algorithm == "a2cid2" ? 0.05 : 0.3;
  std::uint64_t state = run.seed * 7919 + static_cast<std::uint64_t>(run.workers) +
                        104729 * run.algorithm.size() +
                        static_cast<unsigned char>(run.algorithm[1]);
  const auto noise = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) / 9007199254740992.0 - 0.5;
  };
  for (int k = 0; k < 10; ++k) noise();  // neighbouring seeds start alike
  const double luck = 0.01 * noise();
  for (int k = 0; k <= shape.samples; ++k) {
    const double share = static_cast<double>(k) / shape.samples, time = share * shape.time;
    Position position;
    position.gradients = std::lround(time * run.workers);
    position.normalised_time = time;
    position.seconds = time * 0.05 * slowness * (1 + 0.01 * luck);
    position.bytes = position.gradients * (synchronous ? 3'000'000 : 1'600'000);
    // A rate of 1.6 collapses, and a skewed partition costs.
    const double rate = run.settings["optimizer"]["learning_rate"];
    const bool skewed = run.settings["task"].contains("partition");
    const double floor = (rate > 1.5 ? 1.6 : 0) + (skewed ? 0.03 : 0);
    const double loss = 2.2 * std::exp(-6 * share) + 0.08 + floor + (synchronous ? 0 : 0.02) + luck;
    const double consensus =
        synchronous ? 0 : gap * run.workers / 16 * (1 - std::exp(-30 * share)) * (1.05 - share);
    std::vector<Value> values{{"train_loss", kWholeRun, loss * (1 + 0.3 * noise())},
                              {"eval_loss", kWholeRun, loss * (1 + 0.02 * noise())},
                              {"eval_accuracy", kWholeRun, 1 - 0.4 * loss + 0.004 * noise()},
                              {"consensus_distance", kWholeRun, consensus * (1 + 0.4 * noise())},
                              {"idle_share", 0, 0.1}};
    if (shape.more_metrics) {
      values.push_back({"staleness", kWholeRun, synchronous ? 0 : 1 + noise()});
      values.push_back({"idle_share", kWholeRun, (synchronous ? 0.5 : 0.05) + 0.04 * noise()});
    }
    writer.sample(position, values);
    if (k < shape.samples && !stops(values, shape, run)) continue;
    writer.progress(position);
    return position;
  }
  return {};
}

/// Worker 0 takes three times as long; only synchronous workers wait for it.
void add_time(AttemptResult& result, const RunRecord& run, double slowness) {
  const bool synchronous = run.algorithm == "ar-sgd";
  const double gradient = 0.05 * slowness;
  for (int i = 0; i < run.workers; ++i) {
    std::vector<Span> spans;
    const double own = i == 0 ? 3 * gradient : gradient;
    double now = 0;
    for (int k = 0; k < 12; ++k) {
      spans.push_back({SpanKind::compute, now, now + own});
      if (synchronous && own < 3 * gradient)
        spans.push_back({SpanKind::wait, now + own, now + 3 * gradient});
      if (!synchronous) spans.push_back({SpanKind::exchange, now + 0.4 * own, now + 0.6 * own});
      now += synchronous ? 3 * gradient : own;
    }
    result.worker_spans.push_back(spans);
  }
  result.staleness = {run.budget_gradients};
  if (!synchronous) result.staleness = {40, 90, 30, 8, 2, 0, 1};
}

AttemptResult result_of(const RunRecord& run, const Shape& shape, double slowness) {
  AttemptResult result;
  result.position = {run.budget_gradients, shape.time, shape.time * 0.05 * slowness,
                     run.budget_gradients * 1'600'000};
  result.mean_digest = sha256_hex("mean" + run.id);
  for (int i = 0; i < run.workers; ++i) {
    result.worker_digests.push_back(sha256_hex(run.id + std::to_string(i)));
    result.worker_gradients.push_back(static_cast<std::int64_t>(shape.time) - (i == 0 ? 90 : 0));
    result.worker_idle_seconds.push_back(shape.time * 0.05 *
                                         (run.algorithm == "ar-sgd" ? 0.5 : 0.02));
  }
  add_time(result, run, slowness);
  if (run.algorithm == "ar-sgd" || run.workers < 2) return result;
  const Topology topology = make_topology(run.workers, run.settings["topology"]);
  std::int64_t total = 0;
  topology.for_each_edge([&](const Edge& edge) {
    const double rate = topology.edge_rate(edge.i, edge.j, 1.0);
    const auto count = std::lround(rate * shape.time) + (edge.i * 5 + edge.j * 3) % 21 - 10;
    result.edges.push_back({edge.i, edge.j, rate, count});
    total += count;
  });
  result.exchanges_drawn = result.exchanges_done = total;
  result.realised_rate =
      2.0 * static_cast<double>(total) / static_cast<double>(run.budget_gradients);
  result.realised_chi1 = run.plan["chi1"].get<double>() * 1.03;
  result.realised_chi2 = run.plan["chi2"].get<double>() * 0.99;
  return result;
}

/// Two classes, of which the first worker has only one.
std::vector<std::vector<std::int64_t>> holdings_of(const RunRecord& run) {
  std::vector<std::vector<std::int64_t>> holdings(static_cast<std::size_t>(run.workers), {40, 60});
  const auto other = static_cast<std::int64_t>(
      run.settings["task"].value(nlohmann::json::json_pointer("/partition/alpha"), 0.0));
  holdings.front() = {100 - other, other};
  return holdings;
}

void execute(Store& store, const RunRecord& run, const Shape& shape) {
  const nlohmann::json environment{{"acid", {{"version", "0.1.0"}, {"commit", "abc123"}}},
                                   {"cpu", {{"model", "Test & <b>CPU</b>"}, {"cores", 2}}}};
  const std::int64_t attempt = store.begin_attempt(
      run.id, Lease::of_this_process(), environment, {{"init", run.seed}},
      {{"data/train.bin", sha256_hex("train")}}, std::nullopt, std::nullopt, holdings_of(run));
  const double slowness = run.algorithm == "ar-sgd" ? 1.8 : 1.0;
  RunWriter writer(store.folder(), run.id, attempt);
  const Position end = write_samples(writer, run, shape, slowness);
  writer.note(Severity::info, "done");
  writer.flush();
  AttemptResult result = result_of(run, shape, slowness);
  if (shape.targets.contains(run.algorithm)) result.position = end;
  store.end_attempt(attempt, result);
}

}  // namespace

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++count;
  return count;
}

ComparedRun run(const std::string& algorithm, std::uint64_t seed,
                const std::map<std::string, double>& metrics, const nlohmann::json& settings) {
  ComparedRun run;
  run.settings = settings.is_null() ? nlohmann::json::object() : settings;
  run.settings["algorithm"]["kind"] = algorithm;
  run.summary.group = sha256_hex(run.settings.dump());
  run.settings["seed"] = seed;
  run.summary.id = sha256_hex(run.settings.dump()).substr(0, 12);
  run.summary.algorithm = run.summary.label = algorithm;
  run.summary.seed = seed;
  run.summary.state = RunState::finished;
  run.summary.metrics = metrics;
  return run;
}

int widest_line(const std::string& text) {
  std::istringstream lines(text);
  int widest = 0;
  for (std::string line; std::getline(lines, line);)
    widest = std::max(widest, terminal_columns(line));
  return widest;
}

bool noted(const Comparison& comparison, const std::string& part) {
  return std::ranges::any_of(comparison.notes,
                             [&](const ComparedNote& note) { return has(note.text, part); });
}

std::string sentences_of(const Comparison& comparison) {
  std::string words;
  for (const std::string& sentence : verdict_sentences(comparison)) words += sentence + "\n";
  return words;
}

ReportData page_of(const Comparison& comparison) {
  ReportData data;
  data.comparison = comparison;
  data.styles.assign(comparison.groups.size(), 0);
  return data;
}

std::string verdict_page_of(const Comparison& comparison) {
  return verdict_section(page_of(comparison));
}

std::vector<std::string> fill(Store& store, const Shape& shape) {
  ExperimentRecord experiment;
  experiment.name = shape.name;
  experiment.recipe_path = "recipes/it's.toml";
  experiment.recipe_text = "name = \"<script>alert(1)</script>\"\n";
  experiment.recipe_digest = sha256_hex(shape.name);
  experiment.id = experiment.recipe_digest.substr(0, 12);
  experiment.overrides = {"optimizer.learning_rate=0.05"};
  experiment.command_line = "acid run recipes/it's.toml --set optimizer.learning_rate=0.05";
  std::vector<RunRecord> runs;
  for (const int workers : shape.workers)
    for (const double rate : shape.learning_rates)
      for (const double alpha : shape.alphas)
        for (const std::string& algorithm : shape.algorithms)
          for (int seed = 1; seed <= shape.seeds; ++seed)
            runs.push_back(record_of(shape, algorithm, {workers, rate, alpha},
                                     static_cast<std::uint64_t>(seed)));
  runs.resize(std::min(runs.size(), shape.most_runs));
  store.add_experiment(experiment, runs);
  std::vector<std::string> ids;
  for (const RunRecord& run : runs) {
    execute(store, run, shape);
    ids.push_back(run.id);
  }
  return ids;
}

RunRecord another_seed(const RunDetail& like, std::uint64_t seed) {
  RunRecord run;
  run.settings = like.settings;
  run.settings["seed"] = run.seed = seed;
  run.digest = sha256_hex(run.settings.dump());
  run.id = run.digest.substr(0, 12);
  run.group = like.summary.group;
  run.algorithm = run.label = like.summary.algorithm;
  run.driver = like.summary.driver;
  run.topology = like.summary.topology;
  run.workers = like.summary.workers;
  run.budget_gradients = like.summary.budget_gradients;
  run.plan = nlohmann::json::object();
  return run;
}

}  // namespace acid::synthetic
