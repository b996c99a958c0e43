// Searches that do not read the whole series find what a full reading finds.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;

/// Values by step: a run of ten steps, of which the last four were executed again.
struct Continued {
  Story story;
  Continued() {
    story.begin_to(6);
    story.steps(7, 9);
    story.begin(story.from(1));
    story.steps(7, 10);
    story.kill();
  }
  const Store& store() const { return story.store; }
  const std::string& id() const { return story.run.id; }
  std::vector<SeriesPoint> all() const {
    return read_series(store(), id(), "train_loss_at_mean", true).at(0).points;
  }
};

double place(const SeriesPoint& point, PositionAxis axis) {
  const auto& [gradients, normalised_time, seconds, bytes] = point.position;
  const std::array<double, 4> places{static_cast<double>(gradients), normalised_time, seconds,
                                     static_cast<double>(bytes)};
  return places.at(static_cast<std::size_t>(axis));
}

constexpr std::array kEveryAxis{PositionAxis::gradients, PositionAxis::normalised_time,
                                PositionAxis::seconds, PositionAxis::bytes};

TEST_CASE("means between two places, over what counts of a continued run, on every axis") {
  const Continued run;
  const std::vector<SeriesPoint> all = run.all();
  REQUIRE(all.size() == 10);
  for (const PositionAxis axis : kEveryAxis)
    for (std::size_t from = 0; from < all.size(); ++from)
      for (std::size_t to = from; to < all.size(); ++to) {
        double sum = 0;
        for (std::size_t k = from; k <= to; ++k) sum += all[k].value;
        CHECK(*mean_between(run.store(), run.id(), "train_loss_at_mean", axis,
                            place(all[from], axis),
                            place(all[to], axis)) == sum / static_cast<double>(to - from + 1));
      }
  const auto mean = [&](double from, double to, const char* metric = "train_loss_at_mean") {
    return mean_between(run.store(), run.id(), metric, PositionAxis::gradients, from, to);
  };
  CHECK(*mean(-5, 1.5) == all[0].value);
  CHECK(*mean(9.5, 1e300) == all[9].value);
  CHECK_FALSE(mean(1.2, 1.8));
  CHECK_FALSE(mean(11, 12));
  CHECK_FALSE(mean(1, 5, "eval_loss"));
  CHECK_FALSE(mean_between(run.store(), "nobody", "train_loss_at_mean", PositionAxis::bytes, 0, 1));
}

TEST_CASE("a mean with a value that is not finite in it is not a number") {
  Story story;
  story.begin();
  const double values[] = {1, std::numeric_limits<double>::quiet_NaN(), 3,
                           -std::numeric_limits<double>::infinity(), 5};
  for (int step = 1; step <= 5; ++step)
    sample(story.writer(), at(step), {{"eval_loss", kWholeRun, values[step - 1]}});
  story.kill();
  const auto mean = [&](double from, double to) {
    return *mean_between(story.store, story.run.id, "eval_loss", PositionAxis::gradients, from, to);
  };
  CHECK(mean(1, 1) == 1);
  CHECK(std::isnan(mean(1, 2)));
  CHECK(std::isnan(mean(3, 5)));
  CHECK(mean(5, 9) == 5);
  CHECK(best_values(story.store, story.run.id).at("eval_loss") ==
        -std::numeric_limits<double>::infinity());
}

TEST_CASE("the first sample that reaches a value, upwards and downwards") {
  const Continued run;
  const std::vector<SeriesPoint> all = run.all();
  for (const bool upwards : {true, false})
    for (const double value : {0.0, 1000.0, 1003.0, 1003.5, 1006.5, 2008.0, 9999.0}) {
      const auto expected = std::ranges::find_if(all, [&](const SeriesPoint& point) {
        return upwards ? point.value >= value : point.value <= value;
      });
      const auto found =
          first_reaching(run.store(), run.id(), "train_loss_at_mean", value, upwards);
      INFO(value << (upwards ? " upwards" : " downwards"));
      REQUIRE(found.has_value() == (expected != all.end()));
      if (!found) continue;
      CHECK(found->first.value == expected->value);
      CHECK(found->first.position.gradients == expected->position.gradients);
      CHECK(found->first.position.bytes == expected->position.bytes);
      REQUIRE(found->before.has_value() == (expected != all.begin()));
      if (found->before) {
        CHECK(found->before->value == std::prev(expected)->value);
        CHECK(found->before->position.gradients == std::prev(expected)->position.gradients);
      }
    }
  CHECK_FALSE(first_reaching(run.store(), run.id(), "eval_loss", 0, true));
}

TEST_CASE("two samples on either side of a place, also just before and beyond it, on every axis") {
  const Continued run;
  const std::vector<SeriesPoint> all = run.all();
  for (const PositionAxis axis : kEveryAxis)
    for (const double shift : {-0.01, 0.0, 0.01})
      for (const SeriesPoint& point : all) {
        const double value = place(point, axis) + shift;
        std::vector<double> until, beyond;  // nearest first
        for (const SeriesPoint& one : all)
          if (place(one, axis) <= value)
            until.insert(until.begin(), one.value);
          else
            beyond.push_back(one.value);
        until.resize(std::min<std::size_t>(2, until.size()));
        beyond.resize(std::min<std::size_t>(2, beyond.size()));
        const auto samples = samples_around(run.store(), run.id(), axis, value);
        CHECK(samples.size() == 1);  // not those of single workers
        const auto values = [](const std::vector<SeriesPoint>& points) {
          std::vector<double> of;
          for (const SeriesPoint& one : points) of.push_back(one.value);
          return of;
        };
        CHECK(values(samples.at("train_loss_at_mean").until) == until);
        CHECK(values(samples.at("train_loss_at_mean").beyond) == beyond);
      }
  constexpr std::array<std::string_view, 1> kOther{"eval_loss"};
  CHECK(samples_around(run.store(), run.id(), PositionAxis::seconds, 1, kOther).empty());
}

TEST_CASE("the best value is that of what counts") {
  const Continued run;
  // train_loss_at_mean grows with every step and attempt, so its best is the first.
  CHECK(best_values(run.store(), run.id()) ==
        std::map<std::string, double>{{"train_loss_at_mean", Story::value(1, 1)}});
}

TEST_CASE("settings come in the order asked for, and an unknown run is refused") {
  const ScratchFolder temp;
  const Store store = make_store(temp.store(), {make_run(1), make_run(2)});
  const auto settings = run_settings(store, {make_run(2).id, make_run(1).id});
  CHECK(settings.at(0).at("seed") == 2);
  CHECK(settings.at(1).at("seed") == 1);
  CHECK_THROWS_AS(run_settings(store, {"nobody"}), UsageError);
}

}  // namespace
}  // namespace acid
