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

/// A message of another worker on its way in: its packed body, and the rest that fills its gaps
/// (PackedMessage), of which the other is given its own. One exchange after another; the
/// communication thread's.
class Incoming {
 public:
  /// Has room for a whole message in `memory`. The others outlive it.
  Incoming(Post& post, const PackedMessage& form, const Backend& memory);

  /// The body of what exchange `number` carries or, of the kind rest, what comes after it. Calls
  /// `arrived` when that is there; the rest may be first.
  void fetch(const Mail& mail, std::int64_t number, std::function<void()> arrived);
  /// Makes as much of the message as can be made of what is there. `own`: the message of this
  /// process in that exchange, as PackedMessage wants it. Once the gaps are known the other is sent
  /// the rest of `own` if it hears that, and else is told the gaps.
  void decode(std::span<const float> own, bool is_mutual);
  bool is_whole() const { return is_whole_; }
  std::span<float> message() { return message_.span(); }

 private:
  Post& post_;
  const PackedMessage& form_;
  Arena<float> message_, packed_;  // the latter: as it travels, unless that is as it is
  std::int64_t number_ = 0;
  int from_ = 0;
  bool has_body_ = false, is_whole_ = false;
  std::optional<Gaps> gaps_;  // known once the body is decoded
  std::optional<std::vector<float>> rest_;
};

/// Sends the rest of `own` to the sender of a message of the kind gaps.
void answer_gaps(Post& post, const Mail& mail, std::span<const float> own);

}  // namespace acid
