#include "engine/transport/device_link.hpp"

#include <map>

#include "engine/base/module.hpp"

namespace acid {
namespace {

constexpr char kHas = '=';  // in front of a device's uuid; else what is missing follows

// Why these processes cannot be linked; empty: they can.
std::string obstacle(const std::vector<std::string>& ends,
                     const std::vector<ProcessPlace>& places) {
  std::map<std::string, std::size_t> owners;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (ends[k].empty() || ends[k].front() != kHas)
      return fmt::format("{}: {}", places[k].name(), ends[k]);
    const auto [other, fresh] = owners.try_emplace(ends[k], k);
    if (!fresh)
      return fmt::format("{} and {} share one GPU", places[other->second].name(), places[k].name());
  }
  return {};
}

std::string hexadecimal(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string from_hexadecimal(const std::string& text) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    bytes += static_cast<char>(std::stoi(text.substr(at, 2), nullptr, 16));
  return bytes;
}

}  // namespace

const NcclRuntime& load_nccl_runtime() {
  static const NcclRuntime& runtime = *load_module<const NcclRuntime*()>(
      {.name = "acid-nccl.so",
       .variable = "ACID_NCCL_MODULE",
       .factory = "acid_nccl_runtime",
       .users = "processes with a GPU each exchange faster with it",
       .needs = "the CUDA toolkit and NCCL (libnccl2, libnccl-dev)"})();
  return runtime;
}

DeviceConnection connect_devices(MpiRuntime& mpi, const DeviceEnd& own,
                                 const std::vector<ProcessPlace>& places) {
  const std::vector<std::string> ends =
      mpi.gather(own.nccl == nullptr ? own.missing : kHas + own.uuid);
  if (std::string why_not = obstacle(ends, places); !why_not.empty())
    return {nullptr, std::move(why_not)};
  // As text: a broadcast is for words.
  const std::string id = mpi.broadcast(mpi.rank() == 0 ? hexadecimal(own.nccl->new_id()) : "");
  return {own.nccl->connect(from_hexadecimal(id), own.device, mpi.rank(), places), {}};
}

}  // namespace acid
