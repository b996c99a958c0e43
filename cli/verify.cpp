#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/processes/child.hpp"
#include "cli/processes/executor_words.hpp"
#include "cli/processes/supervisor.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/option_text.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/verify_runs.hpp"
#include "engine/base/clock.hpp"
#include "engine/python/model_templates.hpp"
#include "reports/numbers.hpp"
#include "settings/run_settings.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct VerifyOptions {
  std::vector<std::string> names;
  std::optional<int> from, until;
  Format format;
};

struct Verified {
  Exit exit = Exit::ok;
  std::string output;  // the verdict, with --json a document
};

// The worker prints progress itself, on this process's standard error.
Verified verify_part(Supervisor& supervisor, const Session& session, const VerifiedPart& part,
                     bool as_json, const std::string& worker) {
  const std::string& id = part.run;
  std::vector<std::string> arguments{worker,  "--store", session.store_folder,
                                     "--run", id,        "--verify"};
  for (const auto& [option, number] : {std::pair{"--from", part.from}, {"--until", part.until}})
    if (number) {
      arguments.emplace_back(option);
      arguments.push_back(fmt::format("{}", *number));
    }
  if (as_json) arguments.push_back("--json");
  try {
    const Store store(session.store_folder, Store::Access::read);
    const RunSettings settings = settings_from(run_settings(store, {id}).front());
    ModelTemplates::prepare(settings.task.model, settings.execution.threads_per_worker);
  } catch (const Error&) {
    // The worker says what is wrong with the settings.
  }
  Supervisor::Ending ending = supervisor.run(id, arguments, Child::Output::data);
  if (supervisor.interrupted()) return {Exit::interrupted, std::move(ending.output)};
  if (const auto exit = ending.exit()) return {*exit, std::move(ending.output)};
  say(fmt::format("acid: error: run {}: acid-worker ended with {}", id,
                  status_text(ending.status)));
  return {Exit::run_failed, std::move(ending.output)};
}

// The worker's document, or a document that says that there is none.
json document_of(const std::string& id, const Verified& verified) {
  json document = json::parse(verified.output, nullptr, false);
  if (document.is_object()) return document;
  return {{"run", id}, {"equal", nullptr}, {"exit_code", static_cast<int>(verified.exit)}};
}

// An attempt that failed at the start has no progress.
bool has_begun(const RunSummary& run) {
  const bool failed_at_once = run.state == RunState::failed && run.progress.gradients == 0 &&
                              run.progress.normalised_time == 0;
  return run.state != RunState::planned && !failed_at_once;
}

// The runs that have begun, if several are named. When none has, all: their workers say what is
// missing.
std::vector<std::string> runs_to_verify(const Session& session, const VerifyOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  std::vector<std::string> ids = resolve_runs(store, options.names).ids;
  std::vector<std::string> begun;
  for (const RunSummary& run : run_summaries(store, ids))
    if (has_begun(run)) begun.push_back(run.id);
  if (begun.empty() || begun.size() == ids.size()) return ids;
  say(fmt::format("{} of {} runs left out: not begun yet", ids.size() - begun.size(), ids.size()));
  return begun;
}

/// ", from checkpoint 2 to checkpoint 3"; empty for a whole run.
std::string span_of(const VerifiedPart& part) {
  const auto place = [](const std::optional<int>& number, const char* none) {
    return number ? fmt::format("checkpoint {}", *number) : std::string(none);
  };
  if (!part.from && !part.until) return {};
  return fmt::format(", from {} to {}", place(part.from, "the beginning"),
                     place(part.until, "the end"));
}

/// Prints how far the verification of several runs is, a line for each; for one run nothing.
class Several {
 public:
  Several(const Session& session, const std::vector<VerifiedPart>& parts) : parts_(parts.size()) {
    if (parts.size() < 2) return;
    const Store store(session.store_folder, Store::Access::read);
    std::vector<std::string> ids;
    for (const VerifiedPart& part : parts)
      if (std::ranges::find(ids, part.run) == ids.end()) ids.push_back(part.run);
    runs_ = run_summaries(store, ids);
    for (const VerifiedPart& part : parts) {
      whole_ &= !part.from && !part.until;
      to_do_ += work_of(part);
    }
  }
  void begin(const VerifiedPart& part) {
    if (runs_.empty()) return;
    now_ = work_of(part);
    say(fmt::format("verifying {} of {}{}: {}{}", ++number_, parts_,
                    done_ > 0 ? time_left((clock_.seconds() - begun_) * to_do_ / done_) : "",
                    name_of(run_of(part)), span_of(part)));
  }
  void end(Exit exit) {
    to_do_ -= now_;
    done_ += now_;
    equal_ += exit == Exit::ok ? 1 : 0;
  }
  std::size_t equal() const { return equal_; }
  void total() const {
    if (runs_.empty()) return;
    say(fmt::format("{} of {} {} are reproduced bit for bit, in {}", equal_, parts_,
                    whole_ ? "runs" : "parts of runs",
                    format_seconds(std::round(clock_.seconds() - begun_))));
  }

 private:
  const RunSummary& run_of(const VerifiedPart& part) const {
    return *std::ranges::find(runs_, part.run, &RunSummary::id);
  }
  double work_of(const VerifiedPart& part) const {
    const RunSummary& run = run_of(part);
    return part.share * work_done(run, run.progress);
  }

  const SteadyClock clock_;
  const double begun_ = clock_.seconds();
  const std::size_t parts_;
  bool whole_ = true;                      // each part is a run
  std::vector<RunSummary> runs_;           // empty: only one part
  double to_do_ = 0, done_ = 0, now_ = 0;  // work_done(): left, verified, of this run
  std::size_t number_ = 0, equal_ = 0;
};

Exit verify(const Session& session, const VerifyOptions& options) {
  std::vector<VerifiedPart> parts;
  for (const std::string& id : runs_to_verify(session, options))
    parts.push_back({id, options.from, options.until});
  if ((options.from || options.until) && parts.size() > 1)
    throw UsageError(
        fmt::format("{} is the number of a checkpoint of one run, but {} runs are named",
                    options.from ? "--from" : "--until", parts.size()));
  const VerifiedRuns verified = verify_runs(session, parts, options.format.json);
  if (options.format.json && parts.size() == 1)
    print_data(verified.output);
  else if (options.format.json)
    print_json({{"verifications", verified.documents}});
  return verified.exit;
}

}  // namespace

VerifiedRuns verify_runs(const Session& session, const std::vector<VerifiedPart>& parts,
                         bool as_json) {
  const std::string worker = worker_program();
  VerifiedRuns all;
  Supervisor supervisor;
  Several several(session, parts);
  for (const VerifiedPart& part : parts) {
    several.begin(part);
    const Verified verified = verify_part(supervisor, session, part, as_json, worker);
    all.exit = worse(all.exit, verified.exit);
    several.end(verified.exit);
    if (as_json) {
      all.documents.push_back(document_of(part.run, verified));
    } else {
      print_data(verified.output);
      flush_data();  // the next verdict may take long
    }
    all.output = verified.output;
    if (supervisor.interrupted()) break;
  }
  all.interrupted = supervisor.interrupted();
  all.equal = several.equal();
  if (!all.interrupted) several.total();
  return all;
}

void add_verify_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<VerifyOptions>(
      app, session, "verify", "Execute runs again, or replay their events, and compare all digests",
      verify);
  add_runs_argument(command, "RUNS", options.names)->required();
  add_value(command, "--from", options.from, "N",
            "Start at this checkpoint of the run, by its number in 'acid show'")
      ->check(above_zero());
  add_value(command, "--until", options.until, "N",
            "Stop at this checkpoint of the run; that the part before it is equal is not "
            "recorded")
      ->check(above_zero());
  add_json_option(command, options.format);
  add_store_option(command, session);
}

}  // namespace acid
