#include "tests/crash/bench.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "engine/base/clock.hpp"
#include "tests/catch.hpp"

namespace acid::test {
namespace fs = std::filesystem;
namespace {

// Polls until `holds` is true or the time is over; returns whether it is true.
template <class Condition>
bool within(double seconds, const Condition& holds) {
  const SteadyClock clock;
  const double deadline = clock.seconds() + seconds;
  while (!holds()) {
    if (clock.seconds() > deadline) return false;
    sleep_seconds(0.002);
  }
  return true;
}

// A zombie has no executable, and its folder cannot be read.
std::string link_of(pid_t pid, const char* name) {
  std::error_code error;
  const fs::path target = fs::read_symlink(fmt::format("/proc/{}/{}", pid, name), error);
  return error ? std::string() : target.string();
}

std::string without_wall_clock(const std::string& csv) {
  std::istringstream lines(csv);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (line.find(",idle_share,") == std::string::npos) kept += line + "\n";
  return kept;
}

std::string first_differing_line(const std::string& expected, const std::string& found) {
  std::istringstream left(expected), right(found);
  for (int number = 1;; ++number) {
    std::string one, other;
    const bool more = static_cast<bool>(std::getline(left, one));
    if (!more && !std::getline(right, other)) return "none";
    if (more) std::getline(right, other);
    if (one != other) return fmt::format("line {}: '{}' became '{}'", number, one, other);
  }
}

}  // namespace

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

Bench::Bench(const std::string& recipe) { write("crash.toml", recipe); }

Bench::~Bench() {
  while (!falls_silent(0))
    for (const pid_t pid : processes()) kill(pid, SIGKILL);
}

Running Bench::start(const std::vector<std::string>& options,
                     const std::vector<std::string>& more) const {
  std::vector<std::string> arguments{"run", "crash.toml"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return Running(*this, arguments, more);
}

Result Bench::run(const std::vector<std::string>& options,
                  const std::vector<std::string>& more) const {
  Running running = start(options, more);
  return wait_at_most(*this, running, kPatienceSeconds);
}

Result Bench::done(const std::vector<std::string>& options) const {
  Result result = run(options);
  INFO("signal " << result.signal << ": " << result.err);
  REQUIRE(result.code == 0);
  return result;
}

void Bench::check_sound() const { CHECK(faults(path("acid-store")) == ""); }

Result Bench::call(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& more) const {
  Running running(*this, arguments, more);
  return wait_at_most(*this, running, kPatienceSeconds);
}

Result Bench::shell(const std::string& command) const {
  const std::string script = write(
      "command.sh", fmt::format("cd '{}'\nACID='{}/acid'\n{}\n", path(), BINARY_ROOT, command));
  const int status = std::system(
      fmt::format("sh '{}' </dev/null >'{}' 2>'{}'", script, path("shell.out"), path("shell.err"))
          .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("shell.out"), read("shell.err"), 0, 0};
}

std::map<std::string, Kept> Bench::kept() const {
  std::map<std::string, Kept> kept;
  for (const auto& run : runs()) {
    const std::string id = run["id"];
    if (run["state"] != "finished") throw std::runtime_error(run.dump());
    kept[id] = {shown(id)["digests"],
                without_wall_clock(call({"export", id, "--format", "csv"}).out)};
  }
  return kept;
}

std::vector<pid_t> Bench::processes() const {
  const std::string folder = fs::canonical(path()).string();
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && link_of(pid, "cwd") == folder) found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> Bench::workers() const {
  std::vector<pid_t> found;
  for (const pid_t pid : processes())
    if (fs::path(link_of(pid, "exe")).filename() == "acid-worker") found.push_back(pid);
  return found;
}

std::vector<pid_t> Bench::ranks() const {
  std::vector<pid_t> found;
  for (const pid_t pid : workers()) {
    const std::string variables = content_of(fmt::format("/proc/{}/environ", pid));
    if (variables.find("OMPI_COMM_WORLD_RANK=") != std::string::npos) found.push_back(pid);
  }
  return found;
}

bool Bench::falls_silent(double seconds) const {
  return within(seconds, [&] { return processes().empty(); });
}

bool Bench::has_checkpoint_within(double seconds) const {
  return within(seconds, [&] {
    // The store certainly knows the first file once the second is written.
    int files = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator entry(path("acid-store/checkpoints"), error), end;
         !error && entry != end; entry.increment(error))
      if (entry->path().extension() == ".safetensors" && entry->path().stem() != "final-mean")
        ++files;
    return files >= 2;
  });
}

Result wait_at_most(const Bench& bench, Running& running, double seconds) {
  if (within(seconds, [&] { return has_ended(running); })) return running.wait();
  std::string who;
  for (const pid_t pid : bench.processes()) {
    who += fmt::format(" {} ({})", pid, link_of(pid, "exe"));
    kill(pid, SIGKILL);
  }
  const Result result = running.wait();
  throw std::runtime_error(
      fmt::format("still running after {} s:{}\n{}", seconds, who, result.err));
}

std::string worker_after(const Bench& bench, const std::string& prelude) {
  return "ACID_WORKER=" +
         bench.write_program("worker", fmt::format("#!/bin/sh\n{}\nexec '{}/acid-worker' \"$@\"\n",
                                                   prelude, BINARY_ROOT));
}

std::string difference(const std::map<std::string, Kept>& expected,
                       const std::map<std::string, Kept>& found) {
  if (expected.size() != found.size())
    return fmt::format("{} runs became {}", expected.size(), found.size());
  for (const auto& [id, kept] : expected) {
    const auto other = found.find(id);
    if (other == found.end()) return fmt::format("run {} is missing", id);
    if (other->second.digests != kept.digests)
      return fmt::format("run {}: the digests {} became {}", id, kept.digests.dump(),
                         other->second.digests.dump());
    if (other->second.points != kept.points)
      return fmt::format("run {}: other points, {}", id,
                         first_differing_line(kept.points, other->second.points));
  }
  return {};
}

Stopped stopped_run(const std::string& recipe,
                    const std::function<void(const Bench&, const Running&)>& stop,
                    const std::vector<std::string>& options) {
  for (int tries = 0; tries < 20; ++tries) {
    auto bench = std::make_unique<Bench>(recipe);
    Running running = bench->start(options);
    REQUIRE(bench->has_checkpoint_within(kPatienceSeconds));
    stop(*bench, running);
    Result result = wait_at_most(*bench, running, kPatienceSeconds);
    REQUIRE(bench->falls_silent(kPatienceSeconds));
    if (bench->runs()[0]["state"] != "finished") return {std::move(bench), std::move(result)};
  }
  FAIL("no run was stopped");
  return {};
}

std::map<std::string, Kept> uninterrupted(const std::string& recipe) {
  static std::map<std::string, std::map<std::string, Kept>> known;
  const auto found = known.find(recipe);
  if (found != known.end()) return found->second;
  const Bench bench(recipe);
  bench.done();
  return known[recipe] = bench.kept();
}

}  // namespace acid::test
