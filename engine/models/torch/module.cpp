#include <torch/version.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/models/torch/model.hpp"
#include "engine/models/torch/script_module.hpp"
#include "engine/models/torch/scripted_model.hpp"
#include "engine/models/torch/speed.hpp"
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
