// The data block of a page, read back as its script reads it.
#include "reports/html/page_data.hpp"

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/html.hpp"
#include "reports/html/encoding.hpp"
#include "reports/html/report_data.hpp"
#include "tests/catch.hpp"
#include "tests/reports/recorded_run.hpp"

using namespace acid;
using synthetic::has;
using synthetic::RecordedRuns;

namespace {

std::vector<float> unpacked(const std::string& base64_text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : base64_text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(c));
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xFF);
  }
  std::vector<float> values;
  for (std::size_t k = 0; k + 4 <= bytes.size(); k += 4) {
    std::uint32_t word = 0;
    for (std::size_t b = 4; b-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[k + b]);
    values.push_back(std::bit_cast<float>(word));
  }
  return values;
}

nlohmann::json block_of(const ReportData& data) {
  const std::string element = data_block(data);
  const std::string opening = "<script type=\"application/json\" id=\"acid-data\">";
  const std::string closing = "</script>\n";
  REQUIRE(element.rfind(opening, 0) == 0);
  REQUIRE(element.find('<', opening.size()) == element.size() - closing.size());
  return nlohmann::json::parse(
      element.substr(opening.size(), element.size() - opening.size() - closing.size()));
}

const synthetic::Shape kSmall{.samples = 30, .gradients_per_epoch = 64, .more_metrics = true};

}  // namespace

TEST_CASE("bytes become base64 with padding, numbers little-endian floats") {
  const auto text_of = [](std::string_view text) {
    return base64(std::as_bytes(std::span(text.data(), text.size())));
  };
  CHECK(text_of("") == "");
  CHECK(text_of("f") == "Zg==");
  CHECK(text_of("fo") == "Zm8=");
  CHECK(text_of("foob") == "Zm9vYg==");
  CHECK(packed_floats({1, -2}) == "AACAPwAAAMA=");
  const auto back = unpacked(packed_floats({0.5, NAN, -INFINITY, 1e6}));
  REQUIRE(back.size() == 4);
  CHECK(back[0] == 0.5f);
  CHECK(std::isnan(back[1]));
  CHECK(back[2] == -INFINITY);
  CHECK(back[3] == 1e6f);
}

TEST_CASE("the data block holds every chart on every axis, epochs among them") {
  const synthetic::Filled made(kSmall);
  const ReportData data = read_report(made.store, made.ids);
  const nlohmann::json block = block_of(data);
  CHECK(block["schema"] == 1);
  CHECK(block["live"] == false);
  std::vector<std::string> axes;
  for (const auto& axis : block["axes"]) axes.push_back(axis["key"]);
  CHECK(axes ==
        std::vector<std::string>{"gradients", "epochs", "normalised_time", "seconds", "bytes"});
  CHECK(block["charts"].size() == 6);
  for (const auto& chart : block["charts"]) {
    CHECK(chart["point"] == 0);
    CHECK(chart["folded"] == (chart["metric"] == "staleness" || chart["metric"] == "idle_share"));
    CHECK(chart["groups"].size() == 3);
    for (const auto& group : chart["groups"]) {
      CHECK(group["n"] == 3);
      for (const std::string& axis : axes) {
        const auto x = unpacked(group["band"][axis]["x"]);
        CHECK(x.size() == unpacked(group["band"][axis]["low"]).size());
        CHECK(x.size() == unpacked(group["band"][axis]["mean"]).size());
        for (const auto& seed : group["seeds"])
          CHECK(unpacked(seed["at"][axis]).size() == unpacked(seed["value"]).size());
      }
    }
  }
  const auto& seed = block["charts"][0]["groups"][0]["seeds"][1];
  CHECK(seed["seed"] == "2");
  CHECK(unpacked(seed["value"]).size() == 31);
  CHECK(unpacked(seed["at"]["gradients"]).back() == 6400);
  CHECK(unpacked(seed["at"]["epochs"]).back() == 100);
}

TEST_CASE("means are those of all seeds' values, whatever the axis") {
  RecordedRuns recorded(2);
  recorded.record(0, "eval_loss", {{0, 1}, {50, 3}, {100, 5}});
  recorded.record(1, "eval_loss", {{0, 3}, {50, 5}, {100, 7}});
  recorded.finish(0, 100);
  recorded.finish(1, 100);
  const nlohmann::json block = block_of(read_report(recorded.store, recorded.ids));
  REQUIRE(block["charts"].size() == 1);
  CHECK(block["axes"].size() == 4);  // no epochs
  for (const auto& [axis, band] : block["charts"][0]["groups"][0]["band"].items()) {
    INFO(axis);
    const auto mean = unpacked(band["mean"]), low = unpacked(band["low"]);
    CHECK(mean.front() == Approx(2));
    CHECK(mean.back() == Approx(6));
    CHECK(low.front() == Approx(2 - 12.7062047).epsilon(1e-5));
  }
}

TEST_CASE("a secondary curve is shown where it changes, a primary one always") {
  RecordedRuns recorded(1);
  recorded.record(0, "learning_rate", {{0, 0.1}, {100, 0.1}});
  recorded.finish(0, 100);
  CHECK(block_of(read_report(recorded.store, recorded.ids))["charts"].empty());
  RecordedRuns decays(1);
  decays.record(0, "learning_rate", {{0, 0.1}, {100, 0.05}});
  decays.finish(0, 100);
  const auto charts = block_of(read_report(decays.store, decays.ids))["charts"];
  REQUIRE(charts.size() == 1);
  CHECK(charts[0]["folded"] == true);
  RecordedRuns level(1);
  level.record(0, "eval_loss", {{0, 1}, {100, 1}});
  level.finish(0, 100);
  CHECK(block_of(read_report(level.store, level.ids))["charts"].size() == 1);
}

TEST_CASE("the page has the same bytes however many threads read it") {
  const synthetic::Filled made(kSmall);
  const Store& store = made.store;
  const std::vector<std::string>& ids = made.ids;
  std::vector<std::size_t> heard;
  ReportOptions options;
  options.progress = [&](std::size_t done, std::size_t runs) {
    CHECK(runs == ids.size());
    heard.push_back(done);
  };
  options.threads = 1;
  const std::string page = render_report(store, ids, options);
  CHECK(heard.size() == ids.size());
  const std::string block = data_block(read_report(store, ids, options));
  for (const int threads : {2, 7, 64}) {
    heard.clear();
    options.threads = threads;
    CHECK(render_report(store, ids, options) == page);
    CHECK(std::ranges::is_sorted(heard));
    CHECK(heard.back() == ids.size());
    CHECK(data_block(read_report(store, ids, options)) == block);
  }
}

TEST_CASE("a failure while runs are read reaches the caller, whichever thread it met") {
  RecordedRuns recorded(3);
  for (const int threads : {1, 3}) {
    ReportOptions options;
    options.threads = threads;
    CHECK_THROWS_AS(render_report(recorded.store, {recorded.ids[0], "unknown"}, options),
                    UsageError);
    options.progress = [](std::size_t, std::size_t) { throw Error("no further"); };
    CHECK_THROWS_WITH(render_report(recorded.store, recorded.ids, options), "no further");
  }
  CHECK_THROWS_AS(render_report(recorded.store, {}), UsageError);
}

TEST_CASE("curves get coarser with their number, and never so coarse that they say nothing") {
  const CurveDetail few = curve_detail(9, 3, 4, 5, true);
  const CurveDetail many = curve_detail(60, 20, 6, 5, true);
  const CurveDetail very_many = curve_detail(100'000, 10'000, 10, 5, true);
  CHECK(few.cells == 400);
  CHECK(few.seed_points > many.seed_points);
  CHECK(many.cells < few.cells);
  CHECK(many.cells >= 80);
  CHECK(very_many.cells >= 24);
  CHECK(many.seeds_shown);
  CHECK_FALSE(very_many.seeds_shown);
  CHECK(very_many.drawn_points >= 24);
  CHECK(curve_detail(60, 20, 6, 5, false).drawn_points > many.drawn_points);
  CHECK(curve_detail(0, 0, 0, 0, true).cells > 0);
}
