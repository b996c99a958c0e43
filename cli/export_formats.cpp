#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "cli/export.hpp"
#include "cli/processes/child.hpp"
#include "cli/processes/supervisor.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/run_json.hpp"
#include "engine/base/digest.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/environment/build_info.hpp"
#include "exports/final_model.hpp"
#include "exports/points.hpp"
#include "exports/rcp.hpp"
#include "exports/tensorboard.hpp"
#include "reports/compare.hpp"
#include "store/files.hpp"

namespace acid {
namespace {

/// Calls write(sink, done) with a sink for the request's output and a listener for its progress.
template <class Writer>
void export_text(const ExportRequest& request, const Writer& writer) {
  OutputFile output(request.output);
  ReadingProgress progress("exported");
  writer([&](std::string_view piece) { output.write(piece); },
         [&](std::size_t done) { progress.show(done, request.runs.ids.size()); });
  output.commit();
}

using WriteLong = void (*)(const Store&, const AskedRuns&, const Write&, const RunsDone&);
using WriteWide = std::size_t (*)(const Store&, const AskedRuns&, const Write&, const RunsDone&);

/// Writes one of the two forms of a table: a row per value or, wide, a column per metric.
void export_table(const ExportRequest& request, WriteLong write_long, WriteWide write_wide) {
  std::size_t left_out = 0;
  export_text(request, [&](const Write& write, const RunsDone& done) {
    if (request.wide)
      left_out = write_wide(request.store, request.runs, write, done);
    else
      write_long(request.store, request.runs, write, done);
  });
  if (left_out > 0)
    say(
        fmt::format("{} series of single workers are left out: only the long form, without --wide, "
                    "has them",
                    left_out));
}

void export_csv(const ExportRequest& request) {
  export_table(request, write_long_csv, write_wide_csv);
}

void export_jsonl(const ExportRequest& request) {
  export_table(request, write_long_jsonl, write_wide_jsonl);
}

void export_json(const ExportRequest& request) {
  export_text(request, [&](const Write& write, const RunsDone& done) {
    const RunJson run_json = [](const RunDetail& run) { return to_json(run); };
    write_json(request.store, request.runs, kJsonSchemaVersion, run_json, write, done);
  });
}

void export_tensorboard(const ExportRequest& request) {
  namespace fs = std::filesystem;
  ReadingProgress progress("exported");
  const auto summaries = runs_as_asked(request.store, request.runs);
  for (std::size_t r = 0; r < request.runs.ids.size(); ++r) {
    RunDetail run = run_detail(request.store, request.runs.ids[r]);
    run.summary = summaries[r];
    const fs::path folder = fs::path(request.output) / tensorboard_folder(run.summary);
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw Error(fmt::format("cannot create {}: {}", folder.string(), error.message()));
    OutputFile file((folder / kEventFileName).string());
    write_event_file(request.store, run, [&](std::string_view piece) { file.write(piece); });
    file.commit();
    progress.show(r + 1, request.runs.ids.size());
  }
}

/// The whole content of a file in the store's folder. `what`: the file's name in an error.
std::string content_of(const Store& store, const std::string& relative, const std::string& sha256,
                       std::int64_t bytes, const std::string& what) {
  const std::string path = checked_path(store, relative);
  std::string content;
  try {
    const RegularFile file(path);
    if (file.bytes() != bytes) throw damaged_file(path, sha256);
    content.resize(static_cast<std::size_t>(bytes));
    content.resize(file.read(std::as_writable_bytes(std::span(content))));
  } catch (const StoreError&) {
    throw;
  } catch (const Error& error) {
    throw StoreError(fmt::format("{}: {}; was the store moved without its checkpoints folder?",
                                 what, error.what()));
  }
  if (sha256_hex(std::string_view(content)) != sha256) throw damaged_file(path, sha256);
  return content;
}

void export_safetensors(const ExportRequest& request) {
  const RunDetail run = run_detail(request.store, request.runs.ids.front());
  const AttemptResult::Artifact model = final_mean_of(run);
  write_file(request.output, content_of(request.store, model.path, model.sha256, model.bytes,
                                        "the final model of run " + run.summary.id));
}

void export_checkpoints(const ExportRequest& request) {
  namespace fs = std::filesystem;
  const std::string& id = request.runs.ids.front();
  std::vector<CheckpointRow> rows = checkpoints_of(request.store, id);
  std::erase_if(rows, [](const CheckpointRow& row) { return row.removed; });
  if (rows.empty())
    throw UsageError(
        fmt::format("run {} has no files of checkpoints; checkpoint.every_time and "
                    "checkpoint.keep in its recipe say how many there are to be; where they have "
                    "changed since, acid run --force makes them",
                    id));
  std::error_code error;
  fs::create_directories(request.output, error);
  if (error) throw Error(fmt::format("cannot create {}: {}", request.output, error.message()));
  for (const CheckpointRow& row : rows) {
    write_file((fs::path(request.output) / fmt::format("{:06}.safetensors", row.number)).string(),
               content_of(request.store, row.path, row.sha256, row.bytes,
                          fmt::format("checkpoint {} of run {}", row.number, id)));
  }
}

void export_rcp(const ExportRequest& request) {
  const AskedRuns chosen = without_searches(request.store, request.runs);
  const auto points = convergence_points(request.store, compare(request.store, chosen));
  const nlohmann::json file = rcp_json(points, fmt::format("acid {}", build_info().version));
  if (const std::size_t left_out = points.size() - file.size(); left_out > 0)
    say(fmt::format("{} left out: some of their runs did not reach the target",
                    left_out == 1 ? "1 group is" : fmt::format("{} groups are", left_out)));
  if (file.empty())
    throw UsageError("there is nothing to export: no group of runs reached the target as a whole");
  write_file(request.output, indented(file));
}

/// Has acid-worker, which knows the models, make the file (worker/export.hpp); it prints its own
/// errors.
void export_from_worker(const ExportRequest& request, const char* flag) {
  const std::string& run = request.runs.ids.front();
  Supervisor supervisor;
  const Supervisor::Ending ending = supervisor.run(
      run, Command{worker_program(), "--store", request.session.store_folder, "--run", run, flag},
      Child::Output::data);
  const std::string failure = fmt::format("run {} is not exported: acid-worker ended with {}", run,
                                          status_text(ending.status));
  if (supervisor.interrupted()) throw Error(failure, Exit::interrupted);
  if (const Exit exit = ending.exit().value_or(Exit::run_failed); exit != Exit::ok)
    throw Error(failure, exit);
  write_file(request.output, ending.output);
}

void export_torchscript(const ExportRequest& request) {
  const RunDetail run = run_detail(request.store, request.runs.ids.front());
  require_model(run);
  final_mean_of(run);  // throws when there is no final mean
  export_from_worker(request, "--torchscript");
}

void export_test_set(const ExportRequest& request) {
  require_model(run_detail(request.store, request.runs.ids.front()));
  export_from_worker(request, "--test-set");
}

}  // namespace

const std::vector<ExportFormat>& export_formats() {
  using Of = ExportFormat::Of;
  using To = ExportFormat::To;
  static const std::vector<ExportFormat> formats{
      {"csv", "a row per value; with --wide a column per metric", Of::any_runs, To::anything, true,
       export_csv},
      {"jsonl", "the same as lines of JSON", Of::any_runs, To::anything, true, export_jsonl},
      {"json", "one document: everything about the runs and every value", Of::any_runs,
       To::anything, false, export_json},
      {"tensorboard", "event files in the folder -o, one folder per run", Of::any_runs, To::folder,
       false, export_tensorboard},
      {"safetensors", "the final model of one run", Of::one_run, To::anything, false,
       export_safetensors},
      {"checkpoints",
       "the vectors of every worker at the checkpoints that one run kept, in the folder -o",
       Of::one_run, To::folder, false, export_checkpoints},
      {"torchscript", "the same as a module that torch.jit.load takes", Of::one_run, To::anything,
       false, export_torchscript},
      {"rcp", "reference convergence points of MLPerf: epochs to the target, by group of runs",
       Of::any_runs, To::anything, false, export_rcp},
      {"test-set", "the examples that one run was evaluated on, as safetensors", Of::one_run,
       To::anything, false, export_test_set},
  };
  return formats;
}

}  // namespace acid
