#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/codecs/packed_message.hpp"
#include "engine/drivers/mpi/post.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/run/run.hpp"
#include "engine/run/servers.hpp"

namespace acid {

/// The servers of a run under the mpi driver, all in the process of rank 0: they hear what workers
/// say in the order in which it arrives there, and answer at once; a hub that visits the one above
/// is back at once. A mark of all workers is one of the servers too: what a worker says after it
/// waits until all others have come there. At marks other than measured ones it hears nothing until
/// go_on().
///
/// The communication thread's, but for what says otherwise.
class MpiServer {
 public:
  /// `servers` are changed by this alone, but for the time from a mark that is not measured to
  /// go_on(). All outlive it.
  MpiServer(const Run& run, Post& post, Servers& servers);

  /// Takes a message of the kind said.
  void deliver(const Mail& mail);
  /// Worker `from` has come to its next mark.
  void pass_mark(int from, MarkKind kind);
  /// Hears what waited for go_on().
  void act() EXCLUDES_LOCK(mutex_);

  // The calling thread's.
  /// The model at the next measured mark, which all workers have come to, and bytes of visits until
  /// then.
  struct AtMark {
    std::vector<float> model;
    std::int64_t bytes_of_visits = 0;
  };
  AtMark take_mark() EXCLUDES_LOCK(mutex_);
  void go_on() EXCLUDES_LOCK(mutex_);
  /// Before the communication thread begins, of a run that goes on: gives the workers what they and
  /// the server have told each other last.
  void send_last();
  template <class Archive>
  void persist(Archive& archive) {
    archive(arrivals_, last_arrivals_);
  }

 private:
  struct Waiting {
    int from = 0;
    std::int64_t marks = 0;  // that the worker had passed
    double time = 0, learning_rate = 0;
    std::vector<float> body;
  };
  bool holds() EXCLUDES_LOCK(mutex_);
  void hear(const Waiting& one);

  const RunSpec& spec_;
  Post& post_;
  Servers& servers_;
  const PackedMessage form_;
  std::int64_t arrivals_ = 0;
  std::vector<std::int64_t> last_arrivals_;  // by worker, from 1
  std::vector<std::int64_t> marks_;          // passed, by worker
  std::int64_t marks_of_all_ = 0;
  std::deque<Waiting> waiting_;

  Mutex mutex_;
  bool held_ GUARDED_BY(mutex_) = false;
  std::deque<AtMark> measured_ GUARDED_BY(mutex_);
};

}  // namespace acid
