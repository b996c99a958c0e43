#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "engine/recorder/span.hpp"

namespace acid {

/// How the first kMostWorkers workers spend their time at the beginning of an execution: each until
/// it has computed kGradients gradients. It is for a picture, so its size is bounded.
///
/// Threads: a worker's spans are added by the thread that may change it at the moment. For take(),
/// no worker may be changing.
class Timeline {
 public:
  static constexpr int kGradients = 32, kMostWorkers = 64;
  static constexpr std::size_t kMostSpans = 8 * kGradients;  // per worker

  explicit Timeline(int workers)
      : workers_(static_cast<std::size_t>(std::min(workers, kMostWorkers))) {}

  /// Seconds as in Position::seconds.
  void add(int worker, SpanKind kind, double begin, double end) {
    if (static_cast<std::size_t>(worker) >= workers_.size()) return;
    Own& own = workers_[static_cast<std::size_t>(worker)];
    if (own.gradients >= kGradients || own.spans.size() >= kMostSpans) return;
    own.spans.push_back({kind, begin, end});
    if (kind == SpanKind::compute) ++own.gradients;
  }
  /// Removes and returns the spans by worker, cut at `end`, in seconds.
  std::vector<std::vector<Span>> take(double end = std::numeric_limits<double>::infinity()) {
    std::vector<std::vector<Span>> spans;
    for (Own& own : workers_) {
      std::erase_if(own.spans, [&](const Span& span) { return span.begin > end; });
      for (Span& span : own.spans) span.end = std::min(span.end, end);
      spans.push_back(std::move(own.spans));
    }
    return spans;
  }

 private:
  /// One worker's spans, on cache lines of their own.
  struct alignas(128) Own {
    std::vector<Span> spans;
    int gradients = 0;
  };
  std::vector<Own> workers_;
};

}  // namespace acid
