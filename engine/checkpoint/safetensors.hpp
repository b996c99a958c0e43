#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint/atomic_file.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

/// Named float32 tensors cut out of one flat vector.
struct TensorGroup {
  std::vector<Segment> segments;
  std::span<const float> values;  // covers every segment
};

/// Writes a safetensors file (little-endian header length, JSON header, data; the header padded so
/// that the data start at a multiple of 8), atomically. Every safetensors library can read it.
AtomicFile::Written write_safetensors(const std::string& path,
                                      const std::vector<TensorGroup>& groups,
                                      const std::map<std::string, std::string>& metadata);

/// A tensor as read back.
struct LoadedTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
/// Reads what write_safetensors writes (float32 only). Throws Error naming the file and what is
/// wrong with it.
std::map<std::string, LoadedTensor> read_safetensors(const std::string& path);

}  // namespace acid
