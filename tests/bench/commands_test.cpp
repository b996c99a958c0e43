// What acid-bench prints, with sizes so small that the numbers mean nothing.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/child.hpp"
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

/// The rows that a command measures in two rounds; its JSON has been checked.
json rows_of(const std::string& arguments) {
  const Captured captured = shell(arguments + " --rounds 2 --json - 2>/dev/null");
  INFO(arguments << ": " << captured.output);
  REQUIRE(captured.ran);
  const json result = json::parse(captured.output);
  CHECK(result.at("schema_version") == 1);
  CHECK(result.at("rounds") == 2);
  CHECK(result.at("machine").at("cores").get<int>() >= 1);
  for (const json& row : result.at("rows")) {
    INFO(row.dump(2));
    CHECK(arguments.starts_with(row.at("command").get<std::string>()));
    CHECK_FALSE(row.at("what").get<std::string>().empty());
    const double measured = row.at("measured").at("median");
    CHECK((measured > 0 || (row.at("unit") == "MB" && measured == 0)));
    CHECK(row.at("met").is_boolean() == row.at("wanted").is_object());
    CHECK(row.at("ratio").is_null() == row.at("peer").is_null());
    if (row.at("peer").is_null()) continue;
    CHECK(row.at("peer").at("rounds").size() == row.at("measured").at("rounds").size());
    CHECK(row.at("ratio").at("min") <= row.at("ratio").at("median"));
    CHECK(row.at("ratio").at("median") <= row.at("ratio").at("max"));
  }
  return result.at("rows");
}

}  // namespace

TEST_CASE("acid-bench list names every command of the help, and one that is unknown exits with 2") {
  const Captured list = shell("list"), help = shell("--help");
  REQUIRE(list.ran);
  REQUIRE(help.ran);
  for (const char* name : {"bandwidth", "kernels", "gradients", "threads", "virtual", "consensus",
                           "mpi", "exchange", "recording"}) {
    CHECK(list.output.find(name) != std::string::npos);
    CHECK(help.output.find(name) != std::string::npos);
  }
  CHECK(shell("gradient; test $? -eq 2").ran);
  CHECK(shell("; test $? -eq 2").ran);
  CHECK(shell("bandwidth --rounds 0; test $? -eq 2").ran);
  CHECK(shell("bandwidth --parameters 100 --json /nowhere/at/all; test $? -eq 1").ran);
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
  CHECK(captured.output.find("ratio min–median–max") != std::string::npos);
  CHECK(json::parse(folder.read("result.json")).at("rows").size() == 2);
}

#ifdef ACID_BENCH_HAS_TORCH
TEST_CASE("acid-bench measures the engine beside bare loops, with CPU seconds per gradient") {
  for (const char* command : {"gradients", "virtual"}) {
    const json rows = rows_of(fmt::format("{} --seconds 0.01", command));
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].at("unit") == "gradients/s");
    CHECK(rows[0].at("cpu_seconds_per_gradient").at("ratio").get<double>() > 0);
  }
}
#endif

}  // namespace acid::test
