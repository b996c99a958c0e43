#include "exports/rcp.hpp"

#include <fstream>
#include <limits>

#include "tests/catch.hpp"
#include "tests/scratch.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr double kNotReached = std::numeric_limits<double>::infinity();

json reference_entry(double batch_size, std::vector<double> epochs,
                     const char* key = "Epochs to converge") {
  return {{"Benchmark", "retinanet"},
          {"Creator", "NVIDIA"},
          {"BS", batch_size},
          {"Hyperparams", json::object()},
          {key, std::move(epochs)}};
}

std::vector<double> repeated(std::initializer_list<std::pair<int, double>> counts) {
  std::vector<double> values;
  for (const auto& [count, value] : counts) values.insert(values.end(), count, value);
  return values;
}

// Two entries of MLPerf's rcps_retinanet.json.
json two_entries() {
  return {{"ref_320", reference_entry(320, repeated({{17, 4}, {3, 5}}))},
          {"ref_2048", reference_entry(2048, repeated({{3, 7}, {16, 8}, {1, 9}}))}};
}

ConvergenceReference read_reference(const test::ScratchFolder& folder, const json& document) {
  const std::string path = folder.path() + "/rcps.json";
  std::ofstream(path) << document;
  return ConvergenceReference(path);
}

ConvergencePoint point_at(double batch_size, std::vector<double> epochs) {
  ConvergencePoint point;
  point.batch_size = batch_size;
  point.epoch = 100;
  point.epochs = std::move(epochs);
  return point;
}

}  // namespace

// The numbers are those of MLPerf's checker, with its search for the smallest mean.
TEST_CASE("a reference convergence point has the mean, the spread and the limit of MLPerf's test") {
  const test::ScratchFolder folder;
  const ConvergenceReference reference = read_reference(folder, two_entries());
  const auto at = [&](double batch_size, double mean) {
    return reference.judge(point_at(batch_size, {1, mean, mean, mean, 99}));
  };
  const auto first = at(320, 3.727);
  CHECK(first.passes);
  CHECK(first.mean == Approx(3.727));
  CHECK(first.reference->mean == Approx(4.111111111));
  CHECK(first.reference->stdev == Approx(0.357071421));
  CHECK(first.fewest == Approx(3.726079680));
  CHECK_FALSE(at(320, 3.725).passes);
  CHECK(at(2048, 7.5).fewest == Approx(7.418867169));
  const auto between = at(1024, 5.2);
  CHECK(between.reference->mean == Approx(5.650205761));
  CHECK(between.fewest == Approx(5.190115509));
  CHECK(between.passes);
  CHECK_FALSE(at(1024, 5.1).passes);
  // Below the smallest batch size that one stands in; above the largest there is nothing.
  CHECK(at(64, 4).passes);
  CHECK_THAT(at(64, 3).words, ContainsSubstring("needs a point with the batch size 64"));
  CHECK_FALSE(at(4096, 99).passes);
  CHECK_THAT(at(4096, 99).words, ContainsSubstring("needs a point"));
}

TEST_CASE("one run may miss the target of a reference convergence point, and two may not") {
  const test::ScratchFolder folder;
  const ConvergenceReference reference = read_reference(folder, two_entries());
  CHECK(reference.judge(point_at(320, {4, 4, 4, 4, kNotReached})).passes);
  const auto missed = reference.judge(point_at(320, {4, 4, 4, kNotReached, kNotReached}));
  CHECK_FALSE(missed.passes);
  CHECK_THAT(missed.words, ContainsSubstring("2 of 5 runs missed the target"));
  CHECK_THAT(reference.judge(point_at(320, {4, 4})).words, ContainsSubstring("2 runs are too few"));
  CHECK_THAT(reference.judge(point_at(320, {})).words, ContainsSubstring("too few"));
}

TEST_CASE("an entry that a line between two others beats does not count") {
  const test::ScratchFolder folder;
  json entries = two_entries();
  entries["slow"] = reference_entry(1000, repeated({{10, 9}}));
  entries["slow_start"] = reference_entry(64, repeated({{10, 6}}));
  const ConvergenceReference reference = read_reference(folder, entries);
  CHECK(reference.judge(point_at(1024, repeated({{5, 6}}))).reference->mean == Approx(5.650205761));
  CHECK(reference.judge(point_at(64, repeated({{5, 6}}))).reference->mean == Approx(4.111111111));
}

TEST_CASE("a reference may count samples, and what is no reference is refused") {
  const test::ScratchFolder folder;
  const json samples{{"a", reference_entry(8, {300, 310, 320, 330}, "samples to converge")}};
  CHECK(read_reference(folder, samples).unit() == "samples");
  CHECK(read_reference(folder, samples).judge(point_at(8, {3.2, 3.2, 3.2})).mean == Approx(320));
  const auto refused = [&](const json& document, const char* why) {
    CHECK_THROWS_WITH(read_reference(folder, document), ContainsSubstring(why));
  };
  refused(json::array(), "no JSON object");
  refused(json::object(), "no JSON object");
  refused({{"a", 1}}, "no \"BS\" or no list");
  refused({{"a", reference_entry(0, {1, 2, 3})}}, "no \"BS\" or no list");
  refused({{"a", reference_entry(8, {1, 2})}}, "too few");
  refused({{"a", reference_entry(8, {1, -2, 3})}}, "no number above 0");
  refused({{"a", reference_entry(8, {1, 2, 3})}, {"b", reference_entry(8, {1, 2, 3})}},
          "two entries with the batch size 8");
  CHECK_THROWS_AS(ConvergenceReference(folder.path() + "/none.json"), UsageError);
}

TEST_CASE("a point that some runs missed is not written, and one that is written passes itself") {
  const test::ScratchFolder folder;
  ConvergencePoint reached = point_at(64, {2, 2.5, 3, 3.5});
  reached.benchmark = "study";
  reached.label = "ad-psgd";
  ConvergencePoint missed = reached;
  missed.label = "ar-sgd";
  missed.epochs.back() = kNotReached;
  const json file = rcp_json({reached, missed}, "somebody");
  REQUIRE(file.size() == 1);
  const json& entry = file["study_ad-psgd_ref_64"];
  CHECK(entry["BS"] == 64);
  CHECK(entry["Epochs to converge"] == json({2, 2.5, 3, 3.5}));
  CHECK(read_reference(folder, file).judge(reached).passes);
}

}  // namespace acid
