#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "engine/recorder/span.hpp"

namespace acid {

/// How workers spend their time at the beginning of an execution: until a worker has computed
/// kGradients gradients. For a picture, so bounded; of more than kMostWorkers only the first.
///
/// Threads: a worker's spans are added by the thread that may change it at the moment; take()
/// wants all of them at rest.
class Timeline {
 public:
  static constexpr int kGradients = 32, kMostWorkers = 64;
  static constexpr std::size_t kMostSpans = 8 * kGradients;  // of one worker

  explicit Timeline(int workers);

  /// Seconds as in Position::seconds.
  void add(int worker, SpanKind kind, double begin, double end);
  /// By worker, as far as they lie before `end`, in seconds. Leaves nothing behind.
  std::vector<std::vector<Span>> take(double end = std::numeric_limits<double>::infinity());

 private:
  /// Of one worker, on cache lines of its own.
  struct alignas(128) Own {
    std::vector<Span> spans;
    int gradients = 0;
  };
  std::vector<Own> workers_;
};

}  // namespace acid
