#include "engine/run/timeline.hpp"

#include <algorithm>
#include <utility>

namespace acid {

Timeline::Timeline(int workers)
    : workers_(static_cast<std::size_t>(std::min(workers, kMostWorkers))) {}

void Timeline::add(int worker, SpanKind kind, double begin, double end) {
  if (static_cast<std::size_t>(worker) >= workers_.size()) return;
  Own& own = workers_[static_cast<std::size_t>(worker)];
  if (own.gradients >= kGradients || own.spans.size() >= kMostSpans) return;
  own.spans.push_back({kind, begin, end});
  if (kind == SpanKind::compute) ++own.gradients;
}

std::vector<std::vector<Span>> Timeline::take(double end) {
  std::vector<std::vector<Span>> spans;
  for (Own& own : workers_) {
    std::erase_if(own.spans, [&](const Span& span) { return span.begin > end; });
    for (Span& span : own.spans) span.end = std::min(span.end, end);
    spans.push_back(std::move(own.spans));
  }
  return spans;
}

}  // namespace acid
