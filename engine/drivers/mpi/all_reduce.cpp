#include "engine/drivers/mpi/all_reduce.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/run/ensemble.hpp"

namespace acid {
namespace {

std::uint64_t bucket_of(const Mail& mail) {
  return std::get<2>(MailReader(mail).values<std::int64_t, std::uint64_t, std::uint64_t>());
}

}  // namespace

AllReduce::Key AllReduce::key_of(const Mail& mail) {
  const auto [place, floats] = MailReader(mail).values<std::int64_t, std::uint64_t>();
  return {place, floats};
}

Buckets::Buckets(std::size_t dimension)
    : dimension_(dimension), count_((dimension + kMostElements - 1) / kMostElements) {}

// Buckets are numbered from the end.
std::pair<std::size_t, std::size_t> Buckets::range(std::size_t bucket) const {
  const std::size_t last = count_ - bucket;
  return {dimension_ * (last - 1) / count_, dimension_ * last / count_};
}

std::size_t Buckets::holding(std::size_t element) const {
  std::size_t bucket = count_ - 1 - element * count_ / dimension_;
  // Rounding down may give the bucket beside the right one.
  while (element < range(bucket).first) ++bucket;
  while (element >= range(bucket).second) --bucket;
  return bucket;
}

AllReduce::AllReduce(Post& post, const Key& key, std::vector<int> members, const Buckets& buckets,
                     std::span<const float> own, const Backend& memory,
                     std::function<void(std::span<float>)> library_sum, std::function<void()> over)
    : post_(post),
      key_(key),
      members_(std::move(members)),
      buckets_(buckets),
      own_(own),
      library_sum_(std::move(library_sum)),
      over_(std::move(over)),
      size_(static_cast<int>(members_.size())),
      own_place_(member(post.rank())),
      mean_(own.size(), memory),
      state_(buckets.size()) {
  if (library_sum_) return;
  std::size_t added_here = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    state_[b].offset = added_here;
    added_here += slice(b, own_place_).second - slice(b, own_place_).first;
    for (int k = 0; k < size_; ++k) slices_ += has_slice(b, k) ? 1 : 0;
  }
  for (int k = 0; k < size_; ++k) incoming_.emplace_back(k == own_place_ ? 0 : added_here);
}

int AllReduce::member(int rank) const {
  const auto found = std::ranges::lower_bound(members_, rank);
  ACID_ASSERT(found != members_.end() && *found == rank, "rank {} is not of this group", rank);
  return static_cast<int>(found - members_.begin());
}

std::pair<std::size_t, std::size_t> AllReduce::slice(std::size_t bucket, int member) const {
  const auto [first, last] = buckets_.range(bucket);
  const auto n = static_cast<std::size_t>(size_), k = static_cast<std::size_t>(member);
  return {first + (last - first) * k / n, first + (last - first) * (k + 1) / n};
}

// A bucket of fewer elements than processes has no slice for some of them.
bool AllReduce::has_slice(std::size_t bucket, int member) const {
  return slice(bucket, member).first < slice(bucket, member).second;
}

void AllReduce::contribute(std::size_t bucket) {
  ACID_ASSERT(!state_[bucket].contributed, "bucket {} comes twice in a round", bucket);
  ++contributed_;
  if (library_sum_) {
    if (contributed_ == buckets_.size()) post_.send_to_all(header(MailKind::round_ready));
    return;
  }
  state_[bucket].contributed = true;
  for (int to = 0; to < size_; ++to) {
    if (to == own_place_ || !has_slice(bucket, to)) continue;
    const auto [first, last] = slice(bucket, to);
    ++slices_leaving_;
    post_.send(members_[static_cast<std::size_t>(to)],
               header(MailKind::slice, std::uint64_t{bucket}), own_.subspan(first, last - first),
               [this] {
                 --slices_leaving_;
                 check_over();
               });
  }
  add(bucket);
}

void AllReduce::deliver(const Mail& mail) {
  switch (MailReader(mail).kind()) {
    case MailKind::slice:
      return fetch_slice(mail, bucket_of(mail));
    case MailKind::slice_mean:
      return fetch_mean(mail, bucket_of(mail));
    default:
      if (++ready_ == size_) sum_by_library();
  }
}

// A process sends no slice of the next round before it has the mean of this one, so there is room.
void AllReduce::fetch_slice(const Mail& mail, std::size_t bucket) {
  ACID_ASSERT(bucket < state_.size(), "rank {} sends bucket {} of {}", mail.from, bucket,
              state_.size());
  Arena<float>& from = incoming_[static_cast<std::size_t>(member(mail.from))];
  post_.fetch(mail, from.span().subspan(state_[bucket].offset, mail.body_size), [this, bucket] {
    ++state_[bucket].arrived;
    add(bucket);
  });
}

void AllReduce::fetch_mean(const Mail& mail, std::size_t bucket) {
  ACID_ASSERT(bucket < state_.size(), "rank {} sends the mean of bucket {} of {}", mail.from,
              bucket, state_.size());
  const std::size_t first = slice(bucket, member(mail.from)).first;
  post_.fetch(mail, mean_.span().subspan(first, mail.body_size), [this] { settle(); });
}

// Adds this process's slice of a bucket once all parts are there. The mean of the last round may
// still be on its way to the slowest process.
void AllReduce::add(std::size_t bucket) {
  Bucket& state = state_[bucket];
  if (!state.contributed || state.leaving > 0) return;
  const auto [first, last] = slice(bucket, own_place_);
  if (first == last) {
    state.contributed = false;
    return check_over();
  }
  if (state.arrived + 1 < size_) return;
  state.contributed = false;
  state.arrived = 0;
  std::vector<const float*> parts;
  for (int from = 0; from < size_; ++from)
    parts.push_back(from == own_place_
                        ? own_.data() + first
                        : incoming_[static_cast<std::size_t>(from)].data() + state.offset);
  mean_in_order<float>(parts, mean_.data() + first, 0, last - first);
  for (int to = 0; to < size_; ++to) {
    if (to == own_place_) continue;
    ++state.leaving;
    post_.send(members_[static_cast<std::size_t>(to)],
               header(MailKind::slice_mean, std::uint64_t{bucket}),
               std::span<const float>(mean_.data() + first, last - first), [this, bucket] {
                 if (--state_[bucket].leaving == 0) add(bucket);
               });
  }
  settle();
}

void AllReduce::settle() {
  ++settled_;
  check_over();
}

void AllReduce::check_over() {
  if (contributed_ < buckets_.size() || settled_ < slices_ || slices_leaving_ > 0) return;
  contributed_ = settled_ = 0;
  over_();
}

void AllReduce::sum_by_library() {
  ready_ = 0;
  contributed_ = 0;
  std::copy(own_.begin(), own_.end(), mean_.data());
  library_sum_(mean_.span());
  const auto all = static_cast<float>(size_);
  for (float& value : mean_.span()) value /= all;
  over_();
}

}  // namespace acid
