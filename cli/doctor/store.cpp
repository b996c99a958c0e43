#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/doctor/checks.hpp"
#include "reports/text_table.hpp"
#include "store/existing_store.hpp"
#include "store/maintenance.hpp"

namespace acid {
namespace {

using nlohmann::json;

void print_text(const std::string& folder, const std::vector<StoreFinding>& findings,
                const std::vector<std::string>& repaired, const std::string& contents) {
  const auto print = [](const char* title, const std::string& words) {
    print_data(fmt::format("{:<10}{}\n", title, wrapped(words, 90, std::string(10, ' '))));
  };
  for (const std::string& line : repaired) print("repaired", line);
  bool repairable = false;
  for (const StoreFinding& finding : findings) {
    print("wrong", finding.what);
    if (!finding.remedy.empty()) print("", finding.remedy);
    repairable = repairable || finding.repairable;
  }
  if (findings.empty())
    print_data(fmt::format("the store {} is sound\ncontents  {}\n", folder, contents));
  else if (repairable)
    say("'acid doctor --store --repair' mends what can be mended");
}

json to_json(const std::vector<StoreFinding>& findings) {
  json listed = json::array();
  for (const StoreFinding& finding : findings)
    listed.push_back(
        {{"what", finding.what}, {"remedy", finding.remedy}, {"repairable", finding.repairable}});
  return listed;
}

}  // namespace

Exit examine_store(const Session& session, bool repair, const Format& format) {
  Store store = repair ? open_existing_store(session.store_folder)
                       : Store(session.store_folder, Store::Access::read);
  std::vector<StoreFinding> findings = inspect_store(store);
  std::vector<std::string> repaired;
  if (repair && !findings.empty()) {
    repaired = repair_store(store);
    findings = inspect_store(store);
  }
  const std::string contents = findings.empty() ? contents_digest(store) : "";
  if (format.json)
    print_json({{"store", session.store_folder},
                {"sound", findings.empty()},
                {"findings", to_json(findings)},
                {"repaired", repaired},
                {"contents", contents.empty() ? json(nullptr) : json(contents)}});
  else
    print_text(session.store_folder, findings, repaired, contents);
  return findings.empty() ? Exit::ok : Exit::store;
}

}  // namespace acid
