#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/run_json.hpp"
#include "cli/table.hpp"
#include "engine/base/digest.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct ExportOptions {
  std::vector<std::string> names;
  std::string format = "csv";
  std::string file;
};

// Standard output, or a file.
class Output {
 public:
  explicit Output(const std::string& path) {
    if (!path.empty()) file_.emplace(path);
  }
  void write(std::string_view text) { file_ ? file_->write(text) : print_data(text); }
  void finish() {
    if (file_) file_->commit();
  }

 private:
  std::optional<OutputFile> file_;
};

void export_csv(const Store& store, const std::vector<std::string>& runs, Output& output) {
  output.write("run,metric,worker,gradients,normalised_time,seconds,bytes,value\n");
  std::string rows;
  for (const std::string& run : runs)
    for (const Series& series : read_series(store, run)) {
      rows.clear();
      const std::string worker = series.worker == kWholeRun ? "" : fmt::format("{}", series.worker);
      for (const auto& [at, value] : series.points)
        fmt::format_to(std::back_inserter(rows), "{},{},{},{},{},{},{},{}\n", run, series.metric,
                       worker, at.gradients, exact_number(at.normalised_time),
                       exact_number(at.seconds), at.bytes, exact_number(value));
      output.write(rows);
    }
}

// JSON has no NaN and no infinities; they are the texts that CSV uses.
json exact_json(double value) {
  return std::isfinite(value) ? json(value) : json(exact_number(value));
}

json series_json(const Series& series) {
  json document{{"metric", series.metric},
                {"unit", series.unit},
                {"worker", series.worker == kWholeRun ? json(nullptr) : json(series.worker)}};
  for (const char* name : {"gradients", "normalised_time", "seconds", "bytes", "value"})
    document[name] = json::array();
  for (const auto& [at, value] : series.points) {
    document["gradients"].push_back(at.gradients);
    document["normalised_time"].push_back(at.normalised_time);
    document["seconds"].push_back(at.seconds);
    document["bytes"].push_back(at.bytes);
    document["value"].push_back(exact_json(value));
  }
  return document;
}

void export_json(const Store& store, const std::vector<std::string>& runs, Output& output) {
  output.write(fmt::format("{{\"schema_version\":{},\"runs\":[", kJsonSchemaVersion));
  bool first = true;
  for (const std::string& run : runs) {
    json document = to_json(run_detail(store, run));
    document["series"] = json::array();
    for (const Series& series : read_series(store, run))
      document["series"].push_back(series_json(series));
    output.write((first ? "\n" : ",\n") +
                 document.dump(-1, ' ', false, json::error_handler_t::replace));
    first = false;
  }
  output.write("\n]}\n");
}

void export_model(const Store& store, const std::vector<std::string>& runs, Output& output) {
  if (runs.size() != 1)
    throw UsageError(
        fmt::format("safetensors holds the model of one run, but {} are named; "
                    "'acid list' shows their ids",
                    runs.size()));
  const RunDetail detail = run_detail(store, runs.front());
  const AttemptResult result = detail.result.value_or(AttemptResult{});
  for (const auto& artifact : result.artifacts) {
    if (artifact.role != "final-mean") continue;
    const std::string path = (std::filesystem::path(store.folder()) / artifact.path).string();
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (!file)
      throw StoreError(
          fmt::format("cannot read {}, the final model of run {}; was the store "
                      "moved without its checkpoints folder?",
                      path, runs.front()));
    if (sha256_hex(std::string_view(content)) != artifact.sha256)
      throw StoreError(
          fmt::format("{} is damaged: its SHA-256 is not the recorded {}; run the "
                      "recipe again with --force",
                      path, artifact.sha256));
    output.write(content);
    return;
  }
  throw UsageError(fmt::format("run {} ({}) has no final model", runs.front(),
                               state_name(detail.summary.state)));
}

Exit export_runs(const Session& session, const ExportOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  const bool model = options.format == "safetensors";  // one run's, so @latest is the newest run
  const auto runs = model && options.names.size() == 1
                        ? std::vector{resolve_run(store, options.names.front())}
                        : resolve_runs(store, options.names);
  Output output(options.file == "-" ? "" : options.file);
  if (options.format == "csv")
    export_csv(store, runs, output);
  else if (options.format == "json")
    export_json(store, runs, output);
  else
    export_model(store, runs, output);
  output.finish();
  return Exit::ok;
}

}  // namespace

void add_export_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Take metrics and final models elsewhere");
  command
      ->add_option("RUN", options->names,
                   "Runs or experiments: ids, prefixes, an experiment's name, @latest")
      ->required()
      ->type_name(" ");
  command
      ->add_option("--format", options->format,
                   "csv or json: every metric point; safetensors: the final model of one run "
                   "(default: csv)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"csv", "json", "safetensors"}));
  command->add_option("-o,--output", options->file, "Where to (default: standard output)")
      ->type_name("FILE");
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return export_runs(session, *options); };
  });
}

}  // namespace acid
