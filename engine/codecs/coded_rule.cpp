#include "engine/codecs/coded_rule.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/codecs/packed_message.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {
namespace {

constexpr std::array<std::string_view, 8> kErrors = {"error0", "error1", "error2", "error3",
                                                     "error4", "error5", "error6", "error7"};

// Messages are in single precision, also when workers are in double.
template <class T>
void project(const Codec& codec, const Codec::Draw& draw, T* values, std::size_t size) {
  if constexpr (std::is_same_v<T, float>) {
    codec.project(draw, {values, size});
  } else {
    std::vector<float> floats(values, values + size);
    codec.project(draw, floats);
    std::ranges::copy(floats, values);
  }
}

std::span<const float> floats_of(std::span<const float> values) { return values; }
std::vector<float> floats_of(std::span<const double> values) {
  return {values.begin(), values.end()};
}

}  // namespace

template <class T>
CodedRule<T>::CodedRule(std::shared_ptr<const Rule<T>> inner, std::shared_ptr<const Codec> codec,
                        bool error_feedback)
    : inner_(std::move(inner)),
      codec_(std::move(codec)),
      error_feedback_(error_feedback),
      slots_(inner_->slots().begin(), inner_->slots().end()),
      scalars_(inner_->scalars().begin(), inner_->scalars().end()) {
  ACID_ASSERT(message().vectors <= kErrors.size(), "{} vectors in a message", message().vectors);
  if (error_feedback_)
    for (std::size_t k = 0; k < message().vectors; ++k) slots_.push_back({.name = kErrors[k]});
  if (codec_->has_gaps()) scalars_.push_back({"extra_floats"});
  scalars_.push_back({"said"});
}

// In rounds a message counts when it is heard: after a checkpoint it may be said again.
template <class T>
void CodedRule<T>::say(const WorkerView<T>& worker, T* out) const {
  inner_->say(worker, out);
  double& said = worker.scalars[scalars_.size() - 1];
  const Extent extent = inner_->extent(static_cast<std::int64_t>(said), worker.settings.dimension);
  const std::size_t size = extent.size(), vectors = message().vectors;
  for (std::size_t k = 0; k < vectors; ++k) {
    if ((extent.vectors >> k & 1) == 0) continue;
    T* const vector = out + extent.vector_at(k);
    T* const error =
        error_feedback_ ? worker.slot(inner_->slots().size() + k) + extent.first : nullptr;
    for (std::size_t i = 0; error != nullptr && i < size; ++i) vector[i] = error[i] += vector[i];
    project(*codec_,
            draw_of(worker.settings.codec_seed, static_cast<int>(worker.number),
                    static_cast<std::uint64_t>(said), k, vectors),
            vector, size);
    for (std::size_t i = 0; error != nullptr && i < size; ++i) error[i] -= vector[i];
  }
  if (changes_when_saying()) ++said;
}

template <class T>
void CodedRule<T>::hear(const WorkerView<T>& worker, const Heard<T>& heard) const {
  if (codec_->has_gaps()) count_gaps(worker, heard);
  inner_->hear(worker, heard);
  if (!changes_when_saying()) ++worker.scalars[scalars_.size() - 1];
}

template <class T>
void CodedRule<T>::count_gaps(const WorkerView<T>& worker, const Heard<T>& heard) const {
  const auto number = static_cast<std::int64_t>(worker.scalars[scalars_.size() - 1]) -
                      (changes_when_saying() ? 1 : 0);
  const Extent extent = inner_->extent(number, worker.settings.dimension);
  if (extent.vectors == 0) return;
  const T* const own = heard.mean != nullptr ? heard.own : heard.sources[0].x;
  const auto vectors = [&](const T* said) {
    return floats_of(std::span(said, extent.vector_at(32)));
  };
  double& floats = worker.scalars[*extra_floats()];
  const auto count = [&](const T* other) {
    for (const auto& [first, last] : gaps_of(*codec_, extent, vectors(own), vectors(other)))
      std::atomic_ref(floats).store(floats + static_cast<double>(last - first));
  };
  if (!codec_->needs_own()) return count(own);
  for (const T* const other : heard.all)
    if (other != own) count(other);
  for (std::size_t i = 1; i < heard.sources.size(); ++i) count(heard.sources[i].x);
}

Rules coded(const Rules& rules, const std::shared_ptr<const Codec>& codec, bool error_feedback) {
  return {std::make_shared<const CodedRule<float>>(rules.floats, codec, error_feedback),
          std::make_shared<const CodedRule<double>>(rules.doubles, codec, error_feedback)};
}

template class CodedRule<float>;
template class CodedRule<double>;

}  // namespace acid
