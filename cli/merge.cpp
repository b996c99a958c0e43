#include "store/merge.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/terminal/commands.hpp"
#include "cli/terminal/end_signals.hpp"
#include "cli/terminal/progress.hpp"
#include "engine/base/folders.hpp"
#include "engine/base/names.hpp"
#include "reports/numbers.hpp"
#include "store/maintenance.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct MergeOptions {
  std::vector<std::string> stores;
  Format format;
};

json to_json(const MergeReport& report, const std::string& store, const std::string& contents) {
  json twice = json::array();
  for (const ExecutedTwice& one : report.twice)
    twice.push_back({{"run", one.run},
                     {"store", one.store},
                     {"equal", one.equal},
                     {"came", one.came},
                     {"what", one.what}});
  return {{"store", store},
          {"runs_added", report.runs_added},
          {"runs_completed", report.runs_completed},
          {"runs_known", report.runs_known},
          {"experiments_added", report.experiments_added},
          {"experiments_renewed", report.experiments_renewed},
          {"files", report.files},
          {"bytes", report.bytes},
          {"executed_twice", twice},
          {"apart", report.apart},
          {"broken", report.broken},
          {"contents", contents}};
}

std::string summary_text(const MergeReport& report, const std::string& contents) {
  return fmt::format(
      "merged    {} that this store did not have, {} that another had more of, {} unchanged\n"
      "          {} that this store did not have, {} with a newer definition\n"
      "          {} of {} copied\n"
      "contents  {}\n",
      counted(report.runs_added, "run"), report.runs_completed, report.runs_known,
      counted(report.experiments_added, "experiment"), report.experiments_renewed,
      counted(report.files, "file"), format_bytes(static_cast<double>(report.bytes)), contents);
}

/// The folder of a target. One that does not exist gets its name when everything has come: a merge
/// that is refused or interrupted leaves nothing behind, and no other process uses the store
/// meanwhile.
class TargetFolder {
 public:
  explicit TargetFolder(const std::string& folder) : name_(fs::absolute(folder)), made_(folder) {
    name_ = name_.lexically_normal();
    if (!name_.has_filename()) name_ = name_.parent_path();
    std::error_code ignored;
    remove_dead_merges(name_.string());
    if (fs::exists(fs::symlink_status(name_, ignored))) return;
    signals_.emplace();
    for (fs::path parent = name_.parent_path(); !fs::exists(parent, ignored);
         parent = parent.parent_path())
      parents_.push_back(parent);
    try {
      make();
    } catch (...) {
      remove_parents();
      throw;
    }
    is_new_ = true;
  }
  ~TargetFolder() {
    if (!is_new_) return;
    std::error_code ignored;
    fs::remove_all(made_, ignored);
    remove_parents();
  }
  TargetFolder(const TargetFolder&) = delete;
  TargetFolder& operator=(const TargetFolder&) = delete;

  const std::string& folder() const { return made_; }
  /// Whether a signal asks to end. Those that come while a folder is new are kept for this.
  bool is_interrupted() { return signals_ && signals_->come_within(0); }
  void name() {
    std::error_code failed;
    if (is_new_) fs::rename(made_, name_, failed);
    if (failed)
      throw StoreError(
          fmt::format("cannot give the merged store the name {}: {}; nothing was "
                      "merged. If another process has made that folder, merge again",
                      name_.string(), failed.message()));
    if (is_new_) forget_merging(name_.string());
    is_new_ = false;
  }

 private:
  // Under a name that no folder has: a process on another host may have one.
  void make() {
    create_folders(name_.parent_path());
    std::error_code failed;
    for (int k = 1;; ++k) {
      made_ = fmt::format("{}.merging-{}{}", name_.string(), getpid(),
                          k == 1 ? std::string() : fmt::format("-{}", k));
      if (fs::create_directory(made_, failed)) return note();
      if (failed)
        throw StoreError(
            fmt::format("cannot create the folder {}: {}; check the permissions of "
                        "the folder above, or choose another with --store",
                        made_, failed.message()));
    }
  }
  void note() const {
    try {
      note_merging(made_);
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(made_, ignored);
      throw;
    }
  }
  void remove_parents() const {
    std::error_code ignored;
    for (const fs::path& parent : parents_) fs::remove(parent, ignored);  // if it is empty
  }

  std::optional<EndSignals> signals_;  // first, so that they are delivered last
  fs::path name_;
  std::string made_;
  std::vector<fs::path> parents_;  // that do not exist, the deepest first
  bool is_new_ = false;
};

Exit merge(const Session& session, const MergeOptions& options) {
  // A name that is no store must not make an empty target.
  for (const std::string& folder : options.stores) Store(folder, Store::Access::read);
  TargetFolder place(session.store_folder);
  MergeReport report;
  std::string contents;
  {
    Store target(place.folder(), Store::Access::write);
    ReadingProgress progress("merged");
    const auto end_if_interrupted = [&] {
      if (place.is_interrupted())
        throw Error(fmt::format("interrupted: nothing was merged, and there is no store {}",
                                session.store_folder),
                    Exit::interrupted);
    };
    report = merge_stores(target, options.stores, [&](std::size_t done, std::size_t runs) {
      progress.show(done, runs);
      end_if_interrupted();
    });
    contents = contents_digest(target);
    end_if_interrupted();
  }
  place.name();
  for (const ExecutedTwice& one : report.twice)
    say(fmt::format("{}{}", one.equal ? "" : "conflict: ", one.what));
  for (const std::string& apart : report.apart) say(apart);
  for (const std::string& broken : report.broken) say(fmt::format("as before: {}", broken));
  if (options.format.json)
    print_json(to_json(report, session.store_folder, contents));
  else
    print_data(summary_text(report, contents));
  return Exit::ok;
}

}  // namespace

void add_merge_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<MergeOptions>(
      app, session, "merge", "Bring everything of other stores into the store", merge);
  add_value(command, "STORES", options.stores, "DIR",
            "Folders of the other stores, which are only read; --store names the store that\n"
            "takes it all, which is made if there is none")
      ->required()
      ->check(wrong_if_empty);
  add_json_option(command, options.format);
  add_store_option(command, session);
}

}  // namespace acid
