#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/doctor/checks.hpp"
#include "cli/processes/child.hpp"
#include "cli/processes/machine.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/folders.hpp"
#include "engine/environment/build_info.hpp"
#include "engine/environment/environment.hpp"
#include "engine/language/emitter.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"
#include "store/existing_store.hpp"
#include "store/hosts.hpp"
#include "store/store.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct DoctorOptions {
  bool store = false;  // look at the store, not at the machine
  bool repair = false;
  Format format;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void check_program(std::vector<Check>& checks) {
  const BuildInfo& build = build_info();
  checks.push_back(
      {"acid", true,
       fmt::format("{} ({}{})", build.version, build.commit, build.dirty ? ", dirty" : ""), ""});
  const std::string type = build.build_type;
  const bool optimised = type == "Release" || type == "RelWithDebInfo";
  checks.push_back({"compiler", optimised, fmt::format("{}, {}", build.compiler, type),
                    optimised ? ""
                              : "not an optimised build: runs will be several times slower; "
                                "use the preset release"});
  checks.push_back({"SQLite", true, build.sqlite, ""});
}

// An ACID_KERNELS with an unknown value throws here, as it does where it is used.
void check_arithmetic(std::vector<Check>& checks) {
  try {
    const Backend& backend = cpu_backend();
    checks.push_back({"kernels", true, std::string(backend.name()), ""});
    const std::string_view why = why_interpreted(backend);
    checks.push_back(
        {"listings", why.empty(), why.empty() ? "run as machine code" : "are interpreted",
         why.empty() ? "" : fmt::format("{}: methods that are listings take longer", why)});
  } catch (const UsageError& error) {
    checks.push_back({"kernels", false, "none", error.what()});
  }
}

void check_machine(std::vector<Check>& checks) {
  checks.push_back({"processor", true, environment("")["cpu_model"], ""});
  check_arithmetic(checks);
  const int cores = usable_cores();
  const double quota = cpu_quota_cores();
  const bool limited = quota > 0 && quota < cores;
  checks.push_back({"cores", cores > 1 && !limited,
                    limited ? fmt::format("{}, limited to {}", cores, format_number(quota))
                            : fmt::format("{}", cores),
                    limited      ? "the container's limit throttles threads that run at once"
                    : cores == 1 ? "the threads driver will interleave its workers, not run them "
                                   "at once"
                                 : ""});
  constexpr double kComfortable = 2e9;
  const auto memory = static_cast<double>(available_memory_bytes());
  checks.push_back({"memory", memory >= kComfortable, format_bytes(memory) + " available",
                    memory >= kComfortable ? "" : "large models with many workers will not fit"});
}

json check_engine(std::vector<Check>& checks) {
  std::string worker;
  try {
    worker = worker_program();
  } catch (const Error& error) {
    checks.push_back({"acid-worker", false, "missing", error.what()});
    return nullptr;
  }
  const Captured answer = capture({worker, "--environment"}, 20);
  json surroundings = json::parse(answer.output, nullptr, false);
  if (!answer.ran || !surroundings.is_object()) {
    checks.push_back({"acid-worker", false, "does not start",
                      answer.output.empty() ? "run it by hand: " + worker + " --environment"
                                            : first_line(answer.output)});
    return nullptr;
  }
  checks.push_back({"acid-worker", true, worker, ""});
  check_models(checks, surroundings);
  return surroundings;
}

// Why no run can be recorded there; "" if nothing speaks against it. A store may still be missing.
std::string why_unusable(const std::string& folder) {
  try {
    if (store_exists(folder)) Store(folder, Store::Access::read);
  } catch (const StoreError& error) {
    return fmt::format("{}; 'acid doctor --store' says more", error.what());
  }
  const std::filesystem::path there = existing_part(folder);
  std::error_code ignored;
  if (!std::filesystem::is_directory(there, ignored))
    return fmt::format("{} is no folder", there.string());
  std::vector<std::string> written{there.string()};
  if (store_exists(folder)) written.push_back(folder + "/store.db");
  for (const std::string& path : written)
    if (access(path.c_str(), W_OK) != 0) return path + " cannot be written to";
  return "";
}

void check_store(std::vector<Check>& checks, const std::string& folder) {
  const FileSystem file_system = file_system_of(folder);
  constexpr double kComfortable = 1e9;
  const auto free_bytes = static_cast<double>(file_system.free_bytes);
  const bool roomy = free_bytes >= kComfortable;
  const std::string why = why_locks_fail(folder);
  const std::string unusable = why_unusable(folder);
  const std::string advice =
      !unusable.empty() ? unusable
      : !why.empty()    ? fmt::format(
                              "only one host may write to it, because {}; 'acid run --share' "
                                 "gives each part a store of its own there",
                              why)
      : file_system.network ? "several hosts may write to it; recording is slower than on a local "
                              "disk"
      : roomy               ? ""
                            : "little room: a run that fills the disk stops";
  checks.push_back(
      {"store", !file_system.network && roomy && why.empty() && unusable.empty(),
       fmt::format("{} on {}, {} free", folder, file_system.type, format_bytes(free_bytes)),
       advice});
}

std::string text_of(const std::vector<Check>& checks, bool colour) {
  std::string text;
  for (const Check& check : checks) {
    const char* mark = check.ok ? "ok  " : "warn";
    const std::string shown =
        colour ? fmt::format("\x1b[{}m{}\x1b[0m", check.ok ? 32 : 33, mark) : mark;
    text += fmt::format("{}  {:<14} {}\n", shown, check.name, check.found);
    if (!check.advice.empty())
      text += fmt::format("                     {}\n",
                          wrapped(check.advice, 79, "                     "));
  }
  return text;
}

Exit doctor(const Session& session, const DoctorOptions& options) {
  if (options.store || options.repair)
    return examine_store(session, options.repair, options.format);
  std::vector<Check> checks;
  check_program(checks);
  check_machine(checks);
  const json environment = check_engine(checks);
  check_mpi(checks);
  check_cuda(checks, environment.is_object() ? environment.value("cuda", json()) : json());
  check_store(checks, session.store_folder);
  if (!options.format.json) {
    print_data(text_of(checks, colour_on_standard_output()));
    return Exit::ok;
  }
  json listed = json::array();
  for (const Check& check : checks)
    listed.push_back({{"name", check.name},
                      {"status", check.ok ? "ok" : "warn"},
                      {"found", check.found},
                      {"advice", check.advice}});
  print_json({{"checks", listed}, {"environment", environment}});
  return Exit::ok;
}

}  // namespace

void add_doctor_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<DoctorOptions>(
      app, session, "doctor",
      "Say what this machine has and what will be slow, or what is wrong with a store", doctor);
  command
      .add_option_function<std::string>(
          "--store",
          [&session, &options = options](const std::string& folder) {
            options.store = true;
            if (!folder.empty()) session.store_folder = folder;
          },
          "Look at everything in the store instead, and say what is wrong (default folder: "
          "$ACID_STORE, else ./acid-store)")
      ->expected(0, 1)
      ->type_name("[DIR]");
  command.add_flag("--repair", options.repair, "Mend what can be mended in the store");
  add_json_option(command, options.format);
}

}  // namespace acid
