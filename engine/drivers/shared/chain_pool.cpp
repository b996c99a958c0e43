#include "engine/drivers/shared/chain_pool.hpp"

namespace acid {

ChainPool::Node* ChainPool::ReadyList::pop() {
  Node* node = nodes_[first_++];
  if (first_ == nodes_.size()) {
    nodes_.clear();
    first_ = 0;
  } else if (first_ > 1024 && 2 * first_ > nodes_.size()) {
    nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  return node;
}

ChainPool::ChainPool(int chains, int threads)
    : drops_(threads == kNone),
      window_(8 * static_cast<std::int64_t>(chains) + 64),
      tails_(static_cast<std::size_t>(chains), nullptr) {
  try {
    for (int lane = 0; lane < threads; ++lane) threads_.emplace_back([this, lane] { run(lane); });
  } catch (...) {  // the system gives no more threads: end those that have started
    stop();
    throw;
  }
}

ChainPool::~ChainPool() { stop(); }

void ChainPool::stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ChainPool::enqueue(int a, int b, Weight weight, Task task) {
  MutexLock lock(mutex_);
  while (unfinished_[0] + unfinished_[1] >= window_ && !failure_) progress_.wait(mutex_);
  rethrow();
  if (free_.empty()) {
    storage_.push_back(std::make_unique<Node>());
    free_.push_back(storage_.back().get());
  }
  Node* node = free_.back();
  free_.pop_back();
  *node = Node{std::move(task), {a, b}, {nullptr, nullptr}, 0, weight};
  ++unfinished_[weight == Weight::heavy];
  for (const int chain : node->chain) {
    if (chain == kNoChain) continue;
    Node*& tail = tails_[static_cast<std::size_t>(chain)];
    if (tail != nullptr) {
      tail->next[tail->chain[0] == chain ? 0 : 1] = node;
      ++node->pending;
    }
    tail = node;
  }
  if (node->pending == 0) make_ready(node);
}

void ChainPool::make_ready(Node* node) {
  ready_[node->weight == Weight::heavy].push(node);
  work_.notify_one();
}

void ChainPool::complete(Node* node) {
  for (int k = 0; k < 2; ++k) {
    if (node->chain[k] == kNoChain) continue;
    Node*& tail = tails_[static_cast<std::size_t>(node->chain[k])];
    if (tail == node) tail = nullptr;
    Node* next = node->next[k];
    if (next != nullptr && --next->pending == 0) make_ready(next);
  }
  --unfinished_[node->weight == Weight::heavy];
  free_.push_back(node);
  progress_.notify_all();
}

void ChainPool::run(int lane) {
  MutexLock lock(mutex_);
  while (true) {
    while (!stopping_ && ready_[0].empty() && ready_[1].empty()) work_.wait(mutex_);
    if (stopping_) return;
    Node* node = ready_[ready_[0].empty() ? 1 : 0].pop();
    if (!failure_) {
      Task task = std::move(node->task);
      mutex_.unlock();
      std::exception_ptr failure;
      try {
        task(lane);
      } catch (...) {
        failure = std::current_exception();
      }
      mutex_.lock();
      if (failure && !failure_) failure_ = failure;
    }
    complete(node);
  }
}

void ChainPool::rethrow() {
  if (failure_) std::rethrow_exception(failure_);
}

void ChainPool::wait_light() {
  MutexLock lock(mutex_);
  while (unfinished_[0] > 0) progress_.wait(mutex_);
  rethrow();
}

void ChainPool::wait_all() {
  MutexLock lock(mutex_);
  while (unfinished_[0] + unfinished_[1] > 0) progress_.wait(mutex_);
  rethrow();
}

void ChainPool::parallel_for(int count, const std::function<void(int, int)>& body) {
  try {
    for (int index = 0; index < count; ++index)
      submit(kNoChain, kNoChain, Weight::light, [&body, index](int lane) { body(lane, index); });
  } catch (...) {
    // Tasks that already run refer to the caller's variables.
    MutexLock lock(mutex_);
    while (unfinished_[0] > 0) progress_.wait(mutex_);
    throw;
  }
  wait_light();
}

}  // namespace acid
