#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>

#include "engine/data/dataset.hpp"

namespace acid {

/// Of an example of the user's files, at most.
inline constexpr std::int64_t kMostFeatures = 1 << 28;

/// The keys of every format of arrays, beside those that name the files.
constexpr std::array<Field, 4> kArrayFields{{
    {.name = "layout",
     .type = FieldType::text,
     .fallback = "\"channels-first\"",
     .help = "order of four dimensions: examples × channels × height × width, or examples × "
             "height × width × channels",
     .choices = "channels-first,channels-last"},
    {.name = "mean",
     .type = FieldType::numbers,
     .fallback = "null",
     .help = "subtracted, by channel; bytes are from 0 to 1 before. Vectors have one channel"},
    {.name = "deviation",
     .type = FieldType::numbers,
     .fallback = "null",
     .help = "inputs minus mean are divided by it, by channel",
     .minimum = 0,
     .minimum_excluded = true},
    {.name = "classes",
     .type = FieldType::integer,
     .fallback = "null",
     .help = "number of classes; default: the largest training label + 1",
     .minimum = 2,
     .maximum = 1e6},
}};

/// `mean` and `deviation` of a recipe as one pair for each channel; UsageError when their number
/// differs from the channels'.
std::vector<ChannelStatistics> statistics_of(const nlohmann::json& options, int channels);

/// ", then normalised" when `mean` or `deviation` is given.
const char* words_of_statistics(const nlohmann::json& options);

}  // namespace acid
