#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "engine/data/dataset.hpp"
#include "engine/data/splits.hpp"

namespace acid {

/// The four IDX files of MNIST and its drop-in replacements in `options.root`, plain or .gz, under
/// their usual names (train-images-idx3-ubyte, …). Format: http://yann.lecun.com/exdb/mnist. Images
/// may have any size, the same in both sets; labels are 0 … 9.
DataInfo inspect_idx(const nlohmann::json& options, std::string_view data_set,
                     const ChannelStatistics& statistics);
Dataset load_idx(const nlohmann::json& options, std::string_view data_set,
                 const ChannelStatistics& statistics);

}  // namespace acid
