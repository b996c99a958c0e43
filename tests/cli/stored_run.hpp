#pragma once

#include <optional>
#include <string>

#include "engine/base/digest.hpp"
#include "store/queries.hpp"
#include "store/writer.hpp"
#include "tests/cli/scripted_worker.hpp"
#include "tests/store/fixture.hpp"

namespace acid::test {

/// A folder whose store holds a run of four workers and 1000 gradients that was never executed: the
/// test writes what an execution would leave.
struct StoredRun : ScriptedWorker {
  explicit StoredRun(const std::string& script = "exit 1\n")
      : ScriptedWorker(script), store(make_store(path("acid-store"), {run_})), id(run_.id) {}

  /// An attempt with checkpoints at these gradients, of which the newest two are kept, that ends.
  void attempt(RunState end, const std::vector<std::int64_t>& checkpoints,
               const std::optional<Continuation>& continued = std::nullopt) {
    const std::int64_t number =
        store.begin_attempt(id, Lease::of_this_process(), {}, {}, {}, continued);
    RunWriter writer(store.folder(), id, number);
    AttemptResult result;
    for (const std::int64_t gradients : checkpoints) {
      CheckpointRecord record;
      record.step = gradients;
      record.position = {gradients, static_cast<double>(gradients) / 4, 0.5, 0};
      record.path = "checkpoints/" + id + "/" + std::to_string(gradients) + ".safetensors";
      record.sha256 = sha256_hex(record.path);
      record.bytes = 2'000'000;
      record.worker_digests.assign(4, sha256_hex("worker"));
      record.tensor_digests.assign(4, {1});
      writer.checkpoint(record, 2);
      result.position = record.position;
      writer.progress(record.position);
    }
    writer.flush();
    result.state = end;
    if (end == RunState::finished) result.worker_digests.assign(4, sha256_hex("end"));
    store.end_attempt(number, result);
  }
  Continuation from(int number, const nlohmann::json& changed = nullptr) const {
    for (const CheckpointRow& row : checkpoints_of(store, id))
      if (row.number == number) return {row.id, changed};
    FAIL("no checkpoint " << number);
    return {};
  }

 private:
  // A run with the settings that acid run writes, since it checks them before it starts a worker.
  RunRecord planned() const {
    RunRecord run = make_run(1);
    run.settings = told({"plan", "one.toml"})["runs"][0]["settings"];
    return run;
  }
  const RunRecord run_ = planned();

 public:
  Store store;
  const std::string id;
};

}  // namespace acid::test
