#include "engine/models/layout.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

std::int64_t count(const std::vector<LayoutTensor>& tensors) {
  if (tensors.empty()) return 0;
  return tensors.back().segment.offset + tensors.back().segment.size;
}

void fill(const LayoutTensor& tensor, Stream stream, std::span<float> values) {
  const double fan_in = static_cast<double>(tensor.fan_in);
  switch (tensor.init) {
    case Init::zeros:
      std::ranges::fill(values, 0.0F);
      return;
    case Init::ones:
      std::ranges::fill(values, 1.0F);
      return;
    case Init::normal:
    case Init::kaiming_normal: {
      const double deviation =
          tensor.init == Init::normal ? tensor.deviation : std::sqrt(2 / fan_in);
      for (float& value : values) value = static_cast<float>(deviation * stream.normal());
      return;
    }
    case Init::linear_uniform: {
      const double bound = 1 / std::sqrt(fan_in);
      for (float& value : values) value = static_cast<float>(stream.uniform(-bound, bound));
      return;
    }
  }
}

void fill_all(const std::vector<LayoutTensor>& tensors, std::uint64_t key,
              std::span<float> values) {
  ACID_ASSERT(static_cast<std::int64_t>(values.size()) == count(tensors),
              "{} values for {} elements", values.size(), count(tensors));
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    const Segment& segment = tensors[k].segment;
    fill(tensors[k], Stream(key, k),
         values.subspan(static_cast<std::size_t>(segment.offset),
                        static_cast<std::size_t>(segment.size)));
  }
}

std::vector<LayoutTensor> tensors_told(const nlohmann::json& told) {
  std::vector<LayoutTensor> tensors;
  for (const nlohmann::json& one : told) {
    Segment segment{one.at(0), one.at(1), count(tensors), 1};
    for (const std::int64_t extent : segment.shape)
      if (extent < 0 || __builtin_mul_overflow(segment.size, extent, &segment.size))
        throw Error(fmt::format("a process tells of a tensor '{}' with a shape that none has: {}",
                                segment.name, one.at(1).dump()));
    tensors.push_back({std::move(segment), Init::zeros, 1});
  }
  return tensors;
}

}  // namespace

std::vector<Segment> segments_of(const std::vector<LayoutTensor>& tensors) {
  std::vector<Segment> segments;
  for (const LayoutTensor& tensor : tensors) segments.push_back(tensor.segment);
  return segments;
}

Layout layout_told(const nlohmann::json& answer) {
  return {tensors_told(answer.at("parameters")), tensors_told(answer.at("buffers"))};
}

std::int64_t Layout::parameter_count() const { return count(parameters); }
std::int64_t Layout::buffer_count() const { return count(buffers); }

void initialise(const Layout& layout, const Seeds& seeds, std::span<float> parameters,
                std::span<float> buffers) {
  const std::uint64_t key = seeds.derived(Purpose::init);
  fill_all(layout.parameters, key, parameters);
  fill_all(layout.buffers, key, buffers);
}

}  // namespace acid
