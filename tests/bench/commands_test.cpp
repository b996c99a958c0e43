// Tests what acid-bench prints, with sizes so small that the numbers have no meaning.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/processes/child.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

constexpr double kPatienceSeconds = 300;

Captured shell(const std::string& arguments) {
  return capture({"sh", "-c", std::string(BINARY_ROOT "/acid-bench ") + arguments},
                 kPatienceSeconds);
}

/// The rows that a command measures in this many rounds; its JSON has been checked.
json rows_of(const std::string& arguments, int rounds = 2) {
  const Captured captured =
      shell(fmt::format("{} --rounds {} --json - 2>/dev/null", arguments, rounds));
  INFO(arguments << ": " << captured.output);
  REQUIRE(captured.ran);
  const json result = json::parse(captured.output);
  CHECK(result.at("schema_version") == 1);
  CHECK(result.at("rounds") == rounds);
  CHECK(result.at("machine").at("cores").get<int>() >= 1);
  for (const json& row : result.at("rows")) {
    INFO(row.dump(2));
    CHECK(arguments.starts_with(row.at("command").get<std::string>()));
    CHECK_FALSE(row.at("what").get<std::string>().empty());
    const double measured = row.at("measured").at("median");
    CHECK(measured >= 0);
    if (row.at("unit") != "MB" && row.at("unit") != "checkpoint intervals") CHECK(measured > 0);
    CHECK(row.at("met").is_boolean() == row.at("wanted").is_object());
    CHECK(row.at("ratio").is_null() == row.at("peer").is_null());
    if (row.at("peer").is_null()) continue;
    CHECK(row.at("peer").at("rounds").size() == row.at("measured").at("rounds").size());
    CHECK(row.at("ratio").at("min") <= row.at("ratio").at("median"));
    CHECK(row.at("ratio").at("median") <= row.at("ratio").at("max"));
  }
  return result.at("rows");
}

/// The names at the beginning of the lines of `acid-bench list`.
std::vector<std::string> commands() {
  std::istringstream lines(shell("list").output);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);)
    names.push_back(line.substr(0, line.find(' ')));
  return names;
}

/// Whether the command says what it cannot do here, and ends with the exit code for a measurement
/// that is not possible at all.
bool excuses_itself(const std::string& arguments, const std::string& reason) {
  const Captured captured = shell(arguments + " 2>&1; test $? -eq 1");
  INFO(arguments << ": " << captured.output);
  CHECK(captured.output.find(reason) != std::string::npos);
  CHECK(captured.output.find("bug") == std::string::npos);
  return captured.ran;
}

}  // namespace

TEST_CASE("acid-bench list names every command of the help, and one that is unknown exits with 2") {
  const std::vector<std::string> expected{
      "bandwidth", "kernels", "listings", "gradients",   "threads",   "virtual",
      "consensus", "mpi",     "exchange", "observation", "recording", "sweep",
      "python",    "cuda",    "store",    "startup",     "report",    "resume"};
  CHECK(commands() == expected);
  const Captured help = shell("--help");
  REQUIRE(help.ran);
  for (const std::string& name : commands()) CHECK(help.output.find(name) != std::string::npos);
  CHECK(shell("gradient; test $? -eq 2").ran);
  CHECK(shell("; test $? -eq 2").ran);
  CHECK(shell("bandwidth --rounds 0; test $? -eq 2").ran);
  const Captured refused =
      shell("bandwidth --parameters 100 --json /nowhere/at/all 2>&1; test $? -eq 1");
  CHECK(refused.ran);
  CHECK(refused.output.find("name another file after --json") != std::string::npos);
  CHECK(refused.output.find("ratio") == std::string::npos);  // nothing was measured
  CHECK(shell("store --points 1 --events 1 --seconds 1; test $? -eq 2").ran);
}

TEST_CASE("acid-bench measures bandwidth and kernels of any length, one element too") {
  const json bandwidth = rows_of("bandwidth --parameters 1 1000 --seconds 0.001");
  CHECK(bandwidth.size() == 4);
  CHECK(bandwidth[0].at("wanted").is_null());
  const json kernels = rows_of("kernels --parameters 1 1000 --seconds 0.001");
  CHECK(kernels.size() >= 10);
  CHECK(kernels[0].at("wanted") == json{{"of", "ratio"}, {"at_least", 0.9}});
}

TEST_CASE("acid-bench measures exchanges without gradients and the memory they take") {
  const json rows = rows_of("consensus --workers 16 64 --exchanges 50000");
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].at("unit") == "M exchanges/CPU s");
  CHECK(rows[0].at("wanted") == json{{"of", "ratio"}, {"at_least", 0.5}});
  CHECK(rows[2].at("unit") == "MB");
}

TEST_CASE("acid-bench keeps what it measured in a file, and tells people on standard error") {
  const Folder folder;
  const std::string path = folder.path("result.json");
  const Captured captured =
      shell(fmt::format("bandwidth --parameters 100 --rounds 1 --seconds 0.001 --json {} 2>&1 "
                        ">/dev/null",
                        path));
  REQUIRE(captured.ran);
  CHECK(captured.output.find("not a verdict") == std::string::npos);  // there is no bound
  CHECK(captured.output.find("ratio min–median–max") != std::string::npos);
  CHECK(json::parse(folder.read("result.json")).at("rows").size() == 2);
}

TEST_CASE("acid-bench says that few rounds are no verdict") {
  const Captured few =
      shell("kernels --parameters 100 --rounds 3 --seconds 0.0001 2>&1 >/dev/null");
  CHECK(few.output.find("met in 3 rounds") != std::string::npos);
  CHECK(few.output.find("fewer than 7 rounds: not a verdict") != std::string::npos);
  const Captured enough =
      shell("kernels --parameters 100 --rounds 7 --seconds 0.0001 2>&1 >/dev/null");
  CHECK(enough.output.find("met") != std::string::npos);
  CHECK(enough.output.find("not a verdict") == std::string::npos);
}

TEST_CASE("acid-bench measures a small sweep, and store and command line on small stores") {
  const json sweep = rows_of("sweep --runs 3", 1);
  REQUIRE(sweep.size() == 1);
  CHECK(sweep[0].at("unit") == "CPU ms");
  CHECK(rows_of("store --points 2000 --events 2000").size() == 6);
  CHECK(rows_of("startup --listed-runs 3 --compared-runs 2 --points 10", 1).size() == 6);
  const json report = rows_of("report --runs 4 --points 20", 1);
  REQUIRE(report.size() == 3);
  CHECK(report[2].at("unit") == "MB");
}

TEST_CASE("acid-bench measures what SIGKILL costs a run") {
  const json rows = rows_of("resume --interval 16", 1);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].at("unit") == "checkpoint intervals");
}

TEST_CASE("acid-bench without a GPU measures nothing there and says so") {
  const Captured captured =
      shell("cuda --parameters 1000 --workers 2 --gradients 32 --rounds 1 --seconds 0.001 2>&1");
  CHECK(captured.ran);
  CHECK_FALSE(captured.output.empty());
}

TEST_CASE("acid-bench measures exchanges under MPI, or says that there is none") {
  if (!there_is_mpi()) {
    CHECK(excuses_itself("exchange", "ACID_WITH_MPI"));
    return;
  }
  const json rows = rows_of("exchange --idle 0.05");
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].at("wanted") == json{{"of", "ratio"}, {"at_most", 1.3}});
  CHECK(rows[3].at("measured").at("rounds").size() == 2);
}

#ifdef ACID_BENCH_HAS_TORCH
TEST_CASE("acid-bench measures the engine beside bare loops, with CPU seconds per gradient") {
  for (const char* command : {"gradients --workers 2", "virtual"}) {
    const json rows = rows_of(fmt::format("{} --seconds 0.01", command), 1);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].at("unit") == "gradients/s");
    CHECK(rows[0].at("cpu_seconds_per_gradient").at("ratio").get<double>() > 0);
  }
}

TEST_CASE("acid-bench measures exchanges on threads beside the same run without any") {
  const json rows = rows_of("threads --workers 2 --seconds 0.01", 1);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].at("peer").at("what") == "rate 0, which mixes too");
  CHECK(rows[1].at("peer").at("what") == "rate 0");
}

TEST_CASE("acid-bench measures runs under MPI, or says that there is none") {
  if (there_is_mpi())
    CHECK(rows_of("mpi --workers 2 --gradients 60", 1).size() == 1);
  else
    CHECK(excuses_itself("mpi --workers 2 --gradients 200 --rounds 1", "mpi"));
}

TEST_CASE("acid-bench measures what recording costs") {
  const json rows = rows_of("recording --gradients 128", 1);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("unit") == "CPU s");
  CHECK(rows[0].at("peer").at("median") > 0);
}
#else
TEST_CASE("acid-bench says which build can measure gradients where this one cannot") {
  for (const char* command :
       {"gradients --workers 2", "threads --workers 2", "virtual", "recording"})
    CHECK(excuses_itself(fmt::format("{} --rounds 1", command), "libtorch-dev"));
  CHECK(excuses_itself("mpi --workers 2 --rounds 1", there_is_mpi() ? "libtorch-dev" : "mpi"));
}
#endif

}  // namespace acid::test
