#include "cli/calibrate.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/machines.hpp"
#include "cli/processes/launcher.hpp"
#include "cli/processes/supervisor.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/folders.hpp"
#include "engine/base/names.hpp"
#include "engine/base/worker_words.hpp"
#include "engine/environment/build_info.hpp"
#include "recipes/machines.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kSeconds = 120;
// For a probe, beside what it measures: to load libraries and data.
constexpr double kProbePatienceSeconds = 15;
// About how far runs on a few networks were from what was predicted for them (scripts/blind), as a
// standard deviation of logarithms.
constexpr double kVariation = 0.04;
constexpr std::size_t kDateSize = 10;  // "2026-11-27"

/// A file that acid-worker reads; removed again.
class OrderFile {
 public:
  OrderFile(const json& order, const std::string& folder) : path_(folder + "/.acid-order-XXXXXX") {
    const int created = mkstemp(path_.data());
    if (created < 0)
      throw Error(fmt::format("cannot write into {}, what acid-worker is to measure: {}", folder,
                              std::strerror(errno)));
    close(created);
    write_file(path_, order.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  ~OrderFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  OrderFile(const OrderFile&) = delete;
  OrderFile& operator=(const OrderFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int workers_on_a_host(const RunSettings& settings) {
  const std::vector<int>& counts = settings.execution.simulation.network.workers_per_node;
  if (!settings.execution.entry().simulates || counts.empty()) return settings.workers;
  return std::min(settings.workers, *std::ranges::max_element(counts));
}

// A machine beside the recipe would be used instead.
void refuse_hidden(const std::string& name, const std::string& recipe_path) {
  const std::string own = path_for_machine(name, true);
  const std::vector<NamedMachine> known = known_machines(fs::path(recipe_path).parent_path());
  const auto first = std::ranges::find(known, name, &NamedMachine::name);
  if (first != known.end() && !first->path.empty() && first->path != own)
    throw UsageError(
        fmt::format("the machine {} comes before one of that name: choose another", first->path));
}

// What acid-worker measured, on all hosts of a run under MPI.
json measured_by(const RunSettings& settings, const json& order) {
  create_folders(machine_folder());
  const OrderFile file(order, machine_folder());  // which all hosts of a user see
  const std::vector<std::string> worker{worker_program(), "--calibrate", file.path()};
  const Command command = settings.execution.mpi
                              ? launch_command(settings, worker, Surroundings::of_this_process())
                              : Command(worker);
  Supervisor supervisor;
  const Supervisor::Ending ending = supervisor.run("calibration", command, Child::Output::data);
  if (supervisor.interrupted())
    throw Error("the calibration was interrupted: nothing is kept", Exit::interrupted);
  if (const auto exit = ending.exit(); exit != Exit::ok)
    throw Error(fmt::format("nothing was measured, and nothing is kept: acid-worker ended with {}",
                            status_text(ending.status)),
                exit == Exit::usage ? Exit::usage : Exit::run_failed);
  json measured = json::parse(ending.output, nullptr, false);
  if (!measured.is_object() || !measured.contains("environment"))
    throw Error(
        "nothing was measured: acid-worker printed no result; are both programs of one build?");
  return measured;
}

/// What is to be measured, so that all runs of a recipe can be predicted.
struct Order {
  json settings;  // of its first run of the most workers
  RunSettings largest;
  int workers_per_node = 1;
  std::set<int> threads{1};

  // Last those of `largest`.
  std::vector<int> threads_in_order() const {
    const int own = largest.execution.threads_per_worker;
    std::vector<int> all;
    std::ranges::copy_if(threads, std::back_inserter(all), [&](int t) { return t != own; });
    all.push_back(own);
    return all;
  }
};

Order order_for(const Plan& plan) {
  Order order;
  for (const PlannedRun& run : plan.runs) {
    RunSettings settings = settings_from(run.settings);
    order.workers_per_node = std::max(order.workers_per_node, workers_on_a_host(settings));
    order.threads.insert(settings.execution.threads_per_worker);
    if (!order.settings.is_null() && settings.workers <= order.largest.workers) continue;
    order.settings = run.settings;
    order.largest = std::move(settings);
  }
  return order;
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

// The last line of what acid-worker said.
std::string last_line(const std::string& output) {
  const std::string_view text = trimmed(output, " \n");
  const std::size_t end = text.rfind('\n');
  std::string line(end == std::string_view::npos ? text : text.substr(end + 1));
  if (line.starts_with(kWorkerErrorPrefix))
    line.erase(0, std::string_view(kWorkerErrorPrefix).size());
  return line;
}

}  // namespace

double probe_gradient_seconds(const json& settings, int workers, double seconds) {
  const RunSettings run = settings_from(settings);
  if (run.execution.cuda) throw Error("a probe measures processors, not GPUs");
  if (run.execution.simulation.gradient_clock == GradientClock::none)
    throw Error("runs without gradients cannot be probed");
  const json order{{"settings", settings},
                   {"workers_per_node", workers},
                   {"threads", {run.execution.threads_per_worker}},
                   {"seconds", seconds},
                   {"only_gradients", true}};
  const OrderFile file(order, fs::temp_directory_path().string());
  const Captured probe =
      capture({worker_program(), "--calibrate", file.path()}, seconds + kProbePatienceSeconds);
  const std::string said = last_line(probe.output);
  const json measured = json::parse(said, nullptr, false);
  if (probe.ran && measured.is_object()) return measured.at("mean_seconds").get<double>();
  throw Error(said.empty() ? fmt::format("no gradient was measured within {:.0f} s",
                                         seconds + kProbePatienceSeconds)
                           : said);
}

void CalibrateOptions::add_to(CLI::App& command) {
  add_value(command, "--calibrate", name, "NAME",
            "Measure this machine, or the recipe's hosts under mpi, keep it as a machine of "
            "this name (acid machines), and predict with it")
      ->check(wrong_if_empty);
  add_value(command, "--seconds", seconds, "S",
            "With --calibrate: how long to measure, everything included (default: 120)")
      ->check(CLI::Range(0.01, 1e5).description(""))
      ->check([](const std::string& text) {
        return text.find_first_not_of("0123456789.eE+-") == std::string::npos ? "" : "not a number";
      });
  command.add_flag("--force", force, "With --calibrate: replace a machine of that name");
}

void calibrate_machine(const CalibrateOptions& options, const RecipeOptions& recipe) {
  path_for_machine(options.name, options.force);  // throws before anything is measured
  const Plan plan = recipe.compile();
  refuse_hidden(options.name, plan.recipe_path);
  if (plan.runs.empty())
    throw UsageError("the recipe has no run whose gradients could be measured");
  const Order order = order_for(plan);
  if (order.largest.execution.cuda)
    throw UsageError("only processors are calibrated: remove execution.device");
  if (order.largest.execution.simulation.gradient_clock == GradientClock::none)
    throw UsageError("the recipe has no gradients: calibrate with one that trains");
  json machine = measured_by(order.largest, {{"settings", order.settings},
                                             {"workers_per_node", order.workers_per_node},
                                             {"threads", order.threads_in_order()},
                                             {"seconds", options.seconds.value_or(kSeconds)}});
  machine["date"] = utc_now().substr(0, kDateSize);
  machine["source"] = fmt::format("acid {}, acid predict {} --calibrate", build_info().version,
                                  fs::path(plan.recipe_path).filename().string());
  machine["variation"] = kVariation;
  const std::string text = toml_table("", machine);
  machine_of(options.name, text);  // what acid writes it reads
  store_machine(options.name, text, options.force);
}

}  // namespace acid
