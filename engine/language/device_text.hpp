#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/language/program.hpp"

namespace acid {

/// A pass over floats as a kernel in CUDA C++, which computes what interpret() computes, with the
/// same bits if no operations are contracted. It contains no name of a user's. A host's compiler
/// accepts it too, given __global__, threadIdx and the like.
struct DeviceText {
  DeviceText(const Pass& pass, std::size_t most_sources);

  /// The text. Its one argument has these members, in this order: elements; then, if it takes
  /// means, the number of sources (0: the means are given), the elements in a message's vectors,
  /// and the sources; then the places and, if it reduces, the lanes: kReductionLanes of each
  /// reduction for every kReductionBlock elements. Then floats: weights of the sources, constants.
  std::string text;
  std::vector<Operand> places;
  std::vector<std::uint16_t> constants;  // numbers
  std::size_t sources = 0;               // room for so many; 0: it takes no means
  std::size_t reductions = 0;
};

/// A program with these texts as the kernels acid_kernel_0, acid_kernel_1, and so on.
std::string device_program(std::span<const std::string> texts);

}  // namespace acid
