// Every key that a recipe can have has an effect, or the recipe compiler says why it has none. The
// keys come from their declarations, so a new key is tested automatically: it is set to a value
// other than its default, in a recipe where it should matter, and the run is executed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/base/digest.hpp"
#include "engine/data/dataset.hpp"
#include "engine/methods/method.hpp"
#include "engine/models/layout.hpp"
#include "engine/topology/topology.hpp"
#include "recipes/plan.hpp"
#include "settings/run_settings.hpp"
#include "tests/catch.hpp"
#include "tests/cli/data_files.hpp"
#include "worker/compose.hpp"

using namespace acid;
using nlohmann::json;

namespace {
using Overrides = std::vector<std::string>;
// A small recipe in which most keys can matter; tables that the tests look into are written out.
constexpr const char* kBase = R"(
[task]
dataset = { kind = "logistic", dimension = 5, train = 96, test = 40 }
batch_size = 4
[optimizer]
momentum = 0.5
weight_decay = 0.01
[optimizer.schedule]
kind = "step"
[workers]
count = 8
[topology]
kind = "ring"
[budget]
gradients = 240
target = { metric = "eval_loss", value = 0.001 }
[[algorithms]]
kind = "a2cid2"
[execution.virtual]
compute = { kind = "lognormal", sigma = 0.5 }
random_slowdown = { probability = 0.1, factor = 2.0 }
pauses = [{ worker = 1, at_seconds = 3.0, for_seconds = 2.0 }]
[execution.virtual.network]
latency_seconds = 0.02
bandwidth_bytes_per_second = 10000.0
edges = [{ edge = [0, 1], latency_seconds = 0.04, bandwidth_bytes_per_second = 5000.0 }]
[evaluation]
every_time = 3.0
[record]
events = true
)";

struct Key {
  std::string path, kind, name;  // the table's path and kind, and the key's name
  Field field;
  std::string full() const { return path + "." + name; }
};

void add_keys(std::vector<Key>& keys, const std::string& path, const FieldTable& table);

void add_keys(std::vector<Key>& keys, const std::string& path, std::string_view kind,
              std::span<const Field> fields) {
  for (const Field& field : fields)
    if (field.table == nullptr)
      keys.push_back({path, std::string(kind), std::string(field.name), field});
    else
      add_keys(
          keys,
          fmt::format("{}.{}{}", path, field.name, field.type == FieldType::sections ? ".0" : ""),
          *field.table);
}

void add_keys(std::vector<Key>& keys, const std::string& path, const FieldTable& table) {
  add_keys(keys, path, "", table.fields);
  if (table.kinds != nullptr)
    for (const FieldTable::Kind& kind : table.kinds()) add_keys(keys, path, kind.name, kind.fields);
}

/// What is declared, in the order of the sections.
std::vector<Key> declared_keys() {
  std::vector<Key> keys;
  for (const Field& section : run_table().fields)
    add_keys(keys, std::string(section.name), *section.table);
  return keys;
}

/// Keys whose effect no run here can show, by full name or the beginning of it.
const std::map<std::string, const char*> kNotExecuted{
    {"algorithm.label", "what the runs are called"},
    {"execution.device", "another device needs a GPU; worker_device.cpp, tests/cuda"},
    {"execution.threads_per_worker", "gives the same bits in tasks without LibTorch"},
    {"execution.max_restarts", "matters when a process dies: tests/cli/restart_test.cpp"},
    {"execution.predict", "acid run does it before its runs: tests/cli/predict_run_test.cpp"},
    {"execution.mpi", "processes: tests/cli/launcher_test.cpp, mpi_run_test.cpp"},
    {"execution.threads", "their order follows from no setting: tests/drivers/threads_test.cpp"},
    {"task.augmentation", "batches of LibTorch: tests/models/supervised_test.cpp"},
    {"task.feature_shift", "the same: tests/data/partition_test.cpp"},
    {"task.label_smoothing", "the same: tests/models/torch_gradient_test.cpp"},
    {"task.label_noise", "the same: tests/data/partition_test.cpp"},
    {"task.partition.classes_per_worker", "of two classes one is the only choice: the same"},
    {"task.model.activation", "changes no tensor: tests/models/torch_gradient_test.cpp"},
    {"task.model.interpreter", "no setting of a run: tests/cli/model_process_test.cpp"},
    {"task.model.timeout", "the same"},
    {"task.dataset.decode_threads", "changes no pixel: tests/data/image_folder_test.cpp"},
    {"task.dataset.interpreter", "the same"},
    {"task.dataset.timeout", "the same"},
    {"checkpoint", "saving changes nothing that is computed: tests/cli/resume_test.cpp"},
};

bool not_executed(const Key& key) {
  for (const auto& [name, reason] : kNotExecuted)
    if (key.full().starts_with(name)) return true;
  return key.field.type == FieldType::file;
}

/// Whether the kind is a schedule of graphs.
bool changes(const std::string& kind) {
  const TopologyEntry* const entry = find_topology(kind);
  if (entry == nullptr) return false;
  for (const Field& field : entry->fields)
    if (field.fallback.empty()) return false;
  json options = with_fallbacks(entry->fields, json::object());
  options["kind"] = kind;
  return make_topology(8, options).schedule() != nullptr;
}

/// The algorithm's table, with so few local steps, and messages between visits, that there are
/// exchanges.
std::string algorithm_of_kind(const Key& key) {
  std::string fewer;
  for (const Field& field : find_algorithm(key.kind)->fields)
    if (field.name == "every")
      fewer = ",steps=2,every=8";
    else if (field.name == "steps" && key.name != "steps" && fewer.empty())
      fewer = json::parse(field.fallback).get<double>() > 10 ? ",steps=10" : "";
  return fmt::format("algorithms=[{{kind=\"{}\"{}}}]", key.kind, fewer);
}

/// A table of that kind, with values for the keys without a default.
std::string table_of_kind(const std::string& kind) {
  const std::map<std::string, const char*> needed{
      {"dirichlet", ",alpha=0.3"},  {"quantity", ",alpha=0.3"},
      {"lattice", ",spacing=0.01"}, {"measured", ",quantiles=[0.5, 1.0, 2.0]"},
      {"random-k", ",share=0.6"},   {"top-k", ",share=0.6"}};
  const auto found = needed.find(kind);
  return fmt::format("{{kind=\"{}\"{}}}", kind, found == needed.end() ? "" : found->second);
}

/// The settings that a key needs to have a meaning.
Overrides context_of(const Key& key) {
  const std::string full = key.full();
  const auto is = [&](std::string_view begin) { return full.starts_with(begin); };
  if (key.path == "algorithm" && find_algorithm(key.kind)->optimizers != Optimizers::any)
    return {algorithm_of_kind(key), "optimizer.momentum=0.0", "optimizer.weight_decay=0.0",
            "topology=star", "execution.virtual.network.edges=[]"};
  if (key.path == "algorithm")
    return {algorithm_of_kind(key),
            // Uniform weights equal Metropolis ones where they are allowed, and are refused
            // elsewhere.
            full == "algorithm.weights" ? "topology.kind=star" : "topology.kind=ring",
            "execution.virtual.network.edges=[]"};
  Overrides context;
  if (key.path == "algorithm.codec")
    return {fmt::format("algorithms=[{{kind=\"{}\",codec={}}}]",
                        key.kind == "lattice" ? "ad-psgd" : "d-psgd",
                        table_of_kind(key.kind.empty() ? "sign" : key.kind))};
  if (!key.kind.empty()) context.push_back(fmt::format("{}={}", key.path, table_of_kind(key.kind)));
  if (is("optimizer.schedule.") && !key.kind.empty())
    context = {fmt::format("optimizer.schedule={{kind=\"{}\"}}", key.kind)};
  if (full == "optimizer.schedule.warmup_from")
    context.emplace_back("optimizer.schedule.warmup=0.5");
  if (full == "optimizer.schedule.reference_batch")
    context.emplace_back("optimizer.schedule.scale_with_workers=linear");
  if (is("execution.virtual.cost") || full == "execution.virtual.network.all_reduce")
    context.emplace_back("algorithms=[{kind=\"ar-sgd\"}]");
  if (is("execution.virtual.network.inside"))
    context.emplace_back("execution.virtual.network.workers_per_node=2");
  if (full == "execution.virtual.network.window_bytes")
    context = {"execution.virtual.network={latency_seconds=0.02,vector_bytes=\"1 MB\"}"};
  if (full == "execution.max_load")  // it refuses such a plan
    context = {"execution.virtual.network={latency_seconds=0.9}"};
  if (is("execution.virtual.network.hubs"))
    context.emplace_back("algorithms=[{kind=\"halos\",steps=2,every=8}]");
  if (is("execution.virtual.cost.") && key.name != "buckets")
    context.emplace_back("execution.virtual.cost.buckets=4");
  if (full == "execution.virtual.gradient_clock")
    context = {"execution.virtual={}", "execution.virtual.network.latency_seconds=0.02"};
  if (full == "execution.max_backlog")
    context = {"execution.virtual.network={latency_seconds=0.9}"};
  if (key.path == "task.dataset" && key.kind == "quadratic")
    context = {"task={dataset={kind=\"quadratic\",noise=0.1}}"};
  if (key.path == "task.dataset" && key.kind == "logistic") context.clear();
  if (key.path == "topology") context.emplace_back("execution.virtual.network.edges=[]");
  if (key.path == "topology" && changes(key.kind))
    context.emplace_back("algorithms=[{kind=\"d-psgd\"}]");
  if (key.path == "task.partition") context.emplace_back("workers.count=4");
  if (key.path == "optimizer" && !key.kind.empty())
    context = {fmt::format("optimizer={{kind=\"{}\",weight_decay=0.01}}", key.kind)};
  if (full == "optimizer.nesterov") context.emplace_back("optimizer.momentum=0.5");
  return context;
}

/// Values other than the default, as TOML; the first that the field allows is used.
std::vector<std::string> alternatives(const Key& key) {
  const Field& field = key.field;
  const json fallback = field.fallback.empty() ? json() : json::parse(field.fallback);
  std::vector<std::string> values;
  switch (field.type) {
    case FieldType::boolean:
      return {fallback == true ? "false" : fallback == false ? "true" : "false"};
    case FieldType::text: {
      if (field.choices.empty()) return {"\"chain\""};  // the name of a graph
      std::string choices(field.choices), one;
      for (const char c : choices + ",")
        if (c == ',') {
          if (fallback != one) values.push_back(fmt::format("\"{}\"", one));
          one.clear();
        } else if (c != ' ') {
          one += c;
        }
      return values;
    }
    case FieldType::bytes:
      return {"\"64 KiB\""};
    case FieldType::integers:
    case FieldType::edges:
    case FieldType::table:
    case FieldType::factors:
    case FieldType::section:
    case FieldType::sections:
      return {};
    case FieldType::numbers:
    case FieldType::moments:
      return {"[0.25]"};
    case FieldType::texts:
      return {"[\"weight\"]"};
    case FieldType::integer:
    case FieldType::number:
    case FieldType::moment:
    case FieldType::file:
      break;
  }
  const bool whole = field.type == FieldType::integer;
  const double given = fallback.is_number() ? fallback.get<double>() : 0;
  for (const double value :
       {2 * given, given + 3, given / 2, given + 0.25, given - 0.25, 2.0, 9000.0}) {
    const bool above = field.minimum_excluded ? value > field.minimum : value >= field.minimum;
    const bool below = field.maximum_excluded ? value < field.maximum : value <= field.maximum;
    if (!above || !below || value == given || (whole && value != std::floor(value))) continue;
    values.push_back(whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6f}", value));
  }
  return values;
}

/// Records everything that can be seen of a run.
class Witness final : public Recorder {
 public:
  void sample(const Position& position, std::span<const Value> values) override {
    for (const Value& value : values)
      seen +=
          fmt::format("{} {} {} {} {}:{}={}\n", position.gradients, position.normalised_time,
                      position.seconds, position.bytes, value.metric, value.worker, value.value);
  }
  void progress(const Position&) override {}
  void note(Severity, std::string_view text) override { seen += text; }
  void events(int, std::int64_t first, std::span<const Event> events) override {
    seen += fmt::format("events {} {}\n", first, events.size());
  }
  std::string seen;
};

std::string data_of(const json& options) {
  const Dataset data = find_dataset(text(options, "kind"))->load(options);
  std::string bytes;
  for (const auto& split : {data.train, data.test}) {
    bytes += fmt::format("{} ", split->size());
    std::vector<float> features(static_cast<std::size_t>(data.shape.features()));
    for (std::int64_t e = 0; e < std::min<std::int64_t>(split->size(), 50); ++e) {
      split->copy_features(e, features);
      bytes += fmt::format("{} {} ", split->label(e), sha256_hex(std::span<const float>(features)));
    }
  }
  return bytes;
}

std::string model_of(const json& task) {
  const DataInfo info = find_dataset(text(task["dataset"], "kind"))->inspect(task["dataset"]);
  const Layout layout = find_model(text(task["model"], "kind"))->layout(task["model"], info.shape);
  std::string tensors;
  for (const LayoutTensor& tensor : layout.parameters)
    tensors += fmt::format("{} {} ", tensor.segment.name, tensor.segment.size);
  return tensors + fmt::format("{}", layout.buffer_count());
}

std::string behaviour_of(const PlannedRun& run) {
  if (!run.settings["task"]["model"].is_null())
    return data_of(run.settings["task"]["dataset"]) + model_of(run.settings["task"]);
  const auto composed = compose(settings_from(run.settings), 1);
  Witness witness;
  const Outcome outcome =
      run_virtual({composed->spec, *composed->objective, witness}, composed->options.virtual_time);
  const std::string last =
      outcome.worker_digests.empty() ? "diverged" : outcome.worker_digests.back();
  return fmt::format("{}{} {} {} {} {}", witness.seen, outcome.position.seconds, outcome.message,
                     outcome.mean_digest, last, outcome.holds);
}

struct Compiled {
  std::optional<PlannedRun> run;
  std::string said;  // errors and warnings
};

Compiled compiled(const Overrides& overrides) {
  Compiled result;
  try {
    const Plan plan = compile_recipe("base.toml", kBase, overrides);
    result.run = plan.runs.at(0);
    for (const Diagnostic& warning : plan.warnings) result.said += warning.message + "\n";
  } catch (const RecipeError& error) {
    result.said = error.what();
  }
  return result;
}

Overrides with_model(const Overrides& context, const Key& key) {
  const bool is_model = key.path == "task.model";
  if (!is_model && (key.path != "task.dataset" || find_dataset(key.kind) == nullptr))
    return context;
  const std::string data = !is_model ? key.kind : find_model(key.kind)->tokens ? "text" : "glyphs";
  const std::string model = is_model                             ? key.kind
                            : data == "text" || data == "tokens" ? "transformer-lm"
                                                                 : "linear";
  return {fmt::format("task={{dataset={{kind=\"{}\"{}}},model={{kind=\"{}\"}},batch_size=1}}", data,
                      testing::files_of(data), model),
          "execution.virtual={}"};
}

/// Whether setting the key makes a difference, or why it cannot; `what` describes the result.
bool matters(const Key& key, std::string* what) {
  const Overrides context = with_model(context_of(key), key);
  const Compiled base = compiled(context);
  *what = "base: " + base.said;
  if (!base.run) return false;
  const std::string before = behaviour_of(*base.run);
  const std::string path = key.path == "algorithm"         ? "algorithms.0"
                           : key.path == "algorithm.codec" ? "algorithms.0.codec"
                                                           : key.path;
  for (const std::string& value : alternatives(key)) {
    Overrides overrides = context;
    overrides.push_back(fmt::format("{}.{}={}", path, key.name, value));
    const Compiled changed = compiled(overrides);
    *what += fmt::format("\n{} → {}", overrides.back(), changed.said);
    if (changed.said.find(key.name) != std::string::npos) return true;
    if (changed.run && behaviour_of(*changed.run) != before) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every key set away from its default changes the run, or the compiler says why not",
          "[release]") {
  const std::vector<Key> keys = declared_keys();
  CHECK(keys.size() > 90);
  for (const Key& key : keys) {
    if (not_executed(key) || alternatives(key).empty()) continue;
    std::string what;
    INFO(key.full() << " of kind '" << key.kind << "'");
    const bool does = matters(key, &what);
    INFO(what);
    CHECK(does);
  }
}

TEST_CASE("keys whose names are a person's own, and those of no table, change the run too") {
  const std::string before = behaviour_of(*compiled({}).run);
  for (const char* override_text :
       {"task.batch_size=7", "execution.virtual.slow_workers={2=3.0}",
        "execution.virtual.slow_workers={2=0.5}", "execution.virtual.compute=constant",
        "task.partition=sorted", "topology=star", "optimizer.kind=adam", "seeds=[2]",
        "execution.virtual.network.edges=[]", "execution.virtual.pauses=[]"}) {
    INFO(override_text);
    Overrides overrides{override_text};
    if (overrides[0] == "topology=star")
      overrides.emplace_back("execution.virtual.network.edges=[]");
    if (overrides[0] == "optimizer.kind=adam") overrides.emplace_back("optimizer={kind=\"adam\"}");
    const Compiled changed = compiled(overrides);
    INFO(changed.said);
    REQUIRE(changed.run);
    CHECK(behaviour_of(*changed.run) != before);
  }
}
