// Every file operation of the worker fails once: the run ends with a message and an exit code, the
// store stays sound, and the same command finishes the run with the same result.
#include "tests/crash/failing_io.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/crash/bench.hpp"
#include "tests/crash/recipes.hpp"

using namespace acid::test;

namespace {

struct Count {
  std::int64_t operations = 0, struck = 0;
  std::string call, path;
};

// A run of the short recipe whose operation `at` fails; with at = 0 none fails.
struct Attempt {
  Count count;
  Result result;
};

Attempt run_failing(const Bench& bench, std::int64_t at, const std::string& mode,
                    const std::string& error) {
  bench.write("count", std::string(sizeof(FailingIoCount), '\0'));
  const std::string folder = std::filesystem::canonical(bench.path()).string();
  Attempt attempt;
  attempt.result = bench.run(
      {},
      {"LD_PRELOAD=" FAILING_IO, "ACID_FAIL_PROGRAM=acid-worker",
       "ACID_FAIL_UNDER=" + folder + "/acid-store", "ACID_FAIL_COUNT_FILE=" + bench.path("count"),
       fmt::format("ACID_FAIL_AT={}", at), "ACID_FAIL_MODE=" + mode, "ACID_FAIL_ERRNO=" + error});
  const std::string bytes = bench.read("count");
  REQUIRE(bytes.size() == sizeof(FailingIoCount));
  const auto number = [&](std::size_t offset) {
    std::int64_t value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  attempt.count = {
      number(offsetof(FailingIoCount, operations)), number(offsetof(FailingIoCount, struck)),
      bytes.data() + offsetof(FailingIoCount, call), bytes.data() + offsetof(FailingIoCount, path)};
  return attempt;
}

struct Sound {
  std::map<std::string, Kept> kept;
  std::int64_t operations = 0;
};

/// `mode`: which operations count.
Sound without_failure(const std::string& mode = "once") {
  const Bench bench(short_recipe());
  const Attempt attempt = run_failing(bench, 0, mode, "EIO");
  INFO(attempt.result.err);
  REQUIRE(attempt.result.code == 0);
  return {bench.kept(), attempt.count.operations};
}

bool holds_one_of(const std::string& text, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

// Checks that the message names the file or store, and the reason.
void check_message(const Attempt& attempt, const std::string& error) {
  const std::string& words = attempt.result.err;
  CHECK(words.find("acid-store") != std::string::npos);
  CHECK(words.find("this is a bug") == std::string::npos);
  std::vector<std::string> reasons =
      error == "ENOSPC" ? std::vector<std::string>{"No space left on device", "disk is full"}
                        : std::vector<std::string>{"Input/output error", "disk I/O error"};
  // SQLite reports a full disk only when a write reports it, and does not report why a file could
  // not be opened.
  if (attempt.count.call != "pwrite") reasons.push_back("disk I/O error");
  const bool opening =
      attempt.count.call == "open" || attempt.count.path.find("-shm") != std::string::npos;
  if (opening) reasons.push_back("cannot open the store");
  CHECK(holds_one_of(words, reasons));
}

void check_failure(const Sound& sound, std::int64_t at, const std::string& mode,
                   const std::string& error) {
  const Bench bench(short_recipe());
  const Attempt attempt = run_failing(bench, at, mode, error);
  CAPTURE(at, mode, error, attempt.count.call, attempt.count.path, attempt.result.err,
          attempt.result.signal);
  REQUIRE((attempt.result.code == 0 || attempt.result.code == static_cast<int>(acid::Exit::store)));
  if (attempt.result.code != 0) check_message(attempt, error);
  if (mode == "short") CHECK(attempt.result.code == 0);
  CHECK(bench.falls_silent(kPatienceSeconds));
  bench.check_sound();
  bench.done();
  bench.check_sound();
  CHECK(difference(sound.kept, bench.kept()) == "");
}

// Checks every operation in the stress run; otherwise every third, from 1, 2 or 3, so that the
// cases together check all of them.
void go_through(const std::string& mode, const std::string& error, std::int64_t begin) {
  const std::int64_t step = std::getenv("ACID_CRASH_ROUNDS") != nullptr ? 1 : 3;
  const Sound sound = without_failure(mode);
  REQUIRE(sound.operations > 20);
  for (std::int64_t at = step == 1 ? 1 : begin; at <= sound.operations; at += step)
    check_failure(sound, at, mode, error);
}

}  // namespace

TEST_CASE("the harness counts the worker's file operations and strikes the one it is told to") {
  CHECK(without_failure().operations > 50);
  const Bench bench(short_recipe());
  const Attempt attempt = run_failing(bench, 10, "forever", "EIO");
  CHECK(attempt.count.struck > 0);
  CHECK(attempt.count.operations >= 9 + attempt.count.struck);
  CHECK(attempt.count.path.find("/acid-store/") != std::string::npos);
  CHECK(attempt.result.code == 3);
}

TEST_CASE("a file operation that fails once leaves a sound store and a resumable run") {
  go_through("once", "EIO", 1);
}

TEST_CASE("a disk that breaks at any operation leaves a sound store and a resumable run") {
  go_through("forever", "EIO", 2);
}

TEST_CASE("a disk that is full from any operation on leaves a sound store and a resumable run") {
  go_through("full", "ENOSPC", 3);
}

TEST_CASE("a write that writes only half of what it should is continued") {
  go_through("short", "EIO", 1);
}
