// A run's records in its store, for checks without acid.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>

#include "engine/base/digest.hpp"
#include "engine/base/rng.hpp"
#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/sealed.hpp"

namespace acid::test {
namespace {

// On threads, and so short that not every sample is taken in time.
constexpr const char* kRecorded = R"(
seeds = [7]
task.dataset = { kind = "quadratic", dimension = 64, heterogeneity = 1.0 }
optimizer.learning_rate = 0.02
workers.count = 3
topology = { kind = "edges", edges = "graph.txt" }
budget.gradients = 600
algorithms = [{ kind = "a2cid2" }]
evaluation.every_time = 0.34
checkpoint.every_time = 0.5
execution.driver = "threads"
)";

using Words = std::vector<std::string>;
const Words kVirtual{"execution.driver=virtual"};

Words of_algorithm(const std::string& table) { return {"algorithms=[{ kind = " + table + " }]"}; }

struct RecordedRun {
  Folder folder;
  std::string id;
  explicit RecordedRun(const Words& settings = {}) {
    folder.write("graph.txt", "0 1\n1 2\n");
    folder.write("r.toml", kRecorded);
    Words command{"run", "r.toml"};
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    folder.done(command);
    id = folder.runs()[0]["id"];
  }
  nlohmann::json show() const { return folder.shown(id); }
  Result verify(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"verify", id, "--json"});
    return folder.call(more);
  }
  std::string one(const std::string& sql) const {
    const Store store(folder.path("acid-store"), Store::Access::read);
    sqlite::Statement select(store.impl().connection(), sql);
    return select.step() ? select.text(0) : "nothing";
  }
  void alter(const std::string& sql) const { write_as_acid(folder.path("acid-store"), sql); }
};

}  // namespace

TEST_CASE("a file of edges is among a run's files, and the data's seeds among its seeds") {
  const RecordedRun run;
  const auto shown = run.show();
  CHECK_THAT(shown["files"].dump(), ContainsSubstring(sha256_hex(std::string_view("0 1\n1 2\n"))));
  CHECK(shown["seeds"]["workers"]["data_set"][2] == Seeds(7).derived(Purpose::data_set, 2));
}

TEST_CASE("the store has the first eight bytes of a tensor's digest in their order") {
  const RecordedRun run(kVirtual);
  // The only tensors are x and x̃, and the SHA-256 of x is beside them.
  CHECK(run.one("SELECT count(*) > 0 FROM cut_digest_list") == "1");
  CHECK(run.one("SELECT count(*) FROM cut_digest_list"
                " WHERE lower(hex(substr(tensors, 1, 8))) <> substr(digest, 1, 16)") == "0");
}

TEST_CASE("what a run on threads was too late for is said and counted") {
  const RecordedRun run;
  const auto shown = run.show();
  // Samples are due at 0, 0.34, …, 199.92, the last one with the last gradient, which is the end,
  // and checkpoints at 0.5, …, 199.5: each is taken or skipped.
  const std::string taken =
      run.one("SELECT count(*) FROM points_view WHERE metric = 'consensus_distance'");
  const auto samples = shown["realised"]["samples_skipped"].get<std::int64_t>();
  CHECK(std::stoll(taken) + samples == 589);
  CHECK(shown["realised"]["checkpoints_skipped"].get<std::size_t>() + shown["checkpoints"].size() ==
        399);
  CHECK_THAT(run.one("SELECT text FROM log_list WHERE text LIKE '%missing%'"),
             ContainsSubstring(fmt::format("{} sample", samples)));
  CHECK_THAT(run.folder.call({"show", run.id}).out,
             ContainsSubstring(fmt::format("{} samples, ", samples)));

  const RecordedRun served(of_algorithm("\"a-psgd\""));
  const auto realised = served.show()["realised"];
  CHECK_THAT(
      served.folder.call({"show", served.id}).out,
      ContainsSubstring(fmt::format(
          "{} samples, {} evaluations, {} checkpoints", realised["samples_skipped"].get<int>(),
          realised["evaluations_skipped"].get<int>(), realised["checkpoints_skipped"].get<int>())));
}

TEST_CASE("a run whose gradients began at other parameters is refused by verify, by name") {
  const RecordedRun run;
  CHECK(run.verify().code == 0);
  run.alter(
      "UPDATE attempts SET environment = json_remove(environment, '$.event_version', '$.metrics')");
  check_refused(run.verify(), {"events of version 1", run.id});

  // Without mixing both versions are equal.
  Words settings = of_algorithm("\"ad-psgd\"");
  const RecordedRun unmixed(settings);
  unmixed.alter(
      "UPDATE attempts SET environment = json_remove(environment, '$.event_version', '$.metrics'),"
      " seeds = json_remove(seeds, '$.workers.data_set', '$.training_sample');"
      "DELETE FROM file_digests;"
      "DELETE FROM points WHERE series IN (SELECT id FROM series WHERE metric IN"
      " ('train_loss_at_mean', 'worker_loss', 'worker_loss_worst', 'worker_accuracy_worst'));"
      "DELETE FROM series WHERE metric IN"
      " ('train_loss_at_mean', 'worker_loss', 'worker_loss_worst', 'worker_accuracy_worst')");
  const auto verified = unmixed.verify();
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);
  CHECK(unmixed.verify({"--from", "1"}).code == 2);

  settings.push_back(kVirtual[0]);
  const RecordedRun simulated(settings);
  simulated.alter(
      "UPDATE attempts SET environment = json_remove(environment, '$.event_version', '$.metrics')");
  check_refused(simulated.verify(), {"whose simulated seconds were others", simulated.id});
}

namespace {

std::string of_version(int version) {
  return fmt::format(
      "UPDATE attempts SET environment = json_set(environment, '$.event_version', {})", version);
}

/// For events of that version, verify accepts runs of pairs and refuses runs of `algorithm`.
void check_older(int version, const std::string& algorithm, const std::string& why) {
  const RecordedRun of_pairs;
  of_pairs.alter(of_version(version));
  CHECK(of_pairs.verify().code == 0);
  const RecordedRun run(of_algorithm("\"" + algorithm + "\""));
  CHECK(run.verify().code == 0);
  run.alter(of_version(version));
  check_refused(run.verify(), {why, run.id});
}

}  // namespace

TEST_CASE("runs whose messages were numbered, or means rounded, otherwise are refused by verify") {
  check_older(2, "a-psgd", "numbered otherwise");
  check_older(3, "d-psgd", "events of version 3, whose means were rounded");
}

TEST_CASE("all-reduces that were faster than the cards of nodes are refused by verify, by name") {
  Words settings = of_algorithm("\"ar-sgd\"");
  settings.push_back(kVirtual[0]);
  settings.push_back(
      "execution.virtual.network={bandwidth_bytes_per_second=100,workers_per_node=2,"
      "edges=[{edge=[0,1],bandwidth_bytes_per_second=1000}]}");
  const RecordedRun run(settings);
  CHECK(run.verify().code == 0);
  run.alter(of_version(5));
  check_refused(run.verify(), {"faster than the card of their node", run.id});
}

TEST_CASE(
    "runs of version 4 of events verify, and those of a version to come are refused as such") {
  const RecordedRun run(of_algorithm("\"d-psgd\""));
  run.alter(of_version(4));
  CHECK(run.verify().code == 0);
  run.alter(of_version(99));
  check_refused(run.verify(), {"events of version 99, which this acid does not know", run.id});
}

namespace {

/// The series of a metric as if these attempts had not recorded it.
void lose(const RecordedRun& run, const std::string& metric, const std::string& attempts = "1") {
  run.alter(
      fmt::format("DELETE FROM points WHERE series IN {0}; DELETE FROM series WHERE id IN {0}",
                  fmt::format("(SELECT id FROM series WHERE metric = '{}' AND attempt IN"
                              " (SELECT id FROM attempts WHERE {}))",
                              metric, attempts)));
}
/// The acid of the attempts had all metrics but this one.
void forget(const RecordedRun& run, const std::string& metric, const std::string& attempts = "1") {
  run.alter(
      fmt::format("UPDATE attempts SET environment = json_set(environment, '$.metrics',"
                  " (SELECT json_group_array(value) FROM json_each(environment, '$.metrics')"
                  "  WHERE value <> '{}')) WHERE {}",
                  metric, attempts));
}

}  // namespace

TEST_CASE("a run recorded before the newest metric still verifies, and a lost series is noticed") {
  const std::string metric = "consensus_distance";
  const RecordedRun run(kVirtual);
  CHECK_THAT(run.show()["attempts"][0]["environment"]["metrics"].dump(), ContainsSubstring(metric));
  lose(run, metric);
  const auto lost = run.verify();
  CHECK(lost.code == 4);
  CHECK_THAT(lost.out, ContainsSubstring(metric + " was not recorded"));
  forget(run, metric);
  const auto verified = run.verify();
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);
  // Acids that listed no metrics had those of then.
  run.alter("UPDATE attempts SET environment = json_remove(environment, '$.metrics')");
  CHECK(run.verify().code == 4);
}

TEST_CASE("a run that an acid with one more metric went on with verifies") {
  const std::string metric = "consensus_distance";
  const RecordedRun run(kVirtual);
  run.alter(
      "UPDATE attempts SET outcome = 'interrupted'; DELETE FROM results;"
      " DELETE FROM worker_results; DELETE FROM edges; DELETE FROM artifacts");
  run.folder.done({"resume", run.id});
  REQUIRE(run.show()["attempts"].size() == 2);
  lose(run, metric, "number = 1");
  CHECK(run.verify().code == 4);
  forget(run, metric, "number = 1");
  const auto verified = run.verify();
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);
}

TEST_CASE("another version of OpenBLAS than then is among what changed") {
  const RecordedRun run;
  run.alter(
      "UPDATE attempts SET environment = json_set(environment, '$.model_runtime',"
      " json('{\"blas_config\": \"OpenBLAS 0.3.21 DYNAMIC_ARCH Haswell MAX_THREADS=64\"}'))");
  const auto verified = run.folder.call({"verify", run.id});
  CHECK(verified.code == 0);
  CHECK_THAT(verified.out, ContainsSubstring("model_runtime/blas_config: then OpenBLAS 0.3.21"));
}

TEST_CASE("the vectors of single workers at the checkpoints of a run can be exported") {
  const RecordedRun run(kVirtual);
  run.folder.done({"export", run.id, "--format", "checkpoints", "-o", "cuts"});
  const auto checkpoints = run.show()["checkpoints"];
  for (const auto& checkpoint : checkpoints) {
    const std::string file = fmt::format("cuts/{:06}.safetensors", checkpoint["number"].get<int>());
    INFO(file);
    CHECK(run.folder.has(file) == !checkpoint["removed"].get<bool>());
    if (!run.folder.has(file)) continue;
    const std::string content = run.folder.read(file);
    CHECK(checkpoint["sha256"] == sha256_hex(std::string_view(content)));
    CHECK_THAT(content, ContainsSubstring("snapshot/x"));
  }
  CHECK(run.folder.call({"export", run.id, "--format", "checkpoints"}).code == 2);  // no folder
}

// An earlier acid recorded only this much of a run that reached its target.
TEST_CASE("a last sample that events follow does not pass verification") {
  const RecordedRun run(
      {"budget.gradients=6000", "budget.target={ metric = \"eval_loss\", value = 0.5 }",
       kVirtual[0], "execution.virtual.network={ latency_seconds = 0.5, gradient_seconds = 1.0 }",
       "evaluation.every_time=5.0"});
  CHECK(run.verify().code == 0);
  CHECK(run.one("SELECT max(value) FROM points_view WHERE metric = 'exchanges'") ==
        run.one("SELECT printf('%.1f', exchanges_done) FROM result_list"));
  run.alter(
      "DELETE FROM points WHERE tick = (SELECT max(tick) FROM ticks);"
      "DELETE FROM series WHERE id NOT IN (SELECT series FROM points);"
      "UPDATE series SET count = (SELECT count(*) FROM points WHERE series = id),"
      " last_tick = (SELECT max(tick) FROM points WHERE series = id),"
      " last = (SELECT value FROM points WHERE series = id ORDER BY tick DESC LIMIT 1),"
      " best = (SELECT min(value) FROM points WHERE series = id)"
      " WHERE best IS NOT NULL OR better = 0");
  const auto verified = run.verify();
  INFO(verified.out);
  CHECK(verified.code == 4);
  CHECK_THAT(verified.out, ContainsSubstring("was not recorded"));
}

TEST_CASE("a run is verified from a checkpoint that no sample but the last follows") {
  const RecordedRun run({"task.dataset.dimension=16384", "budget.gradients=3000",  // long enough
                         "evaluation.every_time=1000", "checkpoint.every_time=100"});
  const auto verified = run.verify({"--from", run.show()["checkpoints"].back()["number"].dump()});
  INFO(verified.out);
  CHECK(verified.code == 0);
}

TEST_CASE("a checkpoint of another layout is neither gone on from nor verified") {
  Words settings = of_algorithm("\"a-psgd\"");
  settings.insert(settings.end(), {"task.dataset.dimension=16384", "budget.gradients=3000",
                                   "evaluation.every_time=100", "checkpoint.every_time=100"});
  const RecordedRun run(settings);
  const auto checkpoint = run.show()["checkpoints"].back();
  const std::string number = checkpoint["number"].dump();
  CHECK(run.verify({"--from", number}).code == 0);
  const std::string path = run.one("SELECT path FROM checkpoints ORDER BY id DESC LIMIT 1");
  std::string content = run.folder.read("acid-store/" + path);
  const std::size_t at = content.find("threads-server/");
  REQUIRE(at != std::string::npos);
  content[at + 15] = '1';
  run.folder.write("acid-store/" + path, content);
  run.alter(fmt::format("UPDATE checkpoints SET sha256 = '{}' WHERE path = '{}'",
                        sha256_hex(std::string_view(content)), path));
  check_refused(run.verify({"--from", number}),
                {path, "'threads-server/1', not 'threads-server/", "without --from"});
  run.alter(
      "UPDATE attempts SET outcome = 'interrupted'; DELETE FROM results;"
      " DELETE FROM worker_results; DELETE FROM edges; DELETE FROM artifacts");
  check_ended(run.folder.call({"resume", run.id}), 2,
              {"'threads-server/1', not 'threads-server/", "--force"});
}

TEST_CASE("what is a hub's counts in the digests of its own workers") {
  Words settings = of_algorithm("\"halos\", hubs = 2, steps = 2, every = 2");
  settings.push_back(kVirtual[0]);
  const RecordedRun run(settings);  // workers 0 and 1 have the first hub, worker 2 the second
  CHECK(run.verify().code == 0);
  const auto alike = [&](int one, int other) {  // but for x and phi, the workers' own
    return run.one(fmt::format(
        "SELECT substr(a.tensors, 17) = substr(b.tensors, 17) FROM cut_digests a, cut_digests b"
        " WHERE a.checkpoint = b.checkpoint AND a.worker = {} AND b.worker = {}"
        " ORDER BY a.checkpoint DESC LIMIT 1",
        one, other));
  };
  CHECK(alike(0, 1) == "1");
  CHECK(alike(1, 2) == "0");
}

}  // namespace acid::test
