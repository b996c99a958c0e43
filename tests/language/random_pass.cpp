#include "tests/language/random_pass.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace acid::test {
namespace {

using Kind = Operand::Kind;

constexpr std::size_t kStates = 3, kMessages = 2, kSources = 3, kRegisters = 24;
constexpr std::size_t kNumbers = static_cast<std::size_t>(HiddenNumber::count) + 8;

// Indices of the vectors of a RandomEvent.
constexpr std::size_t kGradient = kStates, kMoments = kGradient + 1, kPoint = kMoments + 2,
                      kModel = kPoint + 1, kReads = kModel + 1;  // kReads: only read
constexpr std::size_t kSaid = kReads, kMean = kSaid + 1, kMessage = kMean + 1,
                      kVectors = kMessage + kSources;

float random_float(Stream& random) {
  using Limits = std::numeric_limits<float>;
  constexpr float kSpecial[] = {0.0f,
                                -0.0f,
                                1.0f,
                                Limits::infinity(),
                                -Limits::infinity(),
                                Limits::quiet_NaN(),
                                Limits::denorm_min(),
                                -Limits::denorm_min(),
                                Limits::min() / 2,
                                Limits::max()};
  const std::uint64_t kind = random.below(40);
  if (kind < std::size(kSpecial)) return kSpecial[kind];
  if (kind == 39) return std::bit_cast<float>(random.next32());
  return static_cast<float>(random.normal());
}

Operand random_operand(Stream& random, const std::vector<bool>& is_set) {
  const auto any = [&](Kind kind, std::uint64_t count) {
    return Operand{kind, static_cast<std::uint16_t>(random.below(count))};
  };
  const std::uint64_t kind = random.below(26);
  switch (kind) {
    case 0:
    case 1:
    case 2:
      return any(Kind::constant, kNumbers);
    case 3:
    case 4:
    case 5:
    case 6:
      return any(Kind::state, kStates);
    case 7:
      return {Kind::gradient, 0};
    case 8:
      return {Kind::at, 0};
    case 9:
      return any(Kind::moment, 2);
    case 10:
      return any(Kind::mean, kMessages);
    case 11:
      return any(Kind::mine, kMessages);
    case 12:
      return any(Kind::theirs, kMessages);
    case 13:
      return any(Kind::pull, kMessages);
    case 14:
      return any(Kind::rest, kMessages);
    default:
      break;
  }
  const Operand one = any(Kind::register_, kRegisters);
  return is_set[one.index] ? one : any(Kind::state, kStates);
}

void add_stores(Pass& pass, Stream& random, const std::vector<bool>& is_set) {
  std::vector<Operand> targets{{Kind::gradient, 0}, {Kind::moment, 0}, {Kind::moment, 1},
                               {Kind::said, 0},     {Kind::said, 1},   {Kind::point, 0},
                               {Kind::model, 0}};
  for (std::uint16_t k = 0; k < kStates; ++k) targets.push_back({Kind::state, k});
  std::erase_if(targets, [&](const Operand&) { return random.below(2) == 0; });
  if (targets.empty()) targets.push_back({Kind::state, 0});
  const bool points = std::ranges::find(targets, Operand{Kind::point, 0}) != targets.end();
  for (const Operand& to : targets) {
    Operand from = random_operand(random, is_set);
    // A store must not read what another one has written.
    while (std::ranges::find(targets, from) != targets.end() || (points && from.kind == Kind::at))
      from = random_operand(random, is_set);
    pass.stores.push_back({from, to});
  }
}

}  // namespace

Pass random_pass(Stream& random, std::size_t most_instructions) {
  Pass pass;
  pass.registers = kRegisters;
  const bool reduces = random.below(4) == 0;
  pass.has_decay = !reduces && random.below(2) == 0;
  std::vector<bool> is_set(kRegisters);
  const std::size_t count = 1 + random.below(most_instructions);
  // With few registers each is soon written again; with many, many are in use together.
  const std::uint64_t registers = 1 + random.below(kRegisters);
  std::uint16_t reductions = 0;
  for (std::size_t k = 0; k < count; ++k) {
    Instruction one;
    one.code =
        static_cast<Operation>(static_cast<std::uint64_t>(Operation::negate) + random.below(17));
    if (!is_of_elements(one.code)) one.code = Operation::name;
    if (reduces && random.below(4) == 0 && reductions < kMostReductions)
      one.code =
          static_cast<Operation>(static_cast<std::uint64_t>(Operation::norm) + random.below(3));
    Operand* const operands[] = {&one.a, &one.b, &one.c};
    for (std::size_t i = 0; i < std::size(operands); ++i)
      *operands[i] =
          i < arguments_of(one.code) ? random_operand(random, is_set) : Operand{Kind::constant, 0};
    if (is_reduction(one.code)) {
      one.to = reductions++;
    } else {
      one.to = static_cast<std::uint16_t>(random.below(registers));
      is_set[one.to] = true;
    }
    pass.instructions.push_back(one);
  }
  add_stores(pass, random, is_set);
  return pass;
}

Pass random_device_pass(Stream& random) {
  Pass pass = random_pass(random, 30);
  if (reductions_of(pass) > 0)
    std::erase_if(pass.stores, [](const Pass::Store& one) { return one.to.kind == Kind::model; });
  return pass;
}

std::size_t reductions_of(const Pass& pass) {
  return static_cast<std::size_t>(std::ranges::count_if(
      pass.instructions, [](const Instruction& one) { return is_reduction(one.code); }));
}

RandomEvent::RandomEvent(Stream& random, std::size_t dimension, bool mean_is_given)
    : numbers(kNumbers), vectors_(kVectors), mean_is_given_(mean_is_given) {
  memory.dimension = dimension;
  for (double& number : numbers) number = random_float(random);
  for (std::size_t k = 0; k < kVectors; ++k) {
    vectors_[k].resize(dimension * (k < kReads ? 1 : kMessages));
    for (float& value : vectors_[k]) value = random_float(random);
  }
  for (std::size_t begin = 0; begin < dimension;) {
    const std::size_t end = std::min(dimension, begin + 1 + random.below(dimension));
    decay.push_back({begin, end, random.uniform()});
    begin = end;
  }
  sums.resize(kMostReductions,
              std::vector<double>((dimension + kReductionBlock - 1) / kReductionBlock));
  for (std::size_t k = 0; k < kSources; ++k)
    sources_.push_back({nullptr, k == 0 && random.below(2) == 0 ? 0 : random.uniform()});
  point_at_vectors();
}

RandomEvent::RandomEvent(const RandomEvent& other)
    : memory(other.memory),
      numbers(other.numbers),
      decay(other.decay),
      sums(other.sums),
      vectors_(other.vectors_),
      sources_(other.sources_),
      mean_is_given_(other.mean_is_given_) {
  point_at_vectors();
}

// The next point is written to the place of the last one, as workers keep it.
void RandomEvent::point_at_vectors() {
  for (std::size_t k = 0; k < kStates; ++k) memory.state[k] = vectors_[k].data();
  memory.gradient = vectors_[kGradient].data();
  memory.moment[0] = vectors_[kMoments].data();
  memory.moment[1] = vectors_[kMoments + 1].data();
  memory.at = memory.point = vectors_[kPoint].data();
  memory.model = vectors_[kModel].data();
  memory.said = vectors_[kSaid].data();
  for (std::size_t k = 0; k < kSources; ++k) sources_[k].x = vectors_[kMessage + k].data();
  heard_ = {.sources = sources_};
  if (mean_is_given_) {
    heard_.mean = vectors_[kMean].data();
    heard_.own = sources_[0].x;
  }
  memory.heard = &heard_;
  memory.kernels = &cpu_backend("baseline")->kernels<float>();
}

std::string difference(const RandomEvent& one, const RandomEvent& other) {
  for (std::size_t v = 0; v < one.vectors().size(); ++v)
    for (std::size_t k = 0; k < one.vectors()[v].size(); ++k)
      if (const double a = one.vectors()[v][k], b = other.vectors()[v][k]; !is_same(a, b))
        return "vector " + std::to_string(v) + ", element " + std::to_string(k) + ": " +
               std::to_string(a) + ", " + std::to_string(b);
  for (std::size_t r = 0; r < one.sums.size(); ++r)
    for (std::size_t k = 0; k < one.sums[r].size(); ++k)
      if (const double a = one.sums[r][k], b = other.sums[r][k]; !is_same(a, b))
        return "reduction " + std::to_string(r) + ", block " + std::to_string(k) + ": " +
               std::to_string(a) + ", " + std::to_string(b);
  return {};
}

bool is_same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace acid::test
