#include "engine/drivers/threads/message_board.hpp"

#include "engine/drivers/shared/rounds.hpp"

namespace acid {

Said::Said(int workers, std::int64_t before)
    : workers_(workers), own_(std::make_unique<Own[]>(static_cast<std::size_t>(workers))) {
  for (int w = 0; w < workers; ++w) {
    MutexLock lock(own_[static_cast<std::size_t>(w)].mutex);
    own_[static_cast<std::size_t>(w)].messages = before;
  }
}

void Said::say(int w) {
  Own& own = own_[static_cast<std::size_t>(w)];
  MutexLock lock(own.mutex);
  ++own.messages;
  own.changed.notify_all();
}

bool Said::wait_for(int w, std::int64_t count) {
  Own& own = own_[static_cast<std::size_t>(w)];
  MutexLock lock(own.mutex);
  while (own.messages < count && !own.aborted) own.changed.wait(own.mutex);
  return own.messages >= count;
}

void Said::abort() {
  for (int w = 0; w < workers_; ++w) {
    Own& own = own_[static_cast<std::size_t>(w)];
    MutexLock lock(own.mutex);
    own.aborted = true;
    own.changed.notify_all();
  }
}

MessageBoard::MessageBoard(const RunSpec& spec, const PeerSchedule& peers, Ensemble& ensemble,
                           std::int64_t said)
    : spec_(spec),
      peers_(peers),
      ensemble_(ensemble),
      message_size_(spec.method.message().floats(ensemble.dimension())),
      mean_(spec.method.hears_all() ? message_size_ : 0, *spec.backend),
      said_(spec.workers, said),
      heard_(spec.workers, said) {
  for (int w = 0; spec.method.reduces_groups && w < spec.workers; ++w)
    group_means_.emplace_back(message_size_, *spec.backend);
  if (spec.method.reduces_gradients) return;
  for (auto& messages : messages_)
    for (int w = 0; w < spec.workers; ++w) messages.emplace_back(message_size_, *spec.backend);
}

std::span<float> MessageBoard::message(int w, std::int64_t exchange) {
  if (spec_.method.reduces_gradients) return ensemble_.gradient(w);
  return messages_[exchange % 2][static_cast<std::size_t>(w)].span();
}

bool MessageBoard::wait_for_place(int w, std::int64_t exchange) {
  if (exchange < 2 || (spec_.method.hears_all_in(exchange - 2) && !spec_.method.gathers()))
    return true;
  const auto before = peers_.exchange(exchange - 2);
  for (const int receiver : before->receivers[static_cast<std::size_t>(w)])
    if (!heard_.wait_for(receiver, exchange - 1)) return false;
  return true;
}

void MessageBoard::say(int w, std::int64_t exchange) {
  Worker& worker = ensemble_.worker(w);
  if (!spec_.method.reduces_gradients) worker.offer(worker.last_event(), message(w, exchange));
  said_.say(w);
}

bool MessageBoard::wait_for_peers(int w, std::int64_t exchange) {
  if (is_empty(exchange)) return true;
  const auto peers = peers_.exchange(exchange);
  for (const Neighbour& heard : peers->weights.neighbours[static_cast<std::size_t>(w)])
    if (!said_.wait_for(heard.worker, exchange + 1)) return false;
  return true;
}

void MessageBoard::hear_peers(int w, std::int64_t exchange, EventLog& log) {
  const auto peers = peers_.exchange(exchange);
  const auto message_of = [&](int i) -> const float* { return message(i, exchange).data(); };
  if (peers_.sums_in(exchange)) {
    std::vector<const float*> messages;
    for (const int member : peers->group_of(w)) messages.push_back(message_of(member));
    Arena<float>& mean = group_means_[static_cast<std::size_t>(w)];
    mean_in_order<float>(messages, mean.data(), 0, peers_.form().floats(exchange), *spec_.backend);
    acid::hear(w, ensemble_.worker(w), {.mean = mean.data(), .own = message_of(w)}, log);
  } else {
    acid::hear(w, ensemble_.worker(w), *peers, message_of, log);
  }
  heard_.say(w);
}

void MessageBoard::abort() {
  said_.abort();
  heard_.abort();
}

std::vector<const float*> MessageBoard::messages(std::int64_t exchange) {
  std::vector<const float*> all;
  for (int w = 0; w < spec_.workers; ++w) all.push_back(message(w, exchange).data());
  return all;
}

void MessageBoard::add_part(int w, std::int64_t exchange) {
  const std::vector<const float*> messages = this->messages(exchange);
  const std::size_t n = messages.size(), i = static_cast<std::size_t>(w);
  const std::size_t size = peers_.form().floats(exchange);
  mean_in_order<float>(messages, mean_.data(), size * i / n, size * (i + 1) / n, *spec_.backend);
}

void MessageBoard::hear_mean(int w, std::int64_t exchange, EventLog& log) {
  if (spec_.method.reduces_gradients) return;
  const std::vector<const float*> all = messages(exchange);
  acid::hear(w, ensemble_.worker(w),
             {.mean = mean_.data(), .own = message(w, exchange).data(), .all = all}, log);
  heard_.say(w);
}

std::span<const float> MessageBoard::direction(int w) {
  if (spec_.method.reduces_gradients) return mean_.span();
  return ensemble_.gradient(w);
}

}  // namespace acid
