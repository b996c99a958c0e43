#include "engine/checkpoint/safetensors.hpp"

#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"

namespace acid {
namespace {

std::array<std::byte, 8> little_endian(std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

}  // namespace

AtomicFile::Written write_safetensors(const std::string& path,
                                      const std::vector<TensorGroup>& groups,
                                      const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const TensorGroup& group : groups)
    for (const Segment& segment : group.segments) {
      const std::uint64_t end = offset + 4 * static_cast<std::uint64_t>(segment.size);
      header[segment.name] = {
          {"dtype", "F32"}, {"shape", segment.shape}, {"data_offsets", {offset, end}}};
      offset = end;
    }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  AtomicFile file(path);
  file.write(little_endian(text.size()));
  file.write(std::as_bytes(std::span(text)));
  for (const TensorGroup& group : groups)
    for (const Segment& segment : group.segments)
      file.write(std::as_bytes(group.values.subspan(static_cast<std::size_t>(segment.offset),
                                                    static_cast<std::size_t>(segment.size))));
  return file.commit();
}

std::map<std::string, LoadedTensor> read_safetensors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(fmt::format("cannot read {}", path));
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  const auto damaged = [&](const std::string& what) {
    return Error(fmt::format("{} is not a valid safetensors file: {}", path, what));
  };
  if (content.size() < 8) throw damaged("shorter than its header's length");
  std::uint64_t length = 0;
  for (std::size_t k = 8; k-- > 0;) length = length << 8 | static_cast<unsigned char>(content[k]);
  if (length > content.size() - 8) throw damaged("the header is cut off");
  const auto header = nlohmann::json::parse(content.substr(8, length), nullptr, false);
  if (!header.is_object()) throw damaged("the header is not a JSON object");
  const std::size_t start = 8 + length;
  std::map<std::string, LoadedTensor> tensors;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      if (entry.at("dtype") != "F32") throw damaged(name + " is not float32");
      const auto begin = entry.at("data_offsets").at(0).get<std::uint64_t>();
      const auto end = entry.at("data_offsets").at(1).get<std::uint64_t>();
      if (begin > end || end > content.size() - start || (end - begin) % 4 != 0)
        throw damaged(name + " lies outside the file");
      LoadedTensor& tensor = tensors[name];
      tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
      tensor.values.resize((end - begin) / 4);
      content.copy(reinterpret_cast<char*>(tensor.values.data()), end - begin, start + begin);
    }
  } catch (const nlohmann::json::exception& error) {
    throw damaged(error.what());
  }
  return tensors;
}

}  // namespace acid
