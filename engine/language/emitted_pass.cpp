#include <algorithm>

#include "engine/language/emitter.hpp"
#include "engine/worker/backend.hpp"

#if defined(ACID_WITH_ASMJIT)
#include <sys/mman.h>
#endif

namespace acid {

/// The state of one call of EmittedPass::run().
class EmittedPass::Execution {
 public:
  Execution(const EmittedPass& pass, const PassMemory<float>& memory,
            std::span<const double> numbers, std::span<std::vector<double>> sums)
      : pass_(pass), memory_(memory), sums_(sums), lanes_(sums.size() * kReductionLanes) {
    for (std::size_t k = 0; k < pass.sources_; ++k)
      constants_[k] = static_cast<float>(memory.heard->sources[k].weight);
    for (std::size_t k = 0; k < pass.constants_.size(); ++k)
      constants_[pass.sources_ + k] = static_cast<float>(numbers[pass.constants_[k]]);
    for (const Place& place : pass.places_)
      if (pass.sources_ == 0 && !place.is_written && memory.is_taken(place.operand))
        takes_heard_ = true;
  }

  void set_decay(double decay) {
    for (std::size_t k = 0; k < pass_.constants_.size(); ++k)
      if (pass_.constants_[k] == static_cast<std::uint16_t>(HiddenNumber::decay))
        constants_[pass_.sources_ + k] = static_cast<float>(decay);
  }

  // Reductions, and heard operands that are still to be taken, go block by block.
  void run(std::size_t first, std::size_t last) {
    const bool in_blocks = takes_heard_ || !sums_.empty();
    while (first < last) {
      const std::size_t end =
          in_blocks ? std::min(last, (first / kReductionBlock + 1) * kReductionBlock) : last;
      run_block(first, end - first);
      if (!sums_.empty()) end_block(first / kReductionBlock);
      first = end;
    }
  }

 private:
  void run_block(std::size_t first, std::size_t size) {
    taken_ = 0;
    float* places[kMostPlaces];
    for (std::size_t k = 0; k < pass_.places_.size(); ++k)
      places[k] = place(pass_.places_[k], first, size);
    const std::size_t head = std::min(size, unaligned(places));
    if (head > 0) pass_.is_wide_ ? call(places, head) : run_few(places, 0, head);
    for (std::size_t k = 0; head > 0 && k < pass_.places_.size(); ++k) places[k] += head;
    if (pass_.is_wide_) {
      if (head < size) call(places, size - head);
      return;
    }
    const std::size_t whole = (size - head) / kWidth * kWidth;
    if (whole > 0) call(places, whole);
    if (head + whole < size) run_few(places, whole, size - head - whole);
  }

  // The number of elements before those that can be written past the caches.
  std::size_t unaligned(float* const* places) const {
    const std::size_t bytes = static_cast<std::size_t>(pass_.width()) * sizeof(float);
    for (std::size_t k = 0; pass_.streams_ && k < pass_.places_.size(); ++k)
      if (pass_.places_[k].is_copy())
        return -reinterpret_cast<std::uintptr_t>(places[k]) % bytes / sizeof(float);
    return 0;
  }

  // The code writes only where the pass stores.
  float* place(const Place& place, std::size_t first, std::size_t size) {
    if (place.is_written) return memory_.target(place.operand, first);
    if (const float* const whole = memory_.source(place.operand, first); whole != nullptr)
      return const_cast<float*>(whole);
    const std::size_t from = place.operand.index * memory_.dimension + first;
    if (pass_.sources_ > 0)
      return const_cast<float*>(memory_.heard->sources[place.source].x + from);
    float* const taken = heard_[taken_++];
    memory_.take(place.operand, first, taken, size);
    return taken;
  }

  void call(float* const* places, std::size_t size) {
    reinterpret_cast<Function>(pass_.memory_)(places, constants_, lanes_.data(),
                                              size * sizeof(float));
  }

  // Handles fewer elements than the code takes at a time: on padded copies.
  void run_few(float* const* places, std::size_t first, std::size_t size) {
    alignas(kWidth * sizeof(float)) float copies[kMostPlaces][kWidth];
    float* at[kMostPlaces];
    const std::vector<double> lanes = lanes_;
    for (std::size_t k = 0; k < pass_.places_.size(); ++k) {
      at[k] = copies[k];
      std::fill_n(at[k], kWidth, 0.0f);
      if (pass_.places_[k].is_read) std::copy_n(places[k] + first, size, at[k]);
    }
    call(at, kWidth);
    for (std::size_t k = 0; k < pass_.places_.size(); ++k)
      if (pass_.places_[k].is_written) std::copy_n(at[k], size, places[k] + first);
    for (std::size_t k = 0; k < lanes.size(); ++k)
      if (k % kReductionLanes >= size) lanes_[k] = lanes[k];
  }

  void end_block(std::size_t block) {
    for (std::size_t k = 0; k < sums_.size(); ++k)
      sums_[k][block] = sum_of_lanes(lanes_.data() + k * kReductionLanes);
    std::ranges::fill(lanes_, 0.0);
  }

  static constexpr std::size_t kWidth = 8;  // elements that the code handles at a time
  static_assert(kReductionLanes == kWidth);

  const EmittedPass& pass_;
  const PassMemory<float>& memory_;
  const std::span<std::vector<double>> sums_;
  bool takes_heard_ = false;
  float constants_[kMostConstants];
  std::vector<double> lanes_;  // of all reductions in this block, so far
  std::size_t taken_ = 0;      // operands of heard_ taken in this block
  float heard_[kMostTaken][kReductionBlock];
};

// The shortest code for events of short vectors.
void EmittedPass::run_whole(const PassMemory<float>& memory, std::span<const double> numbers,
                            double decay, std::size_t first, std::size_t size) const {
  float constants[kMostConstants];
  float* places[kMostPlaces];
  for (std::size_t k = 0; k < sources_; ++k)
    constants[k] = static_cast<float>(memory.heard->sources[k].weight);
  float* constant = constants + sources_;
  for (const std::uint16_t number : constants_)
    *constant++ = static_cast<float>(
        has_decay_ && number == static_cast<std::uint16_t>(HiddenNumber::decay) ? decay
                                                                                : numbers[number]);
  float** to = places;
  for (const Place& place : places_) {
    const float* at = memory.source(place.operand, first);
    if (at == nullptr)
      at = memory.heard->sources[place.source].x + place.operand.index * memory.dimension + first;
    *to++ = const_cast<float*>(at);
  }
  reinterpret_cast<Function>(memory_)(places, constants, nullptr, size * sizeof(float));
}

void EmittedPass::run(const PassMemory<float>& memory, std::span<const double> numbers,
                      std::span<const DecayRange> decay, std::size_t first, std::size_t last,
                      std::span<std::vector<double>> sums) const {
  if (first == last) return;
  const std::size_t size = last - first;
  if (is_plain_ && (!has_decay_ || decay.size() == 1) && (is_wide_ || size % 8 == 0))
    return run_whole(memory, numbers, has_decay_ ? decay[0].decay : 0, first, size);
  Execution execution(*this, memory, numbers, sums);
  if (!has_decay_) return execution.run(first, last);
  for_each_range(decay, first, last, [&](double value, std::size_t begin, std::size_t end) {
    execution.set_decay(value);
    execution.run(begin, end);
  });
}

bool EmittedPass::run_pair(float* const* i, float* const* j, double drift, double partner_drift,
                           std::span<const double> literals, std::size_t size) const {
  if (!is_plain_ || (!is_wide_ && size % 8 != 0)) return false;
  float constants[kMostConstants];
  float* places[kMostPlaces];
  float* constant = constants;
  for (const std::uint16_t number : constants_)
    *constant++ = static_cast<float>(
        number == static_cast<std::uint16_t>(HiddenNumber::drift)           ? drift
        : number == static_cast<std::uint16_t>(HiddenNumber::partner_drift) ? partner_drift
                                                                            : literals[number]);
  float** to = places;
  for (const Place& place : places_)
    *to++ = (place.operand.kind == Operand::Kind::state ? i : j)[place.operand.index];
  if (size > 0)
    reinterpret_cast<Function>(memory_)(places, constants, nullptr, size * sizeof(float));
  return true;
}

#if defined(ACID_WITH_ASMJIT)

EmittedPass::~EmittedPass() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

namespace {

std::string_view obstacle() {
#if defined(__SANITIZE_THREAD__)
#define ACID_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ACID_THREAD_SANITIZER
#endif
#endif
#if defined(ACID_THREAD_SANITIZER)
  return "the thread sanitizer does not see what machine code does";
#endif
#if !defined(__aarch64__)
  if (cpu_backend("avx2") == nullptr) return "the processor has no AVX2";
#endif
  const Operand x{Operand::Kind::state, 0};
  const Pass probe{.instructions = {{Operation::name, 0, x}},
                   .stores = {{{Operand::Kind::register_, 0}, x}},
                   .registers = 1};
  if (EmittedPass::emit(probe, 0) == nullptr) return "the system makes no memory executable";
  return {};
}

}  // namespace

#else

EmittedPass::~EmittedPass() = default;

namespace {
std::string_view obstacle() { return "this build has no asmjit for the processor"; }
}  // namespace

#endif

std::string_view why_interpreted(const Backend& backend) {
  static const std::string_view why = obstacle();
  static const Backend* const baseline = cpu_backend("baseline");
  if (&backend == baseline && cpu_backend("avx2") != nullptr)
    return "the kernels are those of all processors";
  if (backend.is_host_memory()) return why;
  if (backend.compiler() == nullptr) return "the vectors are not in the host's memory";
  return backend.compiler()->obstacle();
}

}  // namespace acid
