// acid claim check: everything that verdicts rest on, looked at again.
#include "cli/claim_check.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/verify_runs.hpp"
#include "engine/base/digest.hpp"
#include "engine/base/names.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"
#include "store/maintenance.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

struct CheckOptions {
  std::vector<std::string> names;
  std::string spot = "5%", nonce;
  bool all = false;
  Format format;
};

/// "5%" as 0.05.
double share_of(std::string text) {
  std::erase(text, ' ');
  const bool is_percentage = text.ends_with('%');
  if (is_percentage) text.pop_back();
  char* end = nullptr;
  const double value = text.empty() ? -1 : std::strtod(text.c_str(), &end);
  const double share = is_percentage ? value / 100 : value;
  if (text.empty() || *end != '\0' || !(share > 0) || share > 1)
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

/// `count` of the runs, by the order of SHA-256(nonce, run).
std::vector<std::string> drawn(std::vector<std::string> ids, const std::string& nonce,
                               std::size_t count) {
  std::vector<std::pair<std::string, std::string>> order;
  for (std::string& id : ids) order.emplace_back(sha256_hex(nonce + "\n" + id), id);
  std::ranges::sort(order);
  order.resize(count);
  std::vector<std::string> chosen;
  for (auto& [digest, id] : order) chosen.push_back(std::move(id));
  return chosen;
}

/// The chance that at least one of `altered` runs is among `drawn` of `all`.
double chance_to_find(std::size_t altered, std::size_t drawn, std::size_t all) {
  double missed = 1;
  for (std::size_t k = 0; k < altered; ++k)
    missed *=
        all - k > drawn ? static_cast<double>(all - drawn - k) / static_cast<double>(all - k) : 0;
  return 1 - missed;
}

std::string chances_words(std::size_t drawn, std::size_t all) {
  if (drawn == all)
    return "Every run was executed again, so that an altered one would have been found.";
  std::string words = fmt::format("One altered run would have been found with probability {}",
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

Exit check(const Session& session, const CheckOptions& options) {
  std::vector<Claimed> claimed;
  std::vector<std::string> ids;
  std::vector<StoreFinding> findings;
  nlohmann::json claims = nlohmann::json::array();
  std::string text;
  bool all_hold = true;
  {
    const Store store(session.store_folder, Store::Access::read);
    findings = inspect_store(store);
    claimed = claimed_by(store, options.names);
    for (const Claimed& one : claimed) {
      const std::vector<JudgedClaim> judged = one.judge(store);
      all_hold &= all_of_them_hold(judged);
      for (nlohmann::json& row : one.to_json(judged)) claims.push_back(std::move(row));
      text += to_text(judged, lines_of_standard_output().prose());
      for (const RunSummary& run : run_summaries(store, one.runs.ids))
        if (run.state == RunState::finished && std::ranges::find(ids, run.id) == ids.end())
          ids.push_back(run.id);
    }
  }
  const std::size_t all = ids.size();
  const double share = options.all ? 1 : share_of(options.spot);
  const auto count = std::min(
      all, static_cast<std::size_t>(std::ceil(share * static_cast<double>(all) * (1 - 1e-12))));
  const std::string nonce = options.nonce.empty() ? fresh_nonce() : options.nonce;
  if (!options.format.json) {
    print_data(text);
    print_data(findings.empty() ? "the store's seals, summaries and files agree with its points\n"
                                : findings_text(findings, lines_of_standard_output().prose()));
    print_data(fmt::format("{} of {} finished runs are executed again, drawn by the nonce {}\n",
                           count, all, nonce));
  }
  VerifiedRuns verified;
  if (count > 0)
    verified = verify_runs(session, drawn(ids, nonce, count),
                           {.from = {}, .as_json = options.format.json});
  const Exit exit = worse(findings.empty() ? Exit::ok : Exit::mismatch, verified.exit);
  if (options.format.json)
    print_json({{"schema_version", kJsonSchemaVersion},
                {"claims", claims},
                {"findings", findings.size()},
                {"nonce", nonce},
                {"runs", all},
                {"executed", count},
                {"equal", verified.equal},
                {"chance_to_find_one", chance_to_find(1, count, std::max<std::size_t>(all, 1))},
                {"verifications", verified.documents}});
  else if (!verified.interrupted)
    print_data(wrapped(fmt::format("{} of {} are equal bit for bit. {}", verified.equal, count,
                                   chances_words(count, all)),
                       lines_of_standard_output().prose()) +
               "\n");
  if (exit != Exit::ok) return exit;
  return all_hold ? Exit::ok : Exit::claim_fails;
}

}  // namespace

void add_claim_check(CLI::App& claim, Session& session) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = claim.add_subcommand(
      "check", "Look again at what verdicts on claims rest on, and execute some runs again");
  command
      ->add_option(
          "NAMES", options->names,
          "A recipe, or runs and experiments: ids, prefixes, an experiment's name, @latest "
          "(default)")
      ->type_name(" ");
  CLI::Option* const spot = command->add_option(
      "--spot", options->spot, "The share of the finished runs to execute again (default: 5%)");
  spot->type_name("SHARE");
  command
      ->add_option("--nonce", options->nonce,
                   "Draws these runs; whoever made the store must not have known it (default: a "
                   "random number of the system)")
      ->type_name("TEXT");
  command->add_flag("--all", options->all, "Execute every run again")->excludes(spot);
  add_json_option(*command, options->format);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return check(session, *options); };
  });
}

}  // namespace acid
