#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/data/analytic.hpp"
#include "engine/drivers/threads/threads.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"

namespace acid::test {

/// Parameters that keep a worker busy long enough for others to go on meanwhile; a sanitizer makes
/// each of them cost ten times as much.
#ifdef ACID_SANITIZED
inline constexpr int kLongVector = 1000;
#else
inline constexpr int kLongVector = 5000;
#endif

/// The two rounds of D-PSGD.
inline constexpr const char* kCombineWhileAdapt = "say gradient hear step";
inline constexpr const char* kAdaptThenCombine = "gradient step say hear";

/// Keeps what it is told, and checks the contract that positions never decrease.
class MemoryRecorder final : public Recorder {
 public:
  struct Point {
    Position position;
    double value = 0;
  };
  void sample(const Position& position, std::span<const Value> values) override;
  void progress(const Position& here) override {
    if (when_progress) when_progress(here);
  }
  void note(Severity, std::string_view) override {}
  /// Checks that a worker's events come without gaps.
  void events(int worker, std::int64_t first, std::span<const Event> events) override;

  /// The run resumes a cut: its events need not start at 0.
  void events_may_start_late() { events_may_start_late_ = true; }
  /// Requests a stop once so many samples have been taken.
  void stop_after_samples(int count, std::stop_source source) {
    samples_left_ = count;
    stop_ = std::move(source);
  }

  /// Called with every progress, by the thread that reports it.
  std::function<void(const Position&)> when_progress = {};

  /// The series of the whole run, or of one worker.
  const std::vector<Point>& series(const std::string& metric, int worker = kWholeRun) const;
  double last(const std::string& metric) const { return series(metric).back().value; }
  /// Value at a normalised time that was sampled exactly.
  double at(const std::string& metric, double time) const;
  bool has(const std::string& metric) const { return series_.contains({metric, kWholeRun}); }
  const std::vector<Event>& events_of(int worker) const { return events_.at(worker); }

 private:
  Mutex mutex_;
  std::map<std::pair<std::string, int>, std::vector<Point>> series_;  // written under mutex_
  std::map<int, std::vector<Event>> events_;                          // written under mutex_
  Position last_;
  bool events_may_start_late_ = false;
  int samples_left_ = -1;
  std::stop_source stop_;
};

/// Called by a worker's thread before it computes a gradient. A test can make workers wait there
/// for an event while they are under way, so that their speed does not matter.
using BeforeGradient = std::function<void(int worker, std::int64_t step)>;

using BeforeEvaluation = std::function<void(EvaluationSet)>;

/// Hands everything on to another objective; a test overrides what it watches or changes.
class Forwarding : public Objective {
 public:
  explicit Forwarding(std::unique_ptr<Objective> inner) : inner_(std::move(inner)) {}
  std::size_t dimension() const override { return inner_->dimension(); }
  std::vector<Segment> segments() const override { return inner_->segments(); }
  void start(int w, std::span<float> x, std::span<float> b) const override {
    inner_->start(w, x, b);
  }
  double gradient(int lane, int w, std::int64_t step, std::span<const float> x, std::span<float> b,
                  std::span<float> g) override {
    return inner_->gradient(lane, w, step, x, b, g);
  }
  int evaluation_chunks(EvaluationSet set) const override { return inner_->evaluation_chunks(set); }
  PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> b) override {
    return inner_->evaluate(lane, set, chunk, x, b);
  }
  bool has_accuracy() const override { return inner_->has_accuracy(); }

 protected:
  const std::unique_ptr<Objective> inner_;
};

/// The objective, with a call before each gradient and before each part of an evaluation.
std::unique_ptr<Objective> with(BeforeGradient before, std::unique_ptr<Objective> objective,
                                BeforeEvaluation before_evaluation = {});

/// A run on the quadratic task, small enough to read.
struct Setup {
  nlohmann::json topology = {{"kind", "ring"}};
  int workers = 8;
  std::string algorithm = "ad-psgd";
  const AlgorithmEntry* entry = nullptr;              // used instead of `algorithm`: a listing's
  nlohmann::json options = nlohmann::json::object();  // of the algorithm
  nlohmann::json codec = {};                          // null: none
  nlohmann::json task = nlohmann::json::object();     // of the quadratic
  std::uint64_t seed = 1;
  RunSpec spec;  // workers, topology, method and seeds are filled in by run()
  VirtualOptions virtual_time;
  ThreadsOptions threads;
  bool on_threads = false;
  BeforeGradient before_gradient = {};

  MemoryRecorder recorder;
  Checkpointing checkpointing;
  Outcome run(std::stop_token stop = {});
  /// Calls `driver` with this run, whose objective has so many lanes.
  void with_run(int lanes, std::stop_token stop, const std::function<void(const Run&)>& driver);
};

std::unique_ptr<Objective> quadratic(const nlohmann::json& given, int workers, const Seeds& seeds,
                                     int lanes);

}  // namespace acid::test
