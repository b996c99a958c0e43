// RecordingComparison: what is compared when the execution has ended.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "worker/recording_comparison.hpp"
#include "worker/result.hpp"

namespace acid {
namespace {

// χ of realised rates comes from a solver whose last bits depend on the machine.
bool about_equal(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::abs(*a - *b) <= 1e-9 * std::abs(*b);
}

// The store has no entry for a worker without spans.
bool same_spans(const std::vector<std::vector<Span>>& a, const std::vector<std::vector<Span>>& b) {
  const auto of = [](const auto& workers, std::size_t w) {
    return w < workers.size() ? std::span<const Span>(workers[w]) : std::span<const Span>();
  };
  const auto same = [](const Span& x, const Span& y) {
    return x.kind == y.kind && x.begin == y.begin && x.end == y.end;
  };
  for (std::size_t w = 0; w < std::max(a.size(), b.size()); ++w)
    if (!std::ranges::equal(of(a, w), of(b, w), same)) return false;
  return true;
}

}  // namespace

void RecordingComparison::end(const Outcome& outcome, const RunSpec& spec) {
  const double time = outcome.position.normalised_time;
  if (!cuts_are_compared() && outcome.ending != Ending::stopped)
    depart_at(time,
              fmt::format("the end came before checkpoint {}", recording_.cuts[next_cut_].number));
  if (until_) return expect_nothing_left(recording_.cuts[*until_].position, /*nor_after_it=*/false);
  if (!ended_alike(outcome)) return;
  if (!recording_.run.result) return depart_at(time, "how it ended was not recorded");
  if (finished_) {
    compare_result(result_of(outcome, spec));
    compare_mean(outcome);
  } else if (simulated_) {
    compare_position(recording_.run.result->position, outcome.position, "at the end");
  }
  // Under the wall clock, when the workers hear of a divergence is a matter of luck.
  expect_nothing_left(outcome.position, finished_ || simulated_);
  final_state_ = true;
}

bool RecordingComparison::ended_alike(const Outcome& outcome) {
  const double time = outcome.position.normalised_time;
  const std::string& recorded = recording_.run.summary.message;
  if (diverged_ && outcome.ending != Ending::diverged)
    depart_at(time, "the recorded run diverged: " + recorded);
  else if (finished_ && outcome.ending != Ending::finished)
    depart_at(time, "this execution ended: " + outcome.message);
  else if (outcome.message != recorded)
    depart_at(time, fmt::format("the recorded run ended otherwise: {}; this one: {}",
                                recorded.empty() ? "with its budget" : recorded,
                                outcome.message.empty() ? "with its budget" : outcome.message));
  else
    return true;
  return false;
}

void RecordingComparison::compare_result(const AttemptResult& found) {
  const AttemptResult& recorded = *recording_.run.result;
  const double time = found.position.normalised_time;
  compare_position(recorded.position, found.position, "at the end");
  const auto compare = [&](bool equal, const char* what) {
    if (!equal) depart_at(time, fmt::format("{} at the end", what));
  };
  if (recorded.worker_digests.size() != found.worker_digests.size())
    return depart_at(time,
                     fmt::format("{} workers were recorded at the end, not {}",
                                 recorded.worker_digests.size(), found.worker_digests.size()));
  const auto compare_workers = [&](const auto& then, const auto& now, const char* what) {
    for (std::size_t w = 0; w < now.size(); ++w)
      if (w >= then.size() || then[w] != now[w])
        return depart_at(time, fmt::format("{} at the end", what), static_cast<int>(w));
  };
  compare_workers(recorded.worker_digests, found.worker_digests, "other parameters");
  compare_workers(recorded.worker_gradients, found.worker_gradients, "another number of gradients");
  if (recorded.exchanges_done != found.exchanges_done)
    depart_at(time, fmt::format("{} exchanges were recorded, {} happened", recorded.exchanges_done,
                                found.exchanges_done));
  compare_edges(recorded.edges, found.edges, time);
  compare(same_value(recorded.realised_rate, found.realised_rate), "another realised rate");
  compare(about_equal(recorded.realised_chi1, found.realised_chi1) &&
              about_equal(recorded.realised_chi2, found.realised_chi2),
          "other realised χ₁, χ₂");
  // A replay that starts at a checkpoint does not know the gradients before.
  if (from_ < 0 || simulated_) compare(recorded.staleness == found.staleness, "other staleness");
  if (!simulated_) return;
  compare(recorded.exchanges_drawn == found.exchanges_drawn &&
              recorded.exchanges_waiting == found.exchanges_waiting,
          "another number of exchanges drawn or waiting");
  compare_workers(recorded.worker_idle_seconds, found.worker_idle_seconds, "other idle seconds");
  // Spans are those of the attempt that ended the run, which must be this whole execution.
  if (from_ < 0 && recording_.run.attempts.back().resumed_from == 0)
    compare(same_spans(recording_.spans, found.worker_spans), "other spans of a worker's time");
}

void RecordingComparison::compare_edges(const std::vector<AttemptResult::EdgeCount>& recorded,
                                        const std::vector<AttemptResult::EdgeCount>& found,
                                        double time) {
  std::map<std::pair<int, int>, AttemptResult::EdgeCount> edges;
  for (const AttemptResult::EdgeCount& edge : found) edges[{edge.i, edge.j}] = edge;
  for (const AttemptResult::EdgeCount& edge : recorded) {
    const auto same = edges.extract({edge.i, edge.j});
    if (!same || same.mapped().count != edge.count)
      return depart_at(
          time, fmt::format("another number of exchanges between {} and {}", edge.i, edge.j));
    if (!same_value(same.mapped().nominal, edge.nominal))
      return depart_at(time, fmt::format("another rate of the edge from {} to {}", edge.i, edge.j));
  }
  if (!edges.empty())
    depart_at(time, fmt::format("exchanges between {} and {} were not recorded",
                                edges.begin()->first.first, edges.begin()->first.second));
}

// Compares the mean's digest, and the file with the final model tensor by tensor, with buffers.
void RecordingComparison::compare_mean(const Outcome& outcome) {
  Departure departure{.time = outcome.position.normalised_time, .what = "another mean at the end"};
  const auto compare = [&](const std::vector<Segment>& segments, const std::vector<float>& values) {
    for (const Segment& segment : segments) {
      if (!departure.tensor.empty()) return;
      const auto recorded = recording_.final_mean.find(segment.name);
      const std::vector<float> none;
      const std::vector<float>& then =
          recorded == recording_.final_mean.end() ? none : recorded->second.values;
      // When there are no values (every worker keeps its own buffers), none must be recorded.
      const auto now = values.empty()
                           ? std::span<const float>()
                           : std::span(values).subspan(static_cast<std::size_t>(segment.offset),
                                                       static_cast<std::size_t>(segment.size));
      if (!std::equal(then.begin(), then.end(), now.begin(), now.end(), same_value))
        departure.tensor = segment.name;
    }
  };
  if (!recording_.final_mean.empty()) {
    compare(recording_.segments, outcome.mean);
    compare(recording_.buffer_segments, outcome.mean_buffers);
  }
  if (recording_.run.result->mean_digest != outcome.mean_digest || !departure.tensor.empty())
    depart(std::move(departure));
}

}  // namespace acid
