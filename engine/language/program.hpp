#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/language/listing.hpp"

namespace acid {

class Backend;
class CompiledPass;

/// A place that a pass reads from or writes to.
struct Operand {
  enum class Kind : std::uint8_t {
    constant,  // the rounded value of number `index`
    state,     // 0: x; k + 1: slot k
    partner,   // the same of the partner, where both hear in one pass
    gradient,  // the gradient of the event
    at,        // where the gradient was taken
    moment,    // of the local optimiser
    mean,      // weighted, of message `index`
    pull,      // mean minus the own message
    rest,      // the rounding error of the pull
    mine,
    theirs,
    said,      // message `index` of the worker, being said
    point,     // where the next gradient is taken
    model,     // the model that is read
    register_  // the result of an instruction
  };
  Kind kind = Kind::register_;
  std::uint16_t index = 0;
  auto operator<=>(const Operand&) const = default;
};

/// Operands computed from all heard messages, or in memory after an all-reduce.
inline bool is_of_all_heard(const Operand& operand) {
  return operand.kind >= Operand::Kind::mean && operand.kind <= Operand::Kind::rest;
}

/// An operation on vectors, element by element, in one pass; a register holds one element. All
/// operations are IEEE arithmetic, rounded one by one. A `name` is a itself; reductions add a², ab
/// or a.
struct Instruction {
  Operation code = Operation::name;
  std::uint16_t to = 0;       // register, or reduction
  Operand a, b = {}, c = {};  // registers apart, not written by the same pass
};

/// One pass over the vectors of a worker: the instructions for each element, then the stores.
struct Pass {
  struct Store {
    Operand from, to;
  };
  std::vector<Instruction> instructions;
  std::vector<Store> stores;
  std::uint16_t registers = 0;
  bool has_decay = false;  // constant kDecayNumber differs between ranges

  bool is_empty() const { return instructions.empty() && stores.empty(); }
};

/// A pass, and its executable form.
struct ExecutablePass {
  Pass pass;
  std::shared_ptr<const CompiledPass> code;  // null: interpret() executes it
};

/// An instruction for the numbers of a part, computed once per event in double. Each instruction
/// has a number of its own as its result.
struct NumberInstruction {
  enum class Source : std::uint8_t {
    operation,
    literal,
    event,  // see EventNumber
    kept,   // number `index` that the worker keeps
    mean,   // of message `index`, a number
    mine,
    theirs,
    reduction,  // `index`, of the pass before
    root        // root of that reduction
  };
  Source source = Source::operation;
  Operation operation = Operation::number;
  std::uint16_t index = 0, a = 0, b = 0, c = 0;
  double literal = 0;
};

/// Numbers of an event: those of kEventNumbers, and the lateness of a meeting.
enum class EventNumber : std::uint16_t {
  learning_rate,
  gradients,
  exchange,
  staleness,
  workers,
  degree,
  worker,
  late,
  count
};

/// The local optimiser's part in a pass.
enum class Direction : std::uint8_t { sgd, momentum, nesterov, adam, adamw };

/// Numbers that a pass may need and that have no name in a listing: they come first.
enum class HiddenNumber : std::uint16_t {
  decay,
  momentum,
  beta1,
  rest1,
  beta2,
  rest2,
  epsilon,
  scale,
  root,
  drift,
  partner_drift,
  count
};

/// A compiled part of a listing: numbers, then a pass, repeated when reductions need it.
///
/// Immutable except for the passes, which are made when they are first needed; any thread.
class PartProgram {
 public:
  /// What the part does besides its statements.
  struct Options {
    bool drifts = false;                 // first drifts by HiddenNumber::drift
    bool hears = false;                  // first adds to the sums of pulls
    bool keeps = true;                   // stores what it assigns; false: it only reads
    bool keeps_gradient = false;         // also stores g
    bool meets = false;                  // both workers of a meeting say `messages`, then hear
    const Expression* result = nullptr;  // the part ends by writing this to `result_to`
    Operand result_to = {};
    const std::vector<Statement>* messages = nullptr;  // the part ends by saying these
  };
  PartProgram(std::shared_ptr<const Listing> listing,
              const std::map<std::string, double, std::less<>>& parameters,
              const std::vector<Statement>& statements, const Options& options);

  struct Stage {
    std::size_t first = 0, last = 0;        // its range of numbers
    std::vector<std::uint16_t> conditions;  // numbers, by conditional statement
    std::size_t first_statement = 0, last_statement = 0;
    std::size_t reductions = 0;
    std::vector<std::uint16_t> computed;  // numbers of its range that are no literals
  };
  std::size_t stages() const { return stages_.size(); }
  const Stage& stage(std::size_t index) const { return stages_[index]; }
  const std::vector<NumberInstruction>& numbers() const { return numbers_; }
  /// The numbers before any is computed: literals are there.
  const std::vector<double>& literals() const { return literals_; }
  /// The kept numbers and their new values: `second` is a number of the part.
  const std::vector<std::pair<std::uint16_t, std::uint16_t>>& kept() const { return kept_; }
  /// The numbers that are said: the message and the number of the part.
  const std::vector<std::pair<std::uint16_t, std::uint16_t>>& said() const { return said_; }
  bool uses_direction() const { return uses_direction_; }

  /// What determines a stage's pass besides the listing. `holds`: bit i for condition i.
  struct Variant {
    std::uint64_t holds = 0;
    Direction direction = Direction::sgd;
    bool drifts = false, partner_drifts = false;
    bool result = true;                      // whether the part's result is needed
    bool emitted = false;                    // as machine code, where possible
    const Backend* device = nullptr;         // as kernels for its memory
    std::size_t sources = 0;                 // for so many heard messages; 0: any number
    std::uint32_t sent = ~std::uint32_t{0};  // message vectors sent: Extent::vectors
    bool streams = false;                    // copies are written past the caches
    bool wide = false;                       // machine code for AVX-512
    auto operator<=>(const Variant&) const = default;
  };
  const ExecutablePass& pass(std::size_t stage, const Variant& variant) const EXCLUDES_LOCK(mutex_);
  /// All passes that such events may need, for all conditions, except for stages with many
  /// conditions.
  std::vector<Pass> passes(const Variant& like) const;

 private:
  friend class PassBuilder;
  std::uint16_t add(const NumberInstruction& instruction);
  std::uint16_t number_of(const Expression& value);
  std::uint16_t reduction_of(const Expression& value);
  void note_numbers(const Expression& value);
  void compile(const Statement& statement, std::size_t index);

  std::shared_ptr<const Listing> listing_;
  std::map<std::string, double, std::less<>> parameters_;
  const std::vector<Statement>& statements_;  // of the listing
  Options options_;
  ListedNames names_;
  std::vector<Stage> stages_{1};
  std::vector<NumberInstruction> numbers_;
  std::vector<double> literals_;
  std::map<std::string, std::uint16_t, std::less<>> current_;  // numbers by name
  std::map<const Expression*, std::uint16_t> number_at_;       // scalars in vector expressions
  struct Reduction {
    std::size_t stage;
    const Expression* value;
  };
  std::vector<Reduction> reductions_;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> kept_, said_;
  bool uses_direction_ = false;

  struct Made {
    std::size_t stage;
    Variant variant;
    ExecutablePass executable;
    std::unique_ptr<const Made> before;
  };
  const Made* find(std::size_t stage, const Variant& variant) const;

  mutable Mutex mutex_;
  mutable std::unique_ptr<const Made> made_ GUARDED_BY(mutex_);
  mutable std::atomic<const Made*> latest_ = nullptr;  // made_, read without the lock
};

/// The position of a message among the vectors, or among the numbers, of a whole message.
std::uint16_t position_of_message(const std::vector<bool>& is_vector, std::size_t index);

}  // namespace acid
