#include "engine/models/process_task.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/models/layout.hpp"
#include "engine/python/model_process.hpp"
#include "engine/worker/arena.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostAtOnce = 250;  // examples of an evaluation
constexpr std::int64_t kRowsOfProbe = 8;

// JSON has no NaN and no infinity: they are texts.
double number_told(const json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr)
                           : value.get<double>();
}

/// The labels of some examples, for making shards. Not used for sequences.
class LabelsOnly final : public Split {
 public:
  LabelsOnly(std::span<const std::int64_t> labels, std::span<const std::int32_t> examples)
      : labels_(labels), examples_(examples) {}
  std::int64_t size() const override { return std::ssize(examples_); }
  int label(std::int64_t example) const override {
    const auto number = static_cast<std::size_t>(examples_[static_cast<std::size_t>(example)]);
    return static_cast<int>(labels_[number]);
  }
  void copy_features(std::int64_t /*example*/, std::span<float> /*out*/) const override {
    ACID_ASSERT(false, "a process has the examples");
  }

 private:
  std::span<const std::int64_t> labels_;
  std::span<const std::int32_t> examples_;
};

/// A split of one of acid's own data sets, in memory that the processes share.
struct SharedSplit {
  std::int64_t rows;
  Arena<float> inputs;
  Arena<std::int64_t> labels;

  SharedSplit(const Split& split, const DataShape& shape, const SharedMemory& memory)
      : rows(split.size()),
        inputs(static_cast<std::size_t>(rows * shape.features()), memory),
        labels(static_cast<std::size_t>(rows * shape.labels()), memory) {
    const auto width = static_cast<std::size_t>(shape.features());
    const auto each = static_cast<std::size_t>(shape.labels());
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      split.copy_features(row, inputs.span().subspan(at * width, width));
      split.copy_labels(row, labels.span().subspan(at * each, each));
    }
  }
  json where(const SharedMemory& memory) const {
    return {{"size", rows},
            {"inputs", memory.offset_of(inputs.data()).value_or(0)},
            {"labels", memory.offset_of(labels.data()).value_or(0)}};
  }
};

/// A process, and shared-memory vectors for values that its caller has elsewhere.
struct ProcessLane {
  ModelProcess process;
  Arena<float> x = {}, g = {}, buffers = {};
  Arena<std::int64_t> examples = {};

  ProcessLane(const json& options, const SharedMemory& memory, int threads)
      : process(options, memory, threads) {}
};

class ProcessObjective final : public Objective {
 public:
  ProcessObjective(const SharedMemory& memory, ProcessTaskOptions options)
      : memory_(memory), options_(std::move(options)) {
    const DatasetEntry* entry = find_dataset(text(options_.dataset, "kind"));
    ACID_ASSERT(entry != nullptr, "data set {}", options_.dataset.dump());
    if (!entry->in_process) share(entry->load(options_.dataset));
    deal(start_processes(), entry->in_process);
  }

  std::size_t dimension() const override { return start_x_.size(); }
  std::size_t buffer_size() const override { return start_buffers_.size(); }
  std::vector<Segment> segments() const override { return segments_of(layout_.parameters); }
  std::vector<Segment> buffer_segments() const override { return segments_of(layout_.buffers); }

  void start(int /*worker*/, std::span<float> x, std::span<float> buffers) const override {
    std::ranges::copy(start_x_.span(), x.begin());
    std::ranges::copy(start_buffers_.span(), buffers.begin());
  }

  double gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                  std::span<float> buffers, std::span<float> g) override {
    return gradient(lane, worker, step, x, buffers, g, /*check=*/false);
  }

  int evaluation_chunks(EvaluationSet set) const override {
    return static_cast<int>((size_of(set) + at_once() - 1) / at_once());
  }

  PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> buffers) override {
    const std::int64_t first = chunk * at_once();
    const std::int64_t rows = std::min(at_once(), size_of(set) - first);
    ACID_ASSERT(chunk >= 0 && rows > 0, "chunk {} of {}", chunk, evaluation_chunks(set));
    return evaluate_rows(lane, set, first, rows, x, buffers);
  }

  bool computes_here() const override { return false; }
  bool has_accuracy() const override { return has_accuracy_; }
  std::vector<std::string> evaluated_names() const override { return evaluated_names_; }
  bool has_validation() const override { return options_.validation > 0; }
  std::vector<std::vector<std::int64_t>> holdings() const override { return holdings_; }

  /// Asks for the first gradient twice, and for an evaluation, so that a fault of a process shows
  /// before anything can be lost. Completes the facts to be recorded.
  void probe(ProcessTask& task) {
    Arena<float> first(dimension(), memory_), second(dimension(), memory_);
    std::vector<float> buffers[2];
    ModelProcess& process = lanes_[0].process;
    double losses[2] = {};
    for (int k = 0; k < 2; ++k) {
      buffers[k].assign(start_buffers_.span().begin(), start_buffers_.span().end());
      losses[k] = gradient(0, 0, 0, start_x_.span(), buffers[k], (k == 0 ? first : second).span(),
                           /*check=*/true);
    }
    const auto same = [](std::span<const float> a, std::span<const float> b) {
      return a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
    };
    const bool repeatable =
        losses[0] == losses[1] && same(first.span(), second.span()) && same(buffers[0], buffers[1]);
    const json evaluated = ask_for_evaluation(0, EvaluationSet::test, 0,
                                              std::min({kRowsOfProbe, at_once(), test_size_}),
                                              start_x_.span(), start_buffers_.span());
    process.understand([&] {
      has_accuracy_ = !evaluated.at("correct").is_null();
      evaluated_names_ = names_in(evaluated);
      task.environment = told_.at("versions");
      task.environment["interface"] = told_.at("interface");
      if (told_.contains("examples"))
        task.environment["examples_sha256"] = sha256_hex(told_.at("examples").get<std::string>());
      for (const auto& file : told_.at("files")) files_.push_back({file.at(0), file.at(1)});
    });
    task.environment["program_sha256"] = sha256_file(model_program());
    task.environment["repeatable"] = repeatable;
    task.environment["start_sha256"] =
        sha256_hex(sha256_hex(start_x_.span()) + sha256_hex(start_buffers_.span()));
    task.files = files_;
    if (!repeatable)
      task.warning = fmt::format(
          "the gradients of {} are not repeatable: the first one, asked for twice, came out {}; "
          "the run cannot be verified. Draw random numbers from torch, NumPy or random, which are "
          "seeded before each gradient, and keep no state between gradients",
          process.file(), differs(first.span(), second.span(), losses));
  }

 private:
  std::int64_t size_of(EvaluationSet set) const {
    if (set == EvaluationSet::training) return std::ssize(sample_);
    return set == EvaluationSet::test ? test_size_ : std::ssize(held_.validation);
  }
  std::int64_t at_once() const { return std::min<std::int64_t>(kMostAtOnce, options_.batch_size); }

  std::string differs(std::span<const float> a, std::span<const float> b,
                      const double* losses) const {
    for (const LayoutTensor& tensor : layout_.parameters) {
      const auto first = static_cast<std::size_t>(tensor.segment.offset);
      const auto size = static_cast<std::size_t>(tensor.segment.size);
      if (std::memcmp(&a[first], &b[first], size * sizeof(float)) != 0)
        return fmt::format("different in '{}'", tensor.segment.name);
    }
    return losses[0] == losses[1] ? "with other buffers"
                                  : fmt::format("with the losses {} and {}", losses[0], losses[1]);
  }

  // Shares a data set of acid's own.
  void share(const Dataset& data) {
    train_.emplace(*data.train, data.shape, memory_);
    test_.emplace(*data.test, data.shape, memory_);
    classes_ = data.shape.classes;
    labels_each_ = data.shape.labels();
    files_ = data.files;
    data_ = {{"shape", {data.shape.channels, data.shape.height, data.shape.width}},
             {"tokens", data.shape.tokens},
             {"train", train_->where(memory_)},
             {"test", test_->where(memory_)}};
  }

  // Starts all processes at once, since loading libraries takes seconds. Returns the number of
  // their training examples.
  std::int64_t start_processes() {
    json request = start_request(options_.model, memory_, options_.seeds.derived(Purpose::init),
                                 options_.threads_per_worker);
    request["data"] = data_.is_null() ? json{{"file", options_.dataset.at("file")},
                                             {"options", options_.dataset.at("options")}}
                                      : data_;
    for (int lane = 0; lane < options_.lanes; ++lane) {
      lanes_.emplace_back(options_.model, memory_, options_.threads_per_worker)
          .process.send(request);
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      json told = lanes_[lane].process.receive();
      if (lane == 0) {
        told_ = std::move(told);
      } else if (told != told_) {
        throw Error(
            fmt::format("two processes of {} differ in parameters, data or imports: model() and "
                        "dataset() must give the same each time; give random generators of your "
                        "own a fixed seed",
                        lanes_[lane].process.file()));
      }
    }
    const std::int64_t train_size = lanes_[0].process.understand([&] {
      layout_ = layout_told(told_);
      test_size_ = told_.at("test");
      return told_.at("train").get<std::int64_t>();
    });
    start_x_ = Arena<float>(static_cast<std::size_t>(layout_.parameter_count()), memory_);
    start_buffers_ = Arena<float>(static_cast<std::size_t>(layout_.buffer_count()), memory_);
    const auto rows = static_cast<std::size_t>(std::max<std::int64_t>(options_.batch_size, 1));
    for (ProcessLane& lane : lanes_) {
      lane.x = Arena<float>(start_x_.size(), memory_);
      lane.g = Arena<float>(start_x_.size(), memory_);
      lane.buffers = Arena<float>(start_buffers_.size(), memory_);
      lane.examples = Arena<std::int64_t>(rows, memory_);
    }
    lanes_[0].process.ask({{"do", "begin"},
                           {"x", offset_of(start_x_.data())},
                           {"buffers", offset_of(start_buffers_.data())}});
    return train_size;
  }

  // Deals the examples to the workers.
  void deal(std::int64_t train_size, bool in_process) {
    Arena<std::int64_t> own(in_process ? static_cast<std::size_t>(train_size) : 0, memory_);
    if (in_process && looks_at_classes(options_.partition)) {
      lanes_[0].process.ask({{"do", "labels"}, {"at", offset_of(own.data())}});
      classes_ = static_cast<int>(std::ranges::max(own.span())) + 1;
    }
    held_ = hold_out(train_size, options_.validation, validation_key(options_.dataset));
    const LabelsOnly labels(in_process ? own.span() : train_->labels.span(), held_.train);
    shards_ = make_shards(labels, classes_, options_.workers, options_.partition, options_.seeds);
    holdings_ = count_holdings(shards_, labels, labels_each_ > 1 ? 1 : classes_, options_.workers);
    sample_ = training_sample(labels.size(), test_size_, options_.seeds, labels_each_);
    for (int worker = 0; worker < options_.workers; ++worker)
      orders_.emplace_back(shards_.of(worker), options_.seeds, worker);
  }

  // The example's number among those of the processes.
  std::int64_t example_of(EvaluationSet set, std::size_t place) const {
    if (set == EvaluationSet::test) return static_cast<std::int64_t>(place);
    if (set == EvaluationSet::validation) return held_.validation[place];
    return held_.train[static_cast<std::size_t>(sample_[place])];
  }

  std::size_t offset_of(const void* memory) const { return memory_.offset_of(memory).value_or(0); }

  /// The offset of these values for a process: where they are if shared, else of their copy in
  /// `copy`.
  std::size_t reach(std::span<const float> values, Arena<float>& copy) const {
    if (const auto offset = memory_.offset_of(values.data())) return *offset;
    std::ranges::copy(values, copy.data());
    return offset_of(copy.data());
  }
  void bring_back(const Arena<float>& copy, std::span<float> values) const {
    if (!memory_.offset_of(values.data())) std::ranges::copy(copy.span(), values.begin());
  }

  double gradient(int lane_index, int worker, std::int64_t step, std::span<const float> x,
                  std::span<float> buffers, std::span<float> g, bool check) {
    ProcessLane& lane = lanes_[static_cast<std::size_t>(lane_index)];
    const auto rows = static_cast<std::size_t>(options_.batch_size);
    std::vector<std::int32_t> examples(rows);
    orders_[static_cast<std::size_t>(worker)].read(step * options_.batch_size, examples);
    std::ranges::transform(examples, lane.examples.data(), [&](std::int32_t example) {
      return held_.train[static_cast<std::size_t>(example)];
    });
    const auto key = static_cast<std::uint32_t>(worker);
    Stream seed(options_.seeds.derived(Purpose::dropout, key), static_cast<std::uint64_t>(step));
    const auto g_at = memory_.offset_of(g.data()).value_or(offset_of(lane.g.data()));
    const json answer = lane.process.ask({{"do", "gradient"},
                                          {"worker", worker},
                                          {"step", step},
                                          {"seed", seed.next64()},
                                          {"set", "train"},
                                          {"rows", rows},
                                          {"examples", offset_of(lane.examples.data())},
                                          {"x", reach(x, lane.x)},
                                          {"buffers", reach(buffers, lane.buffers)},
                                          {"g", g_at},
                                          {"check", check}});
    bring_back(lane.g, g);
    bring_back(lane.buffers, buffers);
    return lane.process.understand([&] { return number_told(answer.at("loss")); });
  }

  static std::vector<std::string> names_in(const json& evaluated) {
    std::vector<std::string> names;
    if (const auto named = evaluated.find("named"); named != evaluated.end())
      for (const auto& [name, mean] : named->items()) names.push_back(name);
    return names;
  }

  json ask_for_evaluation(int lane_index, EvaluationSet set, std::int64_t first, std::int64_t rows,
                          std::span<const float> x, std::span<const float> buffers) {
    ProcessLane& lane = lanes_[static_cast<std::size_t>(lane_index)];
    for (std::int64_t row = 0; row < rows; ++row)
      lane.examples.data()[row] = example_of(set, static_cast<std::size_t>(first + row));
    return lane.process.ask({{"do", "evaluate"},
                             {"set", set == EvaluationSet::test ? "test" : "train"},
                             {"rows", rows},
                             {"examples", offset_of(lane.examples.data())},
                             {"x", reach(x, lane.x)},
                             {"buffers", reach(buffers, lane.buffers)}});
  }

  PartialEvaluation evaluate_rows(int lane_index, EvaluationSet set, std::int64_t first,
                                  std::int64_t rows, std::span<const float> x,
                                  std::span<const float> buffers) {
    const json answer = ask_for_evaluation(lane_index, set, first, rows, x, buffers);
    return lanes_[0].process.understand([&] {
      const json& correct = answer.at("correct");
      const std::int64_t labels = rows * labels_each_;
      const auto weight = static_cast<double>(labels);
      PartialEvaluation part{.loss_sum = number_told(answer.at("loss")) * weight,
                             .correct = correct.is_null() ? -1 : correct.get<std::int64_t>(),
                             .count = labels};
      if (names_in(answer) != evaluated_names_ || correct.is_null() == has_accuracy_)
        throw Error(fmt::format(
            "{}: evaluate() must give the same numbers, by the same names, for every batch",
            lanes_[0].process.file()));
      for (const std::string& name : evaluated_names_)
        part.named.push_back(number_told(answer.at("named").at(name)) * weight);
      return part;
    });
  }

  // Immutable after construction, and after probe().
  const SharedMemory& memory_;
  const ProcessTaskOptions options_;
  json data_, told_;  // told_: the first answer of each process
  std::optional<SharedSplit> train_, test_;
  std::vector<FileDigest> files_;
  Layout layout_;
  Arena<float> start_x_, start_buffers_;
  int classes_ = 1;
  std::int64_t labels_each_ = 1;  // of an example
  std::int64_t test_size_ = 0;
  HeldOut held_;
  Shards shards_;  // by place in held_.train, as is sample_
  std::vector<std::vector<std::int64_t>> holdings_;
  std::vector<std::int32_t> sample_;
  std::vector<DataOrder> orders_;  // they point into shards_
  bool has_accuracy_ = false;
  std::vector<std::string> evaluated_names_;  // in alphabetical order
  // Each is used by one thread at a time.
  std::deque<ProcessLane> lanes_;
};

}  // namespace

ProcessTask make_process_task(const SharedMemory& memory, const ProcessTaskOptions& options) {
  auto objective = std::make_unique<ProcessObjective>(memory, options);
  ProcessTask task;
  objective->probe(task);
  task.objective = std::move(objective);
  return task;
}

}  // namespace acid
