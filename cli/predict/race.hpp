#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/predict/prediction.hpp"

namespace acid {

/// The iteration times of several algorithms at one setting, over the values of one key.
struct Race {
  std::vector<std::string> names;
  struct Point {
    double value = 0;
    std::vector<std::optional<Range>> times;  // by name; absent where it cannot run
    bool asked = true;                        // false: added where the verdict changes
  };
  std::vector<Point> points;  // by value, ascending
  bool joined = false;        // some names stand for several algorithms
  bool logarithmic = true;    // lines between points are straight in log value
  double step = 0;            // values are its multiples, such as whole numbers; 0: any
  bool coarse = false;        // too much was to be simulated to find where verdicts change

  /// Makes one of algorithms that take the same time everywhere: "d-psgd = sgp".
  void join_equal();
};

/// Those that may be the fastest, by the place of their name, the fastest of these draws first:
/// their intervals overlap its own. Empty where nothing can run.
std::vector<std::size_t> leaders(const Race::Point& point);

/// Where another algorithm becomes the fastest.
struct Crossover {
  double value = 0;              // where the means cross, between points on a straight line, or
                                 // the nearest multiple of the race's step
  double low = 0, high = 0;      // the nearest points at which it is told who leads
  std::size_t from = 0, to = 0;  // places of the names
};
std::vector<Crossover> crossovers(const Race& race);

/// Values at which to look next so that crossovers, and the ends of where one is the fastest, of
/// where it cannot be told and of where algorithms take the same time, are known to about 1 % (or
/// to 1e-4 of a range in equal steps); empty when they are.
std::vector<double> values_to_add(const Race& race, const std::function<double(double)>& rounded);

/// Who is fastest where, and where it cannot be told, in one sentence; empty where there is one
/// algorithm. `shown`: a value with its unit.
std::string words_of(const Race& race, const std::function<std::string(double)>& shown);

}  // namespace acid
