#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/mutex.hpp"

namespace acid {

/// Runs tasks on a fixed set of threads, in the order of their chains: a task starts when every
/// task submitted before it on either of its chains has ended. Tasks of different chains run in
/// parallel, so the outcome of a program whose tasks touch only their chains' state does not depend
/// on the number of threads, and with no threads at all each task runs inside submit(). With kNone
/// no task ever runs.
///
/// One thread submits; tasks do not submit. The first exception of a task is rethrown by the next
/// call of the submitting thread; what is still queued is then dropped.
class ChainPool {
 public:
  /// A task gets the lane it runs on: 0 ≤ lane < lanes().
  using Task = std::function<void(int lane)>;
  enum class Weight { light, heavy };  // light tasks overtake heavy ones that are ready

  static constexpr int kNone = -1;  // instead of a number of threads
  ChainPool(int chains, int threads);
  ~ChainPool();

  int lanes() const { return threads_.empty() ? 1 : static_cast<int>(threads_.size()); }

  /// Blocks while too many tasks are unfinished. `b` may be kNoChain.
  static constexpr int kNoChain = -1;
  template <class F>
  void submit(int a, int b, Weight weight, F&& task) {
    if (drops_) return;
    if (threads_.empty())
      task(0);
    else
      enqueue(a, b, weight, Task(std::forward<F>(task)));
  }
  /// Returns when no light task is unfinished; heavy ones go on.
  void wait_light() EXCLUDES_LOCK(mutex_);
  void wait_all() EXCLUDES_LOCK(mutex_);
  /// Runs body(lane, 0 … count − 1) in parallel, in no order, and returns when all are done.
  void parallel_for(int count, const std::function<void(int lane, int index)>& body);

 private:
  struct Node {
    Task task;
    int chain[2] = {kNoChain, kNoChain};
    Node* next[2] = {nullptr, nullptr};  // the task that waits for this one on chain[k]
    int pending = 0;                     // tasks this one waits for
    Weight weight = Weight::light;
  };
  void enqueue(int a, int b, Weight weight, Task task) EXCLUDES_LOCK(mutex_);
  void run(int lane) EXCLUDES_LOCK(mutex_);
  void stop() EXCLUDES_LOCK(mutex_);
  void complete(Node* node) REQUIRES_LOCK(mutex_);
  void make_ready(Node* node) REQUIRES_LOCK(mutex_);
  void rethrow() REQUIRES_LOCK(mutex_);

  class ReadyList {  // first in, first out
   public:
    void push(Node* node) { nodes_.push_back(node); }
    bool empty() const { return first_ == nodes_.size(); }
    Node* pop();

   private:
    std::vector<Node*> nodes_;
    std::size_t first_ = 0;
  };

  const bool drops_;           // with kNone
  const std::int64_t window_;  // unfinished tasks beyond which submit() blocks
  Mutex mutex_;
  Condition work_, progress_;
  std::vector<Node*> tails_ GUARDED_BY(mutex_);  // last unfinished task of each chain
  ReadyList ready_[2] GUARDED_BY(mutex_);        // light, heavy
  std::vector<std::unique_ptr<Node>> storage_ GUARDED_BY(mutex_);
  std::vector<Node*> free_ GUARDED_BY(mutex_);
  std::int64_t unfinished_[2] GUARDED_BY(mutex_) = {0, 0};  // by weight
  std::exception_ptr failure_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // set in the constructor; joined by the destructor
};

}  // namespace acid
