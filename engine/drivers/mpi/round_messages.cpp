#include "engine/drivers/mpi/round_messages.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/drivers/shared/rounds.hpp"

namespace acid {
namespace {

// Whether all-reduces sum messages in some exchanges.
bool sums(const Method& method) {
  return method.reduces_groups || (method.hears_all() && !method.gathers());
}

}  // namespace

/// How messages of one size are summed.
struct RoundMessages::Sum {
  Sum(RoundMessages& of, const AllReduce::Key& key)
      : buckets(key.floats),
        reduce(of.post_, key, of.members(key.place), buckets,
               of.method_.reduces_gradients ? std::span<const float>(of.gradient_)
                                            : of.message_.span().first(key.floats),
               of.memory_,
               key.place < 0 ? of.library_sum_ : std::function<void(std::span<float>)>(),
               [&of, this] { of.is_over(reduce.mean()); }) {}

  const Buckets buckets;
  AllReduce reduce;
};

RoundMessages::RoundMessages(const Run& run, const MpiOptions& options, Post& post,
                             const PeerSchedule& peers, std::span<float> own_gradient)
    : method_(run.spec.method),
      memory_(run.spec.backend->messages()),
      library_sum_(options.library_sum),
      post_(post),
      peers_(peers),
      buckets_(peers.form().floats()),
      sent_gradient_(run.spec.backend->is_host_memory() || !method_.reduces_gradients
                         ? 0
                         : own_gradient.size(),
                     memory_),
      gradient_(sent_gradient_.size() == 0 ? own_gradient : sent_gradient_.span()),
      message_(sums(method_) && !method_.reduces_gradients ? peers.form().floats() : 0, memory_),
      mean_(method_.hears_all() && method_.gathers() ? peers.form().floats() : 0, memory_),
      missing_(buckets_.size()) {
  if (method_.peers == Peers::all && !method_.gathers())
    sum_of({-1, peers.form().floats()});
  else if (!method_.reduces_groups)
    neighbours_.emplace(post, peers, memory_, [this] { is_over({}); });
}

RoundMessages::~RoundMessages() = default;

RoundMessages::Sum& RoundMessages::sum_of(const AllReduce::Key& key) {
  auto& sum = sums_[key];
  if (sum == nullptr) sum = std::make_unique<Sum>(*this, key);
  return *sum;
}

std::vector<int> RoundMessages::members(std::int64_t place) const {
  if (place >= 0) return peers_.exchange(place)->group_of(post_.rank());
  std::vector<int> all(static_cast<std::size_t>(post_.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
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

// Methods that reduce gradients send the gradient: parts of it have left already.
void RoundMessages::say(std::int64_t exchange, Worker& worker) {
  if (method_.reduces_gradients) return hand_over_rest();
  worker.offer(worker.last_event(),
               peers_.sums_in(exchange) ? message_.span() : neighbours_->published());
  if (peers_.form().floats(exchange) == 0) return;
  {
    MutexLock lock(mutex_);
    exchanging_ = true;
    said_ = exchange;
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
  if (peers_.form().floats(exchange) == 0) return acid::hear(rank, worker, Heard<float>(), log);
  if (peers_.sums_in(exchange))
    return acid::hear(rank, worker, {.mean = summed().data(), .own = message_.data()}, log);
  const std::vector<const float*>& received = neighbours_->received();
  const auto message_of = [&](int i) -> const float* {
    return i == rank ? neighbours_->published().data() : received[static_cast<std::size_t>(i)];
  };
  if (!method_.hears_all_in(exchange))
    return acid::hear(rank, worker, *peers_.exchange(exchange), message_of, log);
  std::vector<const float*> all;
  for (int i = 0; i < post_.size(); ++i) all.push_back(message_of(i));
  mean_in_order<float>(all, mean_.data(), 0, peers_.form().floats(exchange), worker.backend());
  acid::hear(rank, worker, {.mean = mean_.data(), .own = message_of(rank), .all = all}, log);
}

std::span<const float> RoundMessages::summed() {
  MutexLock lock(mutex_);
  return summed_;
}

std::span<const float> RoundMessages::direction() {
  return method_.reduces_gradients ? summed() : std::span<const float>(gradient_);
}

void RoundMessages::deliver(const Mail& mail) {
  const MailKind kind = MailReader(mail).kind();
  if (kind == MailKind::parameters || kind == MailKind::gaps || kind == MailKind::rest)
    neighbours_->deliver(mail);
  else
    sum_of(AllReduce::key_of(mail)).reduce.deliver(mail);
}

void RoundMessages::send_handed_over() {
  std::vector<std::size_t> buckets;
  std::optional<std::int64_t> exchange;
  {
    MutexLock lock(mutex_);
    buckets.swap(final_buckets_);
    exchange.swap(said_);
  }
  for (const std::size_t bucket : buckets) sum_of({-1, gradient_.size()}).reduce.contribute(bucket);
  if (!exchange) return;
  if (!peers_.sums_in(*exchange)) return neighbours_->publish(*exchange);
  Sum& sum = sum_of({peers_.place(*exchange), peers_.form().floats(*exchange)});
  for (std::size_t b = 0; b < sum.buckets.size(); ++b) sum.reduce.contribute(b);
}

void RoundMessages::is_over(std::span<const float> mean) {
  MutexLock lock(mutex_);
  exchanging_ = false;
  summed_ = mean;
  changed_.notify_all();
}

void RoundMessages::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace acid
