// `acid verify`: its requests to the worker, and its handling of the answers.
#include <signal.h>

#include "tests/cli/stored_run.hpp"

using acid::RunState;
using acid::test::StoredRun;
using acid::test::wait_for;
using Bench = acid::test::ScriptedWorker;

namespace {

// Six planned runs; the worker executes `verification` once they exist.
struct SixRuns : Bench {
  explicit SixRuns(const std::string& verification)
      : Bench("case \"$*\" in *--verify*) ;; *) exit 1 ;; esac\n" + verification) {
    run();
    write("starts", "");
  }
};

}  // namespace

TEST_CASE("verify passes its options to the worker, and the worker's words and verdict to us") {
  const StoredRun bench(
      "case \"$*\" in *--json*) echo '{\"zeros\": ['; yes 0, | head -n 100000; echo '0]}' ;;\n"
      "*) echo verdict ;; esac; echo progress >&2; exit $(cat code)\n");
  for (const int code : {0, 4, 1}) {
    bench.write("code", std::to_string(code));
    bench.write("starts", "");
    const auto result = bench.call({"verify", bench.id.substr(0, 5), "--from", "3"});
    CHECK(result.code == code);
    CHECK(result.out == "verdict\n");
    CHECK(result.err == "progress\n");
    CHECK(bench.starts() ==
          std::vector{"--store acid-store --run " + bench.id + " --verify --from 3"});
    const auto json = bench.call({"verify", bench.id, "--json"});  // the worker's own, however long
    CHECK(json.code == code);
    CHECK(json.json()["zeros"].size() == 100001);
    CHECK(json.err == "progress\n");
    CHECK_THAT(bench.starts()[1], ContainsSubstring("--verify --json"));
  }
}

TEST_CASE("verify of several runs returns the code that tells most") {
  const SixRuns bench("set -- $(cat codes); shift $((n - 1)); exit $1\n");
  for (const auto& [codes, worst] : {std::pair{"0 1 4 2 0 0", 4}, std::pair{"0 4 3 4 1 0", 3},
                                     std::pair{"0 0 0 0 0 0", 0}, std::pair{"0 1 0 2 0 0", 2}}) {
    bench.write("codes", codes);
    bench.write("starts", "");
    CHECK(bench.call({"verify", "small"}).code == worst);
    CHECK(bench.starts().size() == 6);
  }
}

TEST_CASE("verify of several runs says how far it is, what is left, and a total at the end") {
  const Bench bench("[ $n = 1 ] && sleep 2; exit $((n == 2 ? 4 : 0))\n");
  std::vector<acid::RunRecord> runs;
  for (const std::uint64_t seed : {1, 2, 3}) runs.push_back(acid::test::make_run(seed));
  acid::Store store = acid::test::make_store(bench.path("acid-store"), runs);
  for (const acid::RunRecord& run : runs) {
    acid::AttemptResult result;
    result.position.gradients = 1000;
    const acid::Lease here = acid::Lease::of_this_process();
    const std::int64_t number = store.begin_attempt(run.id, here, {}, {}, {});
    acid::RunWriter(store.folder(), run.id, number).progress(result.position);
    store.end_attempt(number, result);
  }
  const auto result = bench.call({"verify", "@latest"});
  INFO(result.err);
  CHECK(result.code == 4);
  CHECK_THAT(result.err, ContainsSubstring("verifying 1 of 3: run "));
  CHECK_THAT(result.err, ContainsSubstring("verifying 2 of 3, about 5 s left: run "));
  CHECK_THAT(result.err, ContainsSubstring("verifying 3 of 3: run "));  // hardly any time
  CHECK_THAT(result.err, ContainsSubstring("2 of 3 runs are reproduced bit for bit, in "));
  CHECK(bench.call({"verify", runs[0].id}).err.empty());
}

TEST_CASE("verify --json of several runs is one document") {
  const SixRuns bench("[ $n = 2 ] && kill -9 $$\necho \"{\\\"number\\\": $n}\"\n");
  const auto result = bench.call({"verify", "@latest", "--json"});
  CHECK(result.code == 1);
  const auto document = result.json();
  CHECK(document["schema_version"] == 1);
  REQUIRE(document["verifications"].size() == 6);
  CHECK(document["verifications"][0]["number"] == 1);
  CHECK(document["verifications"][1]["equal"].is_null());
  CHECK(document["verifications"][1]["exit_code"] == 1);
  CHECK(document["verifications"][5]["number"] == 6);
  CHECK_THAT(result.err, ContainsSubstring("acid-worker ended with SIGKILL"));
}

TEST_CASE("SIGINT stops a verification and those to come, and exits with 130") {
  const SixRuns bench(
      "trap 'touch stopped; exit 130' TERM\ntouch there\nwhile :; do sleep 0.05; done\n");
  acid::test::Running running(bench, {"verify", "small"});
  wait_for(bench, "there");
  kill(running.pid(), SIGINT);
  CHECK(running.wait().code == 130);
  CHECK(bench.has("stopped"));
  CHECK(bench.starts().size() == 1);
}

TEST_CASE("verify refuses what it cannot mean") {
  const SixRuns bench("exit 0\n");
  check_refused(bench.call({"verify", "small", "--from", "2"}), {"6 runs"});
  check_refused(bench.call({"verify", "@latest", "--from", "0"}), {});
  check_refused(bench.call({"verify", "nothing-like-it"}), {});
  CHECK(bench.starts().empty());
}
