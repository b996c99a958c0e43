#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fields.hpp"
#include "engine/base/rng.hpp"
#include "engine/data/augmentation.hpp"

namespace acid {

/// The shape of one example: channels × height × width floats (flat examples: 1 × 1 × features) and
/// a class. With `tokens`, an example is a sequence, 1 × 1 × its length: whole numbers below
/// `classes`, the vocabulary; the label of each token is the token that follows it.
struct DataShape {
  int channels = 1;
  int height = 1;
  int width = 1;
  int classes = 2;
  bool tokens = false;
  std::int64_t labels() const { return tokens ? width : 1; }
  std::int64_t features() const { return static_cast<std::int64_t>(channels) * height * width; }
};

struct FileDigest {
  std::string path;
  std::string sha256;
};

/// What is known of a data set before a run draws from it; used for plans.
struct DataInfo {
  DataShape shape;
  std::int64_t train_size = 0;
  std::int64_t test_size = 0;
  /// Paths, absolute or as given; digested when a run starts. A folder stands for all images in it
  /// (image_folder_digest).
  std::vector<std::string> files;
  /// A probable mistake in readable data, and what to do about it.
  struct Doubt {
    std::string what, remedy;
  };
  std::vector<Doubt> doubts = {};
  /// A line for each split of data from files (engine/data/survey.hpp).
  std::vector<std::string> splits = {};
  /// Whether features are stored as bytes and divided by 255 before they are normalised; not set
  /// where DatasetEntry::normalisation says so.
  bool are_bytes = false;
  std::int64_t dimension = 0;  // parameters of an analytic task
};

/// Labelled examples. Immutable; any thread may read.
class Split {
 public:
  virtual ~Split() = default;
  virtual std::int64_t size() const = 0;
  /// The class of an example; 0 for a sequence, which has none.
  virtual int label(std::int64_t example) const = 0;
  /// All DataShape::labels() of an example.
  virtual void copy_labels(std::int64_t example, std::span<std::int64_t> out) const {
    out[0] = label(example);
  }
  /// Normalised features of one example, row-major (channel, row, column).
  virtual void copy_features(std::int64_t example, std::span<float> out) const = 0;
  /// The normalised value of a pixel of 0.
  virtual float black(int /*channel*/) const { return 0; }
};

struct Dataset {
  DataShape shape;
  std::shared_ptr<const Split> train;
  std::shared_ptr<const Split> test;
  std::shared_ptr<const Split> validation = {};  // nullptr: no examples were held out
  std::vector<FileDigest> files = {};
  Augmentation augmentation = {};  // for the examples of gradients, not of evaluations
  double label_smoothing = 0;      // in the loss of gradients, not of evaluations
  double feature_shift = 0;        // level of with_feature_shift, applied to the dealt examples
};

/// Mean and standard deviation of one channel, with bytes 0 … 255 scaled to 0 … 1.
struct ChannelStatistics {
  float mean;
  float deviation;
};

/// A classification data set a recipe can name. Options hold every field; `file` fields are
/// paths that exist. Both functions throw Error naming file and byte offset for malformed input.
struct DatasetEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> fields;
  DataInfo (*inspect)(const nlohmann::json& options);
  Dataset (*load)(const nlohmann::json& options);
  /// For images: features are (byte/255 − mean)/deviation, by channel. Empty: what options and
  /// DataInfo::are_bytes say.
  std::span<const ChannelStatistics> normalisation = {};
  /// The examples stay in the processes of a model that also computes there (ProcessModel): load()
  /// refuses, and the shape is unknown.
  bool in_process = false;
};
std::span<const DatasetEntry> dataset_catalog();
const DatasetEntry* find_dataset(std::string_view name);

/// Key of the random order from which validation examples are taken. It comes from the task's own
/// data seed, the field "seed" of `dataset`, else 0, so that it is the same for every method,
/// worker and seed of a run.
std::uint64_t validation_key(const nlohmann::json& dataset);

/// A training set cut in two; both ascend and hold each example once.
struct HeldOut {
  std::vector<std::int32_t> train, validation;
};
/// The first `count` of a random order of the examples are for validation; 0 ≤ count < train_size.
HeldOut hold_out(std::int64_t train_size, std::int64_t count, std::uint64_t key);
/// As above for a data set: held-out examples are no longer in `train`.
Dataset hold_out(Dataset dataset, std::int64_t count, std::uint64_t key);

/// Gives a share of the training examples, drawn by `key`, another label, drawn from the others.
Dataset with_label_noise(Dataset dataset, double share, std::uint64_t key);

/// Which training examples each worker draws from.
struct PartitionEntry {
  std::string_view name;  // "shared", "iid", "contiguous", "sorted", "dirichlet", …
  std::string_view summary;
  std::span<const Field> fields;
  bool by_class = false;  // not possible for sequences
};
std::span<const PartitionEntry> partition_catalog();
/// Whether the partition deals by classes; `partition` is resolved options.
bool looks_at_classes(const nlohmann::json& partition);

/// Example indices per worker. `shared` returns one list for all (see Shards::of). The other kinds
/// give every example to exactly one worker. Their sizes, except for `classes` and `quantity`,
/// differ by at most one, so that the mean of the workers' losses is the loss on the training set;
/// UsageError when there are more workers than examples. `contiguous` cuts the examples in their
/// order into shares (for a text, into its parts); `sorted` cuts the examples, stably sorted by
/// class, into contiguous shares.
///
/// dirichlet (after Hsu et al. 2019, 1909.06335, and NIID-Bench, Li et al. 2021, 2102.02079): the
/// examples of each class are dealt in proportion to p ~ Dir(α·1ₙ), classes in random order. A
/// worker that has its N/n examples takes no more, and p is renormalised over the others. Plain
/// Dirichlet shares would leave some of 64 workers nearly without data in almost every draw.
///
/// classes: each worker has the given number of classes. Every class has equally many workers, to
/// within one, and these share its examples evenly (NIID-Bench's "#C = k"); UsageError when a class
/// would have no worker. quantity: worker sizes are in proportion to p ~ Dir(α·1ₙ), at least one
/// example each; each worker's examples are a random draw.
///
/// `partition` has "kind" and the kind's fields.
struct Shards {
  std::vector<std::vector<std::int32_t>> lists;
  const std::vector<std::int32_t>& of(int worker) const {
    return lists.size() == 1 ? lists[0] : lists[static_cast<std::size_t>(worker)];
  }
};
Shards make_shards(const Split& train, int classes, int workers, const nlohmann::json& partition,
                   const Seeds& seeds);

/// How many examples of each class a worker has, [worker][class]. With one class, or with more than
/// kMostCountedClasses (too many to read), all examples count as class 0.
inline constexpr int kMostCountedClasses = 1000;
std::vector<std::vector<std::int64_t>> count_holdings(const Shards& shards, const Split& train,
                                                      int classes, int workers);

/// Training examples with noise on their features. Worker i of n (from 1) has noise of variance
/// level · i/n: the noise-based feature imbalance of NIID-Bench (Li et al. 2021, 2102.02079). The
/// noise of an example is a function of `key`, so every reader finds the same. Every example must
/// be in one of the shards, which are not `shared`.
std::shared_ptr<const Split> with_feature_shift(std::shared_ptr<const Split> train,
                                                const Shards& shards, double level,
                                                std::uint64_t key);

/// The training examples on which the loss of the consensus mean is measured (train_loss_at_mean),
/// in reading order: the first of a random order of all `train_size`. The order depends only on the
/// run's data seed, so that runs of different methods and partitions use the same examples. There
/// are as many as test examples, so that the cost equals an evaluation's, but at least 1,000
/// labels, at most 10,000 examples, and not more than `train_size`.
std::vector<std::int32_t> training_sample(std::int64_t train_size, std::int64_t test_size,
                                          const Seeds& seeds, std::int64_t labels = 1);
/// How many these are.
std::int64_t training_sample_size(std::int64_t train_size, std::int64_t test_size,
                                  std::int64_t labels = 1);

/// A worker's endless sequence of examples: its shard in a fresh random order every pass. at(k) is
/// a pure function of the seeds, so any position can be read again; step k of a worker with batch
/// size B reads positions kB to kB + B - 1. Keeps a pointer to the shard, which must outlive it and
/// not be empty. Any thread.
class DataOrder {
 public:
  DataOrder(const std::vector<std::int32_t>& shard, const Seeds& seeds, int worker);
  std::int32_t at(std::int64_t position) const;
  /// examples[k] = at(position + k): reads a batch in a third of the time.
  void read(std::int64_t position, std::span<std::int32_t> examples) const;

 private:
  const std::vector<std::int32_t>* shard_;
  std::uint64_t key_;
};

}  // namespace acid
