// Tests that acid-bench leaves nothing behind when it is interrupted.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/processes/child.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/waiting.hpp"

namespace acid::test {
namespace {

namespace fs = std::filesystem;

// The command lines of all processes whose environment has this variable; zombies have none.
std::vector<std::string> processes_with(const std::string& variable) {
  std::vector<std::string> found;
  std::error_code gone;
  for (fs::directory_iterator process("/proc", gone), end; !gone && process != end;
       process.increment(gone)) {
    if (std::isdigit(static_cast<unsigned char>(process->path().filename().string()[0])) == 0)
      continue;
    if (content_of(process->path() / "environ").find(variable) == std::string::npos) continue;
    std::string words = content_of(process->path() / "cmdline");
    std::replace(words.begin(), words.end(), '\0', ' ');
    found.push_back(words);
  }
  return found;
}

/// Starts acid-bench, interrupts it when a process with this word in its command line runs, and
/// checks what is left.
void interrupt_when(const std::string& under_way, std::vector<std::string> words, int signal) {
  const Folder folder;
  const std::string variable = "TMPDIR=" + folder.path();
  words.insert(words.begin(), BINARY_ROOT "/acid-bench");
  Command command(words);
  command.environment = {variable};
  Child bench(command);
  const auto ended = [&] {
    bench.read_output();
    return bench.status().has_value();
  };
  const bool begun = comes_true([&] {
    const auto all = processes_with(variable);
    return ended() || std::any_of(all.begin(), all.end(), [&](const std::string& line) {
             return line.find(under_way) != std::string::npos;
           });
  });
  INFO(bench.output());
  REQUIRE(begun);
  REQUIRE_FALSE(ended());
  bench.signal(signal);
  REQUIRE(comes_true(ended));
  CAPTURE(bench.output());
  CHECK(status_text(*bench.status()) == "exit code 130");
  CHECK(fs::is_empty(folder.path()));
  CHECK(comes_true([&] { return processes_with(variable).empty(); }));
}

}  // namespace

TEST_CASE("acid-bench that is interrupted takes its programs and its folders along") {
  interrupt_when("acid-worker", {"resume", "--interval", "100000000"}, SIGINT);
  interrupt_when("acid_big_store", {"report", "--runs", "100000", "--points", "100000"}, SIGTERM);
}

#ifdef ACID_BENCH_HAS_TORCH
TEST_CASE("acid-bench that is hung up while acid runs for it ends together with acid") {
  interrupt_when("acid-worker", {"recording", "--gradients", "100000000"}, SIGHUP);
}
#endif

}  // namespace acid::test
