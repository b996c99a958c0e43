// Writes REPRODUCE.md, for a reader who has the crate and wants to repeat the runs.
#include <algorithm>
#include <set>

#include "engine/base/names.hpp"
#include "exports/crate_parts.hpp"
#include "reports/html/sections.hpp"

namespace acid {
namespace {

/// Makes text of the recipe's author safe in a Markdown table: no markup, no line breaks.
std::string plain_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t')
      cell += ' ';
    else if (std::string_view("\\`*_{}[]<>#|").find(c) != std::string_view::npos)
      cell += {'\\', c};
    else
      cell += c;
  }
  return cell;
}

std::string install(const CrateContent& content) {
  std::string text = "## 2. Install the acid that made the runs\n\n";
  const auto builds = builds_of(content);
  for (const CrateBuild& build : builds) {
    text += fmt::format("acid {}, commit {}", build.version.empty() ? "unknown" : build.version,
                        build.commit.empty() ? "unknown" : build.commit);
    text += build.diff_sha256.empty()
                ? ".\n"
                : fmt::format(
                      ", built from a working tree that differed from the commit (SHA-256 of the "
                      "difference: {}): the commit alone does not make the same program.\n",
                      build.diff_sha256);
  }
  if (builds.size() > 1)
    text +=
        "\nSeveral builds made these runs: see environments.json. What one made, verify with "
        "it.\n";
  const std::string commit =
      builds.empty() || builds.front().commit.empty() ? "unknown" : builds.front().commit;
  return text + fmt::format(
                    "\n```sh\ncd acid                  # a clone of its repository\n"
                    "git checkout {}\n"
                    "awk '!/^#/ {{print $1}}' scripts/packages.txt |\n"
                    "  xargs sudo apt-get install -y\n"
                    "cmake --preset release && cmake --build --preset release\n"
                    "export PATH=$PWD/build/release/bin:$PATH\n```\n\n",
                    quoted_for_shell(commit));
}

/// The finished runs as arguments: by their experiment's id if it names exactly these runs.
std::string run_arguments(const CrateContent& content) {
  std::string ids;
  bool all_of_one = content.experiments.size() == 1;
  for (std::size_t r = 0; r < content.runs.size(); ++r) {
    const bool finished = content.runs[r].summary.state == RunState::finished;
    all_of_one = all_of_one && finished && content.experiment_of_run[r] == 0;
    if (finished) ids += " " + content.runs[r].summary.id;
  }
  return all_of_one ? " " + content.experiments.front().first.id : ids;
}

std::string look_and_verify(const CrateContent& content) {
  const std::string runs = run_arguments(content);
  const std::string& compared = content.compared;
  const bool tables = content.statement.parts.tables;
  std::string looked_at = "the files, the seals";
  if (tables) looked_at += ", every table made again from the store";
  if (content.claims) looked_at += ", every claim judged again";
  return fmt::format(
      "## 3. Look\n\nNothing here is changed by looking.{3}\n\n"
      "```sh\nacid list --store {0}\nacid compare --store {0}{5}\n{4}```\n\n"
      "## 4. Verify\n\nExecutes every run again, or replays the recorded events of one that was "
      "asynchronous on real\nthreads or processes, and compares everything bit for bit. What it "
      "finds goes into the store, so work\non a copy.\n\n"
      "```sh\ncp -r {0} my-store\nacid verify --store my-store{1}\n```\n\n"
      "In less time: {2}, and some "
      "runs\nexecuted again, which are drawn when you ask. Nothing here is changed.\n\n"
      "```sh\nacid claim check . --spot 5%\n```\n\n",
      kCrateStore, runs, looked_at, tables ? " `ro-crate-preview.html` is the report." : "",
      tables ? ""
             : fmt::format("acid report --store {}{} -o ../report.html\n", kCrateStore, compared),
      compared);
}

std::string run_again(const CrateContent& content) {
  if (content.experiments.empty()) return "";
  std::string text =
      "## 5. Run again\n\nFrom the recipe, into a new store. A run has the same id wherever it is "
      "run, so its digests can be\ncompared with those below.\n\n```sh\n";
  for (const auto& [experiment, path] : content.experiments) {
    text += "acid run " + path + " --store again" + set_options(experiment.overrides) + "\n";
  }
  return text +
         "acid compare --store again\nacid show RUN --store again --json      # \"digests\": "
         "\"mean\" and \"workers\"\n```\n\nA recipe that names files looks for them from its own "
         "folder: put yours there, or the recipe beside them.\n\n";
}

constexpr const char* kEquality =
    "## What equality means\n\n"
    "* Runs of the driver `virtual`, and of synchronous methods, are bit-identical for any number "
    "of cores,\n  interrupted or not, on any machine with the same CPU capability and the same "
    "versions of the libraries\n  that compute (environments.json). Elsewhere last bits may "
    "differ, and with them everything that\n  follows; then compare means and intervals, not "
    "digests.\n"
    "* An asynchronous run of `threads` or `mpi` depends on which worker was faster when. Running "
    "it again\n  gives another sample of the same experiment. What happened is recorded, event by "
    "event, and replaying\n  it gives every digest.\n"
    "* Seconds and idle times of `threads` and `mpi` are those of the machine and are never "
    "compared.\n"
    "* `acid verify` names the first event at which two executions part, and says what of program, "
    "machine\n  and data files differs from the recorded ones.\n\n";

std::string runs_table(const CrateContent& content) {
  std::string text =
      "## The runs\n\n| run | method | seed | driver | state | SHA-256 of the final mean | "
      "verified "
      "|\n| --- | --- | ---: | --- | --- | --- | --- |\n";
  for (const RunDetail& run : content.runs) {
    std::string verified = "not yet";
    if (const VerificationRow* const last = decisive_verification(run))
      verified = fmt::format("{}{}, {} on {}",
                             !last->equal            ? "different"
                             : last->altered.empty() ? "equal"
                                                     : "equal then, altered since",
                             last->from ? fmt::format(" from checkpoint {} on", *last->from) : "",
                             last->time.substr(0, 10), plain_cell(last->host));
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", run.summary.id,
                        plain_cell(run.summary.label), run.summary.seed, run.summary.driver,
                        state_name(run.summary.state), run.result ? run.result->mean_digest : "",
                        verified);
  }
  return text + "\n";
}

std::string data_files(const CrateContent& content) {
  std::set<std::pair<std::string, std::string>> files;
  for (const RunDetail& run : content.runs)
    files.insert(run.file_digests.begin(), run.file_digests.end());
  if (files.empty()) return "No run read data files: the data are made by acid from the seed.\n";
  std::string text =
      "## Data files\n\nThey are not in the crate. No run verifies with others than these."
      "\n\n| file | SHA-256 |\n| --- | --- |\n";
  for (const auto& [path, digest] : files)
    text += fmt::format("| {} | {} |\n", plain_cell(path), digest);
  return text;
}

}  // namespace

std::string crate_reproduce(const CrateContent& content) {
  std::string names;
  for (const auto& [experiment, path] : content.experiments)
    names += (names.empty() ? "" : ", ") + plain_cell(experiment.name);
  std::string text = fmt::format("# How to reproduce {}\n\n", names.empty() ? "these runs" : names);
  text +=
      "| file | holds |\n| --- | --- |\n"
      "| recipe.toml, or recipes/ | the recipes as they were run |\n"
      "| claims.json | what the recipe claims, with verdicts; absent if it claims nothing |\n"
      "| asked.json | what the crate was made of, by which acid, and what was left out |\n";
  if (content.statement.parts.tables)
    text +=
        "| ro-crate-preview.html | the report: opens in any browser, needs no network |\n"
        "| comparison.md, comparison.json | the comparison over seeds |\n"
        "| metrics.csv | every recorded value |\n"
        "| runs/RUN/run.json | everything about a run: settings, seeds, topology, digests |\n"
        "| environments.json | machines and builds |\n";
  text += fmt::format("| acid-store/ | the runs as acid keeps them, {} |\n",
                      content.statement.parts.models
                          ? "with final models in checkpoints/"
                          : "without the files of final models, of which it has the SHA-256");
  text +=
      "| ro-crate-metadata.json | all this for programs (RO-Crate, Process Run Crate) |\n\n"
      "## 1. Check that the files are whole\n\n```sh\nsha256sum -c SHA256SUMS\n```\n\n";
  return text + install(content) + look_and_verify(content) + run_again(content) + kEquality +
         runs_table(content) + data_files(content);
}

}  // namespace acid
