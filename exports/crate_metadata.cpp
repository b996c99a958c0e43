// ro-crate-metadata.json: JSON-LD after RO-Crate 1.3, Process Run Crate 0.6 and Workflow Testing
// RO-Crate 0.2.
#include <algorithm>
#include <array>
#include <set>

#include "engine/base/digest.hpp"
#include "engine/base/names.hpp"
#include "exports/crate_parts.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

using nlohmann::json;

/// A profile of RO-Crate.
struct Profile {
  const char* id;
  const char* name;
  const char* version;
};
constexpr const char* kRoCrate = "https://w3id.org/ro/crate/1.3";
constexpr Profile kProcess{"https://w3id.org/ro/wfrun/process/0.6", "Process Run Crate", "0.6"};
constexpr Profile kWorkflow{"https://w3id.org/workflowhub/workflow-ro-crate/1.1",
                            "Workflow RO-Crate", "1.1"};
constexpr Profile kTesting{"https://w3id.org/ro/wftest/0.2", "Workflow Testing RO-Crate", "0.2"};
constexpr const char* kClaims = "claims.json";
constexpr const char* kTestSuite = "#claims";
constexpr const char* kRecipeLanguage = "#recipe-language";
constexpr std::size_t kDigitsOfDigest = 12;

json reference(const std::string& id) { return {{"@id", id}}; }

json entity(const std::string& id, const json& type, json members = json::object()) {
  members["@id"] = id;
  members["@type"] = type;
  return members;
}

/// A name within the document: "#kind/name", where `name` is anything.
std::string local_id(const std::string& kind, const std::string& name) {
  std::string id = "#" + kind + "/";
  for (const char c : name) {
    const bool kept = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                      std::string_view("-._~").find(c) != std::string_view::npos;
    id += kept ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return id;
}

std::string software_id(const CrateBuild& build) {
  std::string name = "acid " + build.version + " " + build.commit;
  if (!build.diff_sha256.empty())
    name += fmt::format(" {}", build.diff_sha256.substr(0, kDigitsOfDigest));
  return local_id("software", name);
}

std::string action_id(const RunDetail& run, int attempt) {
  return local_id("attempt", fmt::format("{}-{}", run.summary.id, attempt));
}

/// Collects the entities of the graph, each once, also when several others refer to it.
class Graph {
 public:
  void add(json entity) {
    if (known_.insert(entity["@id"].get<std::string>()).second)
      entities_.push_back(std::move(entity));
  }
  /// A value with a name, as an entity that actions can refer to.
  json value(const std::string& kind, const std::string& name, const json& value) {
    const std::string digest = sha256_hex(std::string_view(compact(value)));
    const std::string id = local_id(kind, name + "-" + digest.substr(0, kDigitsOfDigest));
    // JSON-LD would read a list as several values, and an object as an entity.
    const bool as_text = value.is_structured() || value.is_null();
    add(entity(id, "PropertyValue",
               {{"name", name}, {"value", as_text ? json(compact(value)) : value}}));
    return reference(id);
  }
  json entities() && { return std::move(entities_); }

 private:
  json entities_ = json::array();
  std::set<std::string> known_;
};

struct FileKind {
  const char* ending;
  const char* encoding;
};
constexpr std::array kFileKinds{
    FileKind{".json", "application/json"}, FileKind{".csv", "text/csv"},
    FileKind{".md", "text/markdown"},      FileKind{".html", "text/html"},
    FileKind{".toml", "application/toml"}, FileKind{".db", "application/vnd.sqlite3"},
    FileKind{"SUMS", "text/plain"}};

std::string encoding_of(const std::string& path) {
  for (const FileKind& kind : kFileKinds)
    if (path.ends_with(kind.ending)) return kind.encoding;
  return "application/octet-stream";
}

std::string description_of(const std::string& path) {
  if (path.ends_with("/run.json")) return "Everything recorded about the run, with its digests";
  if (path.ends_with("/settings.json")) return "Settings of the run, nothing left to default";
  if (path.ends_with(".safetensors")) return "Mean of the workers' models at the end of a run";
  if (path.ends_with(".toml")) return "Recipe, as it was run";
  if (path.ends_with("store.db")) return "Store of the runs (SQLite): acid reads it as it is";
  if (path == "metrics.csv") return "Every recorded value of every run";
  if (path.starts_with("comparison.")) return "Comparison of the runs over seeds";
  if (path == kClaims)
    return "What the recipe claims, with verdicts; 'acid claim check' makes and compares it again";
  if (path == "asked.json") return "Experiments and runs in the order in which they were named";
  if (path == "environments.json") return "Machines and builds, and which attempts had which";
  if (path == "REPRODUCE.md") return "Commands that install acid, run, check and compare";
  return path == "SHA256SUMS" ? "SHA-256 of every other file" : "";
}

json file_entity(const std::string& path, const StagedFile* file) {
  json one = entity(path, "File", {{"name", path}, {"encodingFormat", encoding_of(path)}});
  if (const std::string text = description_of(path); !text.empty()) one["description"] = text;
  if (file == nullptr) return one;
  one["contentSize"] = std::to_string(file->bytes);
  one["sha256"] = file->sha256;
  return one;
}

using Files = std::map<std::string, StagedFile>;

/// The profiles that the crate conforms to. Workflow Testing asks for a main workflow and, through
/// Workflow RO-Crate, for a licence.
std::vector<Profile> profiles_of(const CrateContent& content, const Files& files) {
  if (!files.contains(kClaims) || content.experiments.size() != 1 ||
      content.statement.license.empty())
    return {kProcess};
  return {kProcess, kWorkflow, kTesting};
}

/// Makes the claims a suite of tests of the recipes, whose engine is the acid that made the crate.
void add_tests(const CrateContent& content, const Files& files, Graph& graph) {
  graph.add(entity(kRecipeLanguage, "ComputerLanguage", {{"name", "Recipe of acid (TOML)"}}));
  json suite = entity(kTestSuite, "TestSuite",
                      {{"name", "Claims of the recipe"}, {"definition", reference(kClaims)}});
  for (const auto& [experiment, path] : content.experiments) {
    suite["mainEntity"].push_back(reference(path));
    json recipe = file_entity(path, &files.at(path));
    recipe["@type"] = {"File", "SoftwareSourceCode", "ComputationalWorkflow"};
    recipe["programmingLanguage"] = reference(kRecipeLanguage);
    graph.add(std::move(recipe));
  }
  graph.add(std::move(suite));
  json definition = file_entity(kClaims, &files.at(kClaims));
  definition["@type"] = {"File", "TestDefinition"};
  definition["conformsTo"] = reference(software_id(content.statement.acid));
  definition["engineVersion"] = ">=" + content.statement.acid.version;
  graph.add(std::move(definition));
}

void add_if_there(const std::string& path, const Files& files, json& references) {
  if (files.contains(path)) references.push_back(reference(path));
}

/// The inputs of an attempt: files of the crate, and values.
json inputs_of(const RunDetail& run, const AttemptRow& attempt, const std::string& recipe,
               const Files& files, Graph& graph) {
  json inputs = json::array();
  if (!recipe.empty()) inputs.push_back(reference(recipe));
  add_if_there("runs/" + run.summary.id + "/settings.json", files, inputs);
  inputs.push_back(graph.value("seed", "seed", run.summary.seed));
  for (const auto& [key, value] : flatten(run.settings))
    if (key != "seed" && !value.is_null()) inputs.push_back(graph.value("setting", key, value));
  for (const auto& [path, digest] : attempt.file_digests)
    inputs.push_back(graph.value("data", "SHA-256 of the data file " + path, digest));
  return inputs;
}

json results_of(const RunDetail& run, const AttemptRow& attempt, const Files& files) {
  json results = json::array({reference(std::string(kCrateStore) + "/store.db")});
  add_if_there("metrics.csv", files, results);
  add_if_there("runs/" + run.summary.id + "/run.json", files, results);
  if (run.result && attempt.number == run.attempts.back().number)
    for (const auto& artifact : run.result->artifacts)
      add_if_there(std::string(kCrateStore) + "/" + artifact.path, files, results);
  return results;
}

json action(const RunDetail& run, const AttemptRow& attempt, const std::string& recipe,
            const CrateStatement& statement, const Files& files, Graph& graph) {
  json one = entity(action_id(run, attempt.number), "CreateAction");
  one["name"] = fmt::format("{}, seed {}: attempt {} of run {}", run.summary.label,
                            run.summary.seed, attempt.number, run.summary.id);
  const json& environment = attempt.environment;
  if (environment.is_object() && environment.contains("command_line"))
    one["description"] = environment["command_line"];
  one["instrument"] = reference(software_id(build_of(attempt)));
  if (!statement.author.empty()) one["agent"] = reference(local_id("person", statement.author));
  one["startTime"] = attempt.started;
  if (!attempt.finished.empty()) one["endTime"] = attempt.finished;
  const bool completed = attempt.outcome == state_name(RunState::finished);
  const bool ended = !attempt.outcome.empty();
  one["actionStatus"] = reference(completed ? "http://schema.org/CompletedActionStatus"
                                  : ended   ? "http://schema.org/FailedActionStatus"
                                            : "http://schema.org/ActiveActionStatus");
  if (ended && !completed)
    one["error"] = attempt.outcome + (attempt.message.empty() ? "" : ": " + attempt.message);
  one["object"] = inputs_of(run, attempt, recipe, files, graph);
  one["result"] = results_of(run, attempt, files);
  if (environment.is_object() && environment.contains("variables"))
    for (const auto& [name, value] : environment["variables"].items())
      one["environment"].push_back(graph.value("variable", name, value));
  return one;
}

void add_software(const CrateContent& content, Graph& graph) {
  std::vector<CrateBuild> builds = builds_of(content);
  builds.push_back(content.statement.acid);
  for (const CrateBuild& build : builds) {
    const std::string description =
        "Laboratory for asynchronous decentralised training, commit " +
        (build.commit.empty() ? "unknown" : build.commit) +
        (build.diff_sha256.empty()
             ? ""
             : ", from a changed working tree, SHA-256 of the difference " + build.diff_sha256);
    graph.add(entity(software_id(build), "SoftwareApplication",
                     {{"name", "acid"},
                      {"description", description},
                      {"softwareVersion", build.version.empty() ? "unknown" : build.version}}));
  }
}

/// When the newest attempt ended; always the same for the same store.
std::string published(const CrateContent& content) {
  std::string newest;
  for (const RunDetail& run : content.runs)
    for (const AttemptRow& attempt : run.attempts)
      newest = std::max({newest, attempt.started, attempt.finished});
  return newest;
}

std::string title(const CrateContent& content) {
  std::string names;
  for (const auto& [experiment, path] : content.experiments)
    names += (names.empty() ? "" : ", ") + experiment.name;
  return names.empty() ? "Runs of acid" : names;
}

json root(const CrateContent& content, const Files& files) {
  json one = entity("./", "Dataset");
  one["name"] = title(content);
  one["description"] = fmt::format(
      "{} of the experiment{} {}: recipe, settings, seeds, every recorded value, "
      "{}digests, and the commands to reproduce them",
      counted(content.runs.size(), "training run"), content.experiments.size() == 1 ? "" : "s",
      title(content), content.statement.parts.models ? "final models, " : "");
  const std::vector<Profile> profiles = profiles_of(content, files);
  for (const Profile& profile : profiles) one["conformsTo"].push_back(reference(profile.id));
  if (profiles.size() > 1) one["mainEntity"] = reference(content.experiments.front().second);
  one["datePublished"] = published(content);
  if (!content.statement.license.empty()) one["license"] = reference(content.statement.license);
  if (!content.statement.author.empty())
    one["author"] = reference(local_id("person", content.statement.author));
  one["hasPart"] = json::array();
  for (const auto& [path, file] : files)
    if (path != "ro-crate-preview.html") one["hasPart"].push_back(reference(path));
  one["hasPart"].push_back(reference("SHA256SUMS"));
  one["mentions"] = json::array();
  for (const RunDetail& run : content.runs)
    for (const AttemptRow& attempt : run.attempts)
      one["mentions"].push_back(reference(action_id(run, attempt.number)));
  if (files.contains(kClaims)) one["mentions"].push_back(reference(kTestSuite));
  return one;
}

void add_frame(const CrateContent& content, const Files& files, Graph& graph) {
  graph.add(entity("ro-crate-metadata.json", "CreativeWork",
                   {{"conformsTo", reference(kRoCrate)}, {"about", reference("./")}}));
  graph.add(root(content, files));
  for (const Profile& profile : profiles_of(content, files))
    graph.add(entity(profile.id, {"CreativeWork", "Profile"},
                     {{"name", profile.name}, {"version", profile.version}}));
  if (files.contains("ro-crate-preview.html"))
    graph.add(
        entity("ro-crate-preview.html", "CreativeWork",
               {{"name", "Report"}, {"encodingFormat", "text/html"}, {"about", reference("./")}}));
  if (const std::string& author = content.statement.author; !author.empty())
    graph.add(entity(local_id("person", author), "Person", {{"name", author}}));
  if (const std::string& license = content.statement.license; !license.empty())
    graph.add(entity(license, "CreativeWork", {{"name", license}}));
}

}  // namespace

json crate_metadata(const CrateContent& content, const std::map<std::string, StagedFile>& files) {
  Graph graph;
  add_frame(content, files, graph);
  add_software(content, graph);
  if (files.contains(kClaims)) add_tests(content, files, graph);
  for (std::size_t r = 0; r < content.runs.size(); ++r) {
    const std::size_t e = content.experiment_of_run[r];
    const std::string recipe =
        e < content.experiments.size() ? content.experiments[e].second : std::string();
    for (const AttemptRow& attempt : content.runs[r].attempts)
      graph.add(action(content.runs[r], attempt, recipe, content.statement, files, graph));
  }
  for (const auto& [path, file] : files)
    if (path != "ro-crate-preview.html") graph.add(file_entity(path, &file));
  graph.add(file_entity("SHA256SUMS", nullptr));
  return {{"@context",
           {std::string(kRoCrate) + "/context", "https://w3id.org/ro/terms/workflow-run/context",
            "https://w3id.org/ro/terms/test"}},
          {"@graph", std::move(graph).entities()}};
}

}  // namespace acid
