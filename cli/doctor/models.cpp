#include <fmt/format.h>

#include <string_view>

#include "cli/doctor/checks.hpp"
#include "engine/models/blas_core.hpp"

namespace acid {
namespace {

using nlohmann::json;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// As environment() names features.
Vectors vectors_of_processor(const std::string& features) {
  if (contains(features, "avx512f")) return Vectors::avx512;
  return contains(features, "avx2") ? Vectors::avx2 : Vectors::other;
}

/// Why OpenBLAS is slower than this processor allows; empty: it is not, or this is unknown.
std::string core_advice(const std::string& core, const std::string& features,
                        const json& variables) {
  const Vectors possible = vectors_of_processor(features);
  if (core.empty() || vectors_of_core(core) >= possible) return {};
  const char* instructions = possible == Vectors::avx512 ? "AVX-512" : "AVX2";
  if (variables.contains("OPENBLAS_CORETYPE"))
    return fmt::format(
        "OPENBLAS_CORETYPE={} keeps OpenBLAS from this processor's {}; unset it, unless runs must "
        "have the bits of other machines",
        variables["OPENBLAS_CORETYPE"].get<std::string>(), instructions);
  return fmt::format(
      "OpenBLAS takes this processor for a {} and makes no use of its {}; install a newer "
      "OpenBLAS, or set OPENBLAS_CORETYPE={}",
      core, instructions, possible == Vectors::avx512 ? "SkylakeX" : "Haswell");
}

std::string blas_advice(const json& runtime, const json& surroundings, double gain) {
  const auto text = [&](const char* name) { return runtime.value(name, std::string()); };
  const std::string library = text("blas_library");
  const bool open_blas = contains(text("blas_config"), "OpenBLAS") || contains(library, "openblas");
  const bool known = open_blas || contains(library, "mkl") || contains(library, "blis") ||
                     library == "inside LibTorch";
  constexpr double kLeastGain = 1.5;  // gain: reference BLAS 0.3, SSE alone 2, AVX2 6, AVX-512 9
  if (!known && gain < kLeastGain)
    return "not an optimised BLAS: gradients will be several times slower; apt-get install "
           "libopenblas0-pthread and, if it is there already, choose it with update-alternatives "
           "--config libblas.so.3-x86_64-linux-gnu";
  std::string advice = core_advice(text("blas_core"), surroundings.value("cpu_features", ""),
                                   surroundings.value("variables", json::object()));
  if (advice.empty() && gain > 0 && gain < kLeastGain)
    advice =
        "hardly faster than a plain loop: gradients will be several times slower than they "
        "could be; install an optimised BLAS, such as libopenblas0-pthread";
  return advice;
}

void check_blas(std::vector<Check>& checks, const json& runtime, const json& surroundings) {
  const std::string library = runtime.value("blas_library", std::string());
  std::string found = runtime.value("blas_config", std::string());
  found = found.empty() ? library : fmt::format("{} ({})", found, library);
  const json speed = runtime.value("speed", json::object());
  const double product = speed.value("product_flops_per_second", 0.0);
  const double loop = speed.value("loop_flops_per_second", 0.0);
  const double gain = loop > 0 ? product / loop : 0;
  if (gain > 0)
    found +=
        fmt::format(", {:.0f} GFLOP/s on one core, {:.1f} × a plain loop", product / 1e9, gain);
  const std::string advice = blas_advice(runtime, surroundings, gain);
  checks.push_back({"BLAS", advice.empty(), found, advice});
}

/// Thread counts are settings of a run: those of the environment are overridden or harmful.
void check_thread_counts(std::vector<Check>& checks, const json& runtime,
                         const json& surroundings) {
  const json speed = runtime.value("speed", json::object());
  if (speed.contains("error")) {
    checks.push_back({"thread counts", false, "cannot be set", speed["error"].get<std::string>()});
    return;
  }
  std::string found;
  const json variables = surroundings.value("variables", json::object());
  for (const auto& [name, value] : variables.items())
    if (name.ends_with("_NUM_THREADS"))
      found += fmt::format("{}{}={}", found.empty() ? "" : ", ", name, value.get<std::string>());
  if (!found.empty())
    checks.push_back({"thread counts", true, found,
                      "no matter: execution.threads_per_worker decides, which is 1 if not set"});
}

}  // namespace

void check_models(std::vector<Check>& checks, const json& surroundings) {
  const json runtime = surroundings.value("model_runtime", json::object());
  const auto text = [&](const char* name) { return runtime.value(name, std::string()); };
  if (text("libtorch").empty()) {
    checks.push_back({"LibTorch", false, "not available",
                      fmt::format("only analytic tasks will run: {}", text("error"))});
    return;
  }
  const json variables = surroundings.value("variables", json::object());
  const bool held_back = variables.contains("ATEN_CPU_CAPABILITY");
  checks.push_back(
      {"LibTorch", !held_back, fmt::format("{}, {}", text("libtorch"), text("cpu_capability")),
       held_back ? fmt::format("ATEN_CPU_CAPABILITY={} chooses its instructions, not the processor",
                               variables["ATEN_CPU_CAPABILITY"].get<std::string>())
                 : ""});
  check_blas(checks, runtime, surroundings);
  check_thread_counts(checks, runtime, surroundings);
}

}  // namespace acid
