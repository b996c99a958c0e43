// Failures of the machine: no memory, no space, no writing.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "tests/catch.hpp"
#include "tests/crash/bench.hpp"
#include "tests/crash/recipes.hpp"

using namespace acid::test;

namespace {

// Whether a private mount namespace with its own mounts is possible here.
bool can_mount(const Bench& bench) {
  return bench.shell("unshare -rm sh -c 'mkdir -p probe && mount -t tmpfs none probe'").code == 0;
}

}  // namespace

// A sanitizer needs terabytes of address space, so the limit cannot be tested with it.
#ifndef ACID_SANITIZED
TEST_CASE("a worker without enough memory says so, and with more the run ends with the same bits") {
  const std::string driver = GENERATE("virtual", "threads");
  const std::string recipe = large_recipe();
  const auto expected = uninterrupted(recipe);
  int failed = 0, named = 0;
  for (int megabytes = 24; megabytes < 1000; megabytes += megabytes / 3) {
    const Bench bench(recipe);
    const std::string worker = worker_after(bench, fmt::format("ulimit -v {}", megabytes * 1024));
    const Result result = bench.run({"--driver", driver}, {worker});
    CAPTURE(driver, megabytes, result.err);
    REQUIRE((result.code == 0 || result.code == 1 || result.code == 3));
    CHECK(bench.falls_silent(kPatienceSeconds));
    bench.check_sound();
    if (result.code == 0) break;
    ++failed;
    CHECK(result.err.find("memory") != std::string::npos);
    CHECK(result.err.find("this is a bug") == std::string::npos);
    CHECK(bench.runs()[0]["state"] != "finished");
    // A failed run is resumed only if it is named.
    const std::string remedy = "then 'acid resume ";
    if (const std::size_t at = result.err.find(remedy); at != std::string::npos)
      CHECK(result.err.substr(at + remedy.size()).rfind(bench.runs()[0]["id"], 0) == 0);
    named += result.err.find(remedy) != std::string::npos ? 1 : 0;
    bench.done({"--driver", driver});
    if (driver == "virtual") CHECK(difference(expected, bench.kept()) == "");
  }
  CHECK(failed >= 3);
  CHECK(named >= 1);
}
#endif

TEST_CASE("a store that cannot be written is refused with exit code 3 and left as it is") {
  const Bench bench(plain_recipe());
  bench.done();
  const std::string changed = "--set seeds='[5]'";
  if (!can_mount(bench)) {
    WARN("no mounts here: a read-only store is not tested");
    return;
  }
  const auto before = bench.kept();
  const Result result = bench.shell(
      "unshare -rm sh -c \"mount --bind acid-store acid-store && mount -o remount,ro,bind"
      " acid-store && '$ACID' run crash.toml " +
      changed + "\"");
  INFO(result.err);
  CHECK(result.code == 3);
  CHECK(result.err.find("acid-store") != std::string::npos);
  CHECK(result.err.find("this is a bug") == std::string::npos);
  CHECK(bench.kept().size() == before.size());
  bench.check_sound();

  SECTION("but it can be read") {
    const Result list = bench.shell(
        "unshare -rm sh -c \"mount --bind acid-store acid-store && mount -o remount,ro,bind"
        " acid-store && '$ACID' list --json\"");
    INFO(list.err);
    CHECK(list.code == 0);
    CHECK(list.json()["runs"].size() == 1);
  }
}

TEST_CASE("a full disk stops a run with exit code 3, and with more space the bits are the same") {
  const Bench bench(plain_recipe());
  if (!can_mount(bench)) {
    WARN("no mounts here: a full disk is only played by failing writes");
    return;
  }
  const int kilobytes = GENERATE(180, 260, 400, 700);
  // The namespace ends with the shell, so the store is copied out of it between the runs.
  const Result result = bench.shell(fmt::format(
      "unshare -rm sh -c \"mkdir -p acid-store saved && mount -t tmpfs -o size={}k none acid-store"
      " && {{ '$ACID' run crash.toml; echo $? > code; cp -a acid-store/. saved/; }}\"\n"
      "code=$(cat code); rmdir acid-store; mv saved acid-store; exit $code",
      kilobytes));
  CAPTURE(kilobytes, result.err);
  REQUIRE((result.code == 0 || result.code == 3));
  if (result.code == 3) {
    CHECK(result.err.find("acid-store") != std::string::npos);
    CHECK((result.err.find("No space left on device") != std::string::npos ||
           result.err.find("disk is full") != std::string::npos));
  }
  CHECK(bench.falls_silent(kPatienceSeconds));
  bench.check_sound();
  bench.done();
  bench.check_sound();
  CHECK(difference(uninterrupted(plain_recipe()), bench.kept()) == "");
}

TEST_CASE("a limit on the size of files is an error like a full disk") {
  const Bench bench(plain_recipe());
  SECTION("of the worker, and without it the run ends with the same bits") {
    const Result result = bench.run({}, {worker_after(bench, "ulimit -f 200")});
    INFO(result.err);
    CHECK(result.code == 3);
    CHECK(result.err.find("acid-store") != std::string::npos);
    CHECK(result.err.find("SIGXFSZ") == std::string::npos);
    bench.check_sound();
    bench.done();
    CHECK(difference(uninterrupted(plain_recipe()), bench.kept()) == "");
  }
  SECTION("of acid itself") {
    const Result result = bench.shell("ulimit -f 20; \"$ACID\" run crash.toml");
    INFO(result.err);
    CHECK(result.code == 3);
    CHECK(result.err.find("acid-store") != std::string::npos);
  }
}
