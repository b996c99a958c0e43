// SIGKILL at any time, to any of the processes: no finished work is lost.
//
// ACID_CRASH_SEED chooses other times; ACID_CRASH_ROUNDS, ACID_CRASH_THREADS_ROUNDS and
// ACID_CRASH_MPI_ROUNDS ask for more rounds and have each of them reported. scripts/stress sets
// all. ACID_CRASH_VARIANT leaves the variants whose names contain it.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/rng.hpp"
#include "engine/transport/left_segments.hpp"
#include "tests/catch.hpp"
#include "tests/crash/bench.hpp"
#include "tests/crash/recipes.hpp"

using namespace acid::test;

namespace {

std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

std::uint64_t seed() { return number_from("ACID_CRASH_SEED").value_or(20230615); }

struct Rounds {
  std::uint64_t count = 0;
  bool reported = false;
  Rounds(const char* variable, std::uint64_t usual) {
    const auto asked = number_from(variable);
    count = asked.value_or(kSanitized ? (usual + 2) / 3 : usual);
    reported = asked.has_value();
  }
  /// Whether there is another round. When the machine's pace changes, runs may end before they are
  /// killed; when too few were hit, there are more rounds.
  bool go_on(std::uint64_t round, int hits, std::uint64_t wanted_hits) const {
    return round < count || (static_cast<std::uint64_t>(hits) < wanted_hits && round < 4 * count);
  }
  void say(std::uint64_t round, const std::string& what) const {
    if (reported) std::cerr << fmt::format("round {} of {}: {}\n", round + 1, count, what);
  }
};

enum class Victim { acid, worker, both };
const char* name_of(Victim victim) {
  return victim == Victim::acid ? "acid" : victim == Victim::worker ? "acid-worker" : "both";
}

// Kills the victims and returns how many processes there were.
int strike(const Bench& bench, const Running& running, Victim victim) {
  const bool acid_lives = !has_ended(running);
  // A stopped acid cannot start a worker between the two kills.
  if (victim == Victim::both && acid_lives) kill(running.pid(), SIGSTOP);
  int hit = 0;
  if (victim != Victim::acid)
    for (const pid_t pid : bench.workers()) hit += kill(pid, SIGKILL) == 0 ? 1 : 0;
  if (victim != Victim::worker && acid_lives) hit += kill(running.pid(), SIGKILL) == 0 ? 1 : 0;
  return hit;
}

// Kills the processes of a run under MPI and their launcher.
int kill_all(const std::vector<pid_t>& ranks) {
  std::ifstream file(fmt::format("/proc/{}/stat", ranks.front()));
  std::string stat;
  std::getline(file, stat);
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  char state = 0;
  pid_t launcher = 0;
  fields >> state >> launcher;
  int hit = launcher > 1 && kill(launcher, SIGKILL) == 0 ? 1 : 0;
  for (const pid_t rank : ranks) hit += kill(rank, SIGKILL) == 0 ? 1 : 0;
  return hit;
}

// The records of an uninterrupted run, and its duration.
struct Whole {
  std::map<std::string, Kept> kept;
  double seconds = 0;
};

Whole never_killed(const Variant& variant) {
  const Bench bench(variant.recipe);
  INFO(variant.name);
  const Result result = bench.done();
  REQUIRE(faults(bench.path("acid-store")) == "");
  for (const auto& run : bench.runs()) {
    const auto shown = bench.shown(run["id"]);
    const auto& skipped = shown["realised"]["checkpoints_skipped"];  // null in virtual time
    const std::size_t passed = skipped.is_number() ? skipped.get<std::size_t>() : 0;
    REQUIRE(shown["checkpoints"].size() + passed >= variant.least_checkpoints);
  }
  return {bench.kept(), result.seconds};
}

const Whole& uninterrupted_once(const std::vector<Variant>& variants, std::size_t index) {
  static std::map<std::string, Whole> known;
  const auto found = known.find(variants[index].recipe);
  if (found != known.end()) return found->second;
  return known[variants[index].recipe] = never_killed(variants[index]);
}

// What was done to a run, for messages.
struct Story {
  int kills = 0;
  std::string text;
};

// Starts the run and kills it, up to three times.
Story kill_some_times(const Bench& bench, double seconds, acid::Stream& stream) {
  Story story;
  const std::uint64_t times = 1 + stream.below(3);
  double left = seconds;  // roughly what the run still needs
  for (std::uint64_t k = 0; k < times; ++k) {
    const auto victim = static_cast<Victim>(stream.below(3));
    const double delay = stream.uniform(0, std::max(left, 0.1 * seconds));
    const bool at_once = stream.below(2) == 0;
    left -= delay;
    Running running = bench.start();
    sleep_seconds(delay);
    const int hit = strike(bench, running, victim);
    const Result result = wait_at_most(bench, running, kPatienceSeconds);
    story.kills += hit;
    story.text += fmt::format("{}{} at {:.3f} s ({} hit, exit {})", k > 0 ? ", " : "",
                              name_of(victim), delay, hit, result.code);
    INFO(story.text << "\n" << result.err);
    // The run was killed, or it must have survived the loss of its worker.
    CHECK((result.signal == SIGKILL || result.code == 0));
    if (victim == Victim::worker) CHECK(result.code == 0);
    // Only the end of acid leaves a worker, which saves and stops.
    if (result.code != 0 && at_once && victim == Victim::acid) continue;
    CHECK(bench.falls_silent(kPatienceSeconds));
    bench.check_sound();
    if (result.code == 0) break;
  }
  return story;
}

void finish(const Bench& bench) {
  bench.done();
  CHECK(bench.falls_silent(kPatienceSeconds));
  bench.check_sound();
}

void check_verifies(const Bench& bench) {
  const Result verified = bench.call({"verify", bench.runs()[0]["id"]});
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);
}

}  // namespace

namespace {

/// One round: what was done to a run, in words, and how often its processes were hit.
using Round = std::function<Story(const Bench&, const Whole&, acid::Stream&)>;

/// Rounds of the variants in turn; at least `hits` of `count` shall hit a process.
void go_through(const Rounds& rounds, std::vector<Variant> variants, std::uint64_t streams,
                std::uint64_t hits, const Round& one) {
  if (const char* wanted = std::getenv("ACID_CRASH_VARIANT"))
    std::erase_if(variants, [&](const Variant& variant) {
      return variant.name.find(wanted) == std::string::npos;
    });
  if (variants.empty()) return;
  int kills = 0;
  for (std::uint64_t round = 0; rounds.go_on(round, kills, hits); ++round) {
    const Variant& variant = variants[round % variants.size()];
    const Whole& whole = uninterrupted_once(variants, round % variants.size());
    acid::Stream stream(seed(), (streams << 32) + round);
    INFO("ACID_CRASH_SEED=" << seed() << ", round " << round << ": " << variant.name);
    const Bench bench(variant.recipe);
    const Story story = one(bench, whole, stream);
    kills += story.kills;
    rounds.say(round, fmt::format("{}: {}", variant.name, story.text));
  }
  CHECK(kills >= static_cast<int>(hits));
}

}  // namespace

TEST_CASE(
    "a run that is killed at any time ends and is verified, a virtual one as if never killed") {
  for (const bool simulated : {true, false}) {
    const Rounds rounds =
        simulated ? Rounds("ACID_CRASH_ROUNDS", 12) : Rounds("ACID_CRASH_THREADS_ROUNDS", 4);
    go_through(rounds, simulated ? virtual_variants() : threads_variants(), simulated ? 0 : 1,
               rounds.count / 2, [&](const Bench& bench, const Whole& whole, acid::Stream& stream) {
                 const Story story = kill_some_times(bench, whole.seconds, stream);
                 INFO(story.text);
                 finish(bench);
                 if (simulated) CHECK(difference(whole.kept, bench.kept()) == "");
                 check_verifies(bench);
                 return story;
               });
  }
}

TEST_CASE("a run with a process per worker gets over the loss of any of them at any time") {
  if (!there_is_mpi()) return;
  const Rounds rounds("ACID_CRASH_MPI_ROUNDS", 3);
  go_through(rounds, mpi_variants(), 2, rounds.count / 3,
             [&](const Bench& bench, const Whole& whole, acid::Stream& stream) {
               const double delay = stream.uniform(0, 0.8 * whole.seconds);
               const int number = stream.below(2) == 0 ? SIGKILL : SIGSTOP;
               Running running = bench.start();
               sleep_seconds(delay);
               const std::vector<pid_t> ranks = bench.ranks();
               // One past the last: the launcher and all workers at once, so that no process cleans
               // up.
               const std::uint64_t victim = ranks.empty() ? 0 : stream.below(ranks.size() + 1);
               const bool all = victim == ranks.size();
               const int hit = ranks.empty() ? 0
                               : all         ? kill_all(ranks)
                                             : kill(ranks[victim], number) == 0;
               const Result result = wait_at_most(bench, running, kPatienceSeconds);
               const Story story{
                   hit > 0 ? 1 : 0,
                   fmt::format("{} to process {} of {} at {:.3f} s, {} hit, ended after {:.1f} s",
                               all || number == SIGKILL ? "SIGKILL" : "SIGSTOP", victim,
                               ranks.size(), delay, hit, result.seconds)};
               INFO(story.text << "\n" << result.err);
               CHECK(result.code == 0);
               CHECK(bench.falls_silent(kPatienceSeconds));
               bench.check_sound();
               if (result.code == 0) check_verifies(bench);
               // Other tests that run at the same time may have some.
               if (rounds.reported)
                 CHECK(acid::remove_left_segments() == std::vector<std::string>{});
               return story;
             });
}
