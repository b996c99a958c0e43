#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/language/program.hpp"

namespace acid {

/// A pass over floats as a kernel in CUDA C++, which does what interpret() does with the same bits
/// where nothing is contracted. No name in it is a user's. A host's compiler takes it too, given
/// __global__, threadIdx and the like.
struct DeviceText {
  DeviceText(const Pass& pass, std::size_t most_sources);

  /// The members of its one argument, in this order: elements; then, where it takes means, sources
  /// (0: the means are given), what a message's vectors have of elements, and the sources; then the
  /// places and, where it reduces, the lanes: of every kReductionBlock elements kReductionLanes for
  /// each reduction. Then floats: weights of the sources, constants.
  std::string text;
  std::vector<Operand> places;
  std::vector<std::uint16_t> constants;  // numbers
  std::size_t sources = 0;               // that there is room for; 0: it takes no means
  std::size_t reductions = 0;
};

/// Kernels acid_kernel_0, … of these texts.
std::string device_program(std::span<const std::string> texts);

}  // namespace acid
