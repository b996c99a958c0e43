#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exports/text.hpp"

namespace acid {

/// Fixed, so that exporting a run again replaces its file instead of adding one.
inline constexpr const char* kEventFileName = "events.out.tfevents.0.acid";

/// The folder of a run below TensorBoard's log folder, which TensorBoard shows as the run's name:
/// label, seed and id. In them a leading '.' and ASCII characters other than letters, digits and
/// "._+=," become '-'; several in a row become one.
std::string tensorboard_folder(const RunSummary& run);

/// The run as an event file for TensorBoard; equal content gives equal bytes:
///   scalars    one per metric, `metric` for the whole run and `metric/worker_3` for a worker. The
///              step is the number of gradients; the wall time is the run's beginning plus its
///              seconds, simulated in `virtual`, so that the relative axis shows those. TensorBoard
///              keeps 24 bits of a value; NaN and infinities survive.
///   hparams    every setting, so that its table compares runs; seeds of one group form a group
///   settings   the settings as text
void write_event_file(const Store& store, const RunDetail& run, const Write& write);

/// CRC-32C (Castagnoli), as in iSCSI and in event files.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace acid
