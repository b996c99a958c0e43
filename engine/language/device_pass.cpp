#include "engine/language/device_pass.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "engine/base/mutex.hpp"

namespace acid {
namespace {

// The number of sources in a kernel that takes means: the smaller one if that is enough. The larger
// one fits into the 4 KB of arguments that all devices accept.
constexpr std::size_t kFewSources = 16, kManySources = 256;
constexpr std::size_t kMostArgumentBytes = 4096;

std::size_t argument_bytes(const DeviceText& text) {
  return 32 + 12 * text.sources + 8 * text.places.size() + 4 * text.constants.size();
}

std::size_t room_for(std::size_t workers) {
  return workers <= kFewSources ? kFewSources : kManySources;
}

/// The compiled kernels, by text.
class Kernels {
 public:
  std::vector<KernelCompiler::Kernel> of(const KernelCompiler& compiler,
                                         std::span<const std::string> texts) EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    std::vector<std::string> missing;
    for (const std::string& text : texts)
      if (!known_.contains({&compiler, text}) && std::ranges::find(missing, text) == missing.end())
        missing.push_back(text);
    if (!missing.empty()) {
      const auto made = compiler.compile(device_program(missing), missing.size());
      for (std::size_t k = 0; k < missing.size(); ++k) known_[{&compiler, missing[k]}] = made[k];
    }
    std::vector<KernelCompiler::Kernel> found;
    for (const std::string& text : texts) found.push_back(known_.at({&compiler, text}));
    return found;
  }

 private:
  Mutex mutex_;
  std::map<std::pair<const KernelCompiler*, std::string>, KernelCompiler::Kernel> known_
      GUARDED_BY(mutex_);
};

Kernels& kernels_of_process() {
  static Kernels kernels;
  return kernels;
}

/// Builds the bytes of a kernel's argument: 8 at a time, then floats.
class Arguments {
 public:
  void add(std::uint64_t word) {
    add(static_cast<std::uint32_t>(word));
    add(static_cast<std::uint32_t>(word >> 32));
  }
  void add(const void* pointer) { add(std::uint64_t{std::bit_cast<std::uintptr_t>(pointer)}); }
  void add(float value) { add(std::bit_cast<std::uint32_t>(value)); }
  const void* data() const { return words_; }

 private:
  void add(std::uint32_t half) { words_[size_++] = half; }

  alignas(8) std::uint32_t words_[kMostArgumentBytes / 4] = {};
  std::size_t size_ = 0;
};
static_assert(std::endian::native == std::endian::little);

bool differ(std::span<const DecayRange> decay) {
  return std::ranges::any_of(
      decay, [&](const DecayRange& one) { return one.decay != decay.front().decay; });
}

}  // namespace

DevicePass::DevicePass(const Backend& backend, const Pass& pass, std::size_t workers)
    : backend_(backend),
      compiler_(*backend.compiler()),
      pass_(pass),
      text_(pass, room_for(workers)),
      kernel_(kernels_of_process().of(compiler_, {&text_.text, 1}).front()) {}

void DevicePass::prepare(const Backend& backend, std::span<const Pass> passes,
                         std::size_t workers) {
  std::vector<std::string> texts;
  for (const Pass& pass : passes) texts.push_back(DeviceText(pass, room_for(workers)).text);
  kernels_of_process().of(*backend.compiler(), texts);
}

// The host executes what a kernel has no room for, and reductions whose blocks have several decays:
// the host can read and write all of the backend's memory, though slowly.
void DevicePass::run(const PassMemory<float>& memory, std::span<const double> numbers,
                     std::span<const DecayRange> decay, std::size_t first, std::size_t last,
                     std::span<std::vector<double>> sums) const {
  const bool ranges = pass_.has_decay && differ(decay);
  const bool too_many = text_.sources > 0 && memory.heard->sources.size() > text_.sources;
  if (too_many || argument_bytes(text_) > kMostArgumentBytes || (ranges && text_.reductions > 0)) {
    PassMemory<float> here = memory;
    here.kernels = &cpu_backend().kernels<float>();
    return interpret<float>(pass_, here, numbers, decay, first, last, sums);
  }
  if (ranges)
    for_each_range(decay, first, last, [&](double value, std::size_t begin, std::size_t end) {
      run_range(memory, numbers, value, begin, end, sums);
    });
  else
    run_range(memory, numbers, decay.empty() ? 0 : decay.front().decay, first, last, sums);
  compiler_.wait();
}

// Lanes, and a model that is read to where kernels do not reach, are copied by way of the scratch
// memory.
void DevicePass::run_range(const PassMemory<float>& memory, std::span<const double> numbers,
                           double decay, std::size_t first, std::size_t last,
                           std::span<std::vector<double>> sums) const {
  const std::size_t lanes = kReductionLanes * text_.reductions;
  const bool reads =
      std::ranges::find(text_.places, Operand{Operand::Kind::model, 0}) != text_.places.end() &&
      !compiler_.reaches(memory.model);
  std::size_t most = last - first;
  if (lanes > 0)
    most = KernelCompiler::kScratchBytes / sizeof(double) / lanes * kReductionBlock;
  else if (reads)
    most = KernelCompiler::kScratchBytes / sizeof(float);
  for (std::size_t begin = first; begin < last; begin += most) {
    const std::size_t size = std::min(most, last - begin);
    launch(memory, numbers, decay, begin, size);
    if (lanes == 0 && !reads) continue;
    compiler_.wait();
    if (lanes == 0) {
      backend_.kernels<float>().copy(static_cast<const float*>(compiler_.scratch()),
                                     memory.model + (begin - memory.model_first), size);
      continue;
    }
    const auto* const lane = static_cast<const double*>(compiler_.scratch());
    for (std::size_t block = 0; block * kReductionBlock < size; ++block)
      for (std::size_t k = 0; k < text_.reductions; ++k)
        sums[k][begin / kReductionBlock + block] =
            sum_of_lanes(lane + block * kReductionLanes * text_.reductions + k, text_.reductions);
  }
}

void DevicePass::launch(const PassMemory<float>& memory, std::span<const double> numbers,
                        double decay, std::size_t first, std::size_t size) const {
  Arguments arguments;
  arguments.add(std::uint64_t{size});
  const auto each_source = [&](const auto& add) {
    for (std::size_t k = 0; k < text_.sources; ++k)
      add(k < memory.heard->sources.size() ? memory.heard->sources[k] : kernels::Weighted<float>{});
  };
  if (text_.sources > 0) {
    const std::size_t sources = memory.heard->sources.size();
    arguments.add(std::uint64_t{memory.heard->mean != nullptr ? 0 : sources});
    arguments.add(std::uint64_t{memory.dimension});
  }
  each_source([&](const kernels::Weighted<float>& one) {
    arguments.add(static_cast<const void*>(one.x == nullptr ? nullptr : one.x + first));
  });
  for (const Operand& place : text_.places)
    arguments.add(place.kind != Operand::Kind::model
                      ? static_cast<const void*>(memory.source(place, first))
                  : compiler_.reaches(memory.model) ? memory.model + (first - memory.model_first)
                                                    : compiler_.scratch());
  if (text_.reductions > 0) arguments.add(static_cast<const void*>(compiler_.scratch()));
  each_source(
      [&](const kernels::Weighted<float>& one) { arguments.add(static_cast<float>(one.weight)); });
  for (const std::uint16_t number : text_.constants)
    arguments.add(number == static_cast<std::uint16_t>(HiddenNumber::decay) && pass_.has_decay
                      ? static_cast<float>(decay)
                      : static_cast<float>(numbers[number]));
  const std::size_t blocks = (size + kReductionBlock - 1) / kReductionBlock;
  compiler_.launch(kernel_, text_.reductions > 0 ? blocks * kReductionLanes : size,
                   arguments.data());
}

}  // namespace acid
