#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/language/program.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// Numbers that every worker keeps, before its listing's own.
enum KeptNumber : std::size_t { kRate, kGradients, kExchange, kStaleness, kKept };
/// Values of a listing's parameters, by name.
using ParameterValues = std::map<std::string, double, std::less<>>;

/// What a formula of parameters, and the number of an exchange, gives (checked listings: it reads
/// nothing else).
double formula_value(const Expression& formula, const ParameterValues& parameters,
                     double exchange = 0);

/// A listing with the values of its parameters, compiled. Immutable but for what PartPrograms keep.
struct ListedPrograms {
  ListedPrograms(std::shared_ptr<const Listing> of, const ParameterValues& parameters);
  /// Compiles the kernels that a run on a device may need, the first time: all in one go.
  void prepare(const PartProgram::Variant& like) const EXCLUDES_LOCK(mutex);

  void note_steps();
  Extent extent(std::int64_t number, std::size_t dimension) const;

  std::shared_ptr<const Listing> listing;
  ParameterValues parameters;
  double mix_rate = 0;  // of between
  std::vector<Slot> slots;
  std::vector<ScalarSlot> numbers;
  Message message, theirs;  // what is said, and what theirs() hears
  std::size_t fragments = 1;
  std::size_t exchange_at = kExchange;  // which number counts the exchanges
  bool varies = false;                  // what exchanges carry
  /// Of rounds, exchange by exchange until they come again: whether its messages are said, and
  /// heard, before the step of their leg.
  std::vector<bool> says_before_step, hears_before_step;
  bool changes_when_saying = false, changes_gradient = false, point_is_x = true;
  PartProgram advance, point, step, say, hear, read, read_after_hearing;

  mutable Mutex mutex;
  mutable std::set<std::pair<const Backend*, Direction>> prepared GUARDED_BY(mutex);
};

}  // namespace acid
