// Altered stores: every command ends, with a documented exit code, and says what is wrong instead
// of crashing.
//   ACID_MUTATIONS=1500 ACID_MUTATIONS_SEED=1 build/release/bin/test_crash "*altered store*"
// tries many alterations; without the variables only a few are tried.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "store/sqlite.hpp"
#include "tests/catch.hpp"
#include "tests/crash/bench.hpp"
#include "tests/crash/mutations.hpp"
#include "tests/crash/recipes.hpp"

using namespace acid::test;
namespace fs = std::filesystem;

namespace {

// Processor time: a command that computes for longer never ends. (Its wall clock may be longer,
// when it writes to a busy disk.)
constexpr double kMostSeconds = kSanitized ? 200 : 20;
constexpr double kMostSecondsOfWaiting = kSanitized ? kPatienceSeconds : 120;
constexpr const char* kBase = "base";
constexpr const char* kAltered = "altered";

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

struct Ids {
  std::string simulated, threads, interrupted;
};

// For each driver a finished and an interrupted run, and a verification.
Ids make_base(const Bench& bench) {
  const auto run = [&](const std::vector<std::string>& options) {
    std::vector<std::string> all{"--store", kBase};
    all.insert(all.end(), options.begin(), options.end());
    bench.done(all);
    return bench.call({"list", "--json", "--store", kBase}).json()["runs"][0]["id"];
  };
  Ids ids;
  ids.threads = run({"--driver", "threads"});
  ids.interrupted = run({"--set", "seeds=[2]"});
  ids.simulated = run({});
  REQUIRE(bench.call({"verify", ids.simulated, "--store", kBase}).code == 0);
  const acid::sqlite::Connection connection(bench.path(kBase) + "/store.db", kBase,
                                            acid::sqlite::Connection::Mode::write);
  const std::string attempt =
      fmt::format("(SELECT a.id FROM attempts a JOIN runs r ON r.number = a.run WHERE r.id = '{}')",
                  ids.interrupted);
  for (const char* table : {"results", "worker_results", "worker_spans", "edges", "artifacts"})
    connection.execute(fmt::format("DELETE FROM {} WHERE attempt = {}", table, attempt));
  connection.execute(fmt::format(
      "UPDATE attempts SET outcome = NULL, ended = NULL, seal = NULL WHERE id = {}", attempt));
  return ids;
}

std::vector<std::vector<std::string>> commands_on(const Ids& ids) {
  return {{"list", "--json"},
          {"show", ids.simulated},
          {"compare", ids.simulated, ids.threads},
          {"report", ids.simulated, ids.threads, "--html", "-o", "r.html"},
          {"export", ids.simulated, "--format", "csv"},
          {"export", ids.threads, "--format", "json"},
          {"export", ids.simulated, "--format", "safetensors", "-o", "model"},
          {"export", ids.simulated, "--crate", "crate.zip"},
          {"verify", ids.simulated},
          {"verify", ids.threads},
          {"doctor", "--store"},
          {"plan", "crash.toml"},
          {"gc"},
          {"resume"},
          {"run", "crash.toml"}};
}

// What is wrong with the end of a command; empty: nothing.
std::string wrong_with(const Result& result) {
  static const std::set<int> documented{0, 1, 2, 3, 4};
  if (result.cpu_seconds > kMostSeconds) return fmt::format("{:.0f} s", result.cpu_seconds);
  if (result.signal != 0) return fmt::format("signal {}", result.signal);
  if (!documented.contains(result.code)) return fmt::format("exit code {}", result.code);
  for (const char* words : {"bug in acid", "internal error", "assertion '", "was killed by",
                            "signal 11", "AddressSanitizer", "runtime error:"})
    if ((result.err + result.out).find(words) != std::string::npos)
      return fmt::format("'{}'", words);
  return {};
}

}  // namespace

TEST_CASE("every command on an altered store ends as documented") {
  const Bench bench(short_recipe());
  const Ids ids = make_base(bench);
  const std::uint64_t seed = number_of("ACID_MUTATIONS_SEED", 1);
  const std::uint64_t most = number_of("ACID_MUTATIONS", kSanitized ? 3 : 8);
  std::uint64_t done = 0, commands = 0, wrong = 0;
  std::map<int, int> codes;
  double slowest = 0;
  for (const Mutation& mutation : mutations_of(bench.path(kBase), seed)) {
    if (done == most) break;
    fs::remove_all(bench.path(kAltered));
    fs::copy(bench.path(kBase), bench.path(kAltered), fs::copy_options::recursive);
    try {
      mutation.apply(bench.path(kAltered));
    } catch (const acid::StoreError&) {
      continue;  // the schema forbids it, even in sqlite3
    }
    ++done;
    for (std::vector<std::string> command : commands_on(ids)) {
      fs::remove_all(bench.path("crate.zip"));
      const bool places_it = command.front() == "doctor" || command.front() == "plan";
      if (!places_it) command.push_back("--store");
      if (command.front() != "plan") command.push_back(kAltered);
      Running running(bench, command);
      std::string what;
      Result result;
      try {
        result = wait_at_most(bench, running, kMostSecondsOfWaiting);
        what = wrong_with(result);
      } catch (const std::exception& error) {
        what = error.what();
      }
      ++commands;
      ++codes[result.code];
      slowest = std::max(slowest, result.cpu_seconds);
      if (what.empty()) continue;
      ++wrong;
      FAIL_CHECK("acid " << fmt::format("{}", fmt::join(command, " ")) << " after " << mutation.name
                         << " (seed " << seed << "): " << what << "\n"
                         << result.err);
    }
  }
  CHECK(done == most);
  CHECK(bench.falls_silent(kPatienceSeconds));
  if (std::getenv("ACID_MUTATIONS") == nullptr) return;
  std::cout << fmt::format(
      "{} mutations, {} commands, {} of them ended wrongly; most processor time {:.1f} s;", done,
      commands, wrong, slowest);
  for (const auto& [code, times] : codes) std::cout << fmt::format(" exit {}: {}", code, times);
  std::cout << "\n";
}
