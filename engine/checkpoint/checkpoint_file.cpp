#include "engine/checkpoint/checkpoint_file.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/checkpoint/safetensors_file.hpp"

namespace acid {
namespace {

constexpr const char* kVersionKey = "acid_checkpoint";
constexpr const char* kStateName = "state";
constexpr std::size_t kBlockFloats = 1 << 18;  // 1 MiB

std::string tensor_name(const std::string& vector, const Segment& segment) {
  return vector + '/' + segment.name;
}

std::vector<std::int64_t> stacked_shape(std::size_t workers, const Segment& segment) {
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(workers)};
  shape.insert(shape.end(), segment.shape.begin(), segment.shape.end());
  return shape;
}

std::size_t floats(const Segment& segment) { return static_cast<std::size_t>(segment.size); }

template <class T>
std::span<T> part(std::span<T> vector, const Segment& segment) {
  const auto offset = static_cast<std::size_t>(segment.offset);
  ACID_ASSERT(offset + floats(segment) <= vector.size(), "{} ends at {} in a vector of {}",
              segment.name, offset + floats(segment), vector.size());
  return vector.subspan(offset, floats(segment));
}

void assert_has_its_shape(const Segment& segment) {
  std::int64_t size = 1;
  for (const std::int64_t extent : segment.shape) size *= extent;
  ACID_ASSERT(size == segment.size, "{} has shape {} and size {}", segment.name, size,
              segment.size);
}

std::string header_of(const CheckpointContent& content) {
  std::vector<std::pair<std::string, TensorHeader>> tensors;
  for (const StateVectors& vector : content.vectors) {
    ACID_ASSERT(vector.name.find('/') == std::string::npos, "the vector {}", vector.name);
    for (const Segment& segment : vector.segments) {
      assert_has_its_shape(segment);
      tensors.push_back({tensor_name(vector.name, segment),
                         {TensorType::f32, stacked_shape(vector.values.size(), segment), 0, 0}});
    }
  }
  // The state comes last, so that all floats lie at multiples of 4 for any length.
  const auto bytes = static_cast<std::int64_t>(content.state.size());
  tensors.push_back({kStateName, {TensorType::u8, {bytes}, 0, 0}});
  std::map<std::string, std::string> metadata = content.metadata;
  metadata.insert_or_assign(kVersionKey, std::string(kCheckpointVersion));
  return safetensors_header(metadata, tensors);
}

/// Fills each worker's segment from the file, where the segments lie side by side. Many small
/// segments are read together.
void read_stacked(const SafetensorsFile& file, std::uint64_t offset, const Segment& segment,
                  const std::vector<std::span<float>>& out) {
  const std::size_t size = floats(segment);
  if (size == 0) return;
  if (size >= kBlockFloats / 2) {
    for (std::size_t w = 0; w < out.size(); ++w)
      file.read_at(offset + w * size * sizeof(float),
                   std::as_writable_bytes(part(out[w], segment)));
    return;
  }
  const std::size_t at_once = std::min(kBlockFloats / size, out.size());
  std::vector<float> block(at_once * size);
  for (std::size_t first = 0; first < out.size(); first += at_once) {
    const std::size_t count = std::min(at_once, out.size() - first);
    file.read_at(offset + first * size * sizeof(float),
                 std::as_writable_bytes(std::span(block).first(count * size)));
    for (std::size_t k = 0; k < count; ++k)
      std::copy_n(block.data() + k * size, size, part(out[first + k], segment).data());
  }
}

}  // namespace

AtomicFile::Written write_checkpoint(const std::string& path, const CheckpointContent& content) {
  const std::string header = header_of(content);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  for (const StateVectors& vector : content.vectors)
    for (const Segment& segment : vector.segments)
      for (const std::span<const float> values : vector.values)
        file.write(std::as_bytes(part(values, segment)));
  file.write(content.state);
  return file.commit();
}

CheckpointFile::CheckpointFile(const std::string& path, std::string_view sha256) : path_(path) {
  try {
    file_ = std::make_unique<const SafetensorsFile>(path, sha256);
    const auto version = metadata().find(kVersionKey);
    if (version == metadata().end()) damaged("it is not a checkpoint");
    if (version->second != kCheckpointVersion)
      throw StoreError(
          fmt::format("the checkpoint {} is of version '{}', and this acid reads "
                      "version {}: go on with the acid that wrote it",
                      path_, version->second, kCheckpointVersion));
    const auto state = file_->tensors().find(kStateName);
    if (state == file_->tensors().end()) damaged("it holds no state");
    if (state->second.type != TensorType::u8 || state->second.shape.size() != 1)
      damaged("its state is not a list of bytes");
    state_.resize(state->second.end - state->second.begin);
    file_->read_at(state->second.begin, state_);
  } catch (const MissingSafetensors& error) {
    throw MissingCheckpoint(fmt::format("the checkpoint {} is missing: {}", path_, error.what()));
  } catch (const BadSafetensors& error) {
    damaged(error.what());
  } catch (const std::bad_alloc&) {
    throw StoreError(fmt::format("the state of the checkpoint {} does not fit into memory", path_));
  }
}

CheckpointFile::~CheckpointFile() = default;

void CheckpointFile::damaged(const std::string& what) const {
  throw DamagedCheckpoint(fmt::format("the checkpoint {} cannot be used: {}", path_, what));
}

const std::map<std::string, std::string>& CheckpointFile::metadata() const {
  return file_->metadata();
}

bool CheckpointFile::has(const std::string& name) const {
  const std::string prefix = name + '/';
  const auto first = file_->tensors().lower_bound(prefix);
  return first != file_->tensors().end() && first->first.starts_with(prefix);
}

const TensorHeader& CheckpointFile::tensor(const std::string& name, const Segment& segment,
                                           std::size_t workers) const {
  const auto found = file_->tensors().find(tensor_name(name, segment));
  if (found == file_->tensors().end())
    damaged(fmt::format("it holds no {}", tensor_name(name, segment)));
  const TensorHeader& tensor = found->second;
  if (tensor.type != TensorType::f32 || tensor.shape != stacked_shape(workers, segment))
    damaged(
        fmt::format("{} is not of {} workers and of the shape of this run", found->first, workers));
  return tensor;
}

void CheckpointFile::read(const std::string& name, const std::vector<Segment>& segments,
                          const std::vector<std::span<float>>& out) const {
  const std::string prefix = name + '/';
  const auto first = file_->tensors().lower_bound(prefix);
  const auto last = std::find_if(first, file_->tensors().end(), [&](const auto& entry) {
    return !entry.first.starts_with(prefix);
  });
  if (static_cast<std::size_t>(std::distance(first, last)) != segments.size())
    damaged(fmt::format("it holds {} tensors of {} instead of {}", std::distance(first, last), name,
                        segments.size()));
  for (const Segment& segment : segments) assert_has_its_shape(segment);
  try {
    for (const Segment& segment : segments)
      read_stacked(*file_, tensor(name, segment, out.size()).begin, segment, out);
  } catch (const BadSafetensors& error) {
    damaged(error.what());
  }
}

}  // namespace acid
