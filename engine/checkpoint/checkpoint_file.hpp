#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/checkpoint/atomic_file.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

// A checkpoint is a safetensors file (docs/CHECKPOINT.md): any safetensors library can read the
// parameters of all workers. `x/<tensor>` has the shape [workers, …the tensor's own], as have the
// other vectors that every worker has. `state` (U8) is everything that is not a vector, as an
// archive that only the driver which wrote it understands. The metadata hold "acid_checkpoint", the
// version of this layout.

inline constexpr std::string_view kCheckpointVersion = "1";

class SafetensorsFile;
struct TensorHeader;

/// One vector of every worker, such as x or the optimiser's momentum.
struct StateVectors {
  std::string name;                            // "x", "x_tilde", …
  std::vector<Segment> segments;               // how a worker's vector divides into tensors
  std::vector<std::span<const float>> values;  // by worker, each covering all segments
  bool compared = true;                        // by verification: it determines how the run goes on
};

/// The content of a checkpoint; borrowed for the length of a call.
struct CheckpointContent {
  std::map<std::string, std::string> metadata;  // besides the version
  std::vector<StateVectors> vectors;            // names differ; one without segments is left out
  std::span<const std::byte> state;
};

/// Writes the file to a temporary name, fsyncs it, renames it (AtomicFile). Takes no copy of the
/// vectors. Throws StoreError naming the file and the system's reason.
AtomicFile::Written write_checkpoint(const std::string& path, const CheckpointContent& content);

/// The file is missing, truncated or altered. The message names the file and says what is wrong
/// with it.
class DamagedCheckpoint : public StoreError {
 public:
  using StoreError::StoreError;
};

/// There is no file of that name; it may have been moved.
class MissingCheckpoint : public DamagedCheckpoint {
 public:
  using DamagedCheckpoint::DamagedCheckpoint;
};

/// A checkpoint file to read from. Every value in it is checked before it is used. A failure is a
/// DamagedCheckpoint, a MissingCheckpoint when there is no file, or another StoreError when the
/// file itself may be sound: it cannot be read at the moment, or an acid with another layout wrote
/// it.
class CheckpointFile {
 public:
  /// Reads the header and the state. With `sha256`, first checks that the file has that digest.
  explicit CheckpointFile(const std::string& path, std::string_view sha256 = {});
  ~CheckpointFile();
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const;
  std::span<const std::byte> state() const { return state_; }
  bool has(const std::string& name) const;
  /// Fills out[worker] with each worker's vector `name`; the file must hold exactly these tensors
  /// for exactly out.size() workers.
  void read(const std::string& name, const std::vector<Segment>& segments,
            const std::vector<std::span<float>>& out) const;

 private:
  [[noreturn]] void damaged(const std::string& what) const;
  const TensorHeader& tensor(const std::string& name, const Segment& segment,
                             std::size_t workers) const;

  std::string path_;
  std::unique_ptr<const SafetensorsFile> file_;
  std::vector<std::byte> state_;
};

}  // namespace acid
