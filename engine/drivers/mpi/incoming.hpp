#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/codecs/packed_message.hpp"
#include "engine/drivers/mpi/post.hpp"
#include "engine/worker/arena.hpp"

namespace acid {

/// An incoming message of another worker: its packed body, and the rest that fills its gaps
/// (PackedMessage); the other worker gets our rest. One exchange after another. Belongs to the
/// communication thread.
class Incoming {
 public:
  /// Has room for a whole message in `memory`. The other arguments outlive this.
  Incoming(Post& post, const PackedMessage& form, const Backend& memory);

  /// Fetches the body of exchange `number` or, for the kind rest, its rest. Calls `arrived` when
  /// that is there; the rest may come first.
  void fetch(const Mail& mail, std::int64_t number, std::function<void()> arrived);
  /// Decodes as much of the message as has arrived. `own`: this process's message in that exchange,
  /// as PackedMessage needs it. Once the gaps are known the other worker gets the rest of `own` if
  /// it hears that message, and otherwise a list of the gaps.
  void decode(std::span<const float> own, bool is_mutual);
  bool is_whole() const { return is_whole_; }
  std::span<float> message() { return message_.span(); }

 private:
  Post& post_;
  const PackedMessage& form_;
  Arena<float> message_, packed_;  // packed_: as it travels, if that differs
  std::int64_t number_ = 0;
  int from_ = 0;
  bool has_body_ = false, is_whole_ = false;
  std::optional<Gaps> gaps_;  // known once the body is decoded
  std::optional<std::vector<float>> rest_;
};

/// Sends the rest of `own` to the sender of a message of the kind gaps.
void answer_gaps(Post& post, const Mail& mail, std::span<const float> own);

}  // namespace acid
