// `acid watch`: what it shows of runs that are running, waiting and ended, and when it ends.
#include <csignal>
#include <cstdio>
#include <memory>

#include "store/at_work.hpp"
#include "tests/cli/going_run.hpp"

using acid::RunState;
using acid::test::Going;
using acid::test::has_ended;
using acid::test::looks_around;
using acid::test::Running;
using acid::test::StoredRun;

namespace {

/// `acid watch` on a real terminal of this width.
class OnTerminal {
 public:
  OnTerminal(const acid::test::Folder& bench, int columns)
      : bench_(bench),
        pipe_(popen(("cd " + bench.path() + " && NO_COLOR=1 script -qefc \"stty cols " +
                     std::to_string(columns) +
                     " rows 24; echo \\$\\$ > pid; exec " BINARY_ROOT
                     "/acid watch\" /dev/null </dev/null; echo code $?")
                        .c_str(),
                    "r"),
              pclose) {}
  /// Reads until this text has come, or until the end.
  void await(const std::string& part) {
    while (text_.find(part) == std::string::npos) {
      const int c = std::fgetc(pipe_.get());
      if (c == EOF) break;
      if (c != '\r') text_ += static_cast<char>(c);
    }
  }
  const std::string& to_the_end() {
    await("there is no such text");
    return text_;
  }
  void interrupt() const { kill(std::stoi(bench_.read("pid")), SIGINT); }

 private:
  const acid::test::Folder& bench_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe_;
  std::string text_;
};

// Ignores escape sequences, which take no room, and counts each character that is not ASCII once.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0, columns = 0;
  bool in_sequence = false;
  for (const char c : text) {
    if (c == '\x1b') in_sequence = true;
    if (c == '\n') columns = 0;
    const bool starts = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (!in_sequence && c != '\n' && starts) widest = std::max(widest, ++columns);
    if (in_sequence && ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))) in_sequence = false;
  }
  return widest;
}

}  // namespace

TEST_CASE("watch shows a run that goes on in one line: how far, how fast, how well") {
  const Going bench;
  const auto result = bench.call({"watch", "--once"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  for (const char* part : {"ad-psgd", "[####------]  40 %", "400/1k", "eval_loss 0.125", "█", "▁",
                           "12.5 %", "gradients/s", "exchanges/s", "4 virtual"})
    CHECK_THAT(result.out, ContainsSubstring(part));
  CHECK_THAT(result.out, ContainsSubstring(bench.id));
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 2);
  // Without a terminal the output is the same. The pace counts up to the last heartbeat, so it can
  // differ if there was a heartbeat in between.
  bool same = false;
  for (int tries = 0; tries < 50 && !same; ++tries)
    same = bench.call({"watch"}).out == bench.call({"watch", "--once"}).out;
  CHECK(same);
}

TEST_CASE("watch --json has the keys of list, the pace, and the history of the main metric") {
  Going bench;
  const auto document = bench.told({"watch"});
  CHECK(document["active"] == true);
  REQUIRE(document["runs"].size() == 1);
  const auto& run = document["runs"][0];
  for (const auto& [key, value] : std::map<std::string, nlohmann::json>{{"id", bench.id},
                                                                        {"state", "running"},
                                                                        {"metric", "eval_loss"},
                                                                        {"fraction", 0.4},
                                                                        {"attempt", 1}})
    CHECK(run[key] == value);
  CHECK((run["history"].size() == 8 && run["history"][0] == 1.0));
  for (const char* pace : {"gradients_per_second", "exchanges_per_second", "seconds_left"})
    CHECK(run[pace].is_number());
  CHECK(run["metrics"]["exchanges"] == 1200);

  bench.end(RunState::finished);
  const auto ended = bench.told({"watch", bench.id.substr(0, 6)});
  CHECK(ended["active"] == false);
  CHECK(ended["runs"][0]["state"] == "finished");
  CHECK(ended["runs"][0]["seconds_left"].is_null());
  CHECK(bench.told({"watch"})["runs"].empty());
}

TEST_CASE("where no run is active watch says so, and what to do, and exits with 0") {
  StoredRun bench;
  const auto planned = bench.call({"watch"});
  CHECK(planned.code == 0);
  CHECK(planned.out.empty());
  CHECK_THAT(planned.err, ContainsSubstring("no run is active: 0 of 1 ended and 1 waits"));
  CHECK_THAT(planned.err, ContainsSubstring("--wait"));

  bench.attempt(RunState::finished, {});
  CHECK_THAT(bench.call({"watch"}).err, ContainsSubstring("1 ended and 0 wait"));
  CHECK_THAT(bench.call({"watch", bench.id}).out, ContainsSubstring("finished"));
  CHECK(bench.call({"watch", "--wait"}).code == 0);
  CHECK(bench.call({"watch", "no-such-run"}).code == 2);
  CHECK(bench.call({"watch", "--wait", "--once"}).code == 2);
}

TEST_CASE("a run whose process is gone waits to be resumed") {
  StoredRun bench;
  bench.store.begin_attempt(bench.id, acid::test::dead_lease(), {}, {}, {});
  const auto result = bench.done({"watch", bench.id});
  CHECK_THAT(result.out, ContainsSubstring("interrupted"));
  CHECK_THAT(result.err, ContainsSubstring("acid resume"));
}

TEST_CASE("watch --wait waits for the end of every run and shows it") {
  Going bench;
  Running watching(bench, {"watch", "--wait", "--json"});
  CHECK(looks_around(watching.pid()));
  CHECK_FALSE(has_ended(watching));
  bench.end(RunState::diverged);
  const auto result = watching.wait();
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.json()["runs"][0]["state"] == "diverged");
}

TEST_CASE("on a terminal watch draws in place, fits into its width, and ends with the last run") {
  Going bench;
  OnTerminal terminal(bench, 60);
  terminal.await("[####------]  40 %");
  bench.measure(500, 0.1);
  terminal.await("[#####-----]  50 %");
  bench.end(RunState::finished);
  const std::string text = terminal.to_the_end();
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("code 0"));
  CHECK_THAT(text, ContainsSubstring("[#####-----]  50 %"));
  CHECK_THAT(text, ContainsSubstring("finished"));
  CHECK_THAT(text, ContainsSubstring("0 running, 1 finished"));
  CHECK_THAT(text, ContainsSubstring("\x1b[3A"));  // back to the first of its lines
  CHECK_THAT(text, !ContainsSubstring("exchanges"));
  CHECK(widest_line(text) <= 60);
}

TEST_CASE("a wide terminal shows every column, and ^C ends watching alone") {
  const Going bench;
  OnTerminal terminal(bench, 160);
  terminal.await("1 running");
  terminal.interrupt();
  const std::string text = terminal.to_the_end();
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("code 0"));
  CHECK_THAT(text, ContainsSubstring("exchanges"));
  CHECK_THAT(text, ContainsSubstring("the runs go on"));
}

TEST_CASE("watch of several hosts shows what each does, what it lost, and who took that over") {
  const acid::test::Folder bench;
  std::vector<acid::RunRecord> runs;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) runs.push_back(acid::test::make_run(seed));
  acid::Store store = acid::test::make_store(bench.path("acid-store"), runs);
  const auto begin = [&](std::size_t run, const std::string& host, std::int64_t gradients) {
    acid::Lease lease = acid::test::lease_elsewhere();
    lease.host = host;
    const nlohmann::json environment{
        {"batch", {{"system", "slurm"}, {"job", "7"}, {"task", host.back() - '0'}}}};
    const std::int64_t attempt = store.begin_attempt(runs[run].id, lease, environment, {}, {});
    acid::RunWriter writer(store.folder(), runs[run].id, attempt);
    writer.progress({gradients, static_cast<double>(gradients) / 4, 1, 0});
    writer.flush();
    return attempt;
  };
  const auto fall_silent = [&](std::int64_t attempt) {
    acid::test::raw_connection(store.folder())
        .execute("UPDATE attempts SET heartbeat = '2026-01-01T00:00:00.000Z' WHERE id = " +
                 std::to_string(attempt));
  };
  begin(0, "node1", 500);
  CHECK(bench.told({"watch"})["hosts"].size() == 1);
  CHECK_THAT(bench.call({"watch"}).out, !ContainsSubstring("taken over"));
  fall_silent(begin(1, "node2", 440));
  begin(1, "node10", 20);
  fall_silent(begin(2, "node2", 30));
  acid::AttemptResult finished;
  store.end_attempt(begin(3, "node1", 1000), finished);

  const auto told = bench.told({"watch"});
  const auto& hosts = told["hosts"];
  REQUIRE(hosts.size() == 3);
  CHECK(
      (hosts[0]["host"] == "node1" && hosts[1]["host"] == "node2" && hosts[2]["host"] == "node10"));
  CHECK((hosts[0]["finished"] == 1 && hosts[0]["running"] == nlohmann::json{runs[0].id}));
  CHECK(
      (hosts[1]["lost"] == 2 && hosts[1]["running"].empty() && hosts[1]["silent_seconds"] > 1000));
  CHECK((hosts[2]["taken_over"] == 1 && hosts[2]["task"] == "slurm 7, task 0"));
  CHECK(told["lost"].size() == 2);
  CHECK(told["lost"][0]["taken_over_by"].is_null());
  CHECK((told["lost"][1]["run"] == runs[1].id && told["lost"][1]["gradients"] == 440));
  const std::string out = bench.call({"watch", "--once"}).out;
  INFO(out);
  CHECK_THAT(out, ContainsSubstring("slurm 7, task 1") &&
                      ContainsSubstring("run " + runs[2].id +
                                        " was lost on node2 (slurm 7, task 2) "
                                        "at gradient 30; it waits for a process") &&
                      ContainsSubstring("node10 (slurm 7, task 0) took it over from gradient 0") &&
                      ContainsSubstring("2 running, 57 waiting, 1 finished"));
  // All fit a small screen, with the number of those that do not.
  for (std::size_t k = 4; k < 60; ++k) begin(k, "host" + std::to_string(k), 100);
  OnTerminal terminal(bench, 80);
  terminal.await("58 running");
  terminal.interrupt();
  const std::string screen = terminal.to_the_end();
  INFO(screen);
  CHECK(widest_line(screen) <= 80);
  CHECK_THAT(screen, ContainsSubstring(" more hosts, 1 more lost run") &&
                         ContainsSubstring("silent") && ContainsSubstring("for a process"));
  CHECK(std::ranges::count(screen.substr(0, screen.find("58 running")), '\n') < 24);
}

TEST_CASE("watch shows runs of a sweep with what differs, and counts those that wait or ended") {
  const acid::test::Folder bench;
  std::vector<acid::RunRecord> runs;
  for (const int workers : {8, 16, 32}) {
    runs.push_back(acid::test::make_run(static_cast<std::uint64_t>(workers)));
    acid::RunRecord& run = runs.back();
    run.settings["workers"] = {{"count", workers}};
    run.settings["topology"] = {{"kind", "ring"}};
    run.settings["evaluation"] = {{"every_time", 1000 / workers}};
  }
  acid::Store store = acid::test::make_store(bench.path("acid-store"), runs);
  const acid::Lease here = acid::Lease::of_this_process();
  store.begin_attempt(runs[0].id, here, {}, {}, {});
  acid::AttemptResult failed;
  failed.state = RunState::failed;
  store.end_attempt(store.begin_attempt(runs[1].id, here, {}, {}, {}), failed);

  {  // before any run of a study, and between two of its runs, a process goes on with it
    const auto active = [&] { return bench.told({"watch"})["active"]; };
    const std::vector<acid::RunRecord> other{acid::test::make_run(77)};
    acid::Store waiting = acid::test::make_store(bench.path("other"), other);
    const auto once = [&] { return bench.call({"watch", "--once", "--store", "other"}).err; };
    CHECK_THAT(once(), ContainsSubstring("no run is active: 0 of 1 ended and 1 waits"));
    {
      acid::AtWork at_work(bench.path("other"));
      at_work.on({"nobody", other[0].id});
      at_work.on({other[0].id});
      CHECK_THAT(once(), ContainsSubstring("between two runs") &&
                             ContainsSubstring("a process goes on with the others"));
      CHECK(acid::runs_at_work(bench.path("other")).size() == 1);
    }
    CHECK_THAT(once(), ContainsSubstring("no run is active: 0 of 1 ended and 1 waits"));
    CHECK(std::filesystem::is_empty(bench.path("other/at-work")));
    CHECK(active() == true);
  }
  const auto result = bench.call({"watch", "--once"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("setting"));
  CHECK_THAT(result.out, ContainsSubstring("workers 8 "));
  CHECK_THAT(result.out, !ContainsSubstring("ring"));  // both share it
  CHECK_THAT(result.out, !ContainsSubstring("every_time"));
  CHECK_THAT(result.out, !ContainsSubstring("workers 16"));
  CHECK_THAT(result.out, ContainsSubstring("\n1 running, 1 waiting, 1 failed\n"));
  // A run that is named is shown in any state.
  CHECK_THAT(bench.call({"watch", "--once", runs[1].id}).out, ContainsSubstring("failed"));
  CHECK(bench.told({"watch"})["runs"].size() == 2);
}
