#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/models/model.hpp"
#include "engine/models/prefetcher.hpp"

namespace acid {
namespace {

constexpr std::int64_t kEvaluationChunk = 250;
// For a chunk of sequences, whose vocabulary is large.
constexpr std::int64_t kMostLogits = 1 << 23;
constexpr double kMostAhead = 256 << 20;  // bytes of minibatches gathered ahead

StoredModel start_of(const nlohmann::json& options, const DataShape& shape, const Seeds& seeds) {
  const std::string kind = text(options, "kind");
  const ModelEntry* entry = find_model(kind);
  ACID_ASSERT(entry != nullptr, "model '{}'", kind);
  if (entry->read != nullptr) return entry->read(options, shape);
  StoredModel start{.layout = entry->layout(options, shape), .parameters = {}, .buffers = {}};
  start.parameters.resize(static_cast<std::size_t>(start.layout.parameter_count()));
  start.buffers.resize(static_cast<std::size_t>(start.layout.buffer_count()));
  initialise(start.layout, seeds, start.parameters, start.buffers);
  return start;
}

std::int64_t chunk_rows(const DataShape& shape) {
  if (!shape.tokens) return kEvaluationChunk;
  return std::clamp<std::int64_t>(kMostLogits / shape.labels() / shape.classes, 1,
                                  kEvaluationChunk);
}

std::shared_ptr<const Split> training_of(const Dataset& dataset, const Shards& shards,
                                         const Seeds& seeds) {
  if (dataset.feature_shift == 0) return dataset.train;
  return with_feature_shift(dataset.train, shards, dataset.feature_shift,
                            seeds.derived(Purpose::feature_shift));
}

class Supervised : public Objective {
 public:
  Supervised(ModelRuntime& runtime, const nlohmann::json& model, Dataset dataset,
             const nlohmann::json& partition, int batch_size, int workers, int threads_per_worker,
             const std::string& device, const Seeds& seeds, int lanes, bool prefetch)
      : runtime_(runtime),
        dataset_(std::move(dataset)),
        batch_size_(batch_size),
        threads_per_worker_(threads_per_worker),
        start_(start_of(model, dataset_.shape, seeds)),
        chunk_rows_(chunk_rows(dataset_.shape)),
        shards_(make_shards(*dataset_.train, dataset_.shape.classes, workers, partition, seeds)),
        train_(training_of(dataset_, shards_, seeds)),
        seeds_(seeds),
        sample_(training_sample(dataset_.train->size(), dataset_.test->size(), seeds,
                                dataset_.shape.labels())) {
    for (int worker = 0; worker < workers; ++worker)
      orders_.emplace_back(shards_.of(worker), seeds, worker);
    for (int channel = 0; channel < dataset_.shape.channels; ++channel)
      black_.push_back(dataset_.train->black(channel));
    for (int lane = 0; lane < lanes; ++lane)
      lanes_.push_back({runtime.make(model, dataset_.shape, device), {}});
    const double ahead = 4.0 * lanes * batch_size * static_cast<double>(dataset_.shape.features());
    if (prefetch && ahead <= kMostAhead)
      prefetcher_.emplace(workers, [this](int worker, std::int64_t step, Minibatch& out) {
        gather(worker, step, out);
      });
  }

  std::size_t dimension() const override { return start_.parameters.size(); }
  std::size_t buffer_size() const override { return start_.buffers.size(); }
  std::vector<Segment> segments() const override { return segments_of(start_.layout.parameters); }
  std::vector<Segment> buffer_segments() const override {
    return segments_of(start_.layout.buffers);
  }

  void start(int /*worker*/, std::span<float> x, std::span<float> buffers) const override {
    ACID_ASSERT(x.size() == dimension() && buffers.size() == buffer_size(),
                "{} parameters and {} buffers", x.size(), buffers.size());
    std::ranges::copy(start_.parameters, x.begin());
    std::ranges::copy(start_.buffers, buffers.begin());
  }

  double gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                  std::span<float> buffers, std::span<float> g) override {
    return gradient_in_parts(lane, worker, step, x, buffers, g, {});
  }

  double gradient_in_parts(int lane_index, int worker, std::int64_t step, std::span<const float> x,
                           std::span<float> buffers, std::span<float> g,
                           const GradientReady& ready) override {
    pin_this_thread();
    Lane& lane = lanes_[static_cast<std::size_t>(lane_index)];
    if (prefetcher_)
      prefetcher_->take(worker, step, lane.minibatch);
    else
      gather(worker, step, lane.minibatch);
    Batch batch = lane.minibatch.batch();
    batch.label_smoothing = dataset_.label_smoothing;
    return lane.model->loss_and_gradient(x, buffers, batch, g, ready);
  }

  int evaluation_chunks(EvaluationSet set) const override {
    return static_cast<int>((size_of(set) + chunk_rows_ - 1) / chunk_rows_);
  }

  PartialEvaluation evaluate(int lane_index, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> buffers) override {
    pin_this_thread();
    Lane& lane = lanes_[static_cast<std::size_t>(lane_index)];
    const std::int64_t first = chunk * chunk_rows_;
    const std::int64_t rows = std::min(chunk_rows_, size_of(set) - first);
    ACID_ASSERT(chunk >= 0 && rows > 0, "chunk {} of {}", chunk, evaluation_chunks(set));
    resize(lane.minibatch, rows);
    const Split& split = set == EvaluationSet::training     ? *train_
                         : set == EvaluationSet::validation ? *dataset_.validation
                                                            : *dataset_.test;
    for (std::int64_t row = 0; row < rows; ++row)
      copy_example(split,
                   set == EvaluationSet::training ? sample_[static_cast<std::size_t>(first + row)]
                                                  : first + row,
                   lane.minibatch, row);
    return lane.model->evaluate(x, buffers, lane.minibatch.batch());
  }

  bool has_accuracy() const override { return true; }
  bool has_validation() const override { return dataset_.validation != nullptr; }
  std::vector<std::vector<std::int64_t>> holdings() const override {
    const DataShape& shape = dataset_.shape;
    return count_holdings(shards_, *dataset_.train, shape.tokens ? 1 : shape.classes,
                          static_cast<int>(orders_.size()));
  }

 private:
  struct Lane {
    std::unique_ptr<Model> model;
    Minibatch minibatch;
  };

  std::int64_t size_of(EvaluationSet set) const {
    if (set == EvaluationSet::training) return std::ssize(sample_);
    if (set == EvaluationSet::test) return dataset_.test->size();
    return dataset_.validation ? dataset_.validation->size() : 0;
  }

  void resize(Minibatch& minibatch, std::int64_t rows) const {
    minibatch.features.resize(static_cast<std::size_t>(rows * dataset_.shape.features()));
    minibatch.labels.resize(static_cast<std::size_t>(rows * dataset_.shape.labels()));
  }

  void copy_example(const Split& split, std::int64_t example, Minibatch& to,
                    std::int64_t row) const {
    const auto width = static_cast<std::size_t>(dataset_.shape.features());
    const auto at = static_cast<std::size_t>(row);
    split.copy_features(example, std::span(to.features).subspan(at * width, width));
    const auto labels = static_cast<std::size_t>(dataset_.shape.labels());
    split.copy_labels(example, std::span(to.labels).subspan(at * labels, labels));
  }

  /// Any thread.
  void gather(int worker, std::int64_t step, Minibatch& out) const {
    resize(out, batch_size_);
    std::array<std::int32_t, 64> examples;
    for (std::int64_t row = 0; row < batch_size_;) {
      const auto left = static_cast<std::size_t>(batch_size_ - row);
      const auto some = std::span(examples).first(std::min(examples.size(), left));
      orders_[static_cast<std::size_t>(worker)].read(step * batch_size_ + row, some);
      for (const std::int32_t example : some) copy_example(*train_, example, out, row++);
    }
    if (dataset_.augmentation.any()) augment_rows(worker, step, out);
  }

  /// The changes of an example depend on the worker and the position in its sequence only.
  void augment_rows(int worker, std::int64_t step, Minibatch& out) const {
    const std::uint64_t key =
        seeds_.derived(Purpose::augmentation, static_cast<std::uint32_t>(worker));
    const auto width = static_cast<std::size_t>(dataset_.shape.features());
    for (std::int64_t row = 0; row < batch_size_; ++row)
      augment(dataset_.augmentation, dataset_.shape, black_,
              Stream(key, static_cast<std::uint64_t>(step * batch_size_ + row)),
              std::span(out.features).subspan(static_cast<std::size_t>(row) * width, width));
  }

  /// Thread counts are settings of a thread as well as of the process, so every thread sets them
  /// when it comes here for the first time.
  void pin_this_thread() const {
    thread_local std::pair<const ModelRuntime*, int> pinned;
    const std::pair<const ModelRuntime*, int> wanted(&runtime_, threads_per_worker_);
    if (pinned == wanted) return;
    runtime_.pin_threads(threads_per_worker_);
    pinned = wanted;
  }

  // Immutable after construction.
  ModelRuntime& runtime_;
  const Dataset dataset_;
  const int batch_size_;
  const int threads_per_worker_;
  const StoredModel start_;
  const std::int64_t chunk_rows_;  // examples of an evaluation
  const Shards shards_;
  const std::shared_ptr<const Split> train_;
  const Seeds seeds_;
  const std::vector<std::int32_t> sample_;  // training examples for evaluations
  std::vector<float> black_;                // by channel
  std::vector<DataOrder> orders_;           // they point into shards_
  // Each is used by one thread at a time.
  std::vector<Lane> lanes_;
  std::optional<Prefetcher> prefetcher_;  // last member: its thread reads the members above
};

}  // namespace

std::unique_ptr<Objective> make_supervised(ModelRuntime& runtime, const nlohmann::json& model,
                                           Dataset dataset, const nlohmann::json& partition,
                                           int batch_size, int workers, int threads_per_worker,
                                           const std::string& device, const Seeds& seeds, int lanes,
                                           bool prefetch) {
  ACID_ASSERT(batch_size > 0 && workers > 0 && lanes > 0, "batch {}, {} workers, {} lanes",
              batch_size, workers, lanes);
  return std::make_unique<Supervised>(runtime, model, std::move(dataset), partition, batch_size,
                                      workers, threads_per_worker, device, seeds, lanes, prefetch);
}

}  // namespace acid
