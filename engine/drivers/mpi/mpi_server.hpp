#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/codecs/packed_message.hpp"
#include "engine/drivers/mpi/post.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/run/run.hpp"
#include "engine/run/servers.hpp"

namespace acid {

/// The servers of a run under the mpi driver, all in the process of rank 0: they hear workers'
/// messages in the order of arrival and answer at once; a hub's visit to the server above takes no
/// time. A mark of all workers is a mark of the servers too: a worker's message after it waits
/// until all others have reached it. At marks that are not measured ones the servers hear nothing
/// until go_on().
///
/// Belongs to the communication thread, except where noted.
class MpiServer {
 public:
  /// Only this object changes `servers`, except between a mark that is not measured and go_on().
  /// The arguments outlive this.
  MpiServer(const Run& run, Post& post, Servers& servers);

  /// Takes a message of the kind said.
  void deliver(const Mail& mail);
  /// Worker `from` has reached its next mark.
  void pass_mark(int from, MarkKind kind);
  /// Hears the messages that waited for go_on().
  void act() EXCLUDES_LOCK(mutex_);

  // The calling thread calls these.
  /// The model at the next measured mark, reached by all workers, and the bytes of visits until
  /// then.
  struct AtMark {
    std::vector<float> model;
    std::int64_t bytes_of_visits = 0;
  };
  AtMark take_mark() EXCLUDES_LOCK(mutex_);
  void go_on() EXCLUDES_LOCK(mutex_);
  /// In a resumed run, before the communication thread begins: gives the workers the last messages
  /// between them and the server.
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
