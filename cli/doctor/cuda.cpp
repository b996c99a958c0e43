#include <fmt/format.h>

#include "cli/doctor/checks.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

using nlohmann::json;

// "NVIDIA H100 (9.0, 85 GB)"; equal devices are named once.
std::string devices_text(const json& devices) {
  std::string text;
  for (std::size_t k = 0; k < devices.size();) {
    std::size_t same = k;
    while (same < devices.size() && devices[same].at("name") == devices[k].at("name")) ++same;
    text += fmt::format(
        "{}{}{} ({}, {})", k == 0 ? "" : ", ", same - k > 1 ? fmt::format("{} × ", same - k) : "",
        devices[k].at("name").get<std::string>(), devices[k].at("capability").get<std::string>(),
        format_bytes(devices[k].at("memory_bytes").get<double>()));
    k = same;
  }
  return text;
}

}  // namespace

void check_cuda(std::vector<Check>& checks, const json& cuda) {
  if (!cuda.is_object()) return;
  const auto text = [&](const char* name) { return cuda.value(name, std::string()); };
  const json devices = cuda.value("devices", json::array());
  if (devices.empty()) {
    checks.push_back({"CUDA", false, "no device",
                      fmt::format("everything is computed on the processor: {}", text("error"))});
    return;
  }
  checks.push_back({"CUDA", true,
                    fmt::format("{}; driver for {}, built with {}", devices_text(devices),
                                text("driver"), text("runtime")),
                    ""});
  const bool compiles = text("nvrtc") != "none";
  checks.push_back(
      {"CUDA listings", compiles,
       compiles ? fmt::format("are compiled by NVRTC {}", text("nvrtc")) : "are interpreted",
       compiles ? ""
                : "libnvrtc, NVIDIA's runtime compiler, was not found: the processor executes "
                  "methods that are listings, and vectors move to its memory and back"});
  if (devices.size() < 2) return;
  const bool linked = !text("nccl").empty();
  checks.push_back({"NCCL", linked, linked ? text("nccl") : "not available",
                    linked ? ""
                           : fmt::format("processes with a GPU each exchange through the host's "
                                         "memory: {}",
                                         text("nccl_error"))});
}

}  // namespace acid
