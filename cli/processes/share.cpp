#include "cli/processes/share.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <thread>
#include <vector>

#include "cli/processes/touching.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/folders.hpp"
#include "engine/base/names.hpp"
#include "store/existing_store.hpp"
#include "store/merge.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

// A merging that has given no sign for so long was killed.
constexpr std::chrono::minutes kLongestSilence(3);
constexpr double kSecondsBetweenSigns = 20;

// Absent: the text is not of the form K/N.
std::optional<Share> read_share(const std::string& text) {
  static const std::regex form(R"((\d{1,18})/(\d{1,18}))");
  constexpr std::size_t kMost = 100'000;
  std::smatch match;
  if (!std::regex_match(text, match, form)) return std::nullopt;
  const std::size_t part = std::stoul(match[1]), parts = std::stoul(match[2]);
  if (part == 0 || parts == 0 || parts > kMost) return std::nullopt;
  Share share;
  share.part = (part - 1) % parts + 1;
  share.parts = parts;
  return share;
}

// The time since the merging that has this file gave a sign; absent: there is no such file.
std::optional<fs::file_time_type::duration> silence_of(const std::string& file) {
  std::error_code failed;
  const auto touched = fs::last_write_time(file, failed);
  if (failed) return std::nullopt;
  return fs::file_time_type::clock::now() - touched;
}

bool is_merging(const std::string& file) {
  const auto silence = silence_of(file);
  return silence && *silence < kLongestSilence;
}

// Processes of one host may share the store, where file locks stay within it.
void refuse_while_executed(const Store& store) {
  for (const RunSummary& run : list_runs(store, {.state = RunState::running})) {
    const auto pace = newest_pace(store, run.id);
    if (pace && pace->host != Lease::of_this_process().host)
      throw StoreError(
          fmt::format("process {} on host {} executes this part already, and two hosts must not "
                      "write to its store {}. Wait for it, or stop it, and try again",
                      pace->pid, pace->host, store.folder()));
  }
}

// One file for all recipes: their parts are merged into the same store.
std::string merging_in(const std::string& store_folder) { return store_folder + "/parts/merging"; }

void wait_a_second(bool said) {
  if (!said) say("waiting while another task merges what parts have left");
  std::this_thread::sleep_for(std::chrono::seconds(1));
}

}  // namespace

void wait_while_parts_merge(const std::string& store_folder) {
  for (bool said = false; is_merging(merging_in(store_folder)); said = true) wait_a_second(said);
}

// Parts that are done early take from different others, so that they do not all take the same run.
std::vector<RunSummary> Share::ordered(const std::vector<RunSummary>& runs) const {
  std::vector<RunSummary> all;
  for (std::size_t next = 0; next < (others ? parts : 1); ++next)
    for (std::size_t k = (part - 1 + next) % parts; k < runs.size(); k += parts)
      if (!done.contains(runs[k].id)) all.push_back(runs[k]);
  return all;
}

void ShareOptions::add_to(CLI::App& command) {
  auto* option = add_value(command, "--share", asked, "K/N",
                           "Begin with the K-th of N parts of the runs, then take what other parts "
                           "leave: for N of this command at once, on all hosts that see the store")
                     ->check(CLI::Validator(
                         [](const std::string& text) {
                           return read_share(text)
                                      ? std::string()
                                      : fmt::format(
                                            "'{}' is no part of the runs: write 2/4 for "
                                            "the second of four",
                                            text);
                         },
                         ""));
  command
      .add_flag("--own-stores", own_stores,
                "Write this part into a store of its own; the part that ends last merges them. "
                "Chosen by itself where file locks stay within one host")
      ->needs(option);
}

Share ShareOptions::share() const { return read_share(asked).value_or(Share{}); }

// A part that begins takes its marker away, and then looks whether parts are being merged. The part
// that merges makes its file, and then looks whether all have ended. So one of both sees the other.
PartStore::PartStore(const std::string& store_folder, const std::string& experiment,
                     const Share& share)
    : store_(store_folder),
      base_(fmt::format("{}/parts/{}", store_folder, experiment)),
      share_(share),
      folder_(part_folder(share.part)) {
  std::error_code ignored;
  fs::remove(marker(share_.part), ignored);
  wait_while_parts_merge(store_folder);
  create_folders(folder_);
  if (store_exists(folder_)) refuse_while_executed(Store(folder_, Store::Access::read));
}

std::string PartStore::part_folder(std::size_t part) const {
  return fmt::format("{}/{}-of-{}", base_, part, share_.parts);
}

std::string PartStore::merging() const { return merging_in(store_); }

std::string PartStore::marker(std::size_t part) const { return part_folder(part) + ".ended"; }

bool PartStore::all_have_ended() const {
  std::error_code ignored;
  for (std::size_t part = 1; part <= share_.parts; ++part)
    if (!fs::exists(marker(part), ignored)) return false;
  return true;
}

// The folder goes by its name first, so that a part that begins meanwhile has a new one.
void PartStore::merge() const {
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(base_))
    if (store_exists(entry.path())) folders.push_back(entry.path());
  std::ranges::sort(folders);
  const Touching sign(merging(), kSecondsBetweenSigns);
  Store target(store_, Store::Access::write);
  merge_stores(target, folders, [](std::size_t, std::size_t) {});
  const std::string merged = fmt::format("{}.merged-{}", base_, getpid());
  fs::rename(base_, merged);
  std::error_code ignored;
  fs::remove_all(merged, ignored);
}

// What a killed process left is renamed first, which only one of several can do. If that was the
// new file of a faster one, it gets its name back.
bool PartStore::takes_merging() const {
  std::error_code ignored;
  if (silence_of(merging()) >= kLongestSilence) {
    const std::string left =
        fmt::format("{}-{}-{}", merging(), Lease::of_this_process().host, getpid());
    fs::rename(merging(), left, ignored);
    if (is_merging(left)) fs::create_hard_link(left, merging(), ignored);
    fs::remove(left, ignored);
  }
  const int descriptor = open(merging().c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor >= 0) close(descriptor);
  if (descriptor < 0 && errno != EEXIST)
    throw StoreError(
        fmt::format("cannot make {} ({}), without which no parts are merged; check the folder's "
                    "permissions and free space",
                    merging(), std::strerror(errno)));
  return descriptor >= 0;
}

void PartStore::end() {
  std::ofstream(marker(share_.part)).flush();
  const std::string by_hand = fmt::format("'acid merge {}/*/ --store {}'", quoted_for_shell(base_),
                                          quoted_for_shell(store_));
  std::error_code ignored;
  const auto some_go_on = [&] {
    if (!fs::exists(base_, ignored))
      return say(fmt::format("all {} parts have ended, and another task has merged them into {}",
                             share_.parts, store_));
    say(
        fmt::format("part {} of {} has ended; the part that ends last merges all of them. "
                    "{} merges what there is",
                    share_.part, share_.parts, by_hand));
  };
  if (!all_have_ended()) return some_go_on();
  // Only one at a time may merge, of those that find all parts ended and of other recipes.
  for (bool said = false; !takes_merging(); said = true) {
    if (!all_have_ended()) return some_go_on();
    wait_a_second(said);
  }
  const bool all = all_have_ended();
  try {
    if (all) merge();
  } catch (...) {
    fs::remove(merging(), ignored);
    throw;
  }
  fs::remove(merging(), ignored);
  if (!all) return some_go_on();
  say(fmt::format("all {} parts have ended and are merged into {}", share_.parts, store_));
}

}  // namespace acid
