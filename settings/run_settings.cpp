#include "settings/run_settings.hpp"

#include <fmt/format.h>

#include "engine/base/error.hpp"
#include "engine/base/static_text.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "engine/models/layout.hpp"
#include "engine/recorder/metrics.hpp"
#include "settings/schema.hpp"
#include "settings/sections.hpp"
#include "settings/use.hpp"

namespace acid {
namespace {

using nlohmann::json;
using Run = RunSettings;
using Task = TaskSettings;
using Streams = StreamSettings;
using Checkpoint = CheckpointSettings;
using Record = RecordSettings;

/// The kinds of the catalogs.
template <auto... catalogs>
std::span<const Kind> kinds_in() {
  static const std::vector<Kind> kinds = [] {
    std::vector<Kind> all;
    (add_kinds(all, catalogs()), ...);
    return all;
  }();
  return kinds;
}

constexpr FieldTable kDataset{.kinds = &kinds_in<&dataset_catalog, &analytic_catalog>};
constexpr FieldTable kModel{.kinds = &kinds_in<&model_catalog>};
constexpr FieldTable kPartition{.kinds = &kinds_in<&partition_catalog>, .fallback = "shared"};
constexpr FieldTable kTopology{.kinds = &kinds_in<&topology_catalog>, .fallback = "ring"};
constexpr FieldTable kAugmentation{.fields = kAugmentationFields};

constexpr Fields kTask = fields<Task>(
    {choice<&Task::average_buffers>(
         "buffers", "average,local", "\"average\"",
         "batch-norm statistics: averaged with the parameters, or each worker's own: then the mean "
         "is evaluated with every worker's, its result is the mean of these, and its file has none",
         Values<true, false>{})
         .unused(&use::without_buffers),
     entry<&Task::dataset>("dataset", "the data; a bare name stands for its kind", kDataset)
         .apart(),
     entry<&Task::model>("model", "the network; analytic tasks (quadratic, logistic) have none",
                         kModel)
         .apart()
         .searched(),
     key<&Task::batch_size>("batch_size", "32", "examples per gradient and worker",
                            at_least(1).at_most(1e9))
         .apart()
         .searched()
         .ranked(1)
         .unused(&use::without_gradients),
     entry<&Task::partition>("partition", "how the examples are divided among the workers",
                             kPartition)
         .apart()
         .ranked(1),
     key<&Task::validation>("validation", "null",
                            "examples held out: how many or, below 1, which share",
                            above(0).at_most(1e9))
         .as(FieldType::number)
         .later()
         .said("a whole number, or a share below 1",
               "examples taken out of the training set and never trained on, for validation_loss "
               "and validation_accuracy; the same for all methods, workers and seeds",
               "validation = 0.1")
         .ranked(-1),
     key<&Task::label_noise>("label_noise", "null",
                             "share of the training labels replaced by another class, drawn anew "
                             "for each seed; never those of tests",
                             at_least(0).at_most(1))
         .later(),
     key<&Task::label_smoothing>("label_smoothing", "null",
                                 "share of each label that is spread evenly over all classes, in "
                                 "the loss of gradients; never in evaluations",
                                 at_least(0).below(1))
         .later(),
     key<&Task::feature_shift>("feature_shift", "null",
                               "variance of Gaussian noise on the training features of the last of "
                               "N workers; worker i = 1, 2, … has i/N of it; the same in every "
                               "pass, never in tests",
                               at_least(0).at_most(1e6))
         .later(),
     key_of<Task>("augmentation", FieldType::section, "",
                  "random changes of the images of gradients, drawn by each worker; evaluations "
                  "see them as they are",
                  {},
                  [](Task& task, const json& value, const Field&) {
                    task.augmentation = augmentation_of(value);
                  })
         .of(kAugmentation)
         .later()});

constexpr Fields kWorkers = fields<Run>({key<&Run::workers>(
    "count", "", "number of workers; one alone exchanges with none", at_least(1).at_most(1e6))});

// A cadence or a limit, kept as given until the recipe is resolved.
template <class T>
constexpr Key<T> positive(std::string_view name, std::string_view help) {
  return key_of<T>(name, FieldType::number, "null", help, above(0));
}
constexpr Bounds kCount = at_least(1).at_most(1e15);
template <class T>
constexpr Key<T> count(std::string_view name, std::string_view help) {
  return key_of<T>(name, FieldType::integer, "null", help, kCount);
}

constexpr StaticText kTargets = StaticText().names(kMetricsIn<&Metric::target>, ",", ",");
constexpr Fields kTarget = fields<Budget::Target>(
    {key<&Budget::Target::metric>("metric", "", "what to watch, such as eval_accuracy")
         .among(kTargets.view()),
     key<&Budget::Target::value>("value", "", "stop when the metric reaches it")});
constexpr std::uint8_t kLength = 1, kCadence = 1, kClock = 2;  // Field::either
constexpr Fields kBudget = fields<Budget>(
    {positive<Budget>("epochs", "samples over all workers divided by the data set's size")
         .either(kLength),
     key<&Budget::gradients>("gradients", "null", "gradients in total, over all workers", kCount)
         .either(kLength),
     key<&Budget::normalised_time>("normalised_time", "null", "gradients per worker", above(0))
         .either(kLength),
     key<&Budget::seconds>("seconds", "null",
                           "stop after this time, wall clock or simulated, if it comes first",
                           above(0)),
     key<&Budget::bytes>("bytes", "null", "stop after this much traffic if it comes first",
                         above(0)),
     section<kTarget, &Budget::target>("target", "ends a run as soon as a metric is reached",
                                       "null")});

constexpr Fields kEvaluation = fields<Cadence>(
    {positive<Cadence>("every_epochs", "evaluate loss and accuracy once per this many epochs")
         .either(kCadence),
     count<Cadence>("every_gradients", "evaluate once per this many gradients in total")
         .either(kCadence),
     key<&Cadence::evaluate_every>("every_time", "null",
                                   "evaluate once per this much normalised time", above(0))
         .either(kCadence),
     key<&Cadence::every_seconds>("every_seconds", "null",
                                  "evaluate once per this many seconds, wall clock or simulated",
                                  above(0))
         .added()
         .either(kCadence | kClock),  // by the clock every sample evaluates, and no log says which
     key<&Cadence::consensus_every>("consensus_every_time", "null",
                                    "sample the consensus distance, normalised time", above(0))
         .either(kClock),
     key<&Cadence::consensus_samples>(
         "consensus_samples", "null",
         "how many samples of the consensus distance a run has, besides one at every evaluation: "
         "at first one per unit of normalised time, then ever fewer",
         at_least(1).at_most(1e9))
         .later()
         .either(kClock),
     choice<&Cadence::workers>(
         "workers", "end,always,never", "\"end\"",
         "when to evaluate each worker's own model too, which costs as much as the mean each; "
         "always: at every evaluation",
         Values<WorkerEvaluation::at_end, WorkerEvaluation::always, WorkerEvaluation::never>{})});

// In the help of every cadence, because errors show the help of one key only.
#define ACID_UNLESS_CADENCE                                                                \
  " (default: every 30 s, or less often if it costs more than 2 % of the time, and at an " \
  "interruption)"
constexpr Fields kCheckpoint = fields<Checkpoint>(
    {positive<Checkpoint>("every_epochs",
                          "checkpoint once per this many epochs" ACID_UNLESS_CADENCE)
         .either(kCadence),
     count<Checkpoint>("every_gradients",
                       "checkpoint once per this many gradients in total" ACID_UNLESS_CADENCE)
         .either(kCadence),
     key<&Checkpoint::every_time>(
         "every_time", "null", "checkpoint once per this much normalised time" ACID_UNLESS_CADENCE,
         above(0))
         .either(kCadence),
     key<&Checkpoint::every_seconds>(
         "every_seconds", "null",
         "checkpoint once per this many wall-clock seconds" ACID_UNLESS_CADENCE, above(0))
         .either(kCadence),
#undef ACID_UNLESS_CADENCE
     key<&Checkpoint::keep>("keep", "2", "how many checkpoints of a run to keep",
                            at_least(1).at_most(1e6))});

constexpr Fields kRecord = fields<Record>(
    {key<&Record::events>("events", "null",
                          "keep the event log (default: on threads and mpi, which acid verify "
                          "replays from it; not on virtual, which it executes again)"),
     key_of<Record>("metrics", FieldType::texts, "\"all\"", "which metrics are kept", {},
                    [](Record& record, const json& value, const Field&) {
                      if (value.is_array()) record.metrics.emplace(value.begin(), value.end());
                    })
         .apart()
         .said("\"all\" or a list of names", "",
               "metrics = [\"eval_loss\", \"consensus_distance\"]")
         .ranked(-1)});

constexpr Bounds kSeed = at_least(0).at_most(9.2e18);
constexpr Fields kStreams = fields<Streams>(
    {key<&Streams::init>("init", "null", "seed of the start point", kSeed)
         .later()
         .unused(&use::init_seed),
     key<&Streams::data>("data", "null", "seed of partition, data order and gradient noise", kSeed)
         .later()
         .unused(&use::without_gradients),
     key<&Streams::gossip>("gossip", "null", "seed of the edges' clocks", kSeed)
         .later()
         .unused(&use::gossip_seed),
     key<&Streams::compute>("compute", "null", "seed of the compute model and random slowdowns",
                            kSeed)
         .later()
         .unused(&use::compute_seed)});

const FieldTable kCodec{codec_fields(), &kinds_in<&codec_catalog>, "none"};
constexpr Fields kMethod = fields<Run>(
    {key_of<Run>("codec", FieldType::section, "", "how messages are compressed").of(kCodec).apart(),
     key_of<Run>("label", FieldType::text, "null",
                 "name in tables and charts; default: the method's")
         .apart()
         .said("", "", "label = \"AD-PSGD, rate 2\""),
     key_of<Run>("search", FieldType::table, "null",
                 "instead of [search]: settings and keys of this algorithm, as many values as the "
                 "others try")
         .apart()
         .said("a table of lists", "", "search = { optimizer.learning_rate = [0.2, 0.4] }"),
     key_of<Run>("set", FieldType::table, "null", "settings of this algorithm alone")
         .apart()
         .said("a table of keys", "", "set = { optimizer.learning_rate = 0.1 }")});
constexpr FieldTable kAlgorithm{kMethod.fields, &kinds_in<&algorithm_catalog>};

constexpr Fields kRun = fields<Run>(
    {section<kTask, &Run::task>("task", "what is trained, and on what"),
     key_of<Run>("optimizer", FieldType::section, "",
                 "how a gradient becomes a step, of every algorithm alike", {}, &read_optimizer)
         .of(optimizer_table)
         .searched()
         .unused(&use::without_gradients),
     section<kWorkers>("workers", "how many workers train"),
     entry<&Run::topology>("topology", "which workers may talk to each other", kTopology)
         .searched()
         .unused(&use::topology),
     section<kBudget, &Run::budget>(
         "budget",
         "how long a run is: epochs, gradients or normalised_time; seconds, bytes and target end "
         "it earlier"),
     section<kStreams, &Run::streams>("streams", "seeds held fixed while those of the runs vary")
         .ranked(3),
     key_of<Run>("execution", FieldType::section, "", "where and how a run is executed")
         .of(execution_table)
         .ranked(2),
     section<kEvaluation, &Run::cadence>("evaluation",
                                         "when metrics are sampled: one of the cadences")
         .ranked(1),
     section<kCheckpoint, &Run::checkpoint>("checkpoint", "when a run is saved")
         .placement()
         .ranked(2),
     section<kRecord, &Run::record>("record", "what is kept besides the curves").ranked(2),
     entry<&Run::algorithm>("algorithm", "what is compared: a table [[algorithms]] for each",
                            kAlgorithm)});

RunSettings settings_of(const json& resolved) {
  RunSettings settings;
  kRun.fill(settings, resolved);
  settings.execution = execution_of(resolved.at("execution"), settings.workers);
  if (settings.scales_with_workers && settings.task.batch_size)
    settings.schedule.scale = static_cast<double>(*settings.task.batch_size) * settings.workers /
                              number(resolved.at("optimizer").at("schedule"), "reference_batch");
  settings.seed = resolved.value("seed", settings.seed);
  return settings;
}

[[noreturn]] void refuse(const std::exception& error) {
  throw StoreError(
      fmt::format("settings of a run are not as this acid writes them ({}): another version wrote "
                  "them, or the database was altered outside acid; 'acid run RECIPE' stores them "
                  "again",
                  error.what()));
}

template <class Fill>
auto filled(Fill fill) {
  try {
    return fill();
  } catch (const json::exception& error) {
    refuse(error);
  } catch (const std::logic_error& error) {  // a worker's number is no number
    refuse(error);
  }
}

}  // namespace

KeyRole role_of_key(std::string_view key) {
  KeyRole role;
  // Its name stands for the numbers that a run takes from it.
  if (key == "execution.virtual.machine") return role;
  const FieldTable* table = &run_table();
  while (table != nullptr && !key.empty()) {
    const std::string_view name = key.substr(0, key.find('.'));
    key.remove_prefix(std::min(key.size(), name.size() + 1));
    const Field* field = table->find(name);
    if (field == nullptr && table->kinds != nullptr)  // no two kinds use a name for both
      for (const FieldTable::Kind& kind : table->kinds())
        for (const Field& one : kind.fields)
          if (one.name == name && (field == nullptr || one.placement)) field = &one;
    if (field == nullptr) break;
    role.is_placement |= field->placement;
    role.is_file = field->type == FieldType::file;
    table = field->table;
  }
  return role;
}

Seeds StreamSettings::seeds(std::uint64_t run_seed) const {
  Seeds seeds(run_seed);
  seeds.init = init.value_or(run_seed);
  seeds.data = data.value_or(run_seed);
  seeds.gossip = gossip.value_or(run_seed);
  seeds.compute = compute.value_or(run_seed);
  return seeds;
}

std::string graph_name(const json& topology) {
  return topology.is_null() ? "any" : text(topology, "kind");
}

bool is_by_worker(const json& table) {
  for (const auto& [key, value] : table.items())
    if (key.find_first_not_of("0123456789") != std::string::npos) return false;
  return true;
}

RunSettings settings_from(const json& resolved) {
  return filled([&] { return settings_of(resolved); });
}

TaskSettings task_from(const json& resolved) {
  return filled([&] {
    TaskSettings task;
    kTask.fill(task, resolved.at("task"));
    return task;
  });
}

const FieldTable& run_table() {
  static constexpr FieldTable kTable = table_of<kRun>();
  return kTable;
}

bool goes_on_without_lost(const RunSettings& settings) {
  if (!settings.execution.mpi || !settings.execution.mpi->go_on) return false;
  return meets(algorithm_of(settings.algorithm).peers);
}

bool sends_own_vectors(const RunSettings& settings, std::int64_t parameters) {
  const auto larger = settings.execution.simulation.network.stands_for();
  return larger && !settings.execution.entry().simulates &&
         *larger != static_cast<std::size_t>(parameters);
}

}  // namespace acid
