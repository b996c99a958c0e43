#include <fmt/format.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/processes/child.hpp"
#include "cli/processes/executor_words.hpp"
#include "cli/processes/supervisor.hpp"
#include "cli/terminal/commands.hpp"
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
  VerifyHow how;
  Format format;
};

struct Verified {
  Exit exit = Exit::ok;
  std::string output;  // with --json: the worker's document
};

// The worker prints progress and verdict itself, on this process's standard output and error.
Verified verify_run(Supervisor& supervisor, const Session& session, const VerifyHow& how,
                    const std::string& worker, const std::string& id) {
  std::vector<std::string> arguments{worker,  "--store", session.store_folder,
                                     "--run", id,        "--verify"};
  if (how.from) {
    arguments.push_back("--from");
    arguments.push_back(fmt::format("{}", *how.from));
  }
  if (how.as_json) arguments.push_back("--json");
  try {
    const Store store(session.store_folder, Store::Access::read);
    const RunSettings settings = settings_from(run_settings(store, {id}).front());
    ModelTemplates::prepare(settings.task.model, settings.execution.threads_per_worker);
  } catch (const Error&) {
    // The worker says what is wrong with the settings.
  }
  supervisor.start(id, arguments, how.as_json ? Child::Output::data : Child::Output::passed_on);
  std::vector<Supervisor::Ending> ended;
  while (ended.empty()) ended = supervisor.wait(-1);
  Supervisor::Ending& ending = ended.front();
  if (supervisor.interrupted()) return {Exit::interrupted, std::move(ending.output)};
  if (WIFEXITED(ending.status))
    return {static_cast<Exit>(WEXITSTATUS(ending.status)), std::move(ending.output)};
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

/// Prints how far the verification of several runs is, a line for each; for one run nothing.
class Several {
 public:
  Several(const Session& session, const std::vector<std::string>& ids) {
    if (ids.size() < 2) return;
    const Store store(session.store_folder, Store::Access::read);
    runs_ = run_summaries(store, ids);
    for (const RunSummary& run : runs_) to_do_ += work_done(run, run.progress);
  }
  void begin(const std::string& id) {
    if (runs_.empty()) return;
    const RunSummary& run = *std::ranges::find(runs_, id, &RunSummary::id);
    now_ = work_done(run, run.progress);
    say(fmt::format("verifying {} of {}{}: {}", ++number_, runs_.size(),
                    done_ > 0 ? time_left((clock_.seconds() - begun_) * to_do_ / done_) : "",
                    name_of(run)));
  }
  void end(Exit exit) {
    to_do_ -= now_;
    done_ += now_;
    equal_ += exit == Exit::ok ? 1 : 0;
  }
  std::size_t equal() const { return equal_; }
  void total() const {
    if (runs_.empty()) return;
    say(fmt::format("{} of {} runs are reproduced bit for bit, in {}", equal_, runs_.size(),
                    format_seconds(std::round(clock_.seconds() - begun_))));
  }

 private:
  const SteadyClock clock_;
  const double begun_ = clock_.seconds();
  std::vector<RunSummary> runs_;           // empty: only one run
  double to_do_ = 0, done_ = 0, now_ = 0;  // work_done(): left, verified, of this run
  std::size_t number_ = 0, equal_ = 0;
};

Exit verify(const Session& session, VerifyOptions options) {
  const auto ids = runs_to_verify(session, options);
  if (options.how.from && ids.size() > 1)
    throw UsageError(
        fmt::format("--from is the number of a checkpoint of one run, but {} runs "
                    "are named",
                    ids.size()));
  options.how.as_json = options.format.json;
  const VerifiedRuns verified = verify_runs(session, ids, options.how);
  if (options.format.json && ids.size() == 1)
    print_json(verified.documents.at(0));
  else if (options.format.json)
    print_json({{"schema_version", kJsonSchemaVersion}, {"verifications", verified.documents}});
  return verified.exit;
}

}  // namespace

VerifiedRuns verify_runs(const Session& session, const std::vector<std::string>& ids,
                         const VerifyHow& how) {
  const std::string worker = worker_program();
  flush_data();  // the workers write to the same place
  VerifiedRuns all;
  Supervisor supervisor;
  Several several(session, ids);
  for (const std::string& id : ids) {
    several.begin(id);
    const Verified verified = verify_run(supervisor, session, how, worker, id);
    all.exit = worse(all.exit, verified.exit);
    several.end(verified.exit);
    if (how.as_json) all.documents.push_back(document_of(id, verified));
    if (supervisor.interrupted()) break;
  }
  all.interrupted = supervisor.interrupted();
  all.equal = several.equal();
  if (!all.interrupted) several.total();
  return all;
}

void add_verify_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand(
      "verify", "Execute runs again, or replay their events, and compare all digests");
  command
      ->add_option("RUNS", options->names,
                   "Runs or experiments: ids, prefixes, an experiment's name, @latest")
      ->required()
      ->type_name(" ");
  command
      ->add_option("--from", options->how.from,
                   "Start at this checkpoint of the run, by its number in 'acid show'")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  add_json_option(*command, options->format);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return verify(session, *options); };
  });
}

}  // namespace acid
