// acid claim check: everything that verdicts rest on, looked at again.
#include "cli/claim_check.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>

#include "cli/recipe_options.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/verify_runs.hpp"
#include "engine/base/digest.hpp"
#include "engine/base/names.hpp"
#include "engine/environment/build_info.hpp"
#include "exports/crate_check.hpp"
#include "recipes/plan.hpp"
#include "recipes/units.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"
#include "store/maintenance.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

struct CheckOptions {
  std::vector<std::string> names, overrides;
  std::string spot = "5%", nonce;
  bool all = false;
  Format format;
};

/// "5%" as 0.05.
double share_of(std::string text) {
  constexpr std::array kShares{Unit{"%", 0.01}, Unit{"", 1}};
  std::erase(text, ' ');
  const double share = quantity(text, kShares).value_or(0);
  if (!(share > 0) || share > 1)
    throw UsageError("--spot is a share of the runs above 0, such as 5% or 0.05, at most 100%");
  return share;
}

/// From the system, so that whoever altered a run could not know which ones are drawn.
std::string fresh_nonce() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    throw Error("the system gives no random number: name one yourself with --nonce TEXT");
  return fmt::format("{:016x}", number);
}

/// The parts of a finished run that can be executed alone: between the beginning, the checkpoints
/// of which there is a file, and the end.
std::vector<VerifiedPart> parts_of(const Store& store, const RunSummary& run) {
  std::vector<VerifiedPart> parts{{run.id, {}, {}}};
  const auto gradients = static_cast<double>(std::max<std::int64_t>(run.progress.gradients, 1));
  double left = 1;
  for (const CheckpointRow& row : checkpoints_of(store, run.id)) {
    if (row.removed) continue;
    const double after = 1 - static_cast<double>(row.position.gradients) / gradients;
    parts.back().until = row.number;
    parts.back().share = left - after;
    left = after;
    parts.push_back({run.id, row.number, {}, after});
  }
  return parts;
}

/// `count` of the parts, by the order of SHA-256(nonce, run, checkpoint).
std::vector<VerifiedPart> drawn(const std::vector<VerifiedPart>& parts, const std::string& nonce,
                                std::size_t count) {
  std::vector<std::pair<std::string, std::size_t>> order;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::string from = parts[p].from ? fmt::format("\n{}", *parts[p].from) : "";
    order.emplace_back(sha256_hex(nonce + "\n" + parts[p].run + from), p);
  }
  std::ranges::sort(order);
  order.resize(count);
  std::vector<VerifiedPart> chosen;
  for (const auto& [digest, part] : order) chosen.push_back(parts[part]);
  return chosen;
}

/// The chance that at least one of `altered` runs, or parts of runs, is among `drawn` of `all`.
double chance_to_find(std::size_t altered, std::size_t drawn, std::size_t all) {
  double missed = 1;
  for (std::size_t k = 0; k < altered; ++k)
    missed *=
        all - k > drawn ? static_cast<double>(all - drawn - k) / static_cast<double>(all - k) : 0;
  return 1 - missed;
}

std::string chances_words(std::size_t drawn, std::size_t all, const char* what) {
  if (all == 0) return "There is no run that has ended, so that nothing was executed.";
  if (drawn == all)
    return "Every run was executed again, so that an altered one would have been found.";
  std::string words = fmt::format("One altered {} would have been found with probability {}", what,
                                  format_number(chance_to_find(1, drawn, all), 2));
  for (const std::size_t altered : {std::size_t{3}, std::size_t{10}})
    if (altered < all)
      words += fmt::format(", one of {} with {}", altered,
                           format_number(chance_to_find(altered, drawn, all), 2));
  return words + ".";
}

std::string findings_text(const std::vector<StoreFinding>& findings, int columns) {
  std::string text;
  for (const StoreFinding& finding : findings)
    text += wrapped("wrong  " + finding.what, columns, "       ") + "\n";
  return text;
}

nlohmann::json told(const std::vector<StoreFinding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const StoreFinding& finding : findings) list.push_back(finding.what);
  return list;
}

/// What is to be checked: a store, or a crate whose store it is.
struct Checked {
  std::unique_ptr<OpenCrate> crate;
  Session session;
  std::vector<Claimed> claimed;
  std::vector<StoreFinding> findings;
  std::vector<VerifiedPart> parts;  // that may be drawn
  std::size_t runs = 0;
};

bool names_crate(const CheckOptions& options) {
  const bool any = std::ranges::any_of(options.names, is_crate);
  if (any && options.names.size() > 1)
    throw UsageError("a crate is checked alone, for it has a store of its own");
  if (any && !options.overrides.empty())
    throw UsageError("--set belongs to a recipe, and a crate has its own");
  return any;
}

/// Claims are those of the recipe that is stored beside them, if it can be compiled here.
void compare_with_recipe(const Store& store, Checked& checked) {
  for (const Claimed& one : checked.claimed) {
    if (one.runs.experiments.empty()) continue;
    const ExperimentRecord record = experiment_of(store, one.runs.experiments.front());
    Plan plan;
    try {
      plan = compile_recipe(record.recipe_path, record.recipe_text, record.overrides);
    } catch (const Error&) {  // files that it names are not here
      continue;
    }
    if (plan.comparison.value("claims", nlohmann::json()) !=
        record.comparison.value("claims", nlohmann::json()))
      checked.findings.push_back(
          {fmt::format("the claims stored for experiment {} are not those of its recipe", one.name),
           "ask the author for the store again", false});
    if (plan.recipe_digest != record.recipe_digest)
      checked.findings.push_back(
          {fmt::format("the recipe of experiment {} has another digest", one.name),
           "ask the author for the store again", false});
  }
}

Checked look_at(const Session& session, const CheckOptions& options) {
  Checked checked{{}, session, {}, {}, {}};
  if (names_crate(options)) {
    checked.crate = std::make_unique<OpenCrate>(options.names.front());
    checked.session.store_folder = checked.crate->store_folder();
    const BuildInfo& build = build_info();
    checked.findings = checked.crate->findings([](const RunDetail& run) { return to_json(run); },
                                               {build.version, build.commit, build.diff_sha256});
  }
  const Store store(checked.session.store_folder, Store::Access::read);
  for (StoreFinding& finding : inspect_store(store)) checked.findings.push_back(std::move(finding));
  try {
    checked.claimed = checked.crate ? claimed_by(store, checked.crate->asked())
                                    : claimed_by(store, options.names, options.overrides);
    compare_with_recipe(store, checked);
  } catch (const StoreError& error) {  // what was found so far is to be told
    checked.findings.push_back({error.what(), "take it again from where it was published", false});
  }
  std::vector<std::string> ids;
  if (checked.crate) ids = checked.crate->asked().ids;
  for (const Claimed& one : checked.claimed)
    for (const std::string& id : one.runs.ids)
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  for (const RunSummary& run : run_summaries(store, ids)) {
    if (!is_over(run.state)) continue;
    ++checked.runs;
    if (options.all)
      checked.parts.push_back({run.id, {}, {}});
    else
      std::ranges::copy(parts_of(store, run), std::back_inserter(checked.parts));
  }
  return checked;
}

Verdicts verdicts_of(const Checked& checked) {
  const Store store(checked.session.store_folder, Store::Access::read);
  Verdicts verdicts = verdicts_on(store, checked.claimed, lines_of_standard_output().prose());
  if (checked.claimed.empty()) verdicts.text = "the recipes claim nothing\n";
  return verdicts;
}

std::string findings_words(const Checked& checked) {
  if (!checked.findings.empty())
    return findings_text(checked.findings, lines_of_standard_output().prose());
  return checked.crate ? "the crate's files, tables and store agree with its points\n"
                       : "the store's seals, summaries and files agree with its points\n";
}

Exit check(const Session& session, const CheckOptions& options) {
  const double share = options.all ? 1 : share_of(options.spot);
  const Checked checked = look_at(session, options);
  const Verdicts verdicts = verdicts_of(checked);
  const std::size_t all = checked.parts.size();
  const auto count = std::min(
      all, static_cast<std::size_t>(std::ceil(share * static_cast<double>(all) * (1 - 1e-12))));
  const std::string nonce = options.nonce.empty() ? fresh_nonce() : options.nonce;
  const char* const what = all == checked.runs ? "run" : "part of a run";
  if (!options.format.json) {
    print_data(verdicts.text);
    print_data(findings_words(checked));
    print_data(fmt::format("{} of {} are executed again, drawn by the nonce {}\n", count,
                           all == checked.runs
                               ? counted(all, "finished run")
                               : fmt::format("{} of {} between checkpoints", counted(all, "part"),
                                             counted(checked.runs, "finished run")),
                           nonce));
  }
  VerifiedRuns verified;
  if (count > 0)
    verified =
        verify_runs(checked.session, drawn(checked.parts, nonce, count), options.format.json);
  const Exit exit = worse(checked.findings.empty() ? Exit::ok : Exit::mismatch, verified.exit);
  if (options.format.json)
    print_json({{"claims", verdicts.rows},
                {"findings", checked.findings.size()},
                {"wrong", told(checked.findings)},
                {"nonce", nonce},
                {"runs", checked.runs},
                {"parts", all},
                {"executed", count},
                {"equal", verified.equal},
                {"chance_to_find_one", chance_to_find(1, count, std::max<std::size_t>(all, 1))},
                {"verifications", verified.documents}});
  else if (!verified.interrupted)
    print_data(wrapped(fmt::format("{} of {} are equal bit for bit. {}", verified.equal, count,
                                   chances_words(count, all, what)),
                       lines_of_standard_output().prose()) +
               "\n");
  if (exit != Exit::ok) return exit;
  return verdicts.all_hold ? Exit::ok : Exit::claim_fails;
}

}  // namespace

void add_claim_check(CLI::App& claim, Session& session) {
  auto [command, options] = add_command<CheckOptions>(
      claim, session, "check",
      "Look again at what verdicts on claims rest on, and execute some runs again", check);
  add_argument(command, "NAMES", options.names,
               "A crate (a folder or a .zip), a recipe, or runs and experiments: ids, prefixes, an "
               "experiment's name, @latest (default)");
  add_overrides_option(command, options.overrides);
  CLI::Option* const spot =
      add_value(command, "--spot", options.spot, "SHARE",
                "The share of the finished runs, or of their parts between checkpoints, to "
                "execute again (default: 5%)");
  add_value(command, "--nonce", options.nonce, "TEXT",
            "Draws these runs; whoever made the store must not have known it (default: a "
            "random number of the system)");
  command.add_flag("--all", options.all, "Execute every run again")->excludes(spot);
  add_json_option(command, options.format);
  add_store_option(command, session);
}

}  // namespace acid
