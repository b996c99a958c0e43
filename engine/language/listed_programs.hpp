#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/language/program.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// Numbers that every worker keeps, before the numbers of its listing.
enum KeptNumber : std::size_t { kRate, kGradients, kExchange, kStaleness, kKept };
/// Values of a listing's parameters, by name.
using ParameterValues = std::map<std::string, double, std::less<>>;

/// The value of a formula that reads parameters and the number of an exchange only (as in checked
/// listings).
double formula_value(const Expression& formula, const ParameterValues& parameters,
                     double exchange = 0);

/// What follows from a listing about its execution.
struct ListedFacts {
  bool notes = true;           // whether a worker keeps the numbers before kKept
  bool meets_at_once = false;  // whether ListedPrograms::meet is there: both hear in one pass
  bool changes_when_saying = false, changes_gradient = false, point_is_x = true;
  bool varies = false;  // whether exchanges differ in what they carry
};

/// A listing with the values of its parameters, compiled. Immutable except for the passes of its
/// PartPrograms.
struct ListedPrograms : ListedFacts {
  /// `notes`: whether a worker keeps the numbers that it does without, too.
  ListedPrograms(std::shared_ptr<const Listing> of, const ParameterValues& parameters,
                 bool notes = true);
  /// Compiles the kernels that a run on a device may need, all in one call, the first time.
  void prepare(const PartProgram::Variant& like) const EXCLUDES_LOCK(mutex);

  void note_steps();
  std::size_t kept_at() const { return notes ? std::size_t{kKept} : 0; }
  Extent extent(std::int64_t number, std::size_t dimension) const;

  std::shared_ptr<const Listing> listing;
  ParameterValues parameters;
  double mix_rate = 0;  // of Listing::between
  std::vector<Slot> slots;
  std::vector<ScalarSlot> numbers;
  Message message, theirs;  // of say; of what theirs() hears
  std::size_t fragments = 1;
  std::size_t exchange_at = kExchange;  // the number that counts the exchanges
  /// For rounds, by exchange, until the pattern repeats: whether an exchange's messages are said,
  /// and heard, before the step of their leg.
  struct BeforeStep {
    std::vector<bool> says, hears;
  } before_step;
  PartProgram advance, point, step, say, hear, read, read_after_hearing, meet;

  /// The code of `meet` for vectors of one backend, by which of the two workers drift: the last
  /// that was needed, without a search. Null: there is none yet.
  struct Pair {
    std::atomic<const Backend*> backend = nullptr;
    std::atomic<const CompiledPass*> code = nullptr;
  };
  mutable Pair pairs[2][2];
  mutable Mutex mutex;
  mutable std::set<std::pair<const Backend*, Direction>> prepared GUARDED_BY(mutex);
};

}  // namespace acid
