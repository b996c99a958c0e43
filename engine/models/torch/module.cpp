#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/models/torch/model.hpp"
#include "engine/models/torch/script_module.hpp"
#include "engine/models/torch/scripted_model.hpp"
#include "engine/models/torch/threads.hpp"

namespace acid {
namespace {

at::Device parse_device(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  ACID_ASSERT(name.rfind("cuda", 0) == 0, "device '{}'", name);
  if (!at::hasCUDA()) {
    throw Error(
        "this LibTorch has no CUDA, or this machine no GPU that it can use; set execution.device = "
        "\"cpu\", or build acid with a CUDA LibTorch in CMAKE_PREFIX_PATH");
  }
  // Atomic additions in the backward kernels would make a run irreproducible. Warnings only:
  // operations without a deterministic kernel still run. cuBLAS needs this workspace setting.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setBenchmarkCuDNN(false);
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
  // Deterministic mode would otherwise fill every tensor before it is written.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
#endif
  return at::Device(name);
}

const ModelEntry& entry_of(const nlohmann::json& options) {
  const ModelEntry* entry = find_model(text(options, "kind"));
  ACID_ASSERT(entry != nullptr, "model {}", options.dump());
  return *entry;
}

Network network_of(const nlohmann::json& options, const DataShape& shape) {
  return entry_of(options).build(options, shape);
}

constexpr std::int64_t kSize = 256;  // rows and columns; all three matrices fit into a core's cache

/// Processor time of the calling thread, so that other programs on the core do not count.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class F>
double seconds_of(F&& f) {
  const double start = cpu_seconds();
  f();
  return cpu_seconds() - start;
}

/// c = a b, written simply; the compiler does the rest.
void plain_product(const float* a, const float* b, float* c) {
  for (std::int64_t i = 0; i < kSize; ++i) {
    float* row = c + i * kSize;
    std::fill_n(row, kSize, 0.0F);
    for (std::int64_t k = 0; k < kSize; ++k) {
      const float factor = a[i * kSize + k];
      for (std::int64_t j = 0; j < kSize; ++j) row[j] += factor * b[k * kSize + j];
    }
  }
}

// ModelRuntime::speed.
nlohmann::json library_speed() {
  try {
    pin_library_threads(1);
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
  const c10::InferenceMode inference;
  const at::Tensor a = at::full({kSize, kSize}, 0.5F), b = at::full({kSize, kSize}, 0.25F);
  at::Tensor product = at::empty({kSize, kSize}), loop = at::empty({kSize, kSize});
  // The best of several rounds, in turns: a disturbance can only make a round slower.
  double product_seconds = std::numeric_limits<double>::infinity(), loop_seconds = product_seconds;
  for (int round = 0; round < 7; ++round) {
    product_seconds = std::min(product_seconds, seconds_of([&] { at::mm_out(product, a, b); }));
    loop_seconds =
        std::min(loop_seconds, seconds_of([&] {
                   plain_product(a.data_ptr<float>(), b.data_ptr<float>(), loop.data_ptr<float>());
                 }));
  }
  constexpr double kOperations = 2.0 * kSize * kSize * kSize;
  return {{"product_flops_per_second", kOperations / product_seconds},
          {"loop_flops_per_second", kOperations / loop_seconds}};
}

class TorchRuntime : public ModelRuntime {
 public:
  std::unique_ptr<Model> make(const nlohmann::json& options, const DataShape& shape,
                              const std::string& device) override {
    return translating_errors([&]() -> std::unique_ptr<Model> {
      if (entry_of(options).read != nullptr)
        return make_scripted_model(text(options, "path"), shape);
      return std::make_unique<TorchModel>(network_of(options, shape), shape, parse_device(device));
    });
  }

  StoredModel read(const std::string& path, const DataShape& shape) override {
    return translating_errors([&] { return read_script(path, shape); });
  }

  std::string torchscript(const nlohmann::json& options, const DataShape& shape,
                          std::span<const float> x, std::span<const float> buffers,
                          const nlohmann::json& about) override {
    if (entry_of(options).read != nullptr)
      return translating_errors(
          [&] { return script_with(text(options, "path"), x, buffers, about.dump(2)); });
    const Network network = network_of(options, shape);
    ACID_ASSERT(std::ssize(x) == network.layout.parameter_count() &&
                    std::ssize(buffers) == network.layout.buffer_count(),
                "{} parameters and {} buffers", x.size(), buffers.size());
    return translating_errors([&] { return torchscript_file(network, x, buffers, about.dump(2)); });
  }

  void pin_threads(int threads) override { pin_library_threads(threads); }

  nlohmann::json environment() override { return library_environment(); }

  nlohmann::json speed() override { return library_speed(); }
};

}  // namespace
}  // namespace acid

/// The module's only entry point; see load_model_runtime().
extern "C" acid::ModelRuntime* acid_torch_runtime() {
  static acid::TorchRuntime runtime;
  return &runtime;
}
