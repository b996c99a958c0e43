#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "engine/data/dataset.hpp"
#include "engine/data/splits.hpp"

namespace acid {

/// The difference between the two CIFAR sets. A record of the binary version is `label_bytes`
/// labels, of which the last counts, and 3 × 32 × 32 bytes:
/// https://www.cs.toronto.edu/~kriz/cifar.html.
struct CifarFormat {
  std::string_view name;
  int classes;
  int label_bytes;
  std::span<const std::string_view> train_files;
  std::string_view test_file;
  std::span<const ChannelStatistics> statistics;
};

/// Looks at file sizes only. Any whole number of records is accepted.
DataInfo inspect_cifar(const nlohmann::json& options, const CifarFormat& format);
Dataset load_cifar(const nlohmann::json& options, const CifarFormat& format);

}  // namespace acid
