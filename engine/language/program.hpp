#pragma once

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

/// What is done to vectors, element by element: one pass, in which registers hold one element each.
/// All of it is IEEE arithmetic, rounded after every operation.
enum class Code : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  minimum,
  maximum,  // of a and b
  negate,
  square_root,
  absolute,
  sign,
  copy,   // of a
  where,  // a ≠ 0 ? b : c
  add_square,
  add_product,
  add_value,  // to reduction `to`: a², ab, a
};

/// How many of a, b and c it has.
std::size_t arguments_of(Code code);
inline bool is_reduction(Code code) { return code >= Code::add_square; }

/// A place that a pass reads from or writes to.
struct Operand {
  enum class Kind : std::uint8_t {
    constant,  // `index`: of the number that it is the rounded value of
    state,     // 0: x; k + 1: slot k
    gradient,  // as the event is given it
    at,        // where it was taken
    moment,    // of the local optimiser
    mean,      // of message `index`, weighted
    pull,      // what it differs from the own message by
    rest,      // what the sum that the pull is was rounded by
    mine,
    theirs,
    said,      // message `index` of the worker, where it is being said
    point,     // where the next gradient is to be taken
    model,     // what is read
    register_  // what an instruction left there
  };
  Kind kind = Kind::register_;
  std::uint16_t index = 0;
  auto operator<=>(const Operand&) const = default;
};

/// What is heard of all: in memory where an all-reduce has taken it, else made from messages.
inline bool is_of_all_heard(const Operand& operand) {
  return operand.kind >= Operand::Kind::mean && operand.kind <= Operand::Kind::rest;
}

struct Instruction {
  Code code = Code::copy;
  std::uint16_t to = 0;       // register, or reduction
  Operand a, b = {}, c = {};  // never written by the same pass, registers apart
};

/// One pass over the vectors of a worker: the instructions for each element, then the stores.
struct Pass {
  struct Store {
    Operand from, to;
  };
  std::vector<Instruction> instructions;
  std::vector<Store> stores;
  std::uint16_t registers = 0;
  bool has_decay = false;  // constant kDecayNumber differs from range to range

  bool is_empty() const { return instructions.empty() && stores.empty(); }
};

/// A pass, and what executes it.
struct ExecutablePass {
  Pass pass;
  std::shared_ptr<const CompiledPass> code;  // null: interpret() does
};

/// An instruction of the numbers of a part, computed once per event in double. Every one has a
/// number of its own.
struct NumberInstruction {
  enum class Source : std::uint8_t {
    operation,
    literal,
    event,  // see EventNumber
    kept,   // number `index` of those that the worker keeps
    mean,   // of message `index`, a number
    mine,
    theirs,
    reduction,  // `index` of the pass before
    root        // of it
  };
  Source source = Source::operation;
  Operation operation = Operation::number;
  std::uint16_t index = 0, a = 0, b = 0, c = 0;
  double literal = 0;
};

/// Numbers of an event: those of kEventNumbers, and how late a meeting is heard.
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

/// What the local optimiser needs of a pass.
enum class Direction : std::uint8_t { sgd, momentum, nesterov, adam, adamw };

/// Numbers that a pass may need and no listing names: they come first.
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
  count
};

/// A part of a listing, compiled: numbers, then a pass, as often as reductions need it.
///
/// Immutable but for the passes, which are made when they are first needed; any thread.
class PartProgram {
 public:
  /// What else the part does.
  struct Options {
    bool drifts = false;                 // before it, by HiddenNumber::drift
    bool hears = false;                  // before it, sums of pulls are added to
    bool keeps = true;                   // what it assigns; false: it only reads
    bool keeps_gradient = false;         // g too
    const Expression* result = nullptr;  // written to `result_to` at its end
    Operand result_to = {};
    const std::vector<Statement>* messages = nullptr;  // said at its end
  };
  PartProgram(std::shared_ptr<const Listing> listing,
              const std::map<std::string, double, std::less<>>& parameters,
              const std::vector<Statement>& statements, const Options& options);

  struct Stage {
    std::size_t first = 0, last = 0;        // its numbers
    std::vector<std::uint16_t> conditions;  // numbers: whether its conditional statements hold
    std::size_t first_statement = 0, last_statement = 0;
    std::size_t reductions = 0;
  };
  std::size_t stages() const { return stages_.size(); }
  const Stage& stage(std::size_t index) const { return stages_[index]; }
  const std::vector<NumberInstruction>& numbers() const { return numbers_; }
  /// What becomes of the numbers that the worker keeps: number `second` of the part.
  const std::vector<std::pair<std::uint16_t, std::uint16_t>>& kept() const { return kept_; }
  /// The numbers of messages that are said: message and number.
  const std::vector<std::pair<std::uint16_t, std::uint16_t>>& said() const { return said_; }
  bool uses_direction() const { return uses_direction_; }

  /// What a stage's pass depends on besides the listing. `holds`: bit i for condition i.
  struct Variant {
    std::uint64_t holds = 0;
    Direction direction = Direction::sgd;
    bool drifts = false;
    bool result = true;                      // the part's result is wanted
    bool emitted = false;                    // machine code is, where the pass can have any
    const Backend* device = nullptr;         // kernels are, for its memory
    std::size_t sources = 0;                 // for so many that are heard; 0: for any number
    std::uint32_t sent = ~std::uint32_t{0};  // vectors of the message that are, Extent::vectors
    bool streams = false;                    // what is said is written past the caches
    auto operator<=>(const Variant&) const = default;
  };
  const ExecutablePass& pass(std::size_t stage, const Variant& variant) const EXCLUDES_LOCK(mutex_);
  /// What events like this one may come to need, whatever holds: but for stages of many conditions.
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
  std::map<std::string, std::uint16_t, std::less<>> current_;  // numbers by name
  std::map<const Expression*, std::uint16_t> number_at_;       // scalars that vectors are made with
  struct Reduction {
    std::size_t stage;
    const Expression* value;
  };
  std::vector<Reduction> reductions_;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> kept_, said_;
  bool uses_direction_ = false;

  mutable Mutex mutex_;
  mutable std::map<std::pair<std::size_t, Variant>, std::unique_ptr<const ExecutablePass>> passes_
      GUARDED_BY(mutex_);
};

/// By what a message is counted among the vectors, or the numbers, of a whole message.
std::uint16_t position_of_message(const std::vector<bool>& is_vector, std::size_t index);

}  // namespace acid
