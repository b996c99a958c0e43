#include "engine/drivers/mpi/round_messages.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/drivers/shared/rounds.hpp"

namespace acid {
RoundMessages::RoundMessages(const Run& run, const MpiOptions& options, Post& post,
                             const PeerSchedule& peers, std::span<float> own_gradient)
    : method_(run.spec.method),
      post_(post),
      peers_(peers),
      buckets_(method_.message().floats(run.objective.dimension())),
      sent_gradient_(run.spec.backend->is_host_memory() || !method_.reduces_gradients
                         ? 0
                         : own_gradient.size(),
                     run.spec.backend->messages()),
      gradient_(sent_gradient_.size() == 0 ? own_gradient : sent_gradient_.span()),
      message_(method_.peers == Peers::all && !method_.reduces_gradients && !method_.gathers()
                   ? method_.message().floats(run.objective.dimension())
                   : 0,
               run.spec.backend->messages()),
      mean_(method_.gathers() ? method_.message().floats(run.objective.dimension()) : 0,
            run.spec.backend->messages()),
      missing_(buckets_.size()) {
  const auto over = [this] { is_over(); };
  const Backend& memory = run.spec.backend->messages();
  if (method_.peers == Peers::all && !method_.gathers())
    all_reduce_.emplace(post, buckets_, method_.reduces_gradients ? gradient_ : message_.span(),
                        memory, options.library_sum, over);
  else
    neighbours_.emplace(
        post, peers,
        method_.packed_message(run.objective.dimension(), run.spec.seeds.derived(Purpose::dither)),
        memory, over);
}

void RoundMessages::begin() {
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    missing_[b] = buckets_.range(b).second - buckets_.range(b).first;
  MutexLock lock(mutex_);
  exchanging_ = true;
}

void RoundMessages::hand_over_parts(std::size_t first, std::size_t last) {
  bool news = false;
  while (first < last) {
    const std::size_t bucket = buckets_.holding(first);
    const std::size_t end = std::min(last, buckets_.range(bucket).second);
    ACID_ASSERT(end - first <= missing_[bucket], "elements {} to {} are final twice", first, end);
    missing_[bucket] -= end - first;
    first = end;
    if (missing_[bucket] > 0) continue;
    news = true;
    MutexLock lock(mutex_);
    final_buckets_.push_back(bucket);
  }
  if (news) post_.wake();
}

void RoundMessages::hand_over_rest() {
  {
    MutexLock lock(mutex_);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (missing_[b] > 0) final_buckets_.push_back(b);
  }
  post_.wake();
}

// The gradient is the message of methods that reduce it: parts of it have left already.
void RoundMessages::say(std::int64_t exchange, Worker& worker) {
  if (method_.reduces_gradients) return hand_over_rest();
  begin();
  const bool to_all = all_reduce_.has_value();
  worker.offer(worker.last_event(), to_all ? message_.span() : neighbours_->published());
  if (to_all) return hand_over_rest();
  {
    MutexLock lock(mutex_);
    published_ = exchange;
  }
  post_.wake();
}

bool RoundMessages::wait() {
  MutexLock lock(mutex_);
  while (exchanging_ && !closed_) changed_.wait(mutex_);
  return !closed_;
}

void RoundMessages::hear(std::int64_t exchange, Worker& worker, EventLog& log) {
  if (method_.reduces_gradients) return;
  const int rank = post_.rank();
  Heard<float> heard;
  std::vector<kernels::Weighted<float>> sources;
  if (all_reduce_) {
    heard.mean = all_reduce_->mean().data();
    heard.own = message_.data();
  } else {
    const std::vector<const float*>& received = neighbours_->received();
    const auto message_of = [&](int i) -> const float* {
      return i == rank ? neighbours_->published().data() : received[static_cast<std::size_t>(i)];
    };
    if (method_.gathers()) {
      std::vector<const float*> messages;
      for (int i = 0; i < post_.size(); ++i) messages.push_back(message_of(i));
      mean_in_order<float>(messages, mean_.data(), 0, mean_.size(), worker.backend());
      heard.mean = mean_.data();
      heard.own = message_of(rank);
    } else {
      sources = heard_by(peers_.exchange(exchange)->weights, rank, message_of);
      heard.sources = sources;
    }
  }
  acid::hear(rank, worker, heard, log);
}

std::span<const float> RoundMessages::direction() const {
  return method_.reduces_gradients ? all_reduce_->mean() : std::span<const float>(gradient_);
}

void RoundMessages::deliver(const Mail& mail) {
  if (all_reduce_)
    all_reduce_->deliver(mail);
  else
    neighbours_->deliver(mail);
}

void RoundMessages::send_handed_over() {
  std::vector<std::size_t> buckets;
  std::optional<std::int64_t> exchange;
  {
    MutexLock lock(mutex_);
    buckets.swap(final_buckets_);
    exchange.swap(published_);
  }
  for (const std::size_t bucket : buckets) all_reduce_->contribute(bucket);
  if (exchange) neighbours_->publish(*exchange);
}

void RoundMessages::is_over() {
  MutexLock lock(mutex_);
  exchanging_ = false;
  changed_.notify_all();
}

void RoundMessages::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace acid
