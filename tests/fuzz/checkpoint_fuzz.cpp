// Checkpoints and safetensors files: any content is read within bounds or refused.
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {
namespace {

struct Vectors {
  std::vector<Segment> segments;
  std::int64_t workers = 0, size = 0;
};

// The claims of the header, by name of the vector; only claims that need little memory.
std::map<std::string, Vectors> claimed(std::span<const std::uint8_t> file) {
  std::map<std::string, Vectors> vectors;
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return vectors;
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length) return vectors;
  const auto text = text_of(file.subspan(sizeof length, length));
  const auto header = nlohmann::json::parse(text, nullptr, false);
  if (!header.is_object()) return vectors;
  for (const auto& [name, entry] : header.items()) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos || !entry.is_object()) continue;
    const auto shape = entry.find("shape");
    if (shape == entry.end() || !shape->is_array() || shape->empty() || shape->size() > 8) continue;
    std::vector<std::int64_t> sides;
    bool small = true;
    for (const auto& side : *shape) {
      small = small && side.is_number_integer() && side >= 0 && side <= 64;
      if (small) sides.push_back(side.get<std::int64_t>());
    }
    if (!small) continue;
    Vectors& vector = vectors[name.substr(0, slash)];
    Segment segment;
    segment.name = name.substr(slash + 1);
    segment.shape.assign(sides.begin() + 1, sides.end());
    segment.offset = vector.size;
    segment.size =
        std::accumulate(sides.begin() + 1, sides.end(), std::int64_t{1},
                        [](auto a, auto b) { return std::min<std::int64_t>(a * b, 4096); });
    vector.workers = sides[0];
    vector.size += segment.size;
    vector.segments.push_back(segment);
  }
  return vectors;
}

void read_vectors(const CheckpointFile& file, std::span<const std::uint8_t> content) {
  for (const auto& claim : claimed(content)) {
    const Vectors& vector = claim.second;
    if (vector.size > 1 << 16) continue;
    std::vector<std::vector<float>> values(static_cast<std::size_t>(vector.workers));
    std::vector<std::span<float>> out;
    for (auto& own : values) {
      own.resize(static_cast<std::size_t>(vector.size));
      out.emplace_back(own);
    }
    accepted([&] { file.read(claim.first, vector.segments, out); });
    file.has(claim.first);
  }
}

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  static MemoryFile file;
  const std::span content(data, size);
  file.set(content);
  try {
    const acid::CheckpointFile checkpoint(file.path());
    read_vectors(checkpoint, content);
  } catch (const acid::StoreError&) {  // damaged, or of another version: no other error is allowed
  }
  accepted([&] {
    for (const auto& [name, tensor] : acid::read_safetensors(file.path()))
      ACID_ASSERT(tensor.values.size() <= size, "{} values of {} bytes", tensor.values.size(),
                  size);
  });
  return 0;
}
