#include "cli/show_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "cli/terminal/run_json.hpp"
#include "cli/terminal/table.hpp"
#include "engine/methods/method.hpp"
#include "engine/recorder/metrics.hpp"
#include "recipes/reference.hpp"
#include "reports/heading.hpp"
#include "reports/numbers.hpp"
#include "reports/realised_rate.hpp"
#include "reports/run_names.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"
#include "settings/drivers.hpp"

namespace acid {
namespace {

using nlohmann::json;

void add_line(std::string& text, std::string_view name, std::string_view value,
              int name_columns = 28) {
  const int padding = std::max(2, name_columns - terminal_columns(name));
  text += fmt::format("  {}{:{}}{}\n", name, "", padding, value);
}

// Adds nested tables as dotted keys, as `--set` takes them.
void add_settings(std::string& text, const FlatSettings& flat) {
  int widest = 0;
  for (const auto& [key, value] : flat) widest = std::max(widest, terminal_columns(key));
  for (const auto& [key, value] : flat) add_line(text, key, value_text(value), widest + 2);
}

// The last verdict counts: it concerns the present state of the store.
std::string verification_text(const RunDetail& run) {
  const VerificationRow* const last = decisive_verification(run);
  if (last == nullptr) return fmt::format("not verified; 'acid verify {}' does", run.summary.id);
  if (!last->equal) return fmt::format("verification FAILED: {}", last->message);
  if (!last->altered.empty())
    return fmt::format("NOT verified in its present state: {} ({}); 'acid verify {}' checks again",
                       last->altered, shown_time(last->time), run.summary.id);
  return fmt::format("verified{} {} on {}, as this store says: {}{}",
                     last->from ? fmt::format(" from checkpoint {} on", *last->from) : "",
                     shown_time(last->time), last->host, last->message,
                     last->unreadable.empty()
                         ? ""
                         : fmt::format("; its files could not be looked at: {}", last->unreadable));
}

// Of any run against the clock.
void add_skipped(std::string& text, const AttemptResult& result) {
  const std::int64_t samples = result.samples_skipped.value_or(0),
                     evaluations = result.evaluations_skipped.value_or(0),
                     checkpoints = result.checkpoints_skipped.value_or(0);
  if (samples + evaluations + checkpoints > 0)
    add_line(text, "too late to be taken",
             fmt::format("{} samples, {} evaluations, {} checkpoints", samples, evaluations,
                         checkpoints));
}

void add_outcome(std::string& text, const RunDetail& run) {
  const RunSummary& summary = run.summary;
  text += fmt::format("run {}  {}, seed {}: {}\n", summary.id,
                      shown_name(summary.algorithm, summary.label), summary.seed,
                      state_name(summary.state));
  if (!summary.message.empty()) add_line(text, "message", summary.message);
  if (!summary.tags.empty())
    add_line(text, "tags", fmt::format("{}", fmt::join(summary.tags, " ")));
  add_line(text, "experiment", fmt::format("{} ({})", summary.experiment_name, summary.experiment));
  add_line(text, "workers",
           fmt::format("{}, {}, {} driver", summary.workers,
                       summary.topology == "any" ? "any graph" : summary.topology, summary.driver));
  add_line(text, "started (UTC)", shown_time(summary.started));
  add_line(text, "finished (UTC)", shown_time(summary.finished));
  const std::string time = short_number(summary.progress.normalised_time);
  if (summary.budget_time) {
    add_line(text, "gradients", "none, exchanges alone");
    add_line(text, "normalised time",
             fmt::format("{} of {}", time, short_number(*summary.budget_time)));
  } else {
    add_line(text, "gradients",
             fmt::format("{} of {}", summary.progress.gradients, summary.budget_gradients));
    add_line(text, "normalised time", time);
  }
  add_line(text, simulates(summary.driver) ? "simulated time" : "wall time",
           format_seconds(summary.progress.seconds));
  std::string sent = format_bytes(static_cast<double>(summary.progress.bytes));
  if (const std::string large = stand_in_words(run.settings); !large.empty()) sent += ", " + large;
  add_line(text, "bytes sent", sent);
  if (run.result) add_skipped(text, *run.result);
  if (summary.state == RunState::finished || !run.verifications.empty())
    add_line(text, "verification", verification_text(run));
}

void add_results(std::string& text, const RunDetail& run) {
  if (run.summary.metrics.empty()) return;
  text += "\nresults (last values)\n";
  for (const auto& [name, value] : run.summary.metrics) {
    const Metric* metric = find_metric(name);
    const bool has_unit = metric != nullptr && metric->unit != "1";
    std::string shown = short_number(value);
    if (has_unit) shown += fmt::format(" {}", metric->unit);
    if (name == "train_loss") shown += "  each worker's own data at its own model";
    add_line(text, name, shown);
  }
}

void add_gossip(std::string& text, const RunDetail& run) {
  const auto planned = [&](const std::string& name) -> std::optional<double> {
    if (!run.plan.is_object() || !run.plan.contains(name) || !run.plan[name].is_number()) return {};
    return run.plan[name].get<double>();
  };
  const std::vector<Shown> shown = shown_by({run.summary.algorithm});
  if (run.summary.workers < 2 || (!planned("chi1") && shown.empty())) return;
  text += "\ngossip                        planned   realised\n";
  const AttemptResult result = run.result.value_or(AttemptResult{});
  const auto row = [&](const std::string& name, std::optional<double> plan,
                       std::optional<double> real) {
    add_line(text, name, fmt::format("{:<10}{}", short_number(plan), short_number(real)));
  };
  const std::optional<double> rate = nominal_rate(run.settings);
  row("exchanges per gradient", rate,
      result.exchanges_drawn > 0 ? std::optional(result.realised_rate) : std::nullopt);
  if (rate && result.exchanges_drawn > 0 && result.position.gradients > 0)
    if (const auto doubt =
            rate_doubt(*rate, result.realised_rate, static_cast<double>(result.position.gradients),
                       saturates(run.settings)))
      add_line(text, "warning", *doubt);
  row("chi1", planned("chi1"), result.realised_chi1);
  row("chi2", planned("chi2"), result.realised_chi2);
  for (const Shown& each : shown) row(std::string(each.key), planned(std::string(each.key)), {});
  if (run.result && rate)
    add_line(text, "exchanges",
             fmt::format("{} drawn, {} done, {} waiting", result.exchanges_drawn,
                         result.exchanges_done, result.exchanges_waiting));
}

// For methods of rounds only; runs of an older acid have neither number.
void add_agreement(std::string& text, const RunDetail& run) {
  if (!run.plan.is_object()) return;
  if (const json schedule = run.plan.value("schedule", json()); schedule.is_object())
    text += "\ngraph that changes\n" + text_of_schedule(schedule);
  const json agreement = run.plan.value("agreement", json());
  if (!agreement.is_object()) return;
  text += "\nagreement, gradients apart\n";
  add_line(text, "left by an exchange", short_number(agreement.at("left").get<double>()));
  add_line(text, "exchanges per gradient",
           short_number(agreement.at("exchanges_per_gradient").get<double>()));
}

void add_workers(std::string& text, const AttemptResult& result) {
  if (result.worker_gradients.empty()) return;
  const auto [least, most] =
      std::minmax_element(result.worker_gradients.begin(), result.worker_gradients.end());
  text += "\nworkers\n";
  add_line(text, "gradients of a worker", fmt::format("{} to {}", *least, *most));
  if (!result.worker_idle_seconds.empty())
    add_line(text, "longest idle of a worker",
             format_seconds(*std::max_element(result.worker_idle_seconds.begin(),
                                              result.worker_idle_seconds.end())));
}

// [then, now] in an attempt that went on although something differed.
std::string change_text(const json& values) {
  if (!values.is_array() || values.size() != 2) return value_text(values);
  return fmt::format("{} → {}", value_text(values[0]), value_text(values[1]));
}

void add_attempts(std::string& text, const RunDetail& run) {
  if (run.attempts.empty()) return;
  text += "\nattempts\n";
  for (const AttemptRow& attempt : run.attempts) {
    add_line(text, fmt::format("{}  {}", attempt.number, shown_time(attempt.started)),
             fmt::format("{}{} on {} (pid {}), {}{}{}",
                         attempt.resumed_from == 0
                             ? ""
                             : fmt::format("from checkpoint {}, ", attempt.resumed_from),
                         attempt.outcome.empty() ? "under way" : attempt.outcome, attempt.host,
                         attempt.pid, format_seconds(attempt.wall_seconds),
                         attempt.message.empty() ? "" : ": ", attempt.message));
    if (!attempt.changed.is_object()) continue;
    for (const auto& [key, values] : attempt.changed.items())
      add_line(text, "", fmt::format("although {} changed: {}", key, change_text(values)));
  }
}

void add_checkpoints(std::string& text, const RunDetail& run) {
  if (run.checkpoints.empty()) return;
  text += "\ncheckpoints\n";
  constexpr std::ptrdiff_t kShownRows = 10;
  const std::ptrdiff_t hidden =
      std::max(std::ssize(run.checkpoints) - kShownRows, std::ptrdiff_t{0});
  if (hidden > 0) text += fmt::format("  … {} earlier ones (--json lists them)\n", hidden);
  for (auto row = run.checkpoints.begin() + hidden; row != run.checkpoints.end(); ++row) {
    const std::string size = format_bytes(static_cast<double>(row->bytes));
    add_line(text, fmt::format("{}  {}", row->number, shown_time(row->created)),
             fmt::format("gradient {}, time {}, {}", row->position.gradients,
                         short_number(row->position.normalised_time),
                         row->removed ? "file removed" : fmt::format("{} ({})", row->path, size)));
  }
}

void add_environment(std::string& text, const RunDetail& run) {
  if (run.attempts.empty()) return;
  if (const json& environment = run.attempts.back().environment; environment.is_object()) {
    text += "\nenvironment of the last attempt\n";
    add_settings(text, flatten(environment));
  }
}

void add_digests(std::string& text, const RunDetail& run) {
  text += "\ndigests (SHA-256)\n";
  add_line(text, "plan", run.summary.digest);
  for (const auto& [path, sha256] : run.file_digests) add_line(text, path, sha256);
  if (!run.result) return;
  if (!run.result->mean_digest.empty()) add_line(text, "final mean", run.result->mean_digest);
  constexpr std::size_t kShownWorkers = 16;
  const auto& digests = run.result->worker_digests;
  for (std::size_t i = 0; i < std::min(kShownWorkers, digests.size()); ++i)
    add_line(text, fmt::format("worker {}", i), digests[i].empty() ? "lost" : digests[i]);
  if (digests.size() > kShownWorkers)
    text += fmt::format("  … and {} more (--json lists them)\n", digests.size() - kShownWorkers);
}

void add_log(std::string& text, const RunDetail& run) {
  if (run.log.empty()) return;
  constexpr std::ptrdiff_t kShownLines = 10;
  text += "\nlog (last lines)\n";
  const auto count = std::min(kShownLines, std::ssize(run.log));
  for (auto line = run.log.end() - count; line != run.log.end(); ++line)
    add_line(text, shown_time(line->time), line->text);
}

void add_notes(std::string& text, const RunDetail& run) {
  if (!run.notes.empty()) text += "\nnotes\n";
  for (const NoteRow& note : run.notes) add_line(text, shown_time(note.time), note.text);
}

}  // namespace

std::string text_of_schedule(const json& schedule) {
  const json& period = schedule.at("period");
  const bool drawn = period.is_null();
  std::string text =
      "  period       none: drawn; the numbers are estimates from exchanges of one seed\n";
  if (!drawn) text = fmt::format("  period       {} exchanges\n", period.get<std::int64_t>());
  // JSON has no infinity, the value of these numbers for a graph without all edges.
  const auto number = [&](const char* name) {
    return schedule.at(name).is_number() ? schedule.at(name).get<double>()
                                         : std::numeric_limits<double>::infinity();
  };
  const auto shown = [&](double value) { return fmt::format("{:.{}g}", value, drawn ? 3 : 6); };
  text += fmt::format("  messages     {:.6g} per exchange\n", number("messages"));
  text += fmt::format("  χ₁, χ₂       {}, {} of the expected graph, in exchanges\n",
                      shown(number("chi1")), shown(number("chi2")));
  if (!schedule.at("left").is_null())
    text += fmt::format("  left         {} of the workers' differences, at most, after {}\n",
                        shown(number("left") < 1e-7 ? 0 : number("left")),
                        drawn ? "an exchange, in expectation" : "a period");
  if (schedule.at("stochastic") == "columns")
    text +=
        "  weights      columns sum to 1, rows do not: for methods with push-sum, such as sgp\n";
  if (schedule.at("stochastic") == "rows")
    text += "  weights      rows sum to 1, columns do not: the mean of the workers moves\n";
  return text;
}

std::string to_text(const RunDetail& run, bool changed) {
  std::string text;
  add_outcome(text, run);
  add_results(text, run);
  add_gossip(text, run);
  add_agreement(text, run);
  if (run.result) add_workers(text, *run.result);
  const FlatSettings settings = flatten(run.settings);
  text += changed ? "\nsettings that are no defaults\n" : "\nsettings\n";
  add_settings(text, changed ? changed_from_default(settings) : settings);
  add_attempts(text, run);
  add_checkpoints(text, run);
  add_environment(text, run);
  add_digests(text, run);
  add_log(text, run);
  add_notes(text, run);
  return text;
}

Table run_table(const Store& store, const std::vector<RunSummary>& runs) {
  Table table{{"run", "state", "algorithm", of_numbers("seed"), of_numbers("n"), "topology",
               "setting", "driver", "result", "started (UTC)", "tags"},
              {}};
  const auto settings = settings_in_experiments(store, runs, {"workers.count", "topology.kind"});
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const RunSummary& run = runs[r];
    table.rows.push_back({run.id, std::string(state_name(run.state)),
                          shown_name(run.algorithm, run.label), fmt::format("{}", run.seed),
                          fmt::format("{}", run.workers), run.topology, settings[r], run.driver,
                          key_result(run), shown_time(run.started),
                          fmt::format("{}", fmt::join(run.tags, " "))});
  }
  for (const char* const title : {"setting", "tags"}) remove_if_empty(table, title);
  return table;
}

}  // namespace acid
