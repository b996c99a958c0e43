// Who executed runs, and whose process was gone.
#include "reports/hosts.hpp"

#include "tests/catch.hpp"

using acid::AttemptSummary;
using acid::RunState;

namespace {

AttemptSummary attempt(const std::string& run, const std::string& host, RunState state,
                       std::int64_t from, std::int64_t to) {
  AttemptSummary one;
  one.run = run;
  one.host = host;
  one.state = state;
  one.seconds = 10;
  one.from.gradients = from;
  one.to.gradients = to;
  return one;
}

AttemptSummary lost(const std::string& run, const std::string& host, std::int64_t from,
                    std::int64_t to) {
  AttemptSummary one = attempt(run, host, RunState::interrupted, from, to);
  one.is_lost = true;
  return one;
}

}  // namespace

TEST_CASE("hosts are told apart, and tasks of a batch job on them, in the order of their numbers") {
  CHECK_FALSE(acid::hosts_at_work({}).are_several());
  auto first = attempt("a", "node10", RunState::running, 0, 100),
       second = attempt("b", "node9", RunState::running, 0, 50),
       third = attempt("c", "node9", RunState::diverged, 0, 70);
  CHECK_FALSE(acid::hosts_at_work({second, third}).are_several());
  first.batch = {{"system", "slurm"}, {"job", "77"}, {"task", 12}};
  second.batch = {{"system", "slurm"}, {"job", "77"}, {"task", 11}};
  third.batch = {{"system", "slurm"}, {"job", "77"}, {"task", 2}};
  first.last_sign = "2026-01-01T00:00:01.000Z";
  const auto all = acid::hosts_at_work({first, second, third});
  REQUIRE(all.hosts.size() == 3);
  CHECK(all.hosts[0].name() == "node9 (slurm 77, task 2)");
  CHECK(all.hosts[1].name() == "node9 (slurm 77, task 11)");
  CHECK(all.hosts[2].name() == "node10 (slurm 77, task 12)");
  CHECK((all.hosts[0].finished == 1 && all.hosts[0].running.empty()));
  CHECK(all.hosts[2].running == std::vector<std::string>{"a"});
  CHECK((all.hosts[2].gradients == 100 && all.hosts[2].seconds == 10));
  CHECK(all.lost.empty());
  CHECK(acid::hosts_at_work({attempt("a", "node1", RunState::running, 0, 1),
                             attempt("b", "node01", RunState::running, 0, 1)})
            .hosts.size() == 2);
  // What the batch system said may be in another form.
  for (const nlohmann::json& batch : {nlohmann::json(), nlohmann::json(3), nlohmann::json::object(),
                                      nlohmann::json{{"task", 1}}}) {
    first.batch = batch;
    CHECK(acid::hosts_at_work({first}).hosts[0].host == "node10");
  }
}

TEST_CASE("a lost run is taken over by another host, goes on where it was, or waits") {
  const auto all = acid::hosts_at_work({lost("a", "node1", 0, 4400), lost("b", "node1", 0, 10),
                                        lost("c", "node1", 0, 7),
                                        attempt("a", "node2", RunState::running, 4000, 5000),
                                        attempt("b", "node1", RunState::finished, 0, 1000)});
  REQUIRE(all.hosts.size() == 2);
  CHECK((all.hosts[0].lost == 3 && all.hosts[0].taken_over == 0 && all.hosts[0].finished == 1));
  CHECK((all.hosts[1].lost == 0 && all.hosts[1].taken_over == 1));
  CHECK(all.hosts[1].gradients == 1000);
  REQUIRE(all.lost.size() == 3);
  CHECK(all.lost[0].words() == "run c was lost on node1 at gradient 7; it waits for a process");
  CHECK(all.lost[1].words() ==
        "run b was lost on node1 at gradient 10, and went on there from gradient 0");
  CHECK(all.lost[2].words() ==
        "run a was lost on node1 at gradient 4400; node2 took it over from gradient 4000");
  // A run that was stopped in good order is not lost.
  CHECK(acid::hosts_at_work({attempt("a", "node1", RunState::interrupted, 0, 5)}).lost.empty());
}
