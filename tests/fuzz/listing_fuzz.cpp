// Method listings: any text is refused, with a place and a remedy, or is a listing. The canonical
// form of a listing reads as an equal listing, and workers that step, say and hear by it stay
// within their memory.
#include <vector>

#include "engine/base/error.hpp"
#include "engine/language/listed_rule.hpp"
#include "engine/methods/listed.hpp"
#include "engine/worker/worker.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {
namespace {

constexpr std::size_t kSize = 19;
constexpr int kPartners = 2;

void require(bool holds, const char* otherwise) { ACID_ASSERT(holds, "{}", otherwise); }

std::optional<Listing> read(const nlohmann::json& table) {
  std::vector<Finding> findings;
  const auto listing = read_listing(table, findings);
  require(listing.has_value() == findings.empty(), "a listing with findings");
  for (const Finding& finding : findings)
    require(!finding.message.empty() && !finding.remedy.empty(), "a finding that says nothing");
  return listing;
}

void execute(const Listing& listing, const ParameterValues& values) {
  const auto programs =
      std::make_shared<const ListedPrograms>(std::make_shared<const Listing>(listing), values);
  WorkerSettings settings;
  settings.dimension = kSize;
  settings.decay = {{0, 7, 0.1}, {7, kSize, 0.0}};
  settings.optimizer.momentum = 0.9;
  settings.follow(rules<ListedRule>(programs));
  WorkerMemory<float> memory(settings, kPartners);
  std::vector<Worker> workers;
  std::vector<std::vector<float>> messages;
  for (int i = 0; i < kPartners; ++i) {
    workers.emplace_back(settings, memory, static_cast<std::size_t>(i),
                         static_cast<std::uint32_t>(i));
    workers.back().start(std::vector<float>(kSize, 0.5f));
    messages.emplace_back(programs->message.floats(kSize));
  }
  for (int leg = 1; leg <= 2; ++leg) {
    for (Worker& worker : workers) worker.begin_gradient(leg - 1);
    for (Worker& worker : workers) worker.commit_gradient(leg, worker.gradient(), 0.1);
    for (int i = 0; i < kPartners; ++i) workers[i].offer(leg, messages[i]);
    for (int i = 0; i < kPartners; ++i) workers[i].apply(leg, leg, messages[i], messages[1 - i]);
  }
  std::vector<float> model(kSize);
  workers[0].read_at(3, 0, model);
}

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid;
  if (size > 4096) return 0;
  nlohmann::json table;
  try {
    table = json_of_toml({reinterpret_cast<const char*>(data), size});
  } catch (const UsageError&) {
    return 0;
  }
  const auto listing = fuzz::read(table);
  if (!listing) return 0;
  ParameterValues values{{"chi1", 2.0}, {"chi2", 1.5}};
  nlohmann::json form = canonical(*listing), parameters = nlohmann::json::object();
  for (const ListedParameter& one : listing->parameters) {
    values[one.name] = one.value;
    parameters[one.name] = one.formula ? nlohmann::json(1) : nlohmann::json(one.value);
  }
  form["parameters"] = parameters;
  const auto again = fuzz::read(form);
  if (again) fuzz::require(canonical(*again) == canonical(*listing), "another canonical form");
  fuzz::execute(*listing, values);
  return 0;
}
