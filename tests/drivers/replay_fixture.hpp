#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "engine/drivers/replay/replay.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/scratch.hpp"

namespace acid::test {

/// A run on the quadratic task that can be recorded on threads and replayed. Owns its topology.
struct Replayable {
  struct Settings {
    std::string algorithm = "a2cid2";
    const AlgorithmEntry* entry = nullptr;  // instead
    int workers = 3;
    double rate = 2;
    std::int64_t gradients = 2000;
    int dimension = 100;
    std::uint64_t seed = 1;
    nlohmann::json codec = {};
  };
  explicit Replayable(const Settings& settings);

  Outcome record(MemoryRecorder& recorder, const Checkpointing& checkpointing = {},
                 std::stop_token stop = {});
  Outcome replay(const ReplayScript& script, MemoryRecorder& recorder, int threads = 2,
                 const Checkpointing& checkpointing = {}, bool complete = true,
                 std::stop_token stop = {});

  Topology graph;
  RunSpec spec;
  nlohmann::json task;
  ThreadsOptions options;
  BeforeGradient before_gradient = {};  // where it is recorded
};

/// A method with a server, whose answers are heard a gradient later.
const AlgorithmEntry& served_late();
/// One with two hubs that visit a server after three messages each.
const AlgorithmEntry& served_by_hubs();

/// The events as the store keeps them: only the documented fields.
ReplayScript script_of(const MemoryRecorder& recorder, int workers);

/// "", or the first difference between the events of two executions.
std::string difference(const MemoryRecorder& a, const MemoryRecorder& b, int workers);

using Series = std::vector<MemoryRecorder::Point>;
/// Whether values and positions are equal, except seconds.
bool same_points(Series::const_iterator a, Series::const_iterator a_end, Series::const_iterator b,
                 Series::const_iterator b_end);
/// "", or the first metric with different values in two executions.
std::string other_series(const MemoryRecorder& a, const MemoryRecorder& b);

void check_same_end(const Outcome& replayed, const Outcome& recorded);

/// Writes a checkpoint file every so often (in normalised time), and keeps the digests of x.
class CheckpointFolder final : public Checkpoints {
 public:
  explicit CheckpointFolder(double every) : every_(every) {}

  bool due(std::int64_t step, const Position& position) override;
  double next_time() const override { return last_ + every_; }
  bool has(std::int64_t) const override { return false; }
  void save(const Cut& cut) override;

  struct Saved {
    std::string path;
    std::int64_t step = 0;
    Position position;
    std::vector<std::string> digests;  // of x, by worker
  };
  const std::vector<Saved>& saved() const { return saved_; }  // once the run is over
  int count() const { return count_; }                        // any thread

 private:
  const double every_;
  double last_ = 0;
  ScratchFolder folder_;
  std::vector<Saved> saved_;
  std::atomic<int> count_ = 0;
};

/// Makes the workers wait, each time all together have begun so many gradients, until there is
/// another checkpoint; up to a number of checkpoints. Otherwise a run could be over before the
/// thread that saves gets a core.
BeforeGradient waiting_for(const CheckpointFolder& folder, std::int64_t gradients, int checkpoints);

}  // namespace acid::test
