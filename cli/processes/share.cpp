#include "cli/processes/share.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/terminal/session.hpp"
#include "engine/base/folders.hpp"
#include "store/merge.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

// A merge touches its mark at every run that it looks at. One that has not for so long was killed.
constexpr std::chrono::minutes kLongestForARun(3);

// The number at the front of the text, which it takes away; 0: there is none, or it is not
// positive.
std::size_t take_number(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Absent: the text is not of the form K/N.
std::optional<Share> read_share(std::string_view text) {
  const std::size_t part = take_number(text);
  const bool slash = text.starts_with('/');
  if (slash) text.remove_prefix(1);
  const std::size_t parts = slash ? take_number(text) : 0;
  constexpr std::size_t kMost = 100'000;
  if (part == 0 || parts == 0 || parts > kMost || !text.empty()) return std::nullopt;
  Share share;
  share.part = (part - 1) % parts + 1;
  share.parts = parts;
  return share;
}

}  // namespace

// Parts that are done early take from different others, so that they do not all take the same run.
std::vector<RunSummary> Share::ordered(const std::vector<RunSummary>& runs) const {
  std::vector<RunSummary> all;
  for (std::size_t next = 0; next < (others ? parts : 1); ++next)
    for (std::size_t k = (part - 1 + next) % parts; k < runs.size(); k += parts)
      if (!done.contains(runs[k].id)) all.push_back(runs[k]);
  return all;
}

void ShareOptions::add_to(CLI::App& command) {
  auto* option =
      command
          .add_option("--share", asked,
                      "Begin with the K-th of N parts of the runs, then take what other parts "
                      "leave: for N of this command at once, on all hosts that see the store")
          ->type_name("K/N")
          ->check(CLI::Validator(
              [](const std::string& text) {
                return read_share(text) ? std::string()
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

PartStore::PartStore(const std::string& store_folder, const std::string& experiment,
                     const Share& share)
    : store_(store_folder),
      base_(fmt::format("{}/parts/{}", store_folder, experiment)),
      share_(share),
      folder_(part_folder(share.part)) {
  create_folders(folder_);
  std::error_code ignored;
  fs::remove(marker(share_.part), ignored);
}

std::string PartStore::part_folder(std::size_t part) const {
  return fmt::format("{}/{}-of-{}", base_, part, share_.parts);
}

std::string PartStore::marker(std::size_t part) const { return part_folder(part) + ".ended"; }

void PartStore::end() {
  std::ofstream(marker(share_.part)).flush();
  std::size_t ended = 0;
  std::error_code ignored;
  std::vector<std::string> folders;
  for (std::size_t part = 1; part <= share_.parts; ++part) {
    ended += fs::exists(marker(part), ignored) ? 1 : 0;
    folders.push_back(part_folder(part));
  }
  const std::string by_hand =
      fmt::format("'acid merge {}/*-of-{} --store {}'", quoted_for_shell(base_), share_.parts,
                  quoted_for_shell(store_));
  if (ended < share_.parts)
    return say(
        fmt::format("part {} of {} has ended; the part that ends last merges all of them. "
                    "{} merges what there is",
                    share_.part, share_.parts, by_hand));
  // Only one of those that find all parts ended may merge.
  const std::string merging = base_ + "/merging";
  const auto touched = fs::last_write_time(merging, ignored);
  if (!ignored && touched + kLongestForARun < fs::file_time_type::clock::now())
    fs::remove(merging, ignored);
  const int descriptor = open(merging.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return say(
        fmt::format("all {} parts have ended, and another merges them; if that was killed, "
                    "{} does it",
                    share_.parts, by_hand));
  close(descriptor);
  try {
    Store target(store_, Store::Access::write);
    merge_stores(target, folders, [&](std::size_t, std::size_t) {
      std::error_code gone;
      fs::last_write_time(merging, fs::file_time_type::clock::now(), gone);
    });
  } catch (...) {
    fs::remove(merging, ignored);  // what is wrong may be put right
    throw;
  }
  say(fmt::format("all {} parts have ended and are merged into {}", share_.parts, store_));
  fs::remove_all(base_, ignored);
}

}  // namespace acid
