// The page of unfinished runs.
#include <regex>

#include "reports/html.hpp"
#include "reports/html/report_data.hpp"
#include "tests/catch.hpp"
#include "tests/reports/recorded_run.hpp"

using namespace acid;
using synthetic::has;
using synthetic::RecordedRuns;

TEST_CASE("a live page shows the curves so far and how many runs have finished") {
  RecordedRuns recorded(3);
  recorded.record(0, "eval_loss", {{0, 1}, {50, 0.5}, {100, 0.25}});
  recorded.finish(0, 100);
  recorded.record(1, "eval_loss", {{0, 1}, {20, 0.9}});

  const ReportData data = read_report(recorded.store, recorded.ids, {.live = true});
  REQUIRE(data.curves.size() == 1);
  const GroupCurves& curves = data.curves[0].at(0);
  REQUIRE(curves.seeds.size() == 2);
  CHECK(curves.seeds[1].points.size() == 2);
  // The mean is over both runs, up to the shorter one's end.
  CHECK(curves.bands[0].x.back() <= 4 * 21);
  const std::string page = render_report(recorded.store, recorded.ids, {.live = true});
  CHECK(has(page, "1 of 3 runs finished."));
  CHECK(has(page, "id=\"live-status\""));
  CHECK(has(page, content_security_policy(true)));
  CHECK(has(page, "connect-src 'self'"));

  const std::string still = render_report(recorded.store, recorded.ids);
  CHECK_FALSE(has(still, "id=\"live-status\""));
  CHECK_FALSE(has(still, "connect-src 'self'"));
  CHECK(read_report(recorded.store, recorded.ids).curves[0].at(0).seeds.size() == 1);
}

TEST_CASE("a page of runs on several hosts has a table of them and of what was lost") {
  RecordedRuns recorded(3);
  recorded.record(0, "eval_loss", {{1, 0.5}});
  recorded.finish(0, 10);
  CHECK_FALSE(has(render_report(recorded.store, recorded.ids), "id=\"hosts\""));
  Lease elsewhere = Lease::of_this_process();
  elsewhere.host = "no<de>2";
  elsewhere.boot_id = "another";
  recorded.store.begin_attempt(recorded.ids[1], elsewhere, {}, {}, {});
  Lease gone = Lease::of_this_process();
  gone.process_start -= 1;
  recorded.store.begin_attempt(recorded.ids[2], gone, {}, {}, {});
  for (const bool live : {false, true}) {
    const std::string page = render_report(recorded.store, recorded.ids, {.live = live});
    CHECK(has(page, "<a href=\"#hosts\">Hosts</a>"));
    CHECK(has(page, "no&lt;de&gt;2"));
    CHECK(has(page, "Runs whose process was gone"));
    CHECK(has(page, "it waits"));
  }
}

TEST_CASE("a live page can be drawn before any run has begun, and of runs without a sample") {
  RecordedRuns recorded(2);
  CHECK(has(render_report(recorded.store, recorded.ids, {.live = true}), "0 of 2 runs finished."));
  recorded.record(0, "eval_loss", {});
  const std::string page = render_report(recorded.store, recorded.ids, {.live = true});
  CHECK(has(page, "0 of 2 runs finished."));
  CHECK_FALSE(std::regex_search(page, std::regex(R"([ (]-?(nan|inf)[ ,<)])")));
}
