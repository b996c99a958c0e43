#include "cli/export.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/terminal/commands.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/run_json.hpp"
#include "engine/base/names.hpp"
#include "engine/environment/build_info.hpp"
#include "exports/crate.hpp"

namespace acid {
namespace {

struct ExportOptions {
  std::vector<std::string> names, where;
  std::string format = "csv";
  std::string output = "-";
  bool wide = false;
  std::string crate;  // a file ending in .zip, or a folder; empty: no crate is asked for
  CrateStatement statement;
  std::vector<std::string> without;  // of the crate
};

const ExportFormat& format_named(const std::string& name) {
  return *std::ranges::find(export_formats(), name, &ExportFormat::name);
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ExportFormat& format : export_formats()) names.emplace_back(format.name);
  return names;
}

std::string formats_help() {
  std::string text = "What to write (default: csv)";
  for (const ExportFormat& format : export_formats())
    text += fmt::format("\n  {}: {}", format.name, format.help);
  return text;
}

void check(const ExportOptions& options, const ExportFormat& format) {
  if (options.wide && !format.has_wide)
    throw UsageError(
        fmt::format("--wide is a form of csv and jsonl; {} has only one", options.format));
  if (options.output == "-" && format.to == ExportFormat::To::folder)
    throw UsageError(fmt::format(
        "{} is made of several files: name a folder for them with -o FOLDER", options.format));
}

/// Leaves out the runs that a search tried, as a comparison does, and says so; a condition on the
/// role chooses among all.
AskedRuns without_tried(const Store& store, const AskedRuns& all,
                        const std::vector<std::string>& where) {
  if (name_role(store, where)) return all;
  AskedRuns chosen = without_searches(store, all);
  if (chosen.ids.empty()) return all;  // the search has not chosen
  if (const std::size_t tried = all.ids.size() - chosen.ids.size(); tried > 0)
    say(
        fmt::format("note: {} that the search tried {} left out; --where \"role = 'search'\" "
                    "exports those",
                    counted(tried, "run"), tried == 1 ? "is" : "are"));
  return chosen;
}

// The format takes one run: here @latest is the newest run, not the newest experiment.
AskedRuns runs_of(const Store& store, const ExportOptions& options, const ExportFormat& format) {
  const bool one = format.of == ExportFormat::Of::one_run;
  AskedRuns runs = one && options.names.size() == 1
                       ? AskedRuns{resolve_run(store, options.names.front())}
                       : without_tried(store, resolve_runs(store, options.names), options.where);
  runs = runs_where(store, std::move(runs), options.where);
  if (one && runs.ids.size() != 1)
    throw UsageError(fmt::format("{} is of one run, but {} are named; 'acid list' shows their ids",
                                 options.format, runs.ids.size()));
  return runs;
}

// Values that were never recorded cannot be exported; an empty file would hide that.
void require_values(const Store& store, const std::vector<std::string>& run_ids) {
  const auto runs = run_summaries(store, run_ids);
  const auto is_planned = [](const RunSummary& run) { return run.state == RunState::planned; };
  if (std::ranges::all_of(runs, is_planned))
    throw UsageError(
        fmt::format("there is nothing to export: none of the {} has begun; 'acid run' of "
                    "their recipe executes them",
                    counted(runs.size(), "run")));
}

Exit export_crate(const Session& session, const ExportOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  const auto runs = runs_where(store, resolve_runs(store, options.names), options.where);
  const bool zip = options.crate.ends_with(".zip");
  for (const char* other : {".tar", ".gz", ".tgz", ".xz", ".zst", ".bz2", ".7z", ".rar"})
    if (options.crate.ends_with(other))
      throw UsageError(fmt::format("a crate is a folder or a .zip file, not a {} file", other));
  CrateStatement statement = options.statement;
  const BuildInfo& build = build_info();
  statement.acid = {build.version, build.commit, build.diff_sha256};
  statement.parts = {.models = std::ranges::count(options.without, "models") == 0,
                     .tables = std::ranges::count(options.without, "tables") == 0};
  StagedFolder folder(options.crate);
  {
    ReadingProgress progress("exported");
    const RunJson run_json = [](const RunDetail& run) { return to_json(run); };
    fill_crate(store, runs, folder, statement, run_json,
               [&](std::size_t done) { progress.show(done, runs.ids.size()); });
  }
  zip ? folder.commit_zip() : folder.commit_folder();
  print_data(options.crate + "\n");
  return Exit::ok;
}

Exit export_runs(const Session& session, const ExportOptions& options) {
  if (!options.crate.empty()) return export_crate(session, options);
  const ExportFormat& format = format_named(options.format);
  check(options, format);
  const Store store(session.store_folder, Store::Access::read);
  const auto runs = runs_of(store, options, format);
  if (format.of == ExportFormat::Of::any_runs) require_values(store, runs.ids);
  format.write({session, store, runs, options.output, options.wide});
  return Exit::ok;
}

void add_crate_options(CLI::App& command, ExportOptions& options) {
  add_value(command, "--crate", options.crate, "FILE.zip|DIR",
            "Instead, everything about the runs in a new FILE.zip or folder, to be\n"
            "published with a paper (RO-Crate): recipe, settings, seeds, values, models,\n"
            "events, report, digests, a store to verify, and REPRODUCE.md. It names hosts\n"
            "and paths as they were recorded")
      ->check(wrong_if_empty)
      ->excludes("--format")
      ->excludes("--output")
      ->excludes("--wide");
  add_value(command, "--author", options.statement.author, "NAME", "Who publishes the crate")
      ->needs("--crate");
  add_value(command, "--license", options.statement.license, "URL",
            "Address of the licence that the crate is under")
      ->needs("--crate");
  add_value(command, "--without", options.without, "PARTS",
            "For a small crate, leaves out models (the files of final models; their digests\n"
            "stay, and 'acid verify' makes the models again), tables (the report and what\n"
            "else its store gives), or models,tables")
      ->delimiter(',')
      ->check(CLI::IsMember({"models", "tables"}).description(""))
      ->needs("--crate");
}

}  // namespace

void add_export_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<ExportOptions>(
      app, session, "export", "Take metrics and final models elsewhere", export_runs);
  add_runs_argument(command, "NAMES", options.names)->required();
  add_where_option(command, options.where);
  add_value(command, "--format", options.format, "FORMAT", formats_help())
      ->check(CLI::IsMember(format_names()).description(""));
  command.add_flag(
      "--wide", options.wide,
      "csv, jsonl: one row per run and moment, with a column per setting that differs\n"
      "and per metric of the whole run; single workers' series are in the long form only");
  add_value(command, "-o,--output", options.output, "PATH",
            "Where to: a file, or a folder for tensorboard (default: standard output)")
      ->check(wrong_if_empty);
  add_crate_options(command, options);
  add_store_option(command, session);
  command.footer(
      "Parquet: duckdb -c \"COPY (FROM read_csv('points.csv', types={'run': 'VARCHAR'})) TO "
      "'points.parquet'\" makes it of the CSV.");
}

}  // namespace acid
