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

/// One example: channels × height × width floats (flat ones: 1 × 1 × features) and a class. With
/// `tokens` a sequence, 1 × 1 × its length: whole numbers below `classes`, the vocabulary, and to
/// each the one that follows, which is its label.
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

/// What is known of a data set before a run draws from it; used to plan.
struct DataInfo {
  DataShape shape;
  std::int64_t train_size = 0;
  std::int64_t test_size = 0;
  /// Absolute or as given; digested when a run starts. A folder stands for all images in it
  /// (image_folder_digest).
  std::vector<std::string> files;
  /// What is most likely a mistake, though it can be read, and what to do about it.
  struct Doubt {
    std::string what, remedy;
  };
  std::vector<Doubt> doubts = {};
  /// What was read, a line for each split of data from files (engine/data/survey.hpp).
  std::vector<std::string> splits = {};
};

/// Labelled examples. Immutable; any thread may read.
class Split {
 public:
  virtual ~Split() = default;
  virtual std::int64_t size() const = 0;
  /// The class of an example; 0 of a sequence, which has none.
  virtual int label(std::int64_t example) const = 0;
  /// All DataShape::labels() of an example.
  virtual void copy_labels(std::int64_t example, std::span<std::int64_t> out) const {
    out[0] = label(example);
  }
  /// Normalised features of one example, row-major (channel, row, column).
  virtual void copy_features(std::int64_t example, std::span<float> out) const = 0;
  /// What a pixel of 0 is once it is normalised.
  virtual float black(int /*channel*/) const { return 0; }
};

struct Dataset {
  DataShape shape;
  std::shared_ptr<const Split> train;
  std::shared_ptr<const Split> test;
  std::shared_ptr<const Split> validation = {};  // nullptr: none was held out
  std::vector<FileDigest> files = {};
  Augmentation augmentation = {};  // of the examples of gradients, never of those of evaluations
  double label_smoothing = 0;      // in the loss of gradients, never in that of evaluations
  double feature_shift = 0;        // the level of with_feature_shift, once workers have examples
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
  /// Of images: features are (byte/255 − mean)/deviation, by channel. Empty: they are numbers as
  /// they come.
  std::span<const ChannelStatistics> normalisation = {};
  /// The examples stay in the processes of a model that computes there too (ProcessModel): load()
  /// refuses, and of the shape nothing is known.
  bool in_process = false;
};
std::span<const DatasetEntry> dataset_catalog();
const DatasetEntry* find_dataset(std::string_view name);

/// Key of the order from which validation examples are taken: of the task's own data seed, the
/// field "seed" of `dataset`, else 0, so that it is the same for every method, worker and seed of a
/// run.
std::uint64_t validation_key(const nlohmann::json& dataset);

/// A training set cut in two; both ascend and hold each example once.
struct HeldOut {
  std::vector<std::int32_t> train, validation;
};
/// The first `count` of a random order of the examples are for validation; 0 ≤ count < train_size.
HeldOut hold_out(std::int64_t train_size, std::int64_t count, std::uint64_t key);
/// The same of a data set: what is held out is in `train` no more, whoever looks at it.
Dataset hold_out(Dataset dataset, std::int64_t count, std::uint64_t key);

/// A share of the training examples, drawn by `key`, has another label, drawn among the others.
Dataset with_label_noise(Dataset dataset, double share, std::uint64_t key);

/// Which training examples each worker draws from.
struct PartitionEntry {
  std::string_view name;  // "shared", "iid", "contiguous", "sorted", "dirichlet", …
  std::string_view summary;
  std::span<const Field> fields;
  bool by_class = false;  // has no meaning for sequences
};
std::span<const PartitionEntry> partition_catalog();
/// Whether it deals by classes, or what it deals is told by class; `partition` is resolved options.
bool looks_at_classes(const nlohmann::json& partition);

/// Example indices per worker. `shared` returns one list for all (see Shards::of). The others give
/// every example to exactly one worker, and, but for `classes` and `quantity`, sizes that differ by
/// at most one, so that the mean of the workers' losses is the loss on the training set; UsageError
/// when there are more workers than examples. `contiguous` cuts the examples as they come into
/// shares, of a text its parts; `sorted` cuts the examples, stably sorted by class, into contiguous
/// shares.
///
/// dirichlet (after Hsu et al. 2019, 1909.06335, and NIID-Bench, Li et al. 2021, 2102.02079): the
/// examples of each class are dealt in proportion to p ~ Dir(α·1ₙ), classes in random order; a
/// worker that has its N/n examples takes no more and p is renormalised over the others. Plain
/// Dirichlet shares would leave some of 64 workers nearly without data in almost every draw.
///
/// classes: each worker has the given number of classes, every class as many workers as any other
/// to within one, who share its examples evenly (NIID-Bench's "#C = k"); UsageError when there are
/// classes that nobody would have. quantity: worker sizes in proportion to p ~ Dir(α·1ₙ), at least
/// one example each, of which a worker has a random draw.
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

/// How many examples of each class a worker has, [worker][class]. With one class all are of it,
/// whatever their labels; so it is with more than kMostCountedClasses, which nobody looks at.
inline constexpr int kMostCountedClasses = 1000;
std::vector<std::vector<std::int64_t>> count_holdings(const Shards& shards, const Split& train,
                                                      int classes, int workers);

/// Training examples with noise on their features, of which worker i of n (from 1) has the variance
/// level · i/n: the noise-based feature imbalance of NIID-Bench (Li et al. 2021, 2102.02079). Drawn
/// by `key`, for each example once: whoever reads it finds the same. Every example is in one of the
/// shards, which are not `shared`.
std::shared_ptr<const Split> with_feature_shift(std::shared_ptr<const Split> train,
                                                const Shards& shards, double level,
                                                std::uint64_t key);

/// The training examples on which the loss of the consensus mean is followed (train_loss_at_mean),
/// in the order they are looked at: the first of a random order of all `train_size`, which depends
/// on the run's data seed alone, so that runs of different methods and partitions look at the same.
/// As many as there are test examples, so that it costs what an evaluation costs, but at least
/// 1,000 labels and at most 10,000 examples, and no more than there are.
std::vector<std::int32_t> training_sample(std::int64_t train_size, std::int64_t test_size,
                                          const Seeds& seeds, std::int64_t labels = 1);

/// Worker's endless sequence of examples: its shard in a fresh random order every pass. at(k) is a
/// pure function of the seeds, so any position can be re-read; step k of a worker with batch size B
/// reads positions kB to kB + B - 1. Keeps a pointer to the shard, which must outlive it and not
/// be empty. Any thread.
class DataOrder {
 public:
  DataOrder(const std::vector<std::int32_t>& shard, const Seeds& seeds, int worker);
  std::int32_t at(std::int64_t position) const;
  /// examples[k] = at(position + k): a batch in a third of the time.
  void read(std::int64_t position, std::span<std::int32_t> examples) const;

 private:
  const std::vector<std::int32_t>* shard_;
  std::uint64_t key_;
};

}  // namespace acid
