#include <regex>
#include <set>

#include "engine/base/digest.hpp"
#include "reports/html.hpp"
#include "reports/html/encoding.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/page_script.hpp"
#include "store/tags.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;
using synthetic::run;
using synthetic::sentences_of;

namespace {

Comparison with_losses(const std::vector<double>& differences) {
  std::vector<ComparedRun> runs;
  for (std::size_t k = 0; k < differences.size(); ++k) {
    runs.push_back(run("ar-sgd", k + 1, {{"eval_loss", 1}}));
    runs.push_back(run("ad-psgd", k + 1, {{"eval_loss", 1 + differences[k]}}));
  }
  return compare_runs(runs);
}

std::string without(std::string page, std::string_view part) {
  if (const auto place = page.find(part); !part.empty() && place != std::string::npos)
    page.erase(place, part.size());
  return page;
}

}  // namespace

TEST_CASE("the verdict claims a difference only when its test does") {
  CHECK(has(sentences_of(with_losses({0.1, 0.11, 0.12, 0.1, 0.11, 0.12})),
            "ad-psgd had higher evaluation loss than ar-sgd (worse): 0.11 [0.101, 0.119] "
            "over 6 paired seeds, exact sign-flip p (Holm over 1 comparison) = 0.031."));
  CHECK(has(sentences_of(with_losses({-0.5, 0.6, 0.1, 0.3, -0.2, 0.1})),
            "No difference in evaluation loss between ad-psgd and ar-sgd was shown: 0.0667 ["));
  CHECK(has(sentences_of(with_losses({0.1, 0.11, 0.12})), "Too few seeds to tell"));
  CHECK(has(sentences_of(with_losses({0.3})), "one seed cannot tell a difference from chance"));
  CHECK(has(sentences_of(with_losses({0, 0, 0})), "the same evaluation loss"));
}

TEST_CASE("a page is self-contained, runs its own script alone, and escapes what people wrote") {
  const synthetic::Filled made(
      {.name = "ring <img src=x onerror=alert(1)> & co", .workers = {4, 16}, .samples = 30});
  const std::string whole = render_report(made.store, made.ids);
  CHECK(whole.rfind("<!DOCTYPE html>", 0) == 0);
  const std::string page = without(whole, page_script().script);
  CHECK((page == whole) == page_script().script.empty());
  CHECK(has(page, "built without npm") == page_script().script.empty());
  if (!page_script().script.empty()) {
    CHECK(has(page, "script-src " + content_hash(page_script().script)));
    CHECK(has(page, "<script></script>\n</body>"));
  }
  CHECK(has(page, "default-src 'none'; style-src 'sha256-"));
  CHECK(has(page, content_security_policy(false)));
  const std::regex own(
      R"re(<script( type="application/(json|octet-stream)" id="acid-[a-z]+")?>)re");
  CHECK(std::regex_replace(page, own, "").find("<script") == std::string::npos);
  CHECK_FALSE(has(page, "<img"));
  CHECK_FALSE(has(page, "style=\""));
  CHECK_FALSE(has(page, "http://"));
  CHECK_FALSE(has(page, "https://"));
  CHECK_FALSE(std::regex_search(page, std::regex(R"([ (]nan[ ,<)])")));
  CHECK(has(page, "ring &lt;img src=x"));
  CHECK(has(page, "Test &amp; &lt;b&gt;CPU"));
  CHECK(has(page, "workers.count = 16"));
  CHECK(has(page, "acid run &#39;recipes/it&#39;\\&#39;&#39;s.toml&#39; --set"));
  CHECK_FALSE(has(page, made.folder.path()));
}

TEST_CASE("the same store gives the same bytes") {
  const synthetic::Folder folder;
  std::vector<std::string> ids;
  std::string first;
  {
    Store store(folder.path(), Store::Access::write);
    ids = synthetic::fill(store, {.samples = 20});
    first = render_report(store, ids);
  }
  const Store again(folder.path(), Store::Access::read);
  CHECK(render_report(again, ids) == first);
}

TEST_CASE("ids within a page are unique") {
  const synthetic::Filled made({.workers = {4, 9}, .topology = "torus", .seeds = 1, .samples = 10});
  const std::string page = render_report(made.store, made.ids);
  std::set<std::string> seen;
  const std::regex id(R"( id="([^"]+)\")");
  for (std::sregex_iterator it(page.begin(), page.end(), id), end; it != end; ++it) {
    INFO((*it)[1]);
    CHECK(seen.insert((*it)[1]).second);
  }
  CHECK(seen.size() > 20);
}

TEST_CASE("a page can be drawn before anything is finished, and for large networks") {
  synthetic::Filled made({.workers = {100}, .seeds = 1, .samples = 5});
  // Once for the graph, whichever algorithms recorded its edges.
  CHECK(synthetic::count_of(render_report(made.store, made.ids),
                            "Not drawn: more than 64 workers.") == 1);

  ExperimentRecord experiment;
  experiment.id = "feedfacefeed";
  experiment.name = "not yet";
  experiment.recipe_digest = std::string(64, 'f');
  RunRecord planned;
  planned.id = "0123456789ab";
  planned.algorithm = "ar-sgd";
  planned.digest = std::string(64, 'd');
  planned.group = std::string(64, 'e');
  planned.settings = {{"algorithm", {{"kind", "ar-sgd"}}}};
  planned.plan = nlohmann::json::object();
  planned.driver = "virtual";
  made.store.add_experiment(experiment, {planned});
  const std::string page = render_report(made.store, {planned.id});
  CHECK(has(page, "not yet"));
  CHECK(has(page, "1 of 1 runs are not in the numbers (1 planned: seed "));
}

TEST_CASE("a page and a comparison have the tags and notes of their experiments and runs") {
  synthetic::Filled made({.samples = 5});
  auto& [folder, store, ids] = made;
  CHECK_FALSE(has(render_report(store, ids), "tags of "));
  CHECK_FALSE(has(to_text(compare(store, ids), false), "tags of "));
  const std::string experiment = list_experiments(store).front().id;
  change_tags(store, {{}, {experiment}}, {{"paper", "final"}, {}, "for <b> & co"});
  change_tags(store, {{ids[1]}, {}}, {{"odd-one"}, {}, {}});
  const std::string page = render_report(store, ids);
  CHECK(has(page, "tags of synthetic: final, paper</p>"));
  CHECK(has(page, ": for &lt;b&gt; &amp; co</p>"));
  CHECK(has(page, "tags of run " + ids[1] + ": odd-one</p>"));
  CHECK(has(page, "<td>odd-one</td>"));
  const Comparison comparison = compare(store, ids);
  CHECK(has(to_text(comparison, false),
            "\n  tags of synthetic: final, paper\n  note on synthetic, "));
  CHECK(has(to_markdown(comparison), "\n- tags of synthetic: final, paper\n"));
  const nlohmann::json tagged = to_json(comparison)["tagged"];
  REQUIRE(tagged.size() == 2);
  CHECK((tagged[0]["id"] == experiment && tagged[0]["notes"][0]["text"] == "for <b> & co"));
  CHECK((tagged[1]["kind"] == "run" && tagged[1]["tags"][0] == "odd-one"));
  // Only the first of many are told.
  for (int k = 0; k < 40; ++k)
    change_tags(store, {{}, {experiment}}, {{}, {}, "note " + std::to_string(k)});
  CHECK(has(render_report(store, ids), "and 32 more lines of tags and notes"));
}

TEST_CASE("the hosts of a page are those of the runs that its search tried, too") {
  synthetic::Filled made({.samples = 5});
  auto& [folder, store, ids] = made;
  CHECK_FALSE(has(render_report(store, ids), "id=\"hosts\""));
  const RunDetail like = run_detail(store, ids[0]);
  RunRecord tried = synthetic::another_seed(like, 77), known = tried;
  tried.is_search = true;
  known.id = ids[0];
  known.digest = like.summary.digest;
  known.settings = like.settings;
  known.seed = like.summary.seed;
  ExperimentRecord experiment;
  experiment.name = "searching";
  experiment.id = "0123456789ab";
  store.add_experiment(experiment, {tried, known});
  Lease elsewhere = Lease::of_this_process();
  elsewhere.host = "node77";
  const std::int64_t attempt = store.begin_attempt(tried.id, elsewhere, {}, {}, {});
  AttemptResult result;
  result.state = RunState::finished;
  store.end_attempt(attempt, result);
  AskedRuns asked{ids[0]};
  asked.experiments = {experiment.id};
  const std::string page = render_report(store, asked);
  CHECK(has(page, "id=\"hosts\""));
  CHECK(has(page, "node77"));
}
