#include "engine/checkpoint/safetensors.hpp"

#include <new>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/checkpoint/safetensors_file.hpp"

namespace acid {

AtomicFile::Written write_safetensors(const std::string& path,
                                      const std::vector<TensorGroup>& groups,
                                      const std::map<std::string, std::string>& metadata) {
  std::vector<std::pair<std::string, TensorHeader>> tensors;
  for (const TensorGroup& group : groups)
    for (const Segment& segment : group.segments)
      tensors.push_back({segment.name, {TensorType::f32, segment.shape, 0, 0}});
  const std::string header = safetensors_header(metadata, tensors);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  for (const TensorGroup& group : groups)
    for (const Segment& segment : group.segments)
      file.write(std::as_bytes(group.values.subspan(static_cast<std::size_t>(segment.offset),
                                                    static_cast<std::size_t>(segment.size))));
  return file.commit();
}

std::map<std::string, LoadedTensor> read_safetensors(const std::string& path) {
  std::map<std::string, LoadedTensor> loaded;
  try {
    const SafetensorsFile file(path);
    for (const auto& [name, tensor] : file.tensors()) {
      if (tensor.type != TensorType::f32) throw BadSafetensors(name + " is not float32");
      LoadedTensor& to = loaded[name];
      to.shape = tensor.shape;
      to.values.resize((tensor.end - tensor.begin) / sizeof(float));
      file.read_at(tensor.begin, std::as_writable_bytes(std::span(to.values)));
    }
  } catch (const BadSafetensors& error) {
    throw Error(fmt::format("cannot read the safetensors file {}: {}", path, error.what()));
  } catch (const std::bad_alloc&) {
    throw Error(fmt::format("the safetensors file {} does not fit into memory", path));
  }
  return loaded;
}

}  // namespace acid
