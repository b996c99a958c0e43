// An event log is kept from a run's beginning or not at all.
#include <signal.h>

#include <string>

#include "tests/catch.hpp"
#include "tests/crash/bench.hpp"
#include "tests/crash/recipes.hpp"
#include "tests/sealed.hpp"

using namespace acid::test;

TEST_CASE("a run goes on with or without a log as it was begun, also if the recipe has changed") {
  const bool log = GENERATE(true, false);
  // The attempts of an older acid do not say whether they keep a log.
  const bool by_an_older_acid = GENERATE(false, true);
  const auto events = [](bool kept) {
    return std::vector<std::string>{"--set",
                                    std::string("record.events=") + (kept ? "true" : "false")};
  };
  const Bench whole(plain_recipe());
  REQUIRE(whole.run(events(log)).code == 0);
  const Stopped stopped = stopped_run(
      plain_recipe(), [](const Bench&, const Running& running) { kill(running.pid(), SIGTERM); },
      events(log));
  const Bench& bench = *stopped.bench;
  if (by_an_older_acid)
    write_as_acid(bench.path("acid-store"),
                  "UPDATE attempts SET environment = json_remove(environment, '$.event_log')");
  const Result resumed = bench.done(events(!log));
  CHECK(resumed.err.find("record.events counts when") != std::string::npos);
  CHECK(difference(whole.kept(), bench.kept()) == "");
  const auto verified = bench.call({"verify", "@latest", "--json"});
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);
  CHECK((verified.json()["compared"].get<std::string>().find(" 0 events") == std::string::npos) ==
        log);
}
