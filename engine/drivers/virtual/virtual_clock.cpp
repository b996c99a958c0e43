#include "engine/drivers/virtual/virtual_clock.hpp"

#include <algorithm>

#include "engine/recorder/null_recorder.hpp"

namespace acid {
namespace {

// Enough for what cuts vectors into parts; messages cost what those of the run's own vectors do.
constexpr std::size_t kFloats = 16;

/// Vectors of which nothing is ever read.
class NoObjective final : public Objective {
 public:
  explicit NoObjective(std::size_t dimension) : dimension_(dimension) {}
  std::size_t dimension() const override { return dimension_; }
  std::vector<Segment> segments() const override { return {}; }
  void start(int, std::span<float>, std::span<float>) const override {}
  double gradient(int, int, std::int64_t, std::span<const float>, std::span<float>,
                  std::span<float>) override {
    return 0;
  }
  int evaluation_chunks(EvaluationSet) const override { return 0; }
  PartialEvaluation evaluate(int, EvaluationSet, int, std::span<const float>,
                             std::span<const float>) override {
    return {};
  }
  bool has_accuracy() const override { return false; }

 private:
  const std::size_t dimension_;
};

}  // namespace

Outcome run_clock(const RunSpec& spec, const VirtualOptions& options, std::size_t dimension) {
  RunSpec own = spec;
  own.stands_for = spec.travelling(dimension);
  own.backend = &cpu_backend();
  own.budget.target.reset();
  own.keep_events = false;
  own.cadence = {};
  VirtualOptions clock = options;
  clock.threads = VirtualOptions::kClockAlone;
  NoObjective objective(std::min(dimension, std::max<std::size_t>(kFloats, spec.method.fragments)));
  NullRecorder recorder;
  const Checkpointing none;
  return run_virtual({own, objective, recorder, none}, clock);
}

}  // namespace acid
