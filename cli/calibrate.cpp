#include "cli/calibrate.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/machines.hpp"
#include "cli/processes/launcher.hpp"
#include "cli/processes/supervisor.hpp"
#include "engine/environment/build_info.hpp"
#include "recipes/machine_file.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kDateSize = 10;  // "2026-11-27"

/// A file that acid-worker reads; removed again.
class OrderFile {
 public:
  explicit OrderFile(const json& order)
      : path_((fs::temp_directory_path() / fmt::format("acid-calibrate-{}.json", getpid()))
                  .string()) {
    OutputFile file(path_);
    file.write(order.dump());
    file.commit();
  }
  ~OrderFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  OrderFile(const OrderFile&) = delete;
  OrderFile& operator=(const OrderFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

int workers_on_a_host(const RunSettings& settings) {
  int most = settings.workers;
  const std::vector<int>& counts = settings.execution.simulation.network.workers_per_node;
  if (settings.execution.entry().simulates && !counts.empty())
    most = std::min(most, *std::ranges::max_element(counts));
  return most;
}

// What the worker printed.
json measured_by(const Command& command) {
  Supervisor supervisor;
  supervisor.start("calibration", command, Child::Output::data);
  std::vector<Supervisor::Ending> ended;
  while (ended.empty()) ended = supervisor.wait(-1);
  const Supervisor::Ending& ending = ended.front();
  const std::string failure =
      fmt::format("nothing was measured: acid-worker ended with {}", status_text(ending.status));
  if (supervisor.interrupted()) throw Error(failure, Exit::interrupted);
  if (!WIFEXITED(ending.status)) throw Error(failure);
  if (const auto exit = static_cast<Exit>(WEXITSTATUS(ending.status)); exit != Exit::ok)
    throw Error(failure, exit);
  json measured = json::parse(ending.output, nullptr, false);
  if (measured.is_discarded())
    throw Error(
        "nothing was measured: acid-worker printed no result; are both programs of one build?");
  return measured;
}

std::string toml_value(const json& value) {
  if (value.is_number_float()) return fmt::format("{:.5g}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string list;
  for (const json& item : value) list += (list.empty() ? "" : ", ") + toml_value(item);
  return "[" + list + "]";
}

bool is_table(const json& value) { return value.is_object(); }
bool is_list_of_tables(const json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

// The values of a table, then the tables in it. Null values are left out.
std::string toml_table(const std::string& path, const json& table) {
  std::string text;
  for (const auto& [key, value] : table.items())
    if (!is_table(value) && !is_list_of_tables(value) && !value.is_null())
      text += fmt::format("{} = {}\n", key, toml_value(value));
  for (const auto& [key, value] : table.items()) {
    const std::string full = path.empty() ? key : path + "." + key;
    if (is_table(value) && !value.empty())
      text += fmt::format("\n[{}]\n{}", full, toml_table(full, value));
    if (is_list_of_tables(value))
      for (const json& item : value)
        text += fmt::format("\n[[{}]]\n{}", full, toml_table(full, item));
  }
  return text;
}

}  // namespace

Exit calibrate_machine(const CalibrateOptions& options) {
  path_for_machine(options.name, options.force);  // throws before anything is measured
  const Plan plan = options.recipe.compile();
  if (plan.runs.empty())
    throw UsageError("the recipe has no run whose gradients could be measured");
  const PlannedRun& run = plan.runs.front();
  const RunSettings settings = settings_from(run.settings);
  if (settings.execution.cuda)
    throw UsageError("only processors are calibrated: remove execution.device");
  if (settings.execution.simulation.gradient_clock == GradientClock::none)
    throw UsageError("the recipe has no gradients: calibrate with one that trains");
  const OrderFile order({{"settings", run.settings},
                         {"workers_per_node", workers_on_a_host(settings)},
                         {"seconds", options.seconds}});
  const std::vector<std::string> worker{worker_program(), "--calibrate", order.path()};
  json machine = measured_by(settings.execution.mpi
                                 ? launch_command(settings, worker, Surroundings::of_this_process())
                                 : Command(worker));
  machine["date"] = utc_now().substr(0, kDateSize);
  machine["source"] = fmt::format("acid {}, acid machines calibrate with {}", build_info().version,
                                  fs::path(plan.recipe_path).filename().string());
  const std::string text = toml_table("", machine);
  machine_of(options.name, text);  // what acid writes it reads
  store_machine(options.name, text, options.force);
  return Exit::ok;
}

void add_calibrate_command(CLI::App& machines, Session& session) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command = machines.add_subcommand(
      "calibrate", "Measure this machine with a recipe's model, and keep it under a name");
  command->add_option("MACHINE", options->name, "What to call it")->required()->type_name(" ");
  options->recipe.add_to(*command);
  command
      ->add_option("--seconds", options->seconds,
                   "How long gradients are measured (default: 60); all else takes less than that")
      ->type_name("S")
      ->check(CLI::Range(0.01, 3600.0).description(""));
  command->add_flag("--force", options->force, "Replace a machine of that name");
  command->callback(
      [&session, options] { session.action = [options] { return calibrate_machine(*options); }; });
}

}  // namespace acid
