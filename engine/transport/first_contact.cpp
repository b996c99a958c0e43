#include "engine/transport/first_contact.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <list>
#include <thread>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/transport/mpi_check.hpp"

namespace acid {
namespace {

constexpr int kHereTag = 1, kCountTag = 2;
constexpr auto kPause = std::chrono::milliseconds(2);
constexpr const char* kFirstContact = "make the first contact";

/// Waits, and gives up when there is no news for some time.
class PatienceForNews {
 public:
  explicit PatienceForNews(double seconds) : seconds_(seconds), last_(clock_.seconds()) {}
  void news() { last_ = clock_.seconds(); }
  void wait(int here, int size) const {
    if (clock_.seconds() - last_ > seconds_)
      throw Error(
          fmt::format("{} of {} processes answered, and no other within {:g} s: one was stopped, "
                      "its host cannot be reached, or it gets no time to run; "
                      "execution.mpi.start_seconds is how long to wait for each",
                      here, size, seconds_));
    std::this_thread::sleep_for(kPause);
  }

 private:
  const SteadyClock clock_;
  const double seconds_;
  double last_;
};

bool has_come(int from, int tag, MPI_Status& status) {
  int there = 0;
  check_mpi(MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, &status), kFirstContact);
  return there != 0;
}

int receive(const MPI_Status& status) {
  int value = 0;
  check_mpi(MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE),
            kFirstContact);
  return value;
}

/// Messages that are sent without waiting until they arrive.
class Posted {
 public:
  void send(int value, int to, int tag) {
    values_.push_back(value);
    requests_.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(&values_.back(), 1, MPI_INT, to, tag, MPI_COMM_WORLD, &requests_.back()),
              kFirstContact);
  }
  /// Drives the unsent messages; returns whether all have been sent.
  bool sent() {
    while (!requests_.empty()) {
      int done = 0;
      check_mpi(MPI_Test(&requests_.front(), &done, MPI_STATUS_IGNORE), kFirstContact);
      if (done == 0) return false;
      requests_.pop_front();
      values_.pop_front();
    }
    return true;
  }

 private:
  std::list<int> values_;
  std::list<MPI_Request> requests_;
};

void await_all(int size, PatienceForNews patience, const std::function<void(int)>& waiting) {
  std::vector<int> here;
  Posted posted;
  const auto count = [&] { return static_cast<int>(here.size()) + 1; };
  waiting(count());
  while (count() < size || !posted.sent()) {
    MPI_Status status;
    if (count() == size || !has_come(MPI_ANY_SOURCE, kHereTag, status)) {
      posted.sent();
      patience.wait(count(), size);
      continue;
    }
    receive(status);
    here.push_back(status.MPI_SOURCE);
    patience.news();
    for (const int rank : here) posted.send(count(), rank, kCountTag);
    waiting(count());
  }
}

void report_to_rank_zero(int size, PatienceForNews patience) {
  Posted posted;
  posted.send(1, 0, kHereTag);
  for (int here = 1; here < size || !posted.sent();) {
    MPI_Status status;
    if (here == size || !has_come(0, kCountTag, status)) {
      posted.sent();
      patience.wait(here, size);
      continue;
    }
    here = receive(status);
    patience.news();
  }
}

}  // namespace

void make_first_contact(int rank, int size, double patience_seconds,
                        const std::function<void(int)>& waiting) {
  if (rank == 0)
    await_all(size, PatienceForNews(patience_seconds), waiting);
  else
    report_to_rank_zero(size, PatienceForNews(patience_seconds));
}

}  // namespace acid
