#include "cli/predict/race.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/run/run_spec.hpp"

namespace acid {
namespace {

constexpr double kSame = 1e-9, kFine = 0.01;
constexpr double kFineOfRange = 1e-4;  // with equal steps: no 1 % leads to 0
constexpr int kAdded = 7;              // values between two points

double mean_at(const Race::Point& point, std::size_t name) {
  return point.times[name] ? point.times[name]->mean : kNever;
}

bool are_equal(double a, double b) { return a == b || std::abs(a - b) <= kSame * std::abs(a); }

double on_axis(const Race& race, double value) {
  return race.logarithmic ? std::log(value) : value;
}
double from_axis(const Race& race, double place) {
  return race.logarithmic ? std::exp(place) : place;
}

/// Two neighbouring points between which the means of two algorithms cross.
struct Bracket {
  std::size_t before;  // the first of the points
  Crossover crossover;
};

double crossing(const Race& race, std::size_t before, std::size_t a, std::size_t b) {
  const Race::Point &p = race.points[before], &q = race.points[before + 1];
  const double x = on_axis(race, p.value), width = on_axis(race, q.value) - x;
  const double ahead = std::log(mean_at(p, b) / mean_at(p, a));
  const double behind = std::log(mean_at(q, a) / mean_at(q, b));
  const double part = std::isfinite(ahead + behind) ? ahead / (ahead + behind) : 0.5;
  const double value = from_axis(race, x + width * part);
  return race.step > 0 ? race.step * std::round(value / race.step) : value;
}

std::vector<Bracket> brackets(const Race& race) {
  std::vector<Bracket> all;
  std::optional<std::size_t> last;  // point at which the leader was told
  for (std::size_t i = 0; i < race.points.size(); ++i) {
    const std::vector<std::size_t> now = leaders(race.points[i]);
    if (now.size() != 1) continue;
    const std::size_t before = std::exchange(last, i).value_or(i);
    const std::size_t a = leaders(race.points[before])[0], b = now[0];
    if (a == b) continue;
    std::size_t at = before;
    while (mean_at(race.points[at + 1], a) < mean_at(race.points[at + 1], b)) ++at;
    all.push_back({at,
                   {.value = crossing(race, at, a, b),
                    .low = race.points[before].value,
                    .high = race.points[i].value,
                    .from = a,
                    .to = b}});
  }
  return all;
}

/// Whether these take the same time there, as one alone does.
bool take_the_same(const Race::Point& point, const std::vector<std::size_t>& names) {
  return std::ranges::all_of(names, [&](std::size_t name) {
    return are_equal(mean_at(point, name), mean_at(point, names[0]));
  });
}

/// Neighbouring points at which the same can be said of who leads.
struct Stretch {
  std::set<std::size_t> leaders;  // one: it is told
  double low, high;               // values
  std::size_t first, last;        // places of the points there
  bool equal = true;              // the leaders take the same time
  bool partly = false;            // at some points another may lead

  void reach(const Stretch& next) {
    high = next.high;
    last = next.last;
  }
};

std::vector<Stretch> stretches(const Race& race) {
  std::vector<Stretch> all;
  bool follows = false;  // on a point at which something runs
  for (std::size_t at = 0; at < race.points.size(); ++at) {
    const Race::Point& point = race.points[at];
    const std::vector<std::size_t> now = leaders(point);
    const bool joins = std::exchange(follows, !now.empty());
    if (now.empty()) continue;
    const bool equal = take_the_same(point, now);
    Stretch next{{now.begin(), now.end()}, point.value, point.value, at, at, equal};
    const bool told = now.size() == 1;
    if (joins) {
      Stretch& before = all.back();
      const bool was_told = before.leaders.size() == 1;  // then they are equal, too
      if (told == was_told && before.equal == equal && (!equal || before.leaders == next.leaders)) {
        before.leaders.merge(next.leaders);
        before.reach(next);
        continue;
      }
      // The same leader before and after points at which it is not told.
      if (told && !was_told && !before.equal && all.size() > 1 &&
          all[all.size() - 2].leaders == next.leaders) {
        all.pop_back();
        all.back().reach(next);
        all.back().partly = true;
        continue;
      }
    }
    all.push_back(std::move(next));
  }
  return all;
}

/// The points after which the verdict changes: it is not known where between them and the next one.
/// Where it cannot be told, also those after which the means cross.
std::set<std::size_t> changes(const Race& race) {
  std::set<std::size_t> all;
  for (const Bracket& bracket : brackets(race)) all.insert(bracket.before);
  const std::vector<Stretch> said = stretches(race);
  for (std::size_t k = 0; k + 1 < said.size(); ++k)
    if (said[k].last + 1 == said[k + 1].first) all.insert(said[k].last);
  return all;
}

/// Whether nothing that matters lies between these values of the axis.
bool are_near(const Race& race, double a, double b) {
  const double range = race.logarithmic ? 0 : race.points.back().value - race.points.front().value;
  return b - a <= std::max({race.step, kFine * std::abs(b), kFineOfRange * range});
}

/// Where the means of two cross that lead in these stretches, one after the other; nothing beside
/// what cannot be told.
std::optional<double> border(const Race& race, const Stretch& before, const Stretch& after) {
  for (const Crossover& one : crossovers(race))
    if (one.low == before.high && one.high == after.low) return one.value;
  return std::nullopt;
}

/// Without single points at which two take the same time because their means cross there, unless
/// they are all that lies between their neighbours.
std::vector<Stretch> without_meetings(const Race& race, std::vector<Stretch> all) {
  for (std::size_t k = 1; k + 1 < all.size(); ++k) {
    const Stretch &before = all[k - 1], &own = all[k], &after = all[k + 1];
    const double width = after.low - before.high;
    const bool is_meeting = own.low == own.high && own.equal && own.leaders.size() > 1 &&
                            width > 2 * race.step && width <= 2 * kFine * std::abs(after.low);
    if (is_meeting && border(race, before, after))
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return all;
}

/// The values of all points from `first` to `last` in words: whether others lie between them.
std::string at_all(const Race& race, std::size_t first, std::size_t last,
                   const std::function<std::string(double)>& shown) {
  const double low = race.points[first].value, high = race.points[last].value;
  const std::size_t count = last - first + 1;
  if (count == 1) return fmt::format("at {}", shown(low));
  if (high - low <= static_cast<double>(count - 1) * race.step)
    return fmt::format("everywhere from {} to {}", shown(low), shown(high));
  if (count == 2) return fmt::format("at both values, {} and {}", shown(low), shown(high));
  return fmt::format("at all {} values from {} to {}", count, shown(low), shown(high));
}

/// The values of stretch k in words.
std::string where(const Race& race, const std::vector<Stretch>& all, std::size_t k,
                  const std::function<std::string(double)>& shown) {
  const Stretch& own = all[k];
  const bool first = k == 0, last = k + 1 == all.size(), told = own.leaders.size() == 1;
  // Between values with a step the nearest ones are said.
  const bool steps = race.step > 0;
  const auto begin = first || steps ? std::nullopt : border(race, all[k - 1], own);
  const auto end = last || steps ? std::nullopt : border(race, own, all[k + 1]);
  // Whether no value lies between these two stretches.
  const auto adjoin = [&](std::size_t before) {
    return all[before + 1].low - all[before].high <= race.step;
  };
  const bool from_own = !first && (adjoin(k - 1) || (told && !begin));
  const bool to_own = !last && (adjoin(k) || (told && !end));
  // What cannot be told begins where it was told last.
  const bool after_told = !first && !told && all[k - 1].leaders.size() == 1;
  const double low = after_told && !from_own ? all[k - 1].high : begin.value_or(own.low);
  const double high = last || told || to_own ? end.value_or(own.high) : all[k + 1].low;
  if (first && last) return at_all(race, own.first, own.last, shown);
  if (low == high) return fmt::format("at {}", shown(low));
  if (first) return fmt::format("{} {}", to_own ? "up to" : "below", shown(high));
  if (last) return fmt::format("{} {}", from_own ? "from" : "above", shown(low));
  return fmt::format("from {} to {}", shown(low), shown(high));
}

std::string joined(const Race& race, const std::set<std::size_t>& which, const char* last) {
  std::vector<std::string> names;
  for (const std::size_t name : which) names.push_back(race.names[name]);
  if (names.size() == 1) return names[0];
  const std::string end = names.back();
  names.pop_back();
  return fmt::format("{} {} {}", fmt::join(names, ", "), last, end);
}

}  // namespace

void Race::join_equal() {
  for (std::size_t a = 0; a < names.size(); ++a)
    for (std::size_t b = names.size() - 1; b > a; --b) {
      const bool same = std::ranges::all_of(points, [&](const Point& point) {
        return are_equal(mean_at(point, a), mean_at(point, b));
      });
      if (!same) continue;
      names[a] += " = " + names[b];
      joined = true;
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(b));
      for (Point& point : points)
        point.times.erase(point.times.begin() + static_cast<std::ptrdiff_t>(b));
    }
}

std::vector<std::size_t> leaders(const Race::Point& point) {
  std::vector<std::size_t> all;
  for (std::size_t name = 0; name < point.times.size(); ++name)
    if (point.times[name]) all.push_back(name);
  std::ranges::stable_sort(all, {}, [&](std::size_t name) { return mean_at(point, name); });
  std::erase_if(all, [&, first = all.empty() ? 0 : all[0]](std::size_t name) {
    return !overlap(*point.times[first], *point.times[name]);
  });
  return all;
}

std::vector<Crossover> crossovers(const Race& race) {
  std::vector<Crossover> all;
  for (const Bracket& bracket : brackets(race)) all.push_back(bracket.crossover);
  return all;
}

std::vector<double> values_to_add(const Race& race, const std::function<double(double)>& rounded) {
  std::vector<double> values;
  for (const std::size_t before : changes(race)) {
    const double a = race.points[before].value, b = race.points[before + 1].value;
    if (are_near(race, a, b)) continue;
    for (int k = 1; k <= kAdded; ++k) {
      const double x = on_axis(race, a), width = on_axis(race, b) - x;
      const double value = rounded(from_axis(race, x + width * k / (kAdded + 1)));
      if (value > a && value < b && (values.empty() || value > values.back()))
        values.push_back(value);
    }
  }
  return values;
}

std::string words_of(const Race& race, const std::function<std::string(double)>& shown) {
  if (race.names.size() == 1)
    return race.joined ? fmt::format("{}: they take the same time {}.", race.names[0],
                                     at_all(race, 0, race.points.size() - 1, shown))
                       : "";
  const std::vector<Stretch> all = without_meetings(race, stretches(race));
  std::string text;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const bool first = k == 0;
    if (!first) text += "; ";
    if (all[k].leaders.size() == 1)
      text += fmt::format("{} is fastest {}{}", joined(race, all[k].leaders, ""),
                          where(race, all, k, shown),
                          all[k].partly ? ", as far as it can be told" : "");
    else if (all[k].equal)
      text += fmt::format("{} are equally fast {}", joined(race, all[k].leaders, "and"),
                          where(race, all, k, shown));
    else
      text += fmt::format("{}t cannot be told whether {} is fastest {}", first ? "I" : "i",
                          joined(race, all[k].leaders, "or"), where(race, all, k, shown));
  }
  return text.empty() ? "Nothing can run here." : text + ".";
}

}  // namespace acid
