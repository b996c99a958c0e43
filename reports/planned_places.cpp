#include "reports/planned_places.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <limits>

#include "reports/equal_places.hpp"
#include "reports/reading.hpp"

namespace acid {
namespace {

constexpr double kDoubt = 1e-4;  // a chance that counts as none

enum class Told { no, maybe, yes };

double deviations(double chance_beyond) {
  return boost::math::quantile(boost::math::complement(boost::math::normal(), chance_beyond));
}

struct Place {
  double least = 0, most = 0;
  bool drawn = false;  // the run that ends first is drawn
  bool is_exact() const { return least == most; }
};

/// The ends of the groups of one point on one axis.
using Ends = std::map<std::string, std::optional<PlannedEnd>>;

/// Whether samples around a place of this run are close enough to read there. The report leaves out
/// a group if those of one seed are not.
class Samples {
 public:
  Samples(const PlannedEnd& end, double gradients, double every, int seeds)
      : end_(end), every_(every), share_(every / gradients), seeds_(seeds) {}

  Told around(const Place& place) const {
    if (end_.most <= place.least) return Told::yes;  // its own end
    return is_even() && place.is_exact() ? exactly(place.least) : about(place);
  }

 private:
  bool is_even() const {
    return end_.parts == 0 && end_.least == end_.most && every_ == std::round(every_);
  }

  Told exactly(double place) const {
    constexpr double kRounding = 1e-9;
    const double gap = end_.most * share_;
    const double before = std::floor(place / gap + kRounding) * gap;
    if (std::abs(place - before) <= kRounding * place) return Told::yes;
    return std::min(end_.most, before + gap) - before <= kWidestBracket * place ? Told::yes
                                                                                : Told::no;
  }

  Told about(const Place& place) const {
    const double gap = (end_.least + end_.most) / 2 * share_;
    // Gradients or exchanges between two samples; there may be one more or one less.
    const double parts = end_.parts > 0 ? end_.parts * share_ : every_;
    const double scatter = end_.drawn ? 1 / std::sqrt(parts) : 0;
    const double one = end_.drawn ? 0 : 1 / parts;
    const double widest = gap * (1 + one + deviations(kDoubt / seeds_) * scatter);
    if (widest <= kWidestBracket * place.least) return Told::yes;
    const double narrowest = gap * (1 - one - deviations(std::pow(kDoubt, 1.0 / seeds_)) * scatter);
    // A place that is not drawn may be exactly at a sample.
    const bool may_meet = !place.drawn && !end_.drawn;
    return narrowest > kWidestBracket * place.most && !may_meet ? Told::no : Told::maybe;
  }

  PlannedEnd end_;
  double every_, share_;
  int seeds_;
};

/// Whether the runs end at one place, and where the first of them ends.
std::pair<Told, Place> place_of(const Ends& ends) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Place first{kInfinite, kInfinite}, last;
  for (const auto& [group, end] : ends) {
    if (!end) return {Told::maybe, {}};
    first = {std::min(first.least, end->least), std::min(first.most, end->most)};
    last = {std::max(last.least, end->least), std::max(last.most, end->most)};
  }
  first.drawn = std::ranges::all_of(ends, [&first = first](const auto& one) {
    return one.second->drawn || one.second->least > first.most;
  });
  if (last.most <= first.least * (1 + kSameEnd)) return {Told::yes, first};
  return {last.least > first.most * (1 + kSameEnd) ? Told::no : Told::maybe, first};
}

Told readable(const PlannedCourse& course, const std::optional<PlannedEnd>& end, const Place& place,
              int seeds) {
  if (!end || place.least <= 0 || course.every <= 0) return Told::maybe;
  if (end->most <= place.least * (1 + kNearEnd)) return Told::yes;
  return Samples(*end, course.gradients, course.every, seeds).around(place);
}

}  // namespace

PlannedEnd PlannedEnd::drawn_around(double mean, double parts) {
  constexpr double kDeviations = 4;
  const double share = kDeviations / std::sqrt(parts);
  return {mean * std::max(0.0, 1 - share), mean * (1 + share), parts, true};
}

void plan_equal_places(Comparison& comparison, const std::map<std::string, PlannedCourse>& courses,
                       int seeds, Untold untold) {
  const auto take = [&](Told told) {
    return told == Told::yes || (told == Told::maybe && untold == Untold::most);
  };
  for (EqualPlace& equal : comparison.equal = find_equal_places(comparison)) {
    const ComparedPoint& point = comparison.points[equal.point];
    Ends ends;
    for (const std::size_t g : point.groups) {
      const ComparedGroup& group = comparison.groups[g];
      const auto& known = courses.at(group.runs_group).ends;
      const auto found = known.find(equal.axis);
      ends[group.group] = found == known.end() ? std::nullopt : found->second;
    }
    const auto& [at_one, place] = place_of(ends);
    const bool nothing_there = at_one != Told::maybe && place.least <= 0;
    equal.at_end = at_one == Told::yes || !take(at_one == Told::no ? Told::yes : at_one);
    equal.place = nothing_there ? 0 : std::max(1.0, place.least);
    if (equal.at_end || nothing_there) continue;
    for (const std::size_t g : point.groups) {
      ComparedGroup& group = comparison.groups[g];
      if (!take(readable(courses.at(group.runs_group), ends.at(group.group), place, seeds)))
        continue;
      for (RunSummary& run : group.runs)
        for (const std::string_view outcome : outcomes_at_equal())
          if (const auto last = run.metrics.find(std::string(outcome)); last != run.metrics.end())
            run.metrics[metric_at_equal(outcome, equal.axis)] = last->second;
    }
  }
}

}  // namespace acid
