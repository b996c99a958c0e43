#pragma once

#include <ctime>

namespace acid::test {

/// Processor time since its construction, so that other work of the machine does not matter.
class ProcessorTime {
 public:
  enum class Of { process, thread };
  explicit ProcessorTime(Of whom = Of::process)
      : clock_(whom == Of::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID) {}
  double seconds() const { return now() - start_; }

 private:
  double now() const {
    timespec time{};
    clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  const clockid_t clock_;
  const double start_ = now();
};

}  // namespace acid::test
